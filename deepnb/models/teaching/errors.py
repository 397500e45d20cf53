"""An error explained by the text of its traceback: the line of the user's that failed, why, and the line or cell as it is right.

What is known comes from the exception's own words, the nearest names that the traceback gives, and the variables on the
line. An error of another kind has no rule, and the answer says so.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from deepnb.models.teaching.conversation import Conversation

HEAD = "Traceback (most recent call last):"
_PLACE = re.compile(r"  (?P<place>(?:Cell|File)\b[^\n]*?), line (?P<line>\d+)(?:, in .*)?")
_CODE = re.compile(r"    [> ] +(?P<number>\d+) \|(?: (?P<text>.*))?")
_VARIABLE = re.compile(r"      (?P<name>[^\s:][^:]*): (?P<what>\S.*)")
_MESSAGE = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?")
_NEAR = re.compile(r"(?P<word>\S.*) is near (?P<name>.+), an? (?P<kind>[a-z ]+?)(?: of (?P<owner>.+))?")
_WHOLE = re.compile(r"^(?P<place>Cell[^\n:]*):\n```python\n(?P<code>.*?)\n```$", re.MULTILINE | re.DOTALL)
_ASKS_FOR_A_CELL = re.compile(r"\b(?:correct|fix|repair)\b[^.]{0,40}\bcell\b", re.IGNORECASE)
_PACKAGES = {
    "cv2": "opencv-python", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "PyYAML", "PIL": "Pillow",
    "bs4": "beautifulsoup4", "dotenv": "python-dotenv", "dateutil": "python-dateutil", "serial": "pyserial", "docx": "python-docx",
}  # fmt: skip
"""Modules whose package has another name. No other is told how to install: a mistyped name may be somebody's trap."""
_ALIASES = {"np": "numpy as np", "pd": "pandas as pd", "plt": "matplotlib.pyplot as plt", "sns": "seaborn as sns"}


@dataclass(frozen=True)
class Failure:
    """An error as a prompt tells it, at the user's frame that is nearest to it."""

    kind: str
    message: str
    near: Mapping[str, str] = field(default_factory=dict)
    """A mistyped word, the name it is near to, what kind of name that is, and of what."""
    cells: tuple[tuple[str, str], ...] = ()
    """(place, code) of the cells that are given as a whole."""
    place: str = ""
    line: int = 0
    code: Mapping[int, str] = field(default_factory=dict)
    """The lines that are shown, by number."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Name -> what it is, as `list, 2 items`."""

    @property
    def text(self) -> str:
        """The line that failed."""
        return self.code.get(self.line, "")

    def shown(self, name: str) -> str:
        """A variable and what it is: `values` (list, 0 items)."""
        return f"`{name}` ({self.variables[name]})" if name in self.variables else f"`{name}`"

    def replaced(self, old: str, new: str) -> str:
        """The failing line with one name in place of another; empty if the name is not on it."""
        bare = old[:1].isalnum() or old[:1] == "_"
        line = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)" if bare else re.escape(old), lambda _: new, self.text)
        return line if line != self.text else ""


@dataclass(frozen=True)
class Finding:
    """Why a line fails, and a line to write in place of one; empty if the error does not say how."""

    why: str
    line: str = ""
    number: int = 0
    """Of the line that is replaced, if it is not the one that fails."""
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
    if not found.line:
        return f"{where} {found.advice}".rstrip()
    which = f"Line {found.number}, corrected" if found.number not in (0, f.line) else "Corrected"
    return f"{where}\n\n{which}:\n\n```python\n{found.line.strip()}\n```"


def _cell(f: Failure, found: Finding) -> str:
    """The corrected cell; the reason, if the error does not say how to correct it."""
    if not found.line:
        return f"I can't give a corrected cell: the error does not say what is meant. {found.advice}".rstrip()
    for place, code in f.cells:
        lines = code.split("\n")
        for shift in (0, 1):  # below a cell magic each line is one further down
            at = f.line - 1 + shift
            if place == f.place and at < len(lines) and lines[at].strip() == f.text.strip():
                lines[(found.number or f.line) - 1 + shift] = found.line
                return "The corrected cell:\n\n```python\n" + "\n".join(lines) + "\n```"
    where = f.place.removeprefix("File ")
    return f"I can't give a corrected cell: the line that fails is in {where}. Write `{found.line.strip()}` there."


# -- rules

