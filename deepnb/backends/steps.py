"""The steps of a write: merge with what others wrote, refuse, hold back, store, enter into the journal.

Each takes the lock of the file's root, and raises DeepnbError where that can't be had.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Any

from deepagents.backends.protocol import EditResult

from deepnb.backends.disk import as_it_stands, replace_text
from deepnb.backends.journal import is_journal
from deepnb.backends.merge import Merged, all_crlf, merge
from deepnb.backends.record import HeldChange, Record
from deepnb.backends.writer import added_lines, credential_in, to_ask_about, unfit, writer, writing
from deepnb.gate import credentials, redact

RESULTS = "/large_tool_results/"
RECORDS = ("/conversation_history/", RESULTS)
"""What the engine writes down by itself, and no tool of an agent's does: credentials are redacted there."""
OWN = "deepnb keeps its records there"


def is_withheld(path: str) -> bool:
    """Return whether whoever writes just now may not write a file, or delete a directory: the journal, and for a tool the records."""
    return is_journal(path) or (writer().tool and f"{normpath('/' + path.lstrip('/'))}/".casefold().startswith(RECORDS))


@dataclass(frozen=True)
class Written:
    """What became of a write: why it was not made, or what is in the file now."""

    problem: str | None
    merged: Merged


class Steps(Record):
    """Writes to guarded files."""

    def _append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line, made of what was `typed`, to the end of a file, whatever others write meanwhile."""
        if typed and (problem := credential_in("", typed, path)):
            return problem
        with self.root(path).lock():
            current = self._observe_file(path)
            if current is None and self._is_binary(path):
                return f"Error: not written to {path}: it is not UTF-8 text"
            if self._is_made(path, current, lambda before: (f"{before}\n{line}", 1)):
                return None
            end = "\r\n" if current and all_crlf(current) else "\n"
            gap = "" if not current or current.endswith("\n") else end
            text = f"{current or ''}{gap}{line}{end}"
            problem = self._put(path, current, text, current).problem
            if not problem and (seen := self._last_read(path)) is not None:
                self._see(path, merge(current or "", seen, text).text)
            return problem

    def _accept(self, held: HeldChange) -> str | None:
        """Make a change that waited, merged with what came since; return the error, if any."""
        path = held.path
        if held.line:
            with writing(origin=held.origin, note=f"accepted {held.id}, {held.why}"):
                return self._append(path, held.line)
        with self.root(path).lock(), writing(origin=held.origin, note=f"accepted {held.id}"):
            if not self.is_guarded(path):
                wanted = merge(held.base, self._text(path) or "", held.text).text
                return self.inner.write(path, wanted).error
            current = self._observe_file(path)
            return self._store(path, merge(held.base, current or "", held.text))

    def keep_both(self, path: str, entry_id: str) -> None:
        """Settle the conflicts of a journal entry: the file stays as it is."""
        with self.root(path).lock():
            text = self._observe_file(path)
            with writing(note=f"kept both texts of {entry_id}"):
                self._enter(path, text, settles=entry_id)

    def _ask_about(self, path: str, text: str, current: str) -> str | None:
        """Return the error of a write that would put a credential into an ordinary file, which waits for the user; None for any other."""
        if writer().origin != "agent":
            return None
        found = credentials("\n".join(added_lines(current, text)))
        return self.hold(path, current, text, f"it would hold a {found[0].kind}", "agent") if found else None

    def _write(self, path: str, text: str, base: str | None = None) -> Written:
        """Make a text the file's, with what others wrote since the writer last saw it, which was `base` if given."""
        with self.root(path).lock():
            current = self._observe_file(path)
            if base is None and writer().origin == "agent":
                if current is None and self._is_binary(path):
                    return Written(f"Error: not written to {path}: what is there is not UTF-8 text", Merged(text))
                base = self._last_read(path, unknown=(self._again or {}).get(path))
            elif base is None:
                base = self._last_read(path, unknown=current)
            written = self._put(path, current, text, base)
            if written.problem is None:
                self._see(path, written.merged.seen)
            return written

    def _edit(self, path: str, old: str, new: str, everywhere: bool) -> EditResult:
        """Replace a text in the file as the writer last saw it, with what others wrote since."""
        with self.root(path).lock():
            guarded = self.is_guarded(path)
            current = self._observe_file(path) if guarded else self._text(path)
            if current is None:
                if guarded and self._is_binary(path):
                    return EditResult(error=f"Error: not written to {path}: what is there is not UTF-8 text")
                return self.inner.edit(path, old, new, everywhere)
            if guarded and self._is_made(path, current, lambda before: replace_text(before, old, new, everywhere)):
                return EditResult(path=path, occurrences=1)
            seen = self._last_read(path) if guarded else None
            base, edited = current, replace_text(current, old, new, everywhere)
            if seen is not None and not isinstance(meant := replace_text(seen, old, new, everywhere), str):
                base, edited = seen, meant  # what it is to replace is in the text that the writer saw
            if isinstance(edited, str):
                return EditResult(error=edited)
            text = edited[0]
            if wrong := unfit(path, text):
                return EditResult(error=wrong)
            if path.startswith(RECORDS):
                problem = self.inner.write(path, redact(text)).error
            elif not guarded:
                if not (problem := self._ask_about(path, text, current)):
                    return self.inner.edit(path, *as_it_stands(current, old, new), everywhere)
            else:
                written = self._put(path, current, text, base)
                problem = written.problem
                if not problem and seen is not None:
                    self._see(path, written.merged.seen if base == seen else merge(current, seen, text).text)
            return EditResult(error=problem) if problem else EditResult(path=path, occurrences=edited[1])

    def _is_made(self, path: str, current: str | None, change: Callable[[str], Any]) -> bool:
        """Return whether a step that is run again has made a change already: what it adds has come since, what it removes is gone."""
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
            return Written(self.hold(path, *of, why, "tool output"), merged)
        note = "conflict: both sides are kept" if merged.conflicts else "merged" if merges and not writer().note else ""
        with writing(note="; ".join(filter(None, (writer().note, note)))):
            return Written(self._store(path, merged), merged)

    def _store(self, path: str, merged: Merged) -> str | None:
        """Write and enter a text; its conflicts are said to whoever writes, and in the footer."""
        result = self.inner.write(path, merged.text)
        if result.error:
            return str(result.error)
        conflicts = tuple(replace(c, kept=redact(c.kept), written=redact(c.written)) for c in merged.conflicts)
        self._enter(path, merged.text, conflicts=conflicts)
        for conflict in conflicts:
            line = f"conflict in {path}, {conflict}"
            if tell := writer().tell:
                tell(line)
            if tell is None or writer().origin != "user":
                self._notice(f"{line} (%memory lists conflicts)")
        return None
