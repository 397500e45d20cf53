"""The steps of a write: merge with what others wrote, refuse, hold back, store, enter into the journal.

Each takes the lock of the file's root, and raises DeepnbError where that can't be had.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

from deepagents.backends.protocol import DeleteResult, EditResult

from deepnb.backends.disk import replace_text
from deepnb.backends.journal import is_journal
from deepnb.backends.merge import Conflict, Merged, all_crlf, merge
from deepnb.backends.record import BOTH, HeldChange, HeldChanges, LastRead, Record, conflict_notice, redacted
from deepnb.backends.writer import added_lines, credential_in, to_ask_about, unfit, writer, writing
from deepnb.gate import credentials, redact

RESULTS = "/large_tool_results/"
RECORDS = ("/conversation_history/", RESULTS)
"""What the engine writes down by itself, and no tool of an agent's does: credentials are redacted there."""
OWN = "deepnb keeps its records there"


def is_withheld(path: str) -> bool:
    """Whether whoever writes just now may not write a file, or delete a directory: the journal, and for a tool the records."""
    return is_journal(path) or (writer().tool and f"{normpath('/' + path.lstrip('/'))}/".casefold().startswith(RECORDS))


@dataclass(frozen=True)
class Written:
    """What became of a write: why it was not made, or what is in the file now."""

    problem: str | None
    merged: Merged


