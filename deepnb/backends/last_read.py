"""What each writer knows of each file: the base of what it writes next."""

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.backends.writer import writer

_USER = "user"
Reader = tuple[str | None, ...] | str
"""Thread and agent of a model; or the user, who knows what was displayed, in whichever thread."""


class LastRead:
    """The texts as they were last read or written, by reader."""

    def __init__(self, facts: Callable[[], Mapping[str, Any]]) -> None:
        self._facts = facts
        self._texts: dict[tuple[Reader, str], str | None] = {}

    def text(self, path: str, unknown: str | None = None) -> str | None:
        """The text of a file as whoever writes just now knows it; None where it saw none, `unknown` if it never looked."""
        return self._texts.get((self._reader(), path), unknown)

    def set(self, path: str, text: str | None) -> None:
        """Whoever writes just now knows this text."""
        reader = self._reader()
        if text is None and reader != _USER:  # a file that a model did not find is as good as never looked for
            self._texts.pop((reader, path), None)
        else:
            self._texts[reader, path] = text

    def show_model(self, texts: Mapping[str, str]) -> None:
        """The current thread's model has just been shown these texts."""
        model = self._model()
        self._texts.update(((model, path), text) for path, text in texts.items())

    def show_user(self, texts: Mapping[str, str | None]) -> None:
        """These texts were displayed; None where there is no such file."""
        self._texts.update(((_USER, path), text) for path, text in texts.items())

    def correct(self, path: str, text: str) -> None:
        """The file turned out to be this, whatever was said to the models that know of it."""
        for key in [k for k in self._texts if k[-1] == path and k[0] != _USER]:
            self._texts[key] = text

    def clear(self) -> None:
        """Nobody has seen anything."""
        self._texts.clear()

    def _reader(self) -> Reader:
        return self._model() if writer().origin == "agent" else _USER

    def _model(self) -> Reader:
        return self._facts().get("thread"), *writer().agent
