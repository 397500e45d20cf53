"""Why a line fails and how it is corrected, by the kind of the error: names, keys, files, syntax."""

import ast
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from deepnb.models.teaching.tracebacks import Failure

_ALIASES = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns",
    "datetime": "from datetime import datetime",
    "Path": "from pathlib import Path",
    "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict",
}
_METHODS = {("list", "push"): "append", ("list", "add"): "append", ("set", "append"): "add", ("tuple", "append"): ""}
_IN_PLACE = {
    "sort": "sorted({})",
    "reverse": "{}[::-1]",
    "append": "",
    "extend": "",
    "insert": "",
    "update": "",
    "shuffle": "",
}
"""Methods that change a value and give None, each with what gives the changed value instead."""
_ASSIGNMENT = re.compile(r"(?<![=!<>:+\-*/%&|^])=(?!=)")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Finding:
    """Why a line fails, and the lines to write in place of others; empty where the error does not say how."""

    why: str
    lines: Mapping[int, str] = field(default_factory=dict)
    advice: str = ""
    """What to do where no line can be corrected from the error alone."""


Rule = Callable[[Failure], Finding | None]


def key_error(f: Failure) -> Finding | None:
    """A key, a column or a row label that is not there."""
    for near in f.near:
        kind = near.what.removeprefix("a ")
        why = f"{f.shown(near.owner)} has no {kind} {near.word}; the nearest {kind} is {near.name}."
        return Finding(why, replaced(f, near.word, near.name, literal=True))
    key = f.message
    for node in ast.walk(f.tree()):
        if isinstance(node, ast.Subscript):
            held, asked = ast.unparse(node.value), ast.unparse(node.slice)
            owner = held if held in f.variables else next((n for n in names_in(node.value) if n in f.variables), held)
            by = f", the value of `{asked}`" if asked in f.variables else ""
            why = f"{f.shown(owner)} has no key {key}{by}."
            how = f"`{held}.get({asked})` gives None for a key that is missing." if f.kind_of(held) == "dict" else ""
            return Finding(why, advice=f"Check the key against those that are there. {how}".strip())
    return None


def name_error(f: Failure) -> Finding | None:
    """A name that is not defined."""
    found = re.search(r"name '(\w+)' is not defined", f.message)
    if found is None:
        return None
    name = found[1]
    module = name in sys.stdlib_module_names and re.search(rf"\b{name}\.", f.text)
    if name in _ALIASES or module:
        line = _ALIASES.get(name, f"import {name}")
        return Finding(f"`{name}` is not imported in this notebook.", above(f, min(f.code, default=1), line))
    for near in f.near:
        why = f"`{name}` is not defined; the nearest name is `{near.name}`, {near.what}."
        return Finding(why, replaced(f, name, near.name))
    return Finding(f"`{name}` is not defined.", advice=f"Run the cell that defines `{name}` first, or define it here.")


def unbound_error(f: Failure) -> Finding | None:
    """A local variable that is read before it has a value."""
    found = re.search(r"local variable '(\w+)'", f.message)
    if found is None:
        return None
    name = found[1]
    why = f"`{name}` is assigned in `{f.function}`, so it is a variable of this function and has no value yet on this line."
    start = next(
        (n for n in sorted(f.code, reverse=True) if n < f.line and f.code[n].lstrip().startswith("def ")), None
    )
    if any(remark.startswith(f"{name} is a variable of the notebook, too") for remark in f.remarks) and start:
        why += f" The `{name}` of the notebook is another variable."
        line = f"{indentation(f.code[start])}    global {name}"
        return Finding(why, {start: f"{f.code[start]}\n{line}"})
    return Finding(why, advice=f"Give `{name}` its first value before line {f.line}.")


