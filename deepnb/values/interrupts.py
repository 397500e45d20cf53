"""An interrupt that waits, so that it never cuts a thing in two that must be done whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, SIGINT (Ctrl-C, the stop button) is noted; it comes, as it would have, when this ends.

    Python raises KeyboardInterrupt in the main thread alone: in any other this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
