"""Searching memory: what is looked through and read again, who may find what, and where the index is."""

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.engine.file_extras import file_versions
from deepnb.memory.guarding import ScopedBackend
from deepnb.memory.layers import LONG_TERM, NOTES, Scope
from deepnb.memory.searching import place
from deepnb.values.turn import ToolEnded
from tests.support.clock import Clock, session
from tests.support.scripted import Scripted, call, walked
from tests.support.tables import every_row, refused

OLD = "/memory/2025-12-24.md"


def results(s: Session) -> list[str]:
    return [e.result for e in s.last.events if isinstance(e, ToolEnded) and not e.path]


def found(s: Session, query: str, **how) -> list[str]:
    table = s.memory.search(query, **how)
    return [f"{row.path}:{row.start}" for row in table.itertuples()]


# -- the tools


def get(start: int, **args: Any) -> Any:
    """A call of memory_get; `from` is a keyword of Python's."""
    return call("memory_get", **{"path": OLD, "from": start, **args})


def test_the_agent_finds_an_old_note_reads_it_sees_the_score_and_chooses_the_fusion():
    s = session(call("memory_search", query="gateway host"), get(2, lines=1), "done")
    s.memory.write(OLD, "# Christmas\n- the gateway host is box-17\n- nothing else\n")
    s.run("where is the gateway?")
    hit, lines = results(s)
    assert hit.startswith(f"{OLD}:1-3 (") and "- the gateway host is box-17" in hit
    assert lines == "2: - the gateway host is box-17\n(3 lines in all)"
    s = session(call("memory_search", query="gateway"), call("memory_search", query="gateway", fusion="weight"), "done")
    s.memory.write(OLD, "# Christmas\n- the gateway host is box-17\n- nothing else\n")
    s.run("where is the gateway?")
    ranked, weighed = (re.match(r"(\S+) \((\S+), (\d\.\d\d)\) (\S+)\n", text) for text in results(s))
    assert ranked and weighed and ranked[1] == weighed[1] == f"{OLD}:1-3" and ranked[4] == "Christmas"
    assert ranked[3] != weighed[3] == "0.30"


@every_row(("asked", "says"), [
    (call("memory_search", query="zebra"), "Nothing in memory fits that."),
    (call("memory_search", query='"; DROP NEAR( * ^'), "Nothing in memory fits that."),
    (call("memory_search", query="gateway", k=-3), "box-17"),
    (call("memory_search", query="gateway", k="many"), "Error: invalid literal"),
    (call("memory_get", path="memory/2025-12-24.md"), "1: - the gateway host is box-17"),
    (get(7), f"Error: {OLD} has 1 lines"),
    (call("memory_get", path="/memory/none.md"), "Error: there is no /memory/none.md"),
    (call("memory_get", path="/etc/passwd"), "Error: /etc/passwd is not a memory file"),
    (call("memory_get", path="/memory/../secret.txt"), "Error: /memory/../secret.txt is not a memory file"),
])  # fmt: skip
def test_what_the_tools_say(asked, says: str):
    s = session(asked, "done")
    s.memory.write(OLD, "- the gateway host is box-17\n")
    s.files["/secret.txt"] = "hidden\n"
    s.run("go")
    assert says in results(s)[0] and "hidden" not in results(s)[0]


def test_a_mistyped_option_names_the_nearest():
    refused(r"unknown option 'fuson': did you mean fusion\?", session().memory.search, "gateway", fuson="weight")


def many(s: Session) -> None:
    for day in range(1, 29):
        lines = "".join(f"- the gateway of rack {day}-{n} was looked at and is well\n" for n in range(20))
        s.memory.write(f"/memory/2026-01-{day:02}.md", f"# Day\n\n{lines}")


