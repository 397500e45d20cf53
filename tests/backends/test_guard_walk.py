"""Two sessions and another program on one file, in a random order: nothing lost, and the journal stays true."""

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from langgraph.store.sqlite import SqliteStore

from deepnb import DeepnbError, Session
from deepnb.backends.journal import replay
from deepnb.backends.writer import writing

PATH = "/memory/AGENTS.md"
STEPS = 60


class Walk:
    def __init__(self, tmp: Path, kind: str, seed: int) -> None:
        self.rng, self.tmp, self.kind, self.n = random.Random(seed), tmp, kind, 0
        self.sessions = [self.session(), self.session()]
        self.views: list[str | None] = [None, None]
        """What each agent has seen: the base of its next whole write."""
        self.outer = StoreBackend(store=self.store(), namespace=lambda _: ("x",))
        self.written = 0

    def store(self) -> SqliteStore:
        path = self.tmp / "m.db"
        return SqliteStore(sqlite3.connect(path, check_same_thread=False, isolation_level=None))

    def session(self) -> Session:
        store = self.store()
        s = Session(store=store, memory=(PATH,))
        s.workspace.home.storage.mount("/memory", self.kind, base=self.tmp, store=store, assistant_id=None)
        return s

    def outside(self, data: bytes | None) -> None:
        if self.kind == "store:x":
            self.outer.delete("/AGENTS.md") if data is None else self.outer.upload_files([("/AGENTS.md", data)])
            return
        file = self.tmp / "d/AGENTS.md"
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True) if data is None else file.write_bytes(data)

    def text(self, s: Session) -> str | None:
        try:
            return s.files.get(PATH)
        except DeepnbError:  # it is not text
            return None

    def line(self) -> str:
        self.n += 1
        return f"- fact {self.n}." + self.rng.choice(["", " 日本 👩‍👧"])

    # -- what may happen: (session, its number)

    def adds(self, s: Session, _: int) -> None:
        s.memory.add(self.line(), PATH)

    def user_writes(self, s: Session, _: int) -> None:
        s.memory.write(PATH, f"{self.text(s) or '- begun anew'}\n{self.line()}\n")

    def looks(self, s: Session, who: int) -> None:
        with writing(origin="agent"):
            s.backend.read(PATH)
        self.views[who] = self.text(s)

    def writes_from_an_old_view(self, s: Session, who: int) -> None:
        view, now = self.views[who], self.text(s)
        if view is None:
            self.looks(s, who)
            return
        end = "\r\n" if 0 < view.count("\n") == view.count("\r\n") else "\n"
        lines, new = view.split(end), self.line()
        lines.insert(self.rng.randint(0, len(lines)), new)
        if len(lines) > 2 and self.rng.random() < 0.4:
            lines[self.rng.randrange(len(lines))] = f"- changed {new}"
        with writing(origin="agent"):
            if s.backend.write(PATH, end.join(lines)).error:
                return
        told = s.memory.log_entries()[-1].conflicts  # it knows of both texts then, and may take one out
        self.views[who] = None if told else end.join(lines)
        after = s.files[PATH]
        there, seen = ({line.rstrip("\r") for line in text.split("\n")} for text in (now or "", view))
        others = there - seen
        assert new in after and all(line in after for line in others)
        self.written += 1

    def edits(self, s: Session, who: int) -> None:
        lines = [line.rstrip("\r") for line in (self.text(s) or "").split("\n") if line.strip()]
        if lines:
            old, new = self.rng.choice(lines), self.line()
            with writing(origin="agent"):
                if not s.backend.edit(PATH, old, f"{old}\n{new}").error:
                    self.views[who] = None
                    assert new in s.files[PATH]

    def another_program_adds(self, s: Session, _: int) -> None:
        self.outside(((self.text(s) or "") + self.line() + self.rng.choice(["", "\n"])).encode())

    def another_program_ends_lines_otherwise(self, s: Session, _: int) -> None:
        if text := self.text(s):
            self.outside(text.replace("\r\n", "\n").replace("\n", "\r\n").encode())

    def another_program_takes_it_away(self, _: Session, __: int) -> None:
        if self.rng.random() < 0.3:
            self.outside(None if self.rng.random() < 0.6 else b"\xff\x00\xfe")

    def removes(self, s: Session, _: int) -> None:
        if self.rng.random() < 0.3:
            s.memory.remove(PATH)

    def reverts(self, s: Session, _: int) -> None:
        if entries := s.memory.log_entries():
            before = self.text(s)
            s.memory.revert(self.rng.choice(entries).id)
            after = s.memory.log_entries()
            if len(after) > len(entries) and self.rng.random() < 0.5:
                s.memory.revert(after[-1].id)
                assert (self.text(s) or "") == (before or "")

    def check(self) -> None:
        a, b = (s.memory.log_entries() for s in self.sessions)
        assert a == b and len({e.id for e in a}) == len(a) and replay(PATH, a) == self.text(self.sessions[0])


MOVES: list[Any] = [
    Walk.adds, Walk.user_writes, Walk.looks, Walk.looks, *[Walk.writes_from_an_old_view] * 3, Walk.edits, Walk.edits,
    Walk.another_program_adds, Walk.another_program_ends_lines_otherwise, Walk.another_program_takes_it_away,
    Walk.removes, Walk.reverts, Walk.reverts,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))])
@pytest.mark.parametrize("kind", ["disk:d", "store:x"])
def test_nothing_is_lost_whoever_writes(tmp_path: Path, kind: str, seed: int):
    walk = Walk(tmp_path, kind, seed)
    walk.sessions[0].memory.add("begun", PATH)
    for _ in range(STEPS):
        who = walk.rng.randrange(2)
        try:
            walk.rng.choice(MOVES)(walk, walk.sessions[who], who)
        except DeepnbError as error:  # a line, where the file is no text, or is not there
            assert "\n" not in str(error)
        walk.check()
    assert walk.written
