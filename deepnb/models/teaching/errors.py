"""An error explained by the text of its traceback: the line of the user's that failed, why, and the line or cell as it is right.

What is known comes from the exception's own words, the nearest names that the traceback gives, and the variables on the
line. An error of another kind has no rule, and the answer says so.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from deepnb.models.teaching.conversation import Conversation

HEAD = "Traceback (most recent call last):"
_PLACE = re.compile(r"  (?P<place>(?:Cell|File)\b[^\n]*?), line (?P<line>\d+)(?:, in (?P<function>.*))?")
_CODE = re.compile(r"    (?P<mark>[> ]) +(?P<number>\d+) \|(?: (?P<text>.*))?")
_VARIABLE = re.compile(r"      (?P<name>[^\s:][^:]*): (?P<what>\S.*)")
_MESSAGE = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?")
_NEAR = re.compile(r"(?P<word>\S.*) is near (?P<name>.+), (?P<what>[a-z ]+?)(?: of (?P<owner>.+))?")
_WHOLE = re.compile(r"^(?P<place>Cell[^\n:]*):\n```python\n(?P<code>.*?)\n```$", re.MULTILINE | re.DOTALL)
_EXPRESSION = "    failing expression: "
_ASKS_FOR_A_CELL = re.compile(r"\b(?:correct|fix|repair)\b[^.]{0,40}\bcell\b", re.IGNORECASE)
_PACKAGES = {
    "cv2": "opencv-python", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "PyYAML", "PIL": "Pillow",
    "bs4": "beautifulsoup4", "dotenv": "python-dotenv", "dateutil": "python-dateutil", "serial": "pyserial", "docx": "python-docx",
}  # fmt: skip
"""Modules whose package has another name. No other is told how to install: a mistyped name may be somebody's trap."""
_ALIASES = {"np": "numpy as np", "pd": "pandas as pd", "plt": "matplotlib.pyplot as plt", "sns": "seaborn as sns"}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Near:
    """A mistyped name and the one it is near to: `a key` of `owner`."""

    word: str
    name: str
    what: str
    owner: str


@dataclass(frozen=True)
class Failure:
    """An error as a prompt tells it, at the user's frame that is nearest to it."""

    kind: str
    message: str
    place: str = ""
    line: int = 0
    function: str = ""
    code: Mapping[int, str] = field(default_factory=dict)
    """The lines that are shown, by number."""
    expression: str = ""
    """What failed on the line; empty if the traceback does not say."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Name -> what it is, as `list, 2 items`."""
    near: tuple[Near, ...] = ()
    cells: tuple[tuple[str, str], ...] = ()
    """(place, code) of the cells that are given as a whole."""

    @property
    def text(self) -> str:
        """The line that failed."""
        return self.code.get(self.line, "")

    def tree(self) -> ast.AST:
        """The failing expression as a tree; that of its line if it can't be parsed, else an empty one."""
        line = self.text.strip()
        for text in (self.expression, line, f"{line}\n    pass", line.removeprefix("return ")):
            try:
                if text:
                    return ast.parse(text)
            except (SyntaxError, ValueError):
                continue
        return ast.Module([], [])

    def kind_of(self, name: str) -> str:
        return self.variables.get(name, "").partition(",")[0].strip()

    def shown(self, name: str) -> str:
        """A variable and what it is: `values` (list, 0 items)."""
        first = self.variables.get(name, "")
        return f"`{name}` ({first})" if first else f"`{name}`"

    @property
    def all_shown(self) -> str:
        return " and ".join(self.shown(name) for name in list(self.variables)[:3])

    def replaced(self, old: str, new: str) -> dict[int, str]:
        """The failing line with one name in place of another; nothing if the name is not on it."""
        pattern = rf"(?<![\w]){re.escape(old)}(?!\w)" if old[:1].isalnum() or old[:1] == "_" else re.escape(old)
        line = re.sub(pattern, lambda _: new, self.text)
        return {self.line: line} if line != self.text else {}


