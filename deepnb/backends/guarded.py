"""A wrapper round any backend: nothing that is remembered is lost, unseen, or a credential.

Every write to a guarded path (memory, notes, skills) goes through the same steps under a lock: what
others did since is noted in the journal, the write is merged with it, credentials are refused,
instructions that came out of a tool wait for the user, and the change is entered in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import perform_string_replacement

from deepnb.backends.journal_file import JournalFile, is_journal
from deepnb.backends.writer import writer, writing
from deepnb.core.diff import FileDiff
from deepnb.core.gate import credentials, held_lines, is_directive, redact, refusal
from deepnb.core.journal import Entry, Origin, entry
from deepnb.core.merge import merge

Lock = Callable[[], AbstractContextManager[Any]]

RECORDS = ("/conversation_history/", "/large_tool_results/")
"""What the engine writes down by itself: credentials are redacted there."""

_MARK = "[redacted: "


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
        self.is_guarded = is_guarded
        self._facts = facts
        self._known: dict[str, str | None] = {}
        self._seen: dict[tuple[str | None, str], str] = {}
        self._numbers = 0

    # -- reading: passed on, and remembered as seen

    def ls(self, path: str) -> LsResult:
        found = self.inner.ls(path)
        if found.entries is not None:
            found = replace(found, entries=[e for e in found.entries if not is_journal(f"{e['path'].rstrip('/')}/")])
        return found

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        if self.is_guarded(file_path):
            self._saw(file_path, self._text(file_path))
        return self.inner.read(file_path, offset, limit)

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
        return self.inner.download_files(paths)

    # -- writing

    def write(self, file_path: str, content: str) -> WriteResult:
        if file_path.startswith(RECORDS):
            return self.inner.write(file_path, redact(content))
        if not self.is_guarded(file_path):
            problem = self._ask_about(file_path, content)
            return WriteResult(error=problem) if problem else self.inner.write(file_path, content)
        with self.root(file_path).lock():
            known = self._known.get(file_path)
            current = self._observed(file_path)
            base = self._seen.get((self._thread(), file_path)) if writer().origin == "agent" else known
            problem = self._put(file_path, current, content, base)
            return WriteResult(error=problem) if problem else WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        with self.root(file_path).lock():
            current = self._observed(file_path) if self.is_guarded(file_path) else self._text(file_path)
            edited = (
                perform_string_replacement(current, old_string, new_string, replace_all) if current is not None else ""
            )
            if current is None or isinstance(edited, str):
                return self.inner.edit(file_path, old_string, new_string, replace_all)
            text, count = edited
            if not self.is_guarded(file_path):
                problem = self._ask_about(file_path, text, current)
                return (
                    EditResult(error=problem)
                    if problem
                    else self.inner.edit(file_path, old_string, new_string, replace_all)
                )
            problem = self._put(file_path, current, text, current)
            return EditResult(error=problem) if problem else EditResult(path=file_path, occurrences=count)

    def delete(self, file_path: str) -> DeleteResult:
        gone = [file_path, *(m["path"] for m in self.inner.glob("**/*", file_path).matches or ())]
        paths = [p for p in dict.fromkeys(gone) if self.is_guarded(p)]
        with self.root(file_path).lock():
            before = {p: text for p in paths if (text := self._observed(p)) is not None}
            result = self.inner.delete(file_path)
            if not result.error:
                for path, text in before.items():
                    self._enter(FileDiff(path, text, None))
            return result

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        out: list[FileUploadResponse] = []
        for path, content in files:
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                out += self.inner.upload_files([(path, content)])
                continue
            if self.is_guarded(path):
                problem = self.write(path, text).error
                out.append(FileUploadResponse(path=path, error="permission_denied" if problem else None))
            else:
                out += self.inner.upload_files([(path, content)])
        return out

    # -- what the session asks for

    def root(self, path: str) -> Root:
        """The root a path belongs to: the longest prefix wins."""
        return next((r for r in self.roots if path.startswith(r.prefix)), self.roots[-1])

    def observe(self, paths: Iterable[str]) -> None:
        """Enter into the journal what others did to these files since we last looked."""
        for path in paths:
            with self.root(path).lock():
                self._observed(path)

    def saw(self, texts: Mapping[str, str]) -> None:
        """The current thread's model has just been shown these texts: the base of what it writes next."""
        self._seen.update(((self._thread(), path), text) for path, text in texts.items())

    def append(self, path: str, line: str) -> str | None:
        """Add a line to the end of a file, whatever others write meanwhile; gives the error, if any."""
        with self.root(path).lock():
            current = self._observed(path)
            if current is None and self.inner.download_files([path])[0].content is not None:
                return f"Error: not written to {path}: it is not UTF-8 text"
            gap = "" if not current or current.endswith("\n") else "\n"
            return self._put(path, current, f"{current or ''}{gap}{line}\n", current)

    def settle(self, held: Held, *, accept: bool) -> str | None:
        """Make a held change, merged with what came since, or throw it away; gives the error, if any."""
        problem = None
        if accept and not self.is_guarded(held.path):
            problem = self.inner.write(held.path, held.text).error
        elif accept:
            with self.root(held.path).lock(), writing(origin=held.origin, note=f"accepted {held.id}"):
                merged = merge(held.base, self._observed(held.path) or "", held.text)
                problem = self._store(held.path, merged.text)
        if problem is None:
            self.held.remove(held)
        return problem

    def rewire(self, inner: BackendProtocol, roots: Sequence[Root], *, forget_home: bool = False) -> None:
        """Stand in front of another backend from now on: something was mounted, or home has moved."""
        old = {r.prefix: r for r in self.roots if r.prefix != "/" or not forget_home}
        self.inner = inner
        self.roots = tuple(sorted((old.get(r.prefix, r) for r in roots), key=lambda r: -len(r.prefix)))
        self._known.clear()

    def drain(self) -> list[str]:
        """The lines the user should see, which are not shown again."""
        lines, self.notices = self.notices, []
        return lines

    def journal(self) -> tuple[Entry, ...]:
        """The entries of all roots, by time."""
        return tuple(sorted((e for r in self.roots for e in r.journal.entries), key=lambda e: e.at))

    def save(self) -> None:
        """Write the journal entries that waited for a run to end."""
        for root in self.roots:
            if root.journal.unsaved and (problem := root.journal.save()):
                self.notices.append(f"the journal can't be written ({problem}); it waits in the kernel")

    def forget(self) -> None:
        """Know nothing of any file any more: after a journal was rewritten."""
        self._known.clear()
        self._seen.clear()

    # -- the steps

    def _put(self, path: str, current: str | None, text: str, base: str | None) -> str | None:
        """Merge, check, store, enter; gives the reason where the write is refused or held."""
        merged = merge(base or "", current, text) if current is not None and base != current else None
        wanted = merged.text if merged else text
        added = _added_lines(current or "", wanted)
        if problem := _credential_in(added, path):
            return problem
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
        if merged and merged.conflicts:
            self.notices.append(
                f"{path} was changed by two at once: both texts stand in it, between <<<<<<< and >>>>>>>"
            )
        note = "" if merged is None else "merged" if not merged.conflicts else "conflict: both sides are kept"
        with writing(note=note or writer().note):
            return self._store(path, wanted)

    def _store(self, path: str, text: str) -> str | None:
        before = self._known.get(path)
        result = self.inner.write(path, text)
        if result.error:
            return str(result.error)
        self._enter(FileDiff(path, before, text))
        self._saw(path, text)
        return None

    def _enter(self, change: FileDiff, origin: Origin | None = None) -> None:
        """Enter a change into its root's journal, and take the text as known."""
        self._known[change.path] = change.after
        if change.before == change.after:
            return
        root, note = self.root(change.path), "" if origin else writer().note
        made = entry(change, id=root.journal.next_id(), origin=origin or writer().origin, note=note, **self._facts())
        root.journal.add(made)
        if root.may_save():
            self.save()

    def _observed(self, path: str) -> str | None:
        """The text of a file as it is now; a change that nobody told us of is entered as external."""
        root = self.root(path)
        if root.shared or path not in self._known:
            root.journal.read()
            self._known[path] = root.journal.text_of(path)
        text = self._text(path)
        if text != self._known[path]:
            self._enter(FileDiff(path, self._known[path], text), "external")
        return text

    def _text(self, path: str) -> str | None:
        """The text of a file; None where there is none, or where it is not text."""
        found = self.inner.download_files([path])[0]
        try:
            return None if found.content is None else found.content.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def _thread(self) -> str | None:
        return self._facts().get("thread")

    def _saw(self, path: str, text: str | None) -> None:
        if text is None:
            self._seen.pop((self._thread(), path), None)
        else:
            self._seen[self._thread(), path] = text

    def _ask_about(self, path: str, text: str, current: str = "") -> str | None:
        """An ordinary file is never altered: one that would hold a credential waits for the user."""
        if writer().origin != "agent" or is_journal(path):
            return None
        found = credentials("\n".join(_added_lines(current, text)))
        return self._hold(path, current, text, f"it would hold a {found[0].kind}", "agent") if found else None

    def _hold(self, path: str, base: str, text: str, why: str, origin: Origin) -> str:
        self._numbers += 1
        held = Held(f"p{self._numbers}", path, base, text, why, origin)
        self.held.append(held)
        self.notices.append(f"a change of {path} waits for you ({why}): %memory pending shows it")
        return f"Error: this change of {path} waits for the user to confirm it ({why}). Do not try it again; go on without it."


def _credential_in(added: Sequence[str], path: str) -> str | None:
    """Why these lines are refused, where they hold a credential or the mark of one that was redacted."""
    found = credentials("\n".join(added))
    if not found and not any(_MARK in line for line in added):
        return None
    why = refusal(found, path) if found else f"not written to {path}: a credential was taken out of this call"
    return f"Error: {why}" + ("; do not try again" if writer().origin == "agent" else "")


def _added_lines(before: str, after: str) -> list[str]:
    """The lines of `after` that `before` does not hold."""
    held = set(before.split("\n"))
    return [line for line in after.split("\n") if line not in held]
