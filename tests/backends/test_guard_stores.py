"""No lost update in one store, or one given backend, by sessions in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from deepagents.backends import CompositeBackend, FilesystemBackend, StoreBackend
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from deepnb import DeepnbError
from deepnb.backends.disk import DiskBackend
from deepnb.backends.locks import backend_lock, store_lock
from deepnb.backends.mounts import MountedBackend, parse_mount
from deepnb.engine.files import ExactStore
from tests.support.tables import every_row

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
