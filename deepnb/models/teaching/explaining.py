"""Explaining an error from its traceback, and correcting the cell that it came from."""

import re
from collections.abc import Iterator, Mapping

from deepnb.models.teaching import corrections, value_errors
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.corrections import Finding, Rule
from deepnb.models.teaching.tracebacks import HEAD, Failure, read_failure

_RULES: Mapping[str, Rule] = {
    "KeyError": corrections.key_error,
    "NameError": corrections.name_error,
    "UnboundLocalError": corrections.unbound_error,
    "AttributeError": corrections.attribute_error,
    "ModuleNotFoundError": corrections.import_error,
    "ImportError": corrections.import_error,
    "FileNotFoundError": corrections.file_error,
    "SyntaxError": corrections.syntax_error,
    "IndentationError": corrections.syntax_error,
    "TabError": corrections.syntax_error,
    "ZeroDivisionError": value_errors.zero_division,
    "TypeError": value_errors.type_error,
    "ValueError": value_errors.value_error,
    "IndexError": value_errors.index_error,
    "RecursionError": value_errors.recursion_error,
    "AssertionError": value_errors.assertion_error,
}
_ASKS_FOR_A_CELL = re.compile(r"\b(?:correct|fix|repair)\b[^.]{0,40}\bcell\b", re.IGNORECASE)


def wants_explanation(c: Conversation) -> Failure | None:
    """The error in a request that has a traceback with the user's code in it."""
    return read_failure(c.request)


def explain(c: Conversation, f: Failure) -> str:
    """Which line fails and why, and the line or the cell as it is right."""
    if not f.line:
        return f"The error is {_said(f)}. It came from no line of your own code that I can see, so I can't explain it."
    finding = _finding(f)
    where = f"Line {f.line} of {f.place} fails with {_said(f)}:"
    if f.cells and _ASKS_FOR_A_CELL.search(c.request.partition(HEAD)[0]):  # one block alone: the cell
        return f"{where} `{f.text.strip()}`. {finding.why}\n\n{_cell(f, finding)}"
    where = f"{where}\n\n```python\n{f.text.strip()}\n```\n\n{finding.why}"
    if not finding.lines:
        return f"{where} {finding.advice}".rstrip()
    lines = "\n".join(finding.lines[number] for number in sorted(finding.lines))
    number = min(finding.lines)
    which = "Corrected" if number == f.line else f"Line {number}, corrected"
    return f"{where}\n\n{which}:\n\n```python\n{lines.strip()}\n```"


def _finding(f: Failure) -> Finding:
    rule = _RULES.get(f.kind)
    found = rule(f) if rule else None
    if found is not None:
        return found
    named = " and ".join(f.shown(name) for name in list(f.variables)[:4])
    why = (
        f"On this line {'is' if ' and ' not in named else 'are'} {named}." if named else "No variable is on this line."
    )
    if f.text.strip().startswith("raise"):
        causes = [remark for remark in f.remarks if remark.startswith(("caused by", "while handling"))]
        return Finding(" ".join(["Your own code raises this error here.", why, *(f"It is {c}." for c in causes[:1])]))
    return Finding(f"{why} I am a rule-based model and have no rule for this error.")


def _cell(f: Failure, finding: Finding) -> str:
    """The corrected cell; the reason, if the error does not say how to correct it."""
    if not finding.lines:
        return f"I can't give a corrected cell: the error does not say what is meant. {finding.advice}".rstrip()
    for lines, shift in _cells(f):
        for number, line in finding.lines.items():
            lines[number - 1 + shift] = line
        return "The corrected cell:\n\n```python\n" + "\n".join(lines) + "\n```"
    right = " and ".join(f"`{line.strip()}`" for line in finding.lines.values())
    return f"I can't give a corrected cell: the line that fails is in {f.place.removeprefix('File ')}. Write {right} there."


def _cells(f: Failure) -> Iterator[tuple[list[str], int]]:
    """The lines of the cells that have the failing one, and how many lines further down: below a cell magic it is one."""
    for place, code in f.cells:
        lines = code.split("\n")
        for shift in (0, 1):
            at = f.line - 1 + shift
            if place == f.place and at < len(lines) and lines[at].strip() == f.text.strip():
                yield lines, shift


def _said(f: Failure) -> str:
    return f"{f.kind}: {f.message}" if f.message else f.kind