_SAYINGS = r"""
name '(\w+)' is not defined :: `{0}` is not defined. :: Run the cell that defines `{0}` first.
local variable '(\w+)' :: `{0}` is a variable of this function, and has no value yet. :: Set it first; `global {0}` is the notebook's.
No module named '(\w+) :: There is no module `{0}` here. :: Check its spelling; install a package only if you know its name.
'?NoneType'? :: A value here is None. :: Methods such as `list.sort()` change their list and return None.
can only concatenate str :: A text can only be joined to a text. :: Convert the number, as by `str(...)`.
unsupported operand|not supported between :: Values of two types meet here. :: Convert one, as by `int(...)`.
No such file or directory: (.+) :: There is no file {0}. :: `import os; os.getcwd()` is the folder that a path starts from.
Can only use \.dt accessor :: `.dt` needs dates, and the column holds other values. :: Convert it first: `pd.to_datetime(...)`.
float NaN to integer|convert non-finite :: A missing value (NaN) can't be a whole number. :: Use `fillna(0)`, or the type `Int64`.
(?:invalid literal|could not convert string) .*: (.+) :: The text {0} is no number. :: `pd.to_numeric(..., errors="coerce")` leaves out such.
shapes \(|core dimension|same length|match length of|cannot reshape :: The sizes don't fit. :: `.shape` and `len(...)` tell them.
truth value of :: It is true or false for each value, and one answer is needed. :: Use `&` and `|` with brackets, or `.any()`.
out of (?:range|bounds) :: There is no item with that number. :: Numbers of items begin with 0: the last is one less than the length.
division by zero|modulo by zero|divide by zero :: The divisor is 0. :: Make sure that it is not 0 before this line.
"""
"""What a message means, and what to do about it."""
_RULES = [tuple(line.split(" :: ")) for line in _SAYINGS.strip().splitlines()]


def _finding(f: Failure) -> Finding:
    shown = " and ".join(map(f.shown, list(f.variables)[:3]))
    here = f" Here: {shown}." if shown else ""
    if found := _nearest(f) or _import(f):
        return found
    for pattern, why, advice in _RULES:
        if match := re.search(pattern, f.message):
            said = [group or "" for group in match.groups()]
            return Finding(why.format(*said) + here, _joined(f), advice=advice.format(*said))
    if f.kind == "KeyError":
        return Finding(f"There is no key {f.message}.{here}", advice="Check it against those that are there.")
    if f.text.strip().startswith("raise"):
        return Finding(f"Your own code raises this error here.{here}")
    return Finding(f"{here} I am a rule-based model and have no rule for this error.".strip())


def _nearest(f: Failure) -> Finding | None:
    """A key, column, name, attribute, parameter or file that is nearly one there is; never a module."""
    if not f.near or f.kind == "ModuleNotFoundError":
        return None
    word, name, kind = f.near["word"].strip("'\""), f.near["name"].strip("'\""), f.near["kind"]
    owner = f.near["owner"] if "import" not in f.message else ""
    has = f"{f.shown(owner)} has no {kind}" if owner else f"There is no {kind}"
    pairs = ((f'"{word}"', f'"{name}"'), (f"'{word}'", f"'{name}'"), (f".{word}", f".{name}"), (word, name))
    line = next((line for old, new in pairs if (line := f.replaced(old, new))), "")
    return Finding(f"{has} `{word}`; the nearest {kind} is {f.near['name']}.", line)


def _import(f: Failure) -> Finding | None:
    """A library that was not imported, or is not installed."""
    name, module = next(iter(re.findall(r"name '(\w+)' is not defined|No module named '(\w+)", f.message)), ("", ""))
    if package := _PACKAGES.get(module):
        why = f"`{module}` is not installed here; its package is called {package}."
        return Finding(why, advice=f"Install it: `%pip install {package}`.")
    if name in _ALIASES or (name in sys.stdlib_module_names and f"{name}." in f.text):
        first = min(f.code, default=f.line)
        line = f.code.get(first, "")
        indent = line[: len(line) - len(line.lstrip())]
        new = f"{indent}import {_ALIASES.get(name, name)}\n{line}"
        return Finding(f"`{name}` is not imported in this notebook.", new, first)
    return None


def _joined(f: Failure) -> str:
    """The line in which the one number that is joined to a text is made one; empty if that is not the error."""
    numbers = [name for name, what in f.variables.items() if what.partition(",")[0] in ("int", "float")]
    one = numbers[0] if len(numbers) == 1 and "can only concatenate str" in f.message else ""
    return f.replaced(one, f"str({one})") if one else ""


# -- reading a traceback


def read_failure(text: str) -> Failure | None:
    """The last traceback in a text, with the cells below it; None if no traceback can be read."""
    start = text.rfind(HEAD)
    lines = text[start:].split("\n")[1:] if start >= 0 else []
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), None)
    if end is None or (message := _MESSAGE.fullmatch(lines[end])) is None:
        return None
    below = [line.strip() for line in lines[end + 1 :]]
    remarks = below[: below.index("")] if "" in below else below
    near = next((m.groupdict("") for one in remarks if (m := _NEAR.fullmatch(one))), {})
    cells = tuple((m["place"], m["code"]) for m in _WHOLE.finditer(text[start:]))
    failure = Failure(message["kind"], message["message"] or "", near, cells)
    places = [(i, m) for i, line in enumerate(lines[:end]) if (m := _PLACE.fullmatch(line))]
    for (at, place), (below_it, _) in zip(places, [*places[1:], (end, None)], strict=True):  # the last with its code
        body = lines[at + 1 : below_it]
        code = {int(m["number"]): m["text"] or "" for line in body if (m := _CODE.fullmatch(line))}
        named = {
            m["name"]: m["what"] for line in body if not _CODE.fullmatch(line) and (m := _VARIABLE.fullmatch(line))
        }
        if code:
            failure = replace(failure, place=place["place"], line=int(place["line"]), code=code, variables=named)
    return failure
