"""What is forgotten is in no byte of the place that the session is kept in, but for what the conversation said."""

from typing import Any

import pytest

from tests.persistence.conftest import session
from tests.support import databases
from tests.support.functions import Slow
from tests.support.refusals import refused
from tests.support.scripted import call, unasked
from tests.support.walks import walked

WORD = "zeppelin"


def held(where: str) -> list[str]:
    """The tables, or files, whose bytes have the word, in whatever case."""
    return [name for name, data in databases.contents(where).items() if WORD.encode() in data.lower()]


def remembered(where: str, **options: Any) -> None:
    """Three threads that knew the word at many turns, in the block of memory and as an update; then its kernel ended."""
    with session(where, **options) as s:
        s.memory.write("/AGENTS.md", "- likes tea\n- owns a Zeppelin\n")
        walked(s, "run one", "memory.add the zeppelin is grey", "run two", "fork side", "run three", "new far")
        walked(s, "run four", "switch main")
        s.run("five", max_steps=0)


@pytest.mark.parametrize("refresh", ["delta", pytest.param("call", marks=pytest.mark.slow)])
def test_it_is_in_no_byte_and_no_later_request(where, refresh):
    remembered(where, memory_refresh=refresh)
    with session(where, memory_refresh=refresh) as s:
        assert held(where)
        found = s.memory.find(WORD)
        assert found.kept and found.files and found.journal
        assert ("may hold the words in its log" in s.memory.forget(WORD).left) is ("://" in where)
        assert held(where) == [] and s.memory.find(WORD).nothing and s.files["/AGENTS.md"] == "- likes tea\n"
        for thread in ("far", "side", "main"):
            s.switch(thread)
            s.run("and now")
            assert WORD not in str(s.options.model.requests[-1]).lower()
        s.rewind(1)
        s.fork("again", at=1)
        s.run("once more")
        assert held(where) == []
    with session(where) as s:
        s.switch("side")
        assert [t.prompt for t in s.turns] == ["one", "two", "three", "and now"]
        assert s.turns[0].after.memory["/AGENTS.md"] == "- likes tea\n- owns a [forgotten]\n"
        assert "owns a [forgotten]" in str(list(s.xray(1).request))
        s.rewind(2)
        assert s.run("on").number == 3


def test_what_the_conversation_said_stays(where):
    write = call("write_file", file_path="/AGENTS.md", content="- a zeppelin\n")
    with session(where, write, "noted the zeppelin", "yes") as s:
        walked(s, "run remember my zeppelin", "run do you?")
        s.memory.forget(WORD)
        assert s.memory.find(WORD).nothing and s.memory.forget(WORD).nothing
    with session(where) as s:
        assert s.turns[0].prompt == "remember my zeppelin" and s.turns[0].text == "noted the zeppelin"
        assert [m.text for m in s.snapshot.messages][:1] == ["remember my zeppelin"]
        assert "/AGENTS.md" not in s.files or WORD not in s.files["/AGENTS.md"]
        assert WORD not in str(s.memory.log_entries())


def test_nothing_is_forgotten_while_another_kernel_plays(where):
    slow = Slow()
    remembered(where)
    with session(where, call("wait"), "ready", **unasked(slow.wait)) as one, session(where) as two:
        one.new("here")
        with slow.held(lambda: one.run("wait")):
            refused("thread here is busy in another kernel", two.memory.forget, WORD)
            assert WORD in two.files["/AGENTS.md"].lower()
        left = two.memory.forget(WORD).left
        assert held(where) == [] or "another kernel uses" in left
