"""Calls of deepnb's own functions that one cell makes, beside those of commit b6be862; -v shows them by room."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import deepnb
from tests.bench.row import Row, held
from tests.support.shells import Shell

QUICK = True
ADD, ASK = "%memory add The meeting is in room {n}.", "%%agent\nRemember that station {n} is closed.\n"
BEFORE = {ADD: 987, ASK: 6380}
"""The calls at b6be862 by this same script (Python 3.11)."""
WARM, LATER = 3, 20
"""Rounds of both cells before they are measured, and between that and the second time."""
_ROOT = str(Path(deepnb.__file__).parent)


def rows() -> Iterator[Row]:
    """Both cells on a session of a few turns, and the turn once more, 20 turns later."""
    shell = Shell()
    shell.ok("%load_ext deepnb")
    for n in range(WARM):
        shell.ok(ADD.format(n=n))
        shell.ok(ASK.format(n=n))
    added, asked = (calls(shell, cell.format(n=WARM)) for cell in (ADD, ASK))
    for what, cell, made in (("%memory add TEXT", ADD, added), ("%%agent with one write", ASK, asked)):
        yield held(what, made.total(), BEFORE[cell], "calls", 1.0)
        yield from _details(made)
    for n in range(LATER - 1):
        shell.ok(ASK.format(n=WARM + 1 + n))
    later = calls(shell, ASK.format(n=WARM + LATER))
    yield Row("the same turn, 20 turns later", later.total(), "calls", asked.total(), later.total() / asked.total())
    yield from _details(later - asked)
    shell.close()


def calls(shell: Shell, cell: str) -> Counter[CodeType]:
    """What a cell calls, in all threads it starts: functions and lambdas; a generator each time it goes on.

    Comprehensions and generator expressions are left out: they are no functions, and not in every Python frames.
    """
    begun: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_ROOT) and not code.co_name.endswith(("comp>", "expr>")):
            begun.append(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        shell.ok(cell)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return Counter(begun)


def _details(made: Counter[CodeType]) -> Iterator[Row]:
    """By room, then the functions called most."""
    rooms = Counter(Path(code.co_filename).relative_to(_ROOT).parts[0] for code in made.elements())
    for room, number in rooms.most_common():
        yield Row(f"  {room}", number, "calls", detail=True)
    for code, number in made.most_common(12):
        path = Path(code.co_filename).relative_to(_ROOT)
        yield Row(f"    {path}: {code.co_qualname}", number, "calls", detail=True)
