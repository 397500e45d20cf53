"""Files as they are now, and the journal kept true to them.

The journal tells a text for each path. Where the file differs, somebody changed it without telling,
and that is entered first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deepagents.backends.protocol import BackendProtocol, FileDownloadResponse

from deepnb.backends.journal import Entry, JournalFile, Origin, entry
from deepnb.backends.locks import Lock
from deepnb.backends.merge import Conflict
from deepnb.backends.writer import writer
from deepnb.gate import redact
from deepnb.values.errors import BusyError, DeepnbError
from deepnb.values.files import FileDiff
from deepnb.values.text import in_turn

# -- what each writer knows of each file: the base of what it writes next


_USER = "user"
Reader = tuple[str | None, ...] | str
"""Thread and agent of a model; or the user, who knows what was displayed, in whichever thread."""


class LastRead:
    """The texts as they were last read or written, by reader."""

    def __init__(self, facts: Callable[[], Mapping[str, Any]]) -> None:
        self._facts = facts
        self._texts: dict[tuple[Reader, str], str | None] = {}

    def text(self, path: str, unknown: str | None = None) -> str | None:
        """The text of a file as whoever writes just now knows it; None where it saw none, `unknown` if it never looked."""
        return self._texts.get((self._reader(), path), unknown)

    def set(self, path: str, text: str | None) -> None:
        """Whoever writes just now knows this text."""
        reader = self._reader()
        if text is None and reader != _USER:  # a file that a model did not find is as good as never looked for
            self._texts.pop((reader, path), None)
        else:
            self._texts[reader, path] = text

    def show_model(self, texts: Mapping[str, str]) -> None:
        """The current thread's model has just been shown these texts."""
        model = self._model()
        self._texts.update(((model, path), text) for path, text in texts.items())

    def show_user(self, texts: Mapping[str, str | None]) -> None:
        """These texts were displayed; None where there is no such file."""
        self._texts.update(((_USER, path), text) for path, text in texts.items())

    def correct(self, path: str, text: str) -> None:
        """The file turned out to be this, whatever was said to the models that know of it."""
        for key in [k for k in self._texts if k[-1] == path and k[0] != _USER]:
            self._texts[key] = text

    def clear(self) -> None:
        """Nobody has seen anything."""
        self._texts.clear()

    def _reader(self) -> Reader:
        return self._model() if writer().origin == "agent" else _USER

    def _model(self) -> Reader:
        return self._facts().get("thread"), *writer().agent


# -- what waits for the user: changes to confirm, and lines to be shown


@dataclass(frozen=True)
class HeldChange:
    """A change that waits for the user: from `base` to `text`, and why."""

    id: str
    path: str
    base: str
    text: str
    why: str
    origin: Origin
    line: str = ""
    """Of a line that is offered: it goes to the end of the file, whatever stands there by then."""

    @property
    def change(self) -> FileDiff:
        """Give the change that it would make."""
        return FileDiff(self.path, self.base or (None if not self.line else ""), self.text)


class HeldChanges:
    """Changes that were not made until the user says so, and notices not yet shown."""

    def __init__(self) -> None:
        self.changes: list[HeldChange] = []
        self.notices: list[str] = []
        """Lines the user should see; whoever shows them empties the list."""
        self._numbers = 0

    def hold(self, path: str, base: str, text: str, why: str, origin: Origin) -> str:
        """Keep a change back; gives the words for whoever wanted to make it."""
        if not any((one.path, one.base, one.text) == (path, base, text) for one in self.changes):
            self._numbers += 1
            self.changes.append(HeldChange(f"p{self._numbers}", path, base, text, why, origin))
            self.notices.append(f"a change to {path} needs your approval ({why}): %memory pending shows it")
        return f"Error: this change of {path} waits for the user to confirm it ({why}). Do not try it again; go on without it."

    def offer(self, path: str, line: str, why: str) -> None:
        """Hold a line of somebody else's memory."""
        self._numbers += 1
        self.changes.append(HeldChange(f"p{self._numbers}", path, "", f"{line}\n", why, "external", line))

    def notice(self, line: str) -> None:
        """Show a line, once."""
        if line not in self.notices:
            self.notices.append(line)

    def drain(self) -> list[str]:
        """The lines the user should see, which are not shown again."""
        lines, self.notices = self.notices, []
        return lines


