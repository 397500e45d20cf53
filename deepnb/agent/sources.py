"""Memory files on the user's disk that can be joined in: the user's own, and the project's."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from deepnb.core.errors import DeepnbError

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
