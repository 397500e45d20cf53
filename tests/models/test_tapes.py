"""What a tape gives back: the same events and records as were recorded, for every kind of request."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.exceptions import ModelAPIError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from deepnb import Session
from deepnb.context.counting import Counter
from deepnb.models.tapes.recorder import Recording, recorded
from deepnb.values.errors import BusyError, InvalidError, NotFoundError, RefusedError
from deepnb.values.failures import NotOnTapeError
from deepnb.values.turn import Compacted, ModelEnded, ThinkingDelta
from tests.support.chat_server import Fail, Say, Use
from tests.support.compactions import Phased
from tests.support.credentials import SAMPLES
from tests.support.local_server import KINDS, local_server
from tests.support.nesting import Plan, Planned
from tests.support.openai_server import OpenAIServer
from tests.support.refusals import refused
from tests.support.replays import replayed, same, tape, untimed
from tests.support.scripted import Paid, Scripted, call
from tests.support.tables import every_row


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def ask(*prompts: str) -> Any:
    def script(session: Session) -> None:
        for prompt in prompts:
            session.run(prompt)

    return script


def openai(server: OpenAIServer, **more: Any) -> ChatOpenAI:
    settings: dict[str, Any] = {"model": "some-model", "api_key": "x", "max_retries": 0, **more}
    return ChatOpenAI(base_url=server.url, **settings)


def test_a_window_that_was_learned_in_the_recording_is_learned_in_each_replay(file):
    facts = " ".join(f"Item {i} costs {i * 7 % 100} euros." for i in range(110))
    with local_server(KINDS[0], 4_096, told=False) as server:
        a, b = replayed(Session, openai(server), ask(*[facts] * 5), file)
    same(a, b)
    assert [s.rule.window for s in (a, b)] == [4_096, 4_096]
    c = Session()
    c.replay(file)
    ask(*[facts] * 5)(c)
    same(a, c)


def test_summaries_and_flushes_of_a_model_and_those_by_hand(file):
    made = partial(Session, trigger=("messages", 4), keep=("messages", 1))
    model = Phased(answers=list("abcdefg"), summary="what was said", flush=call("note", text="- a decision"))

    def script(s: Session) -> None:
        ask("one", "two", "three", "four")(s)
        s.flush()
        s.configure(trigger=("messages", 40))
        ask("five", "six")(s)
        s.compact()
        s.run("seven")

    a, b = replayed(made, model, script, file)
    same(a, b)
    assert any(isinstance(e, Compacted) for t in b.turns for e in t.events)
    assert {"answer", "summary", "flush"} == {e.purpose for e in tape(file).exchanges}
    assert [untimed(tape(file))] == [untimed(recorded_again(made, script, file))]


def recorded_again(made: Any, script: Any, file: Path) -> Any:
    s, copy = made(), file.with_name("copy.jsonl")
    s.replay(file)
    s.record(copy)
    script(s)
    return tape(copy)


PLAN = Plan(
    "root",
    tuple(
        ("general-purpose", Plan(f"a{i}", tuple(("general-purpose", Plan(f"a{i}b{j}")) for j in range(2))))
        for i in range(4)
    ),
)


def test_parallel_subagents_are_matched_by_request(file):
    a, b = replayed(Session, Planned(), ask(str(PLAN)), file)
    assert a.text == b.text == "root(" + ", ".join(f"a{i}(a{i}b0(), a{i}b1())" for i in range(4)) + ")"
    by_path = [sorted((e.path, e.call.purpose) for e in s.last.events if isinstance(e, ModelEnded)) for s in (a, b)]
    assert by_path[0] == by_path[1] and len(by_path[0]) == 18
    expected = sorted(map(repr, untimed(tape(file))))
    assert sorted(map(repr, untimed(recorded_again(Session, ask(str(PLAN)), file)))) == expected


def test_a_subagent_with_a_model_of_its_own_needs_no_provider_when_it_is_replayed(file):
    own = Scripted(answers=["I looked."], profile={"max_input_tokens": 50_000})
    task = call("task", description="look", subagent_type="looker")
    looker = {"name": "looker", "description": "Looks", "system_prompt": "Look.", "model": "my_model"}
    s = Session(model=Scripted(answers=[task, "It looked."]), subagents=[looker], namespace={"my_model": own})
    s.record(file)
    s.run("look")
    expected = [("ScriptedModel", 100_000), ("my_model", 50_000)]
    assert [(m.name, m.profile["max_input_tokens"]) for m in tape(file).models] == expected
    r = Session(subagents=[looker], namespace={"other": 1})
    r.replay(file)
    turn = r.run("look")
    assert turn.text == "It looked." and len(own.requests) == 1
    windows = [e.call.budget.rule.window for e in turn.events if isinstance(e, ModelEnded)]
    assert windows == [100_000, 50_000, 100_000]


def test_an_error_answers_what_else_asks_it(file):
    slow = Fail(529, "busy", headers={"retry-after": "7", "x-request-id": "req_1"}, kind="overloaded_error")
    with OpenAIServer([slow]) as server:
        s = Session(model=openai(server))
        s.record(file)
        refused("", s.run, "hi")
    (one,) = tape(file).exchanges
    assert one.error is not None and b"req_1" not in file.read_bytes()
    error: Any = recorded(one.error)
    assert ModelAPIError in type(error).__mro__ and error.status_code == 529
    assert error.body["error"]["type"] == "overloaded_error" and error.body["error"]["message"] == "busy"
    assert float(error.response.headers["retry-after"]) == 7 and error.request.url.host == "127.0.0.1"
    assert {"InternalServerError", "OpenAIError"} <= {kind.__name__ for kind in type(error).__mro__}


def test_models_that_do_not_stream_report_usage_or_think_are_replayed_alike(file):
    class Whole(Scripted):
        def _should_stream(self, **_: Any) -> bool:
            return False

    for i, kind in enumerate((Whole, Paid)):
        one = file.with_name(f"{i}.jsonl")
        answers = [call("write_file", file_path="/a.md", content="x"), "done"]
        a, b = replayed(Session, kind(answers=answers), ask("go"), one)
        same(a, b)
        assert b.text == "done" and b.files["/a.md"] == "x"

    class Thinks(Scripted):
        def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            for piece in ("let me", " see"):
                yield ChatGenerationChunk(
                    message=AIMessageChunk(content="", additional_kwargs={"reasoning_content": piece})
                )
            yield ChatGenerationChunk(message=AIMessageChunk(content="yes"))

    a, b = replayed(Session, Thinks(answers=[]), ask("hi"), file)
    same(a, b)
    thoughts = "".join(e.text for e in b.last.events if isinstance(e, ThinkingDelta))
    assert (thoughts, b.text) == ("let me see", "yes")


def test_what_is_recorded_counts_the_same_where_the_encoding_is_not_at_hand(file, monkeypatch):
    with OpenAIServer([Say("one")]) as server:
        monkeypatch.setattr("deepnb.wiring.model.encoding_of", lambda model: lambda: Counter(len, True, "tiktoken"))
        s = Session(model=openai(server))
        assert s.run("hi").budget.exact
        s.record(file)
        s.new()
        recorded = s.run("hi").budget
    monkeypatch.undo()
    r = Session()
    r.replay(file)
    replayed_ = r.run("hi").budget
    assert recorded is not None and not recorded.exact and replayed_ is not None
    assert recorded.parts == replayed_.parts


def test_equal_requests_are_answered_in_the_order_recorded_and_then_from_the_first(file):
    model = Scripted(answers=["one", "two", "three"])

    def script(s: Session) -> None:
        for name in "abc":
            s.new(name)
            s.run("the same")

    a, b = replayed(Session, model, script, file)
    texts = [[s.workspace.threads[name].turns[0].text for name in "abc"] for s in (a, b)]
    assert texts == [["one", "two", "three"]] * 2
    b.new("d")
    assert b.run("the same").text == "one"


def test_a_request_that_is_not_on_the_tape_is_one_line_with_the_nearest_and_the_diff(file):
    _, b = replayed(
        Session, Scripted(answers=["one", "two", "three"]), ask("how many whales are there?", "and bears?"), file
    )
    with pytest.raises(NotOnTapeError) as caught:
        b.run("and seals?")
    line = str(caught.value)
    assert "\n" not in line and "the request is not on tape a.jsonl: the nearest, request 2 of 2," in line
    assert line.endswith("session.record(FILE) makes a tape that has it")
    c = Session()
    c.replay(file)
    with pytest.raises(NotOnTapeError) as caught:
        c.run("how many wales are there?")
    assert "the nearest, request 1 of 2, differs in message 2 (user)" in str(caught.value)
    assert caught.value.diff is not None
    expected = ["-how many whales are there?", "+how many wales are there?"]
    assert [x for x in caught.value.diff.unified().splitlines() if x[:1] in "+-"][2:] == expected
    assert [m.text for m in c.snapshot.messages] == [] and c.run("how many whales are there?").text == "one"


@pytest.mark.parametrize("purpose", ["summary", "flush"])
def test_a_summary_or_a_flush_that_is_not_on_the_tape_is_an_error_too(file, purpose):
    made = partial(Session, trigger=("messages", 4), keep=("messages", 1))
    model = Phased(answers=list("abcdef"), summary="said", flush=call("note", text="- a decision"))
    s = made(model=model)
    s.record(file)
    ask("one", "two", "three", "four")(s)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(x for x in lines if json.loads(x).get("purpose") != purpose))
    r = made()
    r.replay(file)
    with pytest.raises(NotOnTapeError) as caught:
        ask("one", "two", "three", "four")(r)
    opening = {"summary": "<messages>", "flush": "<leaving>"}[purpose]
    assert caught.value.diff is not None and opening in str(caught.value.diff.after)


def test_another_tool_is_another_request(file):
    replayed(Session, Scripted(answers=["one"]), ask("hi"), file)
    r = Session(enable_subagents=False)
    r.replay(file)
    with pytest.raises(NotOnTapeError, match="differs in its tools") as caught:
        r.run("hi")
    assert caught.value.diff is not None and "-task: " in caught.value.diff.unified()


def test_a_tape_is_for_this_user_only_and_every_exchange_is_in_it_as_it_ends(file):
    model = Scripted(answers=[call("look"), "looked"])
    s = Session(model=model)
    recording = s.record(file)
    assert file.stat().st_mode & 0o777 == 0o600
    sizes: list[int] = []

    def look() -> str:
        """Look at the tape."""
        sizes.append(len(tape(file).exchanges))
        return "looked"

    s.configure(tools=[look], approve={"look": "allow"})
    s.run("go")
    assert sizes == [1] and recording.active
    with pytest.raises(BusyError, match=r"already recording to .*: session\.recording\.stop"):
        s.record(file.with_name("b.jsonl"))
    recording.stop()
    with pytest.raises(RefusedError) as caught:
        s.record(file)
    assert str(caught.value) == f"{file} exists already: session.record('{file}', overwrite=True) overwrites it"
    s.record(file, overwrite=True)
    assert tape(file).exchanges == ()


def test_nothing_is_recorded_before_the_recording_and_after_it(file):
    s = Session(model=Scripted(answers=["one", "two", "three"]))
    s.run("a")
    s.record(file)
    s.run("b")
    assert s.recording is not None
    s.recording.stop()
    s.run("c")
    assert [p for e in tape(file).exchanges for _, p in e.pieces] == [{"text": "two"}]


def test_a_disk_that_is_full_ends_the_recording_and_not_the_turn(file, monkeypatch, caplog):
    s = Session(model=Scripted(answers=["one"]))
    recording = s.record(file)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deepnb.models.tapes.recorder._write", full)
    assert s.run("a").text == "one" and not recording.active and recording.problem == "No space left on device"
    assert "stopped after 0 requests (No space left on device)" in caplog.text


@every_row(("name", "kind", "line"), [
    ("a.txt", InvalidError, "a.txt has no ending that says what it is: end the name in .jsonl"),
    ("missing.jsonl", NotFoundError, "missing.jsonl: session.record(FILE) makes one"),
    ("d.jsonl", InvalidError, "d.jsonl is a directory"), ("a\0.jsonl", InvalidError, "can't be a file"),
])  # fmt: skip
def test_a_name_that_is_no_tape_is_one_line(name, kind, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").mkdir()
    with pytest.raises(kind) as caught:
        Session().replay(name)
    assert line in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "piece", [{"text": 3}, {"calls": 1}, {"calls": [{"name": []}]}, {"usage": {"a": "b"}}, {"text": None}]
)
def test_an_answer_that_is_none_is_damage(file, piece):
    s = Session(model=Scripted(answers=["one"]))
    s.record(file)
    s.run("hi")
    *lines, last = file.read_text().splitlines()
    damaged = {**json.loads(last), "answer": [[0, piece]]}
    file.write_text("".join(f"{line}\n" for line in (*lines, json.dumps(damaged))))
    r = Session()
    r.replay(file)
    refused(r"tape a\.jsonl is damaged: one of its answers is no message", r.run, "hi")


# -- no credential is on a tape, wherever it was: searched in the bytes of the file


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
        Say(f"I wrote {other} and Zk3vQ9xLw7Rt2Bn8Yd4s and {prompt_key}"), Fail(401, said), Fail(500, said),
        Say("Now it works."),
    ]  # fmt: skip
    with OpenAIServer(answers) as server:
        headers = {"X-Api-Key": header, "Authorization": f"Bearer {own}"}
        model = ChatOpenAI(model="m", base_url=server.url, api_key=own, max_retries=0, default_headers=headers)  # type: ignore[arg-type]
        s = Session(model=model)
        s.record(file, note=f"with {own}")
        s.run(f"my keys are {prompt_key} and {other}")
        for _ in range(2):
            refused("", s.run, f"again with {own}")
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
