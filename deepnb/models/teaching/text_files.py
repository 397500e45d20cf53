"""Reading a file through `read_file`, and the smallest `edit_file` that leads from one text to another."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from deepnb.models.teaching.conversation import Step
from deepnb.models.teaching.moves import Use

_HEADER = re.compile(r"@@ .*? @@$")
_NEXT = re.compile(r"next offset (\d+)")
_NUMBERED = re.compile(r" *\d+\t")
_EMPTY = "System reminder: File exists but has empty contents"
PAGE = 1000
MAX_PAGES = 3


@dataclass(frozen=True)
class Read:
    """What `read_file` gave of a file."""

    lines: tuple[str, ...] = ()
    exists: bool = True
    problem: Step | None = None
    """Why it can't be used, but for a missing file."""


def read(path: str) -> Generator[Use, Step, Read]:
    """A script's way to read a file, page by page; all of it or a problem."""
    lines: list[str] = []
    args: dict[str, str | int] = {"file_path": path, "limit": PAGE}
    for _ in range(MAX_PAGES):
        step = yield Use("read_file", args, may_fail=True)
        if step.failed:
            missing = "not found" in step.result.lower() or "no such file" in step.result.lower()
            return Read(exists=False) if missing else Read(problem=step)
        page, offset = parse(step.result)
        lines += page
        if offset is None:
            return Read(tuple(lines))
        args = {"file_path": path, "offset": offset, "limit": PAGE}
    too_long = f"the file has more than {MAX_PAGES * PAGE} lines, and I read no further"
    return Read(problem=Step("read_file", args, too_long, failed=True))


def parse(result: str) -> tuple[list[str], int | None]:
    """(lines, offset of the next page) of a `read_file` result, header and line numbers taken off."""
    if result.startswith(_EMPTY):
        return [], None
    lines = result.split("\n")
    head = next((i for i, line in enumerate(lines[:6]) if _HEADER.match(line)), None)
    if head is None:
        numbered = all(_NUMBERED.match(line) for line in lines)
        return [_NUMBERED.sub("", line, count=1) for line in lines] if numbered else lines, None
    more = _NEXT.search(lines[head])
    return lines[head + 1 :], int(more.group(1)) if more else None


def edit(before: Sequence[str], after: Sequence[str]) -> tuple[str, str] | None:
    """(old_string, new_string), old found once in the text; None where only writing it anew will do.

    Grows by whole lines until it is found once, and takes a neighbour along with a line that goes.
    """
    start, end = 0, 0
    shared = min(len(before), len(after))
    while start < shared and before[start] == after[start]:
        start += 1
    while end < shared - start and before[-1 - end] == after[-1 - end]:
        end += 1
    text = "\n".join(before)
    while True:
        old, new = before[start : len(before) - end], after[start : len(after) - end]
        whole = not start and not end
        if any(old) and (new or whole) and _times(text, "\n".join(old)) == 1:
            return "\n".join(old), "\n".join(new)
        if start > 0:
            start -= 1
        elif end > 0:
            end -= 1
        else:
            return None


def _times(text: str, part: str) -> int:
    """How often `part` occurs, overlaps counted; stops at two."""
    at = text.find(part)
    return 0 if at < 0 else 1 + (text.find(part, at + 1) >= 0)