def attribute_error(f: Failure) -> Finding | None:
    """An attribute that is not there, or is asked of None."""
    found = re.search(r"'?([\w.]+)'? (?:object )?has no attribute '(\w+)'", f.message)
    if found is None:
        return None
    kind, attribute = found[1], found[2]
    owner = next(
        (ast.unparse(n.value) for n in ast.walk(f.tree()) if isinstance(n, ast.Attribute) and n.attr == attribute), ""
    )
    if kind == "NoneType":
        return none_finding(f, owner)
    for near in f.near:
        word = near.what.removeprefix("a ").removeprefix("an ")
        why = f"{f.shown(owner or near.owner)} has no attribute `{attribute}`; the nearest {word} is `{near.name}`."
        return Finding(why, replaced(f, f".{attribute}", f".{near.name}"))
    if other := _METHODS.get((kind, attribute)):
        why = f"{f.shown(owner)} has no method `{attribute}`; a {kind} has `{other}`."
        return Finding(why, replaced(f, f".{attribute}", f".{other}"))
    return Finding(
        f"{f.shown(owner)} has no attribute `{attribute}`.", advice=f"`dir({owner})` lists those that it has."
    )


def import_error(f: Failure) -> Finding | None:
    """A module, or a name of one, that is not there."""
    found = re.search(r"(?:No module named|cannot import name) '([\w.]+)'", f.message)
    if found is None:
        return None
    name = found[1]
    for near in f.near:
        why = f"There is no {'module' if near.what == 'a module' else near.what[2:]} `{name}`; the nearest is `{near.name}`."
        return Finding(
            why, {n: re.sub(rf"\b{near.word}\b", near.name, line) for n, line in f.code.items() if near.word in line}
        )
    package = name.partition(".")[0]
    if "cannot import" in f.message:
        return Finding(
            f"The module has no name `{name}`.", advice="Check its spelling, and the version of the package."
        )
    return Finding(f"No package `{package}` is installed here.", advice=f"Install it: `%pip install {package}`.")


def file_error(f: Failure) -> Finding | None:
    """A file that is not there."""
    found = re.search(r"No such file or directory: (.+)$", f.message)
    if found is None:
        return None
    name = found[1].strip("'\"")
    built = [f.shown(n) for n in names_in(f.tree()) if n in f.variables]
    by = f" The name is made from {' and '.join(built)}." if built else ""
    for near in f.near:
        why = f"There is no file `{name}`; the nearest file there is {near.name}.{by}"
        return Finding(why, replaced(f, near.word.strip("'\""), near.name.strip("'\"")))
    folder = next((remark for remark in f.remarks if remark.startswith("there is no folder")), "")
    why = f"There is no file `{name}`{f': {folder}' if folder else ''}.{by}"
    return Finding(why, advice="Check the path: `import os; os.getcwd()` is the folder that it starts from.")


def syntax_error(f: Failure) -> Finding | None:
    """A line that is no Python."""
    message, line = f.message, f.text
    if "expected ':'" in message:
        return Finding("The line opens a block and has no colon at its end.", {f.line: f"{line.rstrip()}:"})
    if found := re.match(r"'([(\[{])' was never closed", message):
        return Finding(f"The bracket `{found[1]}` is never closed.", {f.line: line.rstrip() + _open_brackets(line)})
    if "Maybe you meant '=='" in message:
        names = ", ".join(f"`{n}`" for n in re.findall(r"\b(?:if|while|elif|assert)\s+([\w.]+)", line))
        why = f"`=` gives {names or 'a name'} a value; to compare, write `==`."
        return Finding(why, {f.line: _ASSIGNMENT.sub("==", line, count=1)})
    if found := re.match(r"expected an indented block after (.+) on line (\d+)", message):
        return _indented(f, found[1], int(found[2]))
    if message == "unexpected indent":
        before = next((f.code[n] for n in sorted(f.code, reverse=True) if n < f.line and f.code[n].strip()), "")
        why = f"The line{_sets(line)} is indented, and the line before it opens no block."
        return Finding(why, {f.line: indentation(before) + line.lstrip()})
    if found := re.match(r"unterminated string literal", message):
        quote = next((c for c in line if c in "'\""), "'")
        return Finding(f"The text that begins with {quote} never ends.", {f.line: line.rstrip() + quote})
    if found := re.match(r"unmatched '(.)'", message):
        head, _, tail = line.rpartition(found[1])
        return Finding(f"The bracket `{found[1]}` closes nothing.", {f.line: head + tail})
    if found := re.match(r"Missing parentheses in call to '(\w+)'", message):
        new = re.sub(rf"\b{found[1]}\s+(.+)$", rf"{found[1]}(\1)", line)
        return Finding(f"`{found[1]}` is a function: its arguments need brackets, `{new.strip()}`.", {f.line: new})
    if "forgot a comma" in message:
        why = f"Two values in the line{_sets(line)} have no comma between them."
        return Finding(why, _with_comma(f), advice="Write a comma between them.")
    return Finding(f"The line is no valid Python: {message}.", advice="Compare it with the lines around it.")


