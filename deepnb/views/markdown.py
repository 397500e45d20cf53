"""Markdown of a model, as HTML that can do nothing: no script, no picture from afar, no style of its own.

markdown-it with raw HTML off makes the markup, the rules here give it our few inline styles, and
nh3 then lets through listed elements, and of `style` only the very values that the rules wrote.
A text may come in pieces, each in an output of its own: a `Border` says what is open between two of
them, so that both are drawn without a seam. All margins are above, so that pieces add up.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import nh3
from markdown_it import MarkdownIt

from deepnb.views import html as h
from deepnb.views.data_images import data_images_plugin, is_image, named, without_data
from deepnb.views.formulas import GROWING, formulas_plugin
from deepnb.views.text import clean

if TYPE_CHECKING:
    from markdown_it.token import Token
    from pygments.lexer import Lexer


# -- code in colours, each with a contrast of 6 : 1 or more to the dark ground that a block of code brings along


GROUND, INK = "#20252e", "#dfe5ee"
COLOURS = {
    **dict.fromkeys(("Comment", "Generic.Output", "Generic.Prompt"), "#9ab"),
    **dict.fromkeys(("Keyword", "Operator.Word", "Generic.Deleted"), "#f9c"),
    **dict.fromkeys(("Literal", "Keyword.Constant"), "#fb6"),
    **dict.fromkeys(("Literal.String", "Generic.Inserted"), "#ad8"),
    **dict.fromkeys(("Name.Function", "Name.Class", "Name.Decorator", "Name.Builtin"), "#7cf"),
    **dict.fromkeys(("Name.Tag", "Name.Attribute", "Generic.Heading"), "#7cf"),
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

_LANGUAGE = re.compile(r"[\w+#.-]+")


def code_html(code: str, info: str = "") -> h.Html:
    """Return `code` in the colours of the language that `info`, the words after the fence, begins with."""
    literal = ((colour, h.literal(text)) for colour, text in coloured(code, info))
    return h.join(*(h.el("span", text, style=f"color:{colour}") if colour else text for colour, text in literal))


def coloured(code: str, info: str) -> list[tuple[str, str]]:
    """Return the pieces of `code`, each with its colour before it, or "" for the usual one."""
    found = _LANGUAGE.search(info.lower())
    lexer = _lexer_of(found[0]) if found and found[0] in LANGUAGES else None
    if lexer is None:
        return [("", code)]
    out: list[tuple[str, str]] = []
    for _, kind, text in lexer.get_tokens_unprocessed(code):
        colour = _colour(str(kind))
        if out and (out[-1][0] == colour or text.isspace()):
            out[-1] = (out[-1][0], out[-1][1] + text)
        else:
            out.append((colour, text))
    return out


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
    kind = kind.removeprefix("Token.")
    while kind:
        if kind in COLOURS:
            return COLOURS[kind]
        kind = kind.rpartition(".")[0]
    return ""


_MOST = 100_000
"""Longer texts are shown as they were written: the parser takes about a second for twice as many characters."""
_MOST_SIGNS = 20_000
"""So are those with more signs of Markdown in one paragraph: on brackets the parser's time grows faster."""

_CELL = "padding:3px 12px 3px 0;text-align:"
_TABLE = "border-collapse:collapse;border:none;font-size:13px;color:inherit;margin:"
_QUOTE = f"border-left:3px solid {h.LINE};padding:0 12px;margin:"
_LIST = "padding-left:2em;margin:"
_PRE = f"font:12px/1.45 monospace;color:{INK};background:{GROUND};white-space:pre;overflow-x:auto;"
_FIRST, _JOINED = "{} 0 0 0", "0"

