"""Locks between processes: killed holders, and lock files that are not what they seem."""

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress

import pytest
from filelock import lock_descriptor

from deepnb import DeepnbError
from deepnb.backends.locks import directory_lock, named_lock
from tests.support.tables import every_row

HOLD = """
import sys
from deepnb.backends.locks import directory_lock
with directory_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def test_a_killed_holder_lets_go_and_a_living_one_is_named(tmp_path):
    command, pipe = [sys.executable, "-c", HOLD, str(tmp_path)], subprocess.PIPE
    holder = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    with pytest.raises(DeepnbError) as told, directory_lock(tmp_path, seconds=0.1):
        pass
    assert str(told.value) == (
        f"'{tmp_path.name}' has been locked by another process for 0.1 s: "
        "try again, or stop the other kernel that uses it"
    )
    holder.kill()
    holder.communicate()
    with directory_lock(tmp_path, seconds=5):
        pass


@every_row("kind", ["directory", "named"])
def test_a_thread_may_take_it_again_and_another_may_not(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("deepnb.backends.locks.SECONDS", 0.05)
    told: list[str] = []

    def lock():
        return named_lock("a") if kind == "named" else directory_lock(tmp_path, seconds=0.05)

    def other() -> None:
        try:
            with lock():
                told.append("had it")
        except DeepnbError as error:
            told.append(error.what)

    def run_other() -> str:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return told.pop()

    with lock():
        with lock(), named_lock("b"), pytest.raises(ValueError, match="inside"), lock():
            raise ValueError("inside")
        assert "has been locked" in run_other()
    assert run_other() == "had it"
    (folder,) = tmp_path.glob("deepnb-locks-*")
    assert folder.stat().st_mode & 0o777 == 0o700


@forks
def test_a_forked_child_does_not_hold_what_its_parent_does(tmp_path):
    with directory_lock(tmp_path):
        child = os.fork()
        if child == 0:
            try:
                with directory_lock(tmp_path, seconds=0.05):
                    os._exit(1)
            except DeepnbError:
                os._exit(0)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@forks
@every_row("kind", ["directory", "named"])
def test_a_lock_counts_between_processes(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    count, (begin, start) = tmp_path / "count", os.pipe()
    count.write_text("0")

    def write() -> None:
        os.close(start)
        os.read(begin, 1)
        for _ in range(100):
            with named_lock("count") if kind == "named" else directory_lock(tmp_path):
                count.write_text(f"{int(count.read_text()) + 1}")

    writers = []
    for _ in range(3):
        if not (child := os.fork()):
            with suppress(BaseException):
                write()
                os._exit(0)
            os._exit(1)
        writers.append(child)
    os.close(start)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in writers] == [0] * 3
    assert count.read_text() == "300" and len([*tmp_path.iterdir()]) == 2


def test_a_lock_file_that_was_replaced_is_not_the_lock(tmp_path, monkeypatch):
    from deepnb.backends import locks

    replaced: list[str] = []

    def late(fd: int, *, blocking: bool) -> bool:
        if not replaced:
            replaced.append("once")
            os.unlink(tmp_path / ".deepnb/lock")
        return lock_descriptor(fd, blocking=blocking)

    monkeypatch.setattr(locks, "lock_descriptor", late)
    with directory_lock(tmp_path):
        assert (tmp_path / ".deepnb/lock").exists()
        holder = subprocess.run(
            [sys.executable, "-c", HOLD.replace("argv[1])", "argv[1], seconds=0.05)"), str(tmp_path)],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert "has been locked by another process" in holder.stderr


def make(root, outside, kind: str) -> None:
    folder = root / ".deepnb"
    lock, targets = folder / "lock", {"lock is a link": "kept", "lock is a dangling link": "made"}
    if kind.startswith("lock"):
        folder.mkdir()
    if kind == "folder is a link":
        folder.symlink_to(outside)
    elif kind == "folder is a file":
        folder.touch()
    elif kind in targets:
        lock.symlink_to(outside / targets[kind])
    elif kind == "lock is a pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links")
@every_row(
    "kind",
    ["folder is a link", "folder is a file", "lock is a link", "lock is a dangling link", "lock is a pipe",
     "lock is a directory"],
)  # fmt: skip
def test_a_lock_that_is_not_a_file_is_one_line(tmp_path, kind):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept")
    make(root, outside, kind)
    with pytest.raises(DeepnbError) as told, directory_lock(root, seconds=0.1):
        pass
    assert str(told.value).startswith("'root' can't be locked (") and str(told.value).count("\n") == 0
    assert [(p.name, p.read_text()) for p in outside.iterdir()] == [("kept", "kept")]


def test_a_directory_of_locks_is_made_and_is_no_link(tmp_path, monkeypatch):
    with directory_lock(tmp_path / "new"):
        assert (tmp_path / "new/.deepnb/lock").exists()
    with pytest.raises(DeepnbError, match="does not exist"), directory_lock(tmp_path / "a/b"):
        pass
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / f"deepnb-locks-{os.getuid()}").symlink_to(tmp_path / "mine")
    with pytest.raises(DeepnbError, match="belongs to another user"), named_lock("x"):
        pass
