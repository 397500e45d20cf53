"""Steps of memory that touch many files: forgetting words wherever deepnb recorded them, and promoting daily notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deepnb.backends.journal import entry
from deepnb.backends.writer import writing
from deepnb.context.history import PREFIX
from deepnb.gate import redact
from deepnb.memory.daily import MOST, Candidate, candidates, entries
from deepnb.memory.layers import LONG_TERM, note_day
from deepnb.running.workspace import Workspace
from deepnb.session.part import BackendFiles, refused
from deepnb.values.errors import BusyError, InvalidError, NotFoundError, RefusedError
from deepnb.values.files import FileDiff, Occurrences, blot_out, lines_with, pattern, without

if TYPE_CHECKING:
    from deepnb.backends.record import Root

TRANSCRIPT = "transcript of "


def find(workspace: Workspace, words: str) -> Occurrences:
    """Where the words stand: memory, notes, offloaded histories, journal and the injected memory."""
    if not words.strip():
        raise InvalidError("nothing to forget", "%memory forget WORDS")
    files, paths = BackendFiles(workspace.backend), workspace.home.memory_paths()
    held = {p: lines for p in paths if (lines := lines_with(words, files[p]))}
    sought = pattern(words)
    histories = (p for p in files if p.startswith(PREFIX))
    said = {p: n for p in histories if (n := len(sought.findall(files[p])))}
    ours = workspace.threads.names if workspace.persistence is not None else ()
    said |= {f"{TRANSCRIPT}{name}": n for name, n in workspace.transcripts.with_words(words, ours).items()}
    workspace.backend.observe(paths)
    journal = sum(bool(sought.search(e.diff)) for e in workspace.backend.journal())
    prompt = any(sought.search(text) for text in workspace.snapshot.memory.values())
    kept = workspace.persistence.count(words, _is_memory(workspace)) if workspace.persistence else 0
    return Occurrences(words, held, said, journal, prompt, kept)


def forget(workspace: Workspace, words: str) -> Occurrences:
    """Take the words out of all that `find` finds; the prompt's memory is made anew at the next call.

    The journal of a file that held them begins again with what is left. What was said in the
    conversation itself stays as it was said.
    """
    workspace.current.idle()
    if (kept := workspace.persistence) is not None:
        workspace.threads.reread()  # other kernels may have made some
        for name in workspace.threads.kept_names:
            if kept.is_busy(workspace.threads[name].name):
                raise kept.database.busy(name)
    found = find(workspace, words)
    guard, files = workspace.backend, BackendFiles(workspace.backend)
    sought = pattern(words)
    touched = {*found.files, *(e.path for e in guard.journal() if sought.search(e.diff))}
    for path in found.history:
        if path.startswith(TRANSCRIPT):
            workspace.transcripts[path.removeprefix(TRANSCRIPT)].blot(words)
            continue
        guard.inner.write(path, blot_out(words, files[path]))
    with workspace.current.hold():  # until no text is known any more, a look would take what is gone for a change
        for root in guard.roots:
            if mine := [p for p in touched if guard.root(p) is root]:
                with root.lock():
                    _forget_at(workspace, root, mine, words)
        guard.forget()
    workspace.home.storage.search.forget()
    workspace.threads.rebase()
    workspace.current.tell()
    if kept is None:
        return found
    left = kept.erase(words, _is_memory(workspace))
    workspace.threads.reread_turns()
    return replace(found, left=left)


def _is_memory(workspace: Workspace) -> Callable[[str], bool]:
    """The files that are no part of a conversation: memory, what belongs to it, and offloaded histories."""
    shared = workspace.home.paths.shared()
    return lambda path: shared(path) or path.startswith(PREFIX)


def _forget_at(workspace: Workspace, root: Root, paths: Sequence[str], words: str) -> None:
    """Take the words out of these files of a root, as they are now, and out of its journal."""
    guard, files = workspace.backend, BackendFiles(workspace.backend)
    left = {p: without(words, files[p]) for p in paths if p in files}
    for path, text in left.items():
        if text != files[path]:
            guard.inner.write(path, text)
    root.journal.read()
    root.journal.rewrite([e for e in root.journal.entries if e.path not in paths])
    facts: dict[str, Any] = {"origin": "user", "note": "restarted: something was forgotten"}
    for path, text in left.items():
        at, thread = workspace.current.now(), workspace.current.thread.name
        change = FileDiff(path, None, redact(text))
        root.journal.add(entry(change, id=root.journal.next_id(), at=at, thread=thread, **facts))
    root.journal.save()


# -- from the daily notes to long-term memory: propose, and write what the user confirms


@dataclass(frozen=True)
class Promotion:
    """What could be promoted, numbered from 1, and what the chosen ones would change, or have changed."""

    candidates: tuple[Candidate, ...]
    chosen: tuple[int, ...]
    change: FileDiff | None
    written: bool = False


def propose(workspace: Workspace) -> tuple[Candidate, ...]:
    """The best entries of the notes that long-term memory does not hold yet."""
    if not workspace.thread.scope.whole:
        raise RefusedError(f"{LONG_TERM} is not available in a shared thread", "%agent switch main")
    files, today = BackendFiles(workspace.backend), workspace.current.now()[:10]
    notes = {p: files[p] for p in workspace.home.memory_paths() if note_day(p)}
    recalls = workspace.home.storage.search.recalls.of(notes)
    return candidates(notes, recalls, files.get(LONG_TERM, ""), today)[:MOST]


def promote(workspace: Workspace, proposed: Sequence[Candidate], numbers: Sequence[int], *, yes: bool) -> Promotion:
    """Show what these of the proposed ones would change (all, without numbers); with `yes`, write it."""
    if strange := [n for n in numbers if not 1 <= n <= len(proposed)]:
        there = f"choose from 1 to {len(proposed)}" if proposed else "nothing is proposed"
        raise NotFoundError(f"no entry {strange[0]}: {there}", "%memory promote shows them")
    chosen = tuple(dict.fromkeys(numbers)) or tuple(range(1, len(proposed) + 1))
    files = BackendFiles(workspace.backend)
    before = files.get(LONG_TERM)
    paths = filter(note_day, workspace.home.memory_paths())
    notes = {p: files[p] for p in paths if any(entries(p, files[p]))}
    fresh = {c.line for c in candidates(notes, {}, before or "", workspace.current.now()[:10])}
    lines = [c.line for c in (proposed[n - 1] for n in chosen) if c.line in fresh]
    if yes and len(lines) < len(chosen):
        raise BusyError("the notes or MEMORY.md changed since the proposal", "%memory promote proposes again")
    if not lines:
        return Promotion(tuple(proposed), chosen, None)
    text = "\n".join(lines)
    if yes:
        with writing(note="promoted"):
            problem = workspace.backend.append(LONG_TERM, text)
        if problem:
            raise refused(LONG_TERM, problem)
        return Promotion(tuple(proposed), chosen, FileDiff(LONG_TERM, before, files[LONG_TERM]), written=True)
    gap = "" if not before or before.endswith("\n") else "\n"
    return Promotion(tuple(proposed), chosen, FileDiff(LONG_TERM, before, f"{before or ''}{gap}{text}\n"))
