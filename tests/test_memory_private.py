"""Long-term memory is for main threads alone: no copy of it lies where a subagent or a shared thread can read."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from scripted import Scripted, call, unasked

from deepnb import Session
from deepnb.core.messages import MEMORY_UPDATE
from deepnb.core.values import Compacted

SECRET = "the merger is in May"
COMPACTS: dict[str, Any] = {"trigger": ("messages", 6), "keep": ("messages", 1)}


def session(*answers, **options) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


def sent(s: Session, call: int = -1) -> str:
    """All of one request: system prompt, messages."""
    return "\n".join(str(m.content) for m in s.options.model.requests[call])


def compactions(s: Session) -> list[Compacted]:
    return [e for t in s.turns for e in t.events if isinstance(e, Compacted)]


def told(s: Session) -> Session:
    """A thread in which a change of MEMORY.md was told, and then compacted away."""
    s.run("one")
    s.memory.add(SECRET, "/MEMORY.md")
    s.run("two")
    assert SECRET in sent(s)
    s.run("three")
    s.compact()
    return s


# -- what a change of memory tells


@pytest.mark.parametrize("by", ["trigger", "hand"])
def test_a_change_of_memory_that_was_told_is_not_offloaded(by: str):
    s = session(**(COMPACTS if by == "trigger" else {}))
    s.run("one")
    s.memory.add(SECRET, "/MEMORY.md")
    s.run("two")
    assert any(m.source == MEMORY_UPDATE for m in s.snapshot.messages) and SECRET in sent(s)
    s.run("three")
    if by == "hand":
        s.compact()
    (done,) = compactions(s)
    gone = s.snapshot.messages[: done.offload.cutoff]
    original = [m for m in gone if m.source != MEMORY_UPDATE]
    assert len(original) == len(gone) - 1
    text = s.files["/conversation_history/main.md"]
    assert SECRET not in text and "Memory has changed" not in text
    (section,) = s.history()
    assert section.messages == done.offload.messages == len(original)
    assert [item.text for item in section.items] == [m.text for m in original]


def test_every_message_but_such_a_change_is_in_the_history_once():
    s = session(**COMPACTS)
    for i in range(9):
        s.memory.add(f"fact {i}", "/MEMORY.md")
        s.run(f"prompt {i}")
    assert len(compactions(s)) > 1
    gone = [m for m in s.snapshot.messages[: s.snapshot.offload.cutoff] if m.source is None]
    stored = [item.text for section in s.history() for item in section.items]
    assert stored == [m.text for m in gone]
    assert "fact" not in s.files["/conversation_history/main.md"]


def test_what_is_brought_back_tells_no_change_of_memory():
    s = told(session())
    s.bring_back(1)
    s.run("four")
    messages = s.options.model.requests[-1][1:]
    assert "From earlier in this conversation" in str(messages) and SECRET not in str(messages)


def test_where_only_a_change_of_memory_could_go_there_is_no_compaction():
    def learn() -> str:
        """Learn."""
        s.memory.add("likes tea")
        return "learned"

    both = AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": f"c{i}"} for i in (2, 3)])
    answers = [call("learn"), both, "summary", "one is done", "two is done"]
    s = session(*answers, trigger=("messages", 7), keep=("messages", 4), **unasked(learn))
    s.run("one")
    assert s.snapshot.messages[s.snapshot.offload.cutoff].source == MEMORY_UPDATE
    s.configure(memory_refresh="call")  # which leaves the update where it is
    s.run("two")
    assert s.text == "two is done"
    assert [done.offload.messages for done in compactions(s)] == [3]
