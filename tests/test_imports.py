"""What importing and loading deepnb does not import: the engine, the widgets, pandas."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

from tests.support.tables import every_row

HEAVY = ("deepagents", "langchain", "langchain_core", "langgraph", "ipywidgets", "pandas", "numpy", "tiktoken", "pydantic", "nbformat", "acp")  # fmt: skip

LOADED = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext deepnb")
assert "agent" in shell.magics_manager.magics["line"]
"""
USED = (
    LOADED
    + """
shell.run_cell("%agent?")
shell.run_cell("%agent rewnd")
shell.run_cell("%config DeepNB")
shell.run_cell("%config DeepNB.stream_hz = 5")
shell.Completer.complete(line_buffer="%agent switch ", cursor_pos=14)
"""
)


def run(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    told = f"\nimport sys\nprint(*sorted(m for m in {HEAVY!r} if m in sys.modules), file=sys.stderr)\n"
    return subprocess.run(
        [sys.executable, *flags, "-c", code + told], capture_output=True, text=True, timeout=120, check=True
    )


def test_nothing_heavy_is_imported_and_nothing_of_anybodys_by_deepnb_alone() -> None:
    """To load the extension, to read usage, to set an option and to complete a line."""
    assert run(USED).stderr.splitlines()[-1] == ""
    lines = run("import deepnb", "-X", "importtime").stderr.splitlines()
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines if line.startswith("import time:")}
    assert "deepnb" in names
    assert not names & {*HEAVY, "IPython", "traitlets", "yaml", "nh3", "markdown_it"}


@pytest.mark.slow
@every_row("later", ["", "%config DeepNB", "%config DeepNB.stream_hz = 5"])
def test_loading_makes_no_session_and_imports_what_makes_one_only_when_a_magic_runs(later: str) -> None:
    _, loaded = _ran(f"{LOADED}shell.run_cell({later!r})")
    says = "=" in later  # a setting says what it does
    shown = {"backends", "backends.journal", "backends.merge"} if says else set()  # values that a view shows
    rooms = ("values", "magics", "views", *(["widgets", "gate"] * says))
    assert not {m for m in loaded - shown if m.partition(".")[0] not in rooms}
    assert says or {m for m in loaded if m.startswith(("values.", "views."))} == {"values.errors", "values.wings"}
    assert not {"magics.scene", "magics.options", "magics.ask", "magics.commands"} & loaded
    assert {"session.session", "magics.scene"} <= _ran(f"{LOADED}shell.run_cell('%agent')")[1]


def test_usage_needs_no_session_either() -> None:
    asked = f"{LOADED}shell.run_cell('%agent?')\nshell.run_cell('%memory why -h')"
    told, modules = _ran(asked)
    assert "\n  fork " in told and "%memory why TEXT" in told
    assert not {"session.session", "magics.scene", "magics.commands"} & modules


@cache
def _ran(code: str) -> tuple[str, set[str]]:
    """What running the code prints, and the modules of deepnb that it imports, without the package's name."""
    asked = "\nimport sys\nprint('\\n', *(m[7:] for m in sys.modules if m.startswith('deepnb.')))"
    told, _, modules = run(code + asked).stdout.rpartition("\n ")
    return told, set(modules.split())


def test_the_middleware_needs_nothing_of_a_notebooks_and_the_test_can_fail() -> None:
    gone = ("IPython", "ipywidgets", "pandas", "jsonschema", "nbformat", "markdown_it", "nh3", "tiktoken")
    used = "import deepnb.middleware as m\nfor name in m.__all__: getattr(m, name)"
    run(f"import sys\nsys.modules.update(dict.fromkeys({gone!r}))\n{used}")
    assert run(LOADED).stdout == ""
    assert "langchain_core" in run("import deepnb.wiring.build").stderr.splitlines()[-1].split()


def test_importing_the_rules_of_gate_and_anchors_compiles_none_of_them() -> None:
    code = "import base64, collections, dataclasses, re\nre.compile = lambda *_: 1 / 0\nimport deepnb.gate.directives, deepnb.gate, deepnb.values.offload"
    run(code)
