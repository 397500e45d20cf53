"""Memory files on the user's disk: joined in where they are, and copied from there and to there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepnb.core.errors import DeepnbError

LARGEST = 10_000_000
"""Bytes of a file that is loaded."""
AGENT = "agent"
"""The name under `~/.deepagents/` when no other is given."""


@dataclass(frozen=True)
class Place:
    """A directory with memory files in it, and where it stands among the agent's files."""

    prefix: str
    directory: Path
    files: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files as the agent sees them."""
        return tuple(f"{self.prefix}{name}" for name in self.files)


def place(name: str, here: Path, home: Path) -> Place:
    """The place that `user`, `project` or a path of a Markdown file means."""
    if name == "user":
        return Place("/user/", home / ".deepagents" / AGENT, ("AGENTS.md",))
    if name == "project":
        return Place("/project/", project_root(here), (".deepagents/AGENTS.md", "AGENTS.md"))
    path = Path(name).expanduser()
    path = path if path.is_absolute() else here / path
    if path.suffix != ".md":
        raise DeepnbError(f"{name!r} is no memory file", "type user, project, or the path of a Markdown file")
    folder = "".join(c if c.isalnum() or c in "._-" else "-" for c in path.parent.name) or "files"
    return Place(f"/sources/{folder}/", path.parent, (path.name,))


def project_root(here: Path) -> Path:
    """The nearest directory with `.git` or `pyproject.toml`, else `here`."""
    for directory in (here, *here.parents):
        if (directory / ".git").exists() or (directory / "pyproject.toml").is_file():
            return directory
    return here


def at_hand(here: Path, home: Path, joined: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """(name to add, file) of the memory files on this disk that are not `joined` in; nothing of them is read."""
    for name in ("user", "project"):
        found = place(name, here, home)
        if not joined or not set(found.paths) <= set(joined):
            files = (found.directory / f for f in found.files)
            yield from ((name, _shown(file, home)) for file in files if _is_file(file))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a directory that may not be looked into
        return False


def _shown(file: Path, home: Path) -> str:
    return f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)


def load(file: str | Path) -> tuple[Path, str]:
    """(file, resolved, and its text) of a file of the disk that is to become a memory file."""
    place = Path(file).expanduser()
    if not place.is_file():
        raise DeepnbError(f"no file {file}", "type the path of a Markdown file on this disk")
    if place.stat().st_size > LARGEST:
        raise DeepnbError(f"{file} has more than {LARGEST // 1_000_000} MB", "memory is for notes: load a shorter one")
    try:
        return place.resolve(), place.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DeepnbError(f"{file} is not UTF-8 text (byte {error.start})", "save it as UTF-8 first") from None
    except OSError as error:
        raise DeepnbError(f"{file} can't be read ({error.strerror})") from None


def targets(file: str | Path, path: str | None, first: str, paths: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """(memory file, file of the disk) of what is saved.

    A name that ends in `.md` takes one memory file (the first source, if none is named); any other is a
    directory, below which each goes under its own path.
    """
    place = Path(file).expanduser()
    if place.suffix == ".md" and not place.is_dir():
        return ((path or first, place),)
    return tuple((p, place / p.lstrip("/")) for p in ((path,) if path else paths))


def save(
    file: str | Path,
    pairs: Sequence[tuple[str, Path]],
    texts: Mapping[str, str],
    known: Mapping[Path, str],
    *,
    overwrite: bool,
) -> dict[Path, str]:
    """Write memory files to the disk; gives the text of each file written.

    A file there that holds a text other than the one last loaded from it or saved to it (`known`) is an error
    before anything is written, unless `overwrite`.
    """
    for p, target in pairs:
        there = _text(target)
        if there is not None and there not in (texts[p], known.get(target.resolve())) and not overwrite:
            raise DeepnbError(f"{target} holds another text", f"%memory save --yes {file} writes over it")
    written = {}
    for p, target in pairs:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(texts[p].encode())
        except OSError as error:
            raise DeepnbError(f"{target} can't be written ({error.strerror})", "type another place") from None
        written[target.resolve()] = texts[p]
    return written


def _text(file: Path) -> str | None:
    """The text of a file; None where there is none. Bytes that are not text are text that nothing equals."""
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DeepnbError(f"{file} can't be read ({error.strerror})", "type another place") from None
