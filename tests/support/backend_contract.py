"""Every place for files, for tests that hold of each: one line in `PLACES` puts another under them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepagents.backends import StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.mounts import Mount, mount_all, parse_mount
from tests.support.scripted import Scripted


@dataclass(frozen=True)
class Place:
    """A backend, and the directory in it where a test puts its files."""

    backend: BackendProtocol
    base: str = ""

    def put(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            assert self.backend.write(self.base + path, text).error is None

    def data(self, path: str) -> bytes | None:
        return self.backend.download_files([self.base + path])[0].content

    def paths(self, found: Iterable[Any] | None) -> list[str]:
        """The paths of what was found, as below `base`, in order of name."""
        assert found is not None
        assert all(info["path"].startswith(self.base) for info in found)
        return sorted(info["path"][len(self.base) :] for info in found)


def kernel() -> BackendProtocol:
    return Session(model=Scripted(answers=["ok"])).backend


def store() -> BackendProtocol:
    return StoreBackend(store=InMemoryStore(), namespace=lambda _: ("filesystem",))


def mount(spec: str, tmp: Path) -> Mount:
    return parse_mount(spec, base=tmp, store=InMemoryStore())


PLACES: dict[str, Callable[[Path], Place]] = {
    "kernel": lambda tmp: Place(kernel()),
    "disk": lambda tmp: Place(DiskBackend(tmp / "new")),
    "store": lambda tmp: Place(store()),
    "disk in kernel": lambda tmp: Place(mount_all(kernel(), {"/box": mount("disk:d", tmp)}), "/box"),
    "store in disk": lambda tmp: Place(mount_all(DiskBackend(tmp), {"/a/box": mount("store:x/y", tmp)}), "/a/box"),
    "beside a mount": lambda tmp: Place(mount_all(DiskBackend(tmp / "d"), {"/box": mount("store", tmp)})),
}
