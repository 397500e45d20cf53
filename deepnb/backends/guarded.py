"""A wrapper round any backend: nothing that is remembered is lost, unseen, or a credential.

Every write to a guarded path (memory, notes, skills) goes through the same steps under a lock: what
others did since is noted in the journal, the write is merged with it, credentials are refused,
instructions that came out of a tool wait for the user, and the change is entered in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import perform_string_replacement, slice_read_response

from deepnb.backends.ahead import Ahead
from deepnb.backends.journal_file import JournalFile, is_journal
from deepnb.backends.writer import writer, writing
from deepnb.core.diff import FileDiff
from deepnb.core.errors import DeepnbError
from deepnb.core.gate import credentials, held_lines, is_directive, redact, refusal
from deepnb.core.gate.credentials import Finding
from deepnb.core.journal import DoesNotFit, Entry, Origin, entry
from deepnb.core.merge import merge

Lock = Callable[[], AbstractContextManager[Any]]

RECORDS = ("/conversation_history/", "/large_tool_results/")
"""What the engine writes down by itself: credentials are redacted there."""

_MARK = "[redacted: "
_OWN = "deepnb keeps its records there"
_REACH = 60
"""Lines: a private key of 4,096 bits has 51."""


@dataclass(frozen=True)
class Root:
    """A place that has files of its own: the kernel's state, or a mount."""

    prefix: str
    journal: JournalFile
    lock: Lock
    shared: bool
    """Whether others may write there, too: then it is looked at anew each time."""
    may_save: Callable[[], bool] = lambda: True
    """Whether an entry may be written with the change; in the kernel's state not while a run is going on."""


@dataclass(frozen=True)
class Held:
    """A change that waits for the user: from `base` to `text`, and why."""

    id: str
    path: str
    base: str
    text: str
    why: str
    origin: Origin

    @property
    def change(self) -> FileDiff:
        """What it would change."""
        return FileDiff(self.path, self.base or None, self.text)


