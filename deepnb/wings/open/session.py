"""A session made elsewhere: all views of it, and a live thread that goes on from one of its turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.backends.journal import Entry
from deepnb.context.estimate import approximate
from deepnb.gate import redact
from deepnb.running.current import Current
from deepnb.running.state import State
from deepnb.running.thread import Thread, check_name
from deepnb.running.threads import Threads
from deepnb.running.workspace import Workspace
from deepnb.session.memory import SessionMemory
from deepnb.session.session import Session
from deepnb.session.subagents import SessionSubagents
from deepnb.values.agent import Spent
from deepnb.values.budget import Budget, growth
from deepnb.values.errors import DeepnbError, NotFoundError, RefusedError
from deepnb.values.messages import SUMMARY, Message
from deepnb.values.offload import HistoryMessage, HistorySection, HistorySections, Offload
from deepnb.values.text import short_repr
from deepnb.values.turn import Compacted, Event, ModelEnded, Snapshot, ThreadInfo, ThreadInfos, Turn
from deepnb.wings.open.opening import SessionFile
from deepnb.wings.open.opening import list_sessions as read_list
from deepnb.wings.open.opening import open_session as read_session
from deepnb.wings.open.turns import LazyTurn, SessionTurns
from deepnb.wings.open.values import FileContent, FileTurn, SessionIndex, SessionRows
from deepnb.wings.open.view import context_series
from deepnb.wiring.options import Options

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.running.storage import Place

MOST_CHARACTERS = 8_000_000
"""Characters of messages that a fork begins with."""
MOST_LINES = 200
"""Lines of memory that are offered."""
_ODD = re.compile(r"[^A-Za-z0-9._-]+")  # the blanks and the slash of `my logs/1`
_ID, _WHOLE = 8, 24
"""Characters of a long id that a name has, and of an id that a name has whole."""


def open_session(
    path: str | Path, thread: str | None = None, *, into: Session | None = None, name: str | None = None
) -> OpenedSession:
    """A session made elsewhere, to look at and to fork from.

    It is one of Claude Code, Codex, OpenCode, pi, OpenClaw, LangGraph or deepnb. `path` is a file, or the
    `postgresql://` address of a database with LangGraph's checkpoints; `thread` names one of several in it, else it is
    the newest. Nothing is written there, and nothing of it is run. It is called `name` here, and forks of it become
    threads of the session `into`.
    """
    if name is not None:
        check_name(name)
    file = read_session(path, thread)
    return OpenedSession(file, name or name_of(file.index), into or Session())


def list_sessions(path: str | Path) -> SessionRows:
    """The sessions below a directory, or in a file or database, the newest first; of each only the ends are read."""
    return read_list(path)


def name_of(index: SessionIndex) -> str:
    """Return `claude-code-1f0c2a3b`: the format, and the session's id or the beginning of a long one."""
    plain = _ODD.sub("-", index.id).strip("-._")
    plain = plain if len(plain) <= _WHOLE else plain[:_ID]
    return f"{index.format}-{plain}".strip("-._")


# -- a workspace of one thread, in which nothing can be changed


def refusal(name: str) -> DeepnbError:
    """Return that a thread is only for reading, and how to go on from it."""
    return RefusedError(f"thread {name} was opened to be read", "%agent fork NAME --at N goes on from its turn N")


class OpenedState(State):
    """The state of a thread as its file tells it; whatever would write is an error."""

    def ensure_checkpoint(self, thread: Thread) -> None:
        """Nothing: the thread is whole."""

    def snapshot(self, thread: Thread) -> Snapshot:
        """Return the state that the thread ended with, memory included."""
        return thread.snapshot

    def read(self, thread: Thread) -> Mapping[str, Any]:
        """Its memory files, as far as the session's edits tell them: path -> FileData."""
        return {path: {"content": text, "encoding": "utf-8"} for path, text in thread.snapshot.files.items()}

    def write(self, thread: Thread, update: Mapping[str, Any]) -> None:
        raise refusal(thread.name)

    def claimed(self, thread: str) -> AbstractContextManager[None]:
        raise refusal(thread)


