"""What a directory on disk adds to the contract: missing roots, refused writes, modes, atomic writes, bounds."""

import errno
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepnb.backends import disk as disk_module
from deepnb.backends import tree
from deepnb.backends.disk import DiskBackend
from tests.support.tables import every_row

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and users of POSIX")


def test_a_missing_directory_reads_as_empty_and_is_made_by_the_first_write_or_is_one_line(tmp_path):
    backend = DiskBackend(tmp_path / "new")
    assert backend.ls("/").entries == backend.glob("*").matches == backend.grep("x").matches == []
    assert backend.read("/a").error == "File '/a' not found"
    assert backend.download_files(["/a"])[0].error == "file_not_found"
    assert backend.delete("/a").error == "Error: '/a' not found"
    assert backend.edit("/a", "x", "y").error == "Error: File '/a' not found"
    assert not (tmp_path / "new").exists() and backend.write("/a", "x").error is None
    assert (tmp_path / "new/a").read_text() == "x"
    backend = DiskBackend(tmp_path / "no/new")
    assert backend.ls("/").entries == []
    told = "Error writing file '/a': the directory that 'new' should be in does not exist"
    assert backend.write("/a", "x").error == told
    assert backend.upload_files([("/a", b"x")])[0].error == "invalid_path" and not (tmp_path / "no").exists()
    (tmp_path / "f").write_text("x")
    backend = DiskBackend(tmp_path / "f")
    assert backend.write("/a", "x").error == "Error writing file '/a': Not a directory"
    assert backend.ls("/").error == "Path '/': not_a_directory"


@posix
def test_a_root_may_be_named_through_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to("real")
    assert DiskBackend(tmp_path / "named").write("/a", "x").error is None
    assert (tmp_path / "real/a").read_text() == "x"


ERRORS = {number: os.strerror(number) for number in (errno.EACCES, errno.EROFS, errno.ENOSPC)}