class GuardedBackend(BackendProtocol):
    """`inner` with the guard in front of it."""

    def __init__(
        self,
        inner: BackendProtocol,
        roots: Sequence[Root],
        is_guarded: Callable[[str], bool],
        facts: Callable[[], Mapping[str, Any]],
    ) -> None:
        """`facts` gives `at`, `thread`, `turn` and `cell` of the moment, as the journal keeps them."""
        self.inner = inner
        self.roots = tuple(sorted(roots, key=lambda r: -len(r.prefix)))
        self.held: list[Held] = []
        self.notices: list[str] = []
        """Lines the user should see; whoever shows them empties the list."""
        self.is_guarded: Callable[[str], bool] = lambda path: is_guarded(path) and not is_journal(path)
        self._facts = facts
        self._known: dict[str, str | None] = {}
        """path -> text, less credentials, as the journal tells it."""
        self._seen: dict[tuple[str | None, tuple[str, ...], str], str] = {}
        """(thread, agent, path) -> text as that agent's model knows it."""
        self._ahead = Ahead()
        self._cut: list[Entry] = []
        """Changes of an interrupted run that did not reach its state; some may yet, when it is resumed."""
        self._numbers = 0
        self.runs = 0
        """How many runs have ended: a tool that comes back after that writes nothing any more."""

    # -- reading: passed on, and remembered as seen

    def ls(self, path: str) -> LsResult:
        found = self.inner.ls(path)
        if found.entries is not None:
            found = replace(found, entries=[e for e in found.entries if not is_journal(e["path"].rstrip("/"))])
        return found

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        if not self.is_guarded(file_path):
            return self.inner.read(file_path, offset, limit)
        text = self._text(file_path)
        self._saw(file_path, text)
        if text is None or text == self._raw(file_path):
            return self.inner.read(file_path, offset, limit)
        return slice_read_response(FileData(content=text, encoding="utf-8"), offset, limit)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        found = self.inner.grep(pattern, path, glob, max_count=max_count)
        if found.matches:
            found = replace(found, matches=[m for m in found.matches if not is_journal(m["path"])])
        return found

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        found = self.inner.glob(pattern, path)
        if found.matches:
            found = replace(found, matches=[m for m in found.matches if not is_journal(m["path"])])
        return found

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._newest(found) for found in self.inner.download_files(paths)]

    # -- writing

    def write(self, file_path: str, content: str) -> WriteResult:
        if wrong := _unfit(file_path, content):
            return WriteResult(error=wrong)
        if file_path.startswith(RECORDS):
            return self.inner.write(file_path, redact(content))
        if not self.is_guarded(file_path):
            problem = self._ask_about(file_path, content, self._text(file_path) or "")
            return WriteResult(error=problem) if problem else self.inner.write(file_path, content)
        try:
            with self.root(file_path).lock():
                problem = self._write(file_path, content)
        except DeepnbError as error:
            problem = f"Error: {error}"
        return WriteResult(error=problem) if problem else WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if is_journal(file_path):
            return EditResult(error=f"Error: {_OWN}")
        try:
            with self.root(file_path).lock():
                return self._edit(file_path, old_string, new_string, replace_all)
        except DeepnbError as error:
            return EditResult(error=f"Error: {error}")

    def delete(self, file_path: str) -> DeleteResult:
        if is_journal(file_path):
            return DeleteResult(error=f"Error: {_OWN}")
        gone = [file_path, *(m["path"] for m in self.inner.glob("{*,.*}", file_path).matches or ())]
        paths = [p for p in dict.fromkeys(gone) if self.is_guarded(p)]
        try:
            with self.root(file_path).lock():
                before = {p: raw for p in paths if self._observed(p) is not None and (raw := self._raw(p)) is not None}
                result = self.inner.delete(file_path)
                for path, raw in before.items():
                    if self._raw(path) is None:
                        self._wrote(path, raw, None)
                        self._enter(path, None)
        except DeepnbError as error:
            return DeleteResult(error=f"Error: {error}")
        for root in self.roots:
            if not result.error and root.journal.path(1).startswith(f"{file_path.rstrip('/')}/"):
                root.journal.keep()
        return result

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    # -- what the session asks for

    def root(self, path: str) -> Root:
        """The root a path belongs to: the longest prefix wins."""
        return next((r for r in self.roots if path.startswith(r.prefix)), self.roots[-1])

    def observe(self, paths: Iterable[str]) -> None:
        """Enter into the journal what others did to these files, and to those it tells of, since we last looked."""
        for root in self.roots:
            if root.shared or not root.journal.entries:
                root.journal.read()
        for path in dict.fromkeys((*paths, *(e.path for e in self.journal()))):
            try:
                with self.root(path).lock():
                    self._observed(path)
            except DeepnbError as error:  # a place that can only be read: there is nobody to note it
                self._notice(str(error))

    def saw(self, texts: Mapping[str, str]) -> None:
        """The current thread's model has just been shown these texts: the base of what it writes next."""
        self._seen.update((self._eye(path), text) for path, text in texts.items())

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file, whatever others write meanwhile; gives the error, if any.

        `typed` is what the line was made of, where that had lines a credential can be told by.
        """
        if typed and (problem := _credential_in("", typed, path)):
            return problem
        try:
            with self.root(path).lock():
                current = self._observed(path)
                if current is None and self._is_binary(path):
                    return f"Error: not written to {path}: it is not UTF-8 text"
                end = "\r\n" if current and 0 < current.count("\n") == current.count("\r\n") else "\n"
                gap = "" if not current or current.endswith("\n") else end
                return self._put(path, current, f"{current or ''}{gap}{line}{end}", current)
        except DeepnbError as error:
            return f"Error: {error}"

    def settle(self, held: Held, *, accept: bool) -> str | None:
        """Make a held change, merged with what came since, or throw it away; gives the error, if any."""
        problem = None
        if accept:
            with self.root(held.path).lock(), writing(origin=held.origin, note=f"accepted {held.id}"):
                guarded = self.is_guarded(held.path)
                current = self._observed(held.path) if guarded else self._text(held.path)
                merged = merge(held.base, current or "", held.text)
                if guarded:
                    problem = self._store(held.path, merged.text)
                else:
                    problem = self.inner.write(held.path, merged.text).error
                if merged.conflicts and not problem:
                    self._tell_conflict(held.path)
        if problem is None:
            self.held.remove(held)
        return problem

    def rewire(self, inner: BackendProtocol, roots: Sequence[Root], *, forget_home: bool = False) -> None:
        """Stand in front of another backend from now on: something was mounted, or home has moved.

        What is home keeps its journal, whose entries may wait; another directory at the same path has its own.
        """
        home = {r.prefix: r for r in self.roots if r.prefix == "/" and not forget_home}
        self.inner = inner
        self.roots = tuple(sorted((home.get(r.prefix, r) for r in roots), key=lambda r: -len(r.prefix)))
        self._known.clear()
        self._ahead.clear()

    def drain(self) -> list[str]:
        """The lines the user should see, which are not shown again."""
        lines, self.notices = self.notices, []
        return lines

    def journal(self) -> tuple[Entry, ...]:
        """The entries of all roots, by time."""
        return tuple(sorted((e for r in self.roots for e in r.journal.entries), key=lambda e: e.at))

    def begin(self) -> None:
        """A new turn begins: all that was written can be read."""
        self._ahead.clear()

    def save(self, *, whole: bool = True) -> None:
        """A run has ended: write the journal entries that waited for it.

        Entries of changes that never reached the run's state are taken out; they are entered when the
        run is resumed and its state shows them. A `whole` run reached its end: all it wrote is there.
        """
        self.runs += 1
        for root in self.roots:
            if not root.shared:
                with root.lock():
                    self._settle_run(root, whole)
        self._ahead.clear()
        self._save(*self.roots)

    def restored(self, note: str) -> None:
        """Files were taken back to an earlier state: enter that as the user's doing, and keep the journal."""
        self._ahead.clear()
        self._cut.clear()
        self._seen.clear()
        for root in self.roots:
            if not root.shared:
                for path in dict.fromkeys((*self._known, *(e.path for e in root.journal.entries))):
                    if self.root(path) is root:
                        self._observed(path, origin="user", note=note)
                root.journal.keep()

    def forget(self) -> None:
        """Know nothing of any file any more: after a journal was rewritten."""
        self._known.clear()
        self._seen.clear()

    # -- the steps

    def _write(self, path: str, text: str) -> str | None:
        looked = path in self._known
        known = self._known.get(path)
        current = self._observed(path)
        if writer().origin == "agent":
            if current is None and self._is_binary(path):
                return f"Error: not written to {path}: what is there is not UTF-8 text"
            base = self._seen.get(self._eye(path))
        else:
            base = known if looked else current
        problem = self._put(path, current, text, base)
        if problem is None:
            self._saw(path, text)
        return problem

    def _edit(self, path: str, old: str, new: str, everywhere: bool) -> EditResult:
        guarded = self.is_guarded(path)
        current = self._observed(path) if guarded else self._text(path)
        if current is None:
            if guarded and self._is_binary(path):
                return EditResult(error=f"Error: not written to {path}: what is there is not UTF-8 text")
            return self.inner.edit(path, old, new, everywhere)
        crlf = 0 < current.count("\n") == current.count("\r\n")
        plain = _lf(current) if crlf else current
        edited = perform_string_replacement(plain, *((_lf(old), _lf(new)) if crlf else (old, new)), everywhere)
        if isinstance(edited, str):
            return EditResult(error=edited)
        text = edited[0].replace("\n", "\r\n") if crlf else edited[0]
        if wrong := _unfit(path, text):
            return EditResult(error=wrong)
        if path.startswith(RECORDS):
            problem = self.inner.write(path, redact(text)).error
        elif not guarded:
            if not (problem := self._ask_about(path, text, current)):
                return self.inner.edit(path, old, new, everywhere)
        elif not (problem := self._put(path, current, text, current)) and (seen := self._seen.get(self._eye(path))):
            self._saw(path, merge(current, seen, text).text)
        return EditResult(error=problem) if problem else EditResult(path=path, occurrences=edited[1])

    def _upload(self, path: str, content: bytes) -> str | None:
        if _unfit(path, ""):
            return "invalid_path"
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            try:
                return self._upload_bytes(path, content)
            except DeepnbError:
                return "permission_denied"
        if self.is_guarded(path) or path.startswith(RECORDS) or is_journal(path):
            return "permission_denied" if self.write(path, text).error else None
        if self._ask_about(path, text, self._text(path) or ""):
            return "permission_denied"
        return self.inner.upload_files([(path, content)])[0].error

    def _upload_bytes(self, path: str, content: bytes) -> str | None:
        if not self.is_guarded(path):
            return "permission_denied" if is_journal(path) else self.inner.upload_files([(path, content)])[0].error
        if credentials(content.decode("latin-1")) or credentials(content.replace(b"\0", b"").decode("latin-1")):
            return "permission_denied"
        with self.root(path).lock():
            raw = self._observed(path)
            error = self.inner.upload_files([(path, content)])[0].error
            if not error:
                self._wrote(path, raw, None)
                self._enter(path, None)
            return error

    def _put(self, path: str, current: str | None, text: str, base: str | None) -> str | None:
        """Merge, check, store, enter; gives the reason where the write is refused or held."""
        merged = merge(base or "", current, text) if current is not None and base != current else None
        wanted = merged.text if merged else text
        if problem := _credential_in(current or "", wanted, path):
            return problem
        added = _added_lines(current or "", wanted)
        told = writer().origin == "agent" and any(map(is_directive, added))
        if told and (lines := held_lines(added, *writer().heard())):
            count = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
            return self._hold(
                path,
                current or "",
                wanted,
                f"{count} out of a tool's output, reading like an instruction",
                "tool output",
            )
        note = "" if merged is None else "merged" if not merged.conflicts else "conflict: both sides are kept"
        with writing(note="; ".join(filter(None, (writer().note, note)))):
            problem = self._store(path, wanted)
        if merged and merged.conflicts and not problem:
            self._tell_conflict(path)
        return problem

    def _store(self, path: str, text: str) -> str | None:
        raw = self._raw(path)
        result = self.inner.write(path, text)
        if result.error:
            return str(result.error)
        self._wrote(path, raw, text)
        self._enter(path, text)
        return None

    def _enter(self, path: str, text: str | None, origin: Origin | None = None, note: str = "") -> None:
        """Enter a change into its root's journal, and take the text as known."""
        before, after = self._known.get(path), None if text is None else redact(text)
        self._known[path] = after
        if before == after:
            return
        root, said = self.root(path), note if origin else writer().note
        made = entry(
            FileDiff(redact(path), before, after),
            id=root.journal.next_id(),
            origin=origin or writer().origin,
            note=redact(said),
            **self._facts(),
        )
        root.journal.add(made)
        if root.may_save():
            self._save(root)

    def _save(self, *roots: Root) -> None:
        for root in roots:
            if root.journal.unsaved and (problem := root.journal.save()):
                self._notice(f"the journal can't be written ({problem}); it waits in the kernel")

    def _observed(self, path: str, *, origin: Origin = "external", note: str = "") -> str | None:
        """The text of a file as it is now; a change that nobody told us of is entered as external."""
        if writer().run not in (None, self.runs):
            raise DeepnbError(f"not written to {path}: the turn has ended")
        root = self.root(path)
        if root.shared or path not in self._known:
            if root.shared or not root.journal.entries:  # what is ours alone may not be in a run's channels yet
                root.journal.read()
            self._known[path] = root.journal.text_of(path)
        text, known = self._text(path), self._known[path]
        if text != known and (text is None or redact(text) != known) and not self._resumed(root, path, text):
            self._enter(path, text, origin, note)
        return text

    def _resumed(self, root: Root, path: str, text: str | None) -> bool:
        """Enter changes of an interrupted run that its state shows now that it goes on."""
        mine = [e for e in self._cut if e.path == path]
        found = self._known[path]
        for count, one in enumerate(mine, 1):
            try:
                found = one.after(found)
            except DoesNotFit:
                return False
            if found == (None if text is None else redact(text)):
                for made in mine[:count]:
                    root.journal.add(replace(made, id=root.journal.next_id()))
                    self._cut.remove(made)
                self._known[path] = found
                if root.may_save():
                    self._save(root)
                return True
        return False

    def _settle_run(self, root: Root, whole: bool) -> None:
        """Make the journal and the files of the kernel's state agree at the end of a run."""
        journal = root.journal
        for path in dict.fromkeys(e.path for e in journal.unsaved):
            raw = self._raw(path)
            text = self._ahead.text(path, raw)
            if whole and text is not None and text != raw:  # written side by side, and told in another order
                self.inner.write(path, text)
            elif whole and text != raw:
                self.inner.delete(path)
            else:
                now = None if raw is None else redact(raw)
                if now != self._known.get(path):
                    self._take_out(journal, path, now)
                    for eye in [e for e in self._seen if e[-1] == path]:
                        self._seen[eye] = raw or ""

    def _take_out(self, journal: JournalFile, path: str, now: str | None) -> None:
        """Take out the last entries of a file that are not in its text; none, where that explains nothing."""
        kept, mine = list(journal.unsaved), [e for e in journal.unsaved if e.path == path]
        for count in range(len(mine) + 1):
            gone = mine[len(mine) - count :]
            journal.unsaved = [e for e in kept if e not in gone]
            if journal.text_of(path) == now:
                self._cut += gone
                self._known[path] = now
                return
        journal.unsaved = kept

    def _newest(self, found: FileDownloadResponse) -> FileDownloadResponse:
        """A file as it was read, or as it was written since."""
        if found.path not in self._ahead.paths() or self.root(found.path).may_save():
            return found
        raw = _decoded(found)
        text = self._ahead.text(found.path, raw)
        if text == raw:
            return found
        if text is None:
            return FileDownloadResponse(path=found.path, error="file_not_found")
        return FileDownloadResponse(path=found.path, content=text.encode())

    def _text(self, path: str) -> str | None:
        """The text of a file; None where there is none, or where it is not text."""
        raw = self._raw(path)
        return raw if self.root(path).may_save() else self._ahead.text(path, raw)

    def _raw(self, path: str) -> str | None:
        return _decoded(self.inner.download_files([path])[0])

    def _is_binary(self, path: str) -> bool:
        return self._raw(path) is None and self.inner.download_files([path])[0].content is not None

    def _wrote(self, path: str, raw: str | None, text: str | None) -> None:
        if not self.root(path).shared:
            self._ahead.wrote(path, raw, text)

    def _eye(self, path: str) -> tuple[str | None, tuple[str, ...], str]:
        return self._facts().get("thread"), writer().agent, path

    def _saw(self, path: str, text: str | None) -> None:
        """An agent's model knows this text now; what the user reads and writes it does not see."""
        if writer().origin != "agent":
            return
        if text is None:
            self._seen.pop(self._eye(path), None)
        else:
            self._seen[self._eye(path)] = text

    def _notice(self, line: str) -> None:
        if line not in self.notices:
            self.notices.append(line)

    def _tell_conflict(self, path: str) -> None:
        self._notice(f"{path} was changed by two at once: both texts stand in it, between <<<<<<< and >>>>>>>")

    def _ask_about(self, path: str, text: str, current: str) -> str | None:
        """An ordinary file is never altered: one that would hold a credential waits for the user."""
        if is_journal(path):
            return f"Error: {_OWN}"
        if writer().origin != "agent":
            return None
        found = credentials("\n".join(_added_lines(current, text)))
        return self._hold(path, current, text, f"it would hold a {found[0].kind}", "agent") if found else None

    def _hold(self, path: str, base: str, text: str, why: str, origin: Origin) -> str:
        self._numbers += 1
        held = Held(f"p{self._numbers}", path, base, text, why, origin)
        self.held.append(held)
        self.notices.append(f"a change of {path} waits for you ({why}): %memory pending shows it")
        return f"Error: this change of {path} waits for the user to confirm it ({why}). Do not try it again; go on without it."


