"""What a disk says of its files: never that nothing has changed where something has, whoever did it and however."""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
from deepagents.backends import protocol

from deepnb.backends import versions
from deepnb.backends.disk import DiskBackend
from deepnb.memory.layers import LONG_TERM, NOTES
from deepnb.memory.searching import MemorySearch, searched

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


class Change:
    """Changes of all kinds below a directory, each by this process or by another."""

    def __init__(self, top: Path, seed: int) -> None:
        self.top, self.random, self.number = top, Random(seed), count()
        self.notes, self.aside = top / "memory", top.parent / "aside"
        self.aside.mkdir()
        self.other = subprocess.Popen(
            [sys.executable, "-c", "import os, shutil, sys\nfor line in sys.stdin: exec(line); print(flush=True)"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, code: str) -> None:
        if self.random.random() < 0.5:
            exec(code)
            return
        assert self.other.stdin and self.other.stdout
        print(code, file=self.other.stdin, flush=True)
        self.other.stdout.readline()

    def folders(self) -> list[str]:
        return [str(self.notes), *(str(one) for one in self.notes.rglob("*") if one.is_dir() and not one.is_symlink())]

    def files(self) -> list[str]:
        found = [str(one) for one in self.notes.rglob("*.md") if one.is_file() and not one.is_symlink()]
        return found or [self.new()]

    def new(self) -> str:
        return f"{self.random.choice(self.folders())}/{next(self.number)}.md"

    def tree(self, top: str) -> str:
        return f"os.makedirs({top + '/x/y'!r}); open({top + '/x/y/z.md'!r}, 'w').write({top!r})"

    def step(self) -> str:
        pick, n = self.random.choice, next(self.number)
        folder, file, out = pick(self.folders()), pick(self.files()), f"{self.aside}/{n}"
        text = f"{pick('abc')} {n % 3}"  # often as long as before
        inner = self.folders()[1:] or [f"{folder}/{n}"]
        kinds = {
            "write": f"open({file!r}, 'w').write({text!r})",
            "append": f"open({file!r}, 'a').write({text!r})",
            "kept open": f"kept = open({file!r}, 'a'); kept.write({text!r}); kept.flush()",
            "create": f"open({self.new()!r}, 'w').write({text!r})",
            "replace": f"open({out!r}, 'w').write({text!r}); os.replace({out!r}, {file!r})",
            "rename": f"open({file!r}, 'a'); os.rename({file!r}, {self.new()!r})",
            "delete": f"open({file!r}, 'a'); os.unlink({file!r})",
            "dates": f"open({file!r}, 'w').write({text!r}); os.utime({file!r}, (1, 1))",
            "mkdir": self.tree(f"{folder}/{n}"),
            "move in": f"{self.tree(out)}; os.rename({out!r}, {folder + f'/{n}'!r})",
            "move out": f"os.makedirs({(moved := pick(inner))!r}, exist_ok=True); os.rename({moved!r}, {out!r})",
            "remade": f"shutil.rmtree({moved!r}, True); {self.tree(moved)}",
            "remade top": f"shutil.rmtree({str(self.notes)!r}); {self.tree(str(self.notes))}",
            "other top": f"os.rename({str(self.top)!r}, {out!r}); shutil.copytree({out!r}, {str(self.top)!r}, True);"
            f" open({str(self.notes / 'new.md')!r}, 'w').write({text!r})",
            "link": f"os.symlink({os.path.basename(file)!r}, {os.path.dirname(file) + f'/{n}.md'!r})",
            "link out": f"os.symlink({str(self.aside)!r}, {folder + f'/{n}'!r})",
            "second name": f"open({out!r}, 'w').write('1'); os.link({out!r}, {self.new()!r})",
            "": f"[open(one.path, 'w').write({text!r}) for one in os.scandir({str(self.aside)!r}) if one.is_file()]",
        }
        kind = pick(list(kinds)) if self.random.random() < 0.5 else pick(["write", "append", "create", ""])
        self.run(kinds[kind])
        return kind


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Change]:
    monkeypatch.setattr(versions, "MANY", 1)
    monkeypatch.setattr(versions, "EACH", 0)
    monkeypatch.setattr(versions, "GRANULE", 10_000_000)  # a clock's tick is 4 ms
    (tmp_path / "my home" / "memory").mkdir(parents=True)
    made = Change(tmp_path / "my home", getattr(request, "param", 0))
    yield made
    made.other.kill()
    made.other.communicate()


