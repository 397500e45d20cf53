"""A session made elsewhere as a workspace of one thread, in which nothing can be changed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from deepnb.core.errors import DeepnbError, RefusedError
from deepnb.formats.protocol import SessionFile
from deepnb.formats.turns import SessionTurns
from deepnb.running.current import Current
from deepnb.running.state import State
from deepnb.running.thread import Thread
from deepnb.running.threads import Threads
from deepnb.running.workspace import Workspace
from deepnb.wiring.options import Options


def refusal(name: str) -> DeepnbError:
    """That a thread is only for reading, and how to go on from it."""
    return RefusedError(f"thread {name} was opened to be read", "%agent fork NAME --at N goes on from its turn N")


class OpenedState(State):
    """The state of a thread as its file tells it; whatever would write is an error."""

    def start(self, thread: Thread) -> None:
        """Nothing: the thread is whole."""

    def read(self, thread: Thread) -> Mapping[str, Any]:
        """Its memory files, as far as the session's edits tell them: path -> FileData."""
        return {path: {"content": text, "encoding": "utf-8"} for path, text in thread.snapshot.files.items()}

    def write(self, thread: Thread, update: Mapping[str, Any]) -> None:
        """Raise an error: an opened session is only for reading."""
        raise refusal(thread.name)

    def claimed(self, thread: str) -> AbstractContextManager[None]:
        """Raise an error: whoever asks is about to write."""
        raise refusal(thread)


class OpenedWorkspace(Workspace):
    """One thread, whose turns are read when they are looked at."""

    def __init__(self, file: SessionFile, name: str, opener: Current) -> None:
        """`opener` has the time."""
        super().__init__(Options(), opener.clock, first=name)
        self.state = OpenedState(self.current, self.home, self.graphs)
        self.threads = Threads(self.state, self.current)
        self.content, thread = SessionTurns(file), self.current.thread
        thread.turns = list(self.content.turns(name))
        thread.root = self.content.snapshot(name, 0)
        thread.snapshot = self.content.snapshot(name, len(thread.turns))
        self.current.read_only = refusal(name)
