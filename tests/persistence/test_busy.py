"""Two kernels in one place: one thread is one kernel's while a turn plays in it; memory is everybody's."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from deepnb import Session
from deepnb.backends.journal import replay
from tests.persistence.conftest import session
from tests.support.scripted import Slow, call, unasked, walked
from tests.support.tables import refused


def test_a_thread_in_which_a_turn_plays_is_busy_for_others_and_can_be_forked(where):
    slow = Slow()
    with session(where, "first", call("wait"), "second", **unasked(slow.wait)) as one, session(where, "other") as two:
        one.run("one")
        with slow.held(lambda: one.run("two")):
            told = refused("", two.run, "me, too")
            line = told.typed
            assert line.startswith("thread main is busy in another kernel (process ")
            assert ", since 20" in line and "%agent fork" in line
            for act in (lambda: two.rewind(0), lambda: two.files.update({"/a.txt": "A"})):
                refused("is busy in another kernel", act)
            walked(two, "memory.add memory is everybody's", "fork aside")
            assert two.run("me, too").number == 2
        assert [t.prompt for t in one.turns] == ["one", "two"]
        two.switch("main")
        assert two.run("three").number == 3 and [t.prompt for t in two.turns] == ["one", "two", "three"]
        assert "memory is everybody's" in one.files["/AGENTS.md"] and one.run("four").number == 4


def test_a_thread_that_another_kernel_made_meanwhile_is_not_overwritten(where):
    with session(where) as one, session(where) as two:
        assert not two.turns
        one.run("one")
        assert two.run("two").number == 2 and [turn.prompt for turn in two.turns] == ["one", "two"]
        two.rewind(1)
        assert len(two.snapshot.messages) == 2


def test_a_thread_made_meanwhile_is_not_overwritten(anywhere):
    with session(anywhere) as one, session(anywhere) as two:
        assert two.workspace.threads.names == ("main",)
        walked(one, "new later", "run here first")
        refused("a thread 'later' already exists", two.new, "later")
        two.switch("later")
        assert [turn.prompt for turn in two.turns] == ["here first"]


def all_there(s: Session, writers: list[str], edits: int) -> None:
    lines, log = s.files["/AGENTS.md"].splitlines(), s.memory.log_entries()
    assert sorted(lines) == sorted(f"- fact {name}-{n}" for name in writers for n in range(edits))
    assert [e.id for e in log] == [str(n) for n in range(1, len(lines) + 1)]
    assert replay("/AGENTS.md", log) == s.files["/AGENTS.md"]


def test_edits_of_many_writers_are_all_there(where):
    sessions = [session(where) for _ in range(4)]

    def write(number: int) -> None:
        for n in range(10):
            sessions[number].memory.add(f"fact {number}-{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    for s in sessions:
        all_there(s, [*"0123"], 10)
        s.close()


def test_two_writers_of_one_line_keep_both_texts(anywhere):
    with session(anywhere) as one, session(anywhere) as two:
        one.memory.write("/AGENTS.md", "- l1\n- x\n")
        two.memory.read("/AGENTS.md")
        one.memory.write("/AGENTS.md", "- l1 AAA\n- x\n")
        assert two.memory.write("/AGENTS.md", "- l1 BBB\n- x\n").conflicts
        for s in (one, two):
            assert s.memory.read("/AGENTS.md") == "- l1 AAA\n- l1 BBB\n- x\n"
            assert [c.conflict.kept for c in s.memory.conflicts()] == ["- l1 AAA"]
            assert replay("/AGENTS.md", s.memory.log_entries()) == s.files["/AGENTS.md"]
            assert [e.id for e in s.memory.log_entries()] == ["1", "2", "3"]


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
        all_there(s, [f"k{n}" for n in range(8)], 50)


def test_what_one_learns_the_other_is_told_at_its_next_turn(where):
    with session(where) as one, session(where) as two:
        one.run("one")
        walked(two, "switch main", "new b", "run in b")
        one.memory.add("likes tea")
        two.run("again in b")
        assert "likes tea" in str(two.options.model.requests[-1])