def none_finding(f: Failure, owner: str) -> Finding:
    """A variable that is None where a value is needed."""
    made = re.compile(rf"^\s*{re.escape(owner)}\s*=\s*(?P<source>.+)$")
    for number in sorted(f.code, reverse=True):
        if number < f.line and (line := made.match(f.code[number])):
            call = re.fullmatch(r"(?P<value>.+)\.(?P<method>\w+)\(\)", line["source"].strip())
            if call and (other := _IN_PLACE.get(call["method"])):
                why = f"`{owner}` is None: `{call['method']}` on line {number} changes `{call['value']}` and returns None."
                new = f.code[number].replace(line["source"], other.format(call["value"]))
                return Finding(why, {number: new})
            why = f"`{owner}` is None: line {number}, `{f.code[number].strip()}`, gave no value."
            advice = f"Check `if {owner} is not None` first, or see why that line returns None."
            return Finding(why, advice=advice)
    why = f"`{owner}` is None, so it has nothing to ask for."
    advice = f"Look where `{owner}` gets its value: methods such as `list.sort()` change their list and return None."
    return Finding(why, advice=advice)


def replaced(f: Failure, old: str, new: str, *, literal: bool = False) -> dict[int, str]:
    """The failing line with one name in place of another; nothing where the name is not on it."""
    pairs = [(old, new)]
    if literal:
        bare, other = old[1:-1], new[1:-1]
        pairs = [(f"{quote}{bare}{quote}", f"{quote}{other}{quote}") for quote in "\"'"]
    for was, now in pairs:
        pattern = re.escape(was) + r"\b" if was[-1:].isalnum() else re.escape(was)
        pattern = rf"\b{pattern}" if was[:1].isalnum() else pattern
        line = re.sub(pattern, now.replace("\\", r"\\"), f.text)
        if line != f.text:
            return {f.line: line}
    return {}


def above(f: Failure, number: int, line: str) -> dict[int, str]:
    """A new line above another one."""
    return {number: f"{indentation(f.code[number])}{line}\n{f.code[number]}"} if number in f.code else {}


def names_in(node: ast.AST) -> list[str]:
    """The names in a tree, each once."""
    return list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))


def indentation(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def _indented(f: Failure, what: str, opened: int) -> Finding:
    """A body that has to be indented below the line that opens it."""
    head = f.code.get(opened, "")
    name = re.match(r"\s*(?:async )?(?:def|class) (\w+)", head)
    why = f"Line {opened}{f', which defines `{name[1]}`,' if name else ''} opens a block ({what}), and this line is not indented below it."
    return Finding(why, {f.line: f"{indentation(head)}    {f.text.lstrip()}"})


def _sets(line: str) -> str:
    """Which variable a line gives a value, as a part of a sentence; empty where it does not."""
    found = re.match(r"\s*([\w.]+)\s*=", line)
    return f" that sets `{found[1]}`" if found else ""


def _with_comma(f: Failure) -> dict[int, str]:
    """The line with one more comma, where there is one place alone at which it makes it valid."""
    found = []
    for gap in re.finditer(r"(?<=[\w'\")\]}])\s+(?=[\w'\"(\[{])", f.text.strip()):
        line = f"{f.text.strip()[: gap.start()]},{f.text.strip()[gap.start() :]}"
        try:
            ast.parse(line)
        except (SyntaxError, ValueError):
            continue
        found.append(indentation(f.text) + line)
    return {f.line: found[0]} if len(found) == 1 else {}


def _open_brackets(line: str) -> str:
    """The closing brackets that a line lacks."""
    missing: list[str] = []
    for char in re.sub(r"'[^']*'|\"[^\"]*\"", "", line):
        if char in _CLOSERS:
            missing.append(_CLOSERS[char])
        elif missing and char == missing[-1]:
            missing.pop()
    return "".join(reversed(missing))
