"""Open a session made elsewhere, or list those below a directory. Nothing is written, and nothing of a file is run.

Others add a format by an entry point of the group `deepnb.formats` that names an object with the protocol `Format`:

    [project.entry-points."deepnb.formats"]
    my-agent = "my_agent.deepnb_format:FORMAT"
"""

import os
from dataclasses import replace
from functools import cache
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.values.failures import one_line
from deepnb.values.files import disk_path
from deepnb.values.server_address import POSTGRES
from deepnb.values.text import moment
from deepnb.wings.open.chat import CHAT
from deepnb.wings.open.claude_code import CLAUDE_CODE
from deepnb.wings.open.codex import CODEX
from deepnb.wings.open.file import Head
from deepnb.wings.open.langgraph import LANGGRAPH, open_thread, rows_of
from deepnb.wings.open.opencode import OPENCODE
from deepnb.wings.open.pi import PI
from deepnb.wings.open.transcript import TRANSCRIPT
from deepnb.wings.open.values import SessionFile, SessionRow, SessionRows


@runtime_checkable
class Format(Protocol):
    """One format of session files. Nothing of a file is run, and no path in it is opened."""

    @property
    def name(self) -> str:
        """`claude-code`."""

    @property
    def kind(self) -> str:
        """`Claude Code`."""

    def matches(self, head: Head) -> bool:
        """Whether a file that begins like this is of this format."""

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        """The sessions in a file, without reading all of it."""

    def open(self, head: Head, session: str | None) -> SessionFile:
        """A session of the file; where it has several and none is named, the newest."""


GROUP = "deepnb.formats"
"""Entry points that name formats of others."""

_BUILT_IN: tuple[Format, ...] = (TRANSCRIPT, LANGGRAPH, CODEX, PI, CLAUDE_CODE, OPENCODE, CHAT)
_ENDS = (".jsonl", ".json", ".jsonl.zst", ".db", ".sqlite", ".sqlite3")
_DEPTH, _FILES = 8, 20_000
_GLANCE = 1 << 16
"""Bytes of a file's beginning that a list looks at."""


@cache
def formats() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    """Return (the formats there are, deepnb's own first; what is to be said of entry points that can't be used)."""
    from importlib.metadata import entry_points

    found, problems = list(_BUILT_IN), []
    for point in sorted(entry_points(group=GROUP), key=attrgetter("name")):
        try:
            made = point.load()
        except Exception as error:  # whatever a package of others does when it is imported
            problems.append(f"the format {point.name} can't be loaded: {one_line(error)}")
            continue
        if isinstance(made, Format):
            found.append(made)
        else:
            problems.append(f"the format {point.name} is not usable: it needs name, kind, matches, rows and open")
    return tuple(found), tuple(problems)


def open_session(path: str | Path, session: str | None = None) -> SessionFile:
    """Return a session of a file; of several the newest, unless one is named by its id."""
    if str(path).startswith(POSTGRES):
        return open_thread(str(path), session)
    file = disk_path(path)
    if file.is_dir():
        raise InvalidError(f"{path} is a directory", "name one of the sessions below it")
    head = Head.of(file)
    return format_of(head).open(head, session)


def format_of(head: Head) -> Format:
    """Return the format of a file; raise InvalidError, which says what the file seems to be, if no format matches."""
    known, problems = formats()
    for one in known:
        if one.matches(head):
            return one
    what, do = seems(head)
    raise InvalidError("; ".join((f"{head.path} {what}", *problems)), do)


def list_sessions(path: str | Path, most: int = 500) -> SessionRows:
    """The sessions below a directory, or in a file or database, the newest first; of each only the beginning is read."""
    if str(path).startswith(POSTGRES):
        return SessionRows(_named(rows_of(str(path))))
    place = disk_path(path)
    if not place.exists():
        raise NotFoundError(f"there is no directory {path}", "check the path")
    if not place.is_dir():
        head = Head.of(place)
        return SessionRows(_named(format_of(head).rows(head)))
    known, _ = formats()
    rows: list[SessionRow] = []
    stamped: list[tuple[float, Path]] = []
    for folder, below, files in os.walk(place, followlinks=False):
        if len(Path(folder).relative_to(place).parts) >= _DEPTH:
            below.clear()
        for name in (one for one in files if not one.startswith("agent-")):  # a nested agent belongs to another session
            file = Path(folder, name)
            if (name.endswith(_ENDS) or ".jsonl." in name) and file.is_file() and not file.is_symlink():
                stamped.append((file.stat().st_mtime, file))
        if len(stamped) >= _FILES:
            break
    for _, file in sorted(stamped, key=itemgetter(0), reverse=True):
        try:
            head = Head.of(file, _GLANCE)
            found = next((one for one in known if one.matches(head)), None)
            rows += _named(found.rows(head)) if found else ()
        except OSError:
            continue
        except Exception as error:  # one file, or a format of others, must not take the list away
            problem = error.what if isinstance(error, DeepnbError) else one_line(error)
            rows.append(SessionRow(str(file), file.stem, "unknown", problem=problem))
        if len(rows) >= most:
            break
    return SessionRows(sorted(rows, key=lambda row: moment(row.at), reverse=True)[:most])


def _named(rows: tuple[SessionRow, ...]) -> tuple[SessionRow, ...]:
    return tuple(replace(row, several=True) for row in rows) if len(rows) > 1 else rows


# -- what a file that no reader knows seems to be, in a few words


_SHAPES = (
    (("nbformat", "cells"), "is a notebook", "%agent export NAME.jsonl writes a thread that can be opened"),
    (("projectHash", "messages"), "is a session of Gemini CLI, which is not read", "open a session of another program"),
    (("run_type", "trace_id"), "holds runs of LangSmith, which are not read", "open the LangGraph database of them"),
)
"""Keys of an object, what it then is, and what to do."""


def seems(head: Head) -> tuple[str, str]:
    if not head.start.strip():
        return "is empty", "choose another file"
    if head.is_sqlite:
        tables = f"the tables {', '.join(sorted(head.tables)[:5])}" if head.tables else "no tables"
        return f"is an SQLite database with {tables}", "open a database of LangGraph checkpoints or of OpenCode"
    whole = [head.whole] if isinstance(head.whole, dict) else []
    first: dict[str, Any] = next(iter((*head.objects, *whole)), {})
    for keys, what, do in _SHAPES:
        if all(key in first for key in keys):
            return what, do
    if str(first.get("type")).startswith(("thread.", "turn.", "item.")):
        return "is the output of codex exec --json", "open the rollout in the sessions folder of Codex"
    named = f" with {', '.join(key[:30] for key in list(first)[:5])}" if first else ""
    known = "sessions of Claude Code, Codex, OpenCode, pi, OpenClaw, LangGraph and deepnb can be opened"
    return f"is {'JSON' if first else 'a file'} of no kind that is known here{named}", known
