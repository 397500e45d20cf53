"""The table of wings: what it names is there, and what is taken out of it says that it is not here."""

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import deepnb.wings
from deepnb.magics.usage import LEFT_OUT, OPTIONS, subcommands
from deepnb.values.errors import NotInstalledError
from deepnb.values.wings import WINGS, home, names, part, pictures

ASKED = {
    "%agent use http:": ["%agent use http://localhost:2024"],
    "%agent use https:": ["%agent use https://localhost:2024"],
    "%agent help WORD": ["%agent help caching"],
    "%agent help TOPIC": ["%agent help compaction"],
    "Session(graph=URL)": ["deepnb.Session(graph='http://localhost:2024')", "session.attach('http://localhost:2024')"],
    "session.attach(header=NAME)": ["session.attach('http://localhost:2024', header='X-Key')"],
    "session.compare": ["session.compare('hello', memory_refresh=['call', 'delta'])"],
    "session.jobs": ["session.jobs", "session.start('hello')"],
    "session.package": ["session.package('app')"],
    "python -m deepnb lab": ["main('lab')"],
    "python -m deepnb tour": ["main('tour')"],
    "python -m deepnb acp": ["main('acp')"],
}  # what asks for a name, if that is not to be seen from it
ERRORS = {"%": "UsageError", "import ": "ImportError", "main(": "SystemExit", "deepnb.Session": "NotInstalledError", "deepnb.": "AttributeError"}  # fmt: skip
TAKEN_OUT = """
import contextlib, io, json, sys
from deepnb.values.wings import ROOT, WINGS
WINGS.clear()
from IPython.core.interactiveshell import InteractiveShell
import importlib, deepnb.__main__
importlib.reload(deepnb)

def main(*words):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        deepnb.__main__.main(words)
    raise SystemExit(said.getvalue().strip())

shell = InteractiveShell.instance()
shell.showtraceback = lambda *args, **given: None
shell.run_cell("%load_ext deepnb")
session = deepnb.current()
shell.push({"deepnb": deepnb, "session": session, "main": main})
said = []
for cell in json.loads(sys.argv[1]):
    ran = shell.run_cell(cell)
    error = ran.error_in_exec or ran.error_before_exec
    said.append([cell, type(error).__name__, str(error)] if error else [cell, "", ""])
loaded = [module for module in sys.modules if module.startswith("deepnb.wings")]
print(json.dumps([said, [turn.prompt for turn in session.turns], sorted({*dir(deepnb)} & {*ROOT}), loaded]))
"""


def asked(name: str) -> list[str]:
    kind, _, rest = name.partition(" ")
    if name in ASKED or kind == "%agent":
        return ASKED.get(name) or [f"{name}{more}" for more in ("", "?", " -h", " stop 1")] + [f"%agent help {rest}"]
    return [f"%agent {name} hello", f"%%agent {name}\nhello"] if name.startswith("--") else [name]


def error_of(cell: str, name: str) -> tuple[str, str]:
    kind = next((error for start, error in ERRORS.items() if cell.startswith(start)), "NotInstalledError")
    name = {"%agent help TOPIC": "%agent help WORD"}.get(name, name.removeprefix("import "))
    what = f"{'%agent ' * name.startswith('--')}{name} is not in this copy of deepnb"
    magic = "%" if kind == "UsageError" else ""
    return kind, f"{'deepnb: ' * (kind == 'SystemExit')}{what}: {magic}pip install deepnb brings it"


def test_what_the_table_names_is_there_with_its_usage() -> None:
    folders = {p.parent.name for p in Path(deepnb.wings.__file__).parent.glob("*/__init__.py")}
    assert folders == set(WINGS) and names("") and all(part(name) is not None for name in names(""))
    for value, shown in pictures().items():
        assert all(hasattr(import_module(module), name) for module, name in (value, shown))
    assert home("%agent nothing") is None
    with pytest.raises(NotInstalledError, match="is not in this copy of deepnb"):
        part("%agent nothing")
    # To mypy, a module that is not there belongs to a wing that was taken out.
    texts = [p.read_text(encoding="utf-8") for p in Path(deepnb.__file__).parent.rglob("*.py*") if p.suffix != ".pyc"]
    named = {found for text in texts for found in re.findall(r"from (deepnb\.wings\.(\w+)[\w.]*) import", text)}
    assert named and [module for module, wing in named if wing in WINGS and find_spec(module) is None] == []
    assert not LEFT_OUT & {*names("%agent "), *(f"%agent {name}" for name in names("--"))}
    typed = {f"%agent {sub.name}" for sub in subcommands("agent")} | {option.name for option in OPTIONS}
    assert {name for name in names("%agent ") + names("--") if len(name.split()) < 3} <= typed


def test_each_name_of_a_wing_that_is_taken_out_says_so_in_one_line() -> None:
    cells = {cell: name for name in names("") for cell in asked(name)}
    given = json.dumps([*cells, "%agent jobs in Berlin, please"])
    command = [sys.executable, "-c", TAKEN_OUT, given]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    said, *rest = json.loads(ran.stdout.splitlines()[-1])
    assert said == [
        *([cell, *error_of(cell, name)] for cell, name in cells.items()),
        ["%agent jobs in Berlin, please", "", ""],
    ]
    assert rest == [["jobs in Berlin, please"], [], []], "sent, listed in the root, imported"
