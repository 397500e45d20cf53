"""What is told of a run: nested agents by path, tokens as they come, usage as it is reported."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from deepnb import Session
from deepnb.engine.listen import Listener
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import Compacted, ModelEnded, ModelStarted, TextDelta, ToolEnded, ToolStarted, Usage
from tests.support.scripted import Paid, Scripted, call

TASK = call("task", id="t1", description="work", subagent_type="general-purpose")


class Whole(Scripted):
    """A model that can't stream."""

    _stream = BaseChatModel._stream


def test_nested_agents_carry_their_path():
    answers = [TASK, call("ls", id="n1", path="/"), "nested answer", "main answer"]
    s = Session(model=Paid(answers=answers))
    turn = s.run("p")
    seen = [(type(e).__name__, getattr(e, "name", getattr(e, "text", "")), e.path) for e in turn.events]
    assert seen == [
        ("ModelStarted", "", ()),
        ("ModelEnded", "", ()),
        ("ToolStarted", "task", ()),
        ("ModelStarted", "", ("t1",)),
        ("ModelEnded", "", ("t1",)),
        ("ToolStarted", "ls", ("t1",)),
        ("ToolEnded", "ls", ("t1",)),
        ("ModelStarted", "", ("t1",)),
        ("TextDelta", "nested answer", ("t1",)),
        ("ModelEnded", "", ("t1",)),
        ("ToolEnded", "task", ()),
        ("ModelStarted", "", ()),
        ("TextDelta", "main answer", ()),
        ("ModelEnded", "", ()),
    ]
    assert turn.text == "main answer"
    assert [c.number for c in turn.calls] == [1, 2, 3, 4]
    assert turn.usage == Usage(40, 8, 16)
    assert turn.budget is not None
    assert turn.budget.parts["assistant"] > 0
    assert list(s.ledger()["agent"]) == ["main", "general-purpose", "general-purpose", "main"]


def test_two_agents_side_by_side_are_told_apart():
    calls = [
        {"name": "task", "args": {"description": d, "subagent_type": "general-purpose"}, "id": f"id-{d}"}
        for d in ("left", "right")
    ]
    s = Session(model=Scripted(answers=[AIMessage("", tool_calls=calls), "nested", "nested", "end"]))
    turn = s.run("p")
    started = [e.path for e in turn.events if isinstance(e, ModelStarted)]
    assert sorted(started) == [(), (), ("id-left",), ("id-right",)]
    said = [(e.text, e.path) for e in turn.events if isinstance(e, TextDelta)]
    assert sorted(said) == [("end", ()), ("nested", ("id-left",)), ("nested", ("id-right",))]


def test_the_summarizer_is_told_of_and_its_words_are_not():
    s = Session(
        model=Scripted(answers=["one", "two", "the summary", "three"]), trigger=("messages", 5), keep=("messages", 2)
    )
    for prompt in "abc":
        s.run(prompt)
    turn = s.turns[-1]
    assert [c.purpose for c in turn.calls] == ["flush", "summary", "answer"]
    assert [e.text for e in turn.events if isinstance(e, TextDelta)] == ["three"]
    (compacted,) = [e for e in turn.events if isinstance(e, Compacted)]
    assert compacted.offload == turn.after.offload
    assert "the summary" in compacted.offload.summary
    assert list(s.ledger()["purpose"]) == ["answer", "answer", "flush", "summary", "answer"]


def test_pieces_as_they_come_are_the_answer():
    s = Session(model=TeachingModel())
    events = list(s.stream("Hello"))
    pieces = [e.text for e in events if isinstance(e, TextDelta)]
    assert len(pieces) > 5
    assert "".join(pieces) == s.text == s.snapshot.messages[-1].text
    assert [e.text for e in s.turns[0].events if isinstance(e, TextDelta)] == [s.text]


def test_a_model_that_does_not_stream_still_gives_its_text():
    s = Session(model=Whole(answers=[call("ls", path="/"), "all at once"]))
    turn = s.run("p")
    assert [e.text for e in turn.events if isinstance(e, TextDelta)] == ["all at once"]
    assert turn.text == "all at once"
    kinds = [type(e) for e in turn.events]
    assert kinds == [ModelStarted, ModelEnded, ToolStarted, ToolEnded, ModelStarted, TextDelta, ModelEnded]


def test_what_no_provider_reported_is_counted():
    s = Session(model=Scripted(answers=["one"]))
    turn = s.run("p")
    assert turn.calls[0].usage is None
    assert turn.usage == Usage(turn.budget.total, turn.calls[0].answered, cached=None, exact=False)
    assert 0 < turn.calls[0].answered < 10
    assert turn.budget is not None
    assert turn.budget.reported is None


class Unledgered:
    """A ledger that counts nothing."""

    calls = 0

    def sent(self, *_: Any) -> tuple[Any, Any]:
        return None, None

    def label(self, agent: str) -> str:
        return agent


def test_a_call_that_is_made_again_keeps_its_number_whatever_was_called_meanwhile():
    told: list[Any] = []
    listener = Listener(told.append, Unledgered())  # type: ignore[arg-type]
    outer = uuid4()
    listener.on_tool_start({"name": "task"}, "", run_id=outer, tool_call_id="t1", inputs={"subagent_type": "x"})
    first, nested, again, after = (uuid4() for _ in range(4))
    listener.on_chat_model_start({}, [[]], run_id=first)
    listener.on_llm_error(ConnectionError(), run_id=first)
    listener.on_chat_model_start({}, [[]], run_id=nested, parent_run_id=outer)
    listener.on_chat_model_start({}, [[]], run_id=again)
    listener.on_chat_model_start({}, [[]], run_id=after)
    numbers = [(event.call.number, event.path) for event in told if isinstance(event, ModelStarted)]
    assert numbers == [(1, ()), (2, ("t1",)), (1, ()), (3, ())]
