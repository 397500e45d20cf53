"""Law: whoever changes the same lines at once, no text vanishes, none is blended, and each conflict is named."""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from tests.support.pens import BEGIN, PATH, Change, Law, Pen

Step = tuple[int, str, int]
"""Which pen, what it does, which line of its view."""
HOW = ["edit", "write", "edit", "write", "drop", "read"]
STEP: Any = st.tuples(st.integers(0, 3), st.sampled_from(HOW), st.integers(0, 9))
STEPS: Any = st.lists(STEP, min_size=2, max_size=9)


def begun() -> Session:
    s = Session()
    s.memory.write(PATH, "".join(f"{line}\n" for line in BEGIN))
    return s


def on_disk(folder: str) -> list[Pen]:
    sessions = [begun(), Session()]
    for s in sessions:
        s.memory.keep(folder)
    return [Pen(s, f"{kind}{n}", kind) for kind in ("user", "agent") for n, s in enumerate(sessions)]


def obeys(pens: Sequence[Pen], steps: Sequence[Step]) -> int:
    first = pens[0].session
    law = Law(first.memory.log_entries())
    for who, how, at in steps:
        made = pens[who].do(how, at)
        law.check(first.memory.log_entries(), [made] if made else [])
    assert first.files[PATH] == law.text
    return law.conflicts


@given(STEPS)
def test_in_the_kernels_state(steps: list[Step]) -> None:
    s = begun()
    obeys([Pen(s, "user", "user"), *(Pen(s, f"agent{n}", "agent", ("x",) * n) for n in range(3))], steps)


@given(STEPS)
def test_on_a_disk(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        obeys(on_disk(folder), steps)


class Process:
    """A writer in a process of its own; `ask` does not wait for the answer."""

    def __init__(self, folder: str, name: str) -> None:
        command = [sys.executable, "-m", "tests.support.pens", folder, name]
        root = Path(__file__).parents[2]
        self._it = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ready(self) -> None:
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._it.stdout is not None
        return self._it.stdout.readline().strip()

    def ask(self, which: int, how: str, at: int) -> None:
        assert self._it.stdin is not None
        self._it.stdin.write(f"{json.dumps([which, how, at])}\n")
        self._it.stdin.flush()

    def answer(self) -> Change | None:
        found = json.loads(self._line())
        return None if found is None else Change(**found)

    def end(self) -> None:
        assert self._it.stdin is not None and self._it.stdout is not None
        self._it.stdin.close()
        assert self._it.wait(60) == 0
        self._it.stdout.close()


@contextmanager
def processes(folder: str) -> Iterator[list[Process]]:
    s = begun()
    s.memory.keep(folder)
    made = [Process(folder, name) for name in ("A", "B")]
    for one in made:
        one.ready()
    try:
        yield made
    finally:
        for one in made:
            one.end()


def between_processes(folder: str, rounds: int, seed: int) -> int:
    rng = random.Random(seed)
    with processes(folder) as two:
        watcher = Session()
        watcher.memory.keep(folder)
        law = Law(watcher.memory.log_entries())
        for _ in range(rounds):
            for one in two:
                one.ask(rng.randrange(2), rng.choice(HOW), rng.randrange(9))
            made = [change for one in two if (change := one.answer())]
            law.check(watcher.memory.log_entries(), made)
    return law.conflicts


def test_between_processes(tmp_path: Path) -> None:
    conflicts = between_processes(str(tmp_path), rounds=12, seed=1)
    assert conflicts


@pytest.mark.nightly
@pytest.mark.processes
def test_between_processes_200_rounds_70_times(tmp_path: Path) -> None:
    broken, conflicts = [], 0
    for seed in range(70):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            conflicts += between_processes(str(folder), rounds=200, seed=seed)
        except AssertionError as error:
            broken.append((seed, str(error)))
    print(f"70 x 200 rounds of two processes: {conflicts} conflicts, each kept and named; broken: {len(broken)}")
    assert conflicts and not broken, broken
