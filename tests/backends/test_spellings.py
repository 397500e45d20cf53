"""A law: no spelling of a path, and no link, takes a tool's call out of a mounted directory or past its approval."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from deepnb import Session
from deepnb.values.turn import ToolEnded
from tests.backends.test_hostile import SECRET, layout
from tests.backends.test_hostile import state as all_of
from tests.support.scripted import Scripted
from tests.support.tables import every_row

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")

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


def state(at: Path) -> dict[str, Any]:
    return {name: one for name, one in all_of(at).items() if name.split("/")[0] != ".deepnb"}


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
    before = state(root), state(outside)
    s.run("go")
    assert bool(s.asked) == (tool in WRITES)
    while s.asked:
        list(s.resume([one.reject("no") for one in s.asked]))
    assert s.text == "done"
    assert (state(root), state(outside)) == before, "written by a call that the user was not asked about"
    assert SECRET not in results(s).replace(f"'{SECRET}'", "")
    if tool not in WRITES:
        assert len(s.turns[0].events) >= 33
        return
    s.run("go")
    while s.asked:
        list(s.resume([one.approve() for one in s.asked]))
    assert state(outside) == before[1] and SECRET not in results(s).replace(f"'{SECRET}'", "")
    assert (state(root) != before[0]) == (tool in ("write_file", "delete")), "the call that may was made"


def to_outside(root: Path, outside: Path, what: str) -> None:
    path = root / "dir" / ("in.md" if what.startswith("file") else "")
    os.rename(path, root / "away")
    target = outside if what == "directory" else outside / "secret.md" if what == "file" else root / "file.md"
    os.symlink(root / "twin" if what == "directory inside" else target, path)


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
    to_outside(root, outside, what)
    before = state(root), state(outside)
    while s.asked:
        list(s.resume([one.approve() for one in s.asked]))
    assert (state(root), state(outside)) == before and SECRET not in results(s).replace(f"'{SECRET}'", "")
