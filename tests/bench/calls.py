"""Calls of deepnb's own functions that a cell makes, without the room `models`, beside those of commit 334c503.

The turn is that of a scripted model with one write to memory, measured once more 20 turns later. Beside both stands the
CPU time of the cell, and that of a turn of the bare engine with the same model, as long a thread, and memory that it
writes. With -v the calls are shown by room and by function.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time
from types import CodeType, FrameType
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

import deepnb
from tests.bench.agents import FACT, bare_turn, fill
from tests.bench.row import Row, held
from tests.support.scripted import Scripted, call
from tests.support.shells import Shell

QUICK = True
ADD, PROMPT = "%memory add The meeting is in room {n}.", "Remember that station {} is closed."
BEFORE = {ADD: 650, PROMPT: 3081}  # the calls at 334c503 by this same script (Python 3.11)
MOST, GROWN = 0.70, 1.05  # of the calls of a turn: beside those at 334c503, and 20 turns later beside those before
WARM, LATER, TIMED = 3, 20, 9
"""Rounds of both cells before they are measured; turns between that and the second time; turns whose time is taken."""
_ROOT = Path(deepnb.__file__).parent


class Writer(Scripted):
    """Writes what it is to remember into memory, then answers; keeps no requests."""

    answers: list[Any] = []  # noqa: RUF012

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        asked = max(at for at, message in enumerate(messages) if message.text.startswith("Remember"))
        if any(isinstance(message, ToolMessage) for message in messages[asked:]):
            return AIMessage("It is in memory now.")
        said = messages[asked].text.removeprefix("Remember that ").strip()
        changed = {"old_string": f"- {FACT}\n", "new_string": f"- {FACT}\n- {said}\n"}
        return call("edit_file", id=f"call-{len(messages)}", file_path="/AGENTS.md", **changed)


def rows() -> Iterator[Row]:
    shell, numbers = Shell(), count()
    shell.ip.user_ns["writer"] = Writer()
    shell.ok("%load_ext deepnb")
    shell.ok("%agent use writer")
    fill(shell.session)

    def ask() -> str:
        return f"%%agent\n{PROMPT.format(next(numbers))}\n"

    for n in range(WARM):
        shell.ok(ADD.format(n=n))
        shell.ok(ask())
    added, asked = calls(shell, ADD.format(n=WARM)), calls(shell, ask())
    assert f"station {WARM} is closed" in shell.ok("%memory"), "the model has written nothing"
    for what, cell, made, most in (
        ("%memory add TEXT", ADD, added, 1),
        ("%%agent with one write", PROMPT, asked, MOST),
    ):
        yield held(what, made.total(), BEFORE[cell], "calls", most)
        yield from _details(made)
    bare = bare_turn(InMemorySaver(), Writer(), map(PROMPT.format, count()))
    begun = _times(lambda: shell.ok(ask()), TIMED)
    _times(bare, WARM + 1)
    yield _beside("the turn's CPU time, beside the bare engine's", begun, _times(bare, TIMED))
    for _ in range(LATER - TIMED - 1):
        shell.ok(ask())
    later = calls(shell, ask())
    yield held(f"the same turn, {LATER} turns later", later.total(), asked.total(), "calls", GROWN)
    yield from _details(later - asked)
    _times(bare, LATER - TIMED)
    yield _beside(f"its CPU time {LATER} turns later", _times(lambda: shell.ok(ask()), TIMED), _times(bare, TIMED))
    shell.close()


def _times(turn: Callable[[], object], turns: int) -> list[float]:
    taken = list[float]()
    for _ in range(turns):
        began = process_time()
        turn()
        taken.append(1000 * (process_time() - began))
    return taken


def _beside(what: str, ours: list[float], bare: list[float]) -> Row:
    return Row(what, median(ours), "ms", median(bare), median(ours) / median(bare))


def calls(shell: Shell, cell: str) -> Counter[CodeType]:
    """What a cell calls, in all threads it starts: functions and lambdas; a generator each time it goes on."""
    begun: list[CodeType] = []
    root, models = str(_ROOT), (str(_ROOT / "models"), str(_ROOT / "testing.py"))

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not (code := frame.f_code).co_filename.startswith(root):
            return
        if not code.co_filename.startswith(models) and not code.co_name.endswith(("comp>", "expr>")):
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
    rooms = Counter(Path(code.co_filename).relative_to(_ROOT).parts[0] for code in made.elements())
    for room, number in rooms.most_common():
        yield Row(f"  {room}", number, "calls", detail=True)
    for code, number in made.most_common(12):
        path = Path(code.co_filename).relative_to(_ROOT)
        yield Row(f"    {path}: {code.co_qualname}", number, "calls", detail=True)
