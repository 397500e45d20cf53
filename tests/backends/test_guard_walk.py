"""Several writers of one file or store, in a random order or in processes of their own: nothing lost, the journal true."""

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend, FilesystemBackend, StoreBackend
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from deepnb import DeepnbError, Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.journal import replay
from deepnb.backends.locks import backend_lock, store_lock
from deepnb.backends.mounts import MountedBackend, parse_mount
from deepnb.backends.writer import writing
from deepnb.engine.files import ExactStore
from tests.support.tables import every_row

PATH = "/memory/AGENTS.md"
STEPS = 60


class Walk:
    def __init__(self, tmp: Path, kind: str, seed: int) -> None:
        self.rng, self.tmp, self.kind, self.n = random.Random(seed), tmp, kind, 0
        self.sessions = [self.session(), self.session()]
        self.views: list[str | None] = [None, None]
        """What each agent has seen: the base of its next whole write."""
        self.outer = StoreBackend(store=self.store(), namespace=lambda _: ("x",))
        self.written = 0

    def store(self) -> SqliteStore:
        path = self.tmp / "m.db"
        return SqliteStore(sqlite3.connect(path, check_same_thread=False, isolation_level=None))

    def session(self) -> Session:
        store = self.store()
        s = Session(store=store, memory=(PATH,))
        s.workspace.home.storage.mount("/memory", self.kind, base=self.tmp, store=store, assistant_id=None)
        return s

    def outside(self, data: bytes | None) -> None:
        if self.kind == "store:x":
            self.outer.delete("/AGENTS.md") if data is None else self.outer.upload_files([("/AGENTS.md", data)])
            return
        file = self.tmp / "d/AGENTS.md"
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True) if data is None else file.write_bytes(data)

    def text(self, s: Session) -> str | None:
        try:
            return s.files.get(PATH)
        except DeepnbError:  # it is not text
            return None

    def line(self) -> str:
        self.n += 1
        return f"- fact {self.n}." + self.rng.choice(["", " 日本 👩‍👧"])

    # -- what may happen: (session, its number)

    def adds(self, s: Session, _: int) -> None:
        s.memory.add(self.line(), PATH)

    def user_writes(self, s: Session, _: int) -> None:
        s.memory.write(PATH, f"{self.text(s) or '- begun anew'}\n{self.line()}\n")

    def looks(self, s: Session, who: int) -> None:
        with writing(origin="agent"):
            s.backend.read(PATH)
        self.views[who] = self.text(s)

    def writes_from_an_old_view(self, s: Session, who: int) -> None:
        view, now = self.views[who], self.text(s)
        if view is None:
            self.looks(s, who)
            return
        end = "\r\n" if 0 < view.count("\n") == view.count("\r\n") else "\n"
        lines, new = view.split(end), self.line()
        lines.insert(self.rng.randint(0, len(lines)), new)
        if len(lines) > 2 and self.rng.random() < 0.4:
            lines[self.rng.randrange(len(lines))] = f"- changed {new}"
        with writing(origin="agent"):
            if s.backend.write(PATH, end.join(lines)).error:
                return
        told = s.memory.log_entries()[-1].conflicts  # it knows of both texts then, and may take one out
        self.views[who] = None if told else end.join(lines)
        after = s.files[PATH]
        there, seen = ({line.rstrip("\r") for line in text.split("\n")} for text in (now or "", view))
        others = there - seen
        assert new in after and all(line in after for line in others)
        self.written += 1

    def edits(self, s: Session, who: int) -> None:
        lines = [line.rstrip("\r") for line in (self.text(s) or "").split("\n") if line.strip()]
        if lines:
            old, new = self.rng.choice(lines), self.line()
            with writing(origin="agent"):
                if not s.backend.edit(PATH, old, f"{old}\n{new}").error:
                    self.views[who] = None
                    assert new in s.files[PATH]

    def another_program_adds(self, s: Session, _: int) -> None:
        self.outside(((self.text(s) or "") + self.line() + self.rng.choice(["", "\n"])).encode())

    def another_program_ends_lines_otherwise(self, s: Session, _: int) -> None:
        if text := self.text(s):
            self.outside(text.replace("\r\n", "\n").replace("\n", "\r\n").encode())

    def another_program_takes_it_away(self, _: Session, __: int) -> None:
        if self.rng.random() < 0.3:
            self.outside(None if self.rng.random() < 0.6 else b"\xff\x00\xfe")

    def removes(self, s: Session, _: int) -> None:
        if self.rng.random() < 0.3:
            s.memory.remove(PATH)

    def reverts(self, s: Session, _: int) -> None:
        if entries := s.memory.log_entries():
            before = self.text(s)
            s.memory.revert(self.rng.choice(entries).id)
            after = s.memory.log_entries()
            if len(after) > len(entries) and self.rng.random() < 0.5:
                s.memory.revert(after[-1].id)
                assert (self.text(s) or "") == (before or "")

    def check(self) -> None:
        a, b = (s.memory.log_entries() for s in self.sessions)
        assert a == b and len({e.id for e in a}) == len(a) and replay(PATH, a) == self.text(self.sessions[0])


