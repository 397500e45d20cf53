"""What the reference says of some words: the best entries with their text, then others in a line each."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepnb.views import html as h
from deepnb.views.markdown import markdown_html
from deepnb.views.text import COLUMNS, counted, indent, page, short, title_line

_BLOCKS = ("|", "- ", "    ", "#", "!", ">")
"""What a line begins with that is not joined with the next one."""
ALL = "notebooks/REFERENCE.md has the whole reference"


@dataclass(frozen=True)
class HelpView:
    """The answers, best first."""

    words: str
    answers: tuple[tuple[str, str, str], ...]
    """(kind, usage, text in Markdown)"""
    whole: int
    """How many are shown with their text."""
    stamp: str = ""

    @property
    def title(self) -> str:
        """`help: compaction`; empty where the first answer is all that was asked for."""
        return f"help: {self.words}" if self.words else ""

    def text(self) -> str:
        """Each under its usage, the first ones with their text."""
        lines = (
            [title_line(f"{self.title} · {counted(len(self.answers), 'answer')}", self.stamp), ""] if self.title else []
        )
        for _, usage, text in self.answers[: self.whole]:
            lines += [usage, indent("\n".join(_joined(text)).rstrip(), "    "), ""]
        lines += ["see also"] if self.answers[self.whole :] else []
        for kind, usage, text in self.answers[self.whole :]:
            lines += [f"  {short(_brief(kind, usage), COLUMNS - 2)}", f"      {short(_plain(text), COLUMNS - 6)}"]
        return page([*lines, *([""] if lines[-1] else []), ALL])

    def html(self) -> str:
        """The help, drawn as Markdown."""
        count = counted(len(self.answers), "answer")
        body: list[h.Child] = [h.heading(self.title, count, stamp=self.stamp) if self.title else None]
        for _, usage, text in self.answers[: self.whole]:
            body.append(h.frame(h.el("div", h.el("b", h.code(usage))), markdown_html(text)))
        others = [
            h.el("li", h.code(_brief(kind, usage)), ": ", short(_plain(text).replace("`", ""), COLUMNS))
            for kind, usage, text in self.answers[self.whole :]
        ]
        body += [h.label("see also"), h.el("ul", *others, style="margin:0;padding-left:2em")] if others else []
        return h.box(*body, h.label(ALL))


def help_view(words: str, answers: Sequence[tuple[str, str, str]], whole: int = 1, stamp: str = "") -> HelpView:
    """What was found for `words`: (kind, usage, text) of each, best first, `whole` of them with their text."""
    return HelpView(" ".join(words.split()), tuple(answers), whole, stamp)


def _brief(kind: str, usage: str) -> str:
    """The usage of a magic, or what kind of thing it is before it."""
    return usage if usage.startswith("%") else f"{kind}: {usage}"


def _plain(text: str) -> str:
    """The first paragraph of a text that is no code."""
    return next((p for p in text.split("\n\n") if p.strip() and not p.startswith(("```", *_BLOCKS))), text)


def _joined(text: str) -> Iterator[str]:
    """The lines of a text, its paragraphs filled to the width of a screen; code, lists and tables as they are."""
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
