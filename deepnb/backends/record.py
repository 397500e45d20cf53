"""Files as they are now, and the journal kept true to them: what somebody changed without telling is entered first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from threading import Lock
from typing import Any

from deepagents.backends.protocol import BackendProtocol

from deepnb.backends import locks
from deepnb.backends.journal import Entry, JournalFile, Origin, entry, is_journal
from deepnb.backends.merge import Conflict
from deepnb.backends.wrapper import WrapperBackend
from deepnb.backends.writer import writer
from deepnb.gate import redact
from deepnb.values.errors import BusyError, DeepnbError
from deepnb.values.files import FileDiff, utf8
from deepnb.values.lazy import nothing
from deepnb.values.text import in_turn

USER_READER = "user"
Reader = tuple[str | None, ...] | str
"""Thread and agent of a model; or the user, who knows what was displayed, in whichever thread."""


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
        return FileDiff(self.path, self.base or (None if not self.line else ""), self.text)


Facts = Callable[[], Mapping[str, Any]]
"""`at`, `thread`, `turn` and `cell` of the moment, as the journal keeps them."""


@dataclass(frozen=True)
class Root:
    """A place that has files of its own: the home of memory, the state of somebody else's graph, or a mount."""

    prefix: str
    journal: JournalFile
    lock: locks.Lock
    in_state: bool = False
    """Whether the files are in a thread's state, so that a rewind takes them back."""
    refresh: Callable[[], object] = nothing
    """Sees what another program wrote into the same state, before the files are read."""


