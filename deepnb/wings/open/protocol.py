"""What a format is to deepnb: it knows its files, and opens them.

Others add theirs by an entry point of the group `deepnb.formats` that names an instance:

    [project.entry-points."deepnb.formats"]
    my-agent = "my_agent.deepnb_format:FORMAT"
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from deepnb.wings.open.head import Head
from deepnb.wings.open.values import FileContent, SessionIndex, SessionRow


class SessionFile(Protocol):
    """A session that was opened."""

    @property
    def index(self) -> SessionIndex:
        """Its turns in figures."""
        ...

    def content(self, turn: int) -> FileContent:
        """One turn word for word; turns count from 1."""
        ...


@runtime_checkable
class Format(Protocol):
    """One format of session files. Nothing of a file is run, and no path in it is opened."""

    @property
    def name(self) -> str:
        """`claude-code`."""
        ...

    @property
    def kind(self) -> str:
        """`Claude Code`."""
        ...

    def matches(self, head: Head) -> bool:
        """Whether a file that begins like this is of this format."""
        ...

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        """The sessions in a file, without reading all of it."""
        ...

    def open(self, head: Head, session: str | None) -> SessionFile:
        """A session of the file; where it has several and none is named, the newest."""
        ...
