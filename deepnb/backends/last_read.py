"""What each agent's model knows of each file: the base of what it writes next."""

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.backends.writer import writer

Key = tuple[str | None, tuple[str, ...], str]
"""Thread, agent, path."""


class LastRead:
    """The texts as they were last read or written, by thread and agent."""

    def __init__(self, facts: Callable[[], Mapping[str, Any]]) -> None:
        self._facts = facts
        self._texts: dict[Key, str] = {}

    def text(self, path: str) -> str | None:
        """The text of a file as whoever writes just now knows it; None where it has seen none."""
        return self._texts.get(self._key(path))

    def set(self, path: str, text: str | None) -> None:
        """An agent's model knows this text now; what the user reads and writes it does not see."""
        if writer().origin != "agent":
            return
        if text is None:
            self._texts.pop(self._key(path), None)
        else:
            self._texts[self._key(path)] = text

    def update(self, texts: Mapping[str, str]) -> None:
        """The current thread's model has just been shown these texts."""
        self._texts.update((self._key(path), text) for path, text in texts.items())

    def correct(self, path: str, text: str) -> None:
        """The file turned out to be this, whatever was said to those who know of it."""
        for key in [k for k in self._texts if k[-1] == path]:
            self._texts[key] = text

    def clear(self) -> None:
        """Nobody has seen anything."""
        self._texts.clear()

    def _key(self, path: str) -> Key:
        return self._facts().get("thread"), writer().agent, path
