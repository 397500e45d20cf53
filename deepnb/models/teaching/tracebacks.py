"""A traceback read out of a prompt: the line of the user's that failed, the variables on it, the message."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

HEAD = "Traceback (most recent call last):"

_PLACE = re.compile(r"  (?P<place>(?:Cell|File)\b[^\n]*?), line (?P<line>\d+)(?:, in (?P<function>.*))?")
_CODE = re.compile(r"    (?P<mark>[> ]) +(?P<number>\d+) \|(?: (?P<text>.*))?")
_VARIABLE = re.compile(r"      (?P<name>[^\s:][^:]*): (?P<what>\S.*)")
_MESSAGE = re.compile(r"(?P<kind>[A-Za-z_]\w*)(?:: (?P<message>.*))?")
_NEAR = re.compile(r"(?P<word>\S.*) is near (?P<name>.+), (?P<what>[a-z ]+?)(?: of (?P<owner>.+))?")
_WHOLE = re.compile(r"^(?P<place>Cell[^\n:]*):\n```python\n(?P<code>.*?)\n```$", re.MULTILINE | re.DOTALL)
_EXPRESSION = "    failing expression: "


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
    """What failed on the line; empty where the traceback does not say."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Name -> what it is, as `list, 2 items`, with all lines of its description."""
    near: tuple[Near, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the traceback says below the message."""
    cells: tuple[tuple[str, str], ...] = ()
    """(place, code) of the cells that are given as a whole."""

    @property
    def text(self) -> str:
        """The line that failed."""
        return self.code.get(self.line, "")

    @property
    def failing(self) -> str:
        """The expression that failed, or else the line."""
        return self.expression or self.text.strip()

    def tree(self) -> ast.AST:
        """The failing expression as a tree; the tree of its line if it can't be parsed, else an empty one."""
        line = self.text.strip()
        for text in (self.expression, line, f"{line}\n    pass", line.removeprefix("return ")):
            try:
                if text:
                    return ast.parse(text)
            except (SyntaxError, ValueError):
                continue
        return ast.Module([], [])

    def kind_of(self, name: str) -> str:
        """The type of a variable; empty where that is not known."""
        return re.split(r"[,\n]", self.variables.get(name, ""))[0].strip()

    def value_of(self, name: str) -> str:
        """The value of a variable, as Python writes it; empty where the traceback has none."""
        first = self.variables.get(name, "").partition("\n")[0]
        return first.partition(", ")[2].strip()

    def shown(self, name: str) -> str:
        """A variable and what it is: `values` (list, 0 items)."""
        first = self.variables.get(name, "").partition("\n")[0]
        return f"`{name}` ({first})" if first else f"`{name}`"


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
    remarks = tuple(below[: below.index("")] if "" in below else below)
    cells = tuple((match["place"], match["code"]) for match in _WHOLE.finditer(text[start:]))
    frame = _innermost(lines[:end])
    near = tuple(found for line in remarks if (found := _near(line)))
    return Failure(message["kind"], message["message"] or "", **frame, near=near, remarks=remarks, cells=cells)  # type: ignore[arg-type]


def _innermost(lines: list[str]) -> dict[str, object]:
    """The last frame that shows its code."""
    found: dict[str, object] = {}
    for frame in _frames(lines):
        head, body = frame[0], frame[1:]
        code = {int(m["number"]): m["text"] or "" for line in body if (m := _CODE.fullmatch(line))}
        place = _PLACE.fullmatch(head)
        if place is None or not code:
            continue
        found = {
            "place": place["place"],
            "line": int(place["line"]),
            "function": place["function"] or "",
            "code": code,
            "expression": next((line.removeprefix(_EXPRESSION) for line in body if line.startswith(_EXPRESSION)), ""),
            "variables": _variables(body),
        }
    return found


def _frames(lines: list[str]) -> Iterator[list[str]]:
    frame: list[str] = []
    for line in lines:
        if _PLACE.fullmatch(line) and frame:
            yield frame
            frame = []
        frame.append(line)
    if frame:
        yield frame


def _variables(lines: list[str]) -> dict[str, str]:
    """The variables of a frame, each with the lines of its description."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if match := _VARIABLE.fullmatch(line):
            name = match["name"]
            found[name] = match["what"]
        elif line.startswith("      ") and name and not _CODE.fullmatch(line):
            found[name] += f"\n{line.strip()}"
    return found


def _near(line: str) -> Near | None:
    match = _NEAR.fullmatch(line)
    return Near(match["word"], match["name"], match["what"], match["owner"] or "") if match else None
