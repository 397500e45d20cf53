"""The threads of a session as a tree, each a line of turns, and the turns of a thread as a list."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.values import ThreadInfo, Turn
from deepnb.views import html as h
from deepnb.views.text import counted, page, seconds, short, tokens
from deepnb.views.view import TableView, table_view

NO_THREADS = "no threads yet: type %agent new NAME"
NO_TURNS = "no turns yet: type %agent PROMPT"

_WORDS, _LINE = 34, 80
_NEWEST = 5
"""Turns of a thread that a terminal lists, the last ones."""
OWN, INHERITED, COMPACTED, REWOUND = "●", "○", "↓", "↶"
LEGEND = f"{OWN} turn  {INHERITED} forked  {COMPACTED} compacted  {REWOUND} rewound to"
_LANE = 20
"""Turns that a line shows, its last ones."""


@dataclass(frozen=True)
class ThreadsView:
    """The threads as a tree, and below it the first words of the turns that each has of its own."""

    table: TableView
    threads: tuple[ThreadInfo, ...]

    def text(self) -> str:
        """The table, then the newest turns of each thread, a line each."""
        words = [(t, own_prompts(t)) for t in self.threads]
        lines = [
            line
            for one, prompts in words
            if prompts
            for line in (_titled(one), *(f"  {turn_words(n, prompt)}" for n, prompt in prompts[-_NEWEST:]))
        ]
        return page([self.table.text(), *(["", *lines] if lines else [])])

    def html(self) -> str:
        """The table, and a fold for the turns of each thread."""
        folds = [
            h.fold(
                h.join(h.el("b", _titled(thread)), " ", turn_words(*prompts[-1])),
                *(h.el("div", turn_words(n, prompt), style="margin:0 0 0 1.4em") for n, prompt in prompts),
                framed=False,
            )
            for thread in self.threads
            if (prompts := own_prompts(thread))
        ]
        return h.box(h.Html(self.table.html()), *folds)


def _titled(thread: ThreadInfo) -> str:
    """`main:`, or where it was opened from."""
    return f"{thread.name}: opened from {short(thread.source, 200)}" if thread.source else f"{thread.name}:"


def own_prompts(thread: ThreadInfo) -> list[tuple[int, str]]:
    """(number, prompt) of the newest turns of a thread, without those of the thread it was forked from."""
    first = thread.turns - len(thread.prompts) + 1
    return [(n, prompt) for n, prompt in enumerate(thread.prompts, first) if n > _inherited(thread)]


def turn_words(number: int, prompt: str) -> str:
    """`3 · plot the units by region`."""
    return f"{number} · {short(prompt, _LINE) or 'no words'}"


def threads_view(threads: Sequence[ThreadInfo], stamp: str = "") -> ThreadsView:
    """The threads, each below the one it was forked from, with the first words of their turns."""
    return ThreadsView(threads_table(threads, stamp), tuple(thread for _, thread in tree(threads)))


def threads_table(threads: Sequence[ThreadInfo], stamp: str = "") -> TableView:
    """The threads, each below the one it was forked from."""
    rows = [
        (
            f"└{'──' * (depth - 1)} {thread.name}" if depth else thread.name,
            marks(thread),
            lane(thread),
            *(
                ("", "")
                if thread.status and not thread.messages
                else (f"{thread.turns:,}", "" if thread.source else f"{thread.messages:,}")
            ),
            short(thread.source.partition(" · ")[0], 24) or thread.parent or "",
        )
        for depth, thread in tree(threads)
    ]
    opened, forked = any(thread.source for thread in threads), any(thread.parent for thread in threads)
    head = (
        "thread",
        "",
        LEGEND if any(thread.turns for thread in threads) else "",
        "turns",
        "messages",
        "opened from" if opened and not forked else "from" if opened else "forked from",
    )
    return table_view(head, rows, "threads", (3, 4), NO_THREADS, stamp)


def lane(thread: ThreadInfo) -> str:
    """Its turns in a row: those of the thread it was forked from, its own, compactions, and where it was rewound to."""
    own = _inherited(thread)
    first = max(1, thread.turns - _LANE + 1)
    back = {to for _, to in thread.rewound}
    signs = [
        f"{COMPACTED if n in thread.compacted else ''}{OWN if n > own else INHERITED}{REWOUND if n in back else ''}"
        for n in range(first, thread.turns + 1)
    ]
    before = f"…{first - 1}─" if first > 1 else REWOUND if 0 in back else ""
    return before + "─".join(signs)


def _inherited(thread: ThreadInfo) -> int:
    """How many turns a thread has of the one it was forked from."""
    number = (thread.parent or "").rpartition("@")[2]
    return int(number) if number.isdigit() else 0


@dataclass(frozen=True)
class ThreadCard:
    """One thread with its line of turns."""

    depth: int
    thread: ThreadInfo

    def text(self) -> str:
        """One line."""
        return " · ".join(part for part in (self.thread.name, lane(self.thread), *self.facts) if part)

    def html(self) -> str:
        """The threads, each set in under the one it comes from."""
        name = h.join(h.el("b", self.thread.name), "  ", lane(self.thread))
        facts = h.muted(" · ", " · ".join(self.facts))
        return h.box(h.el("div", name, facts, style=f"margin:0 0 0 {2 * self.depth}em"))

    @property
    def facts(self) -> tuple[str, ...]:
        t = self.thread
        came = f"forked from {t.parent}" if t.parent else ""
        words = (
            marks(t),
            counted(t.turns, "turn"),
            "" if t.source else counted(t.messages, "message"),
            t.source or came,
        )
        return tuple(word for word in words if word)


def turns_view(turns: Sequence[Turn], stamp: str = "") -> TableView:
    """The turns: what was asked and said, what it cost, what was out of the ordinary."""
    rows = [
        (
            f"{turn.number}",
            short(turn.prompt, _WORDS),
            short(turn.text, _WORDS),
            f"{tokens(turn.usage.input, turn.usage.exact)} / {tokens(turn.usage.output, turn.usage.exact)}",
            seconds(turn.seconds),
            ", ".join(flags(turn)),
        )
        for turn in turns
    ]
    head = ("turn", "prompt", "answer", "in / out", "time", "")
    return table_view(head, rows, "turns", (0, 3, 4), NO_TURNS, stamp)


def marks(thread: ThreadInfo) -> str:
    """Whether it is current, needs an approval, or was made with `--empty` or `--shared`."""
    waits = ["needs approval"] if thread.waits else []
    status = [thread.status] if thread.status else []
    return ", ".join([*(["← current"] if thread.current else []), *status, *waits, *thread.kind])


def flags(turn: Turn) -> tuple[str, ...]:
    """What was out of the ordinary: error, interrupted, compacted."""
    found = {
        "error": turn.error is not None,
        "interrupted": turn.interrupted is not None,
        "compacted": turn.compacted,
    }
    return tuple(name for name, there in found.items() if there)


def tree(threads: Sequence[ThreadInfo]) -> list[tuple[int, ThreadInfo]]:
    """(depth, thread) of every thread, each below its parent; one whose parent is not there stands at the left."""
    names = {thread.name for thread in threads}
    below: dict[str | None, list[ThreadInfo]] = {}
    for thread in threads:
        parent = (thread.parent or "").rpartition("@")[0]
        below.setdefault(parent if parent in names and parent != thread.name else None, []).append(thread)
    out: list[tuple[int, ThreadInfo]] = []
    seen: set[int] = set()
    # A circle of parents has no root: its threads are taken up last, at the left.
    rest = [(0, thread) for thread in [*below.get(None, []), *threads]][::-1]
    while rest:
        depth, thread = rest.pop()
        if id(thread) in seen:
            continue
        seen.add(id(thread))
        out.append((depth, thread))
        rest += [(depth + 1, child) for child in reversed(below.get(thread.name, []))]
    return out
