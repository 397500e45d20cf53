"""An exercise, checked; and the notebooks of a class, run in kernels of their own, each exercise checked at the end."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deepnb.values.errors import DeepnbError, NotFoundError, NotInstalledError
from deepnb.values.text import short_repr
from deepnb.views import html as h
from deepnb.views.text import indent, page, title_line
from deepnb.views.view import table_html
from deepnb.wings.course.exercises import EXERCISES, IN_THREAD, NO_THREAD, THREAD, CheckPart


def check(number: str | int) -> CheckView:
    """What there is of an exercise in the session of this shell, and what is missing; nothing is changed.

    While a session that was opened is being read, the one that it can be forked into is checked.
    """
    from deepnb import current

    if (key := f"{number:0>2}") not in EXERCISES:
        raise NotFoundError(f"no exercise {number!r}", f'there are "{min(EXERCISES)}" to "{max(EXERCISES)}"')
    session, (title, asked) = current(), EXERCISES[key]
    session = getattr(session, "into", session)
    gone = NO_THREAD if key in IN_THREAD and THREAD not in session.workspace.threads.names else ""
    parts = (CheckPart(what, "" if done else gone or missing) for what, done, missing in asked(session))
    return CheckView(key, title, tuple(parts), f"thread {session.thread}")


@dataclass(frozen=True, repr=False)
class CheckView:
    """An exercise, checked once: it never changes later."""

    number: str
    title: str
    parts: tuple[CheckPart, ...]
    stamp: str = ""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.number}: {self.score}")

    @property
    def done(self) -> bool:
        return all(part.done for part in self.parts)

    @property
    def score(self) -> str:
        """`2 of 3 parts done`."""
        return f"{sum(part.done for part in self.parts)} of {len(self.parts)} parts done"

    def json(self) -> str:
        """Return the result for a grader, on one line."""
        parts = [{**asdict(part), "done": part.done} for part in self.parts]
        return json.dumps({"exercise": self.number, "title": self.title, "done": self.done, "parts": parts})

    def text(self) -> str:
        lines = [title_line(f"exercise {self.number} · {self.title} · {self.score}", self.stamp)]
        for part in self.parts:
            lines.append(f"  {'done' if part.done else 'missing':<7}  {part.what}")
            lines += [indent(part.missing, " " * 11)] if part.missing else []
        return page(lines)

    def html(self) -> str:
        rows = []
        for part in self.parts:
            missing = h.el("div", h.muted(part.missing)) if part.missing else None
            colour = h.GREEN.format(0.25) if part.done else h.ORANGE.format(0.3)
            rows.append((h.swatch("done" if part.done else "missing", colour), h.join(part.what, missing)))
        head = h.heading(f"exercise {self.number}", self.title, self.score, stamp=self.stamp)
        return h.box(head, table_html(("", ""), rows))


def check_picture(checked: CheckView) -> CheckView:
    return checked


_CHECK = "import deepnb\nprint(deepnb.course.check({!r}).json())"
_SECONDS = 120
"""The longest that one cell may take."""


def grade(directory: str | Path) -> list[dict[str, Any]]:
    """Run the notebooks below a directory whose names begin as the course's do (`02_...`); a row for each, for JSON.

    A row has `file`, and what `check(...).json()` gives, or `error`. It runs what is in the cells, with your rights:
    grade a class where that can do no harm.
    """
    place = Path(directory)
    found = [path for path in sorted(place.rglob("*.ipynb")) if _number(path) and "checkpoints" not in str(path.parent)]
    if not found:
        raise NotFoundError(f"no notebooks of the course below {place}", "their names begin with 00_ to 08_")
    return [{"file": str(path.relative_to(place)), **_graded(path)} for path in found]


def _number(path: Path) -> str:
    match = re.match(r"(\d\d)_", path.name)
    return match[1] if match and match[1] in EXERCISES else ""


def _graded(path: Path) -> dict[str, Any]:
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
    except ImportError:
        raise NotInstalledError("nbclient is not installed", 'pip install "deepnb[lab]"') from None
    notebook = nbformat.read(path, as_version=4)
    last = nbformat.v4.new_code_cell(_CHECK.format(_number(path)))
    kernels: list[list[Any]] = [[]]
    for cell in [*notebook.cells, last]:
        if "restart" in cell.metadata.get("tags", ()):
            kernels.append([])
        kernels[-1].append(cell)
    try:
        for cells in kernels:
            part = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
            resources = {"metadata": {"path": str(path.parent)}}
            NotebookClient(part, timeout=_SECONDS, allow_errors=True, resources=resources).execute()
    except (CellTimeoutError, DeadKernelError) as error:
        return {"exercise": _number(path), "done": False, "error": str(error).split("\n")[0]}
    said = "".join(output.get("text", "") for output in last.outputs)
    failed = next((f"{output.ename}: {output.evalue}" for output in last.outputs if output.output_type == "error"), "")
    if failed:
        return {"exercise": _number(path), "done": False, "error": failed}
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    return result


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m deepnb.course DIR", file=sys.stderr)
        return 2
    try:
        print(json.dumps(grade(arguments[0]), indent=1))
    except DeepnbError as error:
        print(f"deepnb: {error}", file=sys.stderr)
        return 1
    return 0
