"""Memory files joined in from the disk: one mount for each real directory, and nothing else of it touched."""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.wrapper import ChosenFiles
from deepnb.running.sources import Places, SourceMount, source, with_source, without_source
from tests.support.scripted import Scripted, call, prompt, sent, session, walked
from tests.support.tables import refused


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return project


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def on_disk(place: Path) -> dict[str, str]:
    files = (p for p in place.rglob("*") if p.is_file() and ".deepnb" not in p.parts)
    return {str(p.relative_to(place)): p.read_text() for p in files}


# -- where they stand


def test_two_files_of_one_directory_are_both_in_the_prompt_and_written_where_they_are(work: Path):
    put(work / "two/a.md", "- of a\n")
    put(work / "two/b.md", "- of b\n")
    edits = []
    for n in "ab":
        to = {"file_path": f"/sources/two/{n}.md", "old_string": f"of {n}", "new_string": f"of {n}, too"}
        edits.append(call("edit_file", id=f"c{n}", **to))
    s = session(*edits, "done")
    assert s.memory.add_source("two/a.md") == ("/sources/two/a.md",)
    assert s.memory.add_source("two/b.md") == ("/sources/two/b.md",)
    assert s.memory.sources == ("/AGENTS.md", "/sources/two/a.md", "/sources/two/b.md")
    assert list(s.workspace.home.storage.mounts) == ["/sources/two/"]
    s.run("go")
    assert "- of a" in prompt(s) and "- of b" in prompt(s)
    assert on_disk(work) == {"two/a.md": "- of a, too\n", "two/b.md": "- of b, too\n"}


def test_another_directory_of_the_same_name_stands_elsewhere(work: Path):
    for place in ("two", "x/two", "y/two"):
        put(work / place / "a.md", f"- of {place}\n")
    edit = call("edit_file", file_path="/sources/two-2/a.md", old_string="- of", new_string="- written in")
    s = session(edit, "done")
    paths = [s.memory.add_source(f"{place}/a.md") for place in ("two", "x/two", "y/two")]
    assert paths == [("/sources/two/a.md",), ("/sources/two-2/a.md",), ("/sources/two-3/a.md",)]
    s.run("go")
    assert on_disk(work) == {
        "two/a.md": "- of two\n", "x/two/a.md": "- written in x/two\n", "y/two/a.md": "- of y/two\n"
    }  # fmt: skip
    assert all(f"- of {place}" in sent(s) for place in ("two", "y/two"))


@pytest.mark.parametrize("again", ["two/a.md", "./two/../two/a.md", "{work}/two/a.md", "link/a.md", "~/a.md"])
def test_the_same_file_again_changes_nothing(work: Path, again: str):
    put(work / "two/a.md", "- of a\n")
    (work / "link").symlink_to("two")
    (Path.home() / "a.md").symlink_to(work / "two/a.md")
    s = session()
    s.memory.add_source("two/a.md")
    before = (s.memory.joined, s.memory.sources, s.graph)
    assert s.memory.add_source(again.format(work=work)) == ("/sources/two/a.md",)
    assert (s.memory.joined, s.memory.sources, s.graph) == before
    s.run("go")
    assert prompt(s).count("- of a") == 1


@pytest.mark.parametrize("order", [("project", "AGENTS.md"), ("AGENTS.md", "project")])
def test_a_projects_own_file_by_its_path_is_joined_in_once(work: Path, order: tuple[str, str]):
    put(work / "AGENTS.md", "- of the project\n")
    put(work / ".deepagents/AGENTS.md", "- of deepagents\n")
    put(work / "notes.md", "- of the notes\n")
    s = session()
    for name in (*order, ".deepagents/AGENTS.md", "notes.md"):
        s.memory.add_source(name)
    s.run("go")
    assert [prompt(s).count(f"- of {w}") for w in ("the project", "deepagents", "the notes")] == [1, 1, 1]
    assert len(s.memory.joined) == 1, "one directory is one mount"
    prefix = s.memory.joined[0].prefix
    assert prefix == ("/project/" if order[0] == "project" else "/sources/project/")
    assert set(s.memory.sources) == {"/AGENTS.md", *(f"{prefix}{n}" for n in (".deepagents/AGENTS.md", "AGENTS.md", "notes.md"))}  # fmt: skip


