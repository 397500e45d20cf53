"""The gauge: what fills the context window, where compaction sets in, and how far that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deepnb.values.agent import Features, Spent
from deepnb.values.budget import NOT_RECORDED, PARTS, Budget, Rule
from deepnb.values.request import Item
from deepnb.values.turn import Usage
from deepnb.views import html as h
from deepnb.views.bar import MARK, cells, plot_html, plot_sizes, position, sparkline
from deepnb.views.text import COLUMNS, counted, indent, page, percent, short, title_line
from deepnb.views.text import cost as cost_words
from deepnb.views.text import tokens as written
from deepnb.views.view import table_html, table_text

EMPTY = "no model calls yet in this thread"
WIDE = 60
_MOST_CALLS = 30
_LARGEST = 4
_HEAD = ("", "item", "tokens", "to take it out")
_HOW = (
    "Options such as enable_memory=False are set with deepnb.current().configure(enable_memory=False).",
    "%config DeepNB.tools = 'lean', 'short' or 'full' says which tools are offered, in how many words.",
)

_LOOKS = {
    "system": ("S", "rgba(120,120,135,0.55)"),
    "memory": ("M", "rgba(66,133,210,0.6)"),
    "skills": ("K", "rgba(30,160,150,0.55)"),
    "tools": ("T", "rgba(150,110,200,0.5)"),
    "summary": ("Σ", "rgba(210,100,150,0.5)"),
    "user": ("U", "rgba(80,170,80,0.55)"),
    "assistant": ("A", "rgba(220,160,40,0.55)"),
    "tool results": ("R", "rgba(215,105,65,0.55)"),
}
_OTHER = ("?", "rgba(128,128,128,0.4)")
NO_CALL = Budget({}, Rule(("tokens", 0), ("tokens", 0), None, known=False), 0)
"""What there is before the first model call."""


@dataclass(frozen=True)
class Part:
    """A part of the request: its letter in the bar, and its tokens."""

    name: str
    letter: str
    colour: str
    tokens: int
    cells: int


@dataclass(frozen=True)
class BudgetView:
    """One request against its rule."""

    budget: Budget
    stamp: str = ""
    history: Sequence[int] = ()
    """Totals of the calls until now, the newest last."""
    compactions: Sequence[int] = ()
    """Indices in `history` of the calls that a compaction came before."""
    cost: float | None = None
    """US dollars of all calls of the thread, where the prices are known."""
    cached: Usage | None = None
    """Of the request, where the provider has a cache."""
    nested: Mapping[str, Spent] = field(default_factory=dict)
    """Name of a subagent -> what it spent in the thread."""
    unfolded: bool = False
    features: Features = field(default_factory=Features)
    places: tuple[tuple[int, int], ...] = ()
    """The turn and the number there of each call in `history`, where they are known."""

    @property
    def scale(self) -> int:
        """The tokens that the whole bar stands for: the window, or the trigger if that is not known."""
        return scale_of(self.budget)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts in the order of the bar; those that cost nothing are left out."""
        amounts = self.budget.parts
        names = [n for n in (*PARTS, *(n for n in amounts if n not in PARTS)) if amounts.get(n, 0) > 0]
        taken = cells([amounts[n] for n in names], self.scale, WIDE)
        return tuple(Part(n, *_LOOKS.get(n, _OTHER), amounts[n], c) for n, c in zip(names, taken, strict=True))

    @property
    def mark(self) -> int | None:
        """The cell of the trigger; None where no number of tokens is one."""
        trigger = self.budget.rule.drawn
        return None if trigger is None else position(trigger, self.scale, WIDE)

    @property
    def facts(self) -> tuple[str, ...]:
        """What the gauge says in words, a line each."""
        budget, window = self.budget, self.budget.rule.window
        facts = [rule_words(budget.rule), reserve_words(budget.rule), left_words(budget)]
        if window is not None and budget.total > window:
            over = counted(budget.total - window, "token", budget.exact)
            facts.append(f"{over} over the window: the provider may refuse this request")
        if budget.parts.get(NOT_RECORDED):
            facts.append(
                f"{NOT_RECORDED}: what the request held and the file does not, such as system prompt and tools"
            )
        if budget.reported is not None:
            counted_as = "counted" if budget.exact else "estimated"
            sent = budget.total if budget.sent is None else budget.sent
            counted_as = counted_as if sent == budget.total else f"the last request: {counted_as}"
            facts.append(f"{counted_as} {figure(budget, sent)}, the model reported {budget.reported:,}")
        elif not budget.exact:
            facts.append("~ marks an estimate, on the high side")
        facts = [fact for fact in (*facts, budget.unseen) if fact]
        if self.cached is not None:
            read, sent = self.cached.cached or 0, self.cached.input
            facts.append(f"{percent(read, sent)} of the input was cached ({read:,} of {sent:,})")
        spent = self.nested.values()  # what is not in the gauge, which is the main agent's
        if calls := sum(one.calls for one in spent):
            tokens = counted(sum(one.input + one.output for one in spent), "token", all(one.exact for one in spent))
            facts.append(f"plus {tokens} in {counted(calls, 'subagent call')}: see %agent subagents")
        return (*facts, f"cost so far {cost_words(self.cost)}") if self.cost is not None else tuple(facts)

    @property
    def title(self) -> str:
        """`context · 5,204 of 8,000 tokens · 65 %`."""
        total, window = figure(self.budget, self.budget.total), self.budget.rule.window
        if window is None:
            return f"context · {total} tokens · window unknown"
        return f"context · {total} of {window:,} tokens · {percent(self.budget.total, window)}"

    def text(self) -> str:
        if self.budget is NO_CALL:
            return page([title_line("context", self.stamp), EMPTY])
        filled = "".join(part.letter * part.cells for part in self.parts)
        bar = [f"[{filled}{'·' * (WIDE - len(filled))}]"]
        if (mark := self.mark) is not None:
            words = f"{self.budget.rule.drawn:,} compacts"
            left = " " * (mark - len(words)) + f"{words} ▼"
            bar.insert(0, left if mark > len(words) else " " * (mark + 1) + f"▼ {words}")
        lines = [title_line(self.title, self.stamp), "", *bar, ""]
        lines += [indent(table_text(("", "part", "tokens", "share"), self._rows(), right=(2, 3))), ""]
        lines += [short(fact, COLUMNS) for fact in self.facts]
        if self.history:
            lines += [f"per call {sparkline(*self._last_calls)}", f"         {self.plot_ends}"]
        if self.items and self.unfolded:
            lines += ["", indent(table_text(_HEAD, self._item_rows, right=(2,))), "", *self._how]
        return page([*lines, *([self._largest] if self.items and not self.unfolded else [])])

    def html(self) -> str:
        if self.budget is NO_CALL:
            return h.box(h.heading("context", stamp=self.stamp), h.muted(EMPTY))
        *rows, total = self._rows()
        marked = [(h.swatch(p.letter, p.colour), *row[1:]) for p, row in zip(self.parts, rows, strict=True)]
        body = [h.heading(*self.title.split(" · "), stamp=self.stamp), bar_html(self)]
        body.append(table_html(("", "part", "tokens", "share"), [*marked, total], right=(2, 3)))
        body += [h.el("div", fact) for fact in self.facts]
        if self.history:
            plot = plot_html(*self._last_calls, self.budget.rule.drawn)
            body += [h.label(self.plot_title), plot, h.muted(self.plot_ends)]
        if self.items:
            notes = [h.el("div", h.muted(line)) for line in self._how]
            title = h.esc(f"{counted(len(self.items), 'item')}, and what takes each out")
            title = title if self.unfolded else h.join(title, h.muted(" · ", self._largest))
            table = table_html(_HEAD, self._item_rows, right=(2,), plain=True)
            body.append(h.fold(title, table, *notes, opened=self.unfolded, framed=False))
        return h.box(*body)

    @property
    def line(self) -> int | None:
        """The height of the trigger in the plot, in pixels; None where it is not drawn."""
        return plot_sizes(self._last_calls[0], self.budget.rule.drawn)[1]

    @property
    def bars(self) -> dict[tuple[int, int], tuple[str, int, bool]]:
        """Place of each of the newest calls -> its words, its height in percent, whether a compaction came before it."""
        figures, marks = self._last_calls
        heights = plot_sizes(figures, self.budget.rule.drawn)[0]
        found = {}
        for n, (turn, call) in enumerate(self.places[-len(figures) :] if figures else ()):
            words = f"turn {turn}, call {call}: {counted(figures[n], 'token')}"
            found[turn, call] = (words + ", after a compaction" * (n in marks), heights[n], n in marks)
        return found

    @property
    def plot_title(self) -> str:
        return "tokens per call" if self.line is None else "tokens per call (red line: trigger)"

    @property
    def plot_ends(self) -> str:
        """The first figure and the newest, how many calls and compactions there are, and the trigger."""
        words = f"{self.history[0]:,} → {self.history[-1]:,} tokens over {counted(len(self.history), 'call')}"
        words += f", {counted(len(self.compactions), 'compaction')} ({MARK})" if self.compactions else ""
        trigger = self.budget.rule.drawn
        return words if trigger is None else f"{words}, trigger {trigger:,}"

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return self.budget.items

    @property
    def _largest(self) -> str:
        largest = sorted(self.items, key=lambda item: -item.tokens)[:_LARGEST]
        named = ", ".join(f"{short(item.name, 24)} {figure(self.budget, item.tokens)}" for item in largest)
        return f"largest: {named}; %agent budget --items lists all {len(self.items)}"

    @property
    def _item_rows(self) -> list[tuple[str, ...]]:
        rows = list[tuple[str, ...]]()
        for item in self.items:
            name = f"{item.name}: {short(item.start, 40)}" if item.start else item.name
            out = item.out if item.out and self.features.allows(item.out) else "-"
            rows.append((part_look(item.part)[0], name, figure(self.budget, item.tokens), out))
        return rows

    @property
    def _how(self) -> list[str]:
        return [line for line in _HOW if self.features.allows(line)]

    @property
    def _last_calls(self) -> tuple[Sequence[int], frozenset[int]]:
        first = max(0, len(self.history) - _MOST_CALLS)
        return self.history[first:], frozenset(at - first for at in self.compactions if at >= first)

    def _rows(self) -> list[tuple[str, ...]]:
        total = self.budget.total
        rows = [(p.letter, p.name, figure(self.budget, p.tokens), percent(p.tokens, total)) for p in self.parts]
        return [*rows, ("", "total", figure(self.budget, total), percent(total, total))]


