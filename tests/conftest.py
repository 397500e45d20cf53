"""No test reaches beyond this machine."""

from __future__ import annotations

import functools
import gc
import os
import signal
import socket
import ssl
import sys
from typing import Any

import pytest
from hypothesis import settings

from deepnb.context import counting
from deepnb.models import windows
from tests.support.tables import are_here

# What is imported stays: a sixth of the time until the first test went into looking for garbage among it.
gc.disable()

# Times are for benchmarks: a law is not broken by a machine that is busy. By default each law is tried on the same few
# examples; `.ci/nightly` draws many new ones.
settings.register_profile("small", max_examples=25, derandomize=True, database=None, deadline=None)
settings.register_profile("large", max_examples=400, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("DEEPNB_EXAMPLES", "small"))

# The tests start hundreds of processes. Where a machine keeps no bytecode, each of them would compile the package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# `jsonschema` imports it for a format that nothing here has, and building its 38 grammars takes seconds in each process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# Each client of a model reads the certificates of all authorities, in 50 ms, and none of them is used on loopback.
ssl.create_default_context = functools.cache(ssl.create_default_context)  # type: ignore[assignment]

pytest_plugins = ["tests.support.shells", "tests.support.kernels"]

# A process that was started in the background ignores SIGINT, and so would the kernels and terminals that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests go first: of two processes that share the work, one then has all of them, and one browser."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)
    for item in items:
        if not are_here(item.iter_markers("wing")):
            item.add_marker(pytest.mark.skip("its wing was taken out"))


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Each shell that is left collects the garbage when Python ends, which would look through all there is each time."""
    gc.freeze()


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting to anything but loopback, or looking up a name for it, is an error that names the address."""
    real, real_lookup = socket.socket.connect, socket.getaddrinfo

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to connect to {address!r}")
        real(self, address)

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in (None, "", "0.0.0.0", "::", "127.0.0.1", "::1", "localhost", socket.gethostname()):
            raise AssertionError(f"a test tried to look up {host!r}")
        return real_lookup(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture(autouse=True)
def no_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window is known of a server: a port may have been another's."""
    for name, empty in (("_windows", {}), ("_answered", set()), ("_unanswered", {}), ("_longest", {})):
        monkeypatch.setattr(windows, name, empty)


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was reported of a model, and a scripted one is counted alike on all machines: by class."""
    begin = counting.Encodings.begin

    def begun(self: counting.Encodings, model: str, *, fetch: bool) -> None:
        if model or self is not counting.ENCODINGS:
            begin(self, model, fetch=fetch)

    monkeypatch.setattr(counting.Encodings, "begin", begun)
    monkeypatch.setattr("deepnb.wiring.model._reports", {})


@pytest.fixture(autouse=True)
def no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tokenizer's encoding is fetched: not even a name is looked up for it."""

    def refuse(url: str) -> bytes:
        raise AssertionError(f"a test tried to fetch {url}")

    monkeypatch.setattr("deepnb.context.counting.download", refuse)
