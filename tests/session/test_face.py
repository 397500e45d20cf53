"""The Python face: options by name, with a line each; types; errors by kind, each one line with what to do."""

import contextlib
import inspect
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import deepnb
from deepnb import DeepnbError, Session
from deepnb.wiring.options import UNCHANGED, Options
from tests.support.scripted import Scripted, call, gives, walked
from tests.support.tables import every_row, refused, wing

OPTIONS = [f.name for f in fields(Options)]
FIXED = ("backend", "checkpointer", "graph", "messages_key")
"""What a session can't change."""


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    return {n: p for n, p in inspect.signature(function).parameters.items() if n not in ("self", "unknown")}


def lines(function: Any) -> dict[str, str]:
    return dict(re.findall(r"^ *- (\w+): (.+)", inspect.getdoc(function) or "", re.M))


def test_a_session_spells_out_each_option_with_a_line_and_its_default():
    assert [*parameters(Session)] == [*lines(Session)] == [*OPTIONS, "clock", "persist"]
    there = Session().options
    for name, one in parameters(Session).items():
        if name in ("prices", "namespace"):
            assert one.default is None and getattr(there, name) == {}
        elif name not in ("clock", "persist"):
            assert one.default == getattr(there, name), name


def test_configure_and_turns_take_the_same_but_for_what_is_fixed():
    spelled = parameters(Session.configure)
    assert [*spelled] == [name for name in OPTIONS if name not in FIXED]
    assert {p.default for p in spelled.values()} == {UNCHANGED}
    kinds = parameters(Session)
    assert {n: p.annotation for n, p in spelled.items()} == {n: kinds[n].annotation for n in spelled}
    methods = (Session.stream, Session.run, Session.arun, Session.astream)
    ways = [parameters(way) for way in methods]
    assert ways == [ways[0]] * 4 and [*lines(Session.stream)] == [name for name in ways[0] if name != "prompt"]
    gives = [inspect.signature(way).return_annotation for way in methods]
    assert gives == ["TurnStream", "Turn", "Turn", "AsyncTurnStream"]


@every_row(("what", "line"), [
    (lambda: Session(modle="offline"), "Session has no option 'modle': did you mean model?"),  # type: ignore[arg-type]
    (lambda: Session(max_step=1), "Session has no option 'max_step': did you mean max_steps?"),  # type: ignore[arg-type]
    (lambda: Session().configure(memory_refesh="call"), "did you mean memory_refresh?"),  # type: ignore[arg-type]
    (lambda: Session().run("p", tread="b"), "run has no option 'tread': did you mean thread?"),  # type: ignore[arg-type]
    (lambda: Session().stream("p", thread_="b"), "stream has no option 'thread_': did you mean thread?"),  # type: ignore[arg-type]
    (lambda: Session().astream("p", xyz=1), r"astream has no option 'xyz': help\(deepnb.Session.astream\)"),  # type: ignore[arg-type]
    (lambda: Session().configure(backend=None), r"backend can't be changed: deepnb.Session\(backend=...\)"),  # type: ignore[arg-type]
])  # fmt: skip
def test_a_mistyped_option_names_the_nearest(what, line):
    refused(line, what)


def test_config_is_the_thread_for_langgraph():
    s = walked(Session(model=Scripted(answers=["one", "two"])), "run p", "new b")
    s.run("q", thread="main")
    assert len(s.graph.get_state({"configurable": {"thread_id": "main"}}).values["messages"]) == 4
    assert s.config == {"configurable": {"thread_id": "b"}} and not s.graph.get_state(s.config).values


