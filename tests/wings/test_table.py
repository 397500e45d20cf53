"""The table of wings: what it names is there, and what is taken out of it says that it is not here."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import deepnb.wings
from deepnb.magics.usage import LEFT_OUT, OPTIONS, subcommands
from deepnb.values.errors import NotInstalledError
from deepnb.values.wings import WINGS, home, names, part, pictures

OUT = """
from deepnb.values.wings import WINGS
WINGS.clear()
from IPython.core.interactiveshell import InteractiveShell
import deepnb, sys
shell = InteractiveShell.instance()
for cell in ("%load_ext deepnb", "%agent jobs", "%agent --bg hello", "%agent package app", "%agent open old.jsonl", "%agent help threads", "%agent use http://localhost:2024", "%agent jobs in Berlin, please"):
    shell.run_cell(cell)
session = deepnb.current()
for start in (lambda: deepnb.Session(graph="http://localhost:2024"), lambda: session.attach("http://localhost:2024")):
    try:
        start()
    except deepnb.NotInstalledError as error:
        print(error)
for name in ("jobs", "start", "compare", "package"):
    try:
        made = getattr(session, name)
        made("hello") if name != "compare" else made("hello", memory_refresh=["call", "delta"])
    except deepnb.NotInstalledError as error:
        print(error)
print([turn.prompt for turn in session.turns], [hasattr(deepnb, name) for name in ("Job", "course", "open_session")])
session.close()
print(sorted(module for module in sys.modules if module.startswith("deepnb.wings")))
"""


def test_every_wing_is_a_folder_and_every_folder_a_wing() -> None:
    folders = {p.parent.name for p in Path(deepnb.wings.__file__).parent.glob("*/__init__.py")}
    assert folders == set(WINGS)


def test_what_the_table_names_is_there() -> None:
    assert names("") and all(callable(part(name)) for name in names(""))
    for value, shown in pictures().items():
        assert all(hasattr(import_module(module), name) for module, name in (value, shown))


def test_each_subcommand_and_option_of_a_wing_has_its_usage() -> None:
    assert not LEFT_OUT
    typed = {f"%agent {sub.name}" for sub in subcommands("agent")} | {option.name for option in OPTIONS}
    assert {name for name in names("%agent ") + names("--") if not name.startswith("%agent use ")} <= typed


def test_each_name_of_a_wing_that_is_taken_out_says_so() -> None:
    ran = subprocess.run([sys.executable, "-c", OUT], capture_output=True, text=True, timeout=120, check=True)
    gone = "is not in this copy of deepnb"
    assert [line for line in ran.stderr.splitlines() if line.startswith("UsageError")] == [
        f"UsageError: %agent jobs {gone}: %pip install deepnb brings it",
        "UsageError: no option '--bg': type --as, or -- before a prompt",
        f"UsageError: %agent package {gone}: %pip install deepnb brings it",
        f"UsageError: %agent open {gone}: %pip install deepnb brings it",
        f"UsageError: help WORD {gone}: %pip install deepnb brings it",
        f"UsageError: %agent use http: {gone}: %pip install deepnb brings it",
    ]
    stubs = (
        "Session(graph=URL)",
        "Session(graph=URL)",
        "session.jobs",
        "session.jobs",
        "session.compare",
        "session.package",
    )
    assert ran.stdout.splitlines()[-8:] == [
        *(f"{name} {gone}: pip install deepnb brings it" for name in stubs),
        "['jobs in Berlin, please'] [False, False, False]",
        "[]",
    ]


def test_what_no_wing_has_is_an_error() -> None:
    assert home("%agent nothing") is None
    with pytest.raises(NotInstalledError, match="is not in this copy of deepnb"):
        part("%agent nothing")
