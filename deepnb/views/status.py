"""The state of the session on one small panel.

A turn that is still running, in one line: how long it has taken, what it waits for, how full the context is.

What a setting of `%config DeepNB` does once it is changed, in a line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepnb.core.budget import Budget, Rule
from deepnb.views import html as h
from deepnb.views.bar import position
from deepnb.views.budget import bar_html, budget_view, figure, gauge_line, left_words, rule_words
from deepnb.views.memory import part_words
from deepnb.views.text import counted, elapsed, page, percent, short, title_line
from deepnb.views.turn import model_words
from deepnb.views.view import table_html

KINDS = {
    "empty": "empty: has its own memory, notes and skills",
    "shared": "shared: others can read it, so it does not get MEMORY.md",
}


@dataclass(frozen=True)
class StatusInfo:
    """What the panel tells."""

    model: str
    window: int | None
    thread: str
    turns: int
    messages: int
    budget: Budget | None
    """Of the last model call."""
    memory: tuple[tuple[str, int], ...]
    """(path, tokens) of each memory file."""
    skills: int
    files: int
    refresh: str
    """When the prompt learns of a change in memory: thread, call or delta."""
    pending: str | None = None
    """What waits, and what to type: `interrupted before tools: %agent resume`."""
    hints: tuple[str, ...] = ()
    stamp: str = ""
    kind: tuple[str, ...] = ()
    """How the thread was made: empty, shared."""
    lacks: tuple[str, ...] = ()
    """What a graph of somebody else's lacks."""
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """path -> (tokens in the prompt, tokens of the file), of the memory files that are not in it whole."""


@dataclass(frozen=True)
class StatusView:
    """The panel."""

    info: StatusInfo

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """(what, its state), in order."""
        info = self.info
        window = "window unknown" if info.window is None else f"window {info.window:,} tokens"
        kinds = [KINDS[kind] for kind in info.kind]
        sizes = {path: part_words(*info.shares[path]) for path in info.shares}
        files = ", ".join(f"{path} ({sizes.get(path) or counted(tokens, 'token')})" for path, tokens in info.memory)
        rows = [
            ("model", f"{model_words(info.model)} · {window}"),
            (
                "thread",
                " · ".join([info.thread, counted(info.turns, "turn"), counted(info.messages, "message"), *kinds]),
            ),
            ("memory", f"{files or 'nothing remembered yet'} · refresh {info.refresh}"),
            ("skills", f"{info.skills:,}" if info.skills else "none yet: %skills new NAME"),
            ("files", f"{info.files:,}"),
        ]
        rows = [row for row in rows if row[0] not in info.lacks]
        if info.lacks:
            rows.append(("lacks", f"{', '.join(info.lacks)}: %agent use lists what would give them"))
        return (*rows, ("pending", info.pending)) if info.pending else tuple(rows)

    def text(self) -> str:
        """A line for each thing, the context as a small gauge."""
        lines = [title_line("deepnb", self.info.stamp), *(f"  {name:<8} {value}" for name, value in self.rows)]
        lines[3:3] = [
            f"  {'context':<8} {line}" if not i else f"           {line}" for i, line in enumerate(self._context())
        ]
        return page([*lines, *self.info.hints])

    def html(self) -> str:
        """A framed table, the gauge above it."""
        gauge = bar_html(budget_view(self.info.budget)) if self.info.budget else None
        rows = [(h.muted(name), _swatched(name, value)) for name, value in self.rows]
        rows.insert(2, (h.muted("context"), h.join(self._left(share=True), gauge)))
        hints = [h.el("div", h.muted(hint)) for hint in self.info.hints]
        return h.box(h.frame(h.heading("deepnb", stamp=self.info.stamp), table_html(("", ""), rows), *hints))

    def _left(self, share: bool = False) -> str:
        budget = self.info.budget
        if budget is None:
            return "no model calls yet: %agent PROMPT"
        window = f" of {budget.rule.window:,}" if budget.rule.window else ""
        part = percent(budget.total, budget.rule.window) if share and budget.rule.window else ""
        return " · ".join(filter(None, (f"{figure(budget, budget.total)}{window} tokens", part, left_words(budget))))

    def _context(self) -> list[str]:
        return [*([gauge_line(self.info.budget)] if self.info.budget else []), self._left()]


def status_view(info: StatusInfo) -> StatusView:
    """The panel of a session."""
    return StatusView(info)


def _swatched(name: str, value: str) -> str:
    return h.swatch(value, "rgba(210,153,34,0.25)") if name == "pending" else value


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


_SIZES = ("window", "trigger", "keep")
_AT_ONCE = ("rerun", "stop_at_approval", "stream_hz", "updates", "offer_explain", "clock")
_VALUE = 60


def setting_words(name: str, value: object, rule: Rule) -> str:
    """`window is 6,500: compacts at 85 % of the window ...`, `max_steps is 5 from the next turn on`."""
    if name in _SIZES:
        return f"{name} is {_value(value)}: {rule_words(rule)}"
    when = "" if name in _AT_ONCE else " from the next turn on"
    return f"{name} is {_value(value)}{when}"


def _value(value: object) -> str:
    if value is None:
        return "the default"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return short(", ".join(f"{key}: {one}" for key, one in value.items()) or "empty", _VALUE)
    return short(str(value), _VALUE) or "empty"
