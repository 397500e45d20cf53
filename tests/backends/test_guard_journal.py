"""Law: the journal of a guarded file, replay, is its text (less credentials), whatever was done."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.store.memory import InMemoryStore

from deepnb import DeepnbError, Session
from deepnb.backends.journal import FULL, JournalFile, replay
from deepnb.backends.writer import writing
from deepnb.gate import redact
from deepnb.values.turn import ModelStarted, ToolEnded, ToolStarted
from tests.support.scripted import Scripted, call, says, walked
from tests.support.tables import every_row, refused

KEY = "gh" + "p_" + "a1B2c3D4e5F6" * 3


def law(s: Session) -> None:
    """The journal in memory and the one in its files tell the texts as they are, each entry under its own id."""
    entries = s.memory.log_entries()
    assert len({e.id for e in entries}) == len(entries), [e.id for e in entries]
    paths = {*s.memory.paths(), *(e.path for e in entries)}
    for path in paths:
        text = s.files.get(path)
        assert replay(path, entries) == (None if text is None else redact(text)), path
    for root in s.backend.roots:
        fresh = JournalFile(root.journal._backend, root.prefix)
        fresh.read()
        assert fresh.entries == root.journal.entries


class Walk:
    def __init__(self, seed: int, session: Session, paths: tuple[str, ...]) -> None:
        self.s, self.paths, self.rng, self.n = session, paths, random.Random(seed), 0
        self.done: list[str] = []

    def step(self) -> None:
        act = self.rng.choice(self.acts())
        self.done.append(act.__name__)
        self.n += 1
        act()

    def acts(self) -> list[Callable[[], None]]:
        agent = [self.agent_writes, self.agent_edits, self.agent_side_by_side] * 3
        user = [self.user_adds, self.user_writes, self.user_deletes, self.user_reverts]
        return [*agent, *user, self.interrupts, self.interrupts, self.resumes, self.rewinds, self.undoes, self.threads]

    def path(self) -> str:
        return self.rng.choice(self.paths)

    def line(self) -> str:
        return f"- fact {self.n}{self.rng.choice(['', ' 日本', ' 👩‍👧', ' x' * 9])}\n"

    def text(self) -> str:
        lines = (self.s.files.get(self.path()) or "").splitlines(keepends=True)
        kept = [line for line in lines if self.rng.random() < 0.8]
        kept.insert(self.rng.randint(0, len(kept)), self.line())
        return "".join(kept).rstrip("\n" if self.rng.random() < 0.2 else "")

    def change(self, id_: str = "c") -> Any:
        path = self.path()
        text = self.s.files.get(path)
        if text and text.strip() and self.rng.random() < 0.6:
            old = self.rng.choice([line for line in text.splitlines() if line.strip()])
            if text.count(old) == 1:
                args = {"file_path": path, "old_string": old, "new_string": f"{old}\n{self.line().strip()}"}
                return {"name": "edit_file", "id": id_, "args": args}
        return {"name": "write_file", "id": id_, "args": {"file_path": path, "content": self.text()}}

    def agent_writes(self) -> None:
        says(self.s, call("write_file", file_path=self.path(), content=self.text()), "ok")
        self.s.run("go")

    def agent_edits(self) -> None:
        says(self.s, AIMessage("", tool_calls=[self.change()]), AIMessage("", tool_calls=[self.change("d")]), "ok")
        self.s.run("go")

    def agent_side_by_side(self) -> None:
        says(self.s, AIMessage("", tool_calls=[self.change(f"c{i}") for i in range(3)]), "ok")
        self.s.run("go")

    def interrupts(self) -> None:
        kind = self.rng.choice([ModelStarted, ToolStarted, ToolEnded])
        both = AIMessage("", tool_calls=[self.change(f"c{i}") for i in range(2)])
        says(self.s, both, AIMessage("", tool_calls=[self.change("e")]), "ok")
        events = self.s.stream("go")
        after = self.rng.randint(1, 3)
        for event in events:
            after -= isinstance(event, kind)
            if not after:
                break
        events.close()
        if self.rng.random() < 0.5:
            self.user_adds()

    def resumes(self) -> None:
        if self.s.pending:
            list(self.s.resume(self.rng.choice(["again", "skip"])))

    def user_adds(self) -> None:
        self.s.memory.add(self.line(), self.path())

    def user_writes(self) -> None:
        self.s.files[self.path()] = self.text()

    def user_deletes(self) -> None:
        there = [p for p in self.paths if p in self.s.files]
        if there and self.rng.random() < 0.3:
            del self.s.files[self.rng.choice(there)]

    def user_reverts(self) -> None:
        if entries := self.s.memory.log_entries():
            self.s.memory.revert(self.rng.choice(entries).id)

    def rewinds(self) -> None:
        if self.s.turns:
            self.s.rewind(self.rng.randint(0, len(self.s.turns)), memory=self.rng.random() < 0.5)

    def undoes(self) -> None:
        if self.s._workspace.threads._undo:
            self.s.undo()

    def threads(self) -> None:
        names = [t.name for t in self.s.threads]
        if len(names) < 3 and self.rng.random() < 0.5:
            self.s.new() if self.rng.random() < 0.5 else self.s.fork()
        else:
            self.s.switch(self.rng.choice(names))


HOME, DISK = ("/AGENTS.md", "/memory/n.md"), ("/AGENTS.md", "/memory/n.md", "/memory/m.md")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2, 3))])
@pytest.mark.parametrize("spec", [None, "disk:d", "store:x"])
def test_the_journal_tells_the_text_after_whatever_was_done(tmp_path: Path, spec: str | None, seed: int):
    store = InMemoryStore()
    s = Session(model=Scripted(answers=["ok"]), memory=HOME, memory_refresh=("call", "delta", "thread")[seed % 3])
    if spec:
        s.workspace.home.storage.mount("/memory", spec, base=tmp_path, store=store, assistant_id=None)
    walk = Walk(seed, s, DISK if spec else HOME)
    for _ in range(50):
        walk.step()
        law(s)
    print(seed, spec, len(s.memory.log_entries()), "entries")


LINES = ["a\n", "b\n", "b\r\n", "日本語\n", "👩‍👧\n", "\n", "- c", f"key {KEY}\n"]
TEXTS = st.lists(st.sampled_from(LINES), max_size=6).map("".join)


@given(st.lists(st.tuples(st.sampled_from(["outside", "user", "agent", "delete"]), TEXTS), max_size=8))
def test_any_row_of_writes_replays(rows: list[tuple[str, str]]):
    s = Session(model=Scripted(answers=["ok"]))
    for who, text in rows:
        if who == "outside":
            s.backend.inner.write("/AGENTS.md", text)
        elif who == "delete":
            s.backend.delete("/AGENTS.md")
        else:
            with writing(origin=who):
                s.backend.write("/AGENTS.md", text)
        law(s)
    assert KEY not in str(s.memory.log_entries())
    assert not any(KEY in e.diff for r in s.backend.roots for e in r.journal.entries)


@given(st.lists(TEXTS.filter(lambda t: KEY not in t), min_size=1, max_size=6), st.data())
def test_a_revert_of_a_revert_is_nothing(texts: list[str], data: st.DataObject):
    s = Session(model=Scripted(answers=["ok"]))
    for text in texts:
        s.memory.write("/AGENTS.md", text)
    entries = s.memory.log_entries()
    if not entries:
        return
    one = data.draw(st.sampled_from(entries))
    before = s.files.get("/AGENTS.md")
    s.memory.revert(one.id)
    log = s.memory.log_entries()
    if len(log) == len(entries):
        return
    assert log[-1].note.startswith(f"revert of {one.id}")
    middle = s.files.get("/AGENTS.md")
    s.memory.revert(log[-1].id)
    assert s.files.get("/AGENTS.md") == before, (texts, middle)
    law(s)


# -- the file of the journal


def on_disk(tmp_path: Path) -> Session:
    s = Session(model=Scripted(answers=["ok"]), memory=("/memory/AGENTS.md",))
    s.workspace.home.storage.mount("/memory", "disk:d", base=tmp_path, store=None, assistant_id=None)
    return s


@every_row("at", ["last", "middle", "first"])
def test_a_line_cut_short_loses_that_line_alone(tmp_path: Path, at: str):
    s = on_disk(tmp_path)
    for n in range(5):
        s.memory.add(f"fact {n}")
    file = tmp_path / "d/.deepnb/journal.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    cut = {"last": 4, "middle": 2, "first": 0}[at]
    lines[cut] = lines[cut][:40] + ("" if at == "last" else "\n")
    file.write_text("".join(lines))
    again = on_disk(tmp_path)
    law(again)
    again.memory.add("later")
    s.memory.add("and later")
    law(again)
    law(s)
    assert again.files["/memory/AGENTS.md"] == "".join(f"- fact {n}\n" for n in range(5)) + "- later\n- and later\n"
    assert [e.origin for e in s.memory.log_entries()].count("external") == 1
    assert len(s.memory.log_entries()) == 4 + 1 + 2


def test_more_entries_than_one_file_holds(tmp_path: Path):
    s = on_disk(tmp_path)
    for n in range(2 * FULL + 5):
        s.memory.add(f"fact {n}")
    assert sorted(p.name for p in (tmp_path / "d/.deepnb").glob("*.jsonl")) == [
        "journal-2.jsonl", "journal-3.jsonl", "journal.jsonl"
    ]  # fmt: skip
    law(s)
    other = on_disk(tmp_path)
    assert other.memory.log_entries() == s.memory.log_entries()
    other.memory.add("of another")
    s.memory.add("of the first")
    law(s)
    law(other)
    assert len(s.memory.log()) == 2 * FULL + 7


def test_two_roots_have_a_journal_each(tmp_path: Path):
    s = Session(model=Scripted(answers=["ok"]), memory=("/AGENTS.md", "/memory/AGENTS.md"))
    s.workspace.home.storage.mount("/memory", "disk:d", base=tmp_path, store=None, assistant_id=None)
    s.memory.add("at home")
    s.memory.add("away", "/memory/AGENTS.md")
    assert {e.id for e in s.memory.log_entries()} == {"1", "memory-1"}
    assert "away" in (tmp_path / "d/.deepnb/journal.jsonl").read_text()
    assert "at home" not in (tmp_path / "d/.deepnb/journal.jsonl").read_text()
    s.memory.revert("memory-1")
    assert s.files.get("/memory/AGENTS.md") is None and s.files["/AGENTS.md"] == "- at home\n"
    law(s)


def test_another_directory_at_the_same_path_has_its_own_journal(tmp_path: Path):
    s = on_disk(tmp_path)
    s.memory.add("in d")
    s.workspace.home.storage.mount("/memory", "disk:e", base=tmp_path, store=None, assistant_id=None)
    s.memory.add("in e")
    assert s.files["/memory/AGENTS.md"] == "- in e\n" and len(s.memory.log_entries()) == 1
    law(s)
    s.workspace.home.storage.mount("/memory", "disk:d", base=tmp_path, store=None, assistant_id=None)
    assert s.files["/memory/AGENTS.md"] == "- in d\n" and len(s.memory.log_entries()) == 1
    law(s)


def test_a_credential_from_outside_is_entered_once_and_redacted(tmp_path: Path):
    s = on_disk(tmp_path)
    s.memory.add("first")
    (tmp_path / "d/AGENTS.md").write_text(f"- first\n- key {KEY}\n")
    for _ in range(3):
        assert len(s.memory.log_entries()) == 2
    law(s)
    s.memory.add("third")
    assert len(s.memory.log_entries()) == 3
    assert (tmp_path / "d/AGENTS.md").read_text() == f"- first\n- key {KEY}\n- third\n"
    assert KEY not in (tmp_path / "d/.deepnb/journal.jsonl").read_text()
    law(s)


def test_nobody_writes_the_journal_through_the_agents_files(tmp_path: Path):
    s = on_disk(tmp_path)
    s.memory.add("first")
    for path in ("/memory/.deepnb/journal.jsonl", "/.deepnb/journal.jsonl", "/memory/.deepnb/x.md"):
        with pytest.raises(DeepnbError, match="keeps its records there"):
            s.files[path] = "{}"
        for write, args in ((s.memory.write, (path, "x")), (s.memory.add, ("x", path))):
            refused("keeps its records there", write, *args)
        assert "records" in (s.backend.write(path, "x").error or "")
        assert "records" in (s.backend.edit(path, "first", "x").error or "")
        assert s.backend.upload_files([(path, b"x")])[0].error == "permission_denied"
        assert s.backend.upload_files([(path, b"\xff")])[0].error == "permission_denied"
        assert s.backend.delete(path).error
    law(s)


def test_what_never_reached_the_state_is_not_in_the_journal_until_it_does():
    s = Session(model=Scripted(answers=["ok"], delay=0.05))  # so that the run has not ended when it is stopped
    s.memory.add("first")
    says(s, call("write_file", file_path="/AGENTS.md", content="- first\n- of the agent\n"), "ok " * 20)
    events = s.stream("go")
    for event in events:
        if isinstance(event, ToolEnded):
            break
    events.close()
    law(s)
    there = "- of the agent" in s.files["/AGENTS.md"]
    assert [e.origin for e in s.memory.log_entries()] == ["user", "agent"][: 1 + there]
    list(s.resume("again"))
    assert "- of the agent" in s.files["/AGENTS.md"]
    assert [e.origin for e in s.memory.log_entries()] == ["user", "agent"]
    assert s.memory.log_entries()[-1].turn == 1
    law(s)


def test_what_the_user_adds_to_an_unfinished_turn_stays_with_what_the_agent_adds_later():
    s = Session(model=Scripted(answers=["ok"], delay=0.05))
    s.memory.add("first")
    edit = call("edit_file", file_path="/AGENTS.md", old_string="- first", new_string="- zero\n- first")
    says(s, edit, "ok " * 20)
    events = s.stream("go")
    for event in events:
        if isinstance(event, ToolStarted):
            break
    events.close()
    written = "zero" in s.files["/AGENTS.md"]  # a tool that has begun may have written before it was cut off
    s.memory.add("of the user")
    law(s)
    list(s.resume("again"))
    assert s.files["/AGENTS.md"] == "- zero\n- first\n- of the user\n"
    order = ["user", "agent", "user"] if written else ["user", "user", "agent"]
    assert [e.origin for e in s.memory.log_entries()] == order
    law(s)


def test_a_rewind_is_the_users_entry_and_undone_it_keeps_what_was_learned_since():
    s = Session(model=Scripted(answers=["ok"]))
    walked(s, "memory.add first", "run a", "memory.add second", "run b")
    s.rewind(1, memory=True)
    assert s.files["/AGENTS.md"] == "- first\n"
    last = s.memory.log_entries()[-1]
    assert (last.origin, last.note) == ("user", "rewind to turn 1")
    law(s)
    walked(s, "memory.add since", "undo")
    assert s.files["/AGENTS.md"] == "- first\n- second\n- since\n"
    law(s)
    s = Session(model=Scripted(answers=["ok"]))
    walked(s, "memory.add first", "run a", "run b", "rewind 1", "memory.add since", "undo")
    assert s.files["/AGENTS.md"] == "- first\n- since\n"
    law(s)
