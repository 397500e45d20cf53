"""A session and its parts as pictures: what the magics show, and what a value shows of itself in a cell."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

from deepnb.running.sources import at_hand
from deepnb.session.memory import SessionMemory
from deepnb.session.part import Files
from deepnb.session.session import Session
from deepnb.session.skills import SessionSkills
from deepnb.session.subagents import SessionSubagents
from deepnb.values.agent import Listed, ModelInfo, ModelInfos, Spent
from deepnb.values.approvals import PendingCall, PendingCalls
from deepnb.values.budget import Budget
from deepnb.values.files import FileDiff, FileDiffs
from deepnb.values.offload import HistorySections, Offload
from deepnb.values.turn import Compacted, ThreadInfo, ThreadInfos, Turn, Turns, Usage
from deepnb.values.wings import pictures
from deepnb.values.xray import Stack, Xray, last_cached
from deepnb.views.agent import models_view, stack_view
from deepnb.views.approval import ApprovalView, CallCard
from deepnb.views.budget import NO_CALL, BudgetView
from deepnb.views.compaction import compaction_view
from deepnb.views.diff import diff_view
from deepnb.views.history import WHERE, HistoryView, history_view
from deepnb.views.memory import MemoryView, memory_view
from deepnb.views.skills import SkillsView, skills_view
from deepnb.views.status import StatusInfo, head_view, status_view
from deepnb.views.subagents import SubagentRow, subagents_view
from deepnb.views.text import counted
from deepnb.views.threads import threads_view, turns_view
from deepnb.views.values import brief, turn_value
from deepnb.views.view import Picture, View, table_view
from deepnb.views.xray import XrayView


def picture(value: object) -> View:
    """Return what a value shows of itself as the last line of a cell: under 2 kB of text."""
    if (where := pictures().get((type(value).__module__, type(value).__qualname__))) is not None:
        view: View = getattr(import_module(where[0]), where[1])(value)
        return view
    match value:
        case Session():
            return brief(status_picture(value), rest="all of it: %agent")
        case SessionMemory():
            return brief(memory_picture(value), rest="all of it: %memory")
        case SessionSkills():
            return brief(skills_picture(value), rest="all of it: %skills")
        case SessionSubagents():
            return brief(subagents_picture(value), rest="all of it: %agent subagents")
        case Files():
            paths = table_view(("path",), [(path,) for path in value], counted(len(value), "file"))
            return brief(paths, rest="all paths: list(session.files)")
        case Budget():
            return brief(BudgetView(value), rest="all of it: %agent budget")
        case Offload():
            return brief(compaction_view(value), rest="all of it: %agent history")
        case Turn():
            return turn_value(value)
        case ModelInfo() | ModelInfos():
            models = models_view([value] if isinstance(value, ModelInfo) else value)
            return brief(models, rest="all of it: %agent models")
        case Turns():
            return brief(turns_view(value), rest="all turns: %agent turns")
        case ThreadInfo() | ThreadInfos():
            threads = threads_view([value] if isinstance(value, ThreadInfo) else value)
            return brief(threads, rest="all threads: %agent threads")
        case HistorySections():
            return brief(history_view(value), rest=WHERE)
        case Xray():
            view = replace(XrayView(value), brief=True)
            return brief(view, rest=view.where)
        case Stack():
            return brief(stack_view(value), rest="what each layer does: %agent graph")
        case FileDiff() | FileDiffs():
            diffs = [value] if isinstance(value, FileDiff) else value
            title = f"diff of {len(diffs):,} files" if len(diffs) > 1 else "diff"
            return brief(diff_view(diffs, title), rest="whole diff: .unified() of each file")
        case PendingCall() | PendingCalls():
            calls = [value] if isinstance(value, PendingCall) else value
            whole = ApprovalView([CallCard(number, call) for number, call in enumerate(calls, 1)])
            asked = whole if calls else table_view((), (), empty="no call needs approval")
            decide = "to decide: %agent approve, reject or edit"
            return brief(asked, rest=f"all arguments: %agent panel approvals; {decide}")
    raise TypeError(f"no picture of a {type(value).__name__}")


def status_picture(session: Session) -> Picture:
    snapshot = session.snapshot
    memory = tuple((p, session.count(snapshot.files[p])) for p in session.memory.layers if p in snapshot.files)
    storage, kept, held = session.workspace.home.storage, session.workspace.persistence, len(session.memory.pending())
    hints = [f"mounted: {m.prefix} is {m.kind} {m.where}" for m in storage.mounts.values()]
    if (recording := session.recording) is not None and (recording.active or recording.problem):
        hints.append(recording.line + (": %agent record stop ends it" if recording.active else ""))
    hints += [f"memory, notes, skills and journal are kept in {storage.kept}"] if storage.kept else []
    hints += [f"this session is kept in {kept.database.where}"] if kept else []
    if held:
        hints.append(f"{counted(held, 'change')} {'needs' if held == 1 else 'need'} your approval: %memory pending")
    info = StatusInfo(
        model=session.model,
        window=session.rule.window,
        thread=session.workspace.threads.info(session.workspace.thread),
        budget=session.budget(),
        memory=memory,
        shares=session.memory.shares(),
        skills=sum(not s.problem for s in session.skills.list_skills()),
        files=len(snapshot.files) + len(snapshot.binary),
        refresh=session.options.memory_refresh,
        pending=session.pending,
        hints=tuple(hints),
        stamp=session.memory.stamp,
        lacks=tuple(one.name for one in session.features.lacks if not one.ours),
    )
    return status_view(info)


def head_picture(session: Session) -> Picture:
    """Return the row that stays above the tabs of the dashboard."""
    has_memory = session.features.has("memory") and not session.workspace.current.read_only
    log, held = session.memory.log_entries() if has_memory else (), session.memory.pending() if has_memory else ()
    found = ((len(session.approvals.asked()), "call"), (len(held), "change"))
    waits = [counted(count, noun) for count, noun in found if count]
    paths = session.memory.paths() if log else ()
    last = next((entry for entry in reversed(log) if entry.path in paths), None)
    return head_view(session.model, session.thread, len(session.turns), session.budget(), waits, last)


def budget_picture(session: Session, place: tuple[int, int] | None = None) -> BudgetView:
    """Return the gauge of the next request, or that of call `place` (turn, number), with the totals of all calls."""
    totals, marks, places = session.workspace.fills()
    usage = sum((t.usage for t in session.turns), Usage())
    budget, cached = session.budget() or NO_CALL, last_cached(session.turns)
    view = BudgetView(budget, session.memory.stamp, totals, marks, usage.cost, cached)
    view = replace(view, nested=session.subagents.spent(), features=session.features, places=tuple(places))
    if place is None:
        return view
    turn = session.turn(place[0])
    budget = next((call.budget for call in turn.calls if call.number == place[1]), turn.budget) or NO_CALL
    stamp = f"thread {session.thread}, turn {place[0]}" + (f", call {place[1]}" if place[1] else "")
    return replace(view, budget=budget, stamp=stamp, cost=None, cached=None, nested={})


def history_picture(session: Session, search: str | None = None, turn: int | None = None) -> HistoryView:
    """Return what was offloaded, or what had been by the end of a turn."""
    later = [e.offload for one in session.turns[turn:] for e in one.events if isinstance(e, Compacted)] if turn else []
    sections = [section for section in session.history() if section.offload not in later]
    view = history_view(sections, session.memory.stamp, search, session.brought_back)
    compacts = session.features.allows(view.empty) and not session.workspace.current.read_only
    return view if compacts else replace(view, empty=view.empty.partition(", or")[0])


def memory_picture(memory: SessionMemory) -> MemoryView:
    """Return what is remembered, and whether the prompt has it."""
    conflicts = memory.conflicts()  # the journal is read: what others did is in it
    snapshot = memory.snapshot
    memory.mark_shown(snapshot)
    state, shares = memory.known_state, memory.shares()
    made = memory_view(snapshot, memory.shown, memory.count, memory.stamp, unjoined(memory), conflicts, state, shares)
    made = replace(made, empty="no memory file was edited in this session") if state else made
    return replace(made, hints=(*made.hints, line)) if (line := memory.embedding) else made


def unjoined(memory: SessionMemory) -> Iterator[tuple[str, str]]:
    """Yield memory files of the disk that are not joined in."""
    return iter(()) if memory.known_state else at_hand(memory.places, memory.joined)


def skills_picture(skills: SessionSkills) -> SkillsView:
    reads = skills.reads()
    found, texts = skills.list_skills(), skills.texts()
    return skills_view(
        found, skills.count, skills.stamp, texts=texts, reads=reads, pinned=skills.pinned, listed=skills.listed()
    )


def subagents_picture(subagents: SessionSubagents) -> Picture:
    """Return the agents that tasks are handed to, and what they spent."""
    spent = subagents.spent()
    rows = [subagent_row(subagents, one, spent.get(one.agent.name, Spent())) for one in subagents.list_subagents()]
    return subagents_view(rows, subagents.limit, subagents.stamp)


def subagent_row(subagents: SessionSubagents, listed: Listed, spent: Spent) -> SubagentRow:
    return SubagentRow(listed, subagents.tools_of(listed.agent), subagents.model_of(listed.agent), spent)