def seen(disk: DiskBackend) -> dict[str, str]:
    below = [one["path"] for one in disk.glob("**/*.md", NOTES).matches or ()]
    found = {one.path: one.content for one in disk.download_files([LONG_TERM, *below]) if searched(one.path)}
    return {path: content.decode() for path, content in found.items() if content is not None}


@pytest.mark.parametrize("change", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))], indirect=True)
def test_what_is_searched_is_what_is_on_the_disk_after_any_change_of_anybody(change: Change) -> None:
    disk, search, quiet, done = DiskBackend(change.top), MemorySearch(lambda: None), 0, []
    for _ in range(50):
        done += [change.step() for _ in range(change.random.choice([1, 1, 1, 2, 5]))]
        if change.random.random() < 0.1 and not os.fork():  # what it reads is its own
            disk.file_versions(NOTES)
            os._exit(0)
        assert search.texts(disk) == seen(disk), done[-9:]
        known = disk.file_versions(NOTES)
        quiet += bool(known) and disk.file_versions(NOTES) is known
        if change.random.random() < 0.1:  # no file has two names any more
            shutil.rmtree(change.aside)
            change.aside.mkdir()
    assert quiet > 15


def test_a_queue_of_events_that_is_full_is_no_quiet(change: Change) -> None:
    disk, file = DiskBackend(change.top), change.notes / "a.md"
    for n in range(3):
        file.write_text(f"{n}")
        known = disk.file_versions(NOTES)
    assert known is not None and disk.file_versions(NOTES) is known
    other = change.notes / "b.md"
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 4):
        other.touch()
        other.unlink()
    file.write_text("other")
    assert disk.file_versions(NOTES) != known


@pytest.mark.parametrize(
    "lack", ["no inotify", "no more instances", "no more watches", "a network", "a mount", "few files"]
)
def test_where_there_is_no_watch_each_file_is_looked_at(
    change: Change, lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Libc:
        def inotify_init1(self, flags: int) -> int:
            return -1 if lack == "no more instances" else os.open("/dev/null", os.O_RDONLY)

        def inotify_add_watch(self, queue: int, path: bytes, flags: int) -> int:
            return -1

    match lack:
        case "no inotify":
            monkeypatch.setattr(sys, "platform", "darwin")
        case "a network" | "a mount":
            at, kind = (change.top, "nfs4") if lack == "a network" else (change.notes / "x", "ext4")
            mounts = Path("/proc/self/mountinfo").read_text()
            mounts += "36 35 98:0 / {} rw - {} host:/ rw\n".format(str(at).replace(" ", r"\040"), kind)
            monkeypatch.setattr(Path, "read_text", lambda self: mounts)
        case "few files":
            monkeypatch.setattr(versions, "MANY", 2)
        case _:
            monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Libc())
    disk = DiskBackend(change.top)
    for n in range(4):
        (change.notes / "a.md").write_text(f"{n}")
        known = disk.file_versions(NOTES)
        assert known is not None and [*known] == ["/memory/a.md"] and disk.file_versions(NOTES) is not known


def test_of_many_files_one_that_is_written_now_alone_is_read(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, search, read = DiskBackend(change.top), MemorySearch(lambda: None), list[str]()
    for n in range(9):
        (change.notes / f"{n}.md").write_text("tea")
        search.texts(disk)
    download = disk.download_files

    def noted(paths: list[str]) -> list[protocol.FileDownloadResponse]:
        read.extend(paths)
        return download(paths)

    monkeypatch.setattr(disk, "download_files", noted)
    monkeypatch.setattr(versions.FileVersions, "_walk", None)
    for text in ("coffee", "cocoa"):
        time.sleep(0.02)  # the files before are new no more
        read.clear()
        (change.notes / "3.md").write_text(text)
        assert search.texts(disk)["/memory/3.md"] == text
    assert read == [LONG_TERM, "/memory/3.md"]