class Steps:
    """Writes to guarded files."""

    def __init__(
        self, record: Record, last_read: LastRead, held_changes: HeldChanges, is_guarded: Callable[[str], bool]
    ) -> None:
        self.record = record
        self.last_read = last_read
        self.held_changes = held_changes
        self.is_guarded = is_guarded
        self._again: Mapping[str, str] | None = None

    def begin(self, again: Mapping[str, str] | None) -> None:
        """A run begins or has ended; `again` are the texts before the turn of which a step that was cut is run again."""
        self._again = again

    def write(self, path: str, text: str, base: str | None = None) -> Written:
        """Make a text the file's, with what others wrote since the writer last saw it, which was `base` if given."""
        with self._locked(path):
            return self._write(path, text, base)

    def edit(self, path: str, old: str, new: str, everywhere: bool) -> EditResult:
        """Replace a text in the file as the writer last saw it, with what others wrote since."""
        with self._locked(path):
            return self._edit(path, old, new, everywhere)

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file, whatever others write meanwhile.

        `typed` is what the line was made of, where that had lines a credential can be told by.
        """
        if typed and (problem := credential_in("", typed, path)):
            return problem
        with self._locked(path):
            current = self.record.observe_file(path)
            if current is None and self.record.is_binary(path):
                return f"Error: not written to {path}: it is not UTF-8 text"
            if self._is_made(path, current, lambda before: (f"{before}\n{line}", 1)):
                return None
            end = "\r\n" if current and all_crlf(current) else "\n"
            gap = "" if not current or current.endswith("\n") else end
            text = f"{current or ''}{gap}{line}{end}"
            problem = self._put(path, current, text, current).problem
            if not problem and (seen := self.last_read.text(path)) is not None:
                self.last_read.set(path, merge(current or "", seen, text).text)
            return problem

    def delete(self, path: str) -> DeleteResult:
        """Remove a file, or a directory with all in it, and enter what is gone; by an agent, only as it last saw it."""
        inner, record = self.record.inner, self.record
        gone = [path, *(m["path"] for m in inner.glob("{*,.*}", path).matches or ())]
        guarded = [p for p in dict.fromkeys(gone) if self.is_guarded(p)]
        with self._locked(path):
            now = {p: text for p in guarded if (text := record.observe_file(p)) is not None}
            if writer().origin == "agent" and (
                changed := [p for p in now if self.last_read.text(p) not in (None, now[p])]
            ):
                return DeleteResult(error=f"Error: {changed[0]} was changed since you last saw it: read it first")
            result = inner.delete(path)
            for one in now:
                if record.text(one) is None:
                    record.enter(one, None)
        return result

    def upload_bytes(self, path: str, content: bytes) -> str | None:
        """Make bytes that are not text the file; in the journal the text is gone."""
        if credentials(content.decode("latin-1")) or credentials(content.replace(b"\0", b"").decode("latin-1")):
            return "permission_denied"
        with self._locked(path):
            self.record.observe_file(path)
            error = self.record.inner.upload_files([(path, content)])[0].error
            if not error:
                self.record.enter(path, None)
            return error

    def accept(self, held: HeldChange) -> str | None:
        """Make a change that waited, merged with what came since; gives the error, if any."""
        path = held.path
        if held.line:
            with writing(origin=held.origin, note=f"accepted {held.id}, {held.why}"):
                return self.append(path, held.line)
        with self._locked(path), writing(origin=held.origin, note=f"accepted {held.id}"):
            if not self.is_guarded(path):
                wanted = merge(held.base, self.record.text(path) or "", held.text).text
                return self.record.inner.write(path, wanted).error
            current = self.record.observe_file(path)
            return self._store(path, merge(held.base, current or "", held.text))

    def settle(self, path: str, entry_id: str) -> None:
        """Enter that the conflicts of an entry are none any more: the file stays as it is."""
        with self._locked(path):
            text = self.record.observe_file(path)
            with writing(note=f"kept both texts of {entry_id}"):
                self.record.enter(path, text, settles=entry_id)

    def ask_about(self, path: str, text: str, current: str) -> str | None:
        """An ordinary file is never altered: one that would hold a credential waits for the user."""
        if writer().origin != "agent":
            return None
        found = credentials("\n".join(added_lines(current, text)))
        return (
            self.held_changes.hold(path, current, text, f"it would hold a {found[0].kind}", "agent") if found else None
        )

    def _locked(self, path: str) -> AbstractContextManager[Any]:
        return self.record.root(path).lock()

    def _write(self, path: str, text: str, base: str | None) -> Written:
        current = self.record.observe_file(path)
        if base is None and writer().origin == "agent":
            if current is None and self.record.is_binary(path):
                return Written(f"Error: not written to {path}: what is there is not UTF-8 text", Merged(text))
            base = self.last_read.text(path, unknown=(self._again or {}).get(path))
        elif base is None:
            base = self.last_read.text(path, unknown=current)
        written = self._put(path, current, text, base)
        if written.problem is None:
            self.last_read.set(path, written.merged.seen)
        return written

    def _edit(self, path: str, old: str, new: str, everywhere: bool) -> EditResult:
        guarded = self.is_guarded(path)
        current = self.record.observe_file(path) if guarded else self.record.text(path)
        if current is None:
            if guarded and self.record.is_binary(path):
                return EditResult(error=f"Error: not written to {path}: what is there is not UTF-8 text")
            return self.record.inner.edit(path, old, new, everywhere)
        if guarded and self._is_made(path, current, lambda before: replace_text(before, old, new, everywhere)):
            return EditResult(path=path, occurrences=1)
        seen = self.last_read.text(path) if guarded else None
        base, edited = current, replace_text(current, old, new, everywhere)
        if seen is not None and not isinstance(meant := replace_text(seen, old, new, everywhere), str):
            base, edited = seen, meant  # what it is to replace is in the text that the writer saw
        if isinstance(edited, str):
            return EditResult(error=edited)
        text = edited[0]
        if wrong := unfit(path, text):
            return EditResult(error=wrong)
        if path.startswith(RECORDS):
            problem = self.record.inner.write(path, redact(text)).error
        elif not guarded:
            if not (problem := self.ask_about(path, text, current)):
                return self.record.inner.edit(path, old, new, everywhere)
        else:
            written = self._put(path, current, text, base)
            problem = written.problem
            if not problem and seen is not None:
                self.last_read.set(path, written.merged.seen if base == seen else merge(current, seen, text).text)
        return EditResult(error=problem) if problem else EditResult(path=path, occurrences=edited[1])

    def _is_made(self, path: str, current: str | None, change: Callable[[str], Any]) -> bool:
        """Return whether a step that is run again has made a change before it was cut.

        What the change adds to the text before the turn has been added since, and what it removes is gone.
        """
        if self._again is None or writer().origin == "user":
            return False
        before, now = self._again.get(path, ""), current or ""
        if isinstance(made := change(before), str):  # it can't be made in that text
            return False
        added, removed = (set(filter(str.strip, added_lines(*two))) for two in ((before, made[0]), (made[0], before)))
        return bool(added or removed) and added <= {*added_lines(before, now)} and removed.isdisjoint(now.split("\n"))

    def _put(self, path: str, current: str | None, text: str, base: str | None) -> Written:
        """Merge, check, store, enter; with the reason where the write is refused or held."""
        merges = current is not None and base != current
        merged = merge(base or "", current or "", text) if merges else Merged(text, seen=text)
        if problem := credential_in(current or "", merged.text, path):
            return Written(problem, merged)
        added = added_lines(current or "", merged.text)
        if writer().origin in ("agent", "flush") and (lines := to_ask_about(path, added, writer().heard)):
            reads = "lines that read like instructions" if len(lines) > 1 else "line that reads like an instruction"
            why = f"{len(lines)} {reads}, not in your words"
            # kept as the writer made it, so that a conflict is found, and named, when it is accepted
            of = (current or "", merged.text) if base is None or not merges else (base, text)
            return Written(self.held_changes.hold(path, *of, why, "tool output"), merged)
        note = BOTH if merged.conflicts else "merged" if merges and not writer().note else ""
        with writing(note="; ".join(filter(None, (writer().note, note)))):
            return Written(self._store(path, merged), merged)

    def _store(self, path: str, merged: Merged) -> str | None:
        """Write and enter a text; its conflicts are said to whoever writes, and in the footer."""
        result = self.record.inner.write(path, merged.text)
        if result.error:
            return str(result.error)
        conflicts = redacted(merged.conflicts)
        self.record.enter(path, merged.text, conflicts=conflicts)
        for conflict in conflicts:
            self._say(path, conflict)
        return None

    def _say(self, path: str, conflict: Conflict) -> None:
        tell = writer().tell
        if tell:
            tell(f"conflict in {path}, {conflict}")
        if tell is None or writer().origin != "user":
            self.held_changes.notice(conflict_notice(path, conflict))
