"""How much of a request a provider reads from its cache, against servers that report it as the real ones do."""

import json
from typing import Any

import pytest

from deepnb.magics.pictures import budget_picture
from tests.support.caching import (
    NOTES,
    PROVIDERS,
    agent,
    calls_between_compactions,
    calls_round_compaction,
    looks_then_answers,
    purpose,
    ran,
    results,
    serving,
    share,
)
from tests.support.chat_server import Say, Use, blocks
from tests.support.tables import every_row


@every_row("provider", PROVIDERS)
def test_from_the_third_turn_on_at_least_80_percent_of_the_input_is_cached_also_after_a_memory_edit(provider):
    with serving(provider, agent(looks_then_answers)) as (s, server):
        s.memory.write("/AGENTS.md", NOTES)
        shares = []
        for number in range(1, 9):
            if number in (4, 6, 7):
                s.memory.add(f"the depot of turn {number} has moved to the harbour")
            shares.append(share(ran(s, f"Count the depots, {number}. " + "And explain each. " * 10).calls))
        assert "the depot of turn 4 has moved" in json.dumps(server.requests[-1]["messages"])  # told as a diff
        assert all(one >= 0.8 for one in shares[2:]), shares


@pytest.mark.slow
@every_row("provider", PROVIDERS)
def test_after_a_compaction_at_least_80_percent_are_cached_from_the_second_call_on(provider):
    with serving(provider, agent(looks_then_answers), trigger=("tokens", 12_000), keep=("messages", 4)) as (s, _):
        calls = calls_between_compactions(s)
        assert len(calls) > 3
        assert all(share(one) >= 0.8 for one in calls), [share(one) for one in calls]


def wire(request: dict[str, Any]) -> list[str]:
    if "system" in request:
        return [text for text, _ in blocks(request)]
    return [json.dumps(one) for one in (request.get("tools"), *request["messages"])]


@every_row("provider", PROVIDERS)
@every_row("by_hand", [False, True])
def test_flush_and_summary_are_one_more_message_on_the_agents_request(provider: str, by_hand: bool):
    """Byte for byte; and the turn after them reads tools and memory from the cache, though the flush kept a line."""
    kept = agent(looks_then_answers, "- the depot in quarter 70 is closed")
    with serving(provider, kept, trigger=("tokens", 9_000), keep=("messages", 4)) as (s, server):
        calls = calls_round_compaction(s, by_hand=by_hand)
        what = [purpose(request) for request in server.requests]
        at = what.index("flush")
        assert what[at - 1 : at + 3] == ["answer", "flush", "summary", "answer"]
        before, flush, summary, after = map(wire, server.requests[at - 1 : at + 3])
        for one in (flush, summary):
            assert one[:-1] == before[: len(one) - 1]
        assert flush[:-1] == summary[:-1] and len(flush) > 8
        others = [{**request, "messages": 0} for request in server.requests[at - 1 : at + 2]]
        assert [one.get("tool_choice") for one in others] == [None] * 3
        head = next(i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
        assert "has been summarized" in after[head] and "+- the depot in quarter 70 is closed" in after[head + 1]
        assert min(share([calls[one]]) for one in ("flush", "summary")) >= 0.8


@every_row("provider", PROVIDERS)
def test_a_block_made_anew_costs_neither_tools_nor_instructions(provider):
    with serving(provider, agent(looks_then_answers)) as (s, _):
        s.memory.write("/AGENTS.md", NOTES)
        for number in range(3):
            ran(s, f"Count the depots, {number}")
        s.memory.forget("fact 3: the depot in quarter 3 opens at 3 and closes at 3")
        first = ran(s, "Count them again").calls[0]
        assert first.usage is not None
        head = first.budget.parts["tools"] + first.budget.parts["system"] + first.budget.parts["skills"]
        assert 0.5 * head < (first.usage.cached or 0) < 0.9 * first.usage.input
        shown = budget_picture(s).text()
        last = s.turns[-1].calls[-1].usage
        assert f"of the input was cached ({last.cached:,} of {last.input:,})" in shown


def test_a_step_of_many_tool_calls_loses_nothing():
    def step(results: list[Any]) -> Any:
        if len(results) >= 15:
            return Say("All read.")
        return [Use("ls", {"path": f"/{i}"}, id=f"call_{i}") for i in range(15)]

    with serving("anthropic", agent(step)) as (s, _):
        ran(s, "Look into all folders. " + "And explain each. " * 400)
        first, second = s.turns[-1].calls
        assert first.usage is not None and second.usage is not None
        assert (second.usage.cached or 0) >= first.usage.input


def test_marks_are_few_stand_where_requests_are_alike_and_ones_own_are_left_alone():
    with serving("anthropic", agent(looks_then_answers)) as (s, server):
        s.memory.add("the depot is closed")
        for _ in range(3):
            ran(s, "Count them")
        for request in server.requests:
            marks = [text for text, marked in blocks(request) if marked]
            assert 3 <= len(marks) <= 4 and "<agent_memory>" not in marks[0]
            assert "<agent_memory>" in marks[1]
    with serving("openai", agent(looks_then_answers)) as (s, server):
        ran(s, "Count them")
        assert "cache_control" not in json.dumps(server.requests)
    from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware

    with serving("anthropic", agent(looks_then_answers), middleware=[AnthropicPromptCachingMiddleware()]) as (
        s,
        server,
    ):
        for _ in range(2):
            ran(s, "Count them")
        assert all(sum(marked for _, marked in blocks(r)) <= 4 for r in server.requests)
        assert share(s.turns[-1].calls) > 0.5


def test_a_subagent_has_marks_too():
    def step(results: list[Any]) -> Any:
        return Say("Done.") if results else Use("task", {"description": "look", "subagent_type": "general-purpose"})

    answered = []

    def answer(request: dict[str, Any]) -> Any:
        names = [t["name"] for t in request["tools"]]
        answered.append("cache_control" in request)
        return (
            Say("Nothing there.")
            if "task" not in names or "look" in json.dumps(request["messages"][0])
            else step(results(request["messages"]))
        )

    with serving("anthropic", answer) as (s, _):
        ran(s, "Ask somebody")
    assert len(answered) == 3 and all(answered)
