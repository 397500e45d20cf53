"""What a model is told of memory, block and updates together, is what the files say, whatever went before."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from deepnb import DeepnbError, Session
from deepnb.models.teaching.conversation import conversation, fact_text
from tests.support.compactions import Phased, compactions, session
from tests.support.scripted import walked
from tests.support.tables import every_row

AGENTS = "/AGENTS.md"
WHAT = ("add", "add", "change", "remove", "many", "compact", "forget", "rewind", "undo", "nothing")
STEPS = st.lists(st.sampled_from(WHAT), min_size=1, max_size=9)


def told(request: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """(path, fact) of what a request tells of memory."""
    return sorted((file.path, fact) for file in conversation(request).memory for fact in file.facts)


def held(s: Session) -> list[tuple[str, str]]:
    paths = (path for path in s.files if path == AGENTS or "/memory/" in path)
    lines = ((path, line) for path in paths for line in s.files[path].split("\n"))
    return sorted((path, fact_text(line)) for path, line in lines if line.startswith("- "))


def block(request: Sequence[BaseMessage]) -> str:
    return request[0].text.partition("<agent_memory>")[2]


def updates(request: Sequence[BaseMessage]) -> list[str]:
    return [m.text for m in request if m.additional_kwargs.get("lc_source") == "memory_update"]


def step(s: Session, what: str, number: int) -> None:
    lines = s.files.get(AGENTS, "").splitlines()
    match what:
        case "add":
            s.memory.add(f"fact {number}")
        case "change" if lines:
            s.memory.write(AGENTS, "\n".join([f"- changed {number}", *lines[1:]]) + "\n")
        case "remove" if len(lines) > 1:
            s.memory.write(AGENTS, "\n".join(lines[1:]) + "\n")
        case "many":
            s.memory.write(AGENTS, "".join(f"- one of many, {number} and {i}\n" for i in range(8)))
        case "forget" if lines:
            s.memory.forget(lines[-1].removeprefix("- "))
        case "compact":
            s.compact(lambda event: None)
        case "rewind" if len(s.turns) > 1:
            s.rewind(len(s.turns) - 1, memory=number % 2 == 0)
        case "undo":
            s.undo()


@pytest.mark.slow
@given(STEPS, st.sampled_from((160, 4_000)))
def test_what_is_told_is_what_the_files_say_after_whatever_went_before(steps: list[str], budget: int):
    model = Phased(flush="NO_REPLY")
    s = session(model, trigger=("messages", 9), keep=("messages", 3), memory_budget=budget)
    walked(s, "memory.add tea", "run begin")
    for number, what in enumerate(steps):
        model.flush = f"- noted {number}" if number % 3 else "NO_REPLY"
        blocks = block(model.requests[-1])
        try:
            step(s, what, number)
        except DeepnbError:
            event(f"refused: {what}")
        s.run(f"go on {number}")
        known, there = told(model.requests[-1]), held(s)
        is_cut = "not shown: read_file" in block(model.requests[-1])  # for want of room, which the block says
        assert (set(known) <= set(there)) if is_cut else known == there, what
        done = "compacted" if s.turns[-1].compacted else what
        event(f"{done}: block {'kept' if block(model.requests[-1]) == blocks else 'made anew'}")


def compacted(flush: Any, **options: Any) -> tuple[Session, Phased]:
    model = Phased(flush=flush)
    s = session(model, trigger=("messages", 8), keep=("messages", 2), **options)
    walked(s, "memory.add tea", "run a", "memory.add cake")
    for prompt in "bcdef":
        s.run(prompt)
        if compactions(s):
            return s, model
    raise AssertionError("it did not compact")


def test_after_a_compaction_the_block_stays_or_is_made_anew_in_that_very_call():
    s, model = compacted("- Ada leads")
    first, last = model.requests[0], model.requests[-1]
    assert "has been summarized" in last[1].text and block(last) == block(first)
    (update,) = updates(last)
    assert (last[2].text, last[-1].text) == (update, s.turns[-1].prompt)
    assert "+- cake" in update and "+- Ada leads" in update
    s.run("and now")
    after = model.requests[-1]
    assert [m.text for m in after[: len(last)]] == [m.text for m in last]
    s, model = compacted("\n".join(f"- fact {i} of many" for i in range(9)), memory_budget=300)
    last = model.requests[-1]
    assert updates(last) == [] and "- cake" in block(last) and "- fact 8 of many" in block(last)
    s.run("and now")
    assert updates(model.requests[-1]) == [] and block(model.requests[-1]) == block(last)


@every_row("refresh", ["thread", "call"])
def test_the_other_policies_tell_no_updates(refresh: Any):
    _, model = compacted("- Ada leads", memory_refresh=refresh)
    assert updates(model.requests[-1]) == []
