"""Mounts: what may be typed, whose a path is, and namespaces that never see each other."""

import os
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.protocol import BackendProtocol
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from deepnb import DeepnbError, Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.mounts import Mount, MountedBackend, mount_all, mount_prefix, others_can_write, parse_mount
from deepnb.engine import files
from tests.support.backend_contract import kernel, mount, store
from tests.support.tables import every_row, refused

# -- what may be typed


@every_row(
    ("mode", "group", "others"),
    [(0o700, 1, False), (0o755, 1, False), (0o775, 0, False), (0o775, 1, True), (0o777, 0, True), (0o1777, 0, True)],
)
def test_who_can_write_to_a_directory(mode, group, others):
    """In the group of its owner's own number there is nobody else (`group` 0); in another there are others."""
    assert others_can_write(os.stat_result((0o040000 | mode, 0, 0, 1, 1000, 1000 + group, 0, 0, 0, 0))) == others


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_directory_that_others_can_write_to_is_read_only_and_a_line_says_so(tmp_path, shell):
    root = tmp_path / "d"
    root.mkdir()
    (root / "a.md").write_text("before")
    root.chmod(0o777)
    note = f"{root} is mounted read-only: others than its owner can write to it (`chmod go-w` takes that from them)"
    assert note in shell.ok(f"%agent mount /d disk:{root}")
    backend = shell.session.backend
    assert backend.download_files(["/d/a.md"])[0].content == b"before"
    for error in (backend.write("/d/b.md", "x").error, backend.delete("/d/a.md").error):
        assert str(error).endswith("directory d, so it is mounted read-only") and str(tmp_path) not in str(error)
    assert os.listdir(root) == ["a.md"] and Session(backend=f"disk:{root}").backend.notices == [note]
    root.chmod(0o755)
    assert note not in shell.ok(f"%agent mount /d disk:{root}")
    assert shell.session.backend.write("/d/b.md", "x").error is None


@every_row(("spec", "assistant", "space"), [
    ("store", None, ("filesystem",)), ("store", "a1", ("a1", "filesystem")), ("store:team", "a1", ("team",)),
    ("store:team/notes", None, ("team", "notes")),
])  # fmt: skip
def test_a_namespace(spec, assistant, space):
    kept = InMemoryStore()
    made = parse_mount(spec, base=Path(), store=kept, assistant_id=assistant)
    assert (made.kind, made.where) == ("store", "/".join(space))
    assert made.backend is not None and made.backend.write("/a.md", "x").error is None
    assert [item.namespace for item in kept.search(())] == [space]


def test_a_place_and_its_prefix_or_what_to_type_and_a_directory(tmp_path, monkeypatch):
    assert parse_mount("state", base=Path(), prefix="/m/") == Mount("/m/", "state", "", None)
    told = refused("", parse_mount, "store", base=Path())
    assert str(told) == "there is no store: pass one to Session(store=...), or type disk:DIR"
    refused("can't be part", parse_mount, "store", base=Path(), store=InMemoryStore(), assistant_id="me@x.org")
    assert mount_prefix("/memory") == mount_prefix("/memory/") == "/memory/"
    assert mount_prefix("/a/b") == "/a/b/"
    for bad in ("/", "", "memory", "/a/../b", "/..", "//", "/a//b", "/a\\b", "~/x", "/~", "/a\n"):
        refused(r"type", mount_prefix, bad)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    made = parse_mount("disk:notes/mine", base=tmp_path, prefix="/memory")
    assert (made.prefix, made.kind, made.where) == ("/memory/", "disk", str(tmp_path / "notes/mine"))
    assert isinstance(made.backend, DiskBackend)
    assert parse_mount("disk:~/x", base=tmp_path).where == str(tmp_path / "home/x")
    assert parse_mount(f" disk:{tmp_path}/a b ", base=Path("/")).where == f"{tmp_path}/a b"
    assert not list(tmp_path.iterdir()), "nothing is made before a file is"


BAD = {
    "": "is not a place to keep files: type disk:DIR, store, store:NAMESPACE or state",
    "./memory": "'./memory' is not a place to keep files: type disk:DIR",
    "sqlite:x": "is not a place to keep files", "state:x": "is not a place to keep files",
    "disk": "disk: needs a directory: type one, such as disk:./memory",
    "disk:": "disk: needs a directory", "disk:  ": "disk: needs a directory", "disk:a\0b": "disk: needs a directory",
    "disk:file.txt": "file.txt is a file: type its directory",
    "disk:file.txt/x": "file.txt is a file: type its directory",
    "disk:~nobody-of-this-name/x": "can't be mounted",
    "disk:" + "n" * 300: "can't be mounted (File name too long)",
    "store:": "can't be part of a store's namespace: type store:NAMESPACE with letters",
    "store:a//b": "can't be part of a store's namespace", "store:a/*": "'*' can't be part of a store's namespace",
    "store:a.b": "'a.b' can't be part of a store's namespace",
    "store:a b": "'a b' can't be part of a store's namespace",
    "store:langgraph": "'langgraph' can't be part of a store's namespace",
}  # fmt: skip


