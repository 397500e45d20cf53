"""What is noted as seen is what is shown, also where another process writes between two looks at a file."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from deepnb import DeepnbError, Session
from deepnb.backends.writer import writing
from deepnb.engine.keys import MEMORY
from deepnb.memory.middleware import MemoryMiddleware
from tests.support.before import Before

PATH = "/AGENTS.md"


def read_by_agent(s: Session) -> str:
    with writing(origin="agent"):
        return str(s.backend.read(PATH).file_data["content"])  # type: ignore[index]


def read_by_middleware(s: Session) -> str:
    """What is injected is what is taken to have been seen."""
    with writing(origin="agent"):
        layer = MemoryMiddleware(s.backend, (PATH,), 4000, len, lambda: "2026-01-01")
        return str(layer.before_agent({}, None)[MEMORY][PATH])  # type: ignore[index]


def read_in_picture(s: Session) -> str:
    """As `memory_picture` does: what the picture shows is one snapshot."""
    s.memory.conflicts()
    snapshot = s.memory.snapshot
    s.memory.mark_shown(snapshot)
    return snapshot.files[PATH]


READS: dict[str, Any] = {
    "a tool of the agent's": read_by_agent, "the memory block": read_by_middleware,
    "session.memory.read": lambda s: s.memory.read(PATH), "session.part": lambda s: s.files[PATH],
    "%memory": read_in_picture,
}  # fmt: skip


def test_what_is_shown_is_what_is_noted_as_seen_whenever_another_process_writes(tmp_path: Path) -> None:
    """Another kernel writes just before the `nth` look at the disk; then the reader changes a line of what it was shown."""
    met = Counter[str]()
    for number, (how, nth, before) in enumerate(product(READS, range(1, 5), ("- tabs\n", None, b"\xff"))):
        place = tmp_path / str(number)
        place.mkdir()
        met[how] += raced(place, how, nth, before)
    assert set(+met) == set(READS), met


def raced(tmp_path: Path, how: str, nth: int, before: Any) -> bool:
    """Return whether the other one wrote between two looks of a reader that was shown a text."""
    s, other = Session(), Session()
    for one in (s, other):
        one.memory.keep(tmp_path)
    if isinstance(before, bytes):
        (tmp_path / PATH[1:]).write_bytes(before)
    elif before:
        other.memory.write(PATH, before)
    inner, act = s.backend.inner, lambda: other.memory.write(PATH, "- spaces\n- kept\n")
    looks: Any = Before(inner, ("read", "download_files", "grep"), nth, act)
    s.backend.inner = looks
    try:
        shown = READS[how](s)
    except (KeyError, TypeError, DeepnbError):  # not there yet, or no text: there is nothing to write on top of
        return False
    finally:
        s.backend.inner = inner
    if nth > looks.calls:
        return False
    there = other.memory.read(PATH)
    origin = "agent" if how in ("a tool of the agent's", "the memory block") else "user"
    with writing(origin=origin):
        meant = shown.replace("- ", "- two ", 1)
        assert not s.backend.write(PATH, meant).error
    after = other.memory.read(PATH)
    lines = after.splitlines()
    assert "- kept" in lines and len(lines) == len({*lines}), (how, nth, before, shown, after)
    assert after == meant or shown != there, (how, nth, before, shown, after)
    return True
