"""From the daily notes to long-term memory: propose, and write what the user confirms."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.backends.writer import writing
from deepnb.memory.daily import MOST, Candidate, candidates, entries
from deepnb.memory.layers import LONG_TERM, note_day
from deepnb.running.workspace import Workspace
from deepnb.session.files import BackendFiles, refused
from deepnb.values.errors import BusyError, NotFoundError, RefusedError
from deepnb.values.files import FileDiff


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
    fresh = {c.line for c in candidates(_notes(workspace), {}, before or "", workspace.current.now()[:10])}
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


def _notes(workspace: Workspace) -> dict[str, str]:
    files = BackendFiles(workspace.backend)
    return {p: files[p] for p in workspace.home.memory_paths() if note_day(p) and any(entries(p, files[p]))}
