"""What code writes to a text stream: its beginning and end are kept, and all is handed on in whole lines now and then."""

import io
import threading
from collections.abc import Callable
from typing import Any, TextIO

HEAD, TAIL = 20_000, 4_000
"""Characters that are kept of a stream."""
_PIECE = 4_000
"""Characters after which a piece without a line feed is handed on."""


class Capture(io.TextIOBase):
    """A text stream in the place of `real`; what is written once it has ended goes there, as a thread may write late."""

    def __init__(self, real: TextIO | None, hand_on: Callable[[str], None]) -> None:
        self._real, self._hand_on = real, hand_on
        self._head: list[str] = []
        self._length = 0
        self._tail = ""
        self._pending: list[str] = []
        self._lock = threading.Lock()
        self._over = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def fileno(self) -> int:
        """That of the real stream: what a process writes there is not seen here."""
        if self._real is None:
            raise io.UnsupportedOperation("fileno")
        return self._real.fileno()

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._over:
            return self._real.write(text) if self._real is not None else len(text)
        with self._lock:
            room = HEAD - self._length
            self._length += len(text)
            if room > 0:
                self._head.append(text[:room])
                self._pending.append(text[:room])
            if len(text) > room:
                self._tail = (self._tail + text[max(room, 0) :])[-TAIL:]
        return len(text)

    def flush(self) -> None:
        """Nothing: pieces are handed on when it is time."""

    def hand_on(self, *, whole: bool = False) -> None:
        """Hand on the lines that are complete; with `whole`, what there is: something else is shown below it."""
        with self._lock:
            text = "".join(self._pending)
            cut = len(text) if whole or len(text) > _PIECE else text.rfind("\n") + 1
            self._pending = [text[cut:]] if cut < len(text) else []
        if cut:
            self._hand_on(text[:cut])

    def end(self) -> None:
        """Nothing more is captured; the end of what is too long to keep whole is handed on."""
        self._over = True
        self.hand_on(whole=True)
        if self._length > HEAD:
            self._hand_on(self.text[HEAD:])

    @property
    def text(self) -> str:
        """All of it; of a long one the beginning and the end, with a line between them."""
        head, left = "".join(self._head), self._length - HEAD
        if left <= 0:
            return head
        tail = self._tail[-min(TAIL, left) :]
        between = left - len(tail)
        return f"{head}\n… {between:,} characters left out …\n{tail}" if between else head + tail


def no_input(*_: Any, **__: Any) -> str:
    """Stands for `input` and `getpass`: there is nobody to answer."""
    raise RuntimeError("input() can't be used in run_python: ask the user in your answer")


class NoInput(io.TextIOBase):
    """Stands for `sys.stdin`."""

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        return no_input()

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return no_input()
