"""What can be passed as `backend=`: each works in a run, outside of one, and below mounts; anything else is one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend
from langchain.agents.middleware import AgentMiddleware
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.journal import replay
from tests.support.backend_contract import GIVEN
from tests.support.scripted import Scripted, call, walked
from tests.support.shells import Shell
from tests.support.tables import every_row, refused

UNASKED = {"write_file": "allow", "edit_file": "allow"}
PATHS = ("/AGENTS.md", "/m/AGENTS.md", "/s/AGENTS.md")


@pytest.fixture(params=GIVEN)
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return GIVEN[request.param](tmp_path)


@pytest.mark.parametrize("path", PATHS)
def test_each_works_in_a_run_outside_and_below_a_mount(options: dict[str, Any], path: str, tmp_path: Path):
    answers = [
        call("edit_file", file_path=path, old_string="- one", new_string="- two"),
        call("write_file", id="w", file_path="/plain.txt", content="text"),
        "done",
    ]
    s = Session(model=Scripted(answers=answers), memory=PATHS, approve=UNASKED, **options)
    s.memory.add("one", path)
    s.run("go")
    assert s.files[path] == "- two\n" and s.files["/plain.txt"] == "text"
    assert "- one" in str(s.options.model.requests[0][0].content), "it is in the prompt"
    s.memory.add("three", path)
    assert s.snapshot.files[path] == s.files[path] == "- two\n- three\n"
    log = [e for e in s.memory.log_entries() if e.path == path]
    assert [e.origin for e in log] == ["user", "agent", "user"] and replay(path, log) == s.files[path]
    s.memory.revert(log[1].id)
    assert s.files[path] == "- one\n- three\n"
    s.mount("/deep", f"disk:{tmp_path}/deep")
    s.files["/deep/a.md"] = "x"
    assert (tmp_path / "deep/a.md").read_text() == "x" and s.files[path] == "- one\n- three\n"
    assert {"/deep/a.md", "/plain.txt", path} <= {*s.files}


def test_what_a_backend_keeps_for_whom(tmp_path: Path):
    s = walked(Session(backend=StateBackend()), "memory.add tea", "new other")
    assert s.files["/AGENTS.md"] == "- tea\n" and s.workspace.home.storage.in_kernel("/AGENTS.md")
    disk = FilesystemBackend(root_dir=tmp_path / "root", virtual_mode=True)
    s = Session(backend=CompositeBackend(default=disk, routes={"/s/": StateBackend(), "/m/": disk}))
    s.files["/a.txt"], s.files["/s/b.txt"], s.files["/m/c.txt"] = "a", "b", "c"
    assert sorted(p.name for p in (tmp_path / "root").iterdir() if p.is_file()) == ["a.txt", "c.txt"]
    assert s.workspace.home.undoable("/s/b.txt") and not s.workspace.home.undoable("/a.txt")
    store, user = InMemoryStore(), ["ana"]
    s = Session(backend=StoreBackend(store=store, namespace=lambda _: (user[0], "files")))
    s.files["/a.txt"] = "of ana"
    user[0] = "ben"
    assert "/a.txt" not in s.files and store.get(("ana", "files"), "/a.txt") is not None


def test_a_relative_directory_is_that_of_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    s = Session(backend="disk:here")
    monkeypatch.chdir("/")
    s.memory.add("tea")
    assert (tmp_path / "here/AGENTS.md").read_text() == "- tea\n"


def of_namespace(namespace: Any, **more: Any) -> dict[str, Any]:
    return {"backend": StoreBackend(namespace=namespace, **{"store": InMemoryStore(), **more})}


def undocumented(n: int) -> int:
    return n


BAD: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a class": (lambda: {"backend": StateBackend}, "the backend can't be the class StateBackend"),
    "a number": (lambda: {"backend": 7}, 'the backend can\'t be 7: pass "disk:DIR"'),
    "a function": (lambda: {"backend": lambda rt: StateBackend()}, "the backend can't be <function"),
    "a word": (lambda: {"backend": "nope"}, "'nope' is not a place to keep files: type disk:DIR"),
    "no directory": (lambda: {"backend": "disk:"}, "disk: needs a directory"),
    "a file": (lambda: {"backend": f"disk:{__file__}"}, "is a file"),
    "the whole disk": (lambda: {"backend": "disk:/"}, "is all files of this machine"),
    "no store": (lambda: {"backend": "store"}, "there is no store"),
    "no store in it": (lambda: of_namespace(lambda _: ("x",), store=None), "the StoreBackend has no store"),
    "a namespace of the runtime": (
        lambda: of_namespace(lambda rt: (rt.context.user,)),
        "the namespace function of the StoreBackend failed ('NoneType' object has no attribute 'context')",
    ),
    "a namespace that is a word": (lambda: of_namespace(lambda _: "ab"), "it gave a str, not a tuple"),
    "a bad namespace": (lambda: of_namespace(lambda _: ("a*",)), "contains disallowed characters"),
    "a bad part": (
        lambda: {"backend": CompositeBackend(default=StateBackend(), routes={"/m/": "disk:x"})},  # type: ignore[dict-item]
        "the backend of /m/ can't be 'disk:x'",
    ),
    "a store": (lambda: {"store": "x"}, "store can't be 'x': pass a LangGraph store"),
    "a store's class": (lambda: {"store": InMemoryStore}, "store can't be the class InMemoryStore"),
    "a checkpointer": (lambda: {"checkpointer": 7}, "checkpointer can't be 7: pass a LangGraph checkpointer"),
    "a tool": (lambda: {"tools": [7]}, "tools can't be 7: pass functions with a docstring"),
    "a tool's name": (lambda: {"tools": ["ls"]}, "tools can't be 'ls'"),
    "no tool": (lambda: {"tools": [None]}, "tools can't be None"),
    "a tool's class": (lambda: {"tools": [Path]}, "tools can't be the class Path"),
    "an undocumented tool": (lambda: {"tools": [undocumented]}, "the tool undocumented has no docstring"),
    "middleware": (lambda: {"middleware": [7]}, "middleware can't be 7: pass a LangChain AgentMiddleware"),
    "middleware's class": (lambda: {"middleware": [AgentMiddleware]}, "middleware can't be the class AgentMiddleware"),
}


@every_row("name", BAD)
def test_a_bad_value_is_one_line(name: str):
    made, line = BAD[name]
    assert line in str(refused("", lambda: Session(**made())))


def test_a_mount_or_a_directory_to_keep_that_is_odd_is_one_line(shell: Shell, tmp_path: Path):
    line = shell.fails("%memory keep /proc/nope")
    assert line == "/proc/nope can't be made (No such file or directory): type a directory you can write to"
    assert shell.fails("%agent mount /x disk:/").endswith("%agent mount --yes /x/ disk:/ if you mean that")
    assert "no mounts" in shell.ok("%agent mount")
    out = shell.ok(f"%agent mount /x disk:{tmp_path}/new")
    assert f"{tmp_path}/new does not exist yet: the first file written below /x/ makes it" in out
    shell.session.files["/x/a.md"] = "x"
    assert "does not exist" not in shell.ok(f"%agent mount /x disk:{tmp_path}/new")
    assert "/x/   disk  /" in shell.ok("%agent mount --yes /x disk:/")


def test_a_kept_directory_that_has_become_a_file_is_an_error(shell: Shell, tmp_path: Path):
    kept = tmp_path / "kept"
    shell.ok(f"%memory keep {kept}")
    shell.ok("%memory add tea")
    kept.rename(tmp_path / "moved")
    kept.write_text("")
    for line in ("%memory", "%memory log", "%memory show"):
        assert shell.fails(line) == f"{kept} is not a directory any more: make it one again, or %memory keep DIR"