def test_everyone_who_searches_gets_the_same_and_a_full_budget_also_of_a_day():
    s = session(call("memory_search", query="gateway"), call("memory_search", query="gateway", k=4), "done")
    many(s)
    s.run("where is the gateway?")
    split = re.compile(r"^(?=/memory/)", re.M)
    whole, four = ([part.split(" ")[0] for part in split.split(text)[1:]] for text in results(s))
    assert whole == [place(hit) for hit in s.memory.search_hits("gateway")] and len(four) == 4
    assert four == [place(hit) for hit in s.memory.search_hits("gateway", 4)]
    assert 7900 < sum(len(hit.text) + len(hit.heading) + 1 for hit in s.memory.search_hits("gateway")) <= 8000
    assert all(hit.end == 22 for hit in s.memory.search_hits("gateway", 4)), "whole notes, where few are asked for"
    s = session(call("memory_search", query="What did I do yesterday?"), "done")
    s.memory.write("/memory/2026-03-01.md", "- Lunch with Aino\n- Paid the rent\n")
    s.memory.write("/memory/2026-02-28.md", "- Did the dishes\n")
    s.run("go")
    (said,) = results(s)
    assert said == "/memory/2026-03-01.md:1-2 (day, 1.00)\n- Lunch with Aino\n- Paid the rent"
    assert found(s, "昨天做了什么？") == found(s, "Was war gestern?") == ["/memory/2026-03-01.md:1"]


# -- the user


def test_a_search_is_a_table_of_passages():
    s = session()
    s.memory.write(OLD, "# Christmas\n\n- the gateway host is box-17\n")
    s.memory.write("/memory/topics.md", "about printers\n")
    s.memory.add("the merger is in May", "/MEMORY.md")
    s.memory.add("the gateway is a source of its own")
    table = s.memory.search("gateway", 3)
    assert list(table.columns) == ["path", "start", "end", "leg", "score", "heading", "text"]
    assert list(table.path) == [OLD] and "words" in table.leg[0]
    assert found(s, "merger") == ["/MEMORY.md:1"] and found(s, "printer") == ["/memory/topics.md:1"]
    assert found(s, "zebra") == [] and list(s.memory.search("zebra").columns) == list(table.columns)
    assert found(s, "gateway", fusion="weight") == found(s, "gateway")


@every_row(("query", "k"), [("", 6), (" ", 6), ("x", 0)])
def test_a_mistake_is_one_line(query: str, k: int):
    refused("", session().memory.search, query, k)


def test_what_another_process_wrote_to_the_index_is_seen(tmp_path: Path):
    from deepnb.search import Index

    s = session()
    s.memory.keep(tmp_path)
    s.memory.write(OLD, "- the gateway host is box-17\n")
    assert found(s, "gateway")
    with Index(tmp_path / ".deepnb" / "index.db") as other:
        other.update({OLD: None})
    assert found(s, "gateway")
    (tmp_path / ".deepnb" / "index.db").unlink()
    assert found(s, "gateway")


def test_what_one_who_may_not_read_it_left_in_the_index_goes_with_its_file(tmp_path: Path):
    s = session()
    s.memory.keep(tmp_path)
    s.memory.add(SECRET, "/MEMORY.md")
    s.memory.daily("the merger of branches is done")
    assert found(s, "Fjordbank")
    s.new("open", shared=True)
    assert found(s, "Fjordbank") == []
    walked(s, "switch main", "memory.forget Fjordbank")
    assert found(s, "Fjordbank") == []
    assert not [p for p in (tmp_path / ".deepnb").iterdir() if b"Fjordbank" in p.read_bytes()]


def test_transcripts_are_searched_when_asked_and_give_what_was_said():
    s = session("the zebra sleeps")
    s.run("what does it do?")
    assert found(s, "zebra") == []
    table = s.memory.search("zebra", transcripts=True)
    assert table.path[0] == "transcript of main" and "the zebra sleeps" in table.text[0]
    assert found(s, "zebra") == [], "and not when not"
    s = session("the zebra sleeps")
    walked(s, "run what does it do?", "memory.add a zebra is kept", "run and now?")
    (hit,) = s.memory.search_hits("zebra sleeps", 1, transcripts=True)
    assert hit.text.split("\n") == ["what does it do?", "the zebra sleeps", "and now?", "the zebra sleeps"]
    assert (hit.start, hit.end) == (3, s.workspace.transcripts["main"].read()[0][-1].n - 1)


