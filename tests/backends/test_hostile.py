"""No path or link points outside a directory on disk, and nothing in it can block."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.protocol import BackendProtocol
from langchain_core.messages import AIMessage

from deepnb import Session
from deepnb.backends import tree
from deepnb.backends.disk import DiskBackend
from deepnb.values.turn import ToolEnded
from tests.support.before import Before
from tests.support.scripted import Scripted
from tests.support.tables import every_row

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")

SECRET = "s3cret"


def content(backend: DiskBackend, path: str) -> str:
    data = backend.read(path).file_data
    assert data is not None
    return data["content"]


def layout(tmp: Path) -> tuple[Path, Path]:
    """A directory full of ways out, and the directory outside that they lead to."""
    root, outside = tmp / "root", tmp / "outside"
    (root / "dir/deep").mkdir(parents=True)
    (outside / "sub").mkdir(parents=True)
    (outside / "secret.md").write_text(SECRET)
    (outside / "sub/secret.md").write_text(SECRET)
    (root / "file.md").write_text("inside")
    (root / "dir/in.md").write_text("inside")
    links: dict[str, str | Path] = {
        "in": "file.md", "dotted": "./file.md", "absolute": root / "file.md", "below": "dir/in.md", "in_pipe": "pipe",
        "part": ".deepnb-part-0", "in_chain": "in", "dir_in": "dir", "out": outside / "secret.md", "dir_out": outside,
        "relative_out": "../outside/secret.md", "dir_relative_out": "../outside", "dangling": "nothing",
        "dangling_out": outside / "made.md", "loop": "pool", "pool": "loop", "self": "self", "chain": "chain2",
        "chain2": "chain3", "chain3": outside / "secret.md", "dir_chain": "dir_chain2", "dir_chain2": outside / "sub",
        "up": "..", "dot": ".", "slash": "/", "proc": "/proc/self/root", "cwd": "/proc/self/cwd",
        "dir/deep/out": outside / "secret.md", "dir/deep/dir_out": outside, "dir/deep/up": "../../..",
        "null": "/dev/null", "link.md ": outside / "secret.md",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    os.mkfifo(root / "dir/pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(root)
        listening.bind("socket")
        os.chdir(here)
    if os.geteuid() == 0:
        os.mknod(root / "device", 0o666 | 0o020000, os.makedev(1, 5))
    else:
        os.mkfifo(root / "device")
    return root, outside


PATHS = [
    # ways up
    "..", "/..", "/../", "/../outside/secret.md", "/dir/../../outside/secret.md", "/../root/file.md", "/dir/..",
    "/dir/../file.md", "/dir/deep/../../../outside/secret.md", "../outside/secret.md", "dir/../../outside/secret.md",
    "/..\\outside\\secret.md", "..\\outside\\secret.md", "/dir\\..\\..\\outside\\secret.md", "/./../outside/secret.md",
    # other spellings of a path, and absolute ones
    "", ".", "/.", "/./file.md", "/dir/./in.md", "//file.md", "//", "///", "/dir//in.md", "file.md", "dir/in.md",
    "//{outside}/secret.md", "file://{outside}/secret.md", "\\\\host\\share\\x", "C:\\x", "c:/x",
    # names
    "~", "/~", "~/x", "/~root/x", "/~/x", "/dir/~x", "/a\0b", "/\0", "/file.md\0.png", "/a\nb", "/a\rb", "/a\x1bb",
    "/a\x7f", "/a\u2028b", "/\udcff", "/dir/\ud800.md", "/.deepnb-part-x", "/" + "n" * 300, "/dir/" + "ü" * 200,
    "/" + "a/" * 101 + "x", "/" + "/".join(["deep"] * 5000), "/" + "x" * 100_000,
    # links
    "/dotted", "/absolute", "/below", "/in_pipe", "/part", "/in_chain", "/dir_in/in.md", "/dir_in/new.md", "/out", "/dir_out/secret.md", "/dir_out/new.md", "/dir_out/sub/secret.md",
    "/dir_out/new/new.md", "/relative_out", "/dir_relative_out/secret.md", "/dir_relative_out/new.md", "/dangling",
    "/dangling_out", "/dangling/x.md", "/loop", "/loop/x", "/self", "/self/self/x", "/chain", "/dir_chain/secret.md",
    "/dir_chain/new.md", "/up/outside/secret.md", "/up/new.md", "/dot/file.md", "/dot/dot/out", "/slash/etc/hostname",
    "/slash{outside}/secret.md", "/proc{outside}/secret.md", "/cwd/x.md", "/dir/deep/out", "/dir/deep/dir_out/secret.md",
    "/dir/deep/dir_out/new.md", "/dir/deep/up/outside/new.md", "/null", "/link.md ",
    # what is no file
    "/pipe", "/dir/pipe.md", "/pipe/x", "/socket", "/device", "/file.md/x.md", "/file.md/", "/in/x.md",
    # our own
    "/.deepnb/lock",
]  # fmt: skip


def state(at: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for here, folders, files in os.walk(at):
        for name in (*folders, *files):
            path = Path(here, name)
            kind = path.lstat()
            content = path.read_text() if path.is_file() and not path.is_symlink() else None
            found[str(path.relative_to(at))] = (kind.st_mode, kind.st_nlink, content)
    return found


OPERATIONS: dict[str, Callable[[BackendProtocol, str], Any]] = {
    "read": lambda b, p: b.read(p), "write": lambda b, p: b.write(p, "x"), "edit": lambda b, p: b.edit(p, SECRET, "x"),
    "edit inside": lambda b, p: b.edit(p, "inside", "x"), "upload": lambda b, p: b.upload_files([(p, b"x")])[0],
    "download": lambda b, p: b.download_files([p])[0], "delete": lambda b, p: b.delete(p), "ls": lambda b, p: b.ls(p),
    "glob": lambda b, p: b.glob("*", p), "grep": lambda b, p: b.grep(SECRET, p),
}  # fmt: skip
SEARCHES = ("ls", "glob", "grep")


def test_no_path_leads_anywhere(tmp_path):
    """Each of the paths through each operation: refused in one line, nothing read, nothing changed."""
    root, outside = layout(tmp_path)
    backend = DiskBackend(root)
    before = state(root), state(outside)
    assert len(PATHS) > 90 and len(set(PATHS)) == len(PATHS)
    for template in PATHS:
        path = template.replace("{outside}", str(outside))
        for name, operation in OPERATIONS.items():
            result = operation(backend, path)
            where = f"{name} {path[:80]!r}: {str(result)[:200]}"
            nothing = name in SEARCHES and not (getattr(result, "entries", None) or getattr(result, "matches", None))
            assert result.error or nothing, where
            assert SECRET not in str(result).replace(f"'{SECRET}'", ""), where
            assert "\n" not in (result.error or ""), where
            assert str(tmp_path) not in (result.error or "").replace(path, ""), where
            assert len(result.error or "") < 400, where
    assert (state(root), state(outside)) == before


def test_a_link_to_a_file_beside_it_is_read_and_never_written(tmp_path):
    """`AGENTS.md -> CLAUDE.md`, as many projects have it."""
    root, outside = layout(tmp_path)
    backend = DiskBackend(root)
    before = state(root), state(outside)
    assert content(backend, "/in") == "inside" and backend.download_files(["/in"])[0].content == b"inside"
    refused = "Error writing file '/in': it is a link to file.md, which is only read here"
    assert backend.write("/in", "x").error == refused
    for name in ("edit inside", "upload", "delete", "ls"):
        assert OPERATIONS[name](backend, "/in").error, name
    assert (state(root), state(outside)) == before
    assert backend.edit("/file.md", "inside", "more inside").error is None
    assert content(backend, "/in") == "more inside" and (root / "in").is_symlink()


Swap = Callable[[Path, Path], None]


def raced(place: Path, monkeypatch: Any, name: str, path: str, swap: Swap, at: int) -> int:
    """Do an operation with something swapped just before system call number `at`; gives how many calls there were."""
    root, outside = place / "root", place / "outside"
    for top in (root / "d", outside):
        (top / "e").mkdir(parents=True)
        for folder in (top, top / "e"):
            (folder / "f.md").write_text(f"{SECRET}\n" if top == outside else "inside")
    (root / "file.md").write_text("inside")
    (root / "in").symlink_to("file.md")
    before = state(outside)
    shim = Before(os, CALLS, at, lambda: swap(root, outside))
    with monkeypatch.context() as patch:
        patch.setattr(tree, "os", shim)
        result = OPERATIONS[name](DiskBackend(root), path)
    assert state(outside) == before, (at, result)
    assert SECRET not in str(result).replace(f"'{SECRET}'", ""), (at, result)
    return shim.calls


@every_row("swapped", ["in", "file.md"])
@every_row("name", [n for n in OPERATIONS if n not in SEARCHES])
def test_a_link_or_what_it_names_swapped_for_a_link_outside(tmp_path, monkeypatch, swapped, name):
    def swap(root: Path, outside: Path) -> None:
        os.unlink(root / swapped)
        os.symlink(outside / "f.md", root / swapped)

    at, calls = 0, 0
    while at <= calls:
        at += 1
        calls = raced(tmp_path / str(at), monkeypatch, name, "/in", swap, at)
    assert calls >= 2


def test_an_absolute_path_of_this_machine_is_one_inside(tmp_path):
    root, outside = layout(tmp_path)
    backend, path = DiskBackend(root), f"{outside}/secret.md"
    assert backend.read(path).error == f"File '{path}' not found" and backend.write(path, "x").error is None
    assert (outside / "secret.md").read_text() == SECRET and (root / path[1:]).read_text() == "x"


def test_links_pipes_and_odd_names_are_not_listed(tmp_path):
    root, _ = layout(tmp_path)
    (root / "back\\slash").write_text(SECRET)
    (root / "line\nend").write_text(SECRET)
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text(SECRET)
    (root / ".deepnb-part-0").write_text(SECRET)
    backend = DiskBackend(root)
    assert [e["path"] for e in backend.ls("/").entries or ()] == ["/dir/", "/file.md"]
    for pattern in ("*", "**", "**/*", ".*"):
        found = backend.glob(pattern)
        expected = [] if pattern == ".*" else ["/dir/in.md", "/file.md"]
        assert [m["path"] for m in found.matches or ()] == expected, pattern
        assert not found.truncated
    assert backend.grep(SECRET).matches == [] and backend.grep(SECRET).error is None
    assert [m["path"] for m in backend.grep("inside").matches or ()] == ["/dir/in.md", "/file.md"]


def test_deleting_a_directory_takes_its_links_and_not_what_they_point_to(tmp_path):
    root, outside = layout(tmp_path)
    (root / "dir/back").symlink_to(root)
    before = state(outside)
    assert DiskBackend(root).delete("/dir").error is None
    assert not (root / "dir").exists() and (root / "file.md").exists() and state(outside) == before


CALLS = {"open", "stat", "mkdir", "unlink", "replace", "rename", "scandir", "listdir", "lstat", "fdopen", "readlink"}


@every_row("depth", ["", "/e"])
@every_row("name", OPERATIONS)
def test_a_swap_before_any_system_call_leads_nowhere(tmp_path, monkeypatch, name, depth):
    """The race run by hand: a directory on the way becomes a link before the first, second, ... call.

    A deletion is safe from what happened before the directory was looked at, in the second call.
    """

    def swap(root: Path, outside: Path) -> None:
        os.rename(root / "d", root / "away")
        os.symlink(outside, root / "d")

    at, calls, path = 0, 0, f"/d{depth}" + ("" if name in SEARCHES else "/f.md")
    while at <= (1 if name == "delete" else calls):
        at += 1
        calls = raced(tmp_path / str(at), monkeypatch, name, path, swap, at)
    assert calls >= 2


class Folding:
    """`os` on a disk where names differ in case only by spelling, as on macOS and Windows."""

    def __init__(self) -> None:
        self.real = {name: getattr(os, name) for name in ("stat", "open", "mkdir", "unlink", "replace")}

    def found(self, path: Any, fd: int | None) -> str:
        folder, name = os.path.split(path)
        folder = self.found(folder, fd) if folder not in ("", "/") else folder
        try:
            listed = os.listdir(folder or fd)
        except OSError:
            listed = []
        return os.path.join(folder, next((n for n in listed if n.lower() == name.lower()), name))

    def __getattr__(self, name: str) -> Any:
        if name not in self.real:
            return getattr(os, name)

        def folded(path: Any, *args: Any, dir_fd: int | None = None, **kwargs: Any) -> Any:
            return self.real[name](self.found(path, dir_fd), *args, dir_fd=dir_fd, **kwargs)

        return folded if name in ("stat", "open", "mkdir", "unlink") else self.real[name]


def test_another_spelling_of_a_name_is_not_another_file_where_case_is_folded(tmp_path, monkeypatch):
    (tmp_path / "dir").mkdir()
    (tmp_path / "AGENTS.md").write_text(SECRET)
    (tmp_path / "dir/a.md").write_text(SECRET)
    folding = Folding()
    monkeypatch.setattr(tree, "os", folding)
    assert folding.stat("agents.MD", dir_fd=os.open(tmp_path, os.O_RDONLY)).st_size == len(SECRET)
    backend = DiskBackend(tmp_path)
    for path in ("/agents.md", "/AGENTS.MD", "/Agents.md", "/DIR/a.md", "/dir/A.md"):
        for name, operation in OPERATIONS.items():
            result = operation(backend, path)
            assert result.error or (name in SEARCHES and not (getattr(result, "matches", None))), (name, path, result)
    assert backend.read("/AGENTS.md").error is None and backend.write("/dir/a.md", "x").error is None
    assert backend.write("/dir/B.md", "x").error is None and (tmp_path / "AGENTS.md").read_text() == SECRET


@every_row(
    ("name", "fits"),
    [("a.md", True), ("CON", False), ("con.txt", False), ("com1", False), ("console", True), ("a.", False),
     ("a ", False), ("a:b", False), ("a.md:stream", False), ("a?", False), ("a*", False), ("日本.md", True)],
)  # fmt: skip
def test_names_on_windows(name, fits):
    assert (tree.unfit(name, windows=True) is None) == fits and tree.unfit(name, windows=False) is None


# -- no spelling of a path, and no link, takes a tool's call out of a mounted directory or past its approval


SPELLINGS = [
    "/box/../outside/secret.md", "/box/dir/../../outside/secret.md", "/box/..", "../outside/secret.md",
    "/box/./file.md", "/box//file.md", "//box/file.md", "/box/dir/", "box/file.md", "/Box/file.md",
    "/box/%2e%2e/outside/secret.md", "/box/..%2foutside%2fsecret.md", "/box/\uff0e\uff0e/outside/secret.md",
    "/box/\u2024\u2024/secret.md", "/box/dir\u2215..\u2215..\u2215outside\u2215secret.md", "/box{outside}/secret.md",
    "{outside}/secret.md", "file://{outside}/secret.md", "~/secret.md", "/box/~/secret.md", "C:\\secret.md",
    "/box/C:/secret.md", "/box\\..\\outside\\secret.md", "/box/dir\\..\\..\\outside\\secret.md", "/box/file.md\0.png",
    "/box/a\nb", "/box/" + "n" * 300, "/box/" + "d/" * 500 + "x", "/box/out", "/box/dir_out/secret.md",
    "/box/dir/deep/up/outside/secret.md", "/box/dangling_out",
]  # fmt: skip
TOOLS: dict[str, dict[str, Any]] = {
    "read_file": {}, "write_file": {"content": "x"}, "edit_file": {"old_string": SECRET, "new_string": "x"},
    "delete": {}, "ls": {}, "glob": {"pattern": "*"}, "grep": {"pattern": SECRET, "output_mode": "content"},
}  # fmt: skip
WRITES = ("write_file", "edit_file", "delete")


def kept(at: Path) -> dict[str, Any]:
    return {name: one for name, one in state(at).items() if name.split("/")[0] != ".deepnb"}


def calls(tool: str, paths: list[str]) -> list[AIMessage]:
    """One message that reads all; of several writes to one file in one message none is made, so each has its own."""
    key = "path" if tool in ("ls", "glob", "grep") else "file_path"
    made = [{"name": tool, "args": {key: p, **TOOLS[tool]}, "id": f"c{n}"} for n, p in enumerate(paths)]
    return [AIMessage(content="", tool_calls=some) for some in ([[one] for one in made] if tool in WRITES else [made])]


def results(s: Session) -> str:
    return "\n".join(str(e.result) for e in s.turns[-1].events if isinstance(e, ToolEnded))


@pytest.mark.slow
@every_row("tool", TOOLS)
def test_no_spelling_leads_out_of_a_mount_or_past_a_card(tmp_path: Path, tool: str):
    root, outside = layout(tmp_path)
    paths = [one.replace("{outside}", str(outside)) for one in SPELLINGS]
    assert len(set(paths)) == 32
    asked = calls(tool, [*paths, "/box/file.md"])
    s = Session(model=Scripted(answers=[*asked, "done", *asked, "done"]))
    s.mount("/box", f"disk:{root}")
    before = kept(root), kept(outside)
    s.run("go")
    assert bool(s.asked) == (tool in WRITES)
    while s.asked:
        list(s.resume([one.reject("no") for one in s.asked]))
    assert s.text == "done"
    assert (kept(root), kept(outside)) == before, "written by a call that the user was not asked about"
    assert SECRET not in results(s).replace(f"'{SECRET}'", "")
    if tool not in WRITES:
        assert len(s.turns[0].events) >= 33
        return
    s.run("go")
    while s.asked:
        list(s.resume([one.approve() for one in s.asked]))
    assert kept(outside) == before[1] and SECRET not in results(s).replace(f"'{SECRET}'", "")
    assert (kept(root) != before[0]) == (tool in ("write_file", "delete")), "the call that may was made"


@every_row("what", ["file", "directory", "file inside", "directory inside"])
@every_row("tool", WRITES)
def test_what_became_a_link_while_its_card_waited_is_not_written(tmp_path: Path, tool: str, what: str):
    root, outside = layout(tmp_path)
    for folder in (outside, root / "twin"):
        folder.mkdir(exist_ok=True)
        (folder / "in.md").write_text(SECRET)
    s = Session(model=Scripted(answers=[*calls(tool, ["/box/dir/in.md"]), "done"]))
    s.mount("/box", f"disk:{root}")
    s.run("go")
    assert len(s.asked) == 1
    path = root / "dir" / ("in.md" if what.startswith("file") else "")
    os.rename(path, root / "away")
    target = outside if what == "directory" else outside / "secret.md" if what == "file" else root / "file.md"
    os.symlink(root / "twin" if what == "directory inside" else target, path)
    before = kept(root), kept(outside)
    while s.asked:
        list(s.resume([one.approve() for one in s.asked]))
    assert (kept(root), kept(outside)) == before and SECRET not in results(s).replace(f"'{SECRET}'", "")