class Record(WrapperBackend):
    """What is known of the files of a backend, and what waits for the user. `_observe_file` and `_enter` need the root's lock."""

    def __init__(
        self,
        inner: BackendProtocol,
        roots: Sequence[Root],
        is_guarded: Callable[[str], bool],
        facts: Facts,
        tell: Callable[[], None] = nothing,
    ) -> None:
        """`is_guarded` says whether a file is memory, a note or a skill; `tell` is called after each change that is entered."""
        super().__init__(inner)
        self.roots = _longest_first(roots)
        self.is_guarded = lambda path: is_guarded(path) and not is_journal(path)
        self.runs = 0
        """How many runs have ended: a tool that comes back after that writes nothing any more."""
        self.held_changes: list[HeldChange] = []
        self.notices: list[str] = []
        """Lines the user should see; whoever shows them empties the list."""
        self._facts, self._tell = facts, tell
        self._held = 0
        """How many changes were ever held, which numbers them."""
        self._seen: dict[tuple[Reader, str], str | None] = {}
        """The texts as they were last read or written, by reader: the base of what it writes next."""
        self._known: dict[str, str | None] = {}
        """path -> text, credentials masked, as the journal tells it."""
        self._naming, self._named = Lock(), set[str]()
        """Files of results in this run, which the backend may not show yet."""
        self._again: Mapping[str, str] | None = None
        """The texts before the turn of which a step that was cut is run again."""

    def root(self, path: str) -> Root:
        """Return the root a path belongs to: the longest prefix wins."""
        return next((r for r in self.roots if path.startswith(r.prefix)), self.roots[-1])

    def _text(self, path: str) -> str | None:
        return utf8(self.inner.download_files([path])[0].content)

    def _is_binary(self, path: str) -> bool:
        return self._text(path) is None and self.inner.download_files([path])[0].content is not None

    def _last_read(self, path: str, unknown: str | None = None) -> str | None:
        """Return the text of a file as whoever writes just now knows it; None where it saw none, `unknown` if it never looked."""
        return self._seen.get((self._reader(), path), unknown)

    def _see(self, path: str, text: str | None) -> None:
        reader = self._reader()
        if text is None and reader != USER_READER:  # a file that a model did not find is as good as never looked for
            self._seen.pop((reader, path), None)
        else:
            self._seen[reader, path] = text

    def _reader(self) -> Reader:
        return self._model() if writer().origin == "agent" else USER_READER

    def _model(self) -> Reader:
        return self._facts().get("thread"), *writer().agent

    def mark_read(self, texts: Mapping[str, str]) -> None:
        """The current thread's model has just been shown these texts: the base of what it writes next."""
        model = self._model()
        self._seen.update(((model, path), text) for path, text in texts.items())

    def hold(self, path: str, base: str, text: str, why: str, origin: Origin) -> str:
        """Keep a change back; return the words for whoever wanted to make it."""
        if not any((one.path, one.base, one.text) == (path, base, text) for one in self.held_changes):
            self._add_held(path, base, text, why, origin)
            self.notices.append(f"a change to {path} needs your approval ({why}): %memory pending shows it")
        return f"Error: this change of {path} waits for the user to confirm it ({why}). Do not try it again; go on without it."

    def _add_held(self, path: str, base: str, text: str, why: str, origin: Origin, line: str = "") -> None:
        self._held += 1
        self.held_changes.append(HeldChange(f"p{self._held}", path, base, text, why, origin, line))

    def _notice(self, line: str) -> None:
        if line not in self.notices:
            self.notices.append(line)

    def drain(self) -> list[str]:
        """Return the lines the user should see, which are not shown again."""
        lines, self.notices = self.notices, []
        return lines

    def observe(self, paths: Iterable[str]) -> None:
        """Enter into the journal what others did to these files, and to those it tells of, since we last looked."""
        for root in self.roots:
            root.refresh()
            root.journal.read()
        for path in dict.fromkeys((*paths, *(e.path for e in self.journal()))):
            try:
                with self.root(path).lock():
                    self._observe_file(path)
            except DeepnbError as error:  # a place that can only be read: there is nobody to note it
                self._notice(str(error))

    def _observe_file(self, path: str, *, origin: Origin = "external", note: str = "") -> str | None:
        """Return the text of a file as it is now; a change that nobody told us of is entered as external."""
        if writer().run not in (None, self.runs):
            raise BusyError(f"not written to {path}: the turn has ended")
        root = self.root(path)
        root.refresh()
        root.journal.read()
        self._known[path] = known = root.journal.text_of(path)
        if (text := self._text(path)) != known and (text is None or redact(text) != known):
            self._enter(path, text, origin, note)
        return text

    def _enter(
        self, path: str, text: str | None, origin: Origin | None = None, note: str = "",
        *, conflicts: tuple[Conflict, ...] = (), settles: str = "",
    ) -> None:  # fmt: skip
        before, after = self._known.get(path), None if text is None else redact(text)
        self._known[path] = after
        if before == after and not conflicts and not settles:
            return
        root, reason = self.root(path), note if origin else writer().note
        id_, words, by = root.journal.next_id(), redact(reason), origin or writer().origin
        more: dict[str, Any] = {"conflicts": conflicts, "settles": settles, **self._facts()}
        made = entry(FileDiff(redact(path), before, after), id=id_, origin=by, note=words, **more)
        root.journal.unsaved.append(made)
        self._save(root)
        self._tell()

    def journal(self) -> tuple[Entry, ...]:
        """Return the entries of all roots: each root's in the order of its journal, of what is its own as things are mounted now."""
        mine = ([e for e in r.journal.entries if self.root(e.path) is r] for r in self.roots)
        return tuple(in_turn(mine, attrgetter("at")))

    def restored(self, note: str) -> None:
        """A thread was taken back to an earlier state, and the files in it: enter that as the user's doing."""
        self._seen.clear()
        for root in self.roots:
            if root.in_state:
                for path in dict.fromkeys((*self._known, *(e.path for e in root.journal.entries))):
                    if self.root(path) is root:
                        self._observe_file(path, origin="user", note=note)

    def rewire(self, inner: BackendProtocol, roots: Sequence[Root], *, forget_home: bool = False) -> None:
        """Stand in front of another backend from now on; what is home keeps its journal, whose entries may wait."""
        home = {r.prefix: r for r in self.roots if r.in_state or r.prefix == "/"}
        if forget_home:
            home.pop("/", None)
        self.inner = inner
        self.roots = _longest_first(home.get(r.prefix, r) for r in roots)
        self._known.clear()

    def forget(self) -> None:
        """Know nothing of any file any more: after a journal was rewritten."""
        self._known.clear()
        self._seen.clear()

    def _save(self, *roots: Root) -> None:
        for root in roots:
            if root.journal.unsaved and (problem := root.journal.save()):
                self._notice(f"the journal can't be written ({problem}); it is kept in the kernel for now")


def _longest_first(roots: Iterable[Root]) -> tuple[Root, ...]:
    return tuple(sorted(roots, key=lambda root: -len(root.prefix)))