def test_the_index_is_beside_the_notes_on_a_disk_or_in_memory_and_said(tmp_path: Path):
    s = session()
    s.memory.write(OLD, "- the gateway host is box-17\n")
    assert found(s, "box-17")
    s.memory.keep(tmp_path)
    assert found(s, "box-17") and (tmp_path / ".deepnb" / "index.db").is_file()
    assert not [p for p in s.files if "index" in p]
    (tmp_path / "memory" / "2025-12-25.md").write_text("- another hand wrote of a zebra\n")
    assert found(s, "zebra") == ["/memory/2025-12-25.md:1"]
    s = session()
    s.memory.keep(tmp_path / "other")
    s.memory.write(OLD, "- the gateway host is box-17\n")
    (tmp_path / "other" / ".deepnb" / "index.db").mkdir()
    assert found(s, "box-17") == [f"{OLD}:1"]
    assert "can't be kept" in s.workspace.home.storage.search.notices[0]


# -- scope

SECRET = "the merger with Fjordbank is in May"


@every_row("kind", ["kernel", "keep"])
def test_a_shared_thread_finds_nothing_of_long_term_memory(kind: str, tmp_path: Path):
    s = session(call("memory_search", query="merger Fjordbank"), call("memory_get", path="/MEMORY.md"), "done")
    if kind == "keep":
        s.memory.keep(tmp_path)
    s.memory.add(SECRET, "/MEMORY.md")
    s.memory.daily("the merger of branches is done")
    assert "/MEMORY.md:1" in found(s, "merger")
    s.new("open", shared=True)
    s.run("look")
    assert "merger of branches" in results(s)[0] and "Fjordbank" not in "".join(results(s))
    assert found(s, "merger") == ["/memory/2026-03-02.md:1"] and SECRET not in str(s.options.model.requests)
    s.switch("main")
    assert "/MEMORY.md:1" in found(s, "merger")


def test_shared_and_empty_threads_find_nothing_of_others():
    s = session(SECRET)
    s.run("tell me")
    s.new("open", shared=True)
    assert found(s, "Fjordbank", transcripts=True) == []
    s.run("tell me here")
    assert {p.split(":")[0] for p in found(s, "Fjordbank", transcripts=True)} == {"transcript of open"}
    s = session()
    s.memory.daily("the gateway host is box-17")
    s.new("apart", empty=True)
    assert found(s, "gateway") == [] and found(s, "gateway", transcripts=True) == []
    walked(s, "memory.daily the zebra is called Ida", "switch main")
    assert found(s, "zebra") == [] and found(s, "gateway")


def assistant(store: InMemoryStore, name: str, *answers) -> Session:
    model, clock = Scripted(answers=list(answers) or ["ok"]), Clock("2026-03-02T09:00")
    s = Session(model=model, store=store, assistant_id=name, clock=clock)
    s.mount("/memory", "store")
    return s


def test_an_assistant_finds_nothing_of_another_though_both_keep_to_one_directory(tmp_path: Path):
    store = InMemoryStore()
    one, two = assistant(store, "one"), assistant(store, "two")
    for s in (one, two):
        s.memory.keep(tmp_path)
    one.memory.daily("the zebra is called Ida")
    assert found(one, "zebra") and found(two, "zebra") == []
    assert not (tmp_path / ".deepnb" / "index.db").exists(), "what is elsewhere is not indexed there"


WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta"])
WHAT = ["long", "note", "other", "search", "get", "grep", "read", "task"]
STEP = st.tuples(st.sampled_from(WHAT), st.sampled_from(["main", "open", "two"]), WORDS)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=1, max_size=8))
def test_nothing_is_found_or_injected_where_it_may_not_be(steps: list[tuple[str, str, str]]):
    """Random writes and questions in a main, a shared and another assistant's thread; marks tell whose a text is."""
    store = InMemoryStore()
    one, two = assistant(store, "one"), assistant(store, "two")
    one.new("open", shared=True)
    for who, s in (("one", one), ("two", two)):
        s.memory.add(f"LONG-{who} alpha beta gamma delta", "/MEMORY.md")
        s.memory.daily(f"NOTE-{who} alpha beta gamma delta")
    for what, where, word in steps:
        s = two if where == "two" else one
        if s is one:
            s.switch(where)
        mine, other = ("two", "one") if s is two else ("one", "two")
        if what == "long":
            s.memory.add(f"LONG-{mine} {word} again", "/MEMORY.md")
        elif what == "note":
            s.memory.daily(f"NOTE-{mine} {word} again")
        elif what == "other":
            (one if s is two else two).memory.daily(f"NOTE-{other} {word} again")
        calls: dict[str, list[Any]] = {
            "search": [call("memory_search", query=word)],
            "get": [call("memory_get", path="/MEMORY.md"), call("memory_get", path="/x/../MEMORY.md", id="c2")],
            "grep": [call("grep", pattern=word), call("glob", pattern="**/*", id="c2")],
            "read": [call("read_file", file_path="/memory.md"), call("read_file", file_path="/MEMORY.md", id="c2")],
            "task": [
                call("task", description="look", subagent_type="general-purpose"),
                call("memory_search", query=word, id="n1"), call("read_file", file_path="/MEMORY.md", id="n2"),
                call("grep", pattern="LONG", id="n3"), "nested is done",
            ],
        }  # fmt: skip
        model = s.options.model
        model.requests.clear()
        model.answers[:] = [*calls.get(what, []), "done"]
        s.run("go")
        shown = [str([m.content for m in request]) for request in model.requests]
        table = " ".join(s.memory.search(word, transcripts=True).text)
        nested = shown[1:-1] if what == "task" else []
        for text in (*shown, table):
            assert f"LONG-{other}" not in text and f"NOTE-{other}" not in text
            assert where != "open" or "LONG-" not in text
        assert all("LONG-" not in text for text in nested)
        if what == "search" and where == "main":
            assert f"LONG-{mine}" in shown[-1].split("Nothing")[0]


@given(
    st.booleans(), st.booleans(), st.sampled_from(["/MEMORY.md", "/Memory.md", "/a/../MEMORY.md", "/.deepnb/index.db"])
)
def test_only_the_main_agent_of_a_main_thread_may_read_it(shared: bool, nested: bool, path: str):
    assert Scope(shared=shared, nested=nested).may_read(path) is not (shared or nested)


MAIN, SHARED = Scope(), Scope(shared=True)


def in_memory(folder: Path) -> Session:
    return session("ok")


def on_a_disk(folder: Path) -> Session:
    s = session("ok")
    s.memory.keep(str(folder / "memory"))
    return s


def in_a_database(folder: Path) -> Session:
    s = session("ok")
    s.persist(str(folder / "kept.db"))
    return s


def with_mounts(folder: Path) -> Session:
    s = session("ok", store=InMemoryStore())
    (folder / "work").mkdir()
    s.mount("/memory/work", f"disk:{folder / 'work'}")
    s.mount("/data", f"disk:{folder}")
    return s


def with_a_stored_folder(folder: Path) -> Session:
    s = session("ok", store=InMemoryStore())
    s.mount("/memory/team", "store:team")
    return s


def listed(backend: ScopedBackend) -> dict[str, str]:
    below = [one["path"] for one in backend.glob("**/*.md", NOTES).matches or () if not one.get("is_dir")]
    found = {one.path: one.content for one in backend.download_files([LONG_TERM, *below])}
    return {path: content.decode() for path, content in found.items() if content is not None and b"\xff" not in content}