@every_row("number", ERRORS)
def test_a_disk_that_refuses_is_one_line_and_leaves_what_was_there(tmp_path, monkeypatch, number):
    backend = DiskBackend(tmp_path)
    backend.write("/a.md", "before")

    def refuse(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & (os.O_WRONLY | os.O_CREAT):
            raise OSError(number, os.strerror(number), str(tmp_path / "a.md"))
        return real(path, flags, *args, **kwargs)

    real = os.open
    monkeypatch.setattr(os, "open", refuse)
    assert backend.write("/a.md", "x").error == f"Error writing file '/a.md': {ERRORS[number]}"
    assert backend.write("/new/a.md", "x").error == f"Error writing file '/new/a.md': {ERRORS[number]}"
    assert backend.edit("/a.md", "before", "x").error == f"Error editing file '/a.md': {ERRORS[number]}"
    code = "No space left on device" if number == errno.ENOSPC else "permission_denied"
    assert backend.upload_files([("/a.md", b"x")])[0].error == code
    assert backend.download_files(["/a.md"])[0].content == b"before"


@posix
def test_a_write_that_fails_midway_leaves_the_old_file_and_no_part(tmp_path, monkeypatch):
    backend = DiskBackend(tmp_path)
    backend.write("/a.md", "before")
    monkeypatch.setattr(os, "replace", lambda *a, **k: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
    assert backend.write("/a.md", "after").error == "Error writing file '/a.md': Input/output error"
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_text() == "before"


def as_nobody(use: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(into, json.dumps(use()).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    given: dict[str, Any] = json.loads(text)
    return given


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs to be root to stop being root")
def test_a_user_without_permission():
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        for folder, mode in (("closed", 0o700), ("open", 0o777), ("read", 0o755)):
            (root / folder).mkdir()
            (root / folder / "a.md").write_text("before")
            (root / folder).chmod(mode)
        (root / "open/mine.md").write_text("x")
        (root / "open/mine.md").chmod(0o444)
        (root / "open/shut.md").write_text("before")
        (root / "open/shut.md").chmod(0o600)

        def use() -> dict[str, Any]:
            b = DiskBackend(root)
            return {
                "read closed": b.read("/closed/a.md").error, "read shut": b.read("/open/shut.md").error,
                "download": b.download_files(["/closed/a.md", "/open/shut.md", "/read/a.md"])[0].error,
                "write read-only folder": b.write("/read/new.md", "x").error,
                "write read-only file": b.write("/open/mine.md", "y").error,
                "upload": b.upload_files([("/read/a.md", b"x")])[0].error, "make": b.write("/new/a.md", "x").error,
                "delete": b.delete("/read/a.md").error, "ls": b.ls("/closed").error,
                "glob": [b.glob("*.md").truncated, b.glob("*.md").truncation_reason, len(b.glob("*.md").matches or ())],
                "grep": b.grep("before").error, "write open": b.write("/open/new.md", "x").error,
            }  # fmt: skip

        denied = "Permission denied"
        assert as_nobody(use) == {
            "read closed": f"Error reading file '/closed/a.md': {denied}",
            "read shut": f"Error reading file '/open/shut.md': {denied}",
            "download": "permission_denied",
            "write read-only folder": f"Error writing file '/read/new.md': {denied}",
            "write read-only file": f"Error writing file '/open/mine.md': {denied}",
            "upload": "permission_denied", "make": f"Error writing file '/new/a.md': {denied}",
            "delete": f"Error deleting '/read/a.md': {denied}", "ls": f"Cannot list '/closed': {denied}",
            "glob": [True, "unreadable", 4],
            "grep": f"One or more files could not be fully searched: /closed; /open/shut.md: {denied}",
            "write open": None,
        }  # fmt: skip
        assert (root / "open/mine.md").read_text() == "x"


@posix
def test_mode_and_owner_of_a_file_stay(tmp_path):
    backend = DiskBackend(tmp_path)
    backend.write("/new.md", "x")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new.md").stat().st_mode) == 0o666 & ~umask
    (tmp_path / "new.md").chmod(0o750)
    if os.geteuid() == 0:
        os.chown(tmp_path / "new.md", 12345, 54321)
    assert backend.edit("/new.md", "x", "y").error is None
    found = (tmp_path / "new.md").stat()
    assert stat.S_IMODE(found.st_mode) == 0o750
    if os.geteuid() == 0:
        assert (found.st_uid, found.st_gid) == (12345, 54321)


def test_an_edit_of_several_lines_in_a_file_of_crlf(tmp_path):
    """The reading tool shows \\n for \\r\\n, so that is what a model's edit has."""
    backend = DiskBackend(tmp_path)
    backend.write("/a.md", "one\r\ntwo\r\nthree\r\n")
    assert backend.edit("/a.md", "one\ntwo", "1\n2").error is None
    assert (tmp_path / "a.md").read_bytes() == b"1\r\n2\r\nthree\r\n"
    assert backend.edit("/a.md", "2\r\nthree", "2\r\n\r\n3").error is None
    assert (tmp_path / "a.md").read_bytes() == b"1\r\n2\r\n\r\n3\r\n"


def test_what_is_not_text(tmp_path):
    (tmp_path / "latin.txt").write_bytes("täglich tea".encode("latin-1"))
    (tmp_path / "binary.bin").write_bytes(b"tea\0tea")
    backend = DiskBackend(tmp_path)
    assert backend.read("/latin.txt").error == "Error reading file '/latin.txt': it is not UTF-8 text"
    assert backend.edit("/latin.txt", "a", "b").error == "Error editing file '/latin.txt': it is not UTF-8 text"
    assert backend.write("/a.md", "\ud800").error == "Error writing file '/a.md': it is not UTF-8 text"
    found = backend.grep("tea")
    assert [m["path"] for m in found.matches or ()] == ["/latin.txt"] and found.error is None


def test_searches_end_in_time_and_say_so(tmp_path, monkeypatch):
    backend = DiskBackend(tmp_path)
    for n in range(300):
        backend.write(f"/d{n % 7}/{n}.md", "tea")
    assert len(backend.glob("*.md").matches or ()) == len(backend.grep("tea").matches or ()) == 300
    monkeypatch.setattr(disk_module, "GLOB_SECONDS", -1.0)
    monkeypatch.setattr(disk_module, "GREP_SECONDS", -1.0)
    found, lines = backend.glob("*.md"), backend.grep("tea")
    assert (found.matches, found.truncated, found.truncation_reason) == ([], True, "budget")
    assert (lines.matches, lines.truncated) == ([], True)


def test_a_tree_deeper_than_it_is_served(tmp_path):
    here = tmp_path
    for n in range(tree.DEPTH + 20):
        here = here / "d"
        here.mkdir()
        if n % 10 == 0:
            (here / "a.md").write_text("tea")
    backend = DiskBackend(tmp_path)
    found = backend.glob("*.md")
    assert found.truncation_reason == "unreadable" and len(found.matches or ()) == 10
    assert backend.delete("/d").error is None and os.listdir(tmp_path) == []


def test_no_descriptor_is_left_open(tmp_path):
    backend = DiskBackend(tmp_path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for n in range(50):
        backend.write(f"/a/b/{n}.md", "x")
        backend.read(f"/a/b/{n}.md/x")
        backend.read("/a/no/x.md")
        backend.write("/a/b", "x")
        backend.glob("*")
        backend.grep("x", max_count=1)
        backend.delete("/a/b/c")
    assert (len(os.listdir("/proc/self/fd")) if before else 0) <= before
