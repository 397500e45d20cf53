"""Daily notes: one file a day, only ever added to. A heading gives the time, each line below it is one entry.

    ## 09:30

    - The outage was ERR_CONN_1042, an expired certificate.

The day is that of your time zone. `%memory promote` proposes entries for `/MEMORY.md`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deepnb.memory.layers import note_day

_HEADING = re.compile(r"##\s+(\d\d:\d\d)\s*$")
_BULLET = re.compile(r"\s*[-*•+]\s+(?P<text>\S.*)")
_BULLET_SIGN = re.compile(r"^\s*(?:[-*•+](?:\s+|\Z))*")
_COMMENT = re.compile(r"<!--.*?-->")


@dataclass(frozen=True)
class NoteEntry:
    """One line of a daily note."""

    note: str
    line: int
    """Counted from 1."""
    text: str
    """Without its bullet."""

    @property
    def day(self) -> str:
        """YYYY-MM-DD."""
        return note_day(self.note) or ""

    @property
    def place(self) -> str:
        """`memory/2026-02-16.md:3`."""
        return f"{self.note.lstrip('/')}:{self.line}"


def addition(note: str, at: str, lines: Iterable[str]) -> str:
    """What is put behind the text of a note for these entries: a heading with the time, unless it is the last one."""
    entries = "\n".join(f"- {bare(line)}" for line in lines if bare(line))
    if not entries:
        return ""
    headings = [line for line in note.splitlines() if line.startswith("#")]
    last = _HEADING.fullmatch(headings[-1].rstrip()) if headings else None
    if last and last[1] == at[11:16]:
        return entries
    gap = "\n" if note.strip() else ""
    return f"{gap}## {at[11:16]}\n{entries}"


def entries(path: str, text: str) -> Iterator[NoteEntry]:
    """The entries of a note, in order."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _BULLET.fullmatch(line)
        said = _COMMENT.sub("", found["text"]).strip() if found else ""
        if said:
            yield NoteEntry(path, number, said)


def bare(line: str) -> str:
    """A line without its bullet and the blanks round it."""
    return _BULLET_SIGN.sub("", line).strip()