BOTH = "conflict: both sides are kept"

Facts = Callable[[], Mapping[str, Any]]
"""`at`, `thread`, `turn` and `cell` of the moment, as the journal keeps them."""


@dataclass(frozen=True)
class Root:
    """A place that has files of its own: the home of memory, the state of somebody else's graph, or a mount."""

    prefix: str
    journal: JournalFile
    lock: Lock
    in_state: bool = False
    """Whether the files are in a thread's state, so that a rewind takes them back."""
    refresh: Callable[[], object] = lambda: None
    """Sees what another program wrote into the same state, before the files are read."""


class Record:
    """What is known of the files of a backend. Whoever calls `observe_file` or `enter` holds the root's lock."""

    def __init__(
        self,
        inner: BackendProtocol,
        roots: Sequence[Root],
        facts: Facts,
        last_read: LastRead,
        held_changes: HeldChanges,
        tell: Callable[[], None] = lambda: None,
    ) -> None:
        """`tell` is called after each change that is entered."""
        self.inner = inner
        self.roots = _longest_first(roots)
        self.runs = 0
        """How many runs have ended: a tool that comes back after that writes nothing any more."""
        self._facts = facts
        self._tell = tell
        self._last_read = last_read
        self._held_changes = held_changes
        self._known: dict[str, str | None] = {}
        """path -> text, credentials masked, as the journal tells it."""

    # -- the texts

    def root(self, path: str) -> Root:
        """The root a path belongs to: the longest prefix wins."""
        return next((r for r in self.roots if path.startswith(r.prefix)), self.roots[-1])

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if it does not exist or is not text."""
        return _decoded(self.inner.download_files([path])[0])

    def is_binary(self, path: str) -> bool:
        """Whether there is a file that is not UTF-8 text."""
        found = self.inner.download_files([path])[0]
        return found.content is not None and _decoded(found) is None

    # -- what others did, what we did

    def observe(self, paths: Iterable[str]) -> None:
        """Enter into the journal what others did to these files, and to those it tells of, since we last looked."""
        for root in self.roots:
            root.refresh()
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
        root.refresh()
        root.journal.read()
        self._known[path] = known = root.journal.text_of(path)
        text = self.text(path)
        if text != known and (text is None or redact(text) != known):
            self.enter(path, text, origin, note)
        return text

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
        self._save(root)
        self._tell()

    def entries(self) -> tuple[Entry, ...]:
        """The entries of all roots: each root's in the order of its journal, of what is its own as things are mounted now."""
        mine = ([e for e in r.journal.entries if self.root(e.path) is r] for r in self.roots)
        return tuple(in_turn(mine, lambda e: e.at))

    # -- a run, a rewind, another backend

    def end_run(self) -> None:
        """A run has ended: write the journal entries that could not be written."""
        self.runs += 1
        self._save(*self.roots)

    def restored(self, note: str) -> None:
        """A thread was taken back to an earlier state, and the files in it: enter that as the user's doing."""
        self._last_read.clear()
        for root in self.roots:
            if root.in_state:
                for path in dict.fromkeys((*self._known, *(e.path for e in root.journal.entries))):
                    if self.root(path) is root:
                        self.observe_file(path, origin="user", note=note)

    def rewire(self, inner: BackendProtocol, roots: Sequence[Root], *, forget_home: bool = False) -> None:
        """Stand in front of another backend from now on: something was mounted, or home has moved.

        What is home keeps its journal, whose entries may wait; another directory at the same path has its own.
        """
        home = {r.prefix: r for r in self.roots if r.in_state or r.prefix == "/"}
        if forget_home:
            home.pop("/", None)
        self.inner = inner
        self.roots = _longest_first(home.get(r.prefix, r) for r in roots)
        self._known.clear()

    def forget(self) -> None:
        """Know nothing of any file any more: after a journal was rewritten."""
        self._known.clear()
        self._last_read.clear()

    # -- steps of these

    def _save(self, *roots: Root) -> None:
        for root in roots:
            if root.journal.unsaved and (problem := root.journal.save()):
                self._held_changes.notice(f"the journal can't be written ({problem}); it is kept in the kernel for now")


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