MOVES: list[Any] = [
    Walk.adds, Walk.user_writes, Walk.looks, Walk.looks, *[Walk.writes_from_an_old_view] * 3, Walk.edits, Walk.edits,
    Walk.another_program_adds, Walk.another_program_ends_lines_otherwise, Walk.another_program_takes_it_away,
    Walk.removes, Walk.reverts, Walk.reverts,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))])
@pytest.mark.parametrize("kind", ["disk:d", "store:x"])
def test_nothing_is_lost_whoever_writes(tmp_path: Path, kind: str, seed: int):
    walk = Walk(tmp_path, kind, seed)
    walk.sessions[0].memory.add("begun", PATH)
    for _ in range(STEPS):
        who = walk.rng.randrange(2)
        try:
            walk.rng.choice(MOVES)(walk, walk.sessions[who], who)
        except DeepnbError as error:  # a line, where the file is no text, or is not there
            assert "\n" not in str(error)
        walk.check()
    assert walk.written


WRITERS, EACH = 3, 50
ADD = """
import os, sqlite3, sys
from pathlib import Path
from deepagents.backends import CompositeBackend, FilesystemBackend, StoreBackend
from langgraph.store.sqlite import SqliteStore
from deepnb import Session
from deepnb.backends.disk import DiskBackend
tmp, kind, writers, each = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
begin, start = os.pipe()

def store():
    return SqliteStore(sqlite3.connect(tmp / "memory.db", check_same_thread=False, isolation_level=None))

def session(who):
    if kind.startswith("mounted"):
        os.environ["TMPDIR"] = str(tmp / f"tmp{who}")  # a lock there would not be the others' lock
        s = Session(store=store(), memory=("/memory/AGENTS.md",))
        s.mount("/memory", "store:x")
        return s
    backend = {
        "given disk": lambda: DiskBackend(tmp / "d"),
        "given filesystem": lambda: FilesystemBackend(tmp / "d", virtual_mode=True),
        "given store": lambda: StoreBackend(store=store(), namespace=lambda _: ("x",)),
        "given composite": lambda: CompositeBackend(DiskBackend(tmp / "e"), {"/memory/": DiskBackend(tmp / "d")}),
    }[kind]()
    path = "/memory/AGENTS.md" if kind == "given composite" else "/AGENTS.md"
    return Session(backend=backend, memory=(path,))

def write(who):
    s = session(who)
    os.close(start)
    os.read(begin, 1)
    lost = 0
    for n in range(each):
        try:
            s.memory.add(f"fact {who}.{n}")
        except Exception as error:
            print(error, file=sys.stderr)
            lost += 1
    return 1 if lost else 0

if "store" in kind:
    store().setup()
children = []
for who in range(writers):
    if not (child := os.fork()):
        os._exit(write(who))
    children.append(child)
os.close(start)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
s = session(0)
path = s.options.memory[0]
from deepnb.backends.journal import replay
entries = [e for e in s.memory.log_entries() if e.path == path]
assert max(codes) == 0 and replay(path, entries) == s.files[path]
assert len(entries) == len({e.id for e in entries}) == writers * each
print(s.files[path], end="")
"""
KINDS = ["mounted store", "given store", "given disk", "given filesystem", "given composite"]
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.mark.nightly
@forks
@every_row("kind", KINDS)
def test_processes_on_one_store_or_backend_lose_nothing(tmp_path: Path, kind: str):
    loses_nothing(tmp_path, kind, WRITERS, EACH)


