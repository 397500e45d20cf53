"""Writers of one file, each with what it last saw, and the law of what their changes come to.

As a program it is a process that writes: a line of JSON for each thing to do, a line of JSON for what came of it.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deepnb import Session
from deepnb.backends.journal import Entry, JournalTexts
from deepnb.backends.writer import writing
from tests.support.before import Before

PATH = "/AGENTS.md"
BEGIN = tuple(f"- line {n}" for n in range(4))


@dataclass(frozen=True)
class Change:
    """One line of a writer's view, what it wrote in its place (None: it took it out), and whether it was told of a conflict."""

    old: str
    new: str | None
    told: bool


class Pen:
    def __init__(self, session: Session, name: str, origin: str, agent: tuple[str, ...] = ()) -> None:
        self.session, self.name, self.n = session, name, 0
        self._facts = {"origin": origin, "agent": agent}
        self.view: list[str] = []
        self.read()

    def read(self) -> None:
        if self._facts["origin"] == "user":
            self.view = self.session.memory.read(PATH).splitlines()
            return
        with writing(**self._facts):
            self.view = self.session.backend.read(PATH).file_data["content"].splitlines()  # type: ignore[index]

    def do(self, how: str, at: int) -> Change | None:
        if how != "read":
            return self.change(how, at)
        self.read()
        return None

    def change(self, how: str, at: int) -> Change | None:
        if len(self.view) < 2:
            self.read()
            return None
        at %= len(self.view)
        self.n += 1
        old, new = self.view[at], None if how == "drop" else f"- {self.name} wrote {self.n}"
        lines = [*self.view[:at], *([new] if new else []), *self.view[at + 1 :]]
        told: list[str] = []
        with writing(**self._facts, tell=told.append):
            if how == "edit":
                problem = self.session.backend.edit(PATH, f"{old}\n", f"{new}\n").error
            else:
                problem = self.session.backend.write(PATH, "".join(f"{line}\n" for line in lines)).error
        assert not problem, problem
        self.view = lines
        if told:
            assert new is None or any(new in line or '..."' in line for line in told), (new, told)  # a long one is cut
            self.read()
        return Change(old, new, bool(told))


class Law:
    """Follows the journal: nobody's text vanishes, nothing is blended, every conflict is named."""

    def __init__(self, log: tuple[Entry, ...]) -> None:
        self._texts = JournalTexts()
        self._come_of: dict[str, str] = {}
        self.conflicts = self._at = 0
        self._take(log)

    def _take(self, log: tuple[Entry, ...]) -> None:
        for one in log[self._at :]:
            self._texts.take(one)
        self._at = len(log)

    @property
    def text(self) -> str | None:
        return self._texts.text(PATH)

    def check(self, log: tuple[Entry, ...], changes: list[Change]) -> None:
        """What these changes, each of another writer and in whatever order, came to."""
        todo = list(changes)
        for entry in log[self._at :]:
            before = (self._texts.text(PATH) or "").splitlines()
            self._take((*log[: self._at], entry))
            after = (self._texts.text(PATH) or "").splitlines()
            added = [line for line in after if line not in before]
            fits = [c for c in todo if (c.new in added if added else c.new is None and self._fits(c, before, after))]
            mine = next((c for c in fits if c.told == bool(entry.conflicts)), fits[0])  # two may take out the same
            todo.remove(mine)
            self._one(mine, before, after, entry)
        for left in todo:  # it changed nothing: it took out what was gone already
            assert left.new is None and not left.told
        assert len(log) == self._at

    def _fits(self, change: Change, before: list[str], after: list[str]) -> bool:
        return change.old not in before if before == after else change.old in before and change.old not in after

    def _one(self, change: Change, before: list[str], after: list[str], entry: Entry) -> None:
        kept = [line for line in before if line != change.old]
        assert set(after) == {*kept, *([change.new] if change.new else [])} and len(after) == len(set(after))
        if change.new:
            self._come_of[change.new] = change.old
        disagrees = change.old not in before and (change.new or self._left_of(change.old, before))
        if disagrees:
            self.conflicts += 1
            assert change.told and entry.conflicts
            assert not change.new or any(change.new in c.written.split("\n") for c in entry.conflicts)
        elif change.old in before:
            assert not change.told and not entry.conflicts

    def _left_of(self, line: str, lines: list[str]) -> bool:
        return any(line == old or self._left_of_chain(new, line) for new, old in self._come_of.items() if new in lines)

    def _left_of_chain(self, line: str, origin: str) -> bool:
        while (line := self._come_of.get(line, "")) != "":
            if line == origin:
                return True
        return False


def main(folder: str, name: str) -> None:
    session = Session()
    session.memory.keep(Path(folder))
    backend: Any = session.backend
    # A look at a file takes a millisecond more: what comes between two of them has time to.
    backend.inner = Before(backend.inner, ("read", "download_files"), None, lambda: time.sleep(0.001))
    pens = [Pen(session, f"{name}{kind}", kind) for kind in ("user", "agent")]
    print("ready", flush=True)
    for line in sys.stdin:
        which, how, at = json.loads(line)
        made = pens[which].do(how, at)
        print(json.dumps(made and asdict(made)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
