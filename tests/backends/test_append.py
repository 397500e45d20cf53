"""Adding to the end of a file: on every backend, in a run and outside one, without writing it again."""

import pickle
from pathlib import Path

from deepagents.backends import FilesystemBackend
from langchain.agents.middleware import AgentMiddleware

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.mounts import MountedBackend
from deepnb.backends.wrapper import SplitBackend
from deepnb.engine.file_extras import append_text
from tests.support.scripted import Scripted
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


def test_the_rest_of_a_file_on_a_disk_is_not_touched(tmp_path: Path):
    disk = DiskBackend(tmp_path)
    disk.write("/a.md", "x" * 1_000)
    before = (tmp_path / "a.md").stat().st_ino
    assert disk.append_text("/a.md", "y") is None
    assert (tmp_path / "a.md").stat().st_ino == before
    assert text_of(disk, "/a.md") == "x" * 1_000 + "y"


def test_a_disk_says_why_it_does_not_add(tmp_path: Path):
    disk = DiskBackend(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert "directory" in str(disk.append_text("/folder", "x")).lower()
    assert "link" in str(disk.append_text("/link", "x"))
    assert disk.append_text("/../out.md", "x")
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
    assert lines[:2] == ["outside", "in a run"]
    assert lines[2].startswith("again [redacted")
    s.rewind(0)
    assert s.files[HISTORY] == "outside\n"


def test_a_checkpoint_holds_what_was_added_and_not_the_file():
    s = Session(model=Scripted(answers=["ok"]))
    s.files[HISTORY] = "x" * 200_000
    sizes = []
    for _ in range(6):
        before = len(pickle.dumps(list(s.checkpointer.list(s.config))))
        append_text(s.backend, HISTORY, "a line\n")
        sizes.append(len(pickle.dumps(list(s.checkpointer.list(s.config)))) - before)
    assert max(sizes) < 50_000
    assert s.files[HISTORY].endswith("xx" + "a line\n" * 6)


def test_only_records_are_added_to_past_the_guard():
    s = Session(model=Scripted(answers=["ok"]))
    assert "not a record" in str(append_text(s.backend, "/AGENTS.md", "x"))
    assert "/AGENTS.md" not in s.files
