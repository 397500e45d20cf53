"""What an opened session says never becomes the user's without a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepnb import open_session
from tests.memory.test_whose_words import PAGE, Desk, foreign_as_the_users
from tests.support.shells import Shell
from tests.wings.open.session_files import Claude, says


def opened(desk: Desk) -> None:
    log = Claude()
    log.user("u1", PAGE)
    log.reply("a1", "m1", says("Noted."))
    open_session(log.write(desk.place / "old.jsonl"), into=desk.s).fork("went-on")
    desk.run("%%agent\nGo on")


@pytest.mark.slow
def test_what_an_opened_session_says_is_never_the_users(shell: Shell, tmp_path: Path) -> None:
    assert foreign_as_the_users(Desk(shell, tmp_path), [opened]) == []
