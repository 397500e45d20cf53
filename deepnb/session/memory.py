"""What the user does with the agent's memory: read, add, write, compare, forget, promote notes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from deepnb.backends.journal import Entry, OpenConflict, entry, open_conflicts, text_after
from deepnb.backends.merge import Merged, merge
from deepnb.backends.writer import writing
from deepnb.context.history import PREFIX
from deepnb.context.transcript import spoken
from deepnb.gate import redact
from deepnb.memory.daily import MOST, addition, candidates
from deepnb.memory.layers import ALWAYS, LONG_TERM, layers, note_day, note_path
from deepnb.running.sources import AGENT, Places, Sources, paths, paths_of, source, with_source, without_source
from deepnb.running.workspace import Workspace
from deepnb.session.part import Part, refused
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.files import (
    FileDiff,
    Occurrences,
    blot_out,
    check_path,
    disk_path,
    file_diffs,
    make_folder,
    pattern,
    without,
)
from deepnb.values.text import as_word
from deepnb.values.turn import Snapshot, Turn

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.backends.guarded import GuardedBackend
    from deepnb.backends.record import HeldChange, Root
    from deepnb.memory.daily import Candidate
    from deepnb.running.storage import Storage
    from deepnb.search import Hit


_TRANSCRIPT = "transcript of "
LARGEST = 10_000_000
"""Bytes of a file that is loaded."""


@dataclass(frozen=True)
class Promotion:
    """What could be promoted, numbered from 1, and what the chosen ones would change, or have changed."""

    candidates: tuple[Candidate, ...]
    chosen: tuple[int, ...]
    change: FileDiff | None
    written: bool = False


class SessionMemory(Part):
    """The memory files of a session. Writes go through the same backend as the agent's own."""

    # What a picture says of each file where it is not known what the prompt has of it.
    known_state: ClassVar[Literal["edited"] | None] = None

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._copies: dict[Path, str] = {}
        """File of the disk -> text as it was last loaded from it or saved to it."""
        self._proposed: tuple[Storage, tuple[Candidate, ...]] | None = None
        """What `promote` proposed last, and of whose notes."""

    @property
    def _guard(self) -> GuardedBackend:
        return self._workspace.backend

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the memory files, in the order in which they are injected."""
        return self._workspace.options.memory

    @property
    def layers(self) -> tuple[str, ...]:
        """Paths of what is injected now in a thread like the current one, in order, whether or not the files exist."""
        found = layers(self.sources, self._workspace.current.now()[:10])
        return tuple(filter(self._workspace.thread.scope.may_read, found))

    @property
    def today(self) -> str:
        """The path of today's note."""
        return note_path(self._workspace.current.now())

    @property
    def shown(self) -> tuple[str, ...]:
        """The sources, and the other layers that exist: what is injected, in order."""
        files = self._workspace.snapshot.files
        return tuple(p for p in self.layers if p in self.sources or p in files)

    def shares(self) -> dict[str, tuple[int, int]]:
        """path -> (tokens in the prompt, tokens of the file), of the files that are longer than there is room for."""
        from deepnb.wiring.requests import memory_shares

        work = self._workspace
        with suppress(DeepnbError):  # a file that can't be read, which the next turn will say
            if work.options.graph is None:
                return memory_shares(work.built, work.state.last_values(work.thread))
        return {}

    def text(self) -> str:
        """The memory files that exist, each under its path."""
        files = self._files
        return "\n\n".join(f"{path}\n\n{files[path]}" for path in self.layers if path in files)

    def daily(self, text: str | None = None) -> str:
        """Today's note; with `text`, each line of it is added first, under the time."""
        at = self._workspace.current.now()
        path = note_path(at)
        note = self._files.get(path, "")
        if text is None:
            return note
        if not (added := addition(note, at, text.splitlines())):
            raise InvalidError("nothing to note", "%memory daily TEXT")
        if problem := self._guard.append(path, added, typed=text):
            raise refused(path, problem)
        return self._files[path]

    def search(self, query: str, k: int | None = None, *, transcripts: bool = False, **how: Any) -> pd.DataFrame:
        """The best passages of notes and MEMORY.md, and of transcripts when asked: a row each, best first.

        As many as fit into 2,000 tokens (`tokens`), or the best `k`, which share them: what the agent's tool gives.
        Columns: path, start, end (lines from 1), leg, score, heading, text. `how` are the other arguments of
        `deepnb.search.Index.search`, such as `fusion="weight"`. A shared thread finds nothing of
        MEMORY.md, nor of the transcripts of threads that are not shared.
        """
        import pandas as pd

        names = ["path", "start", "end", "leg", "score", "heading", "text"]
        found = self.search_hits(query, k, transcripts=transcripts, **how)
        return pd.DataFrame([[getattr(hit, name) for name in names] for hit in found], columns=names)

    @property
    def embedding(self) -> str:
        """Which embedder takes part in the search, and what it costs; empty without one."""
        return self._workspace.home.storage.search.embedding() if self._workspace.current.options.embeddings else ""

    def search_hits(
        self, query: str, k: int | None = None, *, transcripts: bool = False, **how: Any
    ) -> tuple[Hit, ...]:
        """Find what `search` finds, as `deepnb.search.Hit`s."""
        if not query.strip():
            raise InvalidError("the query is empty", "%memory search QUERY")
        if k is not None and k < 1:
            raise InvalidError(f"k can't be {k}", "give a whole number above 0")
        from deepnb.memory.guarding import ScopedBackend
        from deepnb.memory.searching import TRANSCRIPTS

        work = self._workspace
        backend = ScopedBackend(self._guard, lambda: work.thread.scope)
        names = work.threads.readable() if transcripts else ()
        texts = {f"{TRANSCRIPTS}{name}": spoken(work.transcripts.keep(name).read()[0]) for name in names}
        search = work.home.storage.search
        found = search.search(
            search.texts(backend), query, work.current.now(), k, transcripts=texts, may_read=backend.may_read, **how
        )
        return tuple(
            replace(hit, text="\n".join(line for line in hit.text.split("\n") if line)) if hit.path in texts else hit
            for hit in found
        )

    def promote(self, *numbers: int, yes: bool = False) -> Promotion:
        """Entries of the daily notes that are worth keeping, and what writing them to MEMORY.md would change.

        Without `yes` nothing is written. `numbers` count from 1 in the proposal last given; without them all of
        it is meant. What was not proposed can't be confirmed.
        """
        work, place = self._workspace, self._workspace.home.storage
        known, files = self._proposed if self._proposed and self._proposed[0] is place else None, self._files
        if yes and known is None:
            raise NotFoundError("nothing is proposed yet", "%memory promote proposes entries to keep")
        notes, today = {p: files[p] for p in work.home.memory_paths() if note_day(p)}, work.current.now()[:10]
        if known is None or not (numbers or yes):
            if not work.thread.scope.whole:
                raise RefusedError(f"{LONG_TERM} is not available in a shared thread", "%agent switch main")
            found = candidates(notes, place.search.recalls.of(notes), files.get(LONG_TERM, ""), today)
            known = self._proposed = (place, found[:MOST])
        proposed = known[1]
        if strange := [n for n in numbers if not 1 <= n <= len(proposed)]:
            there = f"choose from 1 to {len(proposed)}" if proposed else "nothing is proposed"
            raise NotFoundError(f"no entry {strange[0]}: {there}", "%memory promote shows them")
        chosen = tuple(dict.fromkeys(numbers)) or tuple(range(1, len(proposed) + 1))
        before = files.get(LONG_TERM)
        fresh = {c.line for c in candidates(notes, {}, before or "", today)}
        lines = [c.line for c in (proposed[n - 1] for n in chosen) if c.line in fresh]
        if yes and len(lines) < len(chosen):
            raise BusyError("the notes or MEMORY.md changed since the proposal", "%memory promote proposes again")
        if not lines:
            return Promotion(proposed, chosen, None)
        text = "\n".join(lines)
        if yes:
            with writing(note="promoted"):
                problem = self._guard.append(LONG_TERM, text)
            if problem:
                raise refused(LONG_TERM, problem)
            return Promotion(proposed, chosen, FileDiff(LONG_TERM, before, files[LONG_TERM]), written=True)
        gap = "" if not before or before.endswith("\n") else "\n"
        return Promotion(proposed, chosen, FileDiff(LONG_TERM, before, f"{before or ''}{gap}{text}\n"))

    def add(self, text: str, path: str | None = None) -> str:
        """Append a line to a memory file (the first source, if not given), as a bullet; gives its path."""
        path = check_path(path or self.sources[0])
        line = " ".join(text.split())
        if not line.startswith(("- ", "* ", "#")):
            line = f"- {line}"
        if problem := self._guard.append(path, line, typed=text):
            raise refused(path, problem)
        return path

    def remove(self, path: str) -> None:
        """Remove a memory file; the journal keeps what it held."""
        self.read(path)
        if problem := self._guard.delete(path).error:
            raise refused(path, problem)

    def log(self) -> pd.DataFrame:
        """The journal, newest last: one row per change of a memory, note or skill file."""
        from deepnb.session.tables import journal

        return journal(self.log_entries())

    def log_entries(self) -> tuple[Entry, ...]:
        """The journal's entries, oldest first; what others changed meanwhile is looked for first."""
        storage = self._workspace.home.storage
        for where in filter(None, (storage.kept, *(m.where for m in storage.mounts.values() if m.kind == "disk"))):
            if os.path.lexists(where) and not os.path.isdir(where):
                raise InvalidError(f"{where} is not a directory any more", "make it one again, or %memory keep DIR")
        self._guard.observe(self.paths())
        return self._guard.journal()

    def entry(self, id_: str | int) -> Entry:
        """One entry of the journal."""
        found = next((e for e in self.log_entries() if e.id == str(id_)), None)
        if found is None:
            raise NotFoundError(f"no change {id_!r} in the journal", "%memory log lists them")
        return found

    def revert(self, id_: str | int) -> str:
        """Revert one change and keep the later ones; returns the file's path. The revert is an entry, too."""
        one = self.entry(id_)
        after = text_after(one, self.log_entries())
        before = one.before(after) or ""
        current = self._files.get(one.path)
        empties = one.created and merge(after or "", current or "", before).text == ""
        with writing(note=f"revert of {id_}"):
            if not empties:
                self._merged(one.path, before, after or "")
            elif current is not None and (problem := self._guard.delete(one.path).error):
                raise refused(one.path, problem)
        return one.path

    def why(self, text: str) -> pd.DataFrame:
        """Where a line of memory comes from: file, line and the entry that brought it, for lines that hold `text` in whatever case."""
        import pandas as pd

        if not (sought := text.casefold().strip()):
            raise InvalidError("the query is empty", "type some words")
        rows, entries = [], self.log_entries()[::-1]
        for path in self.paths():
            for number, line in enumerate(self._files.get(path, "").split("\n"), 1):
                if sought in line.casefold():
                    brought = (e for e in entries if e.path == path and f"+{line}" in e.diff.split("\n"))
                    last = next(((e.at, e.turn, e.origin, e.id) for e in brought), ("", None, "", ""))
                    rows.append((line, path, number, *last))
        names = ["text", "path", "line", "at", "turn", "origin", "entry"]
        return pd.DataFrame(rows, columns=names).astype({"turn": "Int64"})

    def pending(self) -> tuple[HeldChange, ...]:
        """Changes that need the user's approval."""
        return tuple(self._guard.held_changes)

    def conflicts(self) -> tuple[OpenConflict, ...]:
        """Where two writers disagree and nobody has changed either text since."""
        return open_conflicts(self.log_entries())

    def keep_both(self, id_: str) -> tuple[OpenConflict, ...]:
        """Settle the conflicts of a journal entry by keeping the file as it is; returns them."""
        found = tuple(c for c in self.conflicts() if c.id == id_)
        if not found:
            raise NotFoundError(f"change {id_!r} has no open conflict", "%memory lists conflicts")
        self._guard.keep_both(found[0].path, id_)
        self._workspace.current.tell()
        return found

    def accept(self, id_: str) -> HeldChange:
        """Approve a pending change and apply it."""
        return self._settle(id_, accept=True)

    def drop(self, id_: str) -> HeldChange:
        """Discard a pending change."""
        return self._settle(id_, accept=False)

    def _settle(self, id_: str, *, accept: bool) -> HeldChange:
        held = next((h for h in self._guard.held_changes if h.id == id_), None)
        if held is None:
            raise NotFoundError(f"no pending change {id_!r}", "%memory pending lists them")
        if problem := self._guard.settle(held, accept=accept):
            raise refused(held.path, problem)
        return held

    def find(self, words: str) -> Occurrences:
        """Where a text is in everything deepnb recorded."""
        if not words.strip():
            raise InvalidError("nothing to forget", "%memory forget WORDS")
        work, files, sought = self._workspace, self._files, pattern(words)
        paths = work.home.memory_paths()
        held = {p: tuple(line for line in files[p].split("\n") if sought.search(line)) for p in paths}
        held = {p: lines for p, lines in held.items() if lines}
        histories = (p for p in files if p.startswith(PREFIX))
        said = {p: n for p in histories if (n := len(sought.findall(files[p])))}
        ours = work.threads.names if work.persistence is not None else ()
        said |= {f"{_TRANSCRIPT}{name}": n for name, n in work.transcripts.with_words(words, ours).items()}
        self._guard.observe(paths)
        journal = sum(bool(sought.search(e.diff)) for e in self._guard.journal())
        prompt = any(sought.search(text) for text in work.snapshot.memory.values())
        kept = work.persistence.count(words, self._is_memory) if work.persistence else 0
        return Occurrences(words, held, said, journal, prompt, kept)

    def forget(self, words: str) -> Occurrences:
        """Remove a text from everything deepnb recorded; returns what was found."""
        # What was said in the conversation itself stays as it was said.
        work, guard, sought = self._workspace, self._guard, pattern(words)
        files = self._files
        work.current.idle()
        if (kept := work.persistence) is not None:
            work.threads.reread()  # other kernels may have made some
            for name in work.threads.kept_names:
                if kept.is_busy(work.threads[name].name):
                    raise kept.database.busy(name)
        found = self.find(words)
        touched = {*found.files, *(e.path for e in guard.journal() if sought.search(e.diff))}
        for path in found.history:
            if path.startswith(_TRANSCRIPT):
                work.transcripts[path.removeprefix(_TRANSCRIPT)].blot(words)
            else:
                guard.inner.write(path, blot_out(words, files[path]))
        with work.current.hold():  # until no text is known any more, a look would take what is gone for a change
            for root in guard.roots:
                if mine := [p for p in touched if guard.root(p) is root]:
                    with root.lock():
                        self._forget_at(root, mine, words)
            guard.forget()
        work.home.storage.search.forget()
        work.threads.rebase()  # the prompt's memory is made anew at the next call
        work.current.tell()
        if kept is None:
            return found
        left = kept.erase(words, self._is_memory)
        work.threads.reread_turns()
        return replace(found, left=left)

    def _is_memory(self, path: str) -> bool:
        """Return whether a file is no part of a conversation: memory, what belongs to it, and offloaded histories."""
        return self._workspace.current.is_shared(path) or path.startswith(PREFIX)

    def _forget_at(self, root: Root, paths: Sequence[str], words: str) -> None:
        """Take the words out of these files of a root, as they are now; their journal begins again with what is left."""
        now, files, journal = self._workspace.current, self._files, root.journal
        left = {p: without(words, files[p]) for p in paths if p in files}
        for path, text in left.items():
            if text != files[path]:
                self._guard.inner.write(path, text)
        journal.read()
        journal.rewrite([e for e in journal.entries if e.path not in paths])
        facts: dict[str, Any] = {"origin": "user", "note": "restarted: something was forgotten"}
        for path, text in left.items():
            change = FileDiff(path, None, redact(text))
            journal.unsaved.append(entry(change, id=journal.next_id(), at=now.now(), thread=now.thread.name, **facts))
        journal.save()

    def keep(self, directory: str | Path) -> int:
        """Keep memory, notes, skills, journal and transcripts in a directory from now on; returns the number of files."""
        from deepnb.backends.locks import directory_lock

        self._workspace.need("mounts")
        chosen = disk_path(directory)
        if chosen.exists() and not chosen.is_dir():
            raise InvalidError(f"{directory} is a file", "type the name of a directory")
        try:
            make_folder(chosen)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InvalidError(f"{directory} can't be made ({why})", "type a directory you can write to") from None
        with directory_lock(chosen.resolve()):  # which needs a directory that can be written to
            pass
        count = self._workspace.home.storage.keep(chosen.resolve())
        for name in self._workspace.threads.names:
            self._workspace.transcripts.keep(name)
        return count

    @property
    def joined(self) -> Sources:
        """The files on the disk that are memory sources in the current thread."""
        return self._workspace.home.sources

    @property
    def places(self) -> Places:
        """Where memory files on the disk are looked for."""
        return Places(Path.cwd(), Path.home(), self._workspace.options.assistant_id or AGENT)

    def add_source(self, name: str) -> tuple[str, ...]:
        """Add memory files from the disk as sources: `user`, `project`, or a Markdown file; returns their paths.

        One that is joined in already stays where it is, and so does one in the directory in which memory is kept.
        """
        wanted, storage = source(name, self.places), self._workspace.home.storage
        kept = {Path(storage.kept, p[1:]).resolve(): p for p in (*ALWAYS, *self.sources)} if storage.kept else {}
        if (sources := with_source(self.joined, wanted, storage.user_mounts, kept)) != self.joined:
            self._join(sources)
        return (*(kept[real] for real in wanted.real if real in kept), *paths_of(sources, wanted))

    def remove_source(self, name: str) -> tuple[str, ...]:
        """Remove files from the sources, named as for `add_source` or by their paths; returns their paths.

        They leave the prompt at the next call. Nothing on the disk changes.
        """
        before = self.joined
        self._join(without_source(before, name, self.places))
        left = paths(self.joined)
        gone = tuple(path for path in paths(before) if path not in left)
        self._workspace.threads.rebase()
        self._workspace.current.tell()
        return gone

    def _join(self, sources: Sources) -> None:
        work = self._workspace
        work.current.idle()
        work.configure({"memory": work.home.join(sources)})

    def paths(self) -> tuple[str, ...]:
        """The memory files and notes that exist."""
        return self._workspace.home.memory_paths()

    def read(self, path: str) -> str:
        """The text of a memory file; what is written next is taken to have been made with it in view."""
        self._guard.observe([path])
        self._guard.mark_shown({path: (text := self._files.get(path))})
        if text is None:
            raise NotFoundError(f"no file {path}", f"%%memory {path} writes it, %memory shows all files")
        return text

    def mark_shown(self, snapshot: Snapshot) -> None:
        """The injected files of a snapshot are on the screen: what the user writes next is made with them in view."""
        self._guard.mark_shown({path: snapshot.files.get(path) for path in self.layers if path not in snapshot.binary})

    def write(self, path: str, text: str, base: str | None = None) -> Merged:
        """Write a memory file whole; gives what is in it now.

        What others changed since `base`, the text it was made from (by default as it was last shown, or read),
        is merged with it. Where both changed the same lines the file has both texts, and `conflicts` names them.
        """
        check_path(path)
        return self._merged(path, text, base)

    def _merged(self, path: str, text: str, base: str | None) -> Merged:
        written = self._guard.merge(path, text, base)
        if written.problem:
            raise refused(path, written.problem)
        return written.merged

    def load(self, file: str | Path, path: str | None = None) -> str:
        """Load a file from the disk into a memory file (by default the first source); returns its path."""
        path, place = check_path(path or self.sources[0]), disk_path(file)
        if not place.is_file():
            raise NotFoundError(f"no file {file}", "type the path of a Markdown file on this disk")
        if place.stat().st_size > LARGEST:
            raise LimitError(f"{file} has more than {LARGEST // 1_000_000} MB", "load a shorter file")
        try:
            text = place.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidError(f"{file} is not UTF-8 text (byte {error.start})", "save it as UTF-8 first") from None
        except OSError as error:
            raise InvalidError(f"{file} can't be read ({error.strerror})") from None
        self.write(path, text)
        self._copies[place.resolve()] = text
        return path

    def save(
        self, file: str | Path, path: str | None = None, *, overwrite: bool = False
    ) -> tuple[tuple[str, Path], ...]:
        """Write memory to the disk: one file to a name that ends in `.md`, all below a directory of any other name.

        Gives (path, file) of each. A file that was changed there meanwhile is an error, unless `overwrite`.
        """
        place = disk_path(file)
        pairs = tuple((p, place / p.lstrip("/")) for p in ((path,) if path else self.paths()))
        if place.suffix == ".md" and not place.is_dir():
            pairs = ((path or self.sources[0], place),)
        if not pairs:
            raise NotFoundError("no memory to save yet", "%memory add TEXT")
        texts = {p: self.read(p) for p, _ in pairs}
        for p, target in pairs:
            try:  # bytes that are not text are text that nothing equals
                there = target.read_bytes().decode("utf-8", "surrogateescape")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise InvalidError(f"{target} can't be read ({error.strerror})", "choose another file") from None
            if there not in (texts[p], self._copies.get(target.resolve())) and not overwrite:
                do = f"%memory save --yes {as_word(str(file))} overwrites it"
                raise RefusedError(f"{target} has changed on disk", do)
        for p, target in pairs:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(texts[p].encode())
            except OSError as error:
                raise RefusedError(f"{target} can't be written ({error.strerror})", "choose another file") from None
            self._copies[target.resolve()] = texts[p]
        return pairs

    def diff(self, a: int | None = None, b: int | None = None) -> tuple[FileDiff, ...]:
        """What changed in memory from just after turn `a` to just after turn `b`.

        Without `b`, until now; without either, in the last turn. Turn 0 is before the first.
        """
        turns = self._workspace.turns
        if a is None and b is None:
            now = self._workspace.snapshot
            return self.between(turns[-1].before, turns[-1].after) if turns else self.between(Snapshot(""), now)
        return file_diffs(self._after(a or 0), self._after(b))

    def between(self, before: Snapshot, after: Snapshot) -> tuple[FileDiff, ...]:
        """What changed in memory from one snapshot to another."""
        return file_diffs(self._kept(before.files), self._kept(after.files))

    def changes_in(self, turn: Turn) -> bool:
        """Whether memory is another after a turn than before it."""
        return bool(self.between(turn.before, turn.after))

    def _after(self, number: int | None) -> Mapping[str, str]:
        if number is None:
            return self._kept(self._workspace.snapshot.files)
        if number == 0:
            turns = self._workspace.turns
            return self._kept(turns[0].before.files) if turns else {}
        return self._kept(self._workspace.thread.turn(number).after.files)

    def _kept(self, files: Mapping[str, str]) -> dict[str, str]:
        kept = (LONG_TERM, *ALWAYS, *self.sources)
        return {p: t for p, t in files.items() if p in kept or p.startswith("/memory/")}