@pytest.mark.nightly
@forks
def test_eight_processes_of_a_hundred_edits_lose_nothing(tmp_path: Path):
    loses_nothing(tmp_path, "given disk", 8, 100)
    assert {one.name for one in (tmp_path / "d").iterdir()} == {"AGENTS.md", ".deepnb"}


def loses_nothing(tmp_path: Path, kind: str, writers: int, each: int) -> None:
    facts = {f"- fact {w}.{n}" for w in range(writers) for n in range(each)}
    command = [sys.executable, "-c", ADD, str(tmp_path), kind, str(writers), str(each)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    print(f"{kind}: {len(facts & {*lines})} of {len(facts)} facts kept")
    assert len(lines) == len(facts) and set(lines) == facts


def sqlite_store(path: Path | str) -> SqliteStore:
    import sqlite3

    return SqliteStore(sqlite3.connect(path, check_same_thread=False, isolation_level=None))


HOLD = """
import sys, sqlite3
from langgraph.store.sqlite import SqliteStore
from deepnb.backends.locks import store_lock
with store_lock(SqliteStore(sqlite3.connect(sys.argv[1], isolation_level=None)))():
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_two_ways_to_one_database_are_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from deepnb.backends import locks

    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "link/m.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    real = locks.file_lock
    monkeypatch.setattr("deepnb.backends.locks.file_lock", lambda path, what: real(path, what, seconds=0.1))
    mount = parse_mount("store:x", base=tmp_path, store=sqlite_store(tmp_path / "real/m.db"))
    assert mount.backend is not None
    with pytest.raises(DeepnbError, match=r"'m.db' has been locked by another process"), backend_lock(mount.backend)():
        pass
    with store_lock(sqlite_store(tmp_path / "real/other.db"))():
        pass
    holder.communicate("\n", timeout=60)
    with backend_lock(mount.backend)():
        assert (tmp_path / "real/m.db-deepnb.lock").exists()


def test_which_store_has_which_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    class Elsewhere(BaseStore):
        def batch(self, ops):
            return []

        async def abatch(self, ops):
            return []

    names: list[str] = []
    monkeypatch.setattr("deepnb.backends.locks.named_lock", names.append)
    store_lock(Elsewhere())()
    store_lock(Elsewhere())()
    assert names[0] == names[1] and names[0].endswith("Elsewhere")

    def none(*_: object, **__: object) -> None:
        raise AssertionError("a lock between processes")

    monkeypatch.setattr("deepnb.backends.locks.file_lock", none)
    monkeypatch.setattr("deepnb.backends.locks.named_lock", none)
    for store in (InMemoryStore(), sqlite_store(":memory:")):
        with store_lock(store)(), store_lock(ExactStore(store))():
            pass
        assert store_lock(store)() is store_lock(ExactStore(store))()
    assert store_lock(InMemoryStore())() is not store_lock(InMemoryStore())()


def test_all_places_of_a_composite_are_locked_once_and_in_one_order(tmp_path: Path):
    a, b = DiskBackend(tmp_path / "a"), DiskBackend(tmp_path / "b")
    store = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("x",))
    one = backend_lock(CompositeBackend(a, {"/b/": b, "/c/": FilesystemBackend(tmp_path / "a", virtual_mode=True)}))
    other = backend_lock(MountedBackend(b, {"/a/": a, "/s/": store}))
    for lock in (one, other):
        with lock(), lock():
            assert (tmp_path / "a/.deepnb/lock").exists() and (tmp_path / "b/.deepnb/lock").exists()
