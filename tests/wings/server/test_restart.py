"""A server that ends in the middle of a run and is started again: its turns go on or are named, and none is doubled."""

from __future__ import annotations

import time
from typing import Any

import pytest

import deepnb
from deepnb.values.turn import Notice, ToolEnded
from tests.support.langgraph_server import LangGraphServer

pytestmark = pytest.mark.nightly

DONE = {"say one": "After 0 results, say one is done.", "nap 8": "After 8 results, nap 8 is done."}


def cut(s: deepnb.Session, end: Any) -> str:
    """The line of a turn whose server ends in the middle of it."""
    stream, seen = s.stream("nap 8"), 0
    with pytest.raises(deepnb.DeepnbError) as error:
        for event in stream:
            seen += isinstance(event, ToolEnded)
            if seen == 2:
                seen += 1
                end()
    assert stream.turn is not None and stream.turn.error
    return error.value.typed


def test_a_server_that_ended_in_order_goes_on_and_so_does_the_turn(mortal: LangGraphServer, session: Any) -> None:
    s = session(f"{mortal.url}/agent")
    s.run("say one")
    line = cut(s, mortal.stop)
    assert line == f"lost the connection to {mortal.url}: %agent resume follows its run, if the server goes on"
    with pytest.raises(deepnb.DeepnbError, match=f"no server answers at {mortal.url}: start it"):
        s.run("say two")
    mortal.start()
    list(s.resume())
    assert {t.prompt: t.text for t in s.turns} == DONE
    assert [t.number for t in s.turns] == [1, 2] and s.turns[-1].error is None
    ended = [e.id for e in s.turns[-1].events if isinstance(e, ToolEnded)]
    assert ended == [f"nap-3-{n}" for n in range(8)]
    assert s.run("say three").number == 3


@pytest.mark.parametrize("seconds", [0, 12])
def test_a_server_that_was_killed_goes_on_or_says_what_it_lost(
    mortal: LangGraphServer, session: Any, seconds: int
) -> None:
    s = session(f"{mortal.url}/agent")
    s.run("say one")
    time.sleep(seconds)  # it saves every ten
    cut(s, mortal.kill)
    mortal.start()
    lost: list[str] = []
    try:
        lost = [e.text for e in s.resume() if isinstance(e, Notice)]
    except deepnb.NotFoundError as error:
        lost = [str(error)]
    there = [t.prompt for t in s.turns]
    assert there == [m.text for m in s.snapshot.messages if m.role == "user"], "each once, and all that the server has"
    for number, prompt in enumerate(DONE, 1):
        said = any("the server no longer has" in line and f'turn {number} ("{prompt}")' in line for line in lost)
        assert (prompt in there) is not said, (number, there, lost)
    assert {t.prompt: t.text for t in s.turns} == {prompt: DONE[prompt] for prompt in there}
    for prompt in [prompt for prompt in DONE if prompt not in there]:
        s.run(prompt)
    assert sorted((t.prompt, t.text) for t in s.turns) == sorted(DONE.items())
    again = session(f"{mortal.url}/agent")
    assert [(t.prompt, t.text) for t in again.turns] == [(t.prompt, t.text) for t in s.turns]
