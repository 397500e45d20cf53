"""A real IPython shell in this process, a cell at a time: what was printed, what it gave, what went wrong."""

from __future__ import annotations

import atexit
import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@dataclass(frozen=True)
class Ran:
    """One cell that was run."""

    out: str
    err: str
    value: Any
    error: BaseException | None

    @property
    def asks(self) -> bool:
        """Whether it ended at a card, which stops Run All."""
        return type(self.error).__name__ == "ApprovalNeeded"

    @property
    def lines(self) -> list[str]:
        """What was printed, on either stream, without blank lines."""
        return [line.rstrip() for line in f"{self.out}\n{self.err}".splitlines() if line.strip()]


class Shell:
    """A shell of its own; only one lives at a time."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        InteractiveShell.clear_instance()
        self.ip = InteractiveShell.instance(config=config)

    def run(self, cell: str, cell_id: str | None = None) -> Ran:
        """Run a cell as a front end would."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            result = self.ip.run_cell(cell, store_history=False, cell_id=cell_id)
        return Ran(out.getvalue(), err.getvalue(), result.result, result.error_before_exec or result.error_in_exec)

    def ok(self, cell: str, cell_id: str | None = None) -> str:
        """What a cell that must not fail printed."""
        ran = self.run(cell, cell_id)
        assert (ran.error is None and not ran.err) or ran.asks, f"{cell!r}: {ran.err or ran.error}"
        return ran.out

    def fails(self, cell: str) -> str:
        """The one line that a cell which must fail said; anything more (a traceback) is an error."""
        ran = self.run(cell)
        assert ran.error is not None, f"{cell!r} did not fail: {ran.out}"
        assert "Traceback" not in ran.out + ran.err, ran.out + ran.err
        told = [line for line in ran.err.splitlines() if line.strip()]
        assert len(told) == 1, ran.err
        return told[0].removeprefix("UsageError: ")

    @property
    def session(self) -> Any:
        """The session of the loaded extension."""
        import deepnb

        return deepnb.current()

    def close(self) -> None:
        """Unload, and give the place to the next."""
        self.run("%unload_ext deepnb")
        with patch("gc.collect"):  # IPython asks for one, which is half of the time of a test with a shell
            self.ip.atexit_operations()
        atexit.unregister(self.ip.atexit_operations)
        InteractiveShell.clear_instance()


@pytest.fixture
def bare_shell(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A shell without deepnb."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = Shell()
    yield shell
    shell.close()


@pytest.fixture
def shell(bare_shell: Shell) -> Shell:
    """A shell with deepnb loaded."""
    bare_shell.ok("%load_ext deepnb")
    return bare_shell
