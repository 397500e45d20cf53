"""The tokens of a turn where the provider reports none, or only some: counted, limited, and shown as estimates."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from deepnb import Session
from deepnb.values.turn import Usage
from deepnb.views.threads import turns_view
from deepnb.views.turn import footer_view
from deepnb.views.turn_segments import turn_segments
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

TASK = call("task", id="t1", description="work", subagent_type="general-purpose")


class Reporting(Scripted):
    """Reports usage for the calls whose numbers, from 1, are given: as a real provider, or as one that sends zeros."""

    real: tuple[int, ...] = ()
    zeros: tuple[int, ...] = ()

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield from super()._stream(*args, **kwargs)
        n = len(self.requests)
        if n in (*self.real, *self.zeros):
            tokens = 4_000 if n in self.real else 0
            usage: Any = {"input_tokens": tokens, "output_tokens": tokens // 1_000, "total_tokens": tokens}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def looking(calls: int = 30, **fields: Any) -> Reporting:
    return Reporting(answers=[*[call("ls", id=f"c{i}", path=f"/{i}") for i in range(calls)], "end"], **fields)


@every_row(
    "fields",
    [{}, {"zeros": tuple(range(40))}, {"real": (1, 3)}, {"real": (2,), "zeros": (1, 3)}],
    ids=["none", "zeros", "some", "some zeros"],
)
def test_the_limit_of_tokens_ends_a_turn_that_the_provider_reports_nothing_of(fields: dict[str, Any]) -> None:
    s = Session(model=looking(**fields), max_tokens=9_000)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 9,000 tokens"
    spent = turn.usage.input + turn.usage.output
    assert 9_000 <= spent < 9_000 + 6_000  # at most one call above
    assert len(turn.calls) == 3
    assert not turn.usage.exact


def test_what_is_reported_is_taken_as_it_is() -> None:
    s = Session(model=looking(1, real=(1, 2)), max_tokens=12_000)
    turn = s.run("p")
    assert turn.usage == Usage(8_000, 8, None)
    assert "8,000 in / 8 out" in footer_view(turn).text()


def test_the_limit_counts_subagents_the_summary_and_the_flush() -> None:
    nested = [call("ls", id=f"n{i}", path=f"/{i}") for i in range(30)]
    s = Session(model=Scripted(answers=[TASK, *nested, "end"]), max_tokens=12_000)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 12,000 tokens"
    assert {bool(c.path) for c in turn.calls} == {True, False}
    s = Session(model=Scripted(answers=["a", "b", "the summary", "c"]), trigger=("messages", 5), keep=("messages", 2))
    for prompt in "ab":
        s.run(prompt)
    s.configure(max_tokens=1)
    turn = s.run("c")
    assert turn.interrupted == "reached the limit of 1 token"
    assert [(c.purpose, bool(c.spent.input), c.spent.exact) for c in turn.calls] == [
        ("flush", True, False),
        ("summary", True, False),
    ]


def test_estimates_are_marked_wherever_tokens_are_shown() -> None:
    s = Session(model=Scripted(answers=[TASK, "a nested answer", "the answer"]))
    turn = s.run("p")
    used = turn.usage
    nested = next(c.spent for c in turn.calls if c.path)
    assert used.input > 8_000
    assert used.output >= 8
    (line, *_) = footer_view(turn).text().splitlines()
    assert f"~{used.input:,} in / ~{used.output:,} out" in line
    assert f", ~{nested.input + nested.output:,} of these in subagents" in line
    assert f"~{used.input:,} / ~{used.output:,}" in turns_view([turn]).text()
    card = turn_segments(turn).text()
    assert f"~{nested.input:,} in / ~{nested.output:,} out" in card
    spent = s.subagents.spent()["general-purpose"]
    assert (spent.input, spent.output, spent.exact) == (nested.input, nested.output, False)


def test_thoughts_and_calls_count_as_output() -> None:
    class Thinking(Scripted):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            thought: Any = [{"type": "reasoning", "reasoning": "well " * 100}]
            yield ChatGenerationChunk(message=AIMessageChunk(content=thought))
            yield from super()._stream(*args, **kwargs)

    write = call("write_file", file_path="/a.md", content="words " * 200)
    turn = Session(model=Scripted(answers=[write, "end"])).run("p")
    assert turn.calls[0].answered > 200 > turn.calls[1].answered
    turn = Session(model=Thinking(answers=["yes"])).run("p")
    assert turn.calls[0].answered > 100