def part_look(part: str) -> tuple[str, str]:
    """Return (letter, colour) of a part, the same wherever it is shown."""
    return _LOOKS.get(part, _OTHER)


def rule_words(rule: Rule) -> str:
    """Return `compacts at 85 % of the window (6,800 of 8,000 tokens), keeps the last 10 %`."""
    kind, value = rule.trigger
    if not rule.known:
        return "when the context is compacted is not recorded"
    if not rule.compacts:
        return "nothing compacts the context"
    if rule.limit is not None and rule.trigger_tokens != rule.asked_tokens:
        at = f"compacts at {rule.trigger_tokens:,} tokens, {_rest(rule)}"
    elif kind == "fraction" and rule.window is not None:
        guess = ", a guess" if rule.guessed else ""
        at = f"compacts at {_fraction(value)} of the window ({rule.trigger_tokens:,} of {rule.window:,} tokens{guess})"
    elif kind == "fraction":
        at = f"never compacts automatically: the trigger is {_fraction(value)} of the window, which is unknown"
    else:
        at = f"compacts at {int(value):,} {kind}"
    kept, amount = rule.keep
    return f"{at}, keeps the last {_fraction(amount) if kept == 'fraction' else f'{int(amount):,} {kept}'}"


def reserve_words(rule: Rule) -> str:
    """Return how much of the window is set aside for the answer, and how far that is lowered; empty where that says nothing."""
    if (at := rule.drawn) is not None and rule.trigger_tokens is None:
        return f"compacts at {at:,} tokens at the latest, {_rest(rule)}"
    if not rule.reserve or at is None:
        return ""
    words, room = f"{rule.reserve:,} tokens are reserved for the answer", rule.answer_room(at)
    return f"{words}, fewer as the window fills: {room:,} at the trigger" if room and room < rule.reserve else words


