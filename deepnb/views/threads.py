"""The threads of a session as a tree, and the turns of a thread as a list."""

from __future__ import annotations

from collections.abc import Sequence

from deepnb.core.values import Compacted, ThreadInfo, Turn
from deepnb.views.figures import seconds
from deepnb.views.plain import short
from deepnb.views.table import TableView, table_view

NO_THREADS = "no thread yet: type %agent new NAME"
NO_TURNS = "no turn yet: type %agent PROMPT"

_WORDS = 34


def threads_view(threads: Sequence[ThreadInfo], stamp: str = "") -> TableView:
    """The threads, each below the one it was forked from."""
    rows = [
        (
            f"└{'──' * (depth - 1)} {thread.name}" if depth else thread.name,
            marks(thread),
            f"{thread.turns:,}",
            f"{thread.messages:,}",
            thread.parent or "",
        )
        for depth, thread in tree(threads)
    ]
    return table_view(("thread", "", "turns", "messages", "forked from"), rows, "threads", (2, 3), NO_THREADS, stamp)


def turns_view(turns: Sequence[Turn], stamp: str = "") -> TableView:
    """The turns: what was asked and said, what it cost, what was out of the ordinary."""
    rows = [
        (
            f"{turn.number}",
            short(turn.prompt, _WORDS),
            short(turn.text, _WORDS),
            f"{turn.usage.input:,} / {turn.usage.output:,}",
            seconds(turn.seconds),
            ", ".join(flags(turn)),
        )
        for turn in turns
    ]
    head = ("turn", "prompt", "answer", "in / out", "time", "")
    return table_view(head, rows, "turns", (0, 3, 4), NO_TURNS, stamp)


def marks(thread: ThreadInfo) -> str:
    """Which one is current, which was made with `--empty` or `--shared`."""
    return ", ".join([*(["← current"] if thread.current else []), *thread.kind])


def flags(turn: Turn) -> tuple[str, ...]:
    """What was out of the ordinary: error, interrupted, compacted."""
    found = {
        "error": turn.error is not None,
        "interrupted": turn.interrupted is not None,
        "compacted": any(isinstance(event, Compacted) and not event.path for event in turn.events),
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
