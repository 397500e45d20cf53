"""A wrapper round any backend: nothing that is remembered is lost, unseen, or a credential.

Every write to a guarded path (memory, notes, skills) goes through the same steps under a lock: what
others did since is noted in the journal (`record`), the write is merged with it, credentials are
refused, instructions that are not in the user's words wait for them, and the change is entered (`steps`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from typing import Any

from deepagents.backends import protocol
from deepagents.backends.utils import create_file_data, file_data_to_string, slice_read_response

from deepnb.backends.journal import is_journal
from deepnb.backends.merge import Merged
from deepnb.backends.record import USER_READER, HeldChange
from deepnb.backends.steps import OWN, RECORDS, RESULTS, Steps, Written, is_withheld
from deepnb.backends.writer import credential_in, unfit, writer, writing
from deepnb.engine.file_extras import append_text
from deepnb.engine.files import is_text
from deepnb.gate import credentials, redact
from deepnb.gate.directives import is_directive
from deepnb.values.errors import DeepnbError
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


class GuardedBackend(Steps):
    """A backend with the guard in front of it."""

    # -- reading: passed on, and remembered as seen

    def shown(self, found: Sequence[Any]) -> list[Any]:
        return [one for one in found if not is_journal(one["path"].rstrip("/"))]

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        if not self.is_guarded(file_path):
            found = self.inner.read(file_path, offset, limit)
            text = self._text(file_path) if found.total_lines and is_text(file_path) else None
            return found if text is None or not _NO_ENDS.search(text) else _read(text, offset, limit)
        text = self._text(file_path)
        if text is None or not is_text(file_path):
            found = self.inner.read(file_path, offset, limit)
            if text is None and found.file_data is not None and found.file_data.get("encoding") == "utf-8":
                return self.read(file_path, offset, limit)  # it was written just now
            self._see(file_path, text)
            return found
        # what is shown is what is noted as seen: read once, since another process may write at any time
        self._see(file_path, text)
        return _read(_masked(text), offset, limit)

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return self.inner.download_files(paths)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        found = super().grep(pattern, path, glob, max_count=max_count)
        for match in found.matches or ():
            match["text"] = _masked(match["text"]) if self.is_guarded(match["path"]) else match["text"]
        return found

    # -- writing

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        if wrong := unfit(file_path, content) or _withheld(file_path):
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
        if wrong := unfit(path, text) or _withheld(path):
            return wrong
        if not path.startswith(RECORDS):
            return f"Error: {path} is not a record"
        return append_text(self.inner, path, redact(text))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        if wrong := unfit(file_path, "") or _withheld(file_path):
            return protocol.EditResult(error=wrong)
        try:
            return self._edit(file_path, old_string, new_string, replace_all)
        except DeepnbError as error:
            return protocol.EditResult(error=f"Error: {error}")

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Remove a file, or a directory with all in it, and enter what is gone; by an agent, only as it last saw it."""
        wrong = unfit(file_path, "") or _withheld(file_path)
        if not wrong and writer().tool and not file_path.strip("/"):  # all, records included
            wrong = f"Error: {OWN}" if any(self.inner.ls(folder.rstrip("/")).entries for folder in RECORDS) else None
        if wrong:
            return protocol.DeleteResult(error=wrong)
        gone = [file_path, *(m["path"] for m in self.inner.glob("{*,.*}", file_path).matches or ())]
        guarded = [p for p in dict.fromkeys(gone) if self.is_guarded(p)]
        try:
            with self.root(file_path).lock():
                now = {p: text for p in guarded if (text := self._observe_file(p)) is not None}
                unseen = [p for p in now if self._last_read(p) not in (None, now[p])]
                if unseen and writer().origin == "agent":
                    return protocol.DeleteResult(
                        error=f"Error: {unseen[0]} was changed since you last saw it: read it first"
                    )
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
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            if not self.is_guarded(path):
                return self.inner.upload_files([(path, content)])[0].error
            if any(credentials(data.decode("latin-1")) for data in (content, content.replace(b"\0", b""))):
                return "permission_denied"
            with (
                suppress(DeepnbError),
                self.root(path).lock(),
            ):  # the bytes are the file; in the journal the text is gone
                self._observe_file(path)
                error = self.inner.upload_files([(path, content)])[0].error
                if not error:
                    self._enter(path, None)
                return error
            return "permission_denied"
        if self.is_guarded(path) or path.startswith(RECORDS):
            return "permission_denied" if self.write(path, text).error else None
        if self._ask_about(path, text, self._text(path) or ""):
            return "permission_denied"
        return self.inner.upload_files([(path, content)])[0].error

    # -- what the session asks for

    def merge(self, path: str, text: str, base: str | None = None) -> Written:
        """Write a text made from `base`, or from what the writer last saw; its conflicts are in the result alone."""
        wrong = unfit(path, text) or _withheld(path)
        if base is not None:  # a credential is told by its line as it was typed, not as merged
            wrong = wrong or credential_in(base, text, path)
        if wrong:
            return Written(wrong, Merged(text))
        try:
            with writing(tell=nothing):
                return self._write(path, text, base)
        except DeepnbError as error:
            return Written(f"Error: {error}", Merged(text))

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file that the writer may write; return the error, if any."""
        if wrong := unfit(path, line) or _withheld(path):
            return wrong
        try:
            return self._append(path, line, typed=typed)
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
        problem = self._accept(held) if accept else None
        if problem is None:
            self.held_changes.remove(held)
        return problem

    def memory(self) -> dict[str, Any]:
        """Return the guarded files as a state holds files: path -> FileData."""
        found = [m["path"] for m in self.glob("**/*", "/").matches or () if self.is_guarded(m["path"])]
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

    def take_over(self, other: "GuardedBackend", notices: Iterable[str]) -> None:
        """What waits for the user in another guard, whose files are ours now, waits here; and these lines are shown."""
        for one in other.held_changes:
            self.hold(one.path, one.base, one.text, one.why, one.origin)
        self.notices.extend(line for line in notices if line not in self.notices)

    def begin(self, again: Mapping[str, str] | None = None) -> None:
        """A run begins; one that runs a step `again` has the texts (path -> text) before it: what the step wrote is not written twice."""
        self._named.clear()
        self._again = again

    def save(self) -> None:
        """A run has ended: write the journal entries that could not be written."""
        self._again = None
        self.runs += 1
        self._save(*self.roots)


def _withheld(path: str) -> str | None:
    return f"Error: {OWN}" if is_withheld(path) else None


def _masked(text: str) -> str:
    """Return a text of memory as a model may see it: without the credentials that somebody else put there."""
    return redact(text) if writer().origin == "agent" else text


def _bare(line: str) -> str:
    return line.lstrip("-*• \t").strip()
