"""The five parts together in a deep agent and in a plain one, in a process that has no IPython."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.middleware.checks import check
from tests.support.tables import every_row

STORY = Path(__file__).with_name("story.py")


@pytest.mark.slow
@every_row("kind", ["deep", "plain"])
def test_the_parts_in_an_agent(kind: str, tmp_path: Path) -> None:
    command = [sys.executable, str(STORY), kind, str(tmp_path / "told")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert list(told) == ["invoke", "ainvoke", "astream"]
    for one in told.values():
        check(one, kind)
