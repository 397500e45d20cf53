"""A session recorded and then replayed, and what of two runs has to be the same."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from deepnb import Session
from deepnb.models.tapes.tape import Tape, days_near, masked, read_tape

Script = Callable[[Session], None]

_OWN = ("id", "seconds", "started", "model", "checkpoint", "request", "digest", "key", "at", "usage_cost")
"""Fields that differ from run to run: ids, times, and the name of the model."""


def replayed(made: Callable[..., Session], model: Any, script: Script, file: Path) -> tuple[Session, Session]:
    """A session in which the script was recorded, and another of the same kind in which the tape answered."""
    with _marks():
        recorded = made(model=model)
        recorded.record(file)
        script(recorded)
    recorded.recording.stop()
    with _marks():
        again = made()
        again.replay(file)
        script(again)
    return recorded, again


def _marks() -> Any:
    marks: dict[bytes, str] = {}

    def numbered(data: bytes) -> Any:
        return SimpleNamespace(hexdigest=lambda: marks.setdefault(data, f"{len(marks):012x}"))

    return patch("deepnb.memory.flush.sha256", numbered)


def same(a: Session, b: Session) -> None:
    days = days_near(a.workspace.current.now()) | days_near(b.workspace.current.now())
    for one, other in zip(a.turns, b.turns, strict=True):
        left, right = (without_run(turn, days) for turn in (one, other))
        _alike(left["events"], right["events"])
        _alike(left, right)
    assert without_run(dict(a.files), days) == without_run(dict(b.files), days)
    _alike(_rows(a, days), _rows(b, days))


def _alike(a: Any, b: Any) -> None:
    if isinstance(a, list) and isinstance(b, list):
        assert len(a) == len(b), f"{a!r} is not {b!r}"
        for one, other in zip(a, b, strict=True):
            _alike(one, other)
    elif isinstance(a, dict) and isinstance(b, dict):
        assert a.keys() == b.keys()
        for key in a:
            _alike(a[key], b.get(key))
    else:
        assert a == b, f"{a!r} is not {b!r}"


def without_run(value: Any, days: frozenset[str]) -> Any:
    """A value as plain data, less what differs from run to run."""
    if isinstance(value, str):
        return re.sub(r"(<id>)-\d", r"\1", masked(value, days))
    if is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: without_run(getattr(value, f.name), days) for f in fields(value) if f.name not in _OWN}
        return {"": type(value).__name__, **kept}
    if isinstance(value, Mapping):
        return {without_run(k, days): without_run(v, days) for k, v in value.items() if k not in _OWN}
    if isinstance(value, str | int | float | bool | None):
        return value
    try:
        return [without_run(item, days) for item in value]
    except TypeError:
        return repr(value)


def _rows(session: Session, days: frozenset[str]) -> list[dict[str, Any]]:
    lines = session.workspace.transcripts.keep(session.thread).read()[0]
    return [{"type": line.type, "turn": line.turn, "data": without_run(line.data, days)} for line in lines]


def tape(file: Path) -> Tape:
    return read_tape(file.read_bytes(), file.name)


def untimed(tape: Tape) -> list[tuple[Any, ...]]:
    return [(e.purpose, e.tools, e.messages, tuple(p for _, p in e.pieces), e.error) for e in tape.exchanges]
