"""The contract of backends, over each of them and over wrappers; and the same tool calls through real graphs."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.protocol import BackendProtocol

from deepnb.backends.disk import DiskBackend
from deepnb.backends.wrapper import ReadOnlyFiles, WrapperBackend
from deepnb.engine.file_extras import EXTRAS
from tests.support.backend_contract import PLACES, Place
from tests.support.tables import every_row

TEXTS = {
    "plain": "one\ntwo\n", "no final newline": "one\ntwo", "empty": "", "blank": " \n\n", "cjk": "日本語の記憶\n中文\n한국어\n",
    "emoji": "👩‍👧 tea ☕️\n", "crlf": "one\r\ntwo\r\n", "cr": "one\rtwo", "mixed": "one\r\ntwo\nthree",
    "odd": "a\x0bb\x0cc\u2028d\x00e\ufeff", "marks": "{}'\"`\\ $HOME %s",
}  # fmt: skip
PATHS = [
    "/a.md", "/a/b/c.md", "/my notes/to do.md", "/ü/日本　語.md", "/👩‍👧.md", "/.hidden", "/a..b.md", "/x[1]{2}*.md",
]  # fmt: skip


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return PLACES[request.param](tmp_path)


@every_row("text", TEXTS.values(), ids=TEXTS)
def test_a_text_comes_back_as_it_was_written(place: Place, text: str):
    place.put({"/t.md": "before"})
    place.put({"/t.md": text})
    assert place.data("/t.md") == text.encode()
    read = place.backend.read(place.base + "/t.md")
    assert read.error is None and read.file_data is not None
    shown = read.file_data["content"]
    assert shown == (text.replace("\r\n", "\n").replace("\r", "\n") if text.strip() else text)
    assert read.file_data["encoding"] == "utf-8"


@every_row("path", PATHS)
def test_paths_are_taken_as_they_are(place: Place, path: str):
    place.put({path: "x\n"})
    assert place.backend.write(place.base + path, "y\n").path == place.base + path
    assert place.data(path) == b"y\n"
    assert place.paths(place.backend.grep("y", place.base or "/").matches) == [path]
    assert place.backend.delete(place.base + path).error is None and place.data(path) is None


def test_a_window_of_lines(place: Place):
    place.put({"/t.md": "".join(f"line {n}\n" for n in range(10))})
    read = place.backend.read(place.base + "/t.md", offset=3, limit=2)
    assert read.file_data is not None and read.file_data["content"] == "line 3\nline 4\n"
    assert (read.total_lines, read.start_line, read.end_line, read.next_offset) == (10, 4, 5, 5)
    assert place.backend.read(place.base + "/t.md", offset=-3, limit=1).start_line == 1
    assert place.backend.read(place.base + "/t.md", limit=0).no_lines_requested
    assert "exceeds file length (10 lines)" in (place.backend.read(place.base + "/t.md", offset=10).error or "")


def test_an_edit_leaves_other_line_ends_alone(place: Place):
    path = place.base + "/t.md"
    place.put({"/t.md": "one two\ntwo\n"})
    assert place.backend.edit(path, "one", "eins").occurrences == 1
    assert "appears 2 times" in (place.backend.edit(path, "two", "zwei").error or "")
    assert "not found in file: 'three'" in (place.backend.edit(path, "three", "drei").error or "")
    assert "cannot be empty" in (place.backend.edit(path, "", "x").error or "")
    assert place.data("/t.md") == b"eins two\ntwo\n"
    result = place.backend.edit(path, "two", "zwei", replace_all=True)
    assert (result.error, result.path, result.occurrences) == (None, path, 2)
    assert place.data("/t.md") == b"eins zwei\nzwei\n"
    place.put({"/crlf.md": "one\r\ntwo\r\n", "/mixed.md": "one\r\ntwo\nthree"})
    assert place.backend.edit(place.base + "/crlf.md", "two", "2").error is None
    assert place.backend.edit(place.base + "/mixed.md", "two", "2").error is None
    assert place.data("/crlf.md") == b"one\r\n2\r\n" and place.data("/mixed.md") == b"one\r\n2\nthree"


def test_delete_takes_a_directory_and_not_its_namesakes_and_what_is_missing_is_said(place: Place):
    place.put({"/d/a.md": "x", "/d/e/b.md": "x", "/d2/c.md": "x", "/d.md": "x"})
    assert place.backend.delete(place.base + "/d").error is None
    assert place.paths(place.backend.glob("*.md", place.base or "/").matches) == ["/d.md", "/d2/c.md"]
    assert "not found" in (place.backend.delete(place.base + "/d").error or "")
    assert place.backend.ls(place.base + "/nowhere").entries == []
    path = place.base + "/missing.md"
    assert place.backend.read(path).error in [f"File '{p}' not found" for p in (path, path[len(place.base) :])]
    assert "not found" in (place.backend.edit(path, "a", "b").error or "")
    assert "not found" in (place.backend.delete(path).error or "")


GLOBS = {
    "*.md": ["/.h/c.md", "/a.md", "/d/b.md", "/d/e/c.md"], "/*.md": ["/a.md"],
    "**/*.md": ["/a.md", "/d/b.md", "/d/e/c.md"], "d/*.md": ["/d/b.md"], "d/**": ["/d/b.md", "/d/e/c.md", "/d/x.txt"],
    "*.{md,txt}": ["/.h/c.md", "/a.md", "/d/b.md", "/d/e/c.md", "/d/x.txt"],
    "?.txt": ["/d/x.txt"], "[ab].md": ["/a.md", "/d/b.md"], ".h/*": ["/.h/c.md"], ".dot": ["/.dot"], "nothing": [],
}  # fmt: skip
TREE = {"/a.md": "1", "/d/b.md": "2", "/d/e/c.md": "3", "/d/x.txt": "4", "/.h/c.md": "5", "/.dot": "6"}


def test_glob(place: Place):
    place.put(TREE)
    found = {pattern: place.backend.glob(pattern, place.base or "/") for pattern in GLOBS}
    assert {pattern: place.paths(one.matches) for pattern, one in found.items()} == GLOBS
    assert not [one for one in found.values() if one.error or one.truncated]
    assert all(info["size"] == 1 and not info["is_dir"] for one in found.values() for info in one.matches or ())
    assert place.paths(place.backend.glob("*.md", place.base + "/d").matches) == ["/d/b.md", "/d/e/c.md"]
    assert place.backend.glob("*", place.base + "/nowhere").matches == []
    refused = place.backend.glob("../*", place.base or "/")
    assert "traversal" in (refused.error or "") and not refused.matches
    assert "traversal" in (place.backend.grep("x", place.base or "/", "../*").error or "")


def test_grep(place: Place):
    place.put({"/a.md": "tea\na.*b\ngreen tea\n", "/d/b.txt": "no tea", "/d/c.md": "coffee\n"})

    def hits(*args: Any, **kwargs: Any) -> list[tuple[str, int, str]]:
        found = place.backend.grep(*args, **kwargs)
        assert found.error is None and found.matches is not None
        return [(m["path"][len(place.base) :], m["line"], m["text"]) for m in found.matches]

    base = place.base or "/"
    assert sorted(hits("tea", base)) == [("/a.md", 1, "tea"), ("/a.md", 3, "green tea"), ("/d/b.txt", 1, "no tea")]
    assert hits("a.*b", base) == [("/a.md", 2, "a.*b")]
    assert hits("tea", base, "*.txt") == hits("tea", base, "d/*.txt") == [("/d/b.txt", 1, "no tea")]
    assert hits("tea", place.base + "/d") == [("/d/b.txt", 1, "no tea")]
    assert hits("tea", place.base + "/d/b.txt") == [("/d/b.txt", 1, "no tea")]
    assert hits("tea", place.base + "/nowhere") == [] and len(hits("tea", base, max_count=2)) == 2
    assert place.backend.grep("tea", base, max_count=2).truncated
    assert not place.backend.grep("tea", base, max_count=3).truncated


def test_ls(place: Place):
    place.put(TREE)
    listed = place.backend.ls(place.base or "/")
    assert listed.error is None
    own = [e for e in listed.entries or () if e["path"] not in ("/box/", "/m/")]  # mounts
    assert [e["path"][len(place.base) :] for e in own] == ["/.dot", "/.h/", "/a.md", "/d/"]
    assert [e["is_dir"] for e in own] == [False, True, False, True]
    assert place.paths(place.backend.ls(place.base + "/d").entries) == ["/d/b.md", "/d/e/", "/d/x.txt"]
    assert place.paths(place.backend.ls(place.base + "/d/").entries) == ["/d/b.md", "/d/e/", "/d/x.txt"]


def test_bytes_come_back_as_they_were_and_so_do_two_megabytes(place: Place):
    blobs = {"/b.bin": bytes(range(256)), "/c.png": b"\x89PNG\r\n\x1a\n\0", "/t.md": "ü\r\n".encode(), "/e.bin": b""}
    done = place.backend.upload_files([(place.base + path, data) for path, data in blobs.items()])
    assert [(r.path, r.error) for r in done] == [(place.base + path, None) for path in blobs]
    back = place.backend.download_files([place.base + path for path in (*blobs, "/missing")])
    assert [r.content for r in back] == [*blobs.values(), None]
    assert [r.error for r in back] == [None] * 4 + ["file_not_found"]
    text = "".join(f"{n:07d} 日本\n" for n in range(140_000))
    place.put({"/big.md": text})
    assert place.data("/big.md") == text.encode()
    assert place.backend.edit(place.base + "/big.md", "0099999 ", "found ").occurrences == 1
    hits = place.backend.grep("found", place.base or "/").matches
    assert [m["line"] for m in hits or ()] == [100_000]


def test_async_methods_are_the_same(place: Place):
    path = place.base + "/t.md"

    async def all_of_them() -> AsyncIterator[Any]:
        backend = place.backend
        yield (await backend.awrite(path, "one\n")).error
        yield (await backend.aedit(path, "one", "two")).occurrences
        yield (await backend.aread(path)).file_data["content"]  # type: ignore[index]
        yield (await backend.aupload_files([(place.base + "/u", b"u")]))[0].error
        yield (await backend.adownload_files([path]))[0].content
        yield len((await backend.agrep("two", place.base or "/")).matches or ())
        yield place.paths((await backend.aglob("*.md", place.base or "/")).matches)
        yield "/t.md" in place.paths((await backend.als(place.base or "/")).entries)
        yield (await backend.adelete(path)).error

    async def collected() -> list[Any]:
        return [value async for value in all_of_them()]

    assert asyncio.run(collected()) == [None, 1, "two\n", None, b"two\n", 1, ["/t.md"], True, None]


def test_all_that_a_backend_can_do_is_passed_on():
    """A method that upstream adds, and that is not passed on, would say that it is not implemented."""
    theirs = vars(BackendProtocol).items()
    methods = {n for n, one in theirs if inspect.isfunction(one) and not inspect.iscoroutinefunction(one)} | {*EXTRAS}
    assert {"ls", "delete", "append_text"} <= methods
    assert {name for name in methods if not name.startswith("_")} <= vars(WrapperBackend).keys()


class Secretive(WrapperBackend):
    def read_refusal(self, path: str) -> str | None:
        return "Error: secret" if path.startswith("/secret") else None

    def write_refusal(self, path: str) -> str | None:
        return self.read_refusal(path)

    def shown(self, found: Sequence[Any]) -> list[Any]:
        return [one for one in found if not self.read_refusal(one["path"])]


CALLS: dict[str, Callable[[BackendProtocol, str], Any]] = {
    "read": lambda b, p: b.read(p).error, "download": lambda b, p: b.download_files([p, "/a.md"])[0].error,
    "write": lambda b, p: b.write(p, "x").error,
    "append": lambda b, p: b.append_text(p, "x"),  # type: ignore[attr-defined]
    "edit": lambda b, p: b.edit(p, "tea", "x").error, "delete": lambda b, p: b.delete(p).error,
    "upload": lambda b, p: b.upload_files([("/b.md", b"x"), (p, b"x")])[1].error,
}  # fmt: skip


@every_row("name", CALLS)
def test_what_is_refused_is_refused_by_every_method(tmp_path, name):
    disk = DiskBackend(tmp_path)
    disk.upload_files([("/secret/a.md", b"tea"), ("/a.md", b"tea")])
    told = {"read": "secret", "download": "file_not_found", "upload": "permission_denied"}.get(name, "Error: secret")
    assert CALLS[name](Secretive(disk), "/secret/a.md") == told
    assert disk.download_files(["/secret/a.md"])[0].content == b"tea"
    assert CALLS[name](Secretive(disk), "/a.md") is None
    changes = name not in ("read", "download")
    assert bool(CALLS[name](ReadOnlyFiles(disk), "/c.md" if changes else "/secret/a.md")) == changes
    assert not (tmp_path / "c.md").exists()


def test_what_is_not_shown_takes_no_place_in_a_search(tmp_path):
    disk = DiskBackend(tmp_path)
    disk.upload_files([(path, b"tea\ntea\n") for path in ("/a.md", "/secret/a.md", "/z.md")])
    backend = Secretive(disk)
    assert [one["path"] for one in backend.ls("/").entries or ()] == ["/a.md", "/z.md"]
    assert [one["path"] for one in backend.glob("*").matches or ()] == ["/a.md", "/z.md"]
    found = backend.grep("tea", max_count=3)
    assert ([one["path"] for one in found.matches or ()], found.truncated) == (["/a.md", "/a.md", "/z.md"], True)
    assert not backend.grep("tea", max_count=4).truncated and len(backend.grep("tea").matches or ()) == 4
