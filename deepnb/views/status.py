"""The state of the session on one small panel, a turn that is still running, and what a changed setting does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepnb.backends.journal import Entry
from deepnb.values.budget import Budget, Rule
from deepnb.values.turn import ThreadInfo
from deepnb.views import html as h
from deepnb.views.budget import EMPTY, BudgetView, bar_html, figure, gauge_line, left_words, rule_words
from deepnb.views.memory import part_words
from deepnb.views.text import counted, elapsed, page, percent, short, title_line
from deepnb.views.turn import model_words
from deepnb.views.view import Picture, table_html

KINDS = {
    "empty": "empty: has its own memory, notes and skills",
    "shared": "shared: others can read it, so it does not get MEMORY.md",
}
_SIZES = ("window", "trigger", "keep")
_AT_ONCE = ("rerun", "stop_at_approval", "stream_hz", "offer_explain", "clock", "embedder")
_VALUE = 60


@dataclass(frozen=True)
class StatusInfo:
    """What the panel tells."""

    model: str
    window: int | None
    thread: ThreadInfo
    budget: Budget | None
    memory: tuple[tuple[str, int], ...]
    """(path, tokens) of each memory file."""
    skills: int
    files: int
    refresh: str
    """When the prompt learns of a change in memory: thread, call or delta."""
    pending: str | None = None
    hints: tuple[str, ...] = ()
    stamp: str = ""
    lacks: tuple[str, ...] = ()
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """path -> (tokens in the prompt, tokens of the file), of the memory files that are not in it whole."""


def status_view(info: StatusInfo) -> Picture:
    """Return the panel of a session: a line for each thing, the context as a small gauge."""
    window = "window unknown" if info.window is None else f"window {info.window:,} tokens"
    thread = info.thread
    counts = (thread.name, counted(thread.turns, "turn"), counted(thread.messages, "message"))
    sizes = {path: part_words(*share) for path, share in info.shares.items()}
    files = ", ".join(f"{path} ({sizes.get(path) or counted(tokens, 'token')})" for path, tokens in info.memory)
    rows = [
        ("model", f"{model_words(info.model)} · {window}"),
        ("thread", " · ".join([*counts, *(KINDS[kind] for kind in thread.kind)])),
        ("memory", f"{files or 'nothing remembered yet'} · refresh {info.refresh}"),
        ("skills", f"{info.skills:,}" if info.skills else "none yet: %skills new NAME"),
        ("files", f"{info.files:,}"),
    ]
    rows = [row for row in rows if row[0] not in info.lacks]
    if info.lacks:
        rows.append(("lacks", f"{', '.join(info.lacks)}: %agent use lists what would give them"))
    if info.pending:
        rows.append(("pending", info.pending))
    gauge = [] if info.budget is None else [gauge_line(info.budget)]
    context = [*gauge, _left(info.budget)]
    lines = [f"  {name:<8} {value}" for name, value in rows]
    lines[2:2] = [f"  {'' if at else 'context':<8} {line}" for at, line in enumerate(context)]
    waits = h.ORANGE.format(0.25)
    cells = [(h.muted(name), h.swatch(value, waits) if name == "pending" else value) for name, value in rows]
    bar = bar_html(BudgetView(info.budget)) if info.budget else None
    cells.insert(2, (h.muted("context"), h.join(_left(info.budget, share=True), bar)))
    hints = (h.el("div", h.muted(hint)) for hint in info.hints)
    body = h.frame(h.heading("deepnb", stamp=info.stamp), table_html(("", ""), cells), *hints)
    return Picture((), [title_line("deepnb", info.stamp), *lines, *info.hints], [body])


def head_view(
    model: str, thread: str, turns: int, budget: Budget | None, waits: Sequence[str], last: Entry | None
) -> Picture:
    """Return the row above the tabs of a dashboard: what is in use, what fills it, what `waits`, memory's last change."""
    rule = budget.rule if budget else None
    trigger = f"trigger {rule.drawn:,}" if rule and rule.drawn else ""
    trigger += f" ({100 * rule.trigger[1]:g} %)" if rule and trigger and rule.trigger[0] == "fraction" else ""
    free = f"{figure(budget, max(0, rule.window - budget.total))} free" if budget and rule and rule.window else ""
    changed = " · ".join(filter(None, (last.id, last.origin, last.path, last.change(40), last.note))) if last else ""
    rows = {
        "model": model_words(model),
        "thread": f"{thread} · {counted(turns, 'turn')}",
        "context": " · ".join(filter(None, (_left(budget, share=True, turns=False), trigger, free))),
        "approvals": ", ".join(waits) or "nothing needs your approval",
        "memory": f"last change {changed}" if changed else "",
    }
    rows = {name: value for name, value in rows.items() if value}
    lines = [f"  {name:<9} {value}" for name, value in rows.items()]
    waiting = h.swatch(rows["approvals"], h.ORANGE.format(0.25)) if waits else rows["approvals"]
    cells = {**rows, "approvals": waiting}.items()
    facts = (h.join(h.el("span", h.muted(name), " ", value, style="margin:0 1em 0 0"), " ") for name, value in cells)
    bar = h.el("div", bar_html(BudgetView(budget)), style="flex:1 1 24em;min-width:0") if budget else None
    line = h.el("div", h.el("div", *facts, style="flex:2 1 28em;min-width:0"), bar, style="display:flex;flex-wrap:wrap")
    return Picture((), [gauge_line(budget), *lines] if budget else lines, [line], wide=True)


def _left(budget: Budget | None, share: bool = False, turns: bool = True) -> str:
    if budget is None:
        return EMPTY
    window = f" of {budget.rule.window:,}" if budget.rule.window else ""
    part = percent(budget.total, budget.rule.window) if share and budget.rule.window else ""
    left = left_words(budget) if turns else ""
    return " · ".join(filter(None, (f"{figure(budget, budget.total)}{window} tokens", part, left)))


@dataclass(frozen=True)
class RunningView:
    """The line. What it says is of one moment, which `at` names where the line may outlive the turn."""

    seconds: float
    doing: str
    budget: Budget | None = None
    """What the main agent's last request held."""
    hint: str = ""
    at: str = ""

    def text(self) -> str:
        return page([" · ".join(filter(None, (self._when, self.doing, self._context, self.hint)))])

    def html(self) -> str:
        rest = "".join(f" · {words}" for words in (self._context, self.hint) if words)
        look = "font-size:12px;font-variant-numeric:tabular-nums"
        return h.box(h.el("div", h.el("b", self._when), " · ", self.doing, h.muted(rest), style=look))

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


def setting_words(name: str, value: object, rule: Rule) -> str:
    """Return what it does: `window is 6,500: compacts at 85 % of the window ...`, `max_steps is 5 from the next turn on`."""
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