def _credential_in(before: str, after: str, path: str) -> str | None:
    """Why a change is refused: it brings a credential, or the mark of one that was redacted, or is named so."""
    again = "; do not try again" if writer().origin == "agent" else ""
    if credentials(path):
        return f"Error: not written: the path itself holds a credential{again}"
    held, lines = set(before.split("\n")), after.split("\n")
    added = {n for n, line in enumerate(lines) if line not in held}
    found: list[Finding] = []
    for start, stop in _windows(sorted(added), len(lines)):
        text = "\n".join(lines[start:stop])
        for one in credentials(text):
            first = start + one.line - 1
            if not added.isdisjoint(range(first, first + 1 + text.count("\n", one.start, one.end))):
                found.append(replace(one, line=first + 1))
    if found:
        return f"Error: {refusal(found, path)}{again}"
    if any(_MARK in lines[n] for n in added):
        return f"Error: not written to {path}: a credential was taken out of this call{again}"
    return None


def _unfit(path: str, text: str) -> str | None:
    """Why a text can't be a file, whatever the backend would make of it."""
    if not path.startswith("/"):
        return f"Error: not written to {path}: a path begins with /"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"Error: not written to {path}: it holds half of a character that takes two (a lone surrogate)"
    return None


def _windows(added: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """Stretches of lines to look for credentials in: what was added, and as far round it as a key may reach."""
    start = stop = -1
    for n in added:
        if stop < 0 or n - _REACH > stop:
            if stop >= 0:
                yield start, stop
            start = max(0, n - _REACH)
        stop = min(count, n + _REACH + 1)
    if stop >= 0:
        yield start, stop


def _added_lines(before: str, after: str) -> list[str]:
    """The lines of `after` that `before` does not hold."""
    held = set(before.split("\n"))
    return [line for line in after.split("\n") if line not in held]


def _decoded(found: FileDownloadResponse) -> str | None:
    try:
        return None if found.content is None else found.content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")