class OpenedWorkspace(Workspace):
    """One thread, whose turns are read when they are looked at."""

    def __init__(self, file: SessionFile, name: str, opener: Current) -> None:
        """`opener` has the time."""
        super().__init__(Options(), opener.clock, first=name)
        self.state = OpenedState(self.current, self.home, self.graphs)
        self.threads = Threads(self.state, self.current)
        self._figures = file.index.turns
        self.content, thread = SessionTurns(file), self.current.thread
        thread.turns = list(self.content.turns(name))
        thread.root = self.content.snapshot(name, 0)
        thread.snapshot = self.content.snapshot(name, len(thread.turns))
        self.current.read_only = refusal(name)
        self.home.place = lambda home: self._place()

    def fills(self) -> tuple[list[int], list[int]]:
        """Return what the index says of the requests: no turn is read."""
        return context_series(self._figures)

    def _place(self) -> Place:
        """Return the home of its memory, as far as the session's edits tell it; whatever would write is an error."""
        from deepnb.engine.state_backend import HomeBackend
        from deepnb.running.storage import Place

        assert self.home.thread_files is not None  # the workspace has tied it
        files = self.home.thread_files
        return Place(HomeBackend(files), nullcontext, files)


class OpenedSession(Session):
    """A session of another program, or one of deepnb's that was kept, as its file tells it. Nothing of it can be changed.

    `deepnb.open_session(...)` gives one. `opened.turns`, `turn(3)`, `ledger()`, `budget()`, `history()`, `transcript()`,
    `search(words)` and `memory.diff(a, b)` show it; `opened.fork("b", at=3)` goes on from turn 3 in the session that
    opened it.
    """

    _workspace: OpenedWorkspace

    def __init__(self, file: SessionFile, name: str, into: Session) -> None:
        self.file = file
        self.into = into
        """The session that its forks are threads of."""
        self._begin(OpenedWorkspace(file, name, into.workspace.current))

    def __repr__(self) -> str:
        return short_repr(self, f"{self.source}, thread {self.thread}, {len(self.figures)} turns")

    @property
    def index(self) -> SessionIndex:
        """What is known of it in figures."""
        return self.file.index

    @property
    def figures(self) -> tuple[FileTurn, ...]:
        """Its turns in figures."""
        return self.index.turns

    @property
    def source(self) -> str:
        """What made it, and its file."""
        return f"{self.index.kind} · {self.index.path}"

    @property
    def refusal(self) -> DeepnbError:
        """That nothing can be changed here, and what goes on from it."""
        return refusal(self.thread)

    @property
    def model(self) -> str:
        """The model of its last answer."""
        return next((turn.models[-1] for turn in reversed(self.figures) if turn.models), "unknown")

    @cached_property
    def memory(self) -> SessionMemory:
        """Its memory files, as far as its edits tell them."""
        return OpenedMemory(self._workspace, self)

    @cached_property
    def subagents(self) -> SessionSubagents:
        return OpenedSubagents(self._workspace)

    @property
    def threads(self) -> tuple[ThreadInfo, ...]:
        """The one thread of it."""
        compacted = tuple(turn.number for turn in self.figures if turn.compactions)
        words = tuple(turn.prompt for turn in self.figures[-20:])
        about: dict[str, Any] = {"compacted": compacted, "prompts": words, "source": self.source}
        return ThreadInfos([ThreadInfo(self.thread, len(self.figures), 0, True, **about)])

    def switch(self, name: str) -> str:
        """Its one thread, or an error: the others are threads of the session that opened it."""
        if name != self.thread:
            raise NotFoundError(f"no thread {name!r} in this file", f"%agent switch {name}")
        return name

    def fork(self, name: str | None = None, at: int | None = None) -> str:
        """Start a thread after turn `at` (by default the last) in the session that opened this; returns its name.

        The model gets what the model of then had: after a compaction its summary and what came later. Calls of tools
        that the session does not have stay, and are marked. Memory is offered: `into.memory.pending()`.
        """
        number = len(self.figures) if at is None else at
        self._workspace.thread.turn(number)
        return carry(self._workspace, self.index, self.into.workspace, name, number)

    def budget(self) -> Budget | None:
        """What the last request held, as far as the file tells it."""
        budgets = [turn.budget for turn in self.turns if turn.budget is not None]
        return replace(budgets[-1], growth=growth([one.total for one in budgets])) if budgets else None

    def spent(self) -> dict[str, Spent]:
        """Name of a nested agent -> what it spent."""
        return self.subagents.spent()

    def history(self) -> HistorySections:
        """What its compactions removed, word for word, credentials masked."""
        return HistorySections(_sections(self))

    def transcript(self, thread: str | None = None) -> pd.DataFrame:
        """One row for each thing that happened, oldest first."""
        from deepnb.session.tables import turns_transcript

        return turns_transcript(self.turns)


