"""A turn that is still running, in one line: how long it has taken, what it waits for, how full the context is."""

from dataclasses import dataclass

from deepnb.core.budget import Budget
from deepnb.views import html as h
from deepnb.views.bar import position
from deepnb.views.budget import figure
from deepnb.views.numbers import elapsed, percent
from deepnb.views.text import page

_CELLS = 120
"""Pixels of the gauge."""


@dataclass(frozen=True)
class RunningView:
    """The line. What it says is of one moment, which `at` names where the line may outlive the turn."""

    seconds: float
    doing: str
    budget: Budget | None = None
    """What the main agent's last request held."""
    hint: str = ""
    """How to stop it."""
    at: str = ""

    def text(self) -> str:
        """`1 min 05 s · waiting for the model · context 4,120 of 8,000 tokens (52 %)`."""
        return page([" · ".join(filter(None, (self._when, self.doing, self._context, self.hint)))])

    def html(self) -> str:
        """The line, small, with a gauge whose mark is the trigger."""
        gauge = h.join(" · ", self._context, " ", self._gauge()) if self.budget else None
        hint = f" · {self.hint}" if self.hint else None
        look = "font-size:12px;font-variant-numeric:tabular-nums"
        words = h.el("div", h.el("b", self._when), " · ", self.doing, h.muted(gauge, hint), style=look)
        return h.box(words)

    @property
    def _when(self) -> str:
        return f"as of {self.at}: {elapsed(self.seconds)}" if self.at else elapsed(self.seconds)

    @property
    def _context(self) -> str:
        if self.budget is None:
            return ""
        total, window = self.budget.total, self.budget.rule.window
        share = f" of {window:,} tokens ({percent(total, window)})" if window else " tokens"
        return f"context {figure(self.budget, total)}{share}"

    def _gauge(self) -> h.Html:
        """A frame filled as far as the window is, the trigger an upright line in it."""
        assert self.budget is not None
        rule = self.budget.rule
        scale = max(rule.window or rule.drawn or 0, self.budget.total, 1)
        full = position(self.budget.total, scale, _CELLS)
        mark = None if rule.drawn is None else position(rule.drawn, scale, _CELLS)
        parts = [h.el("span", style=_PART.format(full, "background:rgba(66,133,210,0.75)"))]
        if mark is not None and mark > full:
            parts.append(h.el("span", style=_PART.format(mark - full, f"border-right:2px solid {h.RED.format(0.75)}")))
        return h.el("span", *parts, style=_FRAME.format(_CELLS), title="how full the context is; red: the trigger")


_FRAME = (
    f"display:inline-block;width:{{}}px;height:9px;border:1px solid {h.LINE};overflow:hidden;white-space:nowrap;"
    "vertical-align:middle;line-height:9px;font-size:0"
)
_PART = "display:inline-block;height:9px;width:{}px;box-sizing:border-box;{}"
