"""A session on a real LangGraph server: turns, threads of several kernels, runs that go on, restarts, a packaged agent."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

import deepnb
from deepnb.values.turn import ModelEnded, Notice, Snapshot, ToolEnded, ToolStarted, Turn
from tests.support.langgraph_server import LangGraphServer
from tests.support.server_app import server_graphs
from tests.support.server_client import client, told
from tests.support.shells import Shell
from tests.support.tables import every_row

STEPS = 20


def play(s: deepnb.Session) -> Iterator[dict[str, Any]]:
    def run(prompt: str) -> None:
        try:
            s.run(prompt)
        except deepnb.DeepnbError as error:
            assert "the model is down" in str(error)

    def decide(word: Any) -> None:
        list(s.resume(word))

    steps: list[Any] = [
        lambda: run("say hi"), lambda: run("look b"), lambda: run("write /a.md alpha"),
        lambda: s.memory.add("Be brief."), lambda: run("say more"), lambda: s.backend.edit("/a.md", "alpha", "gamma"),
        lambda: run("look c"), lambda: run("task look inner"), lambda: run("pay 3"),
        lambda: decide(s.asked[0].approve()), lambda: run("pay 4"), lambda: decide(s.asked[0].reject("too much")),
        lambda: run("fail"), lambda: run("learn - Be brief.>- Be kind."), lambda: s.fork("side", at=2),
        lambda: run("say aside"), lambda: s.switch("main"), lambda: s.rewind(4), lambda: s.undo(), lambda: run("nap 2"),
    ]  # fmt: skip
    assert len(steps) == STEPS
    for step in steps:
        step()
        yield left(s)


def left(s: deepnb.Session) -> dict[str, Any]:
    return {
        "thread": s.thread, "turns": [turn(t) for t in s.turns], "state": state(s.snapshot), "pending": s.pending,
        "asked": [(call.name, call.args) for call in s.asked],
    }  # fmt: skip


def turn(t: Turn) -> dict[str, Any]:
    return {
        "number": t.number, "prompt": t.prompt, "text": t.text, "failed": t.error is not None,
        "interrupted": t.interrupted,
        "notices": [e.text for e in t.events if isinstance(e, Notice)],
        "models": sum(isinstance(e, ModelEnded) for e in t.events),
        "spent": t.usage.input - t.budget.parts["tools"] if t.budget and t.number == 1 else None,
        "calls": [(e.id, e.name, e.args, bool(e.path)) for e in t.events if isinstance(e, ToolStarted)],
        "results": [(e.id, e.result, e.status, bool(e.path)) for e in t.events if isinstance(e, ToolEnded)],
        "before": state(t.before), "after": state(t.after),
    }  # fmt: skip


def state(s: Snapshot) -> dict[str, Any]:
    messages = [(m.role, m.text, [(c.name, c.args) for c in m.tool_calls], m.status) for m in s.messages]
    return {"files": dict(s.files), "memory": dict(s.memory), "messages": messages, "next": s.next}


pytestmark = pytest.mark.nightly


def test_twenty_steps_are_the_same_as_in_this_process(served: str, session: Any) -> None:
    here = deepnb.Session(graph=server_graphs.agent)
    there = session(f"{served}/agent")
    pairs = list(zip(play(here), play(there), strict=True))
    assert len(pairs) == STEPS
    for number, (local, remote) in enumerate(pairs, 1):
        assert remote == local, f"step {number}"


def results(turn: Turn) -> list[str]:
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
    assert s.run("say three").number == 3
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
    assert len(set(results)) == 4 and len(s.turns) == 1 and (how == "stop" or len(results) == 4)


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
    assert job.wait(60).text == "After 1 results, look b is done." and len(s.turns) == 1
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


def test_a_run_that_waits_for_its_place_is_followed_from_its_beginning(served: str, session: Any) -> None:
    client = get_sync_client(url=served, api_key=None)

    def begin(prompt: str) -> str:
        thread = str(client.threads.create()["thread_id"])
        given: Any = {"messages": [{"role": "user", "content": prompt}]}
        client.runs.create(thread, "agent", input=given)
        return thread

    for _ in range(10):  # as many as the server runs at a time
        begin("nap 3")
    s = session(f"{served}/agent", begin("nap 1"))
    list(s.resume())
    assert [t.text for t in s.turns] == ["After 1 results, nap 1 is done."] and not s.pending


DONE = {"say one": "After 0 results, say one is done.", "nap 8": "After 8 results, nap 8 is done."}


def cut(s: deepnb.Session, end: Any) -> str:
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
    assert ended == [f"nap-3-{n}" for n in range(8)] and s.run("say three").number == 3


@pytest.mark.parametrize("seconds", [0, 12])
def test_a_server_that_was_killed_goes_on_or_says_what_it_lost(mortal, session, seconds):
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
    gone = len(DONE) - len(there)
    assert any(f"the server no longer has {gone} turn" in line for line in lost) is bool(gone), (there, lost)
    assert {t.prompt: t.text for t in s.turns} == {prompt: DONE[prompt] for prompt in there}
    for prompt in [prompt for prompt in DONE if prompt not in there]:
        s.run(prompt)
    assert sorted((t.prompt, t.text) for t in s.turns) == sorted(DONE.items())
    again = session(f"{mortal.url}/agent")
    assert [(t.prompt, t.text) for t in again.turns] == [(t.prompt, t.text) for t in s.turns]


@pytest.fixture
def packaged(programs: Path, tmp_path: Path) -> Iterator[str]:
    s = deepnb.Session()
    s.memory.add("Be brief.")
    s.package(tmp_path / "app", write=True)
    (tmp_path / "home").mkdir()
    env = {name: os.environ[name] for name in ("TIKTOKEN_CACHE_DIR",) if name in os.environ}
    server = LangGraphServer(tmp_path / "app", programs, tmp_path / "home", env)
    server.start()
    yield f"{server.url}/agent"
    server.stop()


def test_its_memory_is_read_edited_and_in_the_next_prompt(packaged: str, session: Any) -> None:
    s = session(packaged)
    assert all(s.features.has(name) for name in ("memory", "skills", "approvals"))
    turn = s.run("hello")
    assert turn.after.memory == {"/AGENTS.md": "- Be brief.\n"} and s.memory.text().count("Be brief.")
    s.memory.add("Be kind.")
    other = session(packaged)
    other.new("another")
    turn = other.run("hello")
    assert turn.after.memory["/AGENTS.md"] == "- Be brief.\n- Be kind.\n"
    assert any("Be kind." in piece.text for piece in other.xray().request)
    assert turn.after.files["/AGENTS.md"] == "- Be brief.\n- Be kind.\n"
    turn = s.run("hello again")
    assert s.memory.diff(1, 2)[0].path == "/AGENTS.md"
    assert any("Be kind." in piece.text for piece in s.xray().request)
