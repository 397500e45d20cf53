"""Functions to be tools of which only the name and the result matter."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


def gives(name: str, result: Any) -> Callable[[], Any]:
    """A function without parameters that gives this; an exception is raised."""

    def made() -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    made.__name__, made.__doc__ = name, f"{name.title()}."
    return made


def pay(amount: int, to: str = "Ada") -> str:
    """Pay an amount."""
    return f"paid {amount} to {to}"


class Slow:
    """A tool that is not done before it may go on."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def wait(self) -> str:
        """Wait."""
        self.begun.set()
        self.go.wait(60)
        return "done"

    @contextmanager
    def held(self, run: Callable[[], object]) -> Iterator[None]:
        """While a turn that calls it is played in another thread, and waits."""
        with ThreadPoolExecutor(1) as pool:
            played = pool.submit(run)
            try:
                assert self.begun.wait(60)
                yield
            finally:
                self.go.set()
        played.result()
