"""Sessions with chat models whose servers cache prompts, on loopback, and the share that was read from the cache."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from deepnb import Session
from deepnb.values.turn import Call, Turn, Usage
from tests.support.chat_server import PrefixCache, Say, Use
from tests.support.contract import SERVED

PROVIDERS = ("anthropic", "openai")
NOTES = "".join(f"- fact {i}: the depot in quarter {i} opens at {i % 12} and closes at {i % 9}\n" for i in range(60))


def purpose(request: dict[str, Any]) -> str:
    last = json.dumps(request["messages"][-1])
    return "flush" if "<leaving>" in last else "summary" if "<messages>" in last else "answer"


def agent(step: Callable[[list[Any]], Any], kept: str = "NO_REPLY") -> Callable[[dict[str, Any]], Any]:
    """Answers a summary and a flush as they want to be; `step` gives the others, from the tool results since the prompt."""
    said = {"flush": kept, "summary": "They listed files and counted depots."}

    def answer(request: dict[str, Any]) -> Any:
        what = purpose(request)
        return Say(said[what]) if what in said else step(results(request["messages"]))

    return answer


def results(messages: list[dict[str, Any]]) -> list[Any]:
    found: list[Any] = []
    for message in reversed(messages):
        content = message["content"]
        inner = [b for b in content if b["type"] == "tool_result"] if isinstance(content, list) else []
        if message["role"] == "tool":
            found.append(message)
        elif inner:
            found += inner
        elif message["role"] != "assistant":
            break
    return found


def looks_then_answers(results: list[Any]) -> Any:
    return Say("Done: " + "the depots are counted. " * 20) if results else Use("ls", {"path": "/"})


def cached_model(provider: str, answer: Any) -> Any:
    name = {"anthropic": "claude-some"}.get(provider, "some-model")
    return SERVED[provider]([answer], PrefixCache(), model=name, max_retries=0, streaming=True)


@contextmanager
def serving(provider: str, answer: Any, **options: Any) -> Iterator[tuple[Session, Any]]:
    with cached_model(provider, answer) as (model, server):
        yield Session(model=model, max_input_tokens=200_000, **options), server


def share(calls: Iterable[Call]) -> float:
    usages = [call.usage for call in calls]
    assert usages and None not in usages
    return share_of([usage for usage in usages if usage])


def share_of(usages: list[Usage]) -> float:
    return sum(u.cached or 0 for u in usages) / sum(u.input for u in usages)


def ran(s: Session, prompt: str) -> Turn:
    turn = s.run(prompt)
    assert not turn.error, turn.error
    return turn


def calls_round_compaction(s: Session, *, by_hand: bool) -> dict[str, Call]:
    s.memory.write("/AGENTS.md", NOTES)
    prompt = "And explain each of them to me. " * 60
    for number in range(1, 40):
        turn = ran(s, f"Count the depots, {number}. {prompt}")
        if turn.compacted or (by_hand and number == 3):
            break
    if by_hand:
        s.compact(lambda event: None)
    made: dict[str, Call] = {call.purpose: call for call in s.turns[-1].requested if call.purpose != "answer"}
    return {**made, "turn after": ran(s, "Count the depots again. " + prompt).calls[0]}


def calls_between_compactions(s: Session) -> list[tuple[Call, ...]]:
    s.memory.write("/AGENTS.md", NOTES)
    seen, calls = 0, []
    for number in range(1, 40):
        s.memory.add(f"the depot of turn {number} has moved to the harbour")
        turn = ran(s, f"Count the depots, {number}. " + "And explain each of them to me. " * 60)
        summaries = [n for n, c in enumerate(turn.calls) if c.purpose == "summary"]
        mine = turn.calls[summaries[-1] + 2 if summaries else 0 :]  # the first one after a summary reads it anew
        seen += turn.compacted
        calls += [tuple(mine)] if seen and mine else []
        if seen == 2:
            return calls
    raise AssertionError("there was no second compaction")