def test_user_and_project_and_a_project_elsewhere_stand_beside_each_other(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(Path.home() / ".deepagents/agent/AGENTS.md", "- of the user\n")
    put(work / "AGENTS.md", "- of the project\n")
    other = put(tmp_path / "other/AGENTS.md", "- of another\n").parent
    (other / "pyproject.toml").touch()
    s = walked(session(), "memory.add_source user", "memory.add_source project")
    monkeypatch.chdir(other)
    s.memory.add_source("project")
    assert [one.prefix for one in s.memory.joined] == ["/user/", "/project/", "/project-2/"]
    s.run("go")
    assert all(f"- of {w}" in prompt(s) for w in ("the user", "the project", "another"))


def test_what_the_user_mounted_keeps_its_path(work: Path):
    put(work / "two/a.md", "- of a\n")
    s = session()
    s.mount("/sources/two", "disk:elsewhere")
    s.files["/sources/two/a.md"] = "mine\n"
    assert s.memory.add_source("two/a.md") == ("/sources/two-2/a.md",)
    assert (work / "elsewhere/a.md").read_text() == "mine\n"
    for spec in ("disk:elsewhere", "state"):
        refused("memory sources from disk are mounted at /sources/two-2/", s.mount, "/sources/two-2", spec)
    s.mount("/sources/two", "state")
    assert s.files["/sources/two-2/a.md"] == "- of a\n"


def test_a_file_of_the_directory_in_which_memory_is_kept_is_memory_already(work: Path):
    put(work / "AGENTS.md", "- of the project\n")
    put(work / "notes.md", "- of the notes\n")
    s = session()
    s.memory.keep(work)
    assert s.memory.add_source("project") == ("/AGENTS.md", "/project/.deepagents/AGENTS.md")
    assert s.memory.add_source("AGENTS.md") == ("/AGENTS.md",)
    assert s.memory.add_source("notes.md") == ("/project/notes.md",)
    s.run("go")
    assert [prompt(s).count(f"- of the {w}") for w in ("project", "notes")] == [1, 1]


@pytest.mark.parametrize("name", ["two", "two/a.txt", "folder.md", "a\0.md", "~nobody-has-this/a.md", ""])
def test_what_is_no_memory_file_is_one_line(work: Path, name: str):
    (work / "folder.md").mkdir()
    s = session()
    for act in (s.memory.add_source, s.memory.remove_source):
        refused("is not a memory file", act, name)
    assert s.memory.joined == () and s.memory.sources == ("/AGENTS.md",)


# -- taking them out again


@pytest.mark.slow
@pytest.mark.parametrize("refresh", ["delta", "call", "thread"])
@pytest.mark.parametrize("name", ["two/a.md", "/sources/two/a.md", "{work}/two/a.md"])
def test_what_is_taken_out_leaves_the_prompt_and_nothing_on_the_disk_changes(work: Path, name: str, refresh: str):
    put(work / "two/a.md", "- walnuts\n")
    put(work / "two/b.md", "- hazel\n")
    s = session(memory_refresh=refresh)
    walked(s, "memory.add likes tea", "memory.add_source two/a.md", "memory.add_source two/b.md", "run one")
    (work / "two/a.md").write_text("- walnuts, changed\n")
    s.run("two")
    assert "- walnuts" in sent(s)
    before = on_disk(work)
    assert s.memory.remove_source(name.format(work=work)) == ("/sources/two/a.md",)
    s.run("three")
    assert "walnuts" not in sent(s) and "- hazel" in sent(s) and "likes tea" in sent(s)
    assert list(s.workspace.home.storage.mounts) == ["/sources/two/"] and "/sources/two/a.md" not in s.files
    assert s.memory.remove_source("two/b.md") == ("/sources/two/b.md",)
    s.run("four")
    assert "hazel" not in sent(s) and s.memory.sources == ("/AGENTS.md",) and s.workspace.home.storage.mounts == {}
    assert on_disk(work) == before


def test_a_thread_that_is_not_the_current_one_does_not_see_it_either(work: Path):
    put(work / "a.md", "- walnuts\n")
    s = walked(session(), "memory.add_source a.md", "run one", "new b", "memory.remove_source a.md")
    s.run("two", thread="main")
    assert "walnuts" not in sent(s)


@pytest.mark.parametrize("name", ["user", "project"])
def test_user_and_project_are_taken_out_by_their_names(work: Path, name: str):
    put(Path.home() / ".deepagents/agent/AGENTS.md", "- of the user\n")
    put(work / "AGENTS.md", "- of the project\n")
    s = walked(session(), "memory.add_source user", "memory.add_source project")
    gone = s.memory.remove_source(name)
    files = {"user": ("/user/AGENTS.md",), "project": ("/project/.deepagents/AGENTS.md", "/project/AGENTS.md")}
    assert gone == files[name] and len(s.memory.joined) == 1
    s.run("go")
    assert ("- of the user" in prompt(s)) is (name == "project")
    assert ("- of the project" in prompt(s)) is (name == "user")


@pytest.mark.parametrize("name", ["user", "project", "two/b.md", "/sources/two/b.md", "/AGENTS.md"])
def test_what_is_not_joined_in_is_one_line(work: Path, name: str):
    put(work / "two/a.md", "- of a\n")
    s = session()
    refused(r"is not a memory source on disk \(sources: none\)", s.memory.remove_source, name)
    s.memory.add_source("two/a.md")
    refused(r"is not a memory source on disk \(sources: /sources/two/a.md\)", s.memory.remove_source, name)
    assert s.memory.sources == ("/AGENTS.md", "/sources/two/a.md")


def test_while_a_turn_runs_none_are_joined_in_or_taken_out(work: Path):
    put(work / "a.md", "- of a\n")
    put(work / "b.md", "- of b\n")
    s = session()
    s.memory.add_source("a.md")
    before = (s.memory.joined, s.memory.sources, list(s.workspace.home.storage.mounts))
    for _ in s.stream("go"):
        for act, name in ((s.memory.add_source, "b.md"), (s.memory.remove_source, "a.md")):
            refused("a turn is running", act, name)
    assert (s.memory.joined, s.memory.sources, list(s.workspace.home.storage.mounts)) == before


def test_a_thread_with_a_memory_of_its_own_has_sources_of_its_own(work: Path):
    put(work / "two/a.md", "- of two\n")
    put(work / "x/two/a.md", "- of x/two\n")
    s = session()
    s.memory.add_source("two/a.md")
    s.new("apart", empty=True)
    assert s.memory.joined == ()
    walked(s, "memory.add_source x/two/a.md", "run in apart")
    assert "- of x/two" in prompt(s) and "- of two" not in prompt(s)
    walked(s, "memory.remove_source x/two/a.md", "switch main", "run in main")
    assert "- of two" in prompt(s) and "- of x/two" not in prompt(s)


def test_exactly_the_joined_files_can_be_written_seen_and_removed(work: Path):
    put(work / "AGENTS.md", "- of the project\n")
    put(work / ".deepagents/AGENTS.md", "- of deepagents\n")
    put(work / ".deepagents/.key", "private words\n")
    put(work / "src/main.py", "private words\n")
    answers = [
        call("write_file", id="c1", file_path="/project/new.md", content="x"),
        call("edit_file", id="c2", file_path="/project/src/main.py", old_string="private", new_string="x"),
        call("read_file", id="c3", file_path="/project/src/main.py"),
        call("delete", id="c4", file_path="/project/.deepagents"), call("delete", id="c5", file_path="/project"),
        call("ls", id="c6", path="/project"),
        call("grep", id="c7", pattern="private", path="/project", output_mode="content"),
        call("glob", id="c8", pattern="**/*", path="/project"), "done",
    ]  # fmt: skip
    s = session(*answers, approve=dict.fromkeys(("write_file", "edit_file", "delete"), "allow"))
    s.memory.add_source("project")
    before = on_disk(work)
    s.run("go")
    assert on_disk(work) == before
    wrote, edited, read, deleted, all_deleted, listed, found, globbed = (
        m.text for m in s.snapshot.messages if m.role == "tool"
    )
    for told in (wrote, edited, deleted, all_deleted):
        assert "only .deepagents/AGENTS.md, AGENTS.md can be changed here" in told, told
    assert "not found" in read and "No matches" in found
    assert "src" not in listed and ".git" not in listed and "/project/AGENTS.md" in listed and "src" not in globbed
    del s.files["/project/AGENTS.md"]
    assert on_disk(work).keys() == before.keys() - {"AGENTS.md"}
    s.memory.write("/project/AGENTS.md", "- made anew\n")
    assert (work / "AGENTS.md").read_text() == "- made anew\n"


def test_a_journal_written_while_a_directory_stood_elsewhere_speaks_of_no_other_file(work: Path):
    put(work / "two/a.md", "- of two\n")
    put(work / "x/two/a.md", "- of x/two\n")
    first = session()
    first.memory.add_source("two/a.md")
    first.memory.add("noted in two", "/sources/two/a.md")
    second = walked(session(), "memory.add_source x/two/a.md", "memory.add_source two/a.md")
    second.memory.add("noted in x/two", "/sources/two/a.md")
    mine = [e for e in second.memory.log_entries() if e.path == "/sources/two/a.md"]
    assert not any("noted in two" in e.diff for e in mine)
    second.memory.revert(mine[-1].id)
    assert on_disk(work) == {"two/a.md": "- of two\n- noted in two\n", "x/two/a.md": "- of x/two\n"}


NAMES = st.sampled_from(["a.md", "b.txt", ".h", "d/a.md", "d/.e/b.md", ".f/a.md", "d/e/c.md"])
PATTERNS = st.sampled_from(["*", "**/*", "*.md", "d/*", "d/**/*.md", ".*", "{*,.*}"])
BASES = st.sampled_from(["/", "/d", "/d/", "/d/e", "/.f", "/a.md", "/d/a.md", "/nowhere"])


@example({"d/.e/b.md"}, {"d/.e/b.md"}, "*", "/")  # below a directory that `*` passes over
@given(st.sets(NAMES), st.sets(NAMES, min_size=1), PATTERNS, BASES)
def test_chosen_files_answer_as_a_directory_that_holds_nothing_else(there, chosen, pattern, base):
    with tempfile.TemporaryDirectory() as folder:
        whole, alone = Path(folder, "whole"), Path(folder, "alone")
        for name in there:
            put(whole / name, f"tea of {name}\n")
            if name in chosen:
                put(alone / name, f"tea of {name}\n")
        some, only = ChosenFiles(DiskBackend(whole), sorted(chosen)), DiskBackend(alone)

        def paths(found: Any) -> list[str]:
            return [one["path"] for one in found or ()]

        if base not in ("/a.md", "/d/a.md"):  # a directory: listing a file is an error that nobody asks for
            assert paths(some.ls(base).entries) == paths(only.ls(base).entries)
        assert paths(some.glob(pattern, base).matches) == paths(only.glob(pattern, base).matches)
        assert some.grep("tea", base, pattern).matches == only.grep("tea", base, pattern).matches
        found, wanted = (b.grep("tea", base, pattern, max_count=1) for b in (some, only))  # which one is its affair
        assert (len(found.matches or ()), found.truncated) == (len(wanted.matches or ()), wanted.truncated)
        for name in there | chosen:
            assert some.read(f"/{name}").file_data == only.read(f"/{name}").file_data
            assert some.download_files([f"/{name}"])[0].content == only.download_files([f"/{name}"])[0].content


NAMED = ["user", "project", "AGENTS.md", ".deepagents/AGENTS.md", "two/a.md", "two/b.md", "x/two/a.md"]
PLACES = st.sampled_from(NAMED)


@given(st.lists(PLACES, max_size=6), PLACES)
def test_adding_and_taking_out(names: list[str], last: str):
    here, home = Path("/nowhere/project"), Path("/nowhere/home")
    sources: tuple[SourceMount, ...] = ()
    for name in names:
        sources = with_source(sources, source(name, Places(here, home)))
    wanted = source(last, Places(here, home))
    more = with_source(sources, wanted)
    assert with_source(more, wanted) == more, "twice is once"
    for one in (sources, more):
        real = [file for mount in one for file in mount.real]
        assert len(set(real)) == len(real), "each file once"
        assert len({mount.directory for mount in one}) == len({mount.prefix for mount in one}) == len(one)
    less = without_source(more, last, Places(here, home))
    before, after, left = ({file for one in mounts for file in one.real} for mounts in (sources, more, less))
    assert after == before | {*wanted.real} and left == after - {*wanted.real}
    assert all(one.files for one in less)


# -- the magic


def test_the_magic_says_what_it_did_and_tab_offers_what_can_be_taken_out(shell: Any, work: Path) -> None:
    put(work / "two/a.md", "- of a\n")
    out = shell.ok("%memory sources add two/a.md")
    assert "added: /sources/two/a.md" in out and "2  /sources/two/a.md  exists" in out
    assert "already added: /sources/two/a.md" in shell.ok("%memory sources add two/a.md")
    out = shell.ok("%memory sources remove two/a.md")
    assert "removed: /sources/two/a.md (the files on disk are unchanged)" in out and "2  " not in out
    none = "'two/a.md' is not a memory source on disk (sources: none): %memory sources remove"
    assert none in shell.fails("%memory sources remove two/a.md")
    assert "sources remove needs user, project or a path" in shell.fails("%memory sources remove")
    from deepnb.magics.complete import candidates
    from deepnb.magics.extension import complete_names

    put(work / "two/a.md", "- of a\n")
    shell.ok("%memory sources add two/a.md")
    names = partial(complete_names, session=shell.session, variables={})
    assert candidates("memory", "sources ", "", names) == ["add", "remove"]
    assert candidates("memory", "sources remove ", "", names) == ["user", "project", "/sources/two/a.md"]
    assert candidates("memory", "sources remove user ", "", names) == []


def test_a_file_of_the_project_that_is_joined_in_by_its_path_is_not_offered_again(shell: Any, work: Path) -> None:
    put(work / "AGENTS.md", "- built with ninja\n")
    assert "sources add project" in shell.ok("%memory")
    shell.ok("%memory sources add AGENTS.md")
    assert "sources add project" not in shell.ok("%memory")
    shell.ok("%memory sources remove AGENTS.md")
    assert "sources add project" in shell.ok("%memory")


def test_an_assistant_with_a_name_has_a_file_of_its_own(tmp_path, monkeypatch):
    for name in ("agent", "tutor"):
        (tmp_path / ".deepagents" / name).mkdir(parents=True)
        (tmp_path / ".deepagents" / name / "AGENTS.md").write_text(f"- of the {name}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for assistant, text in ((None, "- of the agent\n"), ("tutor", "- of the tutor\n")):
        s = Session(model=Scripted(answers=["ok"]), assistant_id=assistant)
        assert s.memory.add_source("user") == ("/user/AGENTS.md",) and s.files["/user/AGENTS.md"] == text
    for name in ("../../etc", "a/b", ".."):
        assert Places(tmp_path, tmp_path, name).user.parent == tmp_path / ".deepagents"


def test_a_source_that_is_a_link_to_a_file_beside_it_is_read_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".git").mkdir()
    (tmp_path / "CLAUDE.md").write_text("- be brief\n")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    monkeypatch.chdir(tmp_path)
    s = Session(model=Scripted(answers=["ok"]))
    s.memory.add_source("project")
    path = "/project/AGENTS.md"
    s.options.model.answers[:] = [call("edit_file", file_path=path, old_string="brief", new_string="long"), "ok"]
    s.run("go")
    assert "- be brief" in repr(s.options.model.requests[0])
    (said,) = [m.text for m in s.snapshot.messages if m.role == "tool"]
    assert "a link to CLAUDE.md" in said and "\n" not in said
    refused("a link to CLAUDE", s.memory.add, "x", path)
    assert (tmp_path / "AGENTS.md").is_symlink() and (tmp_path / "CLAUDE.md").read_text() == "- be brief\n"
