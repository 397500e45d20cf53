"""What the reference says of some words: the best entries with their text, then others in a line each."""

import textwrap
from collections.abc import Iterator, Sequence

from deepnb.views import html as h
from deepnb.views.markdown import markdown_html
from deepnb.views.text import COLUMNS, counted, indent, short
from deepnb.views.view import Picture

_BLOCKS = ("|", "- ", "    ", "#", "!", ">")
"""What a line begins with that is not joined with the next one."""


def help_view(words: str, answers: Sequence[tuple[str, str, str]], whole: int = 1, stamp: str = "") -> Picture:
    """Return the answers to some words, best first: (kind, usage, text in Markdown) of each, `whole` of them with text.

    Without words the first answer is all that was asked for.
    """
    lines, body = [""] * bool(words.strip()), list[h.Child]()
    for _, usage, text in answers[:whole]:
        lines += [usage, indent("\n".join(_joined(text)).rstrip(), "    "), ""]
        body.append(h.frame(h.el("div", h.el("b", h.code(usage))), markdown_html(text)))
    if others := answers[whole:]:
        lines.append("see also")
        items = []
        for kind, usage, text in others:
            name, plain = usage if usage.startswith("%") else f"{kind}: {usage}", _plain(text)
            lines += [f"  {short(name, COLUMNS - 2)}", f"      {short(plain, COLUMNS - 6)}"]
            items.append(h.el("li", h.code(name), ": ", short(plain.replace("`", ""), COLUMNS)))
        body += [h.label("see also"), h.el("ul", *items, style="margin:0;padding-left:2em")]
    title = (f"help: {' '.join(words.split())}", counted(len(answers), "answer")) if words.strip() else ()
    all_ = "notebooks/REFERENCE.md has the whole reference"
    return Picture(title, [*lines, *([""] if lines[-1] else []), all_], [*body, h.label(all_)], stamp)


def _plain(text: str) -> str:
    """Return the first paragraph of a text that is no code."""
    return next((p for p in text.split("\n\n") if p.strip() and not p.startswith(("```", *_BLOCKS))), text)


def _joined(text: str) -> Iterator[str]:
    """Yield the lines of a text, its paragraphs filled to the width of a screen; code, lists and tables as they are."""
    paragraph: list[str] = []
    in_code = False
    for line in [*text.split("\n"), ""]:
        is_fence = line.startswith("```")
        if in_code or is_fence or not line.strip() or line.startswith(_BLOCKS):
            yield from textwrap.wrap(" ".join(paragraph), COLUMNS - 4, break_long_words=False, break_on_hyphens=False)
            paragraph = []
            in_code ^= is_fence
            if not is_fence:
                yield f"    {line}" if in_code else line
        else:
            paragraph.append(line.strip())
