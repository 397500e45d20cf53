"""Open a session made elsewhere, or list those below a directory. Nothing is written, and nothing of a file is run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from deepnb.core.clock import moment
from deepnb.core.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.core.failures import one_line
from deepnb.core.session_file import SessionRow, SessionRows
from deepnb.formats.chat import CHAT
from deepnb.formats.claude_tree import CLAUDE_CODE
from deepnb.formats.codex import CODEX
from deepnb.formats.head import Head
from deepnb.formats.langgraph import LANGGRAPH, open_url, rows_of
from deepnb.formats.pi import PI
from deepnb.formats.postgres_checkpoints import SCHEMES
from deepnb.formats.protocol import Format, SessionFile
from deepnb.formats.transcript import TRANSCRIPT
from deepnb.formats.unknown import seems

GROUP = "deepnb.formats"
"""Entry points that name formats of others."""

_BUILT_IN: tuple[Format, ...] = (TRANSCRIPT, LANGGRAPH, CODEX, PI, CLAUDE_CODE, CHAT)
_ENDS = (".jsonl", ".json", ".jsonl.zst", ".db", ".sqlite", ".sqlite3")
_DEPTH, _FILES, _ROWS = 8, 20_000, 500
_GLANCE = 1 << 16
"""Bytes of a file's beginning that a list looks at."""


@cache
def formats() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    """(the formats there are, deepnb's own first; what is to be said of entry points that can't be used)."""
    from importlib.metadata import entry_points

    found, problems = list(_BUILT_IN), []
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
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
    """A session of a file; of one with several the newest, unless one is named by its id."""
    if str(path).startswith(SCHEMES):
        return open_url(str(path), session)
    file = Path(path).expanduser()
    if file.is_dir():
        raise InvalidError(f"{path} is a directory", "name one of the sessions below it")
    head = Head.of(file)
    return format_of(head).open(head, session)


def format_of(head: Head) -> Format:
    """The format of a file; InvalidError that says what it seems to be where there is none."""
    known, problems = formats()
    for one in known:
        if one.matches(head):
            return one
    what, do = seems(head)
    raise InvalidError("; ".join((f"{head.path} {what}", *problems)), do)


def list_sessions(path: str | Path, most: int = _ROWS) -> SessionRows:
    """The sessions below a directory, or in a file, the newest first; of each only its beginning and end are read."""
    if str(path).startswith(SCHEMES):
        return SessionRows(_named(rows_of(str(path))))
    place = Path(path).expanduser()
    if not place.exists():
        raise NotFoundError(f"there is no directory {path}", "check the path")
    if not place.is_dir():
        head = Head.of(place)
        return SessionRows(_named(format_of(head).rows(head)))
    known, _ = formats()
    rows: list[SessionRow] = []
    for file in _files(place):
        rows += _rows(file, known)
        if len(rows) >= most:
            break
    return SessionRows(sorted(rows, key=lambda row: moment(row.at), reverse=True)[:most])


def _rows(file: Path, known: tuple[Format, ...]) -> tuple[SessionRow, ...]:
    """The sessions in a file of a directory; none in one of another kind."""
    try:
        head = Head.of(file, _GLANCE)
        found = next((one for one in known if one.matches(head)), None)
        return _named(found.rows(head)) if found else ()
    except OSError:
        return ()
    except Exception as error:  # one file, or a format of others, must not take the list away
        problem = error.what if isinstance(error, DeepnbError) else one_line(error)
        return (SessionRow(str(file), file.stem, "unknown", problem=problem),)


def _named(rows: tuple[SessionRow, ...]) -> tuple[SessionRow, ...]:
    """The sessions of a file, each to be named where there are several."""
    return tuple(replace(row, several=True) for row in rows) if len(rows) > 1 else rows


def _files(place: Path) -> Iterator[Path]:
    """Files that may be sessions, the one that changed last first; no link is followed."""
    found: list[tuple[float, Path]] = []
    for folder, names, files in os.walk(place, followlinks=False):
        if len(Path(folder).relative_to(place).parts) >= _DEPTH:
            names.clear()
        for name in files:
            file = Path(folder, name)
            if _may_be(name) and file.is_file() and not file.is_symlink():
                found.append((file.stat().st_mtime, file))
        if len(found) >= _FILES:
            break
    return (file for _, file in sorted(found, key=lambda one: one[0], reverse=True))


def _may_be(name: str) -> bool:
    """Whether a file's name is one of a session; those of nested agents belong to another."""
    return (name.endswith(_ENDS) or ".jsonl." in name) and not name.startswith("agent-")