@every_row("spec", BAD)
def test_a_bad_one_is_one_line_that_says_what_to_type(tmp_path, spec):
    (tmp_path / "file.txt").write_text("x")
    assert BAD[spec] in str(refused("", parse_mount, spec, base=tmp_path, store=InMemoryStore()))


# -- whose a path is


def test_the_longest_prefix_has_the_path(tmp_path):
    inner, outer = mount("disk:inner", tmp_path), mount("disk:outer", tmp_path)
    backend = mount_all(kernel(), {"/a": outer, "/a/b/": inner})
    for path in ("/x.md", "/a/x.md", "/a/b/x.md", "/a/bc.md", "/ab/x.md"):
        assert backend.write(path, path).path == path
    assert {p.name: p.read_text() for p in (tmp_path / "outer").iterdir()} == {"x.md": "/a/x.md", "bc.md": "/a/bc.md"}
    assert {p.name: p.read_text() for p in (tmp_path / "inner").iterdir()} == {"x.md": "/a/b/x.md"}
    assert [e["path"] for e in backend.ls("/").entries] == ["/a/", "/ab/", "/x.md"]
    assert [e["path"] for e in backend.ls("/a").entries] == ["/a/b/", "/a/bc.md", "/a/x.md"]
    default = kernel()
    assert mount_all(default, {}) is default
    assert mount_all(default, {"/m": mount("state", tmp_path)}) is default
    with pytest.raises(DeepnbError, match=r"/m/s/ can't be state inside /m/"):
        mount_all(kernel(), {"/m": mount("disk:d", tmp_path), "/m/s": mount("state", tmp_path)})


def test_a_mount_is_neither_deleted_nor_crossed_by_links_and_dots(tmp_path):
    backend = mount_all(store(), {"/a/m": mount("disk:d", tmp_path)})
    backend.write("/a/x.md", "x")
    backend.write("/a/m/x.md", "x")
    assert backend.delete("/a/m").error == "Error deleting '/': it is the mounted directory itself"
    assert backend.delete("/a").error is None
    assert [m["path"] for m in backend.glob("*").matches] == ["/a/m/x.md"]
    backend = mount_all(DiskBackend(tmp_path / "a"), {"/m": mount("disk:b", tmp_path)})
    backend.write("/secret.md", "s3cret")
    backend.write("/m/x.md", "x")
    for path in ("/m/../secret.md", "/m/../../a/secret.md", "/./m/x.md", "//m/x.md", "/m//x.md", "/m/./x.md"):
        assert backend.read(path).error and backend.write(path, "x").error
        assert backend.download_files([path])[0].content is None


NAMES = st.sampled_from(["a", "b", "m", "n", ".h", "x.md", "y.txt", ".z"])
FILES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)), st.just("tea"), max_size=12
)
MOUNTS = st.sets(st.sampled_from(["/m", "/a/m", "/a", "/a/b/n", "/.h"]), max_size=3)
GLOBS = ["*", "**/*", "*.md", "/*.md", "a/*", "a/**/*.md", "*/x.md", "{a,m}/*", ".*", "m/*", "a/m/**"]
PATTERNS = st.sampled_from(GLOBS)
BASES = st.sampled_from(["/", "/a", "/a/", "/m", "/a/m", "/a/b", "/.h", "/nowhere"])


