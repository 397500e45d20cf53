"""The words of what a user reads: none of those that no documentation uses.

Read are the string literals of the package, its notebooks (their markdown and code, not what models said in them),
README, CHANGELOG and the reference, with the docstrings that it is made of. What is no text for a user is left out by what it is: docstrings, patterns, strings that hold no sentence, and
the few files and names below.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import deepnb
from tests.support.tables import every_row

ROOT = Path(__file__).parents[1]
PACKAGE = Path(deepnb.__file__).parent

STRANGE = re.compile(r"\b(?:your word|mend(?:ed|s|ing)?|none of the|stands|told|shall|nought)\b", re.IGNORECASE)

NOT_TEMPLATES = {
    "gate/own_words.py": "patterns over what the user typed",
    "gate/directives.py": "words of languages, to recognise an instruction by",
    "search/words.py": "words that no search looks for",
}
"""Files whose strings are data about language."""

PROMPTS = {
    "models/teaching/conversation.py": {"_STOP_WORDS"}, "search/reading.py": {"_VERBS"}, "memory/flush.py": {"PROMPT"},
    "models/teaching/recall.py": {"_GENERIC"}, "engine/approvals.py": {"EDITED"},
}  # fmt: skip
"""Names of what a model is sent and no user is shown, and of words to recognise a request by."""


def literals(source: str, left_out: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """(line, text) of each string of a module; of an f-string its constant words, `{}` where a value goes in."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")) or (
            isinstance(node, ast.Assign | ast.AnnAssign) and names(node) & left_out
        ):
            skipped.update(id(part) for part in ast.walk(node))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def names(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def sentences(text: str) -> bool:
    """Whether a string has words side by side; an identifier or a key has not."""
    return re.search(r"\w\s+\w", text) is not None


def strange(lines: Iterator[tuple[int, str]], where: str) -> list[str]:
    return [f"{where}:{line}: {text.strip()[:120]}" for line, text in lines if sentences(text) and STRANGE.search(text)]


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p.relative_to(PACKAGE).as_posix() not in NOT_TEMPLATES)


def test_what_the_package_shows() -> None:
    found: list[str] = []
    seen = 0
    for file in modules():
        where = file.relative_to(PACKAGE).as_posix()
        lines = list(literals(file.read_text(encoding="utf-8"), frozenset(PROMPTS.get(where, ()))))
        seen += sum(sentences(text) for _, text in lines)
        found += strange(iter(lines), where)
    assert found == []
    assert seen > 1_000, "the walk sees the strings"


@every_row("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_a_notebook_says_of_itself(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert strange(enumerate("".join(cell["source"]) for cell in cells), path.name) == []


@every_row("name", ["README.md", "CHANGELOG.md", "notebooks/REFERENCE.md"])
def test_what_a_document_says(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert strange(enumerate(lines, 1), name) == []


@every_row("path", sorted((*NOT_TEMPLATES, *PROMPTS)))
def test_what_is_left_out_exists(path: str) -> None:
    source = (PACKAGE / path).read_text(encoding="utf-8")
    for name in PROMPTS.get(path, ()):
        assert re.search(rf"^{name}\b", source, re.MULTILINE), f"{path} has no {name}"


@every_row(("source", "is_read"), [
    ('raise DeepnbError(f"{name} is no thread", "mend it and go on")', True),
    ('line = f"{path}: both texts stands in it {now}"', True), ('x = {"write_file": "this waits for your word"}', True),
    ('EMPTY = ("nothing is lost, and " "nought is told")', True), ('"""What the user is told."""', False),
    ('re.compile(r"you are told (?:to|that) do")', False), ('told["told"] = "told"', False), ('f"{told} by it"', False),
])  # fmt: skip
def test_a_strange_word_is_found_if_a_user_reads_it(source: str, is_read: bool) -> None:
    assert bool(strange(literals(source), "x.py")) == is_read
