"""Entries of the journal: their diffs can be put in and taken back, and their order is that of the file, whatever clocks did."""

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.backends.journal import DoesNotFit, entry, from_json, replay, to_json
from deepnb.values.files import FileDiff
from deepnb.values.text import in_turn
from tests.support.clock import Clock, session

TRICKY = ["a\n", "b\n", "--- x\n", "+++ y\n", "@@ -1 +1 @@\n", "\\ No newline\n", "- z\n", "\r\n", "\x0c\n", "end"]
TEXTS = st.one_of(
    st.none(),
    st.text(alphabet="ab\n\\+- @\r\x0c\u2028一", max_size=40),
    st.lists(st.sampled_from(TRICKY), max_size=12).map("".join),
)


def change(before: str | None, after: str | None, n: int = 1):
    return entry(FileDiff("/AGENTS.md", before, after), id=str(n), at="2026-01-01T00:00:00+00:00", origin="user")


@given(TEXTS, TEXTS)
def test_a_diff_put_in_gives_the_after_and_taken_back_the_before(before: str | None, after: str | None) -> None:
    if before == after:
        return
    one = change(before, after)
    assert one.after(before) == after and one.before(after) == before and from_json(to_json(one)) == one


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_the_journal_alone_gives_the_text(texts: list[str | None]) -> None:
    log, last = [], None
    for n, text in enumerate(texts):
        if text != last:
            log.append(change(last, text, n))
            last = text
    assert replay("/AGENTS.md", log) == last


def test_a_diff_refuses_a_text_it_was_not_made_from() -> None:
    one = change("a\nb\n", "a\nc\n")
    with pytest.raises(DoesNotFit):
        one.after("a\nx\n")
    with pytest.raises(DoesNotFit):
        one.after(None)
    with pytest.raises(DoesNotFit):
        one.before("a\nb\n")


PATH = "/AGENTS.md"
START = "2026-03-02T09:00"


def place(s: Session) -> list[str]:
    return [e.id for e in s.backend.root(PATH).journal.entries if e.path == PATH]


def test_a_clock_that_steps_back_breaks_nothing_on_a_mount_beside_the_kernels_state(tmp_path: Path) -> None:
    clock = Clock(START)
    s = session(clock=clock, memory=("/m/AGENTS.md", PATH))
    s.mount("/m", f"disk:{tmp_path}")
    for n, at in enumerate(("10", "05", "20", "00")):
        clock.to(f"2026-03-02T09:00:{at}")
        s.memory.add(f"m{n}", "/m/AGENTS.md")
        s.memory.add(f"h{n}", PATH)
    log = s.memory.log_entries()
    for path in ("/m/AGENTS.md", PATH):
        mine = [e for e in log if e.path == path]
        assert [e.id for e in mine] == sorted((e.id for e in mine), key=lambda i: int(i.rpartition("-")[2]))
        assert replay(path, log) == s.files[path]
        s.memory.revert(mine[1].id)
        assert [line[-1] for line in s.files[path].splitlines()] == ["0", "2", "3"]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-90, 90)), min_size=2, max_size=8))
def test_two_machines_with_skewed_clocks_on_one_directory(steps: list[tuple[int, int]]) -> None:
    """Before each write one clock steps, forwards or backwards."""
    with tempfile.TemporaryDirectory() as folder:
        clocks = [Clock(START), Clock("2026-03-02T08:00")]
        machines = [session(clock=clock) for clock in clocks]
        for s in machines:
            s.memory.keep(folder)
        for n, (who, seconds) in enumerate(steps):
            clocks[who].at += timedelta(seconds=seconds)
            machines[who].memory.add(f"fact {n}")
        for s in machines:
            log = s.memory.log_entries()
            assert [e.id for e in log] == place(s) == [str(n) for n in range(1, len(steps) + 1)]
            assert replay(PATH, log) == s.files[PATH] and list(s.memory.why("fact")["entry"]) == place(s)
        machines[0].memory.revert("1")
        assert machines[1].files[PATH].splitlines() == [f"- fact {n}" for n in range(1, len(steps))]


@given(st.lists(st.lists(st.integers(0, 59), max_size=6), max_size=4))
def test_no_place_is_put_in_another_order(minutes: list[list[int]]) -> None:
    at = [[(n, k, f"2026-01-01T00:{m:02}:00+00:00") for k, m in enumerate(one)] for n, one in enumerate(minutes)]
    found = in_turn(at, lambda x: x[2])
    assert [[x for x in found if x[0] == n] for n in range(len(at))] == at
    if all(one == sorted(one) for one in minutes):
        assert [x[2] for x in found] == sorted(x[2] for x in found)
