"""A session made elsewhere: all views of it, and a live thread that goes on from one of its turns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.backends.journal import Entry
from deepnb.context.estimate import approximate
from deepnb.gate import redact
from deepnb.running.current import Current
from deepnb.running.state import State
from deepnb.running.thread import Thread
from deepnb.running.threads import Threads
from deepnb.running.workspace import Workspace
from deepnb.session.memory import SessionMemory
from deepnb.session.session import Session
from deepnb.values.budget import Budget, growth
from deepnb.values.errors import DeepnbError, NotFoundError, RefusedError
from deepnb.values.events import passages
from deepnb.values.lazy import LazyMapping
from deepnb.values.messages import SUMMARY, Message, Messages
from deepnb.values.offload import HistoryMessage, HistorySection, HistorySections, Offload
from deepnb.values.text import short_repr
from deepnb.values.turn import Snapshot, ThreadInfo, ThreadInfos, Turn
from deepnb.wings.open.opening import open_session as read_session
from deepnb.wings.open.values import FileEdit, SessionFile
from deepnb.wiring.options import Options

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.running.storage import Place

MOST_LINES = 200
"""Lines of memory that are offered."""
_ODD = re.compile(r"[^A-Za-z0-9._-]+")  # the blanks and the slash of `my logs/1`
_ID, _WHOLE = 8, 24
"""Characters of a long id that a name has, and of an id that a name has whole."""


def open_session(path: str | Path, thread: str | None = None, *, into: Session | None = None) -> OpenedSession:
    """A session made elsewhere, to look at and to fork from.

    It is one of Claude Code, Codex, OpenCode, pi, OpenClaw, LangGraph or deepnb. `path` is a file, or the
    `postgresql://` address of a database with LangGraph's checkpoints; `thread` names one of several in it, else it is
    the newest. Nothing is written there, and nothing of it is run. Forks of it become threads of the session `into`.
    """
    file = read_session(path, thread)
    plain = _ODD.sub("-", file.index.id).strip("-._")
    plain = plain if len(plain) <= _WHOLE else plain[:_ID]  # claude-code-1f0c2a3b
    return OpenedSession(file, f"{file.index.format}-{plain}".strip("-._"), into or Session())


# -- its turns, so that what shows a session's own shows these


def turns_of(session: SessionFile, thread: str) -> list[Turn]:
    """Return the turns, under the name of a thread."""
    told = session.index.turns
    edits = [edit for one in told for edit in one.edits]
    files: Mapping[str, str] = LazyMapping(partial(memory_after, edits, 0))
    made, before = list[Turn](), Snapshot(thread, files, memory=files, messages=Messages())
    for one in told:
        files = LazyMapping(partial(memory_after, edits, one.number))
        messages = before.messages.replace_from(len(before.messages), one.messages)
        offload = one.compactions[-1] if one.compactions else before.offload
        after = Snapshot(thread, files, memory=files, messages=messages, offload=offload)
        own = [call for call in one.calls if not call.path and call.purpose == "answer"]
        made.append(
            Turn(
                one.number, thread, one.prompt, one.text, one.events, before, after, one.usage,
                own[-1].budget if own else None, one.models[-1] if one.models else "",
                one.seconds, one.started, interrupted=one.interrupted,
            )
        )  # fmt: skip
        before = after
    return made


def memory_after(edits: Sequence[FileEdit], number: int) -> Mapping[str, str]:
    """Return the memory files after so many turns, as far as the session's edits tell them.

    Of a file that is changed only later, it is what it was before that change; of one that is never told whole,
    the passages that were changed.
    """
    files: dict[str, str] = {}
    created: set[str] = set()
    for edit in edits:
        if edit.path not in files and edit.path not in created:
            if edit.before is not None or edit.hunks:
                passages = "\n".join(old for old, _ in edit.hunks if old)
                files[edit.path] = passages if edit.before is None else edit.before
            else:
                created.add(edit.path)
        if edit.turn <= number:
            text = files.get(edit.path, "") if edit.before is None else edit.before
            for old, new in edit.hunks:
                if old and old in text:
                    text = text.replace(old, new)  # there once, unless the call said that all are meant
                elif new not in text:
                    text = f"{text.rstrip()}\n{new}" if text.strip() else new
            files[edit.path] = text if edit.after is None else edit.after
    return files


# -- a workspace of one thread, in which nothing can be changed


def refusal(name: str) -> DeepnbError:
    return RefusedError(f"thread {name} was opened to be read", "%agent fork NAME --at N goes on from its turn N")


class OpenedState(State):
    """The state of a thread as its file tells it; whatever would write is an error."""

    def ensure_checkpoint(self, thread: Thread) -> None:
        pass  # the thread is whole

    def snapshot(self, thread: Thread) -> Snapshot:
        return thread.snapshot

    def read(self, thread: Thread) -> Mapping[str, Any]:
        return {path: {"content": text, "encoding": "utf-8"} for path, text in thread.snapshot.files.items()}

    def write(self, thread: Thread, update: Mapping[str, Any]) -> None:
        raise refusal(thread.name)

    def claimed(self, thread: str) -> AbstractContextManager[None]:
        raise refusal(thread)


class OpenedWorkspace(Workspace):
    """One thread with all its turns."""

    def __init__(self, file: SessionFile, name: str, opener: Current) -> None:
        """`opener` has the time."""
        super().__init__(Options(), opener.clock, first=name)
        self.state = OpenedState(self.current, self.home, self.graphs)
        self.threads = Threads(self.state, self.current)
        self.index = file.index
        thread = self.current.thread
        thread.turns = turns_of(file, name)
        thread.root = thread.turns[0].before if thread.turns else Snapshot(name)
        thread.snapshot = thread.turns[-1].after if thread.turns else thread.root
        self.current.read_only = refusal(name)
        self.home.place = self._place

    def fills(self) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        return self.index.fills

    def _place(self, home: str) -> Place:
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
        self.index = file.index
        """What is known of it."""
        self.figures = file.index.turns
        """Its turns, as its file tells them."""
        self.into = into
        """The session that its forks are threads of."""
        self._begin(OpenedWorkspace(file, name, into.workspace.current))

    def __repr__(self) -> str:
        return short_repr(self, f"{self.source}, thread {self.thread}, {len(self.figures)} turns")

    @property
    def source(self) -> str:
        """What made it, and its file."""
        return f"{self.index.kind} · {self.index.path}"

    @property
    def model(self) -> str:
        """The model of its last answer."""
        return next((turn.models[-1] for turn in reversed(self.figures) if turn.models), "unknown")

    @cached_property
    def memory(self) -> SessionMemory:
        """Its memory files, as far as its edits tell them."""
        return OpenedMemory(self._workspace)

    @property
    def threads(self) -> tuple[ThreadInfo, ...]:
        """The one thread of it."""
        return ThreadInfos(replace(info, messages=0, source=self.source) for info in super().threads)

    def fork(self, name: str | None = None, at: int | None = None) -> str:
        """Start a thread after turn `at` (by default the last) in the session that opened this; returns its name.

        The model gets what the model of then had: after a compaction its summary and what came later. Calls of tools
        that the session does not have stay, and are marked. Memory is offered: `into.memory.pending()`.
        """
        from deepnb.engine import keys
        from deepnb.wings.open.live_messages import live_messages

        opened, index, work = self._workspace, self.index, self.into.workspace
        number = len(self.figures) if at is None else at
        opened.thread.turn(number)
        work.current.idle()
        if work.options.graph is not None:
            what = "a graph of your own can't go on from an opened session"
            raise RefusedError(what, "%agent use MODEL, then fork again")
        turns = opened.turns[:number]
        first = max((turn.number for turn in turns if turn.compacted), default=1)
        messages = turns[-1].after.messages[len(turns[first - 1].before.messages) :]
        # What the model had after these turns: the last summary, and what came since.
        messages = messages[max((n for n, message in enumerate(messages) if message.source == SUMMARY), default=0) :]
        origin = f"{index.kind}, session {index.id}, turns {first} to {number}"
        tools = {tool for tool, _ in work.built.tools}
        made = work.threads.new(name, origin=f"{self.thread}@{number}")
        try:
            work.state.ensure_checkpoint(made)
            work.state.write_values(made, {keys.MESSAGES: live_messages(messages, tools, index.kind, origin)})
            bare = Snapshot(made.name)
            made.turns = [replace(turn, thread=made.name, before=bare, after=bare) for turn in turns]
            made.turns[-1] = replace(made.turns[-1], after=made.snapshot)
            work.transcripts.outside(made.name, made.snapshot.messages, ())
        except BaseException:
            work.threads.undo()
            raise
        _offer(work, turns[-1].after.memory, f"from {index.kind}, session {index.id}")
        work.current.tell()
        return made.name

    def budget(self) -> Budget | None:
        """What the last request held, as far as the file tells it."""
        budgets = [turn.budget for turn in self.turns if turn.budget is not None]
        return replace(budgets[-1], growth=growth([one.total for one in budgets])) if budgets else None

    def history(self) -> HistorySections:
        """What its compactions removed, word for word, credentials masked."""
        sections, gone = list[HistorySection](), list[Message]()
        last = max((turn.number for turn in self.figures if turn.compactions), default=0)
        for turn in self.figures[:last]:
            offloads = list(turn.compactions)
            for message in turn.messages:
                if message.source == SUMMARY and offloads:
                    sections.append(_section(self, gone, offloads.pop(0)))
                    gone = []
                gone.append(message)
            for offload in offloads:  # they have no summary that can be read
                sections.append(_section(self, gone, offload))
                gone = []
        return HistorySections(sections)

    def transcript(self, thread: str | None = None) -> pd.DataFrame:
        """One row for each thing that was said, oldest first: turn, what it is, text."""
        import pandas as pd

        return pd.DataFrame([one for turn in self.turns for one in passages(turn)], columns=["turn", "what", "text"])


class OpenedMemory(SessionMemory):
    """The memory files of an opened session, as far as its edits tell them."""

    _workspace: OpenedWorkspace
    known_state = "edited"

    @property
    def _files(self) -> Any:
        return self._kept(self.snapshot.files)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edit.path for turn in self._workspace.index.turns for edit in turn.edits))

    def shares(self) -> dict[str, tuple[int, int]]:
        return {}  # what its prompts held is not known

    @property
    def layers(self) -> tuple[str, ...]:
        return self.sources

    def paths(self) -> tuple[str, ...]:
        return self.sources

    def read(self, path: str) -> str:
        if path not in (files := self._files):
            raise NotFoundError(f"this session did not edit {path}", "%memory shows the files it edited")
        return str(files[path])

    def mark_shown(self, snapshot: Snapshot) -> None:
        pass  # nothing is written on top of it

    def log_entries(self) -> tuple[Entry, ...]:
        return ()  # its edits are in its turns

    def count(self, text: str) -> int:
        return approximate(text)

    def keep(self, directory: str | Path) -> int:
        raise refusal(self._workspace.current.thread.name)

    def changes_in(self, turn: Turn) -> bool:
        return bool(self._workspace.index.turns[turn.number - 1].edits)

    def _kept(self, files: Mapping[str, str]) -> dict[str, str]:
        return {path: redact(text) for path, text in files.items()}


def _section(session: OpenedSession, gone: list[Message], offload: Offload) -> HistorySection:
    items = []
    for n, m in enumerate(gone, 1):
        role = f"tool {m.name or ''}".strip() if m.role == "tool" else m.role
        calls = (f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.args.items())})" for call in m.tool_calls)
        items.append(HistoryMessage(n, role, redact("\n".join(filter(None, (m.text, *calls))))))
    offload = replace(offload, messages=len(items))
    whole = "\n\n".join(item.text for item in items)
    return HistorySection(offload.at, session.index.path, whole, len(items), tuple(items), offload)


def _offer(work: Workspace, files: Mapping[str, str], origin: str) -> None:
    if not work.options.enable_memory:
        return
    target = work.options.memory[0]
    told = ((path, line) for path, text in files.items() for line in text.splitlines() if not line.startswith("#"))
    lines = [(path, line) for path, line in told if any(map(str.isalnum, line))]
    for path, found in groupby(lines[:MOST_LINES], key=itemgetter(0)):
        work.backend.offer(target, [line for _, line in found], f"{origin}, {path}")
    if (more := len(lines) - MOST_LINES) > 0:
        work.backend.notices.append(f"{more:,} more lines of memory {origin} are not offered")
