"""Memory files on the user's disk that can be joined in: the user's own, the project's, any Markdown file.

A directory stands at one path however many of its files are joined in, and whatever it was called by.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from deepnb.values.errors import InvalidError, NotFoundError
from deepnb.values.files import disk_path

AGENT = "agent"
"""The name under `~/.deepagents/` when no other is given."""


@dataclass(frozen=True)
class Places:
    here: Path
    home: Path
    agent: str = AGENT
    """The assistant's name: its files are in `~/.deepagents/NAME/`."""

    @property
    def user(self) -> Path:
        name = "".join(c if c.isalnum() or c in "._-" else "-" for c in self.agent).lstrip(".") or AGENT
        return (self.home / ".deepagents" / name).resolve()


@dataclass(frozen=True)
class SourceMount:
    """Files of one directory that are joined in, and the path below which they stand."""

    prefix: str
    directory: Path
    files: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files as the agent sees them."""
        return tuple(f"{self.prefix}{name}" for name in self.files)

    @property
    def real(self) -> tuple[Path, ...]:
        """The files as they are on the disk, links followed: two names of one file are the same."""
        return tuple((self.directory / name).resolve() for name in self.files)


Sources = tuple[SourceMount, ...]


def source(name: str, places: Places) -> SourceMount:
    """Return what `user`, `project` or the path of a Markdown file means, below the path that suits it."""
    if name == "user":
        return SourceMount("/user/", places.user, ("AGENTS.md",))
    if name == "project":
        near, marks = (places.here, *places.here.parents), (".git", "pyproject.toml")
        root = next((folder for folder in near if any((folder / mark).exists() for mark in marks)), places.here)
        return SourceMount("/project/", root.resolve(), (".deepagents/AGENTS.md", "AGENTS.md"))
    path = places.here / disk_path(name, "is not a memory file")
    path = path.parent.resolve() / path.name
    if path.suffix != ".md" or not path.name.isprintable() or path.is_dir():
        raise InvalidError(f"{name!r} is not a memory file", "type user, project, or the path of a Markdown file")
    folder = "".join(c if c.isalnum() or c in "._-" else "-" for c in path.parent.name).lstrip(".") or "files"
    return SourceMount(f"/sources/{folder}/", path.parent, (path.name,))


def with_source(
    sources: Sources, wanted: SourceMount, taken: Collection[str] = (), known: Collection[Path] = ()
) -> Sources:
    """Return the sources and what is wanted; `taken` are other mounts, `known` files that are memory already."""
    there = {*known, *chain.from_iterable(one.real for one in sources)}
    new = tuple(name for name, real in zip(wanted.files, wanted.real, strict=True) if real not in there)
    if not new:
        return sources
    if any(one.directory == wanted.directory for one in sources):
        return tuple(replace(s, files=(*s.files, *new)) if s.directory == wanted.directory else s for s in sources)
    used = {*taken, *(one.prefix for one in sources)}
    names = chain([wanted.prefix], (f"{wanted.prefix[:-1]}-{n}/" for n in count(2)))
    return (*sources, replace(wanted, prefix=next(p for p in names if p not in used), files=new))


def without_source(sources: Sources, name: str, places: Places) -> Sources:
    """Return the sources without those that `user`, `project`, a path of the disk or the path shown means."""
    if any(name in one.paths for one in sources):
        gone = {real for one in sources for path, real in zip(one.paths, one.real, strict=True) if path == name}
    else:
        gone = set(source(name, places).real)
    left = (
        replace(one, files=tuple((name for name, real in zip(one.files, one.real, strict=True) if real not in gone)))
        for one in sources
    )
    out = tuple(one for one in left if one.files)
    if out == sources:
        there = ", ".join(paths(sources)) or "none"
        do = "%memory sources remove PATH"
        raise NotFoundError(f"{name!r} is not a memory source on disk (sources: {there})", do)
    return out


def paths(sources: Sources) -> tuple[str, ...]:
    return tuple(chain.from_iterable(one.paths for one in sources))


def paths_of(sources: Sources, wanted: SourceMount) -> tuple[str, ...]:
    """Return where the files that are wanted stand among the agent's, as far as they are joined in."""
    real = set(wanted.real)
    return tuple(path for one in sources for path, at in zip(one.paths, one.real, strict=True) if at in real)


def at_hand(places: Places, sources: Sources = ()) -> Iterator[tuple[str, str]]:
    """Yield (name to add, file) of the memory files on this disk that are not joined in; nothing of them is read."""
    known, home = set(chain.from_iterable(one.real for one in sources)), places.home.resolve()
    for name in ("user", "project"):
        found = source(name, places)
        for file, real in zip((found.directory / name for name in found.files), found.real, strict=True):
            if real not in known and os.path.isfile(file):  # not in a directory that may not be looked into
                yield name, f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)
