"""Every place for files, for tests that hold of each: one line in `PLACES` puts another under them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.mounts import Mount, mount_all, parse_mount
from deepnb.backends.wrapper import WrapperBackend
from tests.support.scripted import Scripted


@dataclass(frozen=True)
class Place:
    backend: BackendProtocol
    base: str = ""

    def put(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            assert self.backend.write(self.base + path, text).error is None

    def data(self, path: str) -> bytes | None:
        return self.backend.download_files([self.base + path])[0].content

    def paths(self, found: Iterable[Any] | None) -> list[str]:
        assert found is not None
        assert all(info["path"].startswith(self.base) for info in found)
        return sorted(info["path"][len(self.base) :] for info in found)


def kernel() -> BackendProtocol:
    return Session(model=Scripted(answers=["ok"])).backend


def store() -> BackendProtocol:
    return StoreBackend(store=InMemoryStore(), namespace=lambda _: ("filesystem",))


def mount(spec: str, tmp: Path) -> Mount:
    return parse_mount(spec, base=tmp, store=InMemoryStore())


def composite(default: Any, tmp: Path) -> CompositeBackend:
    routes: dict[str, Any] = {"/m/": FilesystemBackend(root_dir=tmp / "m", virtual_mode=True), "/s/": StateBackend()}
    return CompositeBackend(default=default, routes=routes)


def of_a_user() -> StoreBackend:
    return StoreBackend(store=InMemoryStore(), namespace=lambda _: ("ana", "files"))


GIVEN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "StateBackend()": lambda tmp: {"backend": StateBackend()},
    "disk:DIR": lambda tmp: {"backend": f"disk:{tmp / 'text'}"},
    "store": lambda tmp: {"backend": "store", "store": InMemoryStore()},
    "StoreBackend()": lambda tmp: {"backend": of_a_user()},
    "StoreBackend() of the session's store": lambda tmp: {
        "backend": StoreBackend(namespace=lambda _: ("ana", "files")),
        "store": InMemoryStore(),
    },
    "composite over state": lambda tmp: {"backend": composite(StateBackend(), tmp)},
    "composite over disk": lambda tmp: {
        "backend": composite(FilesystemBackend(root_dir=tmp / "root", virtual_mode=True), tmp)
    },
    "composite over a store": lambda tmp: {"backend": composite(of_a_user(), tmp)},
}  # options of a session whose `backend` is one that works outside a run only because we make it


def given(name: str, tmp: Path, base: str = "") -> Place:
    return Place(Session(model=Scripted(answers=["ok"]), **GIVEN[name](tmp)).backend, base)


PLACES: dict[str, Callable[[Path], Place]] = {
    "kernel": lambda tmp: Place(kernel()), "disk": lambda tmp: Place(DiskBackend(tmp / "new")),
    "wrapped disk": lambda tmp: Place(WrapperBackend(DiskBackend(tmp / "new"))),
    "store": lambda tmp: Place(store()),
    "disk in kernel": lambda tmp: Place(mount_all(kernel(), {"/box": mount("disk:d", tmp)}), "/box"),
    "store in disk": lambda tmp: Place(mount_all(DiskBackend(tmp), {"/a/box": mount("store:x/y", tmp)}), "/a/box"),
    "given state": lambda tmp: given("StateBackend()", tmp), "given text": lambda tmp: given("disk:DIR", tmp),
    "given store": lambda tmp: given("StoreBackend()", tmp),
    "given composite": lambda tmp: given("composite over state", tmp),
    "state in a given composite": lambda tmp: given("composite over a store", tmp, "/s"),
    "beside a mount": lambda tmp: Place(mount_all(DiskBackend(tmp / "d"), {"/box": mount("store", tmp)})),
}  # fmt: skip
