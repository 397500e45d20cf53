"""The magics in a real terminal: `ipython` on a pseudo-terminal, typed at as one types."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import IMPORT_TESTS

pexpect = pytest.importorskip("pexpect")
pytestmark = [pytest.mark.kernel, pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")]

PROMPT = re.compile(r"In \[(\d+)\]: ")
ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


class Terminal:
    def __init__(self, home: Path) -> None:
        env = {**os.environ, "IPYTHONDIR": str(home), "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
        command = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor", "--no-confirm-exit"]
        self.child: Any = pexpect.spawn(
            sys.executable, command, env=env, cwd=str(home), encoding="utf-8", timeout=240, echo=False, dimensions=(50, 200)
        )  # fmt: skip
        self.child.expect(PROMPT)

    def type(self, *lines: str) -> str:
        for line in lines:
            self.child.sendline(line)
        return self.shown()

    def shown(self) -> str:
        self.child.expect(PROMPT)
        text = ANSI.sub("", self.child.before)
        return re.sub(r"^(\s*\.\.\.: )+", "", text)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path_factory.mktemp("ipython"))
    yield terminal
    terminal.child.close(force=True)


def test_control_c_stops_a_turn_with_one_line_and_it_goes_on(terminal: Terminal) -> None:
    terminal.type("%load_ext deepnb")
    terminal.type(IMPORT_TESTS.strip())
    terminal.type("from tests.support.endless import Endless")
    terminal.type("slow = Endless()")
    terminal.type("%agent use slow")
    terminal.child.sendline("%agent what can you do?")
    terminal.child.expect("I am deepnb")
    terminal.child.sendintr()
    out = terminal.shown()
    assert "Traceback" not in out and "KeyboardInterrupt" not in out
    assert "interrupted while the model answered" in out
    (line,) = re.findall(r"^UsageError.*$", out, re.MULTILINE)
    assert line == "UsageError: interrupted while the model answered: %agent resume"
    assert "delegate a task to a subagent; summarize." in terminal.type("%agent resume")
