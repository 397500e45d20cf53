"""A comparison in a session that is kept: nothing of it is in the database, and its memory is that of the database."""

from __future__ import annotations

from deepnb import Session
from tests.support.wings import wing

pytestmark = wing("compare")


def test_the_next_kernel_sees_nothing_of_it(where: str) -> None:
    with Session(persist=where) as session:
        session.memory.add("The release is on Friday.")
        session.run("hello")
        session.memory.write("/AGENTS.md", "- The release is on Monday.\n")
        found = session.compare("when is the release?", memory_refresh=["thread", "delta"])
        assert ["Friday" in column.answer for column in found.columns] == [True, False]
        assert ["Monday" in column.answer for column in found.columns] == [False, True]
        found = session.compare("Remember that the door is red.", memory_refresh=["call", "delta"])
        assert [[diff.path for diff in column.changed] for column in found.columns] == [["/AGENTS.md"]] * 2
        log, files = session.memory.log_entries(), dict(session.files)
    with Session(persist=where) as again:
        assert [info.name for info in again.threads] == ["main"] and len(again.turns) == 1
        assert dict(again.files) == files and again.memory.log_entries() == log
        assert "red" not in again.files["/AGENTS.md"]
