"""An agent as the files of a LangGraph application: what is in it, what is left out, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deepnb.values.text import short_repr


@dataclass(frozen=True)
class PackageFile:
    """A file of the application."""

    path: str
    """In its directory, as `files/AGENTS.md`."""
    content: bytes
    note: str = ""
    """What is in it, or what was changed in it."""
    replaces: bool = False


@dataclass(frozen=True)
class LeftOut:
    """Something of the agent that the application does not have."""

    name: str
    why: str


@dataclass(frozen=True)
class Code:
    """A module of the application, and what it takes."""

    text: str
    requirements: frozenset[str]
    """Lines of `requirements.txt`."""
    left_out: tuple[LeftOut, ...]
    names: Mapping[int, str] = field(default_factory=dict)
    """Id of a tool that was given -> its name in it."""
    keys: tuple[str, ...] = ()
    """Variables of the environment that hold keys."""


@dataclass(frozen=True)
class Package:
    """The application, before it is written or after."""

    directory: Path
    files: tuple[PackageFile, ...]
    left_out: tuple[LeftOut, ...]
    written: bool = False
    typed: str = ""
    """The directory as it was typed: a saved notebook does not show where it lies."""

    def __repr__(self) -> str:
        state = "written" if self.written else "not written"
        return short_repr(self, f"{self.typed or self.directory.name}: {len(self.files)} files, {state}")