@dataclass(frozen=True)
class Finding:
    """Why a line fails, and the lines to write in place of others; empty if the error does not say how."""

    why: str
    lines: Mapping[int, str] = field(default_factory=dict)
    advice: str = ""


def wants_explanation(c: Conversation) -> Failure | None:
    """The error in a request that has a traceback."""
    return read_failure(c.request)


def explain(c: Conversation, f: Failure) -> str:
    """Which line fails and why, and the line or the cell as it is right."""
    said = f"{f.kind}: {f.message}" if f.message else f.kind
    if not f.line:
        return f"The error is {said}. It came from no line of your own code that I can see, so I can't explain it."
    found = _finding(f)
    where = f"Line {f.line} of {f.place} fails with {said}:"
    if f.cells and _ASKS_FOR_A_CELL.search(c.request.partition(HEAD)[0]):  # one block alone: the cell
        return f"{where} `{f.text.strip()}`. {found.why}\n\n{_cell(f, found)}"
    where = f"{where}\n\n```python\n{f.text.strip()}\n```\n\n{found.why}"
    if not found.lines:
        return f"{where} {found.advice}".rstrip()
    lines = "\n".join(found.lines[number] for number in sorted(found.lines)).strip()
    number = min(found.lines)
    which = "Corrected" if number == f.line else f"Line {number}, corrected"
    return f"{where}\n\n{which}:\n\n```python\n{lines}\n```"


def _cell(f: Failure, finding: Finding) -> str:
    """The corrected cell; the reason, if the error does not say how to correct it."""
    if not finding.lines:
        return f"I can't give a corrected cell: the error does not say what is meant. {finding.advice}".rstrip()
    for place, code in f.cells:
        lines = code.split("\n")
        for shift in (0, 1):  # below a cell magic each line is one further down
            at = f.line - 1 + shift
            if place == f.place and at < len(lines) and lines[at].strip() == f.text.strip():
                for number, line in finding.lines.items():
                    lines[number - 1 + shift] = line
                return "The corrected cell:\n\n```python\n" + "\n".join(lines) + "\n```"
    right = " and ".join(f"`{line.strip()}`" for line in finding.lines.values())
    return f"I can't give a corrected cell: the line that fails is in {f.place.removeprefix('File ')}. Write {right} there."


# -- rules

_SAYINGS = r"""
name '(\w+)' is not defined :: `{0}` is not defined. :: Run the cell that defines `{0}` first.
local variable '(\w+)' :: `{0}` is a variable of this function, and has no value yet. :: Set it first; `global {0}` is the notebook's.
No module named '(\w+) :: There is no module `{0}` here. :: Check its spelling; install a package only if you know its name.
'?NoneType'? :: A value here is None. :: Methods such as `list.sort()` change their list and return None.
unsupported operand|not supported between|can only concatenate :: Values of two types meet here. :: Convert one, as by `int(...)`.
No such file or directory: (.+) :: There is no file {0}. :: `import os; os.getcwd()` is the folder that a path starts from.
Can only use \.dt accessor :: `.dt` needs dates, and the column holds other values. :: Convert it first: `pd.to_datetime(...)`.
float NaN to integer|convert non-finite :: A missing value (NaN) can't be a whole number. :: Use `fillna(0)`, or the type `Int64`.
(?:invalid literal|could not convert string) .*: (.+) :: The text {0} is no number. :: `pd.to_numeric(..., errors="coerce")` leaves out such.
shapes \(|core dimension|same length|match length of|cannot reshape :: The sizes don't fit. :: `.shape` and `len(...)` tell them.
truth value of :: It is true or false for each value, and one answer is needed. :: Use `&` and `|` with brackets, or `.any()`.
out of (?:range|bounds) :: There is no item with that number. :: Numbers of items begin with 0: the last is one less than the length.
values to unpack :: The number of values and of names differ. :: Write as many names as there are values.
maximum recursion depth :: A function calls itself again and again. :: Return a value for the smallest case first.
'(\w+)' object is not callable :: A {0} is called like a function. :: A variable may hide a function: `del NAME` brings it back.
is not (?:subscriptable|iterable)|indices must be integers :: It has no items that are asked for so. :: Check what it holds.
missing \d+ required|takes \d+ positional|unexpected keyword :: The function takes other arguments. :: Call it with those it takes.
division by zero|modulo by zero|divide by zero :: The divisor is 0. :: Make sure that it is not 0 before this line.
"""
"""What a message means, and what to do about it."""
_RULES = [tuple(line.split(" :: ")) for line in _SAYINGS.strip().splitlines()]


