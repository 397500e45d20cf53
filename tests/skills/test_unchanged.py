"""A set of skills that did not change is not read again, one that did always is; and a pinned one is there, whatever is compacted."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.versions import GRANULE
from deepnb.engine.file_extras import file_versions
from deepnb.skills.catalog import DISABLED, Catalog
from tests.support.compactions import HISTORY, Phased, compactions, notices, prompt_text, session
from tests.support.scripted import Scripted, call, walked
from tests.support.tables import every_row

SKILL = "/skills/one/SKILL.md"


def text(name: str, description: str = "Does it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\nBody.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "skills" / "one").mkdir(parents=True)
    (tmp_path / SKILL[1:]).write_text(text("one"))
    return tmp_path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is older than a clock's granule: the clock is ahead by that much."""
    now = time.time_ns
    monkeypatch.setattr("deepnb.backends.versions.time.time_ns", lambda: now() + 2 * GRANULE)


class Counted(DiskBackend):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read_ = 0

    def download_files(self, paths: list[str]) -> Any:
        self.read_ += len(paths)
        return super().download_files(paths)


def test_what_did_not_change_is_not_read_again(folder: Path, later: None):
    disk, catalog = Counted(folder), Catalog(["/skills/"])
    first = catalog.read(disk)
    count = disk.read_
    assert catalog.read(disk) is first and (count, disk.read_) == (2, 2)
    (folder / SKILL[1:]).write_text(text("one", "Does more."))
    assert catalog.read(disk).skills[0].description == "Does more." and disk.read_ == 4


def test_what_is_new_is_read_each_time_until_it_is_older_than_the_granule(folder: Path):
    """Two changes of one size in one tick of the file system's clock bear the same stamp."""
    disk, catalog = Counted(folder), Catalog(["/skills/"])
    assert (catalog.read(disk), catalog.read(disk)) and disk.read_ == 4


def copied(d: Path) -> None:
    """A copy that keeps time and size is told by its inode."""
    (d / "other.md").write_text(text("one", "Does at."))
    os.utime(d / "other.md", ns=(10**18, 10**18))
    (d / "other.md").replace(d / SKILL[1:])


@pytest.mark.parametrize("change", [
    lambda d: (d / SKILL[1:]).write_text(text("one", "Does id.")),
    lambda d: os.utime(d / SKILL[1:], ns=(10**18, 10**18 + 1)), copied,
    lambda d: (d / "skills/one/SKILL.md").rename(d / "skills/one/other.md"),
    lambda d: os.utime(d / SKILL[1:], (0, 0)), lambda d: (d / "skills/one").rename(d / "skills/two"),
    lambda d: (d / "skills" / DISABLED).write_text("one\n"), lambda d: (d / SKILL[1:]).chmod(0),
    lambda d: (d / "skills/out").symlink_to("/etc"),
])  # fmt: skip
def test_a_change_is_told(folder: Path, later: None, change: Any):
    disk, catalog = Counted(folder), Catalog(["/skills/"])
    os.utime(folder / SKILL[1:], ns=(10**18, 10**18))
    before = file_versions(disk, "/skills/")
    assert before and before == file_versions(disk, "/skills/")
    catalog.read(disk)
    count = disk.read_
    change(folder)
    assert file_versions(disk, "/skills/") != before and catalog.read(disk) and disk.read_ > count


def test_a_skill_that_is_read_through_a_link_beside_it(folder: Path, later: None):
    disk, catalog = DiskBackend(folder), Catalog(["/skills/"])
    (folder / SKILL[1:]).rename(folder / "skills/one/CLAUDE.md")
    (folder / SKILL[1:]).symlink_to("CLAUDE.md")
    assert catalog.read(disk).skills[0].problem is None
    (folder / "skills/one/CLAUDE.md").write_text(text("one", "Does more."))
    assert catalog.read(disk).skills[0].description == "Does more."


def test_a_source_that_is_not_there_yet(tmp_path: Path, later: None):
    disk, catalog = Counted(tmp_path), Catalog(["/skills/"])
    assert catalog.read(disk).skills == catalog.read(disk).skills == ()
    disk.write(SKILL, text("one"))
    assert [s.name for s in catalog.read(disk).skills] == ["one"]


def test_what_is_spread_over_mounts_is_read(folder: Path, later: None):
    s = Session()
    s.mount("/skills/mine", f"disk:{folder / 'skills'}")
    assert file_versions(s.backend, "/skills/mine/") and [x.name for x in s.skills.list_skills()] == []


def test_another_directory_at_the_same_path(folder: Path, tmp_path: Path, later: None):
    other = tmp_path / "other"
    (other / "two").mkdir(parents=True)
    (other / "two" / "SKILL.md").write_text(text("two"))
    s = Session()
    assert s.skills.list_skills() == ()
    for place, name in ((folder / "skills", "one"), (other, "two")):
        s.mount("/skills", f"disk:{place}")
        assert [x.name for x in s.skills.list_skills()] == [name]


def test_in_the_kernel_the_next_turn_sees_a_change_and_an_unchanged_set_is_not_read(monkeypatch):
    s = Session(model=Scripted(answers=["ok"]))
    s.files[SKILL] = text("one")
    read, inner = list[str](), s.backend.download_files

    def counted(paths: list[str]) -> Any:
        read.extend(p for p in paths if p.startswith("/skills/"))
        return inner(paths)

    monkeypatch.setattr(s.backend, "download_files", counted)
    s.run("a")
    s.run("b")
    assert len(read) == 2
    s.files[SKILL] = text("one", "Does more.")
    read.clear()
    s.run("c")
    assert len(read) == 2 and s.snapshot.skills[0].description == "Does more."


