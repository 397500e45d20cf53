"""No credential is on a tape, wherever it was: searched in the bytes of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from deepnb import Session
from deepnb.models.tapes.recorder import Recording
from deepnb.values.errors import DeepnbError
from tests.support.chat_server import Fail, Say, Use
from tests.support.credentials import SAMPLES
from tests.support.openai_server import OpenAIServer
from tests.support.replays import tape
from tests.support.scripted import Scripted

NOW = "2026-11-23T10:00:00+00:00"
PLANTED = [sample for sample in SAMPLES if all(len(value) >= 8 for value in sample.values)][::4][:200]


class Pieces(Scripted):
    """Streams its answer five characters at a time, as text, as arguments of a call and as a thought."""

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        text = str(self._next(messages).content)
        args_ = json.dumps({"text": text})
        for i in range(0, len(text), 5):
            more = {"reasoning_content": text[i : i + 5]}
            yield ChatGenerationChunk(message=AIMessageChunk(content=text[i : i + 5], additional_kwargs=more))
            block: Any = {"type": "thinking", "thinking": text[i : i + 5], "index": 0}
            yield ChatGenerationChunk(message=AIMessageChunk(content=[block]))
        for i in range(0, len(args_), 5):
            part: Any = {"name": "go" if i == 0 else None, "args": args_[i : i + 5], "id": "c1", "index": 0}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))


def left(file: Path, value: str) -> bool:
    """Whether a value is in a file, as it is or as JSON writes it."""
    data = file.read_bytes()
    forms = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    return any(form.encode("utf-8", "surrogatepass") in data for form in forms)


def asked(model: BaseChatModel, text: str) -> None:
    called = AIMessage("", tool_calls=[{"name": "go", "args": {"text": text}, "id": "c0"}])
    given = [SystemMessage(text), HumanMessage(text), called, ToolMessage(text, tool_call_id="c0")]
    tool = {"type": "function", "function": {"name": "go", "description": text, "parameters": {}}}
    with suppress(RuntimeError):
        list(model.bind(tools=[tool]).stream(given))


def test_there_are_two_hundred_planted_credentials():
    assert len(PLANTED) == 200 and len({sample.kind for sample in PLANTED}) > 30


@pytest.mark.slow
def test_none_of_the_planted_credentials_is_on_a_tape_wherever_it_was(tmp_path):
    found = []
    for i, sample in enumerate(PLANTED):
        file = tmp_path / f"{i}.jsonl"
        recording = Recording(file, lambda: NOW, sample.text)
        for answer in (sample.text, RuntimeError(sample.text)):
            asked(recording.heard(Pieces(answers=[answer]), sample.text, "by script"), sample.text)
        assert recording.requests == 2 and len(tape(file).exchanges) == 2
        found += [(sample.kind, value) for value in sample.values if left(file, value)]
    assert found == []


def test_an_answer_without_credentials_keeps_its_pieces(tmp_path):
    file = tmp_path / "a.jsonl"
    recording = Recording(file, lambda: NOW)
    asked(recording.heard(Pieces(answers=["what was said"]), "m", "by script"), "what was asked")
    pieces = [piece for _, piece in tape(file).exchanges[0].pieces]
    assert [p["text"] for p in pieces if "text" in p] == ["what ", "was s", "aid"]
    assert "".join(c["args"] for p in pieces for c in p.get("calls", ())) == '{"text": "what was said"}'


def test_keys_of_environment_prompt_and_headers_of_a_failing_request(tmp_path, monkeypatch):
    """Keys that look like nothing: only who holds them knows them."""
    file, prompt_key = tmp_path / "a.jsonl", "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    own, other, header = "the-local-key-of-a-lab", "another-key-of-the-lab", "header-key-of-the-lab"
    monkeypatch.setenv("OPENAI_API_KEY", own)
    monkeypatch.setenv("ANTHROPIC_API_KEY", other)
    monkeypatch.setenv("SOME_SECRET_KEY", "Zk3vQ9xLw7Rt2Bn8Yd4s")
    secrets = [prompt_key, own, other, header, "Zk3vQ9xLw7Rt2Bn8Yd4s"]
    said = f"Incorrect API key provided: {own}. You sent Authorization: Bearer {own}"
    answers = [
        Use("write_file", {"file_path": "/a.md", "content": f"{other} and {prompt_key}"}),
        Say(f"I wrote {other} and Zk3vQ9xLw7Rt2Bn8Yd4s and {prompt_key}"),
        Fail(401, said),
        Fail(500, said),
        Say("Now it works."),
    ]
    with OpenAIServer(answers) as server:
        headers = {"X-Api-Key": header, "Authorization": f"Bearer {own}"}
        model = ChatOpenAI(model="m", base_url=server.url, api_key=own, max_retries=0, default_headers=headers)  # type: ignore[arg-type]
        s = Session(model=model)
        s.record(file, note=f"with {own}")
        s.run(f"my keys are {prompt_key} and {other}")
        for _ in range(2):
            with pytest.raises(DeepnbError):
                s.run(f"again with {own}")
        s.run("thanks")
        sent = json.dumps(server.requests)
    assert prompt_key in sent and own in sent
    assert len(tape(file).exchanges) == 5 and sum(e.error is not None for e in tape(file).exchanges) == 2
    assert [secret for secret in secrets if left(file, secret)] == []


def test_a_thread_with_a_credential_in_it_is_replayed_without_it(tmp_path):
    file, key = tmp_path / "a.jsonl", "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    s = Session(model=Scripted(answers=[f"your key is {key}, isn't it?", "bye"]))
    s.record(file)
    s.run(f"my key is {key}")
    s.run("yes")
    assert key in s.turns[0].text and not left(file, key)
    r = Session()
    r.replay(file)
    assert r.run(f"my key is {key}").text == "your key is [redacted: GitHub token], isn't it?"
    assert r.run("yes").text == "bye"


def test_the_key_a_model_was_given_is_known_though_no_variable_has_it(tmp_path):
    file, own = tmp_path / "a.jsonl", "the-local-key-of-a-lab"
    with OpenAIServer([Say(f"your key is {own}")]) as server:
        s = Session(model=ChatOpenAI(model="m", base_url=server.url, api_key=own))  # type: ignore[arg-type]
        s.record(file)
        s.run("what is my key?")
    assert not left(file, own) and left(file, "your key is [redacted: key]")
