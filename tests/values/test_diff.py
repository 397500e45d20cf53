"""Files: a diff applied to its before gives its after, and what must be done whole is, whatever interrupts."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.files import FileDiff, Hunk, apply, file_diffs, uninterrupted
from tests.support.tables import every_row

LINES = st.sampled_from(["", "a", "b", "- tea", "+", "-", "@@ -1 +1 @@", "\\ No newline at end of file", "茶"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
TEXTS = st.lists(st.tuples(LINES, ENDS)).map(lambda rows: "".join(line + end for line, end in rows)) | st.text(
    alphabet="ab\n\r\x0c\x85\u2028\u2029é😀"
)
FULL = st.tuples(TEXTS, st.sampled_from(["", "\n", "tail", "tail\r\n", "\r"])).map("".join)


@given(st.none() | FULL, FULL)
def test_applying_a_diff_to_its_before_gives_its_after(before, after):
    assert apply(before, FileDiff("/f", before, after).hunks) == after


@given(FULL)
def test_no_change_has_no_hunks_and_no_lines(text):
    diff = FileDiff("/f", text, text)
    assert diff.hunks == () and diff.unified() == ""


def test_what_ends_a_line_and_what_a_file_that_comes_or_goes_is():
    diff = FileDiff("/f", "a\nb", None)
    assert diff.kind == "removed" and apply("a\nb", diff.hunks) == ""
    diff = FileDiff("/f", "a\x0cb\r\nc d\n", "a\x0cb\r\nC d\n")
    assert diff.hunks == (Hunk(1, 2, ("C d\n",)),)
    diff = FileDiff("/AGENTS.md", "a\nb", "a\nb\n")
    assert diff.hunks == (Hunk(1, 2, ("b\n",)),)
    assert diff.unified() == (
        "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    )
    assert FileDiff("/a.md", None, "x\n").unified() == "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+x\n"
    assert FileDiff("/a.md", "x\n", None).unified() == "--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    kinds = [FileDiff("/a", b, a).kind for b, a in ((None, ""), ("", None), ("", "x"))]
    assert kinds == ["added", "removed", "changed"]
    before = {"/b": "1", "/a": "1", "/same": "s"}
    after = {"/c": "", "/a": "2", "/same": "s"}
    assert file_diffs(before, after) == (FileDiff("/a", "1", "2"), FileDiff("/b", "1", None), FileDiff("/c", None, ""))


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the program patch")
@every_row(
    ("before", "after"),
    [("a\nb\nc\n", "a\nB\nc\nd\n"), ("a\nb", "a\nb\n"), ("a\n", "b"), ("", "x\n"), ("a\r\nb\r\n", "a\r\nc\r\n")],
)
def test_patch_takes_the_unified_form(tmp_path: Path, before: str, after: str):
    file = tmp_path / "f"
    file.write_bytes(before.encode())
    diff = FileDiff("/f", before, after).unified()
    subprocess.run(["patch", "--binary", "-s", str(file)], input=diff.encode(), check=True)
    assert file.read_bytes() == after.encode()


# -- an interrupt inside waits until the thing is done, and then comes as it would have


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_what_is_inside_is_done_whole_and_elsewhere_nothing_comes() -> None:
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
