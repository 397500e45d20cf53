"""An exercise and what is there of it: part by part, what is done and what is missing."""

import json
from dataclasses import asdict, dataclass

from deepnb.core.short_repr import short_repr
from deepnb.views import html as h
from deepnb.views.table import table_html
from deepnb.views.text import indent, page, title_line

_DONE, _MISSING = "done", "missing"


@dataclass(frozen=True)
class CheckPart:
    """One thing that the exercise asks for."""

    what: str
    missing: str = ""
    """What is not there yet; empty where all of it is."""

    @property
    def done(self) -> bool:
        """Whether it is there."""
        return not self.missing


@dataclass(frozen=True, repr=False)
class CheckView:
    """An exercise, checked once: it never changes later."""

    number: str
    title: str
    parts: tuple[CheckPart, ...]
    stamp: str = ""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.number}: {self.score}")

    @property
    def done(self) -> bool:
        """Whether all parts are there."""
        return all(part.done for part in self.parts)

    @property
    def score(self) -> str:
        """`2 of 3 parts done`."""
        return f"{sum(part.done for part in self.parts)} of {len(self.parts)} parts done"

    def json(self) -> str:
        """The result for a grader, on one line."""
        parts = [{**asdict(part), "done": part.done} for part in self.parts]
        return json.dumps({"exercise": self.number, "title": self.title, "done": self.done, "parts": parts})

    def text(self) -> str:
        """A line for each part, below it what is missing."""
        lines = [title_line(f"exercise {self.number} · {self.title} · {self.score}", self.stamp)]
        for part in self.parts:
            lines.append(f"  {_word(part):<7}  {part.what}")
            lines += [indent(part.missing, " " * 11)] if part.missing else []
        return page(lines)

    def html(self) -> str:
        """A table."""
        rows = [(h.swatch(_word(part), _colour(part)), h.join(part.what, _missing(part))) for part in self.parts]
        head = h.heading(f"exercise {self.number}", self.title, self.score, stamp=self.stamp)
        return h.box(head, table_html(("", ""), rows))


def check_view(number: str, title: str, parts: tuple[CheckPart, ...], stamp: str = "") -> CheckView:
    """What there is of an exercise."""
    return CheckView(number, title, parts, stamp)


def _word(part: CheckPart) -> str:
    return _DONE if part.done else _MISSING


def _colour(part: CheckPart) -> str:
    return h.GREEN.format(0.25) if part.done else "rgba(210,153,34,0.3)"


def _missing(part: CheckPart) -> h.Html | None:
    return h.el("div", h.muted(part.missing)) if part.missing else None
