"""Adding to the end of a file, without writing it again; and lines, which are the same however they end."""

import pickle
import re
from pathlib import Path

from deepagents.backends import FilesystemBackend
from langchain.agents.middleware import AgentMiddleware

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.mounts import MountedBackend
from deepnb.backends.wrapper import SplitBackend
from deepnb.engine.file_extras import append_text
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

HISTORY = "/conversation_history/main.md"


def text_of(backend, path: str) -> str:
    return str(backend.download_files([path])[0].content, "utf-8")


@every_row("kind", ["disk", "mounted", "split", "upstream"])
def test_what_is_added_stands_at_the_end(tmp_path: Path, kind: str):
    disk = DiskBackend(tmp_path)
    backend = {
        "disk": disk,
        "mounted": MountedBackend(default=DiskBackend(tmp_path / "home"), routes={"/deep/in/": disk}),
        "split": SplitBackend(DiskBackend(tmp_path / "home"), disk, lambda path: path.startswith("/deep/")),
        "upstream": FilesystemBackend(tmp_path, virtual_mode=True),
    }[kind]
    path = "/deep/in/茶.md"
    for part in ("one\n", "", "茶を飲む 🍵\r\n", "no end"):
        assert append_text(backend, path, part) is None
    assert text_of(backend, path) == "one\n茶を飲む 🍵\r\nno end"


def test_a_disk_is_added_to_in_place_or_says_why_not(tmp_path: Path):
    disk = DiskBackend(tmp_path)
    disk.write("/a.md", "x" * 1_000)
    before = (tmp_path / "a.md").stat().st_ino
    assert disk.append_text("/a.md", "y") is None and (tmp_path / "a.md").stat().st_ino == before
    assert text_of(disk, "/a.md") == "x" * 1_000 + "y"
    disk = DiskBackend(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert "directory" in str(disk.append_text("/folder", "x")).lower()
    assert "link" in str(disk.append_text("/link", "x")) and disk.append_text("/../out.md", "x")
    assert append_text(MountedBackend(default=disk, routes={}), "/link", "x")


class Writes(AgentMiddleware):
    def __init__(self) -> None:
        super().__init__()
        self.tools = []
        self.session: Session | None = None
        self.read: list[str] = []

    def before_model(self, state, runtime):
        append_text(self.session.backend, HISTORY, "in a run\n")
        self.read.append(text_of(self.session.backend, HISTORY))


def test_the_kernels_state_is_added_to_in_a_run_and_outside_one():
    writes = Writes()
    s = Session(model=Scripted(answers=["ok"]), middleware=[writes])
    writes.session = s
    assert append_text(s.backend, HISTORY, "outside\n") is None
    s.run("a")
    assert writes.read == ["outside\nin a run\n"]
    assert append_text(s.backend, HISTORY, "again sk-ant-api03-" + "a1B2" * 23 + "-abcdefAA\n") is None
    lines = s.files[HISTORY].splitlines()
    assert lines[:2] == ["outside", "in a run"] and lines[2].startswith("again [redacted")
    s.rewind(0)
    assert s.files[HISTORY] == "outside\n"


def test_a_checkpoint_holds_what_was_added_and_only_records_are_added_to():
    s = Session(model=Scripted(answers=["ok"]))
    s.files[HISTORY] = "x" * 200_000
    sizes = []
    for _ in range(6):
        before = len(pickle.dumps(list(s.checkpointer.list(s.config))))
        append_text(s.backend, HISTORY, "a line\n")
        sizes.append(len(pickle.dumps(list(s.checkpointer.list(s.config)))) - before)
    assert max(sizes) < 50_000 and s.files[HISTORY].endswith("xx" + "a line\n" * 6)
    s = Session(model=Scripted(answers=["ok"]))
    assert "not a record" in str(append_text(s.backend, "/AGENTS.md", "x")) and "/AGENTS.md" not in s.files


TEXTS = {
    "line feeds": "one\ntwo\nthree\nfour\n", "both": "one\r\ntwo\r\nthree\r\nfour\r\n",
    "returns": "one\rtwo\rthree\rfour\r", "mixed": "one\r\ntwo\nthree\r\nfour",
    "what ends no line, and private characters": "o\uf8f0ne\n\uf8f6tw\u2028o\nth\x0cree\nfo\uf8f7ur\n",
    "what ends no line": "o\x0cne\ntw\u2028o\nth\x0bree\nfo\x85ur\n",
    "what ends no line, and both": "o\x1cne\r\ntw\u2029o\r\nthree\x1d\r\nfo\x85ur\r\n",
}  # fmt: skip
PLACES = ("/a.txt", "/AGENTS.md", "/w/a.txt")


@every_row("kind", TEXTS)
@every_row("path", PLACES)
def test_what_is_shown_can_be_edited_and_found(kind: str, path: str, tmp_path: Path) -> None:
    text = TEXTS[kind]
    lines = [line for line in re.split(r"\r\n?|\n", text) if line]
    old, new = "\n".join(lines[1:3]), "zwei\ndrei"
    answers = [
        call("read_file", file_path=path, offset=1, limit=2),
        call("grep", pattern=lines[2], path=path, output_mode="content"),
        call("edit_file", file_path=path, old_string=old, new_string=new),
        "done",
    ]
    s = Session(model=Scripted(answers=answers), approve={"edit_file": "allow"})
    (tmp_path / "w").mkdir(exist_ok=True)
    s.mount("/w", f"disk:{tmp_path / 'w'}")
    assert s.backend.upload_files([(path, text.encode())])[0].error is None
    s.run("go")
    read, found, _ = (m.text for m in s.options.model.requests[-1] if m.type == "tool")
    assert read.startswith("@@ lines 2-3 of 4 |") and read.endswith(f"@@\n{old}")
    assert lines[2] in found and (kind == "returns" or "3: " in found)
    ends = re.findall(r"\r\n?|\n|$", text)
    changed = [lines[0], "zwei", "drei", lines[3]]
    if kind != "mixed":
        assert s.files[path] == "".join(line + end for line, end in zip(changed, ends, strict=False))
    assert re.split(r"\r\n?|\n", s.files[path])[:4] == changed
