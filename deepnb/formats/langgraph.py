"""Threads of LangGraph's checkpoints, deepagents and deepagents-code among them, without the graph that made them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deepnb.core.errors import DeepnbError, NotFoundError
from deepnb.core.session_file import OTHER_BRANCHES, SessionRow
from deepnb.core.short_repr import excerpt
from deepnb.formats.agents import link
from deepnb.formats.chat_messages import message_items
from deepnb.formats.checkpoint_branch import Branch, Checkpoints, branch, time_of
from deepnb.formats.checkpoint_database import SqliteCheckpoints, opened
from deepnb.formats.checkpoint_values import message, plain
from deepnb.formats.head import Head
from deepnb.formats.held_session import HeldSession
from deepnb.formats.items import HEAD, Agent, Arrangement, Compaction, Entry, Item, Prompt
from deepnb.formats.json_values import array, content_text, count, mapping, text
from deepnb.formats.jsonl import changed
from deepnb.formats.postgres_checkpoints import connected

_MOST_ROWS, _MOST_AGENTS = 1_000, 200
_SCHEMA = 1 << 16
"""Bytes in which the first pages of a database name its tables."""
_SUMMARIZED = "_summarization_event"


class LangGraphFormat:
    """A database with the tables `checkpoints` and `writes`."""

    name = "langgraph"
    kind = "LangGraph"

    def matches(self, head: Head) -> bool:
        if not head.is_sqlite:
            return False
        known = all(name in head.start[:_SCHEMA] for name in (b"TABLE checkpoints", b"TABLE writes", b"checkpoint_ns"))
        return known or {"checkpoints", "writes"} <= tables(head)  # what a writer did not yet put there needs a copy

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        with opened(head.path) as connection:
            return _rows(SqliteCheckpoints(connection, str(head.path)), changed(head.path))

    def open(self, head: Head, session: str | None) -> HeldSession:
        with opened(head.path) as connection:
            return _opened(SqliteCheckpoints(connection, str(head.path)), session)


def rows_of(url: str) -> tuple[SessionRow, ...]:
    """The threads of a PostgreSQL database."""
    with connected(url) as database:
        return _rows(database, "")


def open_url(url: str, session: str | None) -> HeldSession:
    """A thread of a PostgreSQL database; the newest, unless one is named."""
    with connected(url) as database:
        return _opened(database, session)


def _rows(database: Checkpoints, at: str) -> tuple[SessionRow, ...]:
    return tuple(_row(database, thread, time_of(newest) or at) for thread, newest in database.threads()[:_MOST_ROWS])


def _row(database: Checkpoints, thread: str, at: str) -> SessionRow:
    try:
        prompt, size = _first_words(database, thread), database.size(thread)
    except DeepnbError as error:
        return SessionRow(database.where, thread, LANGGRAPH.kind, at, bytes=0, problem=error.what)
    return SessionRow(database.where, thread, LANGGRAPH.kind, at, prompt, size)


def _opened(database: Checkpoints, session: str | None) -> HeldSession:
    names = [thread for thread, _ in database.threads()]
    if not names:
        raise NotFoundError(f"{database.where} has no threads", "choose another database")
    if session is not None and session not in names:
        known = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise NotFoundError(f"{database.where} has no thread {session}", f"it has {known}")
    thread = session or names[0]
    root = branch(database, thread)
    assert root is not None
    spaces = database.namespaces(thread)[:_MOST_AGENTS]
    nested = {space: found for space in spaces if (found := branch(database, thread, space)) is not None}
    facts = {
        "format": LANGGRAPH.name,
        "kind": LANGGRAPH.kind,
        "path": database.where,
        "id": thread,
        "cwd": text(root.metadata.get("cwd")),
        "version": text(mapping(root.metadata.get("versions")).get("deepagents")),
        "bytes": database.size(thread),
    }
    arranged = _arranged(root, nested)
    if len(names) > 1:
        arranged.notices.append(
            f"the database has {len(names):,} threads: this is {thread}; --list shows them, --thread NAME opens another"
        )
    return HeldSession(arranged, facts)


def tables(head: Head) -> set[str]:
    """Names of the tables of a database."""
    with opened(head.path) as connection:
        return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _first_words(database: Checkpoints, thread: str) -> str:
    given = plain(database.first(thread).get("__start__")).get("messages")
    found = map(message, given if isinstance(given, list) else [given])
    first = next((one for one in found if one and one["type"] == "human"), {})
    return excerpt(content_text(first.get("content")), HEAD)


def _arranged(root: Branch, nested: dict[str, Branch]) -> Arrangement:
    main = _entries(root, "")
    _timed(main, root)
    agents = [Agent(space, entries=_entries(one, space)) for space, one in nested.items() if one.messages]
    link(agents, [*main, *(entry for agent in agents for entry in agent.entries)])
    linked = [agent for agent in agents if agent.call]
    counts = {OTHER_BRANCHES: root.left, "subagents": len(linked)}
    notices = list(_pending(root))
    if left := len(agents) - len(linked):
        notices.append(f"{left} nested graph{'s' if left > 1 else ''} that no call of a tool names: left out")
    return Arrangement(main, linked, {name: n for name, n in counts.items() if n}, notices)


def _entries(found: Branch, space: str) -> list[Entry]:
    """The messages, and the compactions where they were."""
    out: list[Entry] = []
    events = list(found.events)
    if (last := found.values.get(_SUMMARIZED)) is not None and not any(plain(e[2]) == plain(last) for e in events):
        events.append((len(found.messages), found.ids[-1], last))  # what was written to make it is no longer there
    told: set[tuple[int, str]] = set()
    for n, one in enumerate([*found.messages, None]):
        while events and _position(events[0]) <= n:
            entry = _compaction(events.pop(0)[2])
            mark = (count(entry.facts["cutoff"]), entry.items[0].text)
            if mark not in told:
                told.add(mark)
                out.append(entry)
        if one is not None:
            key = text(one.get("id")) or f"{space}message-{n}"
            items = list(message_items(one, key))
            out.append(Entry(items, "", key, line=n + 1, place=(n, n + 1)))
    out += (_compaction(event) for _, _, event in events)
    return out


def _position(event: tuple[int, str, Any]) -> int:
    """How many messages there were when the context was compacted."""
    return count(plain(event[2]).get("created_at_index")) or event[0]


def _compaction(event: Any) -> Entry:
    about = plain(event)
    summed = message(about.get("summary_message")) or {}
    held = mapping(summed.get("additional_kwargs"))
    said = content_text(summed.get("content"))
    start, end = said.find("<summary>"), said.rfind("</summary>")
    said = said[start + len("<summary>") : end].strip() if 0 <= start < end else said
    sizes = [*map(count, array(held.get("tokens"))), 0, 0]
    cause: Any = held.get("cause") if held.get("cause") in ("by hand", "overflow") else "trigger"
    items: list[Item] = [Compaction(said, len(said), sizes[0], sizes[1], cause)]
    return Entry(items, text(held.get("summarized_at")), facts={"cutoff": about.get("cutoff_index")})


def _timed(main: list[Entry], root: Branch) -> None:
    """Give the prompts the times of the checkpoints at which their turns began, where there are as many."""
    prompts = [entry for entry in main if entry.has(Prompt)]
    if len(prompts) == len(root.inputs):
        for entry, checkpoint in zip(prompts, root.inputs, strict=True):
            entry.at = time_of(checkpoint)


def _pending(root: Branch) -> Iterator[str]:
    """What an unfinished step left behind: it is not part of the thread yet."""
    channels = [channel for channel, _ in root.pending]
    if "__interrupt__" in channels:
        yield "its last turn waits for an answer (an interrupt)"
    for channel, value in root.pending:
        if channel == "__error__":
            yield f"its last step failed: {excerpt(value if isinstance(value, str) else str(plain(value) or value), HEAD)}"
    if n := channels.count("messages"):
        yield f"{n} write{'s' if n > 1 else ''} of messages of its last step {'are' if n > 1 else 'is'} not committed, and left out"


LANGGRAPH = LangGraphFormat()
