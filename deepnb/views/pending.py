"""Changes that wait for the user: what they would change, and what to type."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.diff import FileDiff
from deepnb.views import html as h
from deepnb.views.diff import diff_html, diff_view
from deepnb.views.numbers import counted
from deepnb.views.text import clean, title_line

EMPTY = "nothing needs your approval"


@dataclass(frozen=True)
class PendingChange:
    """One change that waits, and why."""

    id: str
    why: str
    change: FileDiff

    @property
    def title(self) -> str:
        """`p1 · /AGENTS.md · why it waits`."""
        return f"{self.id} · {self.change.path} · {self.why}"

    @property
    def todo(self) -> str:
        """What to type."""
        return f"%memory accept {self.id} applies it, %memory drop {self.id} discards it"


@dataclass(frozen=True)
class PendingView:
    """All that waits."""

    items: tuple[PendingChange, ...]
    stamp: str = ""

    def text(self) -> str:
        """Each change as a unified diff, and what to type."""
        head = clean(title_line(f"needs your approval · {counted(len(self.items), 'change')}", self.stamp))
        if not self.items:
            return clean(EMPTY)
        return "\n\n".join([head, *(f"{diff_view([i.change], i.title).text()}\n{clean(i.todo)}" for i in self.items)])

    def html(self) -> str:
        """One card for each pending change."""
        if not self.items:
            return h.box(h.muted(EMPTY))
        cards = [h.frame(h.el("div", h.el("b", i.title)), diff_html(i.change), h.muted(i.todo)) for i in self.items]
        return h.box(h.heading("needs your approval", counted(len(self.items), "change"), stamp=self.stamp), *cards)


def pending_view(items: Sequence[PendingChange], stamp: str = "") -> PendingView:
    """What needs the user's approval."""
    return PendingView(tuple(items), stamp)
