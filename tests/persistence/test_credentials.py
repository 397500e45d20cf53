"""Two hundred credentials and five keys that look like nothing, in environment, hidden prompt, prompts, headers, memory and
failing requests and tools of one session: none in its database, its tape and its exports, searched as bytes."""

import getpass
import html
import json
from base64 import b64encode
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from deepnb import Session
from deepnb.models import keys
from tests.support.chat_server import Fail, OpenAIServer, Say, Use
from tests.support.credentials import SAMPLES
from tests.support.databases import contents
from tests.support.images import png
from tests.support.scripted import Scripted, call, gives, unasked
from tests.support.tables import refused

PLANTED = SAMPLES[3 :: len(SAMPLES) // 200][:200]
VALUES = [value for one in PLANTED for value in one.values]
PLAIN = "a-plain-key-of-this-laboratory"
"""No rule knows it by its shape: only who holds it knows it."""
TYPED, FROM_ENV, GATE, BEARER, OWN = (f"{PLAIN}-{name}" for name in ("typed", "env", "gate", "bearer", "own"))
EXPORTS = ("a.ipynb", "a.html", "a.jsonl")


@pytest.fixture(autouse=True)
def entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment holds, and what is typed where a key is asked for."""
    monkeypatch.setattr(keys, "_KEPT", {})
    monkeypatch.setattr(import_module("deepnb.gate.credentials"), "OWN", set())
    monkeypatch.setattr(getpass, "getpass", lambda prompt: TYPED)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", FROM_ENV)
    for number, value in enumerate(VALUES):
        if "\0" not in value:
            monkeypatch.setenv(f"PLANTED_{number}", value)


def parts(size: int) -> Iterator[str]:
    """The planted texts, so many in a prompt."""
    for at in range(0, len(PLANTED), size):
        yield "\n\n".join(one.text for one in PLANTED[at : at + size])


def refuse(status: int, *held: str) -> Any:
    """An answer that fails, and quotes all that it was sent, headers included."""
    return lambda request: Fail(
        status, f"refused {request['key']} {' '.join(held)} {json.dumps(request['messages'][-1])}"
    )


def forms(value: str) -> set[bytes]:
    """A value as it is, and as JSON and HTML write it."""
    plain = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], html.escape(value)}
    return {form.encode("utf-8", "surrogatepass") for form in plain}


def left(there: bytes) -> list[str]:
    """The credentials that are in some bytes."""
    return [v for v in (*VALUES, TYPED, FROM_ENV, GATE, BEARER, OWN) if any(form in there for form in forms(v))]


def talk(s: Session, server: OpenAIServer) -> None:
    """All that a session can be given a credential by; every third request fails."""
    for number, text in enumerate(parts(25)):
        use = Use("note", {"text": text}, f"call_{number}")
        server.answers[:] = [use, Say(f"I have {TYPED}, {FROM_ENV} and\n\n{text}"), refuse(401, TYPED)]
        server.requests.clear()
        s.run(f"keep this:\n\n{text}")
        refused("", s.run, f"and again:\n\n{text}")
        server.answers[:] = [Use("broken", {"text": text}, f"broken_{number}"), Say("It failed.")]
        server.requests.clear()
        s.run("try it")
    for one in PLANTED[180:190]:
        refused("", s.memory.add, one.text)
    headers = {"X-Gateway-Token": GATE, "Authorization": f"Bearer {BEARER}"}
    s.use(ChatOpenAI(model="m", base_url=server.url, api_key=OWN, max_retries=0, default_headers=headers))  # type: ignore[arg-type]
    s.configure(max_input_tokens=200_000)
    server.answers[:] = [refuse(status, GATE, BEARER, OWN, FROM_ENV) for status in (400, 401, 403)]
    server.requests.clear()
    for _ in range(3):
        refused("", s.run, f"my keys are {GATE} and {OWN}")
    server.answers[:] = [Use("ask", {"text": f"{PLANTED[0].text} {OWN}"}, "last")]
    server.requests.clear()
    s.run("ask about this")


class Failing(Exception):
    """As a client raises it, with what it sent."""


@pytest.mark.slow
def test_none_of_them_is_in_database_tape_or_export(where, tmp_path):
    assert len(PLANTED) == 200

    def note(text: str) -> str:
        """Give it back."""
        return f"noted: {text}"

    def broken(text: str) -> str:
        """Fails, and says what it sent."""
        raise Failing(f"401 Unauthorized, request headers: {text}")

    def ask(text: str) -> str:
        """Needs approval."""
        return text

    files = tmp_path / "files"
    files.mkdir()
    with OpenAIServer([Say("ok")]) as server:
        with Session(tools=[note, broken, ask], approve={"note": "allow", "broken": "allow"}, persist=where) as s:
            s.use("some", base_url=server.url)
            s.configure(max_input_tokens=200_000)
            s.key("openai")
            s.record(files / "tape.jsonl", note=f"with {TYPED}")
            talk(s, server)
            assert s.asked, "it waits for approval"
            for name in EXPORTS:
                s.export(files / name)
            open_ = b"\n".join(contents(where).values())
        closed = b"\n".join(contents(where).values())
    written = {file.name: file.read_bytes() for file in files.iterdir()}
    assert set(written) == {*EXPORTS, "tape.jsonl"}
    assert min(map(len, (open_, closed, *written.values()))) > 50_000, "all of it was read"
    assert {name: left(data) for name, data in {**written, "open": open_, "closed": closed}.items() if left(data)} == {}


def test_the_metadata_of_a_picture_in_a_message_is_not_in_the_database(where):
    secret = b"in the metadata of a picture"
    data = b64encode(png(3, 2, more=secret)).decode()
    look = gives("look", [{"type": "image", "base64": data, "mime_type": "image/png"}])
    with Session(Scripted(answers=[call("look"), "a picture"]), persist=where, **unasked(look)) as s:
        s.run("look")
        there = b"\n".join(contents(where).values())
    assert b64encode(png(3, 2)) in there and data.encode() not in there and secret not in there


def test_what_is_searched_for_is_found_where_nothing_masks_it(tmp_path: Path):
    text = "\n".join(one.text for one in PLANTED)
    assert len(left(text.encode("utf-8", "surrogatepass"))) >= 0.9 * len(VALUES)
