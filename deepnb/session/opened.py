"""A session made elsewhere: all views of it, and a live thread that goes on from one of its turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.context.approximate import approximate
from deepnb.core.budget import Budget, growth
from deepnb.core.errors import DeepnbError, NotFoundError
from deepnb.core.journal import Entry
from deepnb.core.messages import SUMMARY, Message
from deepnb.core.offload import HistoryMessage, HistorySection, HistorySections, Offload
from deepnb.core.secrets import redact
from deepnb.core.session_file import FileTurn, SessionIndex, SessionRows
from deepnb.core.short_repr import short_repr
from deepnb.core.subagents import Spent
from deepnb.core.values import Snapshot, ThreadInfo, ThreadInfos, Turn, Usage
from deepnb.formats.opening import list_sessions as read_list
from deepnb.formats.opening import open_session as read_session
from deepnb.formats.protocol import SessionFile
from deepnb.running.opened import OpenedWorkspace, refusal
from deepnb.running.thread import check_name
from deepnb.session.memory import SessionMemory
from deepnb.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.core.xray import Xray
    from deepnb.formats.turns import LazyTurn

NO_REQUESTS = "the requests of this session were not recorded"
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_ID, _WHOLE = 8, 24
"""Characters of a long id that a name has, and of an id that a name has whole."""


def open_session(
    path: str | Path, thread: str | None = None, *, into: Session | None = None, name: str | None = None
) -> OpenedSession:
    """A session made elsewhere, to look at and to fork from: of Claude Code, Codex, pi, OpenClaw, LangGraph, deepnb.

    `path` is a file, or the `postgresql://` address of a database with LangGraph's checkpoints; `thread` names one of
    several in it, else it is the newest. Nothing is written there, and nothing of it is run. It is called `name` here,
    and forks of it become threads of the session `into`.
    """
    if name is not None:
        check_name(name)
    file = read_session(path, thread)
    return OpenedSession(file, name or name_of(file.index), into or Session())


def list_sessions(path: str | Path) -> SessionRows:
    """The sessions below a directory, or in a file or database, the newest first; of each only the ends are read."""
    return read_list(path)


def name_of(index: SessionIndex) -> str:
    """`claude-code-1f0c2a3b`: the format, and the session's id or the beginning of a long one."""
    plain = _ODD.sub("-", index.id).strip("-._")
    plain = plain if len(plain) <= _WHOLE else plain[:_ID]
    return f"{index.format}-{plain}".strip("-._")


class OpenedSession(Session):
    """A session of another program, or one of deepnb's that was kept, as its file tells it. Nothing of it can be changed.

    `session.open(...)` gives one. `opened.turns`, `turn(3)`, `ledger()`, `budget()`, `history()`, `transcript()`,
    `search(words)` and `memory.diff(a, b)` show it; `opened.fork("b", at=3)` goes on from turn 3 in the session that
    opened it.
    """

    def __init__(self, file: SessionFile, name: str, into: Session) -> None:
        self.file = file
        self.into = into
        """The session that its forks are threads of."""
        self._opened = OpenedWorkspace(file, name, into.workspace.current)
        self._begin(self._opened)
        self._memory = OpenedMemory(self._opened, self._context)

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

    @property
    def memory(self) -> SessionMemory:
        """Its memory files, as far as its edits tell them."""
        return self._memory

    @property
    def threads(self) -> tuple[ThreadInfo, ...]:
        """The one thread of it."""
        compacted = tuple(turn.number for turn in self.figures if turn.compactions)
        words = tuple(turn.prompt for turn in self.figures[-20:])
        count = len(self.figures)
        return ThreadInfos(
            [ThreadInfo(self.thread, count, 0, True, compacted=compacted, prompts=words, source=self.source)]
        )

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
        from deepnb.session.carry import carry

        number = len(self.figures) if at is None else at
        self._workspace.thread.turn(number)
        return carry(self._opened, self.index, self.into.workspace, name, number)

    # -- what it tells

    def budget(self) -> Budget | None:
        """What the last request held, as far as the file tells it."""
        budgets = [turn.budget for turn in self.turns if turn.budget is not None]
        return replace(budgets[-1], growth=growth([one.total for one in budgets])) if budgets else None

    def spent(self) -> dict[str, Spent]:
        """Name of a nested agent -> what it spent."""
        found: dict[str, Spent] = {}
        for call in (c for turn in self.figures for c in turn.calls if c.path):
            used = found.get(name := call.agent or "subagent", Spent())
            tokens = Usage(used.input, used.output, exact=used.exact) + call.spent
            found[name] = replace(
                used, calls=used.calls + 1, input=tokens.input, output=tokens.output, exact=tokens.exact
            )
        return found

    def requests(self) -> list[tuple[str, tuple[int, int]]]:
        """Nothing: no file has requests."""
        return []

    def xray(self, turn: int | None = None, call: int | None = None) -> Xray:
        """Raise an error: no file has requests."""
        raise NotFoundError(NO_REQUESTS, "%agent budget shows an estimate by part")

    def history(self) -> HistorySections:
        """What its compactions removed, word for word, credentials masked."""
        return HistorySections(_sections(self))

    def transcript(self, thread: str | None = None) -> pd.DataFrame:
        """One row for each thing that happened, oldest first."""
        from deepnb.session.tables import turns_transcript

        return turns_transcript(self.turns)


class OpenedMemory(SessionMemory):
    """The memory files of an opened session, as far as its edits tell them."""

    @property
    def _files(self) -> Any:
        return self._kept(self.snapshot.files)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that it edited."""
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

    @property
    def shown(self) -> tuple[str, ...]:
        """The parts whose text is known, in part at least."""
        return tuple(self.snapshot.files)

    def paths(self) -> tuple[str, ...]:
        """The paths of the parts that are shown."""
        return self.shown

    def read(self, path: str) -> str:
        """What is known of a file."""
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

    def write(self, path: str, text: str, base: str | None = None) -> Any:
        """Raise an error: an opened session is only for reading."""
        raise refusal(self._workspace.current.thread.name)

    def keep(self, directory: str | Path) -> int:
        """Raise an error: an opened session is only for reading."""
        raise refusal(self._workspace.current.thread.name)

    def changes_in(self, turn: Turn) -> bool:
        """Whether a turn edited memory; known from the index."""
        figures = getattr(turn, "figures", None)
        return bool(figures and figures.edits)

    def _kept(self, files: Mapping[str, str]) -> dict[str, str]:
        return {path: redact(text) for path, text in files.items()}


def _sections(session: OpenedSession) -> Iterator[HistorySection]:
    """For each compaction the messages that came since the one before it."""
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
    items = tuple(HistoryMessage(n, _role(message), redact(_said(message))) for n, message in enumerate(gone, 1))
    offload = replace(offload, messages=len(items))
    return HistorySection(
        offload.at, session.index.path, "\n\n".join(i.text for i in items), len(items), items, offload
    )


def _role(message: Message) -> str:
    return f"tool {message.name or ''}".strip() if message.role == "tool" else message.role


def _said(message: Message) -> str:
    calls = (f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.args.items())})" for call in message.tool_calls)
    return "\n".join(filter(None, (message.text, *calls)))