def test_a_closed_session_begins_no_turn_and_closing_stops_the_one_that_runs():
    with Session(model=Scripted(answers=["one"])) as s:
        s.memory.add("likes tea", "/MEMORY.md")
        assert s.memory.search_hits("tea") and s.run("p").text == "one"
    s.close()
    for begin in (lambda: s.run("q"), s.new, lambda: list(s.resume())):
        refused("this session is closed", begin)
    assert s.text == "one" and "likes tea" in s.files["/MEMORY.md"]
    s = Session(model=Scripted(answers=[call("write_file", file_path="/a.md", content="x"), "done"]))
    stream = s.stream("p")
    while not isinstance(next(stream), deepnb.ToolEnded):
        pass
    s.close()
    assert s.turns[-1].interrupted and stream.turn is s.turns[-1]


def test_the_root_exports_what_a_user_holds_in_hand():
    assert all(getattr(deepnb, name) is not None for name in deepnb.__all__) and {*deepnb.__all__} <= {*dir(deepnb)}
    assert {"Session", "Turn", "TextDelta", "Snapshot", "Decision", "PendingCall", "Budget", "Subagent"} < {
        *deepnb.__all__
    }
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        _ = deepnb.Sesion  # type: ignore[attr-defined]


# -- what a type checker knows of a user's own script: no error, no Any, and each slip is found


SCRIPT = '''
import asyncio
from collections.abc import Sequence

import deepnb
from deepnb import Session


def look_up(name: str) -> str:
    """Look up a name."""
    return name.title()


def decisions(calls: Sequence[deepnb.PendingCall]) -> list[deepnb.Decision]:
    return [call.approve() if call.name == "look_up" else call.reject("not now") for call in calls]


def talk() -> str:
    with Session("offline", tools=[look_up], memory=["/AGENTS.md"], memory_refresh="call", max_input_tokens=8_000,
                 trigger=("fraction", 0.5), approve={"look_up": "ask"}) as session:
        stream = session.stream("remember that I like tea", max_steps=5)
        for event in stream:
            match event:
                case deepnb.TextDelta(text=text, call=number):
                    reveal_type((text, number))
                case deepnb.ToolStarted() | deepnb.ToolEnded() as tool:
                    reveal_type((tool.name, tool.path))
                case deepnb.Asked(call=call):
                    reveal_type(call.args)
                case deepnb.Compacted(offload=offload):
                    reveal_type(offload.before)
                case _:
                    reveal_type(event)
        reveal_type(stream.turn)
        for event in session.resume(decisions(session.asked)):
            reveal_type(event)
        if budget := session.budget():
            reveal_type((budget.total, budget.parts["memory"], budget.left, budget.rule.trigger_tokens))
        reveal_type((session.files["/AGENTS.md"], session.turns[0].usage.input, session.snapshot.files, session.threads))
        reveal_type((session.memory.log_entries(), session.memory.search_hits("tea"), session.skills.list_skills()))
        reveal_type((session.history(), session.xray(1, 1)))
        session.configure(max_steps=3, model="offline")
        return session.text


async def wait() -> deepnb.Turn:
    session = Session()
    async for event in session.astream("hi"):
        reveal_type(event)
    turn = await session.arun("hi", thread="main")
    try:
        session.switch("b")
    except deepnb.DeepnbError as error:
        reveal_type((error.what, error.do))
    return turn


asyncio.run(wait())
'''


@pytest.mark.nightly
def test_a_users_script_is_known_through_and_through_and_each_slip_is_found(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "slips.py").write_text("""
import deepnb
s = deepnb.Session(modle="x")
deepnb.Session(memory_refresh="never")
s.configure(max_step=3)
s.run("p", tread="b")
deepnb.Sesion()
deepnb.Session(max_steps="3")
""")
    flags = "-m mypy --strict --cache-dir cache script.py slips.py"
    command = [sys.executable, *flags.split()]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500).stdout
    revealed = re.findall(r'script.py:\d+: note: Revealed type is "(.*)"', said)
    assert len(revealed) == SCRIPT.count("reveal_type("), said
    assert "script.py" not in "".join(re.findall(r"^.*: error: .*$", said, re.MULTILINE)), said
    assert not [one for one in revealed if re.search(r"\bAny\b", one)]
    assert {int(line) for line in re.findall(r"slips.py:(\d+): error", said)} == {3, 4, 5, 6, 7, 8}, said


