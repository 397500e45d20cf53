"""Sessions that are files of JSON lines: what all such formats have in common."""

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deepnb.values.errors import NotFoundError
from deepnb.values.text import excerpt
from deepnb.wings.open.file import BadLines, Head, json_lines, open_file
from deepnb.wings.open.indexing import indexed
from deepnb.wings.open.items import HEAD, Arrangement, Entry, Fact, Prompt
from deepnb.wings.open.values import SessionFile, SessionRow

_LAST = ("title", "summary", "window", "version", "at")
"""Facts of which the last one counts."""


@dataclass(frozen=True)
class JsonlFormat:
    """A format of JSON lines."""

    name: str
    kind: str
    fits: Callable[[Sequence[dict[str, Any]]], bool]
    """Whether the first objects of a file are of this format."""
    parse: Callable[[dict[str, Any]], Entry]
    """What one line says, without the knowledge of any other."""
    arrange: Callable[[list[Entry], dict[Path, list[Entry]]], Arrangement]
    """(entries of the file, those of its companions) -> the session as it stands."""
    companions: Callable[[Path], Iterable[Path]] = lambda path: ()
    """Files that belong to a session, each in a folder of its own or beside it."""

    def matches(self, head: Head) -> bool:
        return self.fits(head.objects)

    def open(self, head: Head, session: str | None) -> SessionFile:
        collects = gc.isenabled()
        gc.disable()  # looking for cycles among a million objects took half the time
        try:
            files, bad, bad_nested = [head.path, *self.companions(head.path)], BadLines(), BadLines()
            scanned: list[list[Entry]] = []
            for file in files:
                entries = []
                with open_file(file) as opened:
                    for number, value in json_lines(opened, bad_nested if scanned else bad):
                        entries.append(entry := self.parse(value))
                        entry.line = number
                scanned.append(entries)
            arrangement = self.arrange(scanned[0], dict(zip(files[1:], scanned[1:], strict=True)))
            if bad_nested.count:
                arrangement.notices.append(f"lines of nested agents' files that can't be read: {bad_nested.count:,}")
            if bad.last:
                arrangement.notices.append("the last line is cut: its writer may still be at work")
            found = _facts(scanned[0])
            if "window" in found:  # of the lines that are the session as it stands
                found |= {k: v for k, v in _facts(arrangement.main).items() if k == "window"}
            id_ = found.get("id") or head.path.stem
            if session not in (None, id_):
                raise NotFoundError(f"{head.path} has no session {session}", f"its session is {id_}")
            facts = {
                "format": self.name, "kind": self.kind, "path": str(head.path), "bad": bad.count,
                "bytes": head.path.stat().st_size, "id": id_, "title": found.get("title") or found.get("summary", ""),
                "cwd": found.get("cwd", ""), "version": found.get("version", ""),
                "system_prompt": found.get("system_prompt"),
                "window": int(found["window"]) if found.get("window") else None,
            }  # fmt: skip
            return indexed(arrangement, facts)
        finally:
            if collects:
                gc.freeze()  # and all there is to the oldest generation, which the next collections leave alone
                gc.unfreeze()
                gc.enable()

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        first = [self.parse(value) for value in head.objects]
        facts = _facts(first)
        prompt = next((i.text for e in first for i in e.items if isinstance(i, Prompt)), "")
        about = excerpt(facts.get("title") or facts.get("summary") or prompt, HEAD)
        id_ = facts.get("id") or head.path.stem
        return (SessionRow(str(head.path), id_, self.kind, changed(head.path), about, head.size),)


def _facts(entries: Iterable[Entry]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        for item in entry.items:
            if isinstance(item, Fact) and item.text and (item.name in _LAST or item.name not in found):
                found[item.name] = item.text
    return found


def changed(path: Path) -> str:
    """Return when a file was changed last, as an ISO timestamp."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