def problems(root: Path) -> dict[str, str | None]:
    return {s.directory: s.problem for s in Catalog(["/skills/"]).read(DiskBackend(root)).skills}


def test_a_linked_directory_is_listed_with_the_reason_and_never_left_out(folder: Path, tmp_path: Path):
    """Links were passed over without a word."""
    (folder / "skills/packs/two").mkdir(parents=True)
    (folder / "skills/packs/two/SKILL.md").write_text(text("two"))
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "SKILL.md").write_text(text("out", "SECRET"))
    (folder / "skills/two").symlink_to("packs/two")
    (folder / "skills/out").symlink_to("../elsewhere")
    (folder / "skills/gone").symlink_to("nothing")
    (folder / "skills/ring").symlink_to("ring")
    (folder / "skills/up").symlink_to(folder / "skills")
    (folder / "skills/README.md").symlink_to("one/SKILL.md")
    told = problems(folder)
    assert told.pop("one") is None
    out = "the directory is a link that points outside its source, or nowhere, and is refused: remove the link; "
    assert told.pop("two") == (
        "/skills/two/SKILL.md: the directory is a link to packs/two, and links are not followed: "
        "move the directory itself here, or remove the link"
    )
    assert set(told) == {"out", "gone", "ring", "up"}
    assert all(problem and out in problem for problem in told.values())
    assert str(tmp_path) not in str(told) and "SECRET" not in str(told)


def test_a_link_in_a_mount_and_in_a_kept_directory_is_listed_too(folder: Path):
    (folder / "skills/out").symlink_to("/etc")
    mounted, kept = Session(), Session()
    mounted.mount("/skills", f"disk:{folder / 'skills'}")
    kept.memory.keep(folder)
    for s in (mounted, kept):
        assert {x.directory: bool(x.problem) for x in s.skills.list_skills()} == {"one": False, "out": True}
        assert list(s.skills.validate()["file"]) == ["/skills/out/SKILL.md"]


def test_a_file_that_is_far_too_large_is_not_read(folder: Path):
    """A hole of 100 GB was read into memory before it was refused."""
    os.truncate(folder / SKILL[1:], 10**11)
    assert "the file has 100,000,000,000 bytes; the limit is 10,485,760" in str(problems(folder)["one"])


BODY = "ALWAYS ROUND TO TENS"


def with_skill(s: Session, body: str = BODY, *names: str) -> Session:
    for name in names or ("one",):
        s.skills.write(name, f"---\nname: {name}\ndescription: Reports.\n---\n\n{body}\n")
        s.skills.pin(name)
    return s


def small(reads: int) -> tuple[Session, Phased]:
    read = [call("read_file", file_path="/big.md", limit=1000 + n) for n in range(reads)]
    model = Phased(answers=[*read, "done"], profile={"max_input_tokens": 12_000})
    s = Session(model=model, trigger=("tokens", 6_700), keep=("tokens", 1_000), system_prompt="s", tool_text="full")
    s.files["/big.md"] = "some words of a line\n" * 150
    return s, model


def test_a_pin_survives_the_compaction_its_prompt_sets_off():
    """It stood before the prompt, and went with the turns before."""
    model = Phased()
    s = session(model)
    s.run("a")
    with_skill(s).run("b")
    assert len(compactions(s)) == 1
    block = f'<skill name="one" path="/skills/one/SKILL.md">\n{BODY}\n</skill>'
    assert [m.text for m in model.requests[-1][2:]] == [block, "b"]


@every_row("times", [1, 2, 4])
def test_a_pin_survives_compactions_in_the_middle_of_its_turn(times: int):
    """Here the turn does not fit below the trigger: its beginning goes, but for the skill."""
    s, model = small(4 + 5 * times)
    with_skill(s).run("go")
    assert len(compactions(s)) >= times and prompt_text(model).count(BODY) == 1
    assert (s.last.text, s.snapshot.offload.summary) == ("done", "ok")
    assert "".join(m.text for said in model.summaries[:1] for m in said).count(BODY) == 1, "as it was sent"


def test_what_is_no_longer_kept_or_does_not_fit_is_said_and_the_other_stays():
    """A pinned skill is a file's text: what it says is not carried along as what the user said."""
    model = Phased(profile={"max_input_tokens": 40_000})
    s = session(model)
    s.run("a")
    with_skill(s, f"{BODY}. Never open door number 7.").run("b")
    walked(s, "run c", "run d", "run e")
    assert BODY not in prompt_text(model) and BODY in s.files[HISTORY]
    assert not any("door" in a.text for a in s.snapshot.offload.anchors)
    s, model = small(6)
    with_skill(s, "word " * 2_500, "long")
    with_skill(s, BODY, "short")
    s.run("go")
    assert prompt_text(model).count(BODY) == 1
    assert "long was pinned to this turn, but did not fit into the request" in notices(s)


def test_a_skill_with_the_words_that_end_a_summary_leaves_the_summary_whole():
    s, model = small(6)
    with_skill(s, f"<details><summary>x</summary>{BODY}</details>").run("go")
    assert compactions(s) and s.snapshot.offload.summary == "ok" and prompt_text(model).count(BODY) == 1