@pytest.mark.parametrize("home", [in_memory, on_a_disk, in_a_database, with_mounts, with_a_stored_folder])
@pytest.mark.parametrize("seed", range(4))
def test_texts_are_those_that_a_listing_shows_whoever_asks(
    home: Callable[[Path], Session], seed: int, tmp_path: Path
) -> None:
    s, random = home(tmp_path), Random(seed)
    guard, search = s.workspace.home.storage.guard, s.workspace.home.storage.search
    paths = [LONG_TERM, "/memory/2026-02-16.md", "/memory/memory.md", "/memory/work/a.md", "/memory/work/deep/b.md"]
    paths += ["/memory/team/c.md", "/memory/.hidden.md", "/memory/x/.y/d.md", "/memory/note.txt", "/notes.md"]
    for step in range(40):
        path = random.choice(paths)
        match random.randrange(4):
            case 0:
                guard.delete(path)
            case 1:
                guard.upload_files([(path, random.choice([b"bytes \xff", f"- as bytes {step}\n".encode()]))])
            case _:
                guard.merge(path, f"- a line of step {step}\n")
        scope = random.choice([MAIN, MAIN, SHARED])
        backend = ScopedBackend(guard, lambda scope=scope: scope)  # type: ignore[misc]
        assert search.texts(backend) == listed(backend), (step, path, scope)


def reads(monkeypatch: pytest.MonkeyPatch, s: Session) -> list[str]:
    out: list[str] = []
    guard = s.workspace.home.storage.guard
    before = guard.download_files

    def download(paths: list[str]) -> Any:
        out.extend(paths)
        return before(paths)

    monkeypatch.setattr(guard, "download_files", download)
    return out


@pytest.mark.parametrize("home", [in_memory, on_a_disk, in_a_database])
def test_only_what_changed_is_read(
    home: Callable[[Path], Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = home(tmp_path)
    for n in range(9):
        s.memory.write(f"/memory/{n}.md", f"- note {n} about tea\n")
    for file in tmp_path.rglob("*.md"):  # what has just been written might change within the same tick of a clock
        os.utime(file, (1, 1))
    monkeypatch.setattr("deepnb.backends.versions.GRANULE", -time.time_ns())
    assert len(s.memory.search_hits("tea", 20)) == 9
    read = reads(monkeypatch, s)
    assert len(s.memory.search_hits("tea", 20)) == 9 and read == [LONG_TERM]
    read.clear()
    s.memory.write("/memory/3.md", "- note 3 about coffee\n")
    s.memory.remove("/memory/4.md")
    read.clear()
    assert len(s.memory.search_hits("tea", 20)) == 7 and sorted(read) == [LONG_TERM, "/memory/3.md"]


def test_a_file_of_the_disk_that_is_new_has_no_version_and_an_older_one_has(tmp_path: Path) -> None:
    disk = DiskBackend(tmp_path)
    disk.upload_files([("/memory/a.md", b"a"), ("/memory/b/c.md", b"c"), ("/other.md", b"o")])
    assert file_versions(disk, NOTES) == {"/memory/a.md": None, "/memory/b/c.md": None}


@pytest.mark.parametrize("home", [in_memory, in_a_database])
@pytest.mark.parametrize("scope", [MAIN, SHARED])
def test_the_versions_are_the_same_mapping_while_nothing_is_written(
    home: Callable[[Path], Session], scope: Scope, tmp_path: Path
) -> None:
    s = home(tmp_path)
    s.memory.write("/memory/a.md", "- tea\n")
    backend = ScopedBackend(s.workspace.home.storage.guard, lambda: scope)

    def versions() -> Mapping[str, Any] | None:
        return file_versions(backend, NOTES)

    first = versions()
    assert first and versions() is first
    s.run("a turn, with its checkpoints")
    assert versions() is first
    s.memory.write("/memory/a.md", "- coffee\n")
    second = versions()
    assert second and second.keys() == first.keys() and second != first
