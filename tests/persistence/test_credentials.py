"""No credential is in the database: planted where users and programs put them, and searched for as bytes."""

import json
from base64 import b64encode
from typing import Any

import pytest

from deepnb import Session
from tests.support.credentials import SAMPLES
from tests.support.databases import contents
from tests.support.functions import gives
from tests.support.images import png
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call, unasked

PLANTED = SAMPLES[:: len(SAMPLES) // 200][:200]


class Failing(Exception):
    """As a client raises it, with what it sent."""


def test_the_metadata_of_a_picture_in_a_message_is_not_in_the_database(where):
    secret = b"in the metadata of a picture"
    data = b64encode(png(3, 2, more=secret)).decode()
    look = gives("look", [{"type": "image", "base64": data, "mime_type": "image/png"}])
    with Session(Scripted(answers=[call("look"), "a picture"]), persist=where, **unasked(look)) as s:
        s.run("look")
        there = b"\n".join(contents(where).values())
    assert b64encode(png(3, 2)) in there and data.encode() not in there and secret not in there


@pytest.mark.slow
def test_two_hundred_that_were_planted_are_nowhere(where, monkeypatch):
    assert len(PLANTED) == 200

    def lookup(number: int) -> str:
        """Gives a text back."""
        return PLANTED[number].text

    def broken(number: int) -> str:
        """Fails, and says what it sent."""
        raise Failing(f"401 Unauthorized, request headers: {PLANTED[number].text}")

    prompts = [one.text for one in PLANTED[:120]]
    for number, one in enumerate(PLANTED[190:]):
        monkeypatch.setenv(f"PLANTED_{number}", next(iter(one.values)))
    with Session(Scripted(answers=["ok"]), persist=where, **unasked(lookup, broken)) as s:
        for at in range(0, 120, 20):
            s.run("keep these:\n\n" + "\n\n".join(prompts[at : at + 20]))
        for number in range(120, 150, 3):
            s.options.model.answers = [call("lookup", number=number), f"It is {PLANTED[number + 1].text}"]
            s.options.model.requests.clear()
            s.run("look it up")
        for number in range(150, 160):
            s.options.model.answers = [call("broken", number=number), "It failed."]
            s.options.model.requests.clear()
            s.run("try it")
        for number in range(160, 170):
            s.options.model.answers = [call("lookup", number=1, note=PLANTED[number].text), "ok"]
            s.options.model.requests.clear()
            s.run("look it up")
        for one in PLANTED[170:180]:
            s.options.model.answers = [Failing(f"headers: {one.text}")]
            s.options.model.requests.clear()
            refused("", s.run, "go on")
        for one in PLANTED[180:190]:
            s.memory.pending()
            refused("", s.memory.add, one.text)
        there = b"\n".join(contents(where).values())
    assert len(there) > 50_000, "the database was read"
    planted: list[Any] = [value for one in PLANTED for value in one.values]
    forms = [(value, {value.encode(), json.dumps(value)[1:-1].encode()}) for value in planted]
    assert [value for value, written in forms if any(form in there for form in written)] == []
