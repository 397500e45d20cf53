"""Panels that can be touched, and the dashboard that has all of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from deepnb.magics import ask
from deepnb.magics.ask import MODES
from deepnb.magics.pictures import budget_picture, head_picture, history_picture, memory_picture, skills_picture
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.session.memory import SessionMemory
from deepnb.session.session import Session
from deepnb.values.approvals import Decision
from deepnb.values.errors import NotFoundError
from deepnb.views.approval import ApprovalView, CallCard, why
from deepnb.views.budget import BudgetView
from deepnb.views.diff import diff_view
from deepnb.views.memory import BRIEF, entry_view, journal_view, pending_view
from deepnb.views.skills import EMPTY as NO_SKILLS
from deepnb.views.skills import skill_card
from deepnb.views.text import short
from deepnb.views.threads import NO_THREADS, NO_TURNS, thread_card, threads_view, tree, turn_words
from deepnb.views.tool import call_line
from deepnb.views.values import turn_value
from deepnb.views.view import Stack, View, notice_view, table_view
from deepnb.views.xray import EMPTY as NO_CALL
from deepnb.views.xray import XrayView
from deepnb.widgets.actions import ActionPanel, Columns, Refreshable, Row, Switches, Tabs
from deepnb.widgets.approval import ApprovalsPanel, Waiting
from deepnb.widgets.history import HistoryPanel
from deepnb.widgets.panels import Bars, Chooser, LineEditor, Page, Place
from deepnb.widgets.screen import NoScreen

T = TypeVar("T")
EMPTY = "no call needs approval: %agent tools lists which would, %agent tools ask NAME adds one"


def approvals_panel(scene: Scene) -> ApprovalsPanel:
    """Return the calls that wait, each with its buttons; what comes of a click streams below its card, if it has one."""

    def decide(decision: Decision) -> str:
        room = scene.cards.room(decision.call)
        ask.decide(scene, [decision], room or NoScreen())
        return "" if room else f"thread {decision.call.thread} continued: %agent switch and %agent turns show it"

    def policy() -> View:
        return notice_view(policy_words(scene), "hint")

    return ApprovalsPanel(policy, partial(_waiting, scene), decide, notice_view(_none_waits(scene)))


def approvals_twin(scene: Scene) -> View:
    """Return the approvals as a table, and below it each card, whole."""
    approvals = scene.session.approvals
    rows = [(c.thread, f"{approvals.number(c)}", call_line(c.name, c.args), why(c)) for c in approvals.asked()]
    head, policy = ("thread", "", "call", "reason"), policy_words(scene)
    listed = table_view(head, rows, f"approvals · {policy}", (1,), f"{_none_waits(scene)} ({policy})", scene.stamp)
    return Stack(listed, *(view for view, _ in _waiting(scene)))


def _none_waits(scene: Scene) -> str:
    return EMPTY if scene.session.features.allows(EMPTY) else EMPTY.partition(":")[0]


def policy_words(scene: Scene) -> str:
    """Return what is asked about, in one line."""
    if attached := scene.session.options.graph:
        return f"{attached.name} decides which calls need approval"
    policy = scene.session.approvals.policy
    rules = [f"{name}: {rule}" for name, rule in policy.rules.items()]
    granted = [f"{name} allowed in thread {scene.session.thread}" for name in sorted(policy.granted)]
    return "; ".join([f"{policy.mode}: {MODES[policy.mode]}", *rules, *granted])


def _waiting(scene: Scene) -> list[Waiting]:
    approvals = scene.session.approvals
    out = list[Waiting]()
    for thread, calls in groupby(approvals.asked(), attrgetter("thread")):
        cards = [CallCard(approvals.number(call), call, approvals.change(call)) for call in calls]
        out.append((ApprovalView(cards, f"thread {thread}", whole=True), tuple(approvals.offer(thread))))
    return out


KINDS = {
    "memory": "memory by turn, its journal, changes that need your approval",
    "budget": "what fills the context, and tools to switch off",
    "history": "offloaded messages, to search and add to the next prompt",
    "skills": "what each skill costs, which were read, enable, disable and pin",
    "prompt": "the request of each call",
    "threads": "threads, forks and rewinds",
    "approvals": "calls that need your approval, and the rules",
}
READ = ("memory", "budget", "history")
"""The panels that an opened session has."""
_ALL = ("skills", "approvals")
"""Those that show the same whatever turn is chosen."""


def agent_panel(scene: Scene, args: Args) -> Result:
    """Show the panels of budget and history, or the one that is named."""
    if (name := args["what"]) is None:
        names = tuple(filter(scene.session.features.has, ("budget", "history")))
        return _show(scene, names, f"agent panel: {' and '.join(names)}")
    if (problem := scene.sessions.read_only) and name not in READ:
        raise problem
    if name not in KINDS:
        raise NotFoundError(f"no panel {name!r}", f"%agent panel {'|'.join(KINDS)}, or %agent dashboard for all")
    scene.session.workspace.need(name)
    return _show(scene, (name,), f"agent panel: {KINDS[name]}")


def agent_dashboard(scene: Scene, args: Args) -> Result:
    names = READ if scene.sessions.read_only else tuple(filter(scene.session.features.has, KINDS))
    return _show(scene, names, f"dashboard: {', '.join(names)}", (partial(head_picture, scene.session),))


def memory_panel(scene: Scene, args: Args) -> Result:
    return _show(scene, ("memory",), f"memory panel: {KINDS['memory']}")


def skills_panel(scene: Scene, args: Args) -> Result:
    return _show(scene, ("skills",), f"skills panel: {KINDS['skills']}")


def _show(scene: Scene, names: tuple[str, ...], text: str, above: tuple[Callable[[], View], ...] = ()) -> Result:
    """Show panels below what is `above` them and, where one of them shows a turn, what chooses it."""
    panel = None
    if scene.screen.notebook:
        at = turn_chooser(scene.session)
        heads: list[Refreshable] = [*map(Page, above), *([] if {*names} <= {*_ALL} else [at])]
        panel = Tabs({name.capitalize(): partial(_panel, scene, name, at) for name in names}, heads)
        at.follow, at.lead = panel.refresh, partial(panel.open, "Prompt")
    twins: list[Callable[[], View]] = [*above, *(partial(_TWINS[name], scene) for name in names)]
    scene.show_panel(panel, lambda: Stack(*(twin() for twin in twins)), text)
    return None


def turn_chooser(session: Session) -> Chooser:
    """Return what chooses the turn, and the call of it, that panels show."""

    def words(number: int) -> str:
        return turn_words(number, session.turn(number).first_words)

    def calls(number: int) -> list[tuple[str, int]]:
        named = ((call, f" of {call.agent}" if call.agent else "") for call in session.turn(number).requested)
        return [(f"{call.number} · {call.purpose}{of}", call.number) for call, of in named]

    return Chooser(lambda: len(session.turns), words, calls)


def _panel(scene: Scene, name: str, at: Chooser) -> Refreshable:
    """Return a panel that can be touched."""
    session = scene.session
    match name:
        case "memory":
            return _memory(scene, at)
        case "budget":

            def gauge() -> BudgetView:
                return budget_picture(session, None if at.newest else at.place)

            tools = Switches(partial(_tools, session), partial(_switch, session))
            below = Columns(Bars(gauge, at), tools, stacked=True)
            return Columns(Page(lambda: replace(gauge(), history=())), below)
        case "history":
            undo = partial(session.bring_back, None)
            return HistoryPanel(lambda words: history_picture(session, words, _turn(at)), session.bring_back, undo)
        case "skills":
            return ActionPanel(partial(skills_rows, scene), notice_view(NO_SKILLS))
        case "prompt":
            return Page(lambda: _request(session, at.place))
        case "threads":
            threads = ActionPanel(partial(_threads, session), notice_view(NO_THREADS))
            return Columns(threads, ActionPanel(partial(_of_turn, session, at), notice_view(NO_TURNS)))
    return approvals_panel(scene)


def _request(session: Session, place: Place | None) -> View:
    """Return a view of the request of a call, or of the reason why no request is known."""
    if place and place[1]:
        return XrayView(session.xray(*place), wide=True)
    return notice_view("no model that deepnb sees was called in this turn" if session.turns else NO_CALL)


def _turn(at: Chooser) -> int:
    return at.place[0] if at.place else 0


# -- memory


def _memory(scene: Scene, at: Chooser) -> Columns:
    """Return memory as it is now, with a line of it to change, beside the changes of the chosen turn, all, and those pending."""
    session, memory = scene.session, scene.session.memory
    now, changed = Page(partial(memory_picture, memory)), Page(lambda: changes_of_turn(scene, _turn(at)))
    if session.workspace.current.read_only:
        return Columns(now, changed)

    def journal() -> list[Row]:
        newest = list(reversed(memory.log_entries()))[:10]
        return [Row(one.id, entry_view(one), [("revert", partial(revert, memory, one.id))]) for one in newest]

    def pending() -> list[Row]:
        rows = []
        for one in memory.pending():
            acts = [("accept", partial(memory.accept, one.id)), ("drop", partial(memory.drop, one.id))]
            rows.append(Row(one.id, pending_view([(one.id, one.why, one.change)]), acts))
        return rows

    def texts() -> dict[str, str]:
        files = session.snapshot.files
        return {path: files[path] for path in memory.shown if path in files}

    def save(path: str, base: str, text: str) -> View:
        merged, undo = and_undo(memory, lambda: memory.write(path, text, base))
        lines = "; ".join(f"conflict in {path}, {one}: both are kept" for one in merged.conflicts)
        return notice_view(lines, "warning") if lines else notice(f"saved {path}: {undo}")

    def undo() -> View:
        if not (log := memory.log_entries()):
            raise NotFoundError("nothing to undo", "%memory add TEXT is a first change")
        return revert(memory, log[-1].id)

    left = Columns(now, LineEditor(texts, save, undo), stacked=True)
    changes = ActionPanel(journal, journal_view(()), "journal"), ActionPanel(pending, pending_view(()), "pending")
    return Columns(left, Columns(changed, *changes, stacked=True))


def and_undo(memory: SessionMemory, act: Callable[[], T]) -> tuple[T, str]:
    """Change memory; return what that gives, and what is typed to undo it."""
    before, given, log = memory.log_entries(), act(), memory.log_entries()
    return given, f"%memory revert {log[-1].id} undoes that" if log[-1:] != before[-1:] else "nothing changed"


def revert(memory: SessionMemory, id_: str) -> View:
    path, undo = and_undo(memory, lambda: memory.revert(id_))
    return notice(f"reverted change {id_} in {path}: {undo}")


def memory_twin(scene: Scene) -> View:
    memory = scene.session.memory
    picture = replace(memory_picture(scene.session.memory), room=BRIEF)
    if scene.session.workspace.current.read_only:
        edited = next((turn.number for turn in reversed(scene.session.turns) if memory.changes_in(turn)), None)
        return Stack(picture, changes_of_turn(scene, edited)) if edited else picture
    views = [picture, changes_of_turn(scene, len(scene.session.turns)), journal_view(memory.log_entries(), most=3)]
    return Stack(*views, pending_picture(scene)) if memory.pending() else Stack(*views)


def changes_of_turn(scene: Scene, turn: int) -> View:
    if not turn:
        return diff_view((), "before turn 1")
    record = scene.session.turn(turn)
    changed = scene.session.memory.between(record.before, record.after)
    return diff_view(changed, f"memory in turn {turn}", short(record.prompt, 60))


def pending_picture(scene: Scene) -> View:
    return pending_view([(one.id, one.why, one.change) for one in scene.session.memory.pending()], scene.stamp)


# -- tools, skills and threads


def _tools(session: Session) -> dict[str, tuple[str, bool]]:
    """Return the tools that can be switched off, with their tokens in the newest request, and those that are off."""
    if session.options.graph is not None or session.workspace.current.read_only:
        return {}
    budget, off = session.budget(), session.options.tools_off
    sizes = {item.name: item.tokens for item in (budget.items if budget else ()) if item.part == "tools"}
    names = sorted({*(name for name, _ in session.workspace.built.tools), *off})  # so that no box moves at a click
    words = {name: f"{name} · {sizes[name]:,}" if name in sizes and name not in off else name for name in names}
    return {name: (words[name], name not in off) for name in names}


def _switch(session: Session, name: str, on: bool) -> View:
    (session.tools.on if on else session.tools.off)(name)
    return notice(f"{name}: {'on' if on else 'off'} from the next turn on")


def skills_rows(scene: Scene) -> list[Row]:
    """Return a card for each skill, with what can be done with it."""
    made, skills = [], scene.session.skills
    for row in skills_picture(skills).rows:
        words = ("disable", "unpin" if row.pinned else "pin") if row.skill.enabled else ("enable",)
        acts = [] if row.skill.problem else [(word, partial(getattr(skills, word), row.skill.name)) for word in words]
        made.append(Row(row.skill.path, skill_card(row), acts))
    return made


def _threads(session: Session) -> list[Row]:
    rows = []
    for depth, thread in tree(session.threads):
        act = ("fork", session.fork) if thread.current else ("switch", partial(session.switch, thread.name))
        rows.append(Row(thread.name, thread_card(depth, thread), [act]))
    return rows


def _of_turn(session: Session, at: Chooser) -> list[Row]:
    """Return the chosen turn of the current thread, to go back to."""
    if not (number := _turn(at)):
        return []
    fork, rewind = lambda: session.fork(at=number), lambda: session.rewind(number)
    acts = (("fork from here", fork), ("rewind to here", rewind), ("undo", session.undo))
    return [Row("turn", turn_value(session.turn(number)), acts)]


def _prompt_twin(scene: Scene) -> View:
    session = scene.session
    return XrayView(session.xray(), scene.stamp, brief=True) if session.requests() else _request(session, None)


_TWINS: dict[str, Callable[[Scene], View]] = {
    "memory": memory_twin,
    "budget": lambda scene: budget_picture(scene.session),
    "history": lambda scene: replace(history_picture(scene.session), brief=True),
    "skills": lambda scene: skills_picture(scene.session.skills),
    "prompt": _prompt_twin,
    "threads": lambda scene: threads_view(scene.session.threads, scene.stamp),
    "approvals": approvals_twin,
}
"""Panel -> its static twin."""
