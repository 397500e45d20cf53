"""An interrupt inside waits until the thing is done, and then comes as it would have."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from deepnb.values.files import uninterrupted


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_what_is_inside_is_done_whole_also_inside_another() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        ctrl_c()
        done.append(1)
        ctrl_c()
        done.append(2)
    assert done == [1, 2] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        with uninterrupted():
            ctrl_c()
        done.append(3)
    assert done == [3]


def test_without_one_or_where_they_are_ignored_nothing_comes() -> None:
    with uninterrupted():
        pass
    with pytest.raises(ValueError, match="mine"), uninterrupted():
        raise ValueError("mine")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_in_another_thread_it_does_nothing() -> None:
    seen: list[object] = []

    def work() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