def _finding(f: Failure) -> Finding:
    here = f" Here: {f.all_shown}." if f.variables else ""
    if found := _syntax(f) or _imports(f) or _nearest(f) or _corrected(f):
        return found
    for pattern, why, advice in _RULES:
        if match := re.search(pattern, f.message):
            said = [group or "" for group in match.groups()]
            return Finding(why.format(*said) + here, advice=advice.format(*said) if said else advice)
    if f.kind == "KeyError":
        return Finding(f"There is no key {f.message}.{here}", advice="Check it against those that are there.")
    if f.text.strip().startswith("raise"):
        return Finding(f"Your own code raises this error here.{here}")
    return Finding(f"{here.strip()} I am a rule-based model and have no rule for this error.".strip())


def _nearest(f: Failure) -> Finding | None:
    """A key, column, name, attribute, parameter or file that is nearly one there is; never a module."""
    near = next((one for one in f.near if f.kind != "ModuleNotFoundError"), None)
    if near is None:
        return None
    word, name = near.word.strip("'\""), near.name.strip("'\"")
    kind = near.what.removeprefix("a ").removeprefix("an ")
    has = f"{f.shown(near.owner)} has no {kind}" if near.owner and "import" not in f.message else f"There is no {kind}"
    pairs = ((f'"{word}"', f'"{name}"'), (f"'{word}'", f"'{name}'"), (f".{word}", f".{name}"), (word, name))
    lines = next((lines for old, new in pairs if (lines := f.replaced(old, new))), {})
    return Finding(f"{has} `{word}`; the nearest {kind} is {near.name}.", lines)


def _imports(f: Failure) -> Finding | None:
    """A library that was not imported, or is not installed."""
    name = next(iter(re.findall(r"name '(\w+)' is not defined|No module named '(\w+)", f.message)), ("", ""))
    if package := _PACKAGES.get(name[1]):
        why = f"`{name[1]}` is not installed here; its package is called {package}."
        return Finding(why, advice=f"Install it: `%pip install {package}`.")
    if name[0] in _ALIASES or (name[0] in sys.stdlib_module_names and f"{name[0]}." in f.text):
        first = min(f.code, default=f.line)
        line = f.code.get(first, "")
        new = f"{_indent(line)}import {_ALIASES.get(name[0], name[0])}\n{line}"
        return Finding(f"`{name[0]}` is not imported in this notebook.", {first: new})
    return None


def _corrected(f: Failure) -> Finding | None:
    """Errors whose line can be written anew: a divisor of 0, a number joined to a text, a loop one too long."""
    for node in ast.walk(f.tree()):
        if isinstance(node, ast.BinOp):
            left, right, whole = ast.unparse(node.left), ast.unparse(node.right), ast.unparse(node)
            if (
                "by zero" in f.message
                and isinstance(node.op, ast.Div | ast.FloorDiv)
                and not isinstance(node.right, ast.Constant)
            ):
                new = f.text.replace(whole, f"({whole} if {right} else 0)", 1)
                known = " and ".join(
                    f.shown(n) for n in f.variables if re.search(rf"(?<![\w.]){re.escape(n)}(?![\w.\[])", right)
                )
                why = f"The divisor `{right}` is 0{': ' if known else ''}{known}. The correction gives 0 then; choose another value if 0 is wrong here."  # fmt: skip
                return Finding(why, {f.line: new} if new != f.text else {})
            if "can only concatenate str" in f.message:
                why = f"A text can only be joined to a text, and {f.shown(right)} is none."
                return Finding(why, f.replaced(right, f"str({right})") if f.kind_of(left) != "int" else {})
        if isinstance(node, ast.Subscript) and "out of range" in f.message:
            loop = re.compile(rf"\bfor {re.escape(ast.unparse(node.slice))} in range\(.*?(\s*\+\s*1\s*)\)\s*:")
            for number, line in f.code.items():
                if number < f.line and (found := loop.search(line)):
                    why = f"{f.all_shown}: the loop goes one item too far."
                    return Finding(why, {number: line[: found.start(1)] + line[found.end(1) :]})
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "int" and re.search(r"'[+-]?\d*\.\d+'", f.message):
            argument = ast.unparse(node.args[0]) if node.args else ""
            why = f"{f.shown(argument)} is no whole number."
            return Finding(why, f.replaced(f"int({argument})", f"int(float({argument}))"))
    return None


