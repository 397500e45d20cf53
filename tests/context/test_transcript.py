"""A transcript as lines: what is written is what is read back, whatever is cut off its end."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.backends.tree import AppendFile
from deepnb.context.transcript import Chain, Line, from_json, live_messages, read, to_json
from deepnb.values.messages import Added, Message, ToolCall
from deepnb.values.offload import Flush, Offload
from deepnb.values.turn import Compacted, Flushed, ToolEnded, ToolStarted
from tests.support.tables import every_row

texts = st.text(st.characters(codec=None), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
taken = {"type", "at", "session", "n", "turn", "path"}
lines = st.builds(
    Line, type=texts, at=texts, session=texts, n=st.integers(),
    data=st.dictionaries(texts.filter(lambda k: k not in taken), values, max_size=4), turn=st.none() | st.integers(),
    path=st.lists(texts, max_size=3).map(tuple),
)  # fmt: skip


@given(lines)
def test_a_line_reads_back(line: Line) -> None:
    written = to_json(line)
    assert written.endswith(b"\n") and written.count(b"\n") == 1 and from_json(written) == line


@given(st.lists(lines, max_size=6, unique_by=lambda one: (one.session, one.n)))
def test_a_file_reads_back(told: list[Line]) -> None:
    assert read(b"".join(map(to_json, told))) == (tuple(told), 0)


LINES = tuple(
    Line("message", "2026", "s", n, {"id": str(n), "parent": None, "text": "é\u2028ü 日本"}) for n in (1, 2, 3)
)


def test_a_last_line_cut_at_every_byte_is_all_that_is_lost(tmp_path: Path) -> None:
    whole = b"".join(map(to_json, LINES))
    start = len(whole) - len(to_json(LINES[2]))
    for end in range(start + 1, len(whole)):
        file = AppendFile(tmp_path, (f"{end}.jsonl",))
        (tmp_path / f"{end}.jsonl").write_bytes(whole[:end])
        found, cut = read(file.read())
        unended = end == len(whole) - 1  # all of it but its end: nothing is lost
        assert (found, cut) == ((LINES, 0) if unended else (LINES[:2], 1))
        assert file.append(to_json(Line("notice", "2026", "t", 1, {"text": "on"}))) is True
        assert read(file.read()) == ((*found, Line("notice", "2026", "t", 1, {"text": "on"})), cut)


@every_row("junk", [b"null", b"[1]", b'{"type": 1}', b'{"a": "b"}', b"\xff\xfe", b'{"type":"a","at":"b"}'])
def test_junk_between_lines_is_left_out_and_counted_and_a_line_written_twice_is_one(junk: bytes) -> None:
    assert read(to_json(LINES[0]) * 2 + junk + b"\n\n" + to_json(LINES[1])) == (LINES[:2], 1)


def test_an_append_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(OSError, match="links"):
        AppendFile(tmp_path, ("link",)).append(b"x\n")
    assert (tmp_path / "there").read_text() == ""


def told(chain: Chain, *events: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(type_, data) for event in events for type_, data, _ in chain.event(event)]


def said(id_: str, text: str = "", *calls: str, role: Any = "assistant", of: str | None = None) -> Message:
    return Message(id_, role, text, tuple(ToolCall(c, "t") for c in calls), tool_call_id=of)


def read_back(chain_lines: list[Any]) -> list[str]:
    made = [Line(t, "", "s", n, data, None, path) for n, (t, data, path) in enumerate(chain_lines, 1)]
    return [line.data["id"] for line in live_messages(made)]


ids = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=6)


@given(st.lists(st.tuples(ids, st.sampled_from(["head", "rewind", "undo"])), max_size=8))
def test_whatever_the_thread_becomes_it_reads_back(states: list[tuple[list[str], str]]) -> None:
    """Messages that come, go, come back and change places: the standing thread is always the last one told."""
    chain, written = Chain(), list[Any]()
    for state, why in states:
        written += chain.follow([said(i) for i in state], why)
        assert read_back(written) == state and chain.head == (state[-1] if state else None)


def test_a_thread_that_grows_is_told_once_and_a_nested_agents_messages_hang_from_the_call() -> None:
    chain, messages = Chain(), [said(str(n)) for n in range(50)]
    assert sum(len(list(chain.follow(messages[:n]))) for n in range(51)) == 50
    chain = Chain()
    written = [*chain.follow([said("a"), said("b", "x"), said("c")]), *chain.event(Added(said("b", "y")))]
    assert read_back(written) == ["a", "b", "c"]
    assert [data.get("text") for _, data, _ in written if data.get("id") == "b"] == ["x", "y"]
    assert not list(chain.event(Added(said("b", "y"))))
    chain = Chain()
    lines = told(
        chain, Added(said("ask", "", "task-1")), ToolStarted("task-1", "task", {}),
        Added(said("n1", "", "c1"), ("task-1",)), ToolStarted("c1", "ls", {}, ("task-1",)),
        ToolEnded("c1", "ls", "two files", "ok", 0.1, ("task-1",)), Added(said("n2", "two"), ("task-1",)),
        ToolEnded("task-1", "task", "two", "ok", 0.2), Added(said("result", "two", role="tool", of="task-1")),
    )  # fmt: skip
    parents = {data["id"]: data["parent"] for type_, data in lines if type_ == "message"}
    assert parents == {"ask": None, "n1": "ask", "task-1/c1": "n1", "n2": "task-1/c1", "result": "ask"}


def test_a_flush_and_a_compaction() -> None:
    flushed, compacted = told(
        Chain(),
        Flushed(Flush("/memory/2026-01-01.md", ("- tea",), "rules")),
        Compacted(Offload("/conversation_history/main.md", "gist", 4, "2026", "by hand", 900, 90)),
    )
    assert flushed == ("flushed", {"file": "/memory/2026-01-01.md", "lines": ["- tea"], "how": "rules"})
    assert compacted[1] == {
        "cutoff": 4, "before": 900, "after": 90, "cause": "by hand", "summary": "gist",
        "file": "/conversation_history/main.md", "summarized": "2026",
    }  # fmt: skip


@dataclass(frozen=True)
class SomethingNew:
    text: str
    at: float
    inner: Any = None
    path: tuple[str, ...] = ()


def test_an_event_of_a_later_version_is_written_in_its_own_words() -> None:
    event: Any = SomethingNew("key ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3", float("nan"), {"x": (1, object)})
    ((kind, data, _),) = Chain().event(event)
    assert kind == "something_new" and set(data) == {"text", "its_at", "inner"}
    assert "ghp_" not in json.dumps(data) and data["its_at"] == "nan"
