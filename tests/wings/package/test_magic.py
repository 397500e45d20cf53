"""%agent package in a real shell: a list first, and files once that is confirmed."""

from pathlib import Path

import pytest

from deepnb.magics.options import AgentRun, Command, parse_agent
from tests.support.shells import Shell
from tests.support.tables import every_row


@pytest.fixture(autouse=True)
def in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_lists_then_writes_on_yes(shell: Shell, in_directory: Path) -> None:
    shell.ok("RATE = 2\ndef price(x: float) -> float:\n    'Give the price.'\n    return x * RATE")
    shell.ok("%agent tools add price")
    shell.ok("%%memory /MEMORY.md\nprivate")
    shell.ok("%memory add use tabs")
    listed = shell.ok("%agent package app")
    where = in_directory.resolve() / "app"
    assert "package for app · 6 files" in listed and not where.exists()
    assert "files/AGENTS.md" in listed and "memory" in listed and "source of your tools" in listed
    assert "list_variables, inspect_variable, query_table" in listed and "run_python" in listed
    assert "  /MEMORY.md: is packaged only if you name it" in listed
    assert listed.strip().endswith("nothing is written yet: %agent package --yes app writes these files")

    written = shell.ok("%agent package --yes app MEMORY.md")
    assert "written to app · 7 files" in written
    assert "in app: pip install -r requirements.txt 'langgraph-cli[inmem]', then langgraph dev" in written
    assert (where / "files" / "MEMORY.md").read_text() == "private\n"
    assert "RATE = 2" in (where / "notebook_tools.py").read_text()
    readme = (where / "README.md").read_text()
    assert "`langgraph dev` has no authentication." in readme and "Elastic License 2.0" in readme
    assert 'pip install -r requirements.txt "langgraph-cli[inmem]"\nlanggraph dev' in readme


def test_errors_are_one_line(shell: Shell, in_directory: Path) -> None:
    (in_directory / "file").touch()
    assert shell.fails("%agent package file") == "file is a file: choose another name"
    assert shell.fails("%agent package app /nowhere.md").startswith("the agent has no file /nowhere.md: ")
    shell.ok("%agent package app --yes")
    (in_directory / "app" / "files").mkdir()
    (in_directory / "app" / "files" / "old.md").touch()
    assert "files/old.md is in" in shell.fails("%agent package app --yes")


@every_row(
    ("line", "meant"),
    [
        ("package 'my app' /MEMORY.md notes/ --yes", {"directory": "'my app'", "include": "/MEMORY.md notes/", "yes": True}),
        ("package app MEMORY.md", {"directory": "app", "include": "MEMORY.md", "yes": False}),
        ("package these files for me", None),
        ("package it?", None),
    ],
)  # fmt: skip
def test_a_line_is_told_from_a_prompt(line: str, meant: dict[str, object] | None) -> None:
    parsed = parse_agent(line)
    if meant is None:
        assert isinstance(parsed, AgentRun)
    else:
        assert isinstance(parsed, Command) and parsed.args == meant
