"""What a magic is in Python, for every error that may be raised there."""

import ast
import re
from pathlib import Path
from unittest.mock import MagicMock, create_autospec

import deepnb
from deepnb import DeepnbError, Session
from deepnb.values.approvals import PendingCall
from deepnb.values.text import in_python
from tests.data import table
from tests.support.tables import every_row, wing

SHELL = ("magics", "widgets", "views", "tour")
"""Rooms whose errors only somebody who types magics, or clicks, can meet."""


@every_row(("typed", "python"), table("commands")["in Python"])
def test_a_command_is_a_call(typed, python):
    assert in_python(typed) == python


def test_no_error_of_the_python_face_names_a_magic():
    error = DeepnbError("no thread 'b'", "%agent new b starts it")
    assert str(error) == "no thread 'b': session.new('b') starts it"
    assert error.typed == "no thread 'b': %agent new b starts it"
    found = errors()
    assert len(found) > 200
    kept = ("%load_ext deepnb", " % ")
    lines = [(where, in_python(words)) for where, words in found]
    assert [one for one in lines if "%" in one[1] and not any(k in one[1] for k in kept)] == []


def words(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(words, node.values))
    return "x"


def errors() -> list[tuple[str, str]]:
    root = Path(deepnb.__file__).parent
    found = []
    for file in sorted(root.rglob("*.py")):
        where = file.relative_to(root)
        if where.parts[0] in SHELL or where.stem.endswith(("magic", "view")):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error"):
                found += [(f"{where}:{node.lineno}", words(arg)) for arg in node.args]
    return found


@wing("compare")
@wing("package")
def test_what_an_error_says_to_type_in_python_can_be_typed():
    """Each call in an error's line is one of a real session: its name, its arguments, by place and by name."""
    session = create_autospec(Session(), instance=True)
    session.asked = [create_autospec(PendingCall("id", "name", {}, "digest", "key"), instance=True)]
    for part in ("memory", "skills", "tools", "subagents", "approvals", "jobs", "recording"):
        setattr(session, part, create_autospec(getattr(Session(), part), instance=True))
    wrong, tried = [], 0
    for where, words in sorted(set(errors())):
        for found in re.finditer(r"session\.\w[^ ,;()]*(\()?", line := in_python(words)):
            end, depth = found.end(), int(bool(found[1]))
            while depth and end < len(line):
                depth += {"(": 1, ")": -1}.get(line[end], 0)
                end += 1
            names = {name: MagicMock() for name in re.findall(r"\b[A-Z]+\b", line[found.start() : end])}
            tried += 1
            try:
                eval(line[found.start() : end], {"session": session, "deepnb": deepnb, **names})
            except Exception as error:
                wrong.append((where, line, repr(error)))
    assert tried > 70 and wrong == []  # of them some are of each wing
