"""Errors by kind: what a program can tell apart, each one line with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import deepnb
from deepnb import Session
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row


def waiting() -> Session:
    """A session whose turn needs approval."""

    def launch() -> str:
        """Launch it."""
        return "launched"

    s = Session(model=Scripted(answers=[call("launch"), "done"]), tools=[launch])
    s.run("p")
    return s


KEY = f"sk-{'aB3dE5fG7h' * 4}"

KINDS: dict[type[deepnb.DeepnbError], list[Callable[[], object]]] = {
    deepnb.BusyError: [lambda: waiting().run("q"), lambda: waiting().flush(), lambda: busy().new()],
    deepnb.InvalidError: [
        lambda: Session(max_steps=0),
        lambda: Session().memory.search(" "),
        lambda: Session().mount("/", "disk:x"),
        lambda: Session().skills.new("Not A Name"),
    ],
    deepnb.LimitError: [lambda: Session().memory.load(large())],
    deepnb.NotFoundError: [
        lambda: Session().switch("nowhere"),
        lambda: Session().turn(3),
        lambda: Session().memory.revert("none"),
        lambda: Session().skills.show("none"),
        lambda: Session(model="ofline").graph,
        lambda: Session().undo(),
    ],
    deepnb.NotInstalledError: [lambda: Session(model="groq:any").graph, deepnb.current],
    deepnb.RefusedError: [
        lambda: Session().memory.add(f"my key is {KEY}"),
        lambda: Session().configure(backend=None),  # type: ignore[arg-type]
        lambda: (s := Session()).new(s.thread),
    ],
    deepnb.RunError: [lambda: Session(model=Scripted(answers=[ValueError("no")])).run("p")],
}


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
    with pytest.raises(deepnb.DeepnbError) as caught:
        do()
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value) and not ({"%agent", "%memory", "%skills"} & {*str(caught.value).split()})
    assert caught.value.do or "instead" in caught.value.what, "it says what to do"


def test_there_is_no_other_kind() -> None:
    assert {kind for kind in deepnb.DeepnbError.__subclasses__() if kind.__module__ == "deepnb.values.errors"} == {
        *KINDS
    }