class OpenedMemory(SessionMemory):
    """The memory files of an opened session, as far as its edits tell them."""

    known_state = "edited"

    @property
    def _files(self) -> Any:
        return self._kept(self.snapshot.files)

    @property
    def sources(self) -> tuple[str, ...]:
        turns: tuple[LazyTurn, ...] = tuple(self._workspace.turns)  # type: ignore[arg-type]
        edits = (edit for turn in turns for edit in (turn.figures.edits if turn.figures else ()))
        return tuple(dict.fromkeys(edit.path for edit in edits))

    def shares(self) -> dict[str, tuple[int, int]]:
        """Nothing: what its prompts held is not known."""
        return {}

    @property
    def layers(self) -> tuple[str, ...]:
        """The files that it edited: a session in a file has no other layers."""
        return self.sources

    def paths(self) -> tuple[str, ...]:
        return self.sources

    def read(self, path: str) -> str:
        if path not in (files := self._files):
            raise NotFoundError(f"this session did not edit {path}", "%memory shows the files it edited")
        return str(files[path])

    def mark_shown(self, snapshot: Snapshot) -> None:
        """Nothing is written on top of it."""

    def log_entries(self) -> tuple[Entry, ...]:
        """Nothing: its edits are in its turns."""
        return ()

    def count(self, text: str) -> int:
        """Tokens of a text, an estimate."""
        return approximate(text)

    def keep(self, directory: str | Path) -> int:
        raise refusal(self._workspace.current.thread.name)

    def changes_in(self, turn: Turn) -> bool:
        figures = getattr(turn, "figures", None)
        return bool(figures and figures.edits)

    def _kept(self, files: Mapping[str, str]) -> dict[str, str]:
        return {path: redact(text) for path, text in files.items()}


class OpenedSubagents(SessionSubagents):
    """The agents that an opened session called."""

    def spent(self) -> dict[str, Spent]:
        """Name -> what it spent; how often it was used is not known."""
        from deepnb.session.tables import spent_by

        turns: tuple[LazyTurn, ...] = tuple(self._workspace.turns)  # type: ignore[arg-type]
        return spent_by((call for turn in turns for call in turn.calls if call.path), {})


def _sections(session: OpenedSession) -> Iterator[HistorySection]:
    """Yield for each compaction the messages that came since the one before it."""
    gone: list[Message] = []
    turns: tuple[LazyTurn, ...] = tuple(session.turns)  # type: ignore[arg-type]
    last = max((turn.number for turn in session.figures if turn.compactions), default=0)
    for turn in turns[:last]:
        content = session.file.content(turn.number)
        offloads, messages = list(content.compactions), list(content.messages)
        for message in messages:
            if message.source == SUMMARY and offloads:
                yield _section(session, gone, offloads.pop(0))
                gone = []
            gone.append(message)
        for offload in offloads:  # they have no summary that can be read
            yield _section(session, gone, offload)
            gone = []


def _section(session: OpenedSession, gone: list[Message], offload: Offload) -> HistorySection:
    items = []
    for n, m in enumerate(gone, 1):
        role = f"tool {m.name or ''}".strip() if m.role == "tool" else m.role
        calls = (f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.args.items())})" for call in m.tool_calls)
        items.append(HistoryMessage(n, role, redact("\n".join(filter(None, (m.text, *calls))))))
    offload = replace(offload, messages=len(items))
    whole = "\n\n".join(item.text for item in items)
    return HistorySection(offload.at, session.index.path, whole, len(items), tuple(items), offload)


