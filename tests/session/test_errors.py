"""Errors by kind, each one line with what to do; names that no file has, and half characters, which raise no others."""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import deepnb
from deepnb import DeepnbError, Session
from tests.support.functions import gives
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row
from tests.support.wings import wing


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