def _rest(rule: Rule) -> str:
    """Return why no more is sent: `the window of 4,096 less 1,024 for the answer`."""
    assert rule.window is not None and rule.limit is not None
    return f"the window of {rule.window:,} less {rule.window - rule.limit:,} for the answer"


def left_words(budget: Budget) -> str:
    """Return what is left until the trigger, in tokens or messages, and about how many turns that is."""
    (kind, value), compacts = budget.rule.trigger, budget.rule.compacts
    if not budget.rule.known:
        return ""
    limit = budget.rule.limit
    if kind == "messages" and compacts and not (limit is not None and budget.total > limit):
        left = max(0, int(value) - budget.messages)
        words = f"{counted(budget.messages, 'message')}, {left:,} more until the trigger"
    elif budget.left is None and not (kind == "messages" and compacts):
        return ""
    elif not budget.left:
        past = "past the trigger: the next call compacts the context first, if it can"
        return past if compacts else "the window is full"
    else:
        until = " until the trigger" if compacts else ""
        words = f"{counted(budget.left, 'token', budget.exact)} left{until}"
    if (turns := budget.turns_left) is None:
        return words
    about = f"about {counted(turns, 'more turn')}" if turns else "less than one more turn"
    return f"{words}: {about} at this rate"


def figure(budget: Budget, tokens: int) -> str:
    """Return `1,234`, or `~1,234` where the count is an estimate."""
    return written(tokens, budget.exact)