@example(
    mine={"/m/x.md": "tea"},
    hidden=dict.fromkeys(("/m/y.txt", "/m/x.md", "/m"), "tea"), at={"/m"}, pattern="**/*", base="/",
)  # fmt: skip
@example(mine={"/a": "tea", "/a/m/a": "tea"}, hidden={}, at={"/a/m"}, pattern="*", base="/a")
@example(mine={"/a": "tea", "/a/m/a": "tea"}, hidden={}, at={"/a/m"}, pattern="*.md", base="/a")
@example(mine={"/a": "tea", "/a/m/a": "tea"}, hidden={}, at={"/a/m"}, pattern="m/*", base="/a/")
@given(mine=FILES, hidden=FILES, at=MOUNTS, pattern=PATTERNS, base=BASES)
def test_mounts_answer_as_one_backend_with_the_files_that_can_be_read(mine, hidden, at, pattern, base):
    default, flat = store(), store()
    mounts = {path: Mount("", "store", "", store()) for path in at}
    backend = mount_all(default, mounts)
    for path in hidden:
        default.write(path, "tea hidden")
    for path in mine:
        assert bool(backend.write(path, "tea").error) == (path in at)
    for path in {*mine, *hidden}:
        read = backend.download_files([path])[0].content
        if read is not None and path not in at:
            flat.write(path, read.decode())

    def found(result: Any) -> list[str]:
        assert result.error is None
        return sorted(item["path"] for item in (result.matches or ()))

    assert found(backend.glob(pattern, base)) == found(flat.glob(pattern, base))
    assert found(backend.grep("tea", base, pattern)) == found(flat.grep("tea", base, pattern))
    assert found(backend.grep("tea", base)) == found(flat.grep("tea", base))
    cut, whole = backend.grep("tea", base, max_count=2), flat.grep("tea", base, max_count=2)
    assert (len(cut.matches or ()), cut.truncated) == (len(whole.matches or ()), whole.truncated)
    top = base.rstrip("/") + "/"
    inside = [path[len(top) :] for path in at if path.startswith(top)]
    below = {f"{top}{path.split('/')[0]}/" for path in inside}
    listed = {e["path"] for e in flat.ls(base).entries or ()}
    assert {e["path"] for e in backend.ls(base).entries or ()} == listed | below


def test_upstreams_composite_is_still_what_ours_mends(tmp_path):
    """When this fails upstream may have mended it, and `MountedBackend` can go."""
    from deepagents.backends import CompositeBackend

    default, box = store(), store()
    default.write("/m/hidden.md", "x")
    theirs, ours = (kind(default, {"/m/": box}) for kind in (CompositeBackend, MountedBackend))
    assert [m["path"] for m in theirs.glob("*").matches] == ["/m/hidden.md"] and ours.glob("*").matches == []


ASSISTANTS = [None, "a", "A", "aa", "filesystem", "a-b", "a_b", "a+", "x"]
SPECS = ["store", "store:a", "store:a/filesystem/x", "store:filesystem/filesystem", "store:aa/filesystem", "store:x_"]


def sqlite_store(tmp: Path) -> Any:
    sqlite = pytest.importorskip("langgraph.store.sqlite")
    import sqlite3

    made = sqlite.SqliteStore(sqlite3.connect(tmp / "store.db", check_same_thread=False, isolation_level=None))
    made.setup()
    return made


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return InMemoryStore() if request.param == "memory" else sqlite_store(tmp_path_factory.mktemp("store"))


WRITTEN = st.tuples(st.sampled_from(ASSISTANTS), st.sampled_from(SPECS), st.sampled_from(["/x.md", "/d/y.md", "/z"]))
WRITES = st.lists(WRITTEN, max_size=8)


@settings(max_examples=20)
@given(writes=WRITES)
def test_namespaces_never_see_each_other(kept, writes):
    places = {parse_mount(s, base=Path(), store=kept, assistant_id=a).where: (s, a) for s in SPECS for a in ASSISTANTS}
    backends = {w: parse_mount(s, base=Path(), store=kept, assistant_id=a).backend for w, (s, a) in places.items()}
    expected: dict[str, set[str]] = {where: set() for where in backends}
    for backend in backends.values():
        assert backend is not None
        for info in backend.glob("*").matches or ():
            backend.delete(info["path"])
    for assistant, spec, path in writes:
        where = parse_mount(spec, base=Path(), store=kept, assistant_id=assistant).where
        assert backends[where].write(path, f"tea of {where}").error is None
        expected[where].add(path)
    for where, backend in backends.items():
        assert {m["path"] for m in backend.glob("*").matches} == expected[where]
        found = {(m["path"], m["text"]) for m in backend.grep("tea").matches}
        assert found == {(p, f"tea of {where}") for p in expected[where]}
        tops = {p if p.count("/") == 1 else "/d/" for p in expected[where]}
        assert {e["path"] for e in backend.ls("/").entries} == tops
        got = backend.download_files(["/x.md"])[0].content
        assert got == (f"tea of {where}".encode() if "/x.md" in expected[where] else None)


def count_of(backend: BackendProtocol | None) -> int:
    assert backend is not None
    return len(backend.glob("*").matches or ())


@every_row("count", [99, 100, 101, 250])
def test_a_search_pages_through_all(monkeypatch, count):
    monkeypatch.setattr(files, "_PAGE", 70)
    kept = InMemoryStore()
    near = parse_mount("store:pages", base=Path(), store=kept).backend
    below = parse_mount("store:pages/below", base=Path(), store=kept).backend
    for backend in (near, below):
        backend.upload_files([(f"/{n}.md", b"x") for n in range(count)])
    assert count_of(near) == count_of(below) == count
    assert near.delete("/0.md").error is None and count_of(near) == count - 1 and count_of(below) == count
