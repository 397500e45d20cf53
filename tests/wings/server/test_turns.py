"""A session on a real LangGraph server: the turns of a local one, threads of several kernels, runs that go on."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph_sdk import get_sync_client

import deepnb
from deepnb.values.turn import ModelEnded, ToolEnded, Turn
from tests.support.server_app import server_graphs
from tests.support.server_client import client, told
from tests.support.server_script import STEPS, play
from tests.support.shells import Shell
from tests.support.tables import every_row

pytestmark = pytest.mark.nightly


def test_twenty_steps_are_the_same_as_in_this_process(served: str, session: Any) -> None:
    here = deepnb.Session(graph=server_graphs.agent)
    there = session(f"{served}/agent")
    pairs = list(zip(play(here), play(there), strict=True))
    assert len(pairs) == STEPS
    for number, (local, remote) in enumerate(pairs, 1):
        assert remote == local, f"step {number}"


def results(turn: Turn) -> list[str]:
    """The ids of the calls that ended, in order."""
    return [e.id for e in turn.events if isinstance(e, ToolEnded) and e.status == "ok"]


def test_a_run_goes_on_without_its_kernel_and_is_followed_to_its_end(served: str, session: Any) -> None:
    with client(f"{served}/agent", "left", "nap 6") as process:
        told(process), told(process)
    s = session(f"{served}/agent", "left")
    (turn,) = s.turns
    assert "goes on on the server" in turn.interrupted and "%agent resume follows it" in s.workspace.thread.pending
    assert [one.status for one in s.threads if one.name == "left"] == ["busy"]
    with pytest.raises(deepnb.BusyError, match="a run goes on on the server in thread left: wait until it ends, or"):
        s.run("say no")
    before = len(results(turn))
    events = list(s.resume())
    assert len([e for e in events if isinstance(e, ToolEnded)]) == 6 - before > 0
    assert 0 < len([e for e in events if isinstance(e, ModelEnded)]) <= 7 - before, "what was read is not told again"
    (turn,) = s.turns
    assert results(turn) == [f"nap-1-{n}" for n in range(6)]
    assert (turn.text, turn.interrupted, turn.error) == ("After 6 results, nap 6 is done.", None, None)
    assert s.run("say more").number == 2


def test_two_kernels_on_one_thread(served: str, session: Any) -> None:
    s = session(f"{served}/agent")
    s.new("both")
    s.run("say one")
    with client(f"{served}/agent", "both", "nap 3") as process:
        told(process)
        with pytest.raises(deepnb.BusyError, match="a run goes on") as error:
            s.run("say two")
        assert "\n" not in error.value.typed
        while "text" not in (last := told(process)):
            pass
    assert last == {"text": "After 3 results, nap 3 is done.", "turns": 2}
    turn = s.run("say three")
    assert turn.number == 3
    assert [(t.prompt, t.text) for t in s.turns] == [
        ("say one", "After 0 results, say one is done."),
        ("nap 3", "After 3 results, nap 3 is done."),
        ("say three", "After 0 results, say three is done."),
    ]
    assert [m.role for m in s.snapshot.messages].count("user") == 3


@every_row("how", ["stop", "limit"])
def test_what_stops_a_turn_stops_the_run_on_the_server_and_resume_goes_on(served: str, session: Any, how: str) -> None:
    s = session(f"{served}/agent")
    s.new(how)
    if how == "stop":
        stream = s.stream("nap 4")
        for event in stream:
            if isinstance(event, ToolEnded):
                break
        stream.close()
        assert stream.turn.interrupted and "still running" not in stream.turn.interrupted
    else:
        assert s.run("nap 4", max_steps=1).interrupted == "reached the limit of 1 step"
    assert [one.status for one in s.threads if one.name == how] == ["interrupted"]
    list(s.resume("again" if s.workspace.thread.cut else None))
    assert s.text == "After 4 results, nap 4 is done."
    results = [m.tool_call_id for m in s.snapshot.messages if m.role == "tool"]
    assert len(set(results)) == 4 and len(s.turns) == 1
    assert how == "stop" or len(results) == 4


def test_a_question_waits_for_whichever_kernel_answers_it(served: str, session: Any) -> None:
    first, second = session(f"{served}/hall"), session(f"{served}/hall")
    first.new("asked")
    (call,) = first.run("Which?").asked
    assert call.args == {"question": "Which hall?"}
    second.switch("asked")
    assert [one.status for one in second.threads if one.name == "asked"] == ["interrupted"]
    (call,) = second.asked
    list(second.resume(call.answer({"hall": 4})))
    assert second.text == "The hall is 4."
    first.switch("asked")
    assert [t.text for t in first.turns] == ["The hall is 4."] and not first.asked


def test_a_fork_leaves_the_thread_it_comes_from_as_it_is(served: str, session: Any) -> None:
    s = session(f"{served}/agent")
    s.new("trunk")
    s.run("write /a.md one")
    s.run("write /b.md two")
    s.fork("branch", at=1)
    s.run("write /c.md three")
    assert set(s.files) == {"/a.md", "/c.md"} and len(s.turns) == 2
    s.rewind(0)
    assert not s.files and not s.snapshot.messages
    s.switch("trunk")
    assert set(s.files) == {"/a.md", "/b.md"} and len(s.turns) == 2
    again = session(f"{served}/agent", "branch")
    assert not again.files and next(one.parent for one in again.threads if one.name == "branch") == "trunk@1"


def test_what_a_call_was_sent_is_counted_and_shown(served: str, session: Any) -> None:
    s = session(f"{served}/agent")
    s.new("counted")
    s.memory.add("Be brief.")
    s.run("look b")
    budget = s.budget()
    assert budget.parts["memory"] > 0 and budget.parts["tool results"] > 0 and budget.parts["tools"] == 0
    assert "does not show the tools" in budget.unseen
    assert any("Be brief." in piece.text for piece in s.xray().request)


def test_a_run_of_another_program_is_followed(served: str, session: Any) -> None:
    client = get_sync_client(url=served, api_key=None)
    made = client.threads.create()["thread_id"]
    prompt: Any = {"messages": [{"role": "user", "content": "nap 4"}]}
    client.runs.create(made, "agent", input=prompt)
    s = session(f"{served}/agent")
    while "nap-1-0" not in {m.tool_call_id for m in s.snapshot.messages}:
        s.switch(made)
    assert s.thread == made and not results(s.turns[-1])[4:]
    list(s.resume())
    assert [(t.prompt, t.text, results(t)) for t in s.turns] == [
        ("nap 4", "After 4 results, nap 4 is done.", [f"nap-1-{n}" for n in range(4)])
    ]
    assert session(f"{served}/agent", made).run("say more").number == 2


def test_a_turn_in_the_background_lands_in_a_thread_of_the_server(served: str, session: Any) -> None:
    s = session(f"{served}/agent")
    s.new("before")
    s.run("say one")
    job = s.start("look b")
    assert job.wait(60).text == "After 1 results, look b is done."
    assert len(s.turns) == 1
    assert [t.prompt for t in session(f"{served}/agent", job.thread).turns] == ["say one", "look b"]


def test_a_cell_that_joins_a_thread_follows_its_run(served: str) -> None:
    with client(f"{served}/agent", "joined", "nap 5") as process:
        told(process), told(process)
    shell = Shell()
    try:
        shell.ok("%load_ext deepnb")
        assert f"%agent use {served}/hall" in shell.ok(f"%agent use {served}")
        shell.ok(f"%agent use {served}/agent")
        assert "busy" in next(line for line in shell.ok("%agent threads").splitlines() if line.startswith("joined"))
        assert "After 5 results, nap 5 is done." in shell.ok("%agent switch joined")
        assert "nap 5" in shell.ok("%agent turns") and "After 0 results" in shell.ok("%agent say more")
        assert "tools" in shell.ok("%agent budget")
    finally:
        shell.close()