def waiting() -> Session:
    s = Session(model=Scripted(answers=[call("launch"), "done"]), tools=[gives("launch", "launched")])
    s.run("p")
    return s


KEY = f"sk-{'aB3dE5fG7h' * 4}"

KINDS: dict[type[deepnb.DeepnbError], list[Callable[[], object]]] = {
    deepnb.BusyError: [lambda: waiting().run("q"), lambda: waiting().flush(), lambda: busy().new()],
    deepnb.InvalidError: [lambda: Session(max_steps=0), lambda: Session().memory.search(" "),
        lambda: Session().mount("/", "disk:x"), lambda: Session().skills.new("Not A Name"),
        lambda: Session().skills.write("Not A Name", "x")],
    deepnb.LimitError: [lambda: Session().memory.load(large())],
    deepnb.NotFoundError: [lambda: Session().switch("nowhere"), lambda: Session().turn(3),
        lambda: Session().memory.revert("none"), lambda: Session().skills.show("none"),
        lambda: Session(model="ofline").graph, lambda: Session().undo()],
    deepnb.NotInstalledError: [lambda: Session(model="groq:any").graph, deepnb.current],
    deepnb.RefusedError: [
        lambda: Session().memory.add(f"my key is {KEY}"),
        lambda: Session().configure(backend=None),  # type: ignore[arg-type]
        lambda: (s := Session()).new(s.thread),
    ],
    deepnb.RunError: [lambda: Session(model=Scripted(answers=[ValueError("no")])).run("p")],
}  # fmt: skip


def busy() -> Session:
    s = Session(model=Scripted(answers=["one two"]))
    stream = s.stream("p")
    next(stream)
    s.__dict__["kept"] = stream  # else it is closed at once
    return s


def large() -> Path:
    file = Path("large.md")
    file.write_bytes(b"x" * 11_000_000)
    return file


