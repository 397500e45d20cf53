"""Code in colours, each with a contrast of 6 : 1 or more to the dark ground that a block of code brings along.

No colour has a contrast of 4.5 : 1 both to a white page and to JupyterLab's dark one: the best has 4.2.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from deepnb.views import html as h

if TYPE_CHECKING:
    from pygments.lexer import Lexer

GROUND, INK = "#20252e", "#dfe5ee"
COLOURS = {
    "Comment": "#9ab",
    "Keyword": "#f9c",
    "Operator.Word": "#f9c",
    "Keyword.Constant": "#fb6",
    "Literal.String": "#ad8",
    "Literal": "#fb6",
    "Name.Function": "#7cf",
    "Name.Class": "#7cf",
    "Name.Decorator": "#7cf",
    "Name.Builtin": "#7cf",
    "Name.Tag": "#7cf",
    "Name.Attribute": "#7cf",
    "Generic.Heading": "#7cf",
    "Generic.Inserted": "#ad8",
    "Generic.Deleted": "#f9c",
    "Generic.Output": "#9ab",
    "Generic.Prompt": "#9ab",
}
"""Kind of token, as Pygments names it -> its colour; a kind inside another has a line of its own or the outer one's."""

LANGUAGES = frozenset(
    {
        *("bash", "bat", "c", "c++", "clojure", "console", "cpp", "cs", "csharp", "css", "diff", "docker"),
        *("dockerfile", "elixir", "fortran", "fsharp", "go", "golang", "graphql", "haskell", "hcl", "html", "http"),
        *("ini", "ipython", "java", "javascript", "jl", "js", "json", "jsx", "julia", "kotlin", "latex", "lisp"),
        *("lua", "make", "makefile", "markdown", "matlab", "md", "nginx", "objective-c", "ocaml", "octave", "perl"),
        *("php", "powershell", "proto", "ps1", "py", "py3", "pycon", "python", "python3", "r", "rb", "rs", "ruby"),
        *("rust", "scala", "scheme", "scss", "sh", "shell", "sql", "swift", "terraform", "tex", "toml", "ts", "tsx"),
        *("typescript", "vim", "xml", "yaml", "yml", "zig", "zsh"),
    }
)
"""What is coloured."""

_LANGUAGE = re.compile(r"[\w+#.-]+")


def code_html(code: str, info: str = "") -> h.Html:
    """`code` in the colours of the language that `info`, the words after the fence, begins with."""
    lexer = _lexer(info)
    if lexer is None:
        return h.literal(code)
    out: list[tuple[str, str]] = []
    for kind, text in lexer.get_tokens(code):
        colour = _colour(str(kind))
        if out and (out[-1][0] == colour or text.isspace()):
            out[-1] = (out[-1][0], out[-1][1] + text)
        else:
            out.append((colour, text))
    return h.join(*(_coloured(colour, text) for colour, text in out))


def _coloured(colour: str, text: str) -> h.Html:
    return h.el("span", h.literal(text), style=f"color:{colour}") if colour else h.literal(text)


def _lexer(info: str) -> Lexer | None:
    found = _LANGUAGE.search(info.lower())
    return _lexer_of(found[0]) if found and found[0] in LANGUAGES else None


@lru_cache(maxsize=8)
def _lexer_of(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def _colour(kind: str) -> str:
    """The colour of a kind of token, "" for the text's own."""
    kind = kind.removeprefix("Token.")
    while kind:
        if kind in COLOURS:
            return COLOURS[kind]
        kind = kind.rpartition(".")[0]
    return ""
