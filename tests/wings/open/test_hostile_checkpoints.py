"""Databases of checkpoints that were made to run something: whatever they name is not imported, called or told."""

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.wings.open import hostile_values as h


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return h.evil_folder(tmp_path, monkeypatch)


class Case(NamedTuple):
    """A thread: its checkpoint, what each step wrote to each channel, and whether its prompt is read all the same."""

    checkpoint: h.Stored
    writes: Sequence[h.Stored] = ()
    says: bool = False


def hostile(folder: Path) -> Iterator[Case]:
    """Threads with forms in their checkpoints, in what was written after them, or in both."""
    good = JsonPlusSerializer().dumps_typed(h.checkpoint(h.HELLO))
    for kind, write, values in (
        ("msgpack", h.packed, list(h.extensions(folder))),
        ("json", lambda value: json.dumps(value).encode(), list(h.constructors(folder))),
    ):
        for at in range(0, len(values), _MANY):
            some = values[at : at + _MANY]
            yield Case((kind, write(h.checkpoint([h.SAID, *some], some))), [(kind, write(some))], says=True)
            yield Case((kind, write(h.checkpoint(some, some[0]))))
            yield Case(good, [(kind, write(value)) for value in some], says=True)
    for value in h.damaged():
        yield Case(("msgpack", h.packed(h.checkpoint([h.SAID, value], value))), [("msgpack", h.packed(value))])
        yield Case(good, [("msgpack", h.packed(value))])
    for stored in h.others(folder):
        yield Case(good, [stored])
        yield Case(stored)


_MANY = 40  # forms that share a checkpoint


def database(path: Path, cases: list[Case]) -> None:
    """A thread for each case: its checkpoint, its writes to every channel, and one more checkpoint without messages."""
    connection = sqlite3.connect(path)
    SqliteSaver(connection).setup()
    empty = JsonPlusSerializer().dumps_typed({**h.checkpoint([]), "channel_values": {}})
    for n, ((kind, value), writes, _) in enumerate(cases):
        for id_, parent, stored in (("1", None, (kind, value)), ("2", "1", empty), ("3", "2", (kind, value))):
            row = (f"t{n}", "", id_, parent, *stored, b'{"source": "input"}')
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for at, (channel, written) in enumerate((c, w) for c in h.CHANNELS for w in writes):
                connection.execute(
                    "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value)"
                    " VALUES (?, '', ?, 'task', ?, ?, ?, ?)",
                    (f"t{n}", id_, at, channel, *written),
                )
    connection.commit()
    connection.close()


def test_no_form_of_a_value_runs_anything(evil: Path, caplog: pytest.LogCaptureFixture) -> None:
    cases = list(hostile(evil))
    assert len(cases) > 100
    path = evil / "a.db"
    database(path, cases)
    with sqlite3.connect(path) as connection:
        good = ("good", "", "1", None, *JsonPlusSerializer().dumps_typed(h.checkpoint(h.HELLO)), b"{}")
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", good)
    connection.close()
    told = h.check(str(path), len(cases), evil)
    assert not caplog.messages  # a notebook shows warnings, and these would be a file's words
    unread = [n for n, (case, said) in enumerate(zip(cases, told, strict=True)) if case.says and h.SAID not in said]
    assert not unread, (unread, told[unread[0]])


METADATA: list[Any] = ["5", "[]", "null", '{"source": []}', '{"source": "input", "versions": 5, "cwd": {}}', "{", "\xff", "[" * 10**5]  # fmt: skip


def test_no_row_of_another_shape_raises_more_than_a_line(evil: Path) -> None:
    path = evil / "a.db"
    kind, value = JsonPlusSerializer().dumps_typed(h.checkpoint(h.HELLO))
    connection = sqlite3.connect(path)
    SqliteSaver(connection).setup()
    rows: list[tuple[Any, ...]] = [
        *((f"t{n}", "", "1", None, kind, value, one.encode("latin-1")) for n, one in enumerate(METADATA)),
        *((f"t{n}", "", "1", None, *stored, b"{}") for n, stored in enumerate(
            [(5, value), (b"msgpack", value), (kind, "text"), (kind, 5), (kind, None), (None, None), (1.5, 1.5)],
            len(METADATA))),
        ("t15", "", "1", "1", kind, value, b"{}"),
        ("t16", "", "1", "2", kind, value, b"{}"),
        ("t16", "", "2", "1", kind, value, b"{}"),
        ("t17", "", "1", 5, kind, value, 5),
        ("t18", "", b"\xff", b"\xff", kind, value, None),
        ("good", "", "1", None, kind, value, b"{}"),
    ]  # fmt: skip
    connection.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    h.check(str(path), 19, evil)


def test_the_watch_can_fail(evil: Path) -> None:
    with h.watched() as events:
        JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(
            ("msgpack", h.packed(ormsgpack.Ext(0, h.packed(("evil", "Bomb", 1)))))
        )
    assert "exec" in {event for event, _ in events} and (evil / "ran").exists()
    del sys.modules["evil"]
