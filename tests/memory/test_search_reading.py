"""What search reads of the notes: what a listing shows, and of that only what has changed."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.engine.file_extras import file_versions
from deepnb.memory.guarding import ScopedBackend
from deepnb.memory.layers import LONG_TERM, NOTES, Scope
from tests.support.clock import session

MAIN, SHARED = Scope(), Scope(shared=True)


def in_memory(folder: Path) -> Session:
    return session("ok")


def on_a_disk(folder: Path) -> Session:
    s = session("ok")
    s.memory.keep(str(folder / "memory"))
    return s


def in_a_database(folder: Path) -> Session:
    s = session("ok")
    s.persist(str(folder / "kept.db"))
    return s


def with_mounts(folder: Path) -> Session:
    s = session("ok", store=InMemoryStore())
    (folder / "work").mkdir()
    s.mount("/memory/work", f"disk:{folder / 'work'}")
    s.mount("/data", f"disk:{folder}")
    return s


def with_a_stored_folder(folder: Path) -> Session:
    s = session("ok", store=InMemoryStore())
    s.mount("/memory/team", "store:team")
    return s


HOMES = [in_memory, on_a_disk, in_a_database, with_mounts, with_a_stored_folder]


def listed(backend: ScopedBackend) -> dict[str, str]:
    below = [one["path"] for one in backend.glob("**/*.md", NOTES).matches or () if not one.get("is_dir")]
    found = {one.path: one.content for one in backend.download_files([LONG_TERM, *below])}
    return {path: content.decode() for path, content in found.items() if content is not None and b"\xff" not in content}


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("seed", range(4))
def test_texts_are_those_that_a_listing_shows_whoever_asks(
    home: Callable[[Path], Session], seed: int, tmp_path: Path
) -> None:
    s, random = home(tmp_path), Random(seed)
    guard, search = s.workspace.home.storage.guard, s.workspace.home.storage.search
    paths = [LONG_TERM, "/memory/2026-02-16.md", "/memory/memory.md", "/memory/work/a.md", "/memory/work/deep/b.md"]
    paths += ["/memory/team/c.md", "/memory/.hidden.md", "/memory/x/.y/d.md", "/memory/note.txt", "/notes.md"]
    for step in range(40):
        path = random.choice(paths)
        match random.randrange(4):
            case 0:
                guard.delete(path)
            case 1:
                guard.upload_files([(path, random.choice([b"bytes \xff", f"- as bytes {step}\n".encode()]))])
            case _:
                guard.merge(path, f"- a line of step {step}\n")
        scope = random.choice([MAIN, MAIN, SHARED])
        backend = ScopedBackend(guard, lambda scope=scope: scope)  # type: ignore[misc]
        assert search.texts(backend) == listed(backend), (step, path, scope)


def reads(monkeypatch: pytest.MonkeyPatch, s: Session) -> list[str]:
    out: list[str] = []
    guard = s.workspace.home.storage.guard
    before = guard.download_files

    def download(paths: list[str]) -> Any:
        out.extend(paths)
        return before(paths)

    monkeypatch.setattr(guard, "download_files", download)
    return out


@pytest.mark.parametrize("home", [in_memory, on_a_disk, in_a_database])
def test_only_what_changed_is_read(
    home: Callable[[Path], Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = home(tmp_path)
    for n in range(9):
        s.memory.write(f"/memory/{n}.md", f"- note {n} about tea\n")
    for file in tmp_path.rglob("*.md"):  # what has just been written might change within the same tick of a clock
        os.utime(file, (1, 1))
    monkeypatch.setattr("deepnb.backends.versions.GRANULE", -time.time_ns())
    assert len(s.memory.search_hits("tea", 20)) == 9
    read = reads(monkeypatch, s)
    assert len(s.memory.search_hits("tea", 20)) == 9 and read == [LONG_TERM]
    read.clear()
    s.memory.write("/memory/3.md", "- note 3 about coffee\n")
    s.memory.remove("/memory/4.md")
    read.clear()
    assert len(s.memory.search_hits("tea", 20)) == 7 and sorted(read) == [LONG_TERM, "/memory/3.md"]


def test_a_file_of_the_disk_that_is_new_has_no_version_and_an_older_one_has(tmp_path: Path) -> None:
    disk = DiskBackend(tmp_path)
    disk.upload_files([("/memory/a.md", b"a"), ("/memory/b/c.md", b"c"), ("/other.md", b"o")])
    assert file_versions(disk, NOTES) == {"/memory/a.md": None, "/memory/b/c.md": None}


@pytest.mark.parametrize("home", [in_memory, in_a_database])
@pytest.mark.parametrize("scope", [MAIN, SHARED])
def test_the_versions_are_the_same_mapping_while_nothing_is_written(
    home: Callable[[Path], Session], scope: Scope, tmp_path: Path
) -> None:
    s = home(tmp_path)
    s.memory.write("/memory/a.md", "- tea\n")
    backend = ScopedBackend(s.workspace.home.storage.guard, lambda: scope)

    def versions() -> Mapping[str, Any] | None:
        return file_versions(backend, NOTES)

    first = versions()
    assert first and versions() is first
    s.run("a turn, with its checkpoints")
    assert versions() is first
    s.memory.write("/memory/a.md", "- coffee\n")
    second = versions()
    assert second and second.keys() == first.keys() and second != first
