"""Keys: asked for where they can't be seen, kept in the process, and found in nothing that is written."""

import copy
import getpass
import json
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from deepnb import DeepnbError, Session
from deepnb.gate import redact
from deepnb.models import keys
from tests.support.chat_server import Fail, OpenAIServer, Say, Use
from tests.support.credentials import SAMPLES
from tests.support.shells import Shell
from tests.support.tables import every_row, refused

KEY = "correct horse battery staple".replace(" ", "-") + "-unlike-any-other"
"""No rule knows it by its shape."""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([Say("Hello.")]) as running:
        yield running


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return text

    monkeypatch.setattr(getpass, "getpass", ask)
    return prompts


def test_a_key_that_was_typed_is_used_from_the_next_turn_on(monkeypatch, server):
    assert redact(KEY) == KEY
    prompts = typed(monkeypatch, f" {KEY}\n")
    s = Session()
    s.use("openai:some", base_url=server.url)
    s.run("one")
    s.key("openai")
    s.run("two")
    typed(monkeypatch, KEY + "-the-second")
    s.key("openai")
    s.run("three")
    assert [r["key"] for r in server.requests] == ["Bearer none", f"Bearer {KEY}", f"Bearer {KEY}-the-second"]
    assert prompts == ["key for openai (hidden, kept in this process only): "] and len(s.turns) == 3


def test_the_magic_asks_and_says_nothing_of_the_key(monkeypatch, shell: Shell):
    typed(monkeypatch, KEY)
    said = shell.ok("%agent key openai")
    assert said.strip() == "key for openai kept in this process only; %agent models lists what can be used now"
    assert "openai:gpt-5.2" in (listed := shell.ok("%agent models"))
    assert "key entered here" in listed
    everything = "".join(shell.ok(cell) for cell in ("%agent", "%config DeepNB", "%agent graph", "%history"))
    assert KEY not in said + listed + everything + repr(shell.session) + repr(shell.session.options)


@every_row(("given", "told"), [
    ("openai", "this front end can't ask for a key: set OPENAI_API_KEY in the environment that starts Jupyter"),
    ("azure", "no provider 'azure': %agent key PROVIDER with one of anthropic, openai,"),
    ("ollama", "ollama needs no key: %agent use ollama:MODEL"),
    ("huggingface", "huggingface reads its key only from HF_TOKEN: set HF_TOKEN in the environment"),
])  # fmt: skip
def test_what_can_not_be_asked_for_is_one_line(monkeypatch, shell: Shell, given, told):
    def refuses(prompt: str) -> str:
        raise NotImplementedError("getpass was called, but this frontend does not support input requests.")

    monkeypatch.setattr(getpass, "getpass", refuses)
    assert shell.fails(f"%agent key {given}").startswith(told)


def test_what_is_no_key_changes_nothing(monkeypatch, shell: Shell):
    typed(monkeypatch, KEY)
    shell.ok("%agent key openai")
    for text in ("", "  ", "two words", "a\tb", "line\x1b[31m"):
        typed(monkeypatch, text)
        assert "%agent key openai asks again" in shell.fails("%agent key openai")
        held = keys.kept_key("openai")
        assert held is not None and held.reveal() == KEY


def test_where_the_key_would_be_seen_it_is_not_asked_for():
    code = "from deepnb import Session\nSession().key('openai')"
    given: Any = {"input": f"{KEY}\n", "capture_output": True, "text": True, "start_new_session": True, "timeout": 120}
    ran = subprocess.run([sys.executable, "-c", code], **given)
    assert "this front end can't ask for a key: set OPENAI_API_KEY in the" in ran.stderr.strip().splitlines()[-1]
    assert KEY not in ran.stdout + ran.stderr


def test_a_key_shows_itself_to_nobody_and_does_not_enter_memory(monkeypatch):
    keys.keep_key("openai", KEY)
    held = keys.kept_key("openai")
    assert repr(held) == str(held) == "Key(hidden)"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a key stays in its process"):
            copied(held)
    assert KEY not in os.environ.values()
    typed(monkeypatch, KEY)
    s = Session()
    s.key("openai")
    refused("a key that this session uses", s.memory.add, f"the text to begin with is {KEY}")
    assert KEY not in str(dict(s.files))


def test_the_key_in_force_is_in_nothing_that_is_written(monkeypatch, server, tmp_path):
    from langgraph.checkpoint.sqlite import SqliteSaver

    typed(monkeypatch, KEY)
    server.answers[:] = [Use("write_file", {"file_path": "/a.md", "content": "some text"}), Say("It is written.")]
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        s = Session(checkpointer=saver)
        s.memory.keep(str(tmp_path / "kept"))
        s.key("openai")
        s.use("some", base_url=server.url)
        s.run("write a file")
        server.answers[:] = [lambda request: Fail(401, f"Incorrect API key provided: {server.requests[-1]['key']}")]
        error = failure(s, "and again")
        assert "(401: Incorrect API key provided: Bearer [redacted: " in str(error)
        assert KEY not in "".join(traceback.format_exception(error)) + str(s.turns[-1].error)
        for name in ("a.ipynb", "a.html", "a.jsonl"):
            s.export(str(tmp_path / name))
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert {f.suffix for f in files} >= {".db", ".ipynb", ".html", ".jsonl"}
    assert [f for f in files if KEY.encode() in f.read_bytes()] == []


def test_keys_of_the_environment_and_of_headers_are_known_word_for_word(monkeypatch, server):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "-env")
    headers = {
        "X-Gateway-Token": KEY + "-gate", "Authorization": f"Bearer {KEY}-bear", "X-Team": "a-team-with-a-long-name",
    }  # fmt: skip
    model = ChatOpenAI(
        model="some",
        base_url=server.url,
        api_key=KEY + "-own",  # type: ignore[arg-type]
        max_retries=0,
        default_headers=headers,
    )
    told = f"{KEY}-env {KEY}-gate {KEY}-bear {KEY}-own a-team-with-a-long-name"
    server.answers[:] = [Fail(400, told)]
    line = str(failure(Session(model), "hi"))
    assert KEY not in line and line.count("[redacted: API key]") == 4
    assert "a-team-with-a-long-name" in line


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, *(pytest.param(at, marks=pytest.mark.nightly) for at in (1, 2, 3))])
def test_200_planted_credentials_are_in_no_output_export_or_traceback_of_a_failing_request(
    monkeypatch, shell: Shell, server, tmp_path, at
):
    planted = SAMPLES[at:800:16]
    assert len(planted) == 50
    values = [value for sample in planted for value in sample.values if len(value) >= 8]
    for number, value in enumerate(values):
        if "\0" not in value:
            monkeypatch.setenv(f"PLANTED_{number}", value)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = "Incorrect API key provided; you sent {}"
    server.answers[:] = [lambda r: Fail(401, said.format(json.dumps(r["messages"][-1])))]
    shell.ok(f"%agent use openai:some --base-url {server.url}")
    told = []
    for sample in planted:
        ran = shell.run(f"%%agent\n{sample.text}")
        told += [ran.out, ran.err, str(ran.error), str(shell.session.turns[-1].error)]
        told += traceback.format_exception(failure(shell.session, sample.text))
    assert len(server.requests) == 100
    for name in ("a.ipynb", "a.html", "a.jsonl"):
        shell.session.export(str(tmp_path / name))
    told += [(tmp_path / name).read_bytes().decode() for name in ("a.ipynb", "a.html", "a.jsonl")]
    assert [(value, text) for value in (KEY, *values) for text in told if value in text] == []


def failure(s: Session, prompt: str) -> DeepnbError:
    return refused("", s.run, prompt)
