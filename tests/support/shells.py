"""A real IPython shell in this process, a cell at a time: what was printed, what it gave, what went wrong."""

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
    out: str
    err: str
    value: Any
    error: BaseException | None

    @property
    def asks(self) -> bool:
        return type(self.error).__name__ == "ApprovalNeeded"

    @property
    def lines(self) -> list[str]:
        """What was printed, on either stream, without blank lines."""
        return [line.rstrip() for line in f"{self.out}\n{self.err}".splitlines() if line.strip()]


class Shell:
    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        InteractiveShell.clear_instance()
        self.ip = InteractiveShell.instance(config=config)

    def run(self, cell: str, cell_id: str | None = None) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            result = self.ip.run_cell(cell, store_history=False, cell_id=cell_id)
        return Ran(out.getvalue(), err.getvalue(), result.result, result.error_before_exec or result.error_in_exec)

    def ok(self, cell: str, cell_id: str | None = None) -> str:
        ran = self.run(cell, cell_id)
        assert (ran.error is None and not ran.err) or ran.asks, f"{cell!r}: {ran.err or ran.error}"
        return ran.out

    def fails(self, cell: str) -> str:
        ran = self.run(cell)
        assert ran.error is not None, f"{cell!r} did not fail: {ran.out}"
        assert "Traceback" not in ran.out + ran.err, ran.out + ran.err
        told = [line for line in ran.err.splitlines() if line.strip()]
        assert len(told) == 1, ran.err
        return told[0].removeprefix("UsageError: ")

    @property
    def session(self) -> Any:
        import deepnb

        return deepnb.current()

    def close(self) -> None:
        self.run("%unload_ext deepnb")
        with patch("gc.collect"):  # IPython asks for one, which is half of the time of a test with a shell
            self.ip.atexit_operations()
        atexit.unregister(self.ip.atexit_operations)
        InteractiveShell.clear_instance()


@pytest.fixture
def bare_shell(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = Shell()
    yield shell
    shell.close()


@pytest.fixture
def shell(bare_shell: Shell) -> Shell:
    bare_shell.ok("%load_ext deepnb")
    return bare_shell
