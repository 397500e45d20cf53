"""Threads of LangGraph's checkpoints, deepagents and deepagents-code among them, without the graph that made them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from deepnb.values.errors import DeepnbError
from deepnb.values.text import excerpt
from deepnb.wings.open.chat import message, message_items
from deepnb.wings.open.file import Head, chosen
from deepnb.wings.open.indexing import indexed
from deepnb.wings.open.items import HEAD, Agent, Arrangement, Compaction, Entry, Item, Prompt
from deepnb.wings.open.json_values import array, content_text, count, mapping, text
from deepnb.wings.open.jsonl import changed
from deepnb.wings.open.values import OTHER_BRANCHES, SessionFile, SessionRow

if TYPE_CHECKING:
    from deepnb.wings.open.checkpoints import Branch, Checkpoints

_MOST_ROWS, _MOST_AGENTS = 1_000, 200
_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)
_SCHEMA = 1 << 16
"""Bytes in which the first pages of a database name its tables."""


class LangGraphFormat:
    """A database with the tables `checkpoints` and `writes`."""

    name = "langgraph"
    kind = "LangGraph"

    def matches(self, head: Head) -> bool:
        if not head.is_sqlite:
            return False
        known = all(name in head.start[:_SCHEMA] for name in (b"TABLE checkpoints", b"TABLE writes", b"checkpoint_ns"))
        return known or head.tables >= {"checkpoints", "writes"}  # what a writer did not yet put there needs a copy

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        return rows_of(head.path, changed(head.path))

    def open(self, head: Head, session: str | None) -> SessionFile:
        return open_thread(head.path, session)


def _database(place: Path | str) -> AbstractContextManager[Checkpoints]:
    from deepnb.wings.open.checkpoints import postgres_checkpoints, sqlite_checkpoints  # they import LangGraph

    return postgres_checkpoints(place) if isinstance(place, str) else sqlite_checkpoints(place)


def rows_of(place: Path | str, at: str = "") -> tuple[SessionRow, ...]:
    """Return the threads of a file, or of the PostgreSQL database at an address."""
    rows = []
    with _database(place) as database:
        for thread, begun, newest in database.threads()[:_MOST_ROWS]:
            row = SessionRow(database.where, thread, LANGGRAPH.kind, time_of(newest) or at)
            try:
                given = mapping(database.at(thread, "", begun)[0].get("__start__")).get("messages")
                said = map(message, given if isinstance(given, list) else [given])
                first = next((one for one in said if one and one["type"] == "human"), {})
                rows.append(replace(row, prompt=excerpt(content_text(first.get("content")), HEAD)))
            except DeepnbError as error:
                rows.append(replace(row, problem=error.what))
    return tuple(rows)


def open_thread(place: Path | str, session: str | None) -> SessionFile:
    """Return a thread of a file, or of the PostgreSQL database at an address: the newest, unless one is named."""
    with _database(place) as database:
        thread, notices = chosen([thread for thread, *_ in database.threads()], session, database.where, "thread")
        root = database.branch(thread)
        nested = {space: database.branch(thread, space) for space in database.namespaces(thread)[:_MOST_AGENTS]}
        facts = {
            "format": LANGGRAPH.name, "kind": LANGGRAPH.kind, "path": database.where, "id": thread,
            "cwd": text(root.metadata.get("cwd")), "bytes": place.stat().st_size if isinstance(place, Path) else 0,
            "version": text(mapping(root.metadata.get("versions")).get("deepagents")),
        }  # fmt: skip
    main = _entries(root, "")
    prompts = [entry for entry in main if entry.has(Prompt)]
    if len(prompts) == len(root.inputs):  # each began a turn
        for entry, checkpoint in zip(prompts, root.inputs, strict=True):
            entry.at = time_of(checkpoint)
    agents = [Agent(space, entries=_entries(one, space)) for space, one in nested.items() if one.messages]
    # What an unfinished step left behind is not part of the thread yet.
    channels = [channel for channel, _ in root.pending]
    said = ["its last turn waits for an answer (an interrupt)"] if "__interrupt__" in channels else []
    failed = (value for channel, value in root.pending if channel == "__error__")
    said += (f"its last step failed: {excerpt(str(value), HEAD)}" for value in failed)
    if n := channels.count("messages"):
        what = f"write{'s' if n > 1 else ''} of messages of its last step {'are' if n > 1 else 'is'}"
        said.append(f"{n} {what} not committed, and left out")
    return indexed(Arrangement(main, agents, {OTHER_BRANCHES: root.left}, [*said, *notices]), facts)


def _entries(found: Branch, space: str) -> list[Entry]:
    out: list[Entry] = []
    events = [(count(mapping(event).get("created_at_index")) or there, event) for there, event in found.events]
    told: set[tuple[int, str]] = set()
    for n, one in enumerate([*found.messages, None]):
        while events and events[0][0] <= n:
            entry = _compaction(events.pop(0)[1])
            mark = (count(entry.facts["cutoff"]), entry.items[0].text)
            if mark not in told:
                told.add(mark)
                out.append(entry)
        if one is not None:
            key = text(one.get("id")) or f"{space}message-{n}"
            out.append(Entry(list(message_items(one, key)), "", key, line=n + 1))
    out += (_compaction(event) for _, event in events)
    return out


def _compaction(event: Any) -> Entry:
    about = mapping(event)
    summed = message(about.get("summary_message")) or {}
    held = mapping(summed.get("additional_kwargs"))
    said = content_text(summed.get("content"))
    start, end = said.find("<summary>"), said.rfind("</summary>")
    said = said[start + len("<summary>") : end].strip() if 0 <= start < end else said
    sizes = [*map(count, array(held.get("tokens"))), 0, 0]
    cause: Any = held.get("cause") if held.get("cause") in ("by hand", "overflow") else "trigger"
    items: list[Item] = [Compaction(said, len(said), sizes[0], sizes[1], cause)]
    return Entry(items, text(held.get("summarized_at")), facts={"cutoff": about.get("cutoff_index")})


def time_of(checkpoint: str) -> str:
    """Return when a checkpoint was made: its id is a UUID of version 6, which holds the time; empty for any other."""
    try:
        number = UUID(checkpoint)
    except ValueError:
        return ""
    if number.version != 6:
        return ""
    ticks = (number.int >> 80) << 12 | (number.int >> 64 & 0x0FFF)
    return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


LANGGRAPH = LangGraphFormat()
