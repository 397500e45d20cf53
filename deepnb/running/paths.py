"""Which files belong to the session and not to one thread, and which stand behind the guard."""

from collections.abc import Callable

from deepnb.memory.layers import guarded_paths
from deepnb.running.current import Current
from deepnb.values.lazy import Memo


class Paths:
    """The rules that decide about paths, as the options in force say them."""

    def __init__(self, current: Current) -> None:
        self._current = current
        self._shared = Memo(_shared)

    def is_guarded(self, path: str) -> bool:
        """Whether the guard stands before a file: memory, notes, skills and subagents."""
        options = self._current.options
        names, folders = guarded_paths(options.memory, options.skills)
        return path in names or path.startswith(folders)

    def is_remembered(self, path: str) -> bool:
        """Whether a file stands behind the guard, or is one of deepnb's own, such as the journal."""
        return path.startswith("/.deepnb/") or self.is_guarded(path)

    def is_shared(self, path: str) -> bool:
        """Whether a file belongs to the session (memory, notes, skills, subagents) and not to one thread."""
        return self.shared()(path)

    def shared(self) -> Callable[[str], bool]:
        """`is_shared` as the options say it now: the same function until they say otherwise."""
        options = self._current.options
        return _nothing if options.graph else self._shared(options.memory, options.skills)

    @property
    def is_apart(self) -> bool:
        """Whether each thread has all of its files for itself: those of somebody else's graph, in its state."""
        graph = self._current.options.graph
        return graph is not None and graph.in_state

    @property
    def is_served(self) -> bool:
        """Whether the agent is on a server."""
        graph = self._current.options.graph
        return graph is not None and graph.is_served

    @property
    def is_attached(self) -> bool:
        """Whether the files are those of somebody else's graph."""
        return self._current.options.graph is not None

    def refusal(self, path: str) -> str:
        """Why the agent would not read a file, in one line; empty where it would."""
        options = self._current.options
        if options.graph is None:
            return ""
        return options.graph.refusal(path, options.memory, options.skills, self.is_guarded(path))


def _nothing(path: str) -> bool:
    return False


def _shared(memory: tuple[str, ...], skills: tuple[str, ...]) -> Callable[[str], bool]:
    names, folders = guarded_paths(memory, skills)
    own = (*folders, "/.deepnb/")
    return lambda path: path in names or path.startswith(own)