# -- a turn of it as the beginning of a live thread


def carry(opened: OpenedWorkspace, index: SessionIndex, work: Workspace, name: str | None, number: int) -> str:
    """Start a thread in a workspace as an opened session stood after a turn; gives its name.

    Approvals, policies and files do not come along. Memory waits for the user, line by line.
    """
    from deepnb.engine import keys
    from deepnb.wings.open.live_messages import live_messages

    work.current.idle()
    if work.options.graph is not None:
        what = "a graph of your own can't go on from an opened session"
        raise RefusedError(what, "%agent use MODEL, then fork again")
    source = opened.current.thread.name
    first, messages = view(opened, index.turns[:number])
    origin = f"{index.kind}, session {index.id}, turns {first} to {number}"
    tools = {tool for tool, _ in work.built.tools}
    made = work.threads.new(name, origin=f"{source}@{number}")
    try:
        work.state.ensure_checkpoint(made)
        work.state.write_values(made, {keys.MESSAGES: live_messages(messages, tools, index.kind, origin)})
        made.turns = _turns(opened, index, made, number, first)
        work.transcripts.outside(made.name, made.snapshot.messages, ())
    except BaseException:
        work.threads.undo()
        raise
    _offer(work, opened.content.memory(number), f"from {index.kind}, session {index.id}")
    work.current.tell()
    return made.name


def view(opened: OpenedWorkspace, turns: Sequence[FileTurn]) -> tuple[int, list[Message]]:
    """Return (number of the first turn in it, what the model had after these turns): the last summary, and what came since.

    Turns before the last ones are left out where all are more than any model takes.
    """
    kept: list[list[Message]] = []
    last = max((turn.number for turn in turns if turn.compactions), default=1)
    first, room = last, MOST_CHARACTERS
    for turn in reversed(turns[last - 1 :]):
        found = list(opened.content.content(turn.number).messages)
        at = [n for n, message in enumerate(found) if message.source == SUMMARY] if turn.compactions else []
        found = found[at[-1] :] if at else found
        room -= sum(len(message.text) for message in found)
        if kept and room < 0:
            first = turn.number + 1
            break
        kept.append(found)
    return first, [message for found in reversed(kept) for message in found]


def _turns(opened: OpenedWorkspace, index: SessionIndex, made: Thread, number: int, first: int) -> list[Turn]:
    """Return the turns as the thread's own: those that a compaction has removed by their first words and figures."""
    turns = []
    for figures in index.turns[:number]:
        if figures.number >= first:
            content = opened.content.content(figures.number)
        else:
            events: list[Event] = [ModelEnded(call, call.path) for call in figures.calls]
            events += (Compacted(one.offload) for one in figures.compactions)
            content = FileContent(figures.number, figures.prompt, "", tuple(events), ())
        answers = [call.budget for call in figures.calls if not call.path and call.purpose == "answer"]
        turns.append(
            Turn(
                figures.number, made.name, content.prompt, content.text, content.events,
                Snapshot(made.name), Snapshot(made.name), figures.usage, answers[-1] if answers else None,
                figures.models[-1] if figures.models else "", content.seconds, figures.started,
                interrupted=content.interrupted,
            )
        )  # fmt: skip
    turns[-1] = replace(turns[-1], after=made.snapshot)
    return turns


def _offer(work: Workspace, files: Mapping[str, str], origin: str) -> None:
    """Hold the lines of foreign memory files for the user."""
    if not work.options.enable_memory:
        return
    target = work.options.memory[0]
    told = ((path, line) for path, text in files.items() for line in text.splitlines() if not line.startswith("#"))
    lines = [(path, line) for path, line in told if any(map(str.isalnum, line))]
    for path, found in groupby(lines[:MOST_LINES], key=itemgetter(0)):
        work.backend.offer(target, [line for _, line in found], f"{origin}, {path}")
    if (more := len(lines) - MOST_LINES) > 0:
        work.backend.notices.append(f"{more:,} more lines of memory {origin} are not offered")
