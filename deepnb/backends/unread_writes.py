"""What was written that the channels of a run do not show yet.

Tools that run side by side in one step each read the state as it was before the step, and so does a
run that is resumed after a write from outside. What they should build on is the newest text.
"""


class UnreadWrites:
    """The newest text of each path, and the older ones that may still be read in its place."""

    def __init__(self) -> None:
        self._newest: dict[str, str | None] = {}
        self._stale: dict[str, set[int]] = {}
        """Hashes: texts may be long, and many."""

    def add(self, path: str, raw: str | None, text: str | None) -> None:
        """`text` was written where `raw` was read."""
        stale = self._stale.setdefault(path, set())
        stale |= {hash(raw), hash(self._newest.get(path, raw))}
        stale.discard(hash(text))
        self._newest[path] = text

    def text(self, path: str, raw: str | None) -> str | None:
        """The newest text, where `raw` is one from before it; else `raw`."""
        return self._newest[path] if hash(raw) in self._stale.get(path, ()) else raw

    def paths(self) -> tuple[str, ...]:
        """Paths that were written."""
        return tuple(self._newest)

    def clear(self) -> None:
        """All that was written can be read, or never will be."""
        self._newest.clear()
        self._stale.clear()
