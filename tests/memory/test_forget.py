"""Forgetting: the words are in no later request, but for what was said in the conversation itself."""

from deepnb import Session
from deepnb.engine.request import message_text
from tests.support.scripted import session
from tests.support.tables import every_row


def last_request(s: Session) -> str:
    return "\n".join(message_text(m) for m in s.options.model.requests[-1])


@every_row("refresh", ["delta", "call", "thread"])
def test_what_is_forgotten_is_not_in_the_next_request(refresh: str):
    s = session(memory_refresh=refresh)
    s.memory.write("/AGENTS.md", "- likes tea\n- owns a zeppelin\n")
    s.run("one")
    assert "zeppelin" in last_request(s)
    s.memory.forget("zeppelin")
    s.run("two")
    assert "zeppelin" not in last_request(s) and "likes tea" in last_request(s)


def test_neither_is_what_an_update_told_nor_in_another_thread():
    s = session()
    s.memory.add("likes tea")
    s.run("one")
    s.memory.add("owns a zeppelin")
    s.run("two")
    assert "+- owns a zeppelin" in last_request(s)
    s.memory.forget("zeppelin")
    s.run("three")
    assert "zeppelin" not in last_request(s) and "likes tea" in last_request(s)
    s = session()
    s.memory.add("owns a zeppelin")
    s.run("one")
    s.new("b")
    s.run("two")
    s.run("three", max_steps=0)
    assert s.pending
    s.memory.forget("zeppelin")
    for thread in ("b", "main"):
        s.run("next", thread=thread)
        assert "zeppelin" not in last_request(s), thread
