"""One script of answers for every kind of model, and what a session records of it, in a form that can be compared."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from deepnb import DeepnbError, Session
from deepnb.context.transcript import live_messages
from deepnb.models.keys import OFFLINE
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import CodeOutput, ModelEnded, ModelStarted, ThinkingDelta, ToolEnded, ToolStarted, Turn
from tests.support.chat_server import AnthropicServer, OpenAIServer, Say, Use
from tests.support.clock import Clock

PROFILE = {"max_input_tokens": 200_000, "image_inputs": True}
TAPE = "a.jsonl"
SETTINGS: Mapping[str, Any] = {"model": "some-model", "api_key": "x", "max_retries": 2, "profile": PROFILE}


@dataclass(frozen=True)
class Scenario:
    name: str
    answers: tuple[Any, ...]
    prompts: tuple[str, ...] = ("hi",)
    options: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[Any, ...] = ()
    sees: bool = True


@dataclass(frozen=True)
class Played:
    session: Session
    requests: tuple[dict[str, Any], ...]


Play = Callable[[Scenario], Played]


@contextmanager
def openai(answers: Sequence[Any], cache: Any = None, **settings: Any) -> Iterator[tuple[Any, Any]]:
    with OpenAIServer(list(answers), cache=cache) as server:
        yield ChatOpenAI(base_url=server.url, stream_usage=True, **{**SETTINGS, **settings}), server


@contextmanager
def responses(answers: Sequence[Any], **settings: Any) -> Iterator[tuple[Any, Any]]:
    more: Any = {"use_responses_api": True, "store": False, "include": ["reasoning.encrypted_content"]}
    with OpenAIServer(list(answers)) as server:
        yield ChatOpenAI(base_url=server.url, **{**SETTINGS, **more, **settings}), server


@contextmanager
def anthropic(answers: Sequence[Any], cache: Any = None, **settings: Any) -> Iterator[tuple[Any, Any]]:
    """ChatAnthropic, imported late: it has 3,000 modules."""
    from langchain_anthropic import ChatAnthropic

    with AnthropicServer(list(answers), cache=cache) as server:
        yield ChatAnthropic(base_url=server.url, **{**SETTINGS, **settings}), server


Served = Callable[..., AbstractContextManager[tuple[Any, Any]]]
SERVED: Mapping[str, Served] = {"openai": openai, "responses": responses, "anthropic": anthropic}


def served(make: Served) -> Play:
    def play(scenario: Scenario) -> Played:
        profile = {**PROFILE, "image_inputs": scenario.sees}
        with make(scenario.answers, profile=profile) as (model, server):
            return run(scenario, model, server)

    return play


def taped(make: Served) -> Play:
    def play(scenario: Scenario) -> Played:
        profile = {**PROFILE, "image_inputs": scenario.sees}
        with TemporaryDirectory() as directory:
            file = Path(directory) / TAPE
            with make(scenario.answers, profile=profile) as (model, server):
                requests = run(scenario, model, server, lambda s: s.record(file)).requests
            return replace(run(scenario, "offline", server, lambda s: s.replay(file)), requests=requests)

    return play


class Taught(TeachingModel):
    answers: list[Any] = []  # noqa: RUF012

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        pieces = []
        for chunk in super()._stream(messages, *args, **kwargs):
            pieces.append(chunk.message)
            yield chunk
        whole: Any = reduce(add, pieces)
        calls = [Use(call["name"], call["args"], call["id"]) for call in whole.tool_calls]
        self.answers.append(calls or Say(whole.text))


def teaching(scenario: Scenario) -> tuple[Played, Scenario]:
    model = Taught(answers=[])
    one = run(scenario, model, _NoServer)
    return one, replace(scenario, answers=tuple(model.answers))


class _NoServer:
    requests: tuple[dict[str, Any], ...] = ()


def run(scenario: Scenario, model: Any, server: Any, begin: Callable[[Session], object] = lambda s: None) -> Played:
    """Play the prompts of a scenario; those that fail are turns, too. `begin` is what is done first."""
    s = Session(model, clock=Clock("2026-03-02T09:00"), enable_skills=False, **scenario.options)
    begin(s)
    for number, prompt in enumerate(scenario.prompts):
        with suppress(DeepnbError):
            s.run(prompt, images=scenario.images if number == 0 else ())
    return Played(s, tuple(server.requests))


def without_figures(value: Any) -> Any:
    """A record less what depends on who counts: tokens, the window, and the name of the model."""
    if isinstance(value, dict):
        return {k: without_figures(v) for k, v in value.items() if k not in _FIGURES}
    if isinstance(value, str):
        return value.replace(f"{OFFLINE} does not see", f"{SETTINGS['model']} does not see")
    return [without_figures(item) for item in value] if isinstance(value, list) else value


_FIGURES = ("usage", "parts", "rule", "exact", "model", "ledger", "window", "growth", "before", "after")


def record(s: Session, *, thoughts: bool = True) -> dict[str, Any]:
    """Turns, messages, files, ledger and transcript of a session, without ids and times; `thoughts` as they are shown."""
    ids: dict[str, str] = {}
    lines = s.workspace.transcripts[s.thread].read()[0]
    told = [{**line.data, "parent": None} for line in live_messages(lines)]
    return {
        "turns": [_turn(turn, ids, thoughts) for turn in s.turns],
        "messages": [_plain(m, ids) for m in s.snapshot.messages],
        "files": {path: re.sub(r"<!-- .*? -->", "", text) for path, text in s.files.items()},
        "ledger": [[_named_as_recorded(str(cell)) for cell in row]
                   for row in s.ledger().drop(columns=[*_OWN, "seconds"]).to_numpy().tolist()],
        "transcript": [_plain(one, ids) for one in told],
        "lines": dict(Counter(line.type for line in lines if line.type not in ("moved", "head"))),
    }  # fmt: skip


def _turn(turn: Turn, ids: dict[str, str], thoughts: bool) -> dict[str, Any]:
    events: list[Any] = []
    told = (e for e in turn.events if not isinstance(e, CodeOutput))
    for of_tools, some in groupby(told, lambda e: isinstance(e, ToolStarted | ToolEnded)):
        events += sorted(some, key=lambda e, of=of_tools: e.id if of else "")  # type: ignore[misc]  # ran side by side
    return {
        "prompt": turn.prompt, "text": turn.text, "usage": _plain(turn.usage, ids), "error": turn.error,
        "interrupted": turn.interrupted,
        "events": [[type(e).__name__, _plain(e, ids)] for e in events if thoughts or not isinstance(e, ThinkingDelta)],
    }  # fmt: skip


_OWN = ("tools", "total")
"""Parts of a budget that differ by protocol: how tools are described is counted as it is sent."""
_LEFT_OUT = ("seconds", "started", "at", "session", "request", "tokens", "reserve", "limit", *_OWN)  # a client's own


def _plain(value: Any, ids: dict[str, str]) -> Any:
    """A value as JSON would have it, times left out, each id replaced by its number in order of appearance."""
    if isinstance(value, ModelStarted | ModelEnded):
        return _plain(value.call, ids)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _plain(_named(f.name, getattr(value, f.name), ids), ids)
            for f in fields(value)
            if f.name not in _LEFT_OUT
        }
    if isinstance(value, Mapping):
        return {str(k): _plain(_named(str(k), v, ids), ids) for k, v in value.items() if k not in _LEFT_OUT}
    if isinstance(value, list | tuple):
        return [_plain(one, ids) for one in value]
    if isinstance(value, str):
        return _named_as_recorded(value)
    return value if isinstance(value, int | float | bool | None) else json.loads(json.dumps(value, default=str))


def _named_as_recorded(text: str) -> str:
    """A text in which a tape, which is named as what it is, has the name of the model it is of."""
    return text.replace(f"tape {TAPE}", SETTINGS["model"])


def _named(name: str, value: Any, ids: dict[str, str]) -> Any:
    if name in ("id", "parent", "head", "tool_call_id") and isinstance(value, str):
        return ids.setdefault(value, f"id {len(ids)}")
    return value