_STYLES = {
    "table_open": _TABLE + _FIRST.format("8px"),
    "tr_open": f"background:transparent;border-bottom:1px solid {h.LINE}",
    "blockquote_open": _QUOTE + _FIRST.format("8px"),
    "bullet_list_open": _LIST + _FIRST.format("6px"),
    "ordered_list_open": _LIST + _FIRST.format("6px"),
    "paragraph_open": "margin:" + _FIRST.format("6px"),
    "math_block": "margin:6px 0 0 0;overflow-x:auto;overflow-y:hidden",
    "code": f"{h.MONO};{h.SOFT};border-radius:4px;padding:1px 4px",
    # JupyterLab has a ground, a padding and a wrapping of its own for `code`, also for that inside `pre`.
    "code_in_pre": f"font:12px/1.45 monospace;color:{INK};background:none;padding:0;white-space:pre",
    "task": "list-style:none;margin-left:-1.4em",
    "image": "max-width:100%;max-height:30em",
    "h1": "font-size:1.35em;line-height:1.3;margin:14px 0 0 0",
    "h2": "font-size:1.2em;line-height:1.3;margin:12px 0 0 0",
    "h3": "font-size:1.08em;line-height:1.3;margin:10px 0 0 0",
}
_CONTINUED = {
    "table_open": _TABLE + _JOINED,
    "blockquote_open": _QUOTE + _JOINED,
    "bullet_list_open": _LIST + _JOINED,
    "ordered_list_open": _LIST + _JOINED,
    "list_item_open": "list-style:none",
    "paragraph_open": "margin:0",
    "head": "background:transparent;visibility:collapse",
}
# (something before it, something after it) -> the box of a block of code
_CODE = {
    (False, False): _PRE + "margin:8px 0 0 0;border-radius:6px;padding:8px 10px",
    (False, True): _PRE + "margin:8px 0 0 0;border-radius:6px 6px 0 0;padding:8px 10px 0 10px",
    (True, True): _PRE + "margin:0;border-radius:0;padding:0 10px",
    (True, False): _PRE + "margin:0;border-radius:0 0 6px 6px;padding:0 10px 8px 10px",
}
_SIDES = [_CELL + side for side in ("left", "right", "center")]
_ALLOWED_STYLES = frozenset(
    {*_STYLES.values(), *_CONTINUED.values(), *_CODE.values(), *_SIDES, *(f"color:{c}" for c in COLOURS.values())}
)
_FIXED = ";table-layout:fixed;max-width:100%;width:{}px"
_PART = ";width:{}%"
_SIZED = re.compile(
    "|".join(
        re.escape(base + size).replace(r"\{\}", r"\d{1,5}")
        for size, bases in ((_FIXED, (_STYLES["table_open"], _CONTINUED["table_open"])), (_PART, _SIDES))
        for base in bases
    )
)
_TAGS = {
    *("a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li"),
    *("ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_STYLED = (
    *("table", "tr", "td", "th", "blockquote", "pre", "code", "h1", "h2", "h3", "h4", "h5", "h6", "p"),
    *("ul", "li", "span", "img"),
)
_ATTRIBUTES = {"a": {"href", "target"}, "ol": {"start", "style"}, "img": {"src", "alt", "style"}}
_SIGNS = re.compile(r"[\[\]*_`<>!~|&\\()$]")
_BOXED = re.compile(r"\[([ xX])\] ")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)  # https://a | mailto:a


@dataclass(frozen=True)
class Border:
    """What is open where a text was cut in two."""

    source: str = ""
    """Markdown that, put before the rest, opens it again."""
    open: tuple[str, ...] = ()
    """Types of the tokens that go on behind it, outermost first; none where a new block begins."""
    numbers: tuple[int, ...] = ()
    """For each of these that is an ordered list, the number of its next item (or of the one that goes on); else 0."""
    widths: tuple[int, ...] = ()
    """Of a table's columns, in characters: all pieces of a table have the same."""


def markdown_html(
    text: str, above: Border | None = None, below: Border | None = None, links: MutableMapping[str, Any] | None = None
) -> h.Html:
    """Return `text` as sanitised markup; one that is too long for the parser as plain text.

    `above` and `below` are the borders to the pieces before and after it; `links` keeps the link
    definitions of all pieces.
    """
    source = clean((above.source if above else "") + text)
    words = without_data(text)
    if len(words) > _MOST or max(len(_SIGNS.findall(one)) for one in words.split("\n\n")) > _MOST_SIGNS:
        return h.pre(clean(words))
    parser = _parser()
    env: dict[str, Any] = {} if links is None else {"references": links}
    tokens = parser.parse(source, env)
    if above:
        _join_above(tokens, above)
    if below:
        _join_below(tokens, below)
    return h.Html(
        nh3.clean(
            parser.renderer.render(tokens, parser.options, env),
            tags=_TAGS,
            attributes={**{tag: {"style"} for tag in _STYLED}, **_ATTRIBUTES},
            attribute_filter=_attribute,
            url_schemes={"http", "https", "mailto", "data"},
            link_rel="noopener noreferrer",
            clean_content_tags=set(),
        )
    )


def blocks(source: str, links: MutableMapping[str, Any]) -> list[Token]:
    """Return the block tokens of `source`, with the lines each takes; what is inside a line is left alone."""
    parser = _parser()
    tokens: list[Token] = []
    parser.block.parse(clean(source), parser, {"references": links, GROWING: True}, tokens)
    return tokens


def last_child(tokens: Sequence[Token], level: int, begin: int = 0) -> tuple[int, int]:
    """Return (how many blocks there are on a level from `begin` on, where the last of them begins)."""
    found = [i for i in range(begin, len(tokens)) if tokens[i].level == level and tokens[i].nesting >= 0]
    return len(found), found[-1] if found else -1


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "style":
        return value if value in _ALLOWED_STYLES or _SIZED.fullmatch(value) else None
    if name == "href":
        return value if _SAFE_LINK.match(value) else None
    return value if name != "src" or is_image(value) else None


