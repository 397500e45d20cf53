"""Half of a character that takes two (a lone surrogate) never gets past the door: no later call raises because of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepnb import DeepnbError, Session
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

HALF = "half \ud83d here"


def page() -> str:
    "Read."
    return HALF


def boom() -> str:
    "Fail."
    raise ValueError(HALF)


def table() -> dict[str, Any]:
    "Read."
    return {HALF: [HALF, {"k": HALF}]}


CALLS = {
    "an answer": HALF,
    "a result": call("page"),
    "an error": call("boom"),
    "an object": call("table"),
    "what is written": call("write_file", file_path="/a.txt", content=HALF),
    "memory": call("write_file", file_path="/AGENTS.md", content=f"- {HALF}\n"),
    "a path": call("ls", path=f"/{HALF}"),
    "a search": call("memory_search", query=HALF),
    "a variable": call("inspect_variable", name="v"),
}
GIVEN: dict[str, Callable[[Session], Any]] = {
    "a prompt": lambda s: s.run(HALF),
    "memory": lambda s: s.memory.add(HALF),
    "a note": lambda s: s.memory.daily(HALF),
    "a file": lambda s: s.files.__setitem__("/a.txt", HALF),
    "a name": lambda s: s.files.__setitem__(f"/{HALF}.txt", "x"),
    "a skill": lambda s: s.skills.new("one", HALF),
    "a subagent": lambda s: s.subagents.new("one", HALF),
    "a prompt of the system": lambda s: s.configure(system_prompt=HALF),
    "a search": lambda s: s.search(HALF),
}


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
    s = Session(model=Scripted(answers=[CALLS[what], *["more"] * 9]), tools=[page, boom, table], namespace={"v": HALF})
    s.run("go")
    if s.asked:
        list(s.resume([one.approve() for one in s.asked]))
    said = [m.text for m in s.snapshot.messages if m.role != "user"]
    assert said and all("\ud83d" not in text for text in said)
    goes_on(s)


def test_of_a_decision() -> None:
    s = Session(
        model=Scripted(answers=[call("write_file", file_path="/a.txt", content="x"), *["more"] * 9]), approve="writes"
    )
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
