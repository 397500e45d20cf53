"""The threads of a session as a tree, each a line of turns, and the turns of a thread as a list."""

from collections.abc import Sequence

from deepnb.values.turn import ThreadInfo, Turn
from deepnb.views import html as h
from deepnb.views.text import counted, seconds, short, tokens
from deepnb.views.view import Picture, table_view

NO_THREADS = "no threads yet: type %agent new NAME"
NO_TURNS = "no turns yet: type %agent PROMPT"

_WORDS, _LINE = 34, 80
_NEWEST = 5
"""Turns of a thread that a terminal lists, the last ones."""
OWN, INHERITED, COMPACTED, REWOUND = "●", "○", "↓", "↶"
LEGEND = f"{OWN} turn  {INHERITED} forked  {COMPACTED} compacted  {REWOUND} rewound to"
_LANE = 20
"""Turns that a line shows, its last ones."""


def turn_words(number: int, prompt: str) -> str:
    """Return `3 · plot the units by region`."""
    return f"{number} · {short(prompt, _LINE) or 'no words'}"


def threads_view(threads: Sequence[ThreadInfo], stamp: str = "") -> Picture:
    """Return the threads as a tree, and below it the first words of the turns that each has of its own."""
    rows = []
    for depth, thread in tree(threads):
        counts = f"{thread.turns:,}", "" if thread.source else f"{thread.messages:,}"
        name = f"└{'──' * (depth - 1)} {thread.name}" if depth else thread.name
        came = short(thread.source.partition(" · ")[0], 24) or thread.parent or ""
        shown = ("", "") if thread.status and not thread.messages else counts
        rows.append((name, marks(thread), lane(thread), *shown, came))
    opened, forked = any(thread.source for thread in threads), any(thread.parent for thread in threads)
    came_from = "opened from" if opened and not forked else "from" if opened else "forked from"
    legend = LEGEND if any(thread.turns for thread in threads) else ""
    head = ("thread", "", legend, "turns", "messages", came_from)
    table = table_view(head, rows, "threads", (3, 4), NO_THREADS, stamp)
    lines, folds = list[str](), list[h.Html]()
    for _, one in tree(threads):
        numbered = enumerate(one.prompts, one.turns - len(one.prompts) + 1)
        if prompts := [(n, prompt) for n, prompt in numbered if n > _inherited(one)]:
            title = f"{one.name}: opened from {short(one.source, 200)}" if one.source else f"{one.name}:"
            lines += [title, *(f"  {turn_words(n, prompt)}" for n, prompt in prompts[-_NEWEST:])]
            summary = h.join(h.el("b", title), " ", turn_words(*prompts[-1]))
            turns = (h.el("div", turn_words(n, prompt), style="margin:0 0 0 1.4em") for n, prompt in prompts)
            folds.append(h.fold(summary, *turns, framed=False))
    return Picture((), [table.text(), *(["", *lines] if lines else [])], [h.Html(table.html()), *folds])


def lane(thread: ThreadInfo) -> str:
    """Return its turns in a row: those of the thread it was forked from, its own, compactions, and where it was rewound to."""
    own = _inherited(thread)
    first = max(1, thread.turns - _LANE + 1)
    back = {to for _, to in thread.rewound}
    signs = [
        f"{COMPACTED * thread.compacted.count(n)}{OWN if n > own else INHERITED}{REWOUND if n in back else ''}"
        for n in range(first, thread.turns + 1)
    ]
    before = f"…{first - 1}─" if first > 1 else REWOUND if 0 in back else ""
    return before + "─".join(signs)


def _inherited(thread: ThreadInfo) -> int:
    number = (thread.parent or "").rpartition("@")[2]
    return int(number) if number.isdecimal() else 0


def thread_card(depth: int, thread: ThreadInfo) -> Picture:
    """Return one thread with its line of turns, `depth` deep in the tree."""
    came = f"forked from {thread.parent}" if thread.parent else ""
    messages = "" if thread.source else counted(thread.messages, "message")
    facts = [word for word in (marks(thread), counted(thread.turns, "turn"), messages, thread.source or came) if word]
    name = h.join(h.el("b", thread.name), "  ", lane(thread))
    line = h.el("div", name, h.muted(" · ", " · ".join(facts)), style=f"margin:0 0 0 {2 * depth}em")
    return Picture((), [" · ".join(filter(None, (thread.name, lane(thread), *facts)))], [line])


def turns_view(turns: Sequence[Turn], stamp: str = "") -> Picture:
    """Return the turns: what was asked and said, what it cost, what was out of the ordinary."""
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
    """Return whether it is current, needs an approval, or was made with `--empty` or `--shared`."""
    found = {"← current": thread.current, thread.status: bool(thread.status), "needs approval": thread.waits}
    return ", ".join([*(word for word, there in found.items() if there), *thread.kind])


def flags(turn: Turn) -> tuple[str, ...]:
    """Return what was out of the ordinary: error, interrupted, compacted."""
    stopped = turn.interrupted is not None
    found = {"error": turn.error is not None, "interrupted": stopped, "compacted": turn.compacted}
    return tuple(name for name, there in found.items() if there)


def tree(threads: Sequence[ThreadInfo]) -> list[tuple[int, ThreadInfo]]:
    """Return (depth, thread) of every thread, each below its parent; one whose parent is not there stands at the left."""
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
