"""What a magic is in Python, for every error that may be raised there."""

import ast
import re
from pathlib import Path
from unittest.mock import MagicMock, create_autospec

import deepnb
from deepnb import DeepnbError, Session
from deepnb.values.approvals import PendingCall
from deepnb.values.text import in_python
from tests.support.tables import every_row
from tests.support.wings import wing

SHELL = ("magics", "widgets", "views", "tour")
"""Rooms whose errors only somebody who types magics, or clicks, can meet."""


@every_row(
    ("typed", "python"),
    [
        ("%agent new b starts it, %agent threads lists those there are", "session.new('b') starts it, session.threads lists those there are"),
        ("%agent resume, then %agent compact", "session.resume(), then session.compact()"),
        ("%agent rewind 3", "session.rewind(3)"),
        ("%agent shows it", "session shows it"),
        ("type %agent PROMPT, or a prompt", "type session.run(PROMPT), or a prompt"),
        ("%memory show /memory/a.md shows it", "session.memory.read('/memory/a.md') shows it"),
        ("%agent use openai:gpt-5.2", "session.use('openai:gpt-5.2')"),
        ("%agent use http://a:1/b, or another", "session.attach('http://a:1/b'), or another"),
        ("%agent use URL --header NAME asks for it", "session.attach(URL, header=NAME) asks for it"),
        ("%agent history --bring SECTION[:MESSAGES]", "session.bring_back(SECTION[:MESSAGES])"),
        ("%skills add --yes report replaces it", "session.skills.add('report', replace=True) replaces it"),
        ('%agent export --yes "my report.html" overwrites it', "session.export('my report.html', overwrite=True) overwrites it"),
        ('%agent edit {"name": VALUE}', 'session.resume(session.asked[0].edit({"name": VALUE}))'),
        ("%agent fork NAME --at N goes on", "session.fork(NAME, at=N) goes on"),
        ("%agent new --empty starts one", "session.new(empty=True) starts one"),
        ("%agent use NAME --base-url http://h/v1", "session.use(NAME, base_url='http://h/v1')"),
        ("%agent use --base-url http://h/v1", "session.models('http://h/v1')"),
        ("%config DeepNB.window = N sets the window", "session.configure(max_input_tokens=N) sets the window"),
        ("%agent use a model with a larger window", "session.use() a model with a larger window"),
        ("%agent approve all, or %agent reject 1 WHY", "session.resume([call.approve() for call in session.asked]), or session.resume(session.asked[0].reject(WHY))"),
        ("%agent code puts it there", "%agent code puts it there"),
        ("%pip install langchain-openai", "pip install langchain-openai"),
        ("%load_ext deepnb", "%load_ext deepnb"),
        ("15 % of the window", "15 % of the window"),
    ],
)  # fmt: skip
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