def _syntax(f: Failure) -> Finding | None:
    """A colon, a bracket, an equals sign or an indentation that is missing."""
    message, line = f.message, f.text.rstrip()
    if f.kind not in ("SyntaxError", "IndentationError", "TabError"):
        return None
    if "expected ':'" in message:
        return Finding("The line opens a block and has no colon at its end.", {f.line: f"{line}:"})
    if "was never closed" in message:
        left: list[str] = []
        for char in re.sub(r"'[^']*'|\"[^\"]*\"", "", line):
            left = [*left, _CLOSERS[char]] if char in _CLOSERS else left[:-1] if left and char == left[-1] else left
        return Finding("A bracket is never closed.", {f.line: line + "".join(reversed(left))})
    if "Maybe you meant '=='" in message:
        new = re.sub(r"(?<![=!<>:+\-*/%&|^])=(?!=)", "==", line, count=1)
        return Finding("`=` gives a name a value; to compare, write `==`.", {f.line: new})
    if found := re.match(r"expected an indented block after .+ on line (\d+)", message):
        opened = f.code.get(int(found[1]), "")
        why = f"Line {found[1]}, `{opened.strip()}`, opens a block, and this line is not indented below it."
        return Finding(why, {f.line: f"{_indent(opened)}    {line.lstrip()}"})
    return Finding(f"The line is no valid Python: {message}.", advice="Compare it with the lines around it.")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# -- reading a traceback


def read_failure(text: str) -> Failure | None:
    """The last traceback in a text, with the cells below it; None if no traceback can be read."""
    start = text.rfind(HEAD)
    if start < 0:
        return None
    lines = text[start:].split("\n")[1:]
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), None)
    if end is None or (message := _MESSAGE.fullmatch(lines[end])) is None:
        return None
    below = [line.strip() for line in lines[end + 1 :]]
    remarks = below[: below.index("")] if "" in below else below
    near = tuple(
        Near(m["word"], m["name"], m["what"], m["owner"] or "") for one in remarks if (m := _NEAR.fullmatch(one))
    )
    cells = tuple((match["place"], match["code"]) for match in _WHOLE.finditer(text[start:]))
    failure = Failure(message["kind"], message["message"] or "", near=near, cells=cells)
    for place, body in _frames(lines[:end]):  # the last that shows its code
        code = {int(m["number"]): m["text"] or "" for line in body if (m := _CODE.fullmatch(line))}
        if code:
            expression = next((line.removeprefix(_EXPRESSION) for line in body if line.startswith(_EXPRESSION)), "")
            variables = {
                m["name"]: m["what"] for line in body if not _CODE.fullmatch(line) and (m := _VARIABLE.fullmatch(line))
            }
            failure = Failure(failure.kind, failure.message, place["place"], int(place["line"]), place["function"] or "", code, expression, variables, near, cells)  # fmt: skip
    return failure


def _frames(lines: list[str]) -> Iterator[tuple[re.Match[str], list[str]]]:
    starts = [(i, match) for i, line in enumerate(lines) if (match := _PLACE.fullmatch(line))]
    for (i, match), (end, _) in zip(starts, [*starts[1:], (len(lines), None)], strict=True):
        yield match, lines[i + 1 : end]
