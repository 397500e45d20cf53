"""A wrapper round any backend: nothing that is remembered is lost, unseen, or a credential.

Every write to a guarded path (memory, notes, skills) goes through the same steps under a lock: what
others did since is noted in the journal (`record`), the write is merged with it, credentials are
refused, instructions that are not in the user's words wait for them, and the change is entered.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from deepagents.backends import protocol
from deepagents.backends.utils import create_file_data, file_data_to_string, slice_read_response

from deepnb.backends.disk import as_it_stands, replace_text
from deepnb.backends.journal import is_journal
from deepnb.backends.merge import Merged, all_crlf, merge
from deepnb.backends.record import USER_READER, HeldChange, Record
from deepnb.backends.writer import OWN, added_lines, credential_in, is_withheld, to_ask_about, unfit, writer, writing
from deepnb.engine.file_extras import append_text
from deepnb.engine.files import is_text
from deepnb.gate import credentials, leaks, redact
from deepnb.gate.directives import is_directive
from deepnb.values.errors import DeepnbError
from deepnb.values.files import ALL_FILES, RECORDS, RESULTS, utf8
from deepnb.values.lazy import nothing

_NO_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line for `str.splitlines`, but for no editor, search or edit."""


def _read(text: str, offset: int, limit: int) -> protocol.ReadResult:
    """Return lines of a text, which end at \\n, \\r\\n and \\r alone."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = _NO_ENDS.sub("_", text)  # as long as the text, with the lines that it has
    found = slice_read_response(protocol.FileData(content=plain, encoding="utf-8"), offset, limit)
    if plain != text and found.file_data is not None:
        lines = text.split("\n")[: (found.start_line or 1) - 1]
        begin = sum(map(len, lines)) + len(lines)
        found.file_data["content"] = text[begin : begin + len(found.file_data["content"])]
    return found


@dataclass(frozen=True)
class Written:
    """What became of a write: why it was not made, or what is in the file now."""

    problem: str | None
    merged: Merged


class GuardedBackend(Record):
    """A backend with the guard in front of it."""

    def shown(self, found: Sequence[Any]) -> list[Any]:
        return [one for one in found if not is_journal(one["path"].rstrip("/"))]

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        if not self.is_guarded(file_path):
            found = self.inner.read(file_path, offset, limit)
            text = self._text(file_path) if found.total_lines and is_text(file_path) else None
            return found if text is None or not _NO_ENDS.search(text) else _read(text, offset, limit)
        if (text := self._text(file_path)) is None or not is_text(file_path):
            found = self.inner.read(file_path, offset, limit)
            if text is None and found.file_data is not None and found.file_data.get("encoding") == "utf-8":
                return self.read(file_path, offset, limit)  # it was written just now
            self._see(file_path, text)
            return found
        # what is shown is what is noted as seen: read once, since another process may write at any time
        self._see(file_path, text)
        return _read(_masked(text), offset, limit)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        found = super().grep(pattern, path, glob, max_count=max_count)
        for match in found.matches or ():
            match["text"] = _masked(match["text"]) if self.is_guarded(match["path"]) else match["text"]
        return found

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        if wrong := _wrong(file_path, content):
            return protocol.WriteResult(error=wrong)
        if file_path.startswith(RECORDS):
            path = file_path
            if path.startswith(RESULTS):  # numbered where it is taken: ids of calls repeat, and two can make one name
                with self._naming:
                    taken = {one["path"] for one in self.inner.ls(RESULTS.rstrip("/")).entries or ()} | self._named
                    path = next(one for one in chain((path,), (f"{path}-{n}" for n in count(2))) if one not in taken)
                    self._named.add(path)
            return replace(self.inner.write(path, redact(content)), path=path)
        if not self.is_guarded(file_path):
            problem = self._ask_about(file_path, content, self._text(file_path) or "")
            return protocol.WriteResult(error=problem) if problem else self.inner.write(file_path, content)
        try:
            problem = self._write(file_path, content).problem
        except DeepnbError as error:
            problem = f"Error: {error}"
        return protocol.WriteResult(error=problem) if problem else protocol.WriteResult(path=file_path)

    def append_text(self, path: str, text: str) -> str | None:
        """Add a text, without credentials, to the end of one of the engine's own records; give the error, if any."""
        if wrong := _wrong(path, text):
            return wrong
        if not path.startswith(RECORDS):
            return f"Error: {path} is not a record"
        return append_text(self.inner, path, redact(text))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        """Replace a text in the file as the writer last saw it, with what others wrote since."""
        if wrong := _wrong(file_path):
            return protocol.EditResult(error=wrong)
        asked = old_string, new_string, replace_all
        try:
            with self.root(file_path).lock():
                guarded = self.is_guarded(file_path)
                current = self._observe_file(file_path) if guarded else self._text(file_path)
                if current is None:
                    if guarded and self._is_binary(file_path):
                        wrong = f"Error: not written to {file_path}: what is there is not UTF-8 text"
                        return protocol.EditResult(error=wrong)
                    return self.inner.edit(file_path, *asked)
                if guarded and self._is_made(file_path, current, lambda before: replace_text(before, *asked)):
                    return protocol.EditResult(path=file_path, occurrences=1)
                seen = self._last_read(file_path) if guarded else None
                base, edited = current, replace_text(current, *asked)
                if seen is not None and not isinstance(meant := replace_text(seen, *asked), str):
                    base, edited = seen, meant  # what it is to replace is in the text that the writer saw
                if isinstance(edited, str):
                    return protocol.EditResult(error=edited)
                text = edited[0]
                if wrong := unfit(file_path, text):
                    return protocol.EditResult(error=wrong)
                if file_path.startswith(RECORDS):
                    problem = self.inner.write(file_path, redact(text)).error
                elif not guarded:
                    if not (problem := self._ask_about(file_path, text, current)):
                        return self.inner.edit(file_path, *as_it_stands(current, *asked[:2]), replace_all)
                else:
                    written = self._put(file_path, current, text, base)
                    if not (problem := written.problem) and seen is not None:
                        self._see(file_path, written.merged.seen if base == seen else merge(current, seen, text).text)
                done = protocol.EditResult(path=file_path, occurrences=edited[1])
                return protocol.EditResult(error=problem) if problem else done
        except DeepnbError as error:
            return protocol.EditResult(error=f"Error: {error}")

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Remove a file, or a directory with all in it, and enter what is gone; by an agent, only as it last saw it."""
        wrong = _wrong(file_path)
        if not wrong and writer().tool and not file_path.strip("/"):  # all, records included
            wrong = f"Error: {OWN}" if any(self.inner.ls(folder.rstrip("/")).entries for folder in RECORDS) else None
        if wrong:
            return protocol.DeleteResult(error=wrong)
        gone = [file_path, *(m["path"] for m in self.inner.glob(ALL_FILES, file_path).matches or ())]
        guarded = [p for p in dict.fromkeys(gone) if self.is_guarded(p)]
        try:
            with self.root(file_path).lock():
                now = {p: text for p in guarded if (text := self._observe_file(p)) is not None}
                unseen = [p for p in now if self._last_read(p) not in (None, now[p])]
                if unseen and writer().origin == "agent":
                    wrong = f"Error: {unseen[0]} was changed since you last saw it: read it first"
                    return protocol.DeleteResult(error=wrong)
                result = self.inner.delete(file_path)
                for one in now:
                    if self._text(one) is None:
                        self._enter(one, None)
        except DeepnbError as error:
            return protocol.DeleteResult(error=f"Error: {error}")
        for root in self.roots:
            if not result.error and root.journal.path(1).startswith(f"{file_path.rstrip('/')}/"):
                root.journal.keep()
        return result

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [protocol.FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def _upload(self, path: str, content: bytes) -> str | None:
        if unfit(path, ""):
            return "invalid_path"
        if is_withheld(path):
            return "permission_denied"
        text, guarded = utf8(content), self.is_guarded(path)
        if guarded and (text is None or "\0" in text) and leaks(content):
            return "permission_denied"
        if text is None:
            if not guarded:
                return self.inner.upload_files([(path, content)])[0].error
            try:
                with self.root(path).lock():
                    self._observe_file(path)
                    if not (error := self.inner.upload_files([(path, content)])[0].error):
                        self._enter(path, None)  # the bytes are the file; in the journal the text is gone
                    return error
            except DeepnbError:
                return "permission_denied"
        if guarded or path.startswith(RECORDS):
            return "permission_denied" if self.write(path, text).error else None
        if self._ask_about(path, text, self._text(path) or ""):
            return "permission_denied"
        return self.inner.upload_files([(path, content)])[0].error

    def merge(self, path: str, text: str, base: str | None = None) -> Written:
        """Write a text made from `base`, or from what the writer last saw; its conflicts are in the result alone."""
        # a credential is told by its line as it was typed, not as merged
        if wrong := _wrong(path, text) or (None if base is None else credential_in(base, text, path)):
            return Written(wrong, Merged(text))
        try:
            with writing(tell=nothing):
                return self._write(path, text, base)
        except DeepnbError as error:
            return Written(f"Error: {error}", Merged(text))

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line, made of what was `typed`, to the end of a file, whatever others write meanwhile; return the error, if any."""
        if wrong := _wrong(path, line) or (typed and credential_in("", typed, path)):
            return wrong
        try:
            with self.root(path).lock():
                if (current := self._observe_file(path)) is None and self._is_binary(path):
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
        except DeepnbError as error:
            return f"Error: {error}"

    def offer(self, path: str, lines: Iterable[str], why: str) -> None:
        """Hold lines of foreign memory for the user, each by itself: those that are not there, and hold no credential."""
        known = {_bare(line) for line in (self._text(path) or "").splitlines()}
        known |= {_bare(held.line) for held in self.held_changes if held.line}
        refused = 0
        for line in lines:
            if (words := _bare(line)) in known or not words:
                continue
            known.add(words)
            if credential_in("", line, path):
                refused += 1
            else:
                also = "; it reads like an instruction" if is_directive(line) else ""
                self._add_held(path, "", f"{line}\n", f"{why}{also}", "external", line)
        if refused:
            self._notice(f"{refused} line{'s' if refused > 1 else ''} of memory {why} left out: a credential")

    def settle(self, held: HeldChange, *, accept: bool) -> str | None:
        """Make a held change, merged with what came since, or throw it away; return the error, if any."""
        path = held.path
        problem: str | None = None
        if accept and held.line:
            with writing(origin=held.origin, note=f"accepted {held.id}, {held.why}"):
                problem = self.append(path, held.line)
        elif accept:
            with self.root(path).lock(), writing(origin=held.origin, note=f"accepted {held.id}"):
                if self.is_guarded(path):
                    problem = self._store(path, merge(held.base, self._observe_file(path) or "", held.text))
                else:
                    wanted = merge(held.base, self._text(path) or "", held.text).text
                    problem = self.inner.write(path, wanted).error
        if problem is None:
            self.held_changes.remove(held)
        return problem

    def keep_both(self, path: str, entry_id: str) -> None:
        """Settle the conflicts of a journal entry: the file stays as it is."""
        with self.root(path).lock():
            text = self._observe_file(path)
            with writing(note=f"kept both texts of {entry_id}"):
                self._enter(path, text, settles=entry_id)

    def memory(self) -> dict[str, Any]:
        """Return the guarded files as a state holds files: path -> FileData."""
        found = [m["path"] for m in self.glob(ALL_FILES, "/").matches or () if self.is_guarded(m["path"])]
        texts = ((p, self._text(p)) for p in found)
        return {path: create_file_data(text) for path, text in texts if text is not None}

    def take_files(self, files: Mapping[str, Any]) -> dict[str, Any]:
        """Write the guarded ones among files of a state, path -> FileData, where they differ; return the others."""
        for path, data in files.items():
            if self.is_guarded(path) and data is not None and (text := file_data_to_string(data)) != self._text(path):
                self.write(path, text)
        return {path: data for path, data in files.items() if not self.is_guarded(path)}

    def mark_shown(self, texts: Mapping[str, str | None]) -> None:
        """The user has just been shown these texts (None: no such file): the base of what is written next."""
        self._seen.update(((USER_READER, path), text) for path, text in texts.items() if self.is_guarded(path))

    def begin(self, again: Mapping[str, str] | None = None) -> None:
        """A run begins; one that runs a step `again` has the texts (path -> text) before it: what the step wrote is not written twice."""
        self._named.clear()
        self._again = again

    def save(self) -> None:
        """A run has ended: write the journal entries that could not be written."""
        self._again = None
        self.runs += 1
        self._save(*self.roots)

    # -- the steps of a write: merge with what others wrote, refuse, hold back, store, enter into the journal

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


def _wrong(path: str, text: str = "") -> str | None:
    return unfit(path, text) or (f"Error: {OWN}" if is_withheld(path) else None)


def _masked(text: str) -> str:
    """Return a text of memory as a model may see it: without the credentials that somebody else put there."""
    return redact(text) if writer().origin == "agent" else text


def _bare(line: str) -> str:
    return line.lstrip("-*• \t").strip()
