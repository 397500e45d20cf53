"""Where the files of each thread are, and which thread's are meant: what the backend reads and writes outside a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deepnb.agent.options import Options
from deepnb.agent.pool import Pool
from deepnb.agent.state import State
from deepnb.agent.thread import Thread
from deepnb.agent.threads import Threads
from deepnb.core.latest import Latest
from deepnb.core.subagents import FOLDER
from deepnb.memory.layers import ALWAYS, NOTES
from deepnb.memory.scope import LONG_TERM

if TYPE_CHECKING:
    from deepnb.agent.storage import Storage


class Places:
    """The files of the thread that is meant: the current one, but for a while another."""

    def __init__(
        self,
        state: State,
        threads: Threads,
        options: Callable[[], Options],
        facts: Callable[[], dict[str, Any]],
        idle: Callable[[], bool],
        tell: Callable[[], None],
    ) -> None:
        """`facts` are the journal's, `idle` says whether no run is going on, `tell` is called after a write."""
        self._state = state
        self._threads = threads
        self._options = options
        self._facts = facts
        self._idle = idle
        self._tell = tell
        self._guarded = Latest(_guarded)
        self._shared = Latest(_shared)
        self._focus: Thread | None = None
        """A thread whose files are meant though it is not the current one."""

    @property
    def storage(self) -> Storage:
        """Where the files of the thread that is meant are, and what is mounted into them."""
        return self._of((self._focus or self._threads.here).pool)

    def _of(self, pool: Pool) -> Storage:
        """Where the files of a pool are: those of the session, or beside them."""
        from deepnb.agent.storage import Storage

        if pool.storage is None and pool is not self._threads.pool:
            pool.storage = self._of(self._threads.pool).beside()
        elif pool.storage is None:
            pool.storage = Storage(
                self,
                self._options().backend,
                self.is_guarded,
                self._facts,
                self._idle,
                embeddings=lambda: self._options().embeddings,
            )
        return pool.storage

    @contextmanager
    def on(self, thread: Thread) -> Iterator[None]:
        """Mean this thread's files within the block, where its memory is another than the current one's."""
        before = self._focus
        self._focus = None if thread.pool is self._threads.here.pool else thread
        try:
            yield
        finally:
            self._focus = before

    def elsewhere(self, thread: Thread, paths: Callable[[], Iterable[str]]) -> Mapping[str, str]:
        """path -> text of the thread's memory files that are not in the kernel's state."""
        storage = thread.pool.storage
        if storage is None or not (storage.mounts or storage.kept):
            return {}
        with self.on(thread):
            return storage.elsewhere(filter(thread.scope.may_read, paths()))

    def read(self) -> Mapping[str, Any]:
        """The thread's files, writes that wait included: path -> FileData."""
        return self._state.read(self._focus or self._threads.current)

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into the thread's files; None deletes.

        While a turn is unfinished the write waits: writing into a thread with steps to run would
        lose them. It is read back at once all the same.
        """
        self._state.write(self._focus or self._threads.current, update)
        self._tell()

    def undoable(self, path: str) -> bool:
        """Whether what is done to a file or directory can be taken back: by going back in the thread, or by the journal."""
        from deepagents.backends.utils import validate_path

        try:
            plain = validate_path(path)  # what the file tools make of it
        except ValueError:
            return True  # they refuse it
        if self.is_guarded(plain):
            return True
        folder = f"{plain.rstrip('/')}/"
        mounts = [m.prefix for m in self.storage.mounts.values()]
        away = any(folder.startswith(prefix) or prefix.startswith(folder) for prefix in mounts)
        return not away and self._options().backend is None

    def is_shared(self, path: str) -> bool:
        """Whether a file belongs to the session (memory, notes, skills, subagents) and not to one thread."""
        return self.shared()(path)

    def is_guarded(self, path: str) -> bool:
        """Whether the guard stands before a file: memory, notes, skills and subagents."""
        options = self._options()
        return self._guarded(options.memory, options.skills)(path)

    def shared(self) -> Callable[[str], bool]:
        """`is_shared` as the options say it now: the same function until they say otherwise."""
        options = self._options()
        return self._shared(options.memory, options.skills)


def _guarded(memory: Sequence[str], skills: Sequence[str]) -> Callable[[str], bool]:
    names = frozenset((LONG_TERM, *ALWAYS, *memory))
    folders = (NOTES, FOLDER, *(f"{source.rstrip('/')}/" for source in skills))
    return lambda path: path in names or path.startswith(folders)


def _shared(memory: Sequence[str], skills: Sequence[str]) -> Callable[[str], bool]:
    guarded = _guarded(memory, skills)
    return lambda path: guarded(path) or path.startswith("/.deepnb/")
