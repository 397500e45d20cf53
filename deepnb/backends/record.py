"""Files as they are now, and the journal kept true to them.

The journal tells a text for each path. Where the file differs, somebody changed it without telling,
and that is entered first. The kernel's own state is harder: within a run its channels lag behind what
was written, and a run that is cut short drops writes whose entries are already here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deepagents.backends.protocol import BackendProtocol, FileDownloadResponse

from deepnb.backends.held_changes import HeldChanges
from deepnb.backends.journal_file import JournalFile
from deepnb.backends.last_read import LastRead
from deepnb.backends.locks import Lock
from deepnb.backends.unread_writes import UnreadWrites
from deepnb.backends.writer import writer
from deepnb.core.clock import in_turn
from deepnb.core.diff import FileDiff
from deepnb.core.errors import BusyError, DeepnbError
from deepnb.core.journal import DoesNotFit, Entry, Origin, entry
from deepnb.core.merge import Conflict
from deepnb.core.secrets import redact

BOTH = "conflict: both sides are kept"

Facts = Callable[[], Mapping[str, Any]]
"""`at`, `thread`, `turn` and `cell` of the moment, as the journal keeps them."""


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
    refresh: Callable[[], bool] = lambda: False
    """Sees what another session wrote into the same state; whether there may be such a session, and no run goes on."""


class Record:
    """What is known of the files of a backend. Whoever calls `observe_file` or `enter` holds the root's lock."""

    def __init__(
        self,
        inner: BackendProtocol,
        roots: Sequence[Root],
        facts: Facts,
        last_read: LastRead,
        held_changes: HeldChanges,
    ) -> None:
        self.inner = inner
        self.roots = _longest_first(roots)
        self.runs = 0
        """How many runs have ended: a tool that comes back after that writes nothing any more."""
        self._facts = facts
        self._last_read = last_read
        self._held_changes = held_changes
        self._known: dict[str, str | None] = {}
        """path -> text, credentials masked, as the journal tells it."""
        self._unread = UnreadWrites()
        self._cut: list[Entry] = []
        """Changes of an interrupted run that did not reach its state; some may yet, when it is resumed."""
        self._disagreed: dict[str, tuple[Conflict, ...]] = {}
        """Conflicts of files that threads have in common, which no entry names yet."""

    # -- the texts

    def root(self, path: str) -> Root:
        """The root a path belongs to: the longest prefix wins."""
        return next((r for r in self.roots if path.startswith(r.prefix)), self.roots[-1])

    def text(self, path: str) -> str | None:
        """The text of a file; None if it does not exist or is not text."""
        raw = self.raw(path)
        return raw if self.root(path).may_save() else self._unread.text(path, raw)

    def raw(self, path: str) -> str | None:
        """The text as the backend gives it, which within a run may be older than what was written."""
        return _decoded(self.inner.download_files([path])[0])

    def is_binary(self, path: str) -> bool:
        """Whether there is a file that is not UTF-8 text."""
        found = self.inner.download_files([path])[0]
        return found.content is not None and _decoded(found) is None

    def newest_text(self, path: str, text: str | None) -> str | None:
        """A text of a file, or the one that was written in its place since."""
        return self._unread.text(path, text)

    def newest(self, found: FileDownloadResponse) -> FileDownloadResponse:
        """A file as it was read, or as it was written since."""
        if found.path not in self._unread.paths() or self.root(found.path).may_save():
            return found
        raw = _decoded(found)
        text = self._unread.text(found.path, raw)
        if text == raw:
            return found
        if text is None:
            return FileDownloadResponse(path=found.path, error="file_not_found")
        return FileDownloadResponse(path=found.path, content=text.encode())

    def has_unread(self, directory: str) -> bool:
        """Whether a file below a directory was written that the backend may not show yet."""
        return any(path.startswith(directory) for path in self._unread.paths())

    def known(self, path: str) -> tuple[bool, str | None]:
        """Whether the file was looked at before, and its text then, credentials masked."""
        return path in self._known, self._known.get(path)

    # -- what others did, what we did

    def observe(self, paths: Iterable[str]) -> None:
        """Enter into the journal what others did to these files, and to those it tells of, since we last looked."""
        for root in self.roots:
            if root.shared or root.refresh() or not root.journal.entries:
                root.journal.read()
        for path in dict.fromkeys((*paths, *(e.path for e in self.entries()))):
            try:
                with self.root(path).lock():
                    self.observe_file(path)
            except DeepnbError as error:  # a place that can only be read: there is nobody to note it
                self._held_changes.notice(str(error))

    def observe_file(self, path: str, *, origin: Origin = "external", note: str = "") -> str | None:
        """The text of a file as it is now; a change that nobody told us of is entered as external."""
        if writer().run not in (None, self.runs):
            raise BusyError(f"not written to {path}: the turn has ended")
        root = self.root(path)
        others = root.shared or root.refresh()
        if others or path not in self._known:
            if others or not root.journal.entries:  # what is ours alone may not be in a run's channels yet
                root.journal.read()
            self._known[path] = root.journal.text_of(path)
        text, known = self.text(path), self._known[path]
        if self._disagreed.get(path):
            self.enter(path, text, origin, note or BOTH, conflicts=self._disagreed.pop(path))
        elif text != known and (text is None or redact(text) != known) and not self._enter_resumed(root, path, text):
            self.enter(path, text, origin, note)
        return text

    def disagree(self, path: str, conflicts: tuple[Conflict, ...]) -> None:
        """A file was merged by threads and has both texts of these conflicts: to be entered as it is next looked at."""
        hidden = redacted(conflicts)
        self._disagreed[path] = (*self._disagreed.get(path, ()), *hidden)
        for conflict in hidden:
            self._held_changes.notice(conflict_notice(path, conflict))

    def wrote(self, path: str, raw: str | None, text: str | None) -> None:
        """We wrote `text` where `raw` was read."""
        if not self.root(path).shared:
            self._unread.add(path, raw, text)

    def enter(
        self,
        path: str,
        text: str | None,
        origin: Origin | None = None,
        note: str = "",
        *,
        conflicts: tuple[Conflict, ...] = (),
        settles: str = "",
    ) -> None:
        """Enter a change into its root's journal, and take the text as known."""
        before, after = self._known.get(path), None if text is None else redact(text)
        self._known[path] = after
        if before == after and not conflicts and not settles:
            return
        root, reason = self.root(path), note if origin else writer().note
        made = entry(
            FileDiff(redact(path), before, after),
            id=root.journal.next_id(),
            origin=origin or writer().origin,
            note=redact(reason),
            conflicts=conflicts,
            settles=settles,
            **self._facts(),
        )
        root.journal.add(made)
        if root.may_save():
            self._save(root)

    def entries(self) -> tuple[Entry, ...]:
        """The entries of all roots: each root's in the order of its journal, of what is its own as things are mounted now."""
        mine = ([e for e in r.journal.entries if self.root(e.path) is r] for r in self.roots)
        return tuple(in_turn(mine, lambda e: e.at))

    # -- a run, a rewind, another backend

    def begin_run(self) -> None:
        """A new turn begins: all that was written can be read."""
        self._unread.clear()

    def end_run(self, *, whole: bool) -> None:
        """A run has ended: write the journal entries that waited for it.

        Entries of changes that never reached the run's state are taken out; they are entered when the
        run is resumed and its state shows them. A `whole` run reached its end: all it wrote is there.
        """
        self.runs += 1
        for root in self.roots:
            if not root.shared:
                with root.lock():
                    self._settle_run(root, whole)
        self._unread.clear()
        self._save(*self.roots)

    def restored(self, note: str) -> None:
        """Files were taken back to an earlier state: enter that as the user's doing, and keep the journal."""
        self._unread.clear()
        self._cut.clear()
        self._last_read.clear()
        for root in self.roots:
            if not root.shared:
                for path in dict.fromkeys((*self._known, *(e.path for e in root.journal.entries))):
                    if self.root(path) is root:
                        self.observe_file(path, origin="user", note=note)
                root.journal.keep()

    def rewire(self, inner: BackendProtocol, roots: Sequence[Root], *, forget_home: bool = False) -> None:
        """Stand in front of another backend from now on: something was mounted, or home has moved.

        What is home keeps its journal, whose entries may wait; another directory at the same path has its own.
        """
        home = {r.prefix: r for r in self.roots if not r.shared or r.prefix == "/"}
        if forget_home:
            home.pop("/", None)
        self.inner = inner
        self.roots = _longest_first(home.get(r.prefix, r) for r in roots)
        self._known.clear()
        self._unread.clear()

    def forget(self) -> None:
        """Know nothing of any file any more: after a journal was rewritten."""
        self._known.clear()
        self._last_read.clear()

    # -- steps of these

    def _save(self, *roots: Root) -> None:
        for root in roots:
            if root.journal.unsaved and (problem := root.journal.save()):
                self._held_changes.notice(f"the journal can't be written ({problem}); it is kept in the kernel for now")

    def _enter_resumed(self, root: Root, path: str, text: str | None) -> bool:
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
            raw = self.raw(path)
            text = self._unread.text(path, raw)
            if whole and text is not None and text != raw:  # written side by side, and told in another order
                self.inner.write(path, text)
            elif whole and text != raw:
                self.inner.delete(path)
            else:
                now = None if raw is None else redact(raw)
                if now != self._known.get(path):
                    self._take_out(journal, path, now)
                    self._last_read.correct(path, raw or "")

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


def redacted(conflicts: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """The conflicts with credentials masked, as the journal has them."""
    return tuple(replace(c, kept=redact(c.kept), written=redact(c.written)) for c in conflicts)


def conflict_notice(path: str, conflict: Conflict) -> str:
    """A conflict as the footer has it."""
    return f"conflict in {path}, {conflict} (%memory lists conflicts)"


def _longest_first(roots: Iterable[Root]) -> tuple[Root, ...]:
    return tuple(sorted(roots, key=lambda r: -len(r.prefix)))


def _decoded(found: FileDownloadResponse) -> str | None:
    try:
        return None if found.content is None else found.content.decode("utf-8")
    except UnicodeDecodeError:
        return None
