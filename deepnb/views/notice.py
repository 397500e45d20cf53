"""One line the user should know of."""

from dataclasses import dataclass
from typing import Literal

from deepnb.views import html as h
from deepnb.views.text import page

Kind = Literal["note", "ok", "warning", "error", "hint"]

_COLOURS = {"note": "rgba(128,128,128,0.5)", "ok": h.GREEN.format(0.8), "error": h.RED.format(0.8)}
_WARNING = "rgba(210,153,34,0.8)"


@dataclass(frozen=True)
class NoticeView:
    """The line, and how much it matters."""

    line: str
    kind: Kind = "note"

    def text(self) -> str:
        """`note: ...`; what went well, and a hint, is said without a word before it."""
        return page([self.line if self.kind in ("ok", "hint") else f"{self.kind}: {self.line}"])

    def html(self) -> str:
        """The line beside a thin coloured edge, its kind in a word; a hint is small and grey."""
        if self.kind == "hint":
            return h.box(h.el("div", self.line, style=f"{h.MUTED};font-size:12px"))
        colour = _COLOURS.get(self.kind, _WARNING)
        word = None if self.kind == "ok" else h.el("b", self.kind, ": ")
        return h.box(h.el("div", word, self.line, style=f"border-left:3px solid {colour};padding:1px 10px"))


def notice_view(text: str, kind: Kind = "note") -> NoticeView:
    """One line, as `note`, `ok`, `warning`, `error` or `hint`."""
    return NoticeView(" ".join(text.split()), kind)
