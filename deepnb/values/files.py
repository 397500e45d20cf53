"""Files as text: their diffs and paths, writing one whole, and forgetting words in them."""

import _signal  # type: ignore[import-not-found]
import difflib
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deepnb.values.errors import InvalidError
from deepnb.values.lazy import nothing
from deepnb.values.text import Listing, short_repr, whole

ALL_FILES = "{*,.*}"
"""The glob of every file below a directory: a pattern without a slash is of names wherever they are, and `**/*` passes over `.deepagents/`."""
RESULTS = "/large_tool_results/"
RECORDS = ("/conversation_history/", RESULTS)
"""What the engine writes down by itself, and no tool of an agent's does: credentials are redacted there."""


def utf8(content: bytes | None) -> str | None:
    """Return the text of a file; None where there is no file, or no UTF-8 in it."""
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `before[start:stop]` became `lines` (line ends kept)."""

    start: int
    stop: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class FileDiff:
    """How one file came from `before` to `after`; None where it did not exist."""

    path: str
    before: str | None
    after: str | None

    def __repr__(self) -> str:
        return short_repr(self, f"{self.path} {self.kind}")

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        old, new = lines_of(self.before), lines_of(self.after)
        ops = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return tuple(Hunk(i1, i2, tuple(new[j1:j2])) for op, i1, i2, j1, j2 in ops if op != "equal")

    def unified(self, context: int = 3) -> str:
        """Return the diff as `diff -u` prints it, ending in a line feed."""
        old, new = lines_of(self.before), lines_of(self.after)
        name = self.path.lstrip("/")
        old_name = "/dev/null" if self.before is None else f"a/{name}"
        new_name = "/dev/null" if self.after is None else f"b/{name}"
        lines = difflib.unified_diff(old, new, old_name, new_name, n=context)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


class FileDiffs(Listing[FileDiff]):
    """What changed in some files, by path."""


def file_diffs(before: Mapping[str, str], after: Mapping[str, str]) -> FileDiffs:
    paths = sorted({*before, *after})
    return FileDiffs(FileDiff(p, before.get(p), after.get(p)) for p in paths if before.get(p) != after.get(p))


def apply(before: str | None, hunks: tuple[Hunk, ...]) -> str:
    """`before` with the hunks of its diff put in: the text of `after`."""
    old = lines_of(before)
    out: list[str] = []
    at = 0
    for hunk in hunks:
        out += old[at : hunk.start]
        out += hunk.lines
        at = hunk.stop
    return "".join(out + old[at:])


def lines_of(text: str | None) -> list[str]:
    """Return lines with their ends, split at line feeds alone (a form feed is not a line end)."""
    return re.findall(r"[^\n]*\n|[^\n]+", text or "")


# -- Paths of files in a backend


def check_path(path: str) -> str:
    """Return the path, if it is one of a file in the backend: absolute, and without `..`."""
    if not path.startswith("/") or {"", ".", ".."} & {*path[1:].split("/")} or whole(path) != path:
        raise InvalidError(f"{path!r} is not the path of a file", "type an absolute path, such as /AGENTS.md")
    return path


def disk_path(name: str | Path, problem: str = "can't be a file or a directory") -> Path:
    """Return the file or directory of the disk that a name means, `~` read; InvalidError for a name that none can have."""
    try:
        path = Path(name).expanduser()
        os.lstat(os.path.realpath(path))
    except (FileNotFoundError, NotADirectoryError):
        return path
    except (OSError, RuntimeError, ValueError) as error:  # too long, a circle of links, nobody's home, a NUL
        shown = repr(str(name)) if len(str(name)) < 60 else f"a name of {len(str(name)):,} characters"
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
        raise InvalidError(f"{shown} {problem} ({why})", "choose another name") from None
    return path


# -- A file of the disk that is written whole or not at all; what is new is its owner's alone, as the talk it may hold is


def make_folder(folder: Path) -> None:
    for one in reversed((folder, *folder.parents)):
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)


def write_whole(file: Path, content: bytes, check: Callable[[], None] = nothing) -> None:
    """Replace a file in one step: a crash leaves the old one, or the new one. `check` is the last thing before it."""
    draft = file.with_name(f".{file.name[:80]}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if file.exists():
            shutil.copymode(file, draft)
        check()
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)


# -- An interrupt that waits, so that it never cuts a thing in two that must be done whole


class uninterrupted:  # noqa: N801
    """Inside, SIGINT (Ctrl-C, the stop button) waits until this ends; in other threads than the main one it never comes.

    A turn is shown event by event inside of one each, so this asks the C functions, without `signal`'s enums.
    """

    def __enter__(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        self._before = _signal.getsignal(signal.SIGINT) if main else None
        self._came = False
        if self._before is not None:
            _signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            _signal.signal(signal.SIGINT, self._before)
            if self._came:
                signal.raise_signal(signal.SIGINT)

    def _note(self, *given: object) -> None:
        self._came = True


# -- Forgetting: what holds some words, and texts without the lines that do

FORGOTTEN = "[forgotten]"


@dataclass(frozen=True)
class Occurrences:
    """Where some words stand: (path, lines) of files that lose those lines, and how often elsewhere."""

    text: str
    files: Mapping[str, tuple[str, ...]]
    history: Mapping[str, int]
    """Path of an offloaded history -> times it is there."""
    journal: int
    """Entries of the journal that tell of it."""
    prompt: bool
    kept: int = 0
    """Records of earlier turns and checkpoints of a database that hold it, beside the messages of conversations."""
    left: str = ""
    """Where it may be still once it was forgotten, in one line."""

    @property
    def nothing(self) -> bool:
        return not (self.files or self.history or self.journal or self.prompt or self.kept)


def pattern(words: str) -> re.Pattern[str]:
    """Return the words, in whatever case, with any white space between them."""
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


def without(words: str, text: str) -> str:
    sought = pattern(words)
    return "".join(line for line in text.splitlines(keepends=True) if not sought.search(line))


def blot_out(words: str, text: str) -> str:
    """Return a text with the words themselves taken out: for records of what was said."""
    return pattern(words).sub(FORGOTTEN, text)
