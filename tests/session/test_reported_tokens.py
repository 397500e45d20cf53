"""What a provider reports of a request goes into all that is counted of the next ones: trigger, gauge, X-ray, ledger."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field

from deepnb import Session
from deepnb.values.turn import Compacted, Turn
from tests.support.scripted import Scripted
from tests.support.tables import every_row


class Reporting(Scripted):
    """Reports `times` as many tokens as the estimate begins with."""

    times: float = 1.0
    held: dict[str, Any] = Field(default_factory=dict)
    """The meter of its session; copies of the model have it, too."""

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        yield from super()._stream(messages, *args, **kwargs)
        meter = self.held["meter"]
        memo = type(meter._memo)(meter.counter)
        pieces = [*memo.tools(kwargs.get("tools") or ()), *(piece for one in memo.body(messages) for piece in one)]
        told = round(self.times * sum(piece.tokens for piece in pieces))
        usage: Any = {"input_tokens": told, "output_tokens": 2, "total_tokens": told + 2}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def session(model: Reporting, **options: Any) -> Session:
    s = Session(model=model, **options)
    model.held["meter"] = s.workspace.built.meter
    return s


def first(turn: Turn) -> Any:
    return turn.requested[0]


def test_the_next_request_counts_as_much_as_the_last_was_reported_to_have():
    model = Reporting(answers=["ok"], times=1.5)
    s = session(model)
    s.run("one")
    before = first(s.turns[0])
    assert before.usage.input == round(1.5 * before.budget.total)
    budget = s.budget()
    assert budget.total >= before.usage.input and budget.reported == before.usage.input
    s.run("two")
    after = first(s.turns[1])
    assert 1.5 <= after.budget.total / (before.budget.total + 30) <= 1.6
    assert after.budget.total >= after.usage.input
    assert s.xray().request.tokens == after.budget.total == sum(s.xray().call.budget.parts.values())
    assert s.xray().changes and all(change.piece.part in ("user", "assistant") for change in s.xray().changes)
    assert s.count("a text of some words") >= 1.5 * 5


def test_what_was_learned_belongs_to_the_model():
    model = Reporting(answers=["ok"], times=2.0)
    session(model).run("one")
    again, other = session(model), session(Reporting(answers=["ok"]))
    again.run("one")
    other.run("one")
    assert 2 <= first(again.turns[0]).budget.total / first(other.turns[0]).budget.total <= 2.1


@every_row("times", [1.0, 2.0, 3.0])
def test_no_request_after_the_first_is_longer_than_the_window(times):
    """The trigger goes by what was reported, not by what was counted at first."""
    model = Reporting(answers=["an answer " * 40], times=times)
    s = session(model, max_input_tokens=24_000, enable_memory=False)
    for i in range(14):
        s.run(f"prompt {i} " + "word " * 600)
    calls = [call for turn in s.turns for call in turn.requested if call.usage]
    assert max(call.usage.input for call in calls[1:]) <= 24_000
    compacted = [i for i, turn in enumerate(s.turns) if any(isinstance(e, Compacted) for e in turn.events)]
    assert bool(compacted) == (times > 1) or compacted[0] > 8


def test_a_recorded_session_counts_as_if_nothing_was_reported(tmp_path):
    """On the machine where the tape is played nothing may have been."""
    model = Reporting(answers=["ok"], times=2.0)
    session(model).run("one")
    s = session(model)
    s.record(tmp_path / "a.jsonl")
    model.held["meter"] = s.workspace.built.meter
    s.run("one")
    s.run("two")
    assert first(s.turns[1]).usage.input >= 1.9 * first(s.turns[1]).budget.total
