"""The state of the session on one small panel."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepnb.core.budget import Budget
from deepnb.views import html as h
from deepnb.views.budget import bar_html, budget_view, figure, gauge_line, left_words
from deepnb.views.footer import model_words
from deepnb.views.memory import part_words
from deepnb.views.numbers import counted, percent
from deepnb.views.table import table_html
from deepnb.views.text import page, title_line

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
        rows = [(h.muted(name), _value(name, value)) for name, value in self.rows]
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


def _value(name: str, value: str) -> str:
    return h.swatch(value, "rgba(210,153,34,0.25)") if name == "pending" else value
