"""A credential is refused wherever in a file it stands; the first line was once looked past."""

from __future__ import annotations

import pytest

from deepnb import DeepnbError, Session
from tests.support.tables import every_row

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"


@every_row("before", [0, 1, 59, 60, 61, 200])
@every_row("after", [0, 61])
def test_a_credential_on_any_line_is_refused(before: int, after: int) -> None:
    s = Session(model="offline")
    with pytest.raises(DeepnbError, match="GitHub token"):
        s.memory.write("/AGENTS.md", "- a\n" * before + f"- {TOKEN}\n" + "- b\n" * after)
    assert "/AGENTS.md" not in s.files
