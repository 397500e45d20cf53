"""One more turn of a thread of 10 to 1,000 messages, beside a bare deepagents graph's; several minutes."""

import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median

from langgraph.checkpoint.memory import InMemorySaver

from tests.bench import agents
from tests.bench.agents import MESSAGES, PROMPT, Pair, Turn, bare_turn, on_disk, session_turn
from tests.bench.row import Row, held
from tests.support.shells import Shell

QUICK = False
BOUND = 1.15
LENGTHS = (100, 500, 1000)  # messages; those of about 10 are measured in threads of their own
PAIRS = 15
THREADS = 3  # that each length is measured in; the figure is the median over the pairs of all


def rows() -> Iterator[Row]:
    yield from _along("Session.run, in memory", lambda: Pair(session_turn(InMemorySaver()), bare_turn(InMemorySaver())))
    with tempfile.TemporaryDirectory() as folder:
        files = (Path(folder) / f"{number}.sqlite" for number in count())

        def pair() -> Pair:
            return Pair(session_turn(on_disk(next(files))), bare_turn(on_disk(next(files))))

        yield from _along("Session.run, SQLite", pair)
    yield from _along("%%agent, in memory", lambda: Pair(_cell_turn(), bare_turn(InMemorySaver())))


def _cell_turn() -> Turn:
    shell = Shell()
    shell.ip.user_ns["looker"] = agents.Looker()
    shell.ok("%load_ext deepnb")
    shell.ok("%agent use looker")
    agents.fill(shell.session)
    return lambda: shell.ok(f"%%agent\n{PROMPT}\n")


def _along(name: str, make: Callable[[], Pair]) -> Iterator[Row]:
    short = []
    for _ in range(THREADS * PAIRS):
        pair = make()
        short += [pair.time() for _ in range(3)][2:]
    yield _row(f"{name}, 10 messages", short)
    long: dict[int, list[tuple[float, float]]] = {messages: [] for messages in LENGTHS}
    for _ in range(THREADS):
        pair = make()
        for messages, seconds in long.items():
            list(pair.grow(messages - PAIRS * MESSAGES // 2))
            seconds += [pair.time() for _ in range(PAIRS)]
    for messages, seconds in long.items():
        yield _row(f"{name}, {messages:,} messages", seconds)
    most, least = (1000 * median(o - b for o, b in some) for some in (long[LENGTHS[-1]], short))
    yield Row(f"{name}, what deepnb adds at {messages:,}, beside 10", most, "ms", least)


def _row(what: str, seconds: list[tuple[float, float]]) -> Row:
    ours, bare = (median(one) * 1000 for one in zip(*seconds, strict=True))
    return held(what, ours, bare, "ms", BOUND, ratio=median(o / b for o, b in seconds))