@every_row(
    ("kind", "do"),
    [(kind, do) for kind, ways in KINDS.items() for do in ways],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_each_kind(kind: type[deepnb.DeepnbError], do: Callable[[], object], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    caught = refused("", do)
    assert type(caught) is kind
    assert not ({"%agent", "%memory", "%skills"} & {*str(caught).split()})
    assert caught.do or "instead" in caught.what, "it says what to do"


def test_there_is_no_other_kind() -> None:
    kinds = {kind for kind in deepnb.DeepnbError.__subclasses__() if kind.__module__ == "deepnb.values.errors"}
    assert kinds == {*KINDS}


TAKES: dict[str, Callable[[Session, str], Any]] = {
    "persist": lambda s, name: s.persist(name), "export": lambda s, name: s.export(f"{name}.html"),
    "record": lambda s, name: s.record(f"{name}.jsonl"), "replay": lambda s, name: s.replay(f"{name}.jsonl"),
    "keep": lambda s, name: s.memory.keep(name), "save": lambda s, name: s.memory.save(name),
    "save one": lambda s, name: s.memory.save(f"{name}.md"), "load": lambda s, name: s.memory.load(f"{name}.md"),
    "source": lambda s, name: s.memory.add_source(name), "mount": lambda s, name: s.mount("/w", f"disk:{name}"),
    "package": lambda s, name: s.package(name, write=True), "skills": lambda s, name: s.skills.add(name),
    "validate": lambda s, name: s.skills.validate(name), "subagents": lambda s, name: s.subagents.add(name),
    "open": lambda s, name: deepnb.open_session(name), "list": lambda s, name: deepnb.list_sessions(name),
}  # fmt: skip
NAMES = {
    "long": "x" * 300, "longer": "y" * 5000, "NUL": "a\0b", "half a character": "half\ud83d",
    "nobody's home": "~nosuchuser/x", "a circle": "loop/x", "below a file": "there.txt/x",
}  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory) -> Iterator[Session]:
    """One session, which goes on whatever it was asked for."""
    place = tmp_path_factory.mktemp("names")
    (place / "loop").symlink_to("loop")
    (place / "there.txt").write_text("x")
    s = Session(model=Scripted(answers=["ok"] * 200))
    s.run("hi")
    with contextlib.chdir(place):
        yield s


@pytest.mark.slow
@wing("open")
@wing("package")
@every_row("take", TAKES)
@every_row("name", NAMES)
def test_a_name_that_no_file_has_is_one_line(asked: Session, take: str, name: str) -> None:
    error = refused("", TAKES[take], asked, NAMES[name])
    assert "\n" not in (said := str(error)) and len(said) < 300, said[:300]
    assert asked.run("and now?").text == "ok"


HALF = "half \ud83d here"


TOOLS = [gives("page", HALF), gives("boom", ValueError(HALF)), gives("table", {HALF: [HALF, {"k": HALF}]})]


CALLS = {
    "an answer": HALF, "a result": call("page"), "an error": call("boom"), "an object": call("table"),
    "what is written": call("write_file", file_path="/a.txt", content=HALF),
    "memory": call("write_file", file_path="/AGENTS.md", content=f"- {HALF}\n"),
    "a path": call("ls", path=f"/{HALF}"), "a search": call("memory_search", query=HALF),
    "a variable": call("inspect_variable", name="v"),
}  # fmt: skip
GIVEN: dict[str, Callable[[Session], Any]] = {
    "a prompt": lambda s: s.run(HALF), "memory": lambda s: s.memory.add(HALF),
    "a note": lambda s: s.memory.daily(HALF), "a file": lambda s: s.files.__setitem__("/a.txt", HALF),
    "a name": lambda s: s.files.__setitem__(f"/{HALF}.txt", "x"), "a skill": lambda s: s.skills.new("one", HALF),
    "a subagent": lambda s: s.subagents.new("one", HALF),
    "a prompt of the system": lambda s: s.configure(system_prompt=HALF), "a search": lambda s: s.search(HALF),
}  # fmt: skip


def goes_on(s: Session) -> None:
    """Nothing that reads or keeps the session raises, and what a model is sent can be sent."""
    s.run("and now?")
    for message in (m for request in s.options.model.requests for m in request):
        str(message.content).encode()
        json.dumps(getattr(message, "tool_calls", []), ensure_ascii=False).encode()
    s.search("half"), s.transcript(), s.memory.log(), s.memory.search("half"), s.budget(), s.xray()
    folder = Path(tempfile.mkdtemp())
    for kind in ("html", "ipynb", "jsonl"):
        s.export(folder / f"talk.{kind}")
    s.memory.keep(folder / "memory")
    s.persist(folder / "s.db")
    s.close()
    assert Session(model=s.options.model, persist=folder / "s.db").turns[-1].prompt == "and now?"


@every_row("what", CALLS)
def test_of_a_model_or_a_tool(what: str) -> None:
    s = Session(model=Scripted(answers=[CALLS[what], *["more"] * 9]), tools=TOOLS, namespace={"v": HALF})
    s.run("go")
    if s.asked:
        list(s.resume([one.approve() for one in s.asked]))
    said = [m.text for m in s.snapshot.messages if m.role != "user"]
    assert said and all("\ud83d" not in text for text in said)
    goes_on(s)


def test_of_a_decision() -> None:
    write = call("write_file", file_path="/a.txt", content="x")
    s = Session(model=Scripted(answers=[write, *["more"] * 9]), approve="writes")
    s.run("go")
    list(s.resume(s.asked[0].reject(HALF)))
    goes_on(s)


@every_row("what", GIVEN)
def test_of_the_user(what: str) -> None:
    s = Session(model=Scripted(answers=["more"] * 9))
    try:
        GIVEN[what](s)
    except DeepnbError as error:
        assert "\n" not in str(error) and str(error).isprintable(), ascii(str(error))
    goes_on(s)