def scale_of(budget: Budget) -> int:
    """Return the tokens that a whole gauge stands for: the window, or the trigger if that is not known."""
    return max(budget.rule.window or budget.rule.drawn or 0, budget.total, 1)


def gauge_line(budget: Budget) -> str:
    """Return a bar of one line: `[#####·····▼··] 65 %`."""
    scale, columns = scale_of(budget), WIDE // 2
    full = position(budget.total, scale, columns)
    bar = "█" * full + "·" * (columns - full)
    if (trigger := budget.rule.drawn) is not None:
        at = position(trigger, scale, columns)
        bar = f"{bar[:at]}|{bar[at:]}"
    return f"[{bar}] {percent(budget.total, budget.rule.window)}" if budget.rule.window else f"[{bar}]"


def _fraction(value: float) -> str:
    return f"{100 * value:g} %"


def bar_html(view: BudgetView) -> h.Html:
    """Return the bar. Each part's letters are its text, all but the first unseen: without styles they are the bar."""
    look = (
        "background:{};flex:{} 1 0;overflow:hidden;white-space:nowrap;font-size:10px;line-height:18px;text-indent:3px;"
        "border-right:1px solid transparent"
    )
    spans = []
    for part in view.parts:
        seen = part.letter if part.tokens > view.scale // 50 else ""
        rest = part.letter * (part.cells - len(seen))
        unseen = h.el("span", rest, style="color:transparent") if rest else None
        words = f"{part.name}: {counted(part.tokens, 'token')}"
        share = max(part.tokens, view.scale // 200, 1)
        spans.append(h.el("span", seen, unseen, style=look.format(part.colour, share), title=words))
    free = view.scale - sum(p.tokens for p in view.parts)
    dots = "·" * (WIDE - sum(p.cells for p in view.parts))
    if free > 0:
        hidden = f"flex:{free} 1 0;overflow:hidden;color:transparent"
        spans.append(h.el("span", dots, style=hidden, title=f"free: {counted(free, 'token')}"))
    frame = f"display:flex;height:18px;border:1px solid {h.LINE};border-radius:6px;overflow:hidden"
    bar = h.el("div", *spans, style=f"{frame};font-family:monospace")
    if (trigger := view.budget.rule.drawn) is None:
        return h.el("div", bar, style="max-width:46em;margin:4px 0")
    side = f"width:{100 * min(1.0, trigger / view.scale):.2f}%;border-right:2px solid {h.RED.format(0.75)};box-sizing:border-box"
    label = h.el("span", f"trigger {trigger:,}", style=f"{h.MUTED};font-size:11px;padding:0 5px 0 0")
    above = h.el("div", label, style=f"{side};text-align:right;line-height:15px;white-space:nowrap")
    return h.el("div", above, bar, h.el("div", style=f"{side};height:5px"), style="max-width:46em;margin:4px 0")
