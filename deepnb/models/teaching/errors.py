"""An error explained by the text of its traceback: the line of the user's that failed, why, and the line or cell as it is right.

What is known comes from the exception's own words, the nearest names that the traceback gives, and the variables on the
line. An error of another kind has no rule, and the answer says so.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
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


def _finding(f: Failure) -> Finding:
    if found := next((one for rule in _RULES if (one := rule(f)) is not None), None):
        return found
    are = "are" if len(f.variables) > 1 else "is"
    why = f"On this line {are} {f.all_shown}." if f.variables else "No variable is on this line."
    if f.text.strip().startswith("raise"):
        return Finding(f"Your own code raises this error here. {why}")
    return Finding(f"{why} I am a rule-based model and have no rule for this error.")


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


# -- rules: each looks at the kind and the message, and gives a finding or None


def _nearest(f: Failure) -> Finding | None:
    """A key, column, name, attribute, parameter or file that is nearly one there is; never a module."""
    for near in f.near:
        word, name = near.word.strip("'\""), near.name.strip("'\"")
        kind = near.what.removeprefix("a ").removeprefix("an ")
        if kind == "module" and f.kind in ("ModuleNotFoundError", "ImportError"):
            return None
        has = (
            f"{f.shown(near.owner)} has no {kind}" if near.owner and f.kind != "ImportError" else f"There is no {kind}"
        )
        why = f"{has} `{word}`; the nearest is {near.name}."
        for old, new in (
            (f'"{word}"', f'"{name}"'),
            (f"'{word}'", f"'{name}'"),
            (f".{word}", f".{name}"),
            (word, name),
        ):
            if lines := f.replaced(old, new):
                return Finding(why, lines)
        return Finding(why)
    return None


def _name(f: Failure) -> Finding | None:
    found = re.search(r"name '(\w+)' is not defined", f.message)
    if found is None:
        return None
    name = found[1]
    if name in _ALIASES or (name in sys.stdlib_module_names and f"{name}." in f.text):
        first = min(f.code, default=f.line)
        line = f.code.get(first, "")
        new = f"{_indent(line)}import {_ALIASES.get(name, name)}\n{line}"
        return Finding(f"`{name}` is not imported in this notebook.", {first: new})
    return _nearest(f) or Finding(f"`{name}` is not defined.", advice=f"Run the cell that defines `{name}` first.")


def _unbound(f: Failure) -> Finding | None:
    found = re.search(r"local variable '(\w+)'", f.message)
    if found is None:
        return None
    why = f"`{found[1]}` is assigned in `{f.function}`, so it is a variable of this function, and has no value yet on this line."
    return Finding(why, advice=f"Give it its first value before line {f.line}; write `global {found[1]}` if the notebook's is meant.")  # fmt: skip


def _module(f: Failure) -> Finding | None:
    found = re.search(r"No module named '([\w.]+)'", f.message)
    if found is None:
        return None
    name = found[1].partition(".")[0]
    if package := _PACKAGES.get(name):
        return Finding(f"`{name}` is not installed here; its package is called {package}.", advice=f"Install it: `%pip install {package}`.")  # fmt: skip
    return Finding(
        f"There is no module `{name}` here.", advice="Check its spelling; install a package only if you know its name."
    )


def _none(f: Failure) -> Finding | None:
    """None where a value is needed: most come of a method that changes its object."""
    if "NoneType" not in f.message:
        return None
    owner = next((name for name in f.variables if f.kind_of(name) == "NoneType"), "")
    made = (
        [n for n in sorted(f.code) if n < f.line and re.match(rf"\s*{re.escape(owner)}\s*=", f.code[n])]
        if owner
        else []
    )
    by = f": line {made[-1]}, `{f.code[made[-1]].strip()}`, gave no value" if made else ""
    return Finding(f"`{owner or f.expression or f.text.strip()}` is None{by}.", advice="Methods such as `list.sort()` change their list and return None.")  # fmt: skip


def _zero(f: Failure) -> Finding | None:
    if f.kind != "ZeroDivisionError":
        return None
    for node in ast.walk(f.tree()):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            divisor, whole = ast.unparse(node.right), ast.unparse(node)
            known = [
                f.shown(name) for name in f.variables if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.\[])", divisor)
            ]
            why = f"The divisor `{divisor}` is 0{': ' if known else ''}{' and '.join(known)}."
            if whole not in f.text or isinstance(node.op, ast.Mod) or isinstance(node.right, ast.Constant):
                return Finding(why, advice="" if isinstance(node.right, ast.Constant) else f"Check `{divisor}` before this line.")  # fmt: skip
            guarded = f.text.replace(whole, f"({whole} if {divisor} else 0)", 1)
            return Finding(
                f"{why} The correction gives 0 then; choose another value if 0 is wrong here.", {f.line: guarded}
            )
    return None


def _text_and_number(f: Failure) -> Finding | None:
    """`"n: " + 3`, `1 + "2"`, `max([1, "2"])`."""
    joined = re.search(r'can only concatenate str \(not "(\w+)"\) to str', f.message)
    if not joined and not re.search(r"unsupported operand|not supported between", f.message):
        return None
    node = next((n for n in ast.walk(f.tree()) if isinstance(n, ast.BinOp)), None)
    sides = [ast.unparse(node.left), ast.unparse(node.right)] if node else []
    if joined and sides:
        why = f"A text can only be joined to a text, and {f.shown(sides[1])} is of type {joined[1]}."
        return Finding(why, f.replaced(sides[1], f"str({sides[1]})"))
    return Finding(f"{f.all_shown or 'This line'} brings together values of two types: {f.message}.", advice="Convert them to one type first, for example with `int(...)`.")  # fmt: skip


def _number(f: Failure) -> Finding | None:
    found = re.search(r"invalid literal for (int)\(\).*?: (.+)$|could not convert string to (float): (.+)$", f.message)
    if found is None:
        return None
    function, text = found[1] or found[3], (found[2] or found[4]).strip().strip("'\"")
    call = next(
        (n for n in ast.walk(f.tree()) if isinstance(n, ast.Call) and ast.unparse(n.func) == function and n.args), None
    )
    argument = ast.unparse(call.args[0]) if call else ""
    why = f"{f.shown(argument) if argument else f.all_shown} holds the text '{text}', which is no {'whole ' if function == 'int' else ''}number."  # fmt: skip
    if argument and function == "int" and re.fullmatch(r"[+-]?\d*\.\d+", text):
        return Finding(why, f.replaced(f"int({argument})", f"int(float({argument}))"))
    return Finding(why, advice="Leave such values out, or use `pd.to_numeric(..., errors='coerce')`.")


def _index(f: Failure) -> Finding | None:
    if f.kind != "IndexError":
        return None
    node = next((n for n in ast.walk(f.tree()) if isinstance(n, ast.Subscript)), None)
    if node is None:
        return None
    owner, index = ast.unparse(node.value), ast.unparse(node.slice)
    known = f.shown(owner) if owner in f.variables else f.all_shown or f"`{owner}`"
    loop = re.compile(rf"\bfor {re.escape(index)} in range\(.*?(\s*\+\s*1\s*)\)\s*:")
    for number in sorted(f.code, reverse=True):
        if number < f.line and (found := loop.search(line := f.code[number])):
            return Finding(f"{known} has no item `{index}`.", {number: line[: found.start(1)] + line[found.end(1) :]})
    return Finding(
        f"{known} has no item `{index}`.", advice="Numbers of items begin with 0: the last is one less than the length."
    )


_SAYINGS = (
    (r"Can only use \.dt accessor", "`.dt` needs dates, and the column holds text.", "Convert it first: `pd.to_datetime(...)`."),
    (r"cannot convert float NaN to integer|Cannot convert non-finite values", "A missing value (NaN) can't be a whole number.",
     "Drop or fill it first (`dropna()`, `fillna(0)`), or use the type `Int64`, which can be missing."),
    (r"shapes \([\d, ]*\) \([\d, ]*\)|mismatch in its core dimension|must be of the same length|does not match length of index|cannot reshape",
     "The sizes don't fit.", "`.shape` and `len(...)` say what they have."),
    (r"truth value of an? ", "The condition is true or false for each value, and this line needs one answer.",
     "Use `&` and `|` with brackets, or `.any()` and `.all()`."),
    (r"values to unpack", "The number of values and of names differ.", "Write as many names as there are values."),
    (r"maximum recursion depth", "A function calls itself again and again, and no condition ends it.", "Return a value for the smallest case first."),
    (r"object is not callable", "What is called is no function; a variable may hide one.", "`del NAME` brings back a function of Python that is hidden."),
    (r"indices must be integers|object is not subscriptable|object is not iterable", "It has no items that are asked for so.", "Check what it holds."),
    (r"missing \d+ required|takes \d+ positional|unexpected keyword", "The call has other arguments than the function takes.", "Call it with the arguments that it takes."),
)  # fmt: skip
"""What the words of an error mean, and what to do."""


def _saying(f: Failure) -> Finding | None:
    for pattern, why, advice in _SAYINGS:
        if re.search(pattern, f.message):
            return Finding(f"{why} Here: {f.all_shown}." if f.variables else why, advice=advice)
    return None


def _missing(f: Failure) -> Finding | None:
    """A key or a file that is like none there is."""
    if f.kind == "FileNotFoundError":
        return Finding(f"There is no such file{': ' + f.all_shown if f.variables else ''}.", advice="`import os; os.getcwd()` is the folder that a path starts from.")  # fmt: skip
    if f.kind == "KeyError":
        return Finding(
            f"{f.all_shown or 'It'} has no key {f.message}.", advice="Check the key against those that are there."
        )
    return None


def _syntax(f: Failure) -> Finding | None:
    """A colon, a bracket or an equals sign that is missing."""
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
        names = ", ".join(f"`{n}`" for n in re.findall(r"\b(?:if|while|elif|assert)\s+([\w.]+)", line))
        why = f"`=` gives {names or 'a name'} a value; to compare, write `==`."
        return Finding(why, {f.line: re.sub(r"(?<![=!<>:+\-*/%&|^])=(?!=)", "==", line, count=1)})
    if found := re.match(r"expected an indented block after .+ on line (\d+)", message):
        opened = f.code.get(int(found[1]), "")
        return Finding(f"Line {found[1]}, `{opened.strip()}`, opens a block, and this line is not indented below it.", {f.line: f"{_indent(opened)}    {line.lstrip()}"})  # fmt: skip
    return Finding(f"The line is no valid Python: {message}.", advice="Compare it with the lines around it.")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


_RULES: tuple[Callable[[Failure], Finding | None], ...] = (
    _syntax, _module, _unbound, _name, _nearest, _none, _zero, _text_and_number, _number, _index, _saying, _missing,
)  # fmt: skip


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
