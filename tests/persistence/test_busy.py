"""Two kernels in one place: one thread is one kernel's while a turn plays in it; memory is everybody's."""

import subprocess
import sys
import threading
from typing import Any

import pytest

from deepnb import DeepnbError, Session
from deepnb.backends.journal import replay
from tests.support.scripted import Scripted, call, unasked


def session(where: str, *answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), persist=where, **options)


class Slow:
    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def wait(self) -> str:
        """Waits."""
        self.begun.set()
        self.go.wait(60)
        return "done"


def test_a_thread_in_which_a_turn_plays_is_busy_for_others_and_can_be_forked(where):
    slow = Slow()
    with session(where, "first", call("wait"), "second", **unasked(slow.wait)) as one, session(where, "other") as two:
        one.run("one")
        plays = threading.Thread(target=one.run, args=("two",))
        plays.start()
        try:
            assert slow.begun.wait(60)
            with pytest.raises(DeepnbError) as told:
                two.run("me, too")
            line = told.value.typed
            assert line.startswith("thread main is busy in another kernel (process ")
            assert ", since 20" in line and "%agent fork" in line
            for act in (lambda: two.rewind(0), lambda: two.files.update({"/a.txt": "A"})):
                with pytest.raises(DeepnbError, match="is busy in another kernel"):
                    act()
            two.memory.add("memory is everybody's")
            two.fork("aside")
            assert two.run("me, too").number == 2
        finally:
            slow.go.set()
            plays.join()
        assert [t.prompt for t in one.turns] == ["one", "two"]
        two.switch("main")
        assert two.run("three").number == 3
        assert [t.prompt for t in two.turns] == ["one", "two", "three"]
        assert "memory is everybody's" in one.files["/AGENTS.md"]
        assert one.run("four").number == 4


def test_a_thread_that_another_kernel_made_meanwhile_is_not_overwritten(where):
    with session(where) as one, session(where) as two:
        assert not two.turns
        one.run("one")
        assert two.run("two").number == 2
        assert [turn.prompt for turn in two.turns] == ["one", "two"]
        two.rewind(1)
        assert len(two.snapshot.messages) == 2


def test_edits_of_many_writers_are_all_there(where):
    sessions = [session(where) for _ in range(4)]

    def write(number: int) -> None:
        for n in range(10):
            sessions[number].memory.add(f"fact {number}-{n}")

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    for s in sessions:
        lines = s.files["/AGENTS.md"].splitlines()
        assert sorted(lines) == sorted(f"- fact {a}-{b}" for a in range(4) for b in range(10))
        log = s.memory.log_entries()
        assert [e.id for e in log] == [str(n) for n in range(1, 41)]
        assert replay("/AGENTS.md", log) == s.files["/AGENTS.md"]
        s.close()


def test_two_writers_of_one_line_keep_both_texts(where):
    with session(where) as one, session(where) as two:
        one.memory.write("/AGENTS.md", "- l1\n- x\n")
        two.memory.read("/AGENTS.md")
        one.memory.write("/AGENTS.md", "- l1 AAA\n- x\n")
        assert two.memory.write("/AGENTS.md", "- l1 BBB\n- x\n").conflicts
        for s in (one, two):
            assert s.memory.read("/AGENTS.md") == "- l1 AAA\n- l1 BBB\n- x\n"
            assert [c.conflict.kept for c in s.memory.conflicts()] == ["- l1 AAA"]
            assert replay("/AGENTS.md", s.memory.log_entries()) == s.files["/AGENTS.md"]


@pytest.mark.nightly
def test_eight_kernels_with_fifty_edits_each_lose_none(where):
    with session(where) as s:
        command = [sys.executable, "-m", "tests.support.memory_writer", where]
        kernels = [
            subprocess.Popen([*command, f"k{n}", "50"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for n in range(8)
        ]
        for one in kernels:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        for one in kernels:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        for one in kernels:
            one.communicate()
        assert [one.returncode for one in kernels] == [0] * 8
        lines = s.files["/AGENTS.md"].splitlines()
        assert sorted(lines) == sorted(f"- fact k{a}-{b}" for a in range(8) for b in range(50))
        log = s.memory.log_entries()
        assert [e.id for e in log] == [str(n) for n in range(1, 401)]
        assert replay("/AGENTS.md", log) == s.files["/AGENTS.md"]


def test_what_one_learns_the_other_is_told_at_its_next_turn(where):
    with session(where) as one, session(where) as two:
        one.run("one")
        two.switch("main")
        two.new("b")
        two.run("in b")
        one.memory.add("likes tea")
        two.run("again in b")
        assert "likes tea" in str(two.options.model.requests[-1])
