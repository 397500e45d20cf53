"""A session file as an opened session, under a name that can be typed."""

from __future__ import annotations

import re
from pathlib import Path

from deepnb.core.session_file import SessionIndex, SessionRows
from deepnb.formats.opening import list_sessions as read_list
from deepnb.formats.opening import open_session as read_session
from deepnb.running.thread import check_name
from deepnb.session.opened import OpenedSession
from deepnb.session.session import Session

_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_ID = 8
"""Characters of a long id that a name has."""
_WHOLE = 24
"""Characters of an id that a name has whole."""


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