def _join_above(tokens: list[Token], border: Border) -> None:
    """Draw the first blocks as what goes on from the piece before."""
    for at, kind in enumerate(border.open):
        if at >= len(tokens) or tokens[at].type != kind:
            return
        token = tokens[at]
        if kind in ("fence", "code_block"):
            token.meta["above"] = True
        else:
            token.attrs["style"] = _CONTINUED[kind]
        if kind == "ordered_list_open":
            token.attrs["start"] = border.numbers[at]
        if kind == "table_open":
            next(t for t in tokens[at:] if t.type == "tr_open").attrs["style"] = _CONTINUED["head"]
            _size(tokens, at, border.widths)


def _join_below(tokens: list[Token], border: Border) -> None:
    """Draw the last blocks as what goes on in the piece after."""
    at = -1
    for level, kind in enumerate(border.open):
        _, at = last_child(tokens, level, at + 1)
        if at < 0 or tokens[at].type != kind:
            return
        if kind in ("fence", "code_block"):
            tokens[at].meta["below"] = True
        elif kind == "table_open":
            _size(tokens, at, border.widths)


def _size(tokens: list[Token], table: int, widths: Sequence[int]) -> None:
    whole = sum(widths) or 1
    style = str(tokens[table].attrs["style"])
    if "table-layout" in style:
        return
    tokens[table].attrs["style"] = style + _FIXED.format(7 * whole + 12 * len(widths))
    head = [t for t in tokens[table:] if t.type == "th_open"][: len(widths)]
    for token, wide in zip(head, widths, strict=False):
        token.attrs["style"] = str(token.attrs["style"]) + _PART.format(round(100 * wide / whole))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    parser.enable(["table", "strikethrough"])
    formulas_plugin(parser)
    data_images_plugin(parser)
    # What may be no link stays in the text as it was written.
    parser.validateLink = lambda address: bool(_SAFE_LINK.match(address))  # type: ignore[assignment, method-assign]
    code, others = ("fence", "code_block", "code_inline"), ("image", "data_image", "link_open", "text")
    for name in (*code, "math_inline", "math_block", *others):
        parser.add_render_rule(name, _drawn)
    parser.core.ruler.push("deepnb_styles", _style)
    return parser


def _style(state: Any) -> None:
    """Give block tokens our styles, in place of what the parser would write, and tasks their boxes."""
    for i, token in enumerate(state.tokens):
        if token.type in ("td_open", "th_open"):
            side = str(token.attrs.get("style", "text-align:left")).removeprefix("text-align:")
            token.attrs["style"] = _CELL + side
        elif token.type == "heading_open":
            token.attrs["style"] = _STYLES.get(token.tag, _STYLES["h3"])
        elif token.type in _STYLES:
            nested = token.level > 0 and token.type.endswith("list_open")
            token.attrs["style"] = (_CONTINUED if nested else _STYLES)[token.type]
        elif token.type == "list_item_open" and state.tokens[i + 2 : i + 3]:
            words = state.tokens[i + 2]
            task = _BOXED.match(words.content) if words.type == "inline" else None
            if task and words.children and words.children[0].content.startswith(task[0]):
                rest = words.children[0].content.removeprefix(task[0])
                words.children[0].content = ("☐ " if task[1] == " " else "☑ ") + rest
                token.attrs["style"] = _STYLES["task"]


def _drawn(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[at]
    address = str(token.attrs.get("src") or token.attrs.get("href") or "")
    match token.type:
        case "fence" | "code_block":
            box = _CODE[bool(token.meta.get("above")), bool(token.meta.get("below"))]
            code = h.el("code", code_html(token.content, token.info), style=_STYLES["code_in_pre"])
            return h.el("pre", code, style=box) + "\n"
        case "code_inline":
            return h.el("code", h.literal(token.content), style=_STYLES["code"])
        case "math_inline":
            return h.literal(token.content)
        case "math_block":
            return h.el("p", h.literal(token.content), style=_STYLES["math_block"]) + "\n"
        case "link_open":
            return h.el("a", href=address, target="_blank").removesuffix("</a>")
        case "data_image":
            words = str(token.attrs["alt"])
            picture = h.el("img", src=address, alt=words or "picture", style=_STYLES["image"])
            return picture if address else h.esc(named(words))
        case "image":  # its words and its address as a link: opening a notebook must load nothing from afar
            words = named(token.content)
            inside = sum({"link_open": 1, "link_close": -1}.get(t.type, 0) for t in tokens[:at])
            return h.esc(words) if inside > 0 else h.join(words, " ", h.el("a", address, href=address, target="_blank"))
    return h.esc(token.content)
