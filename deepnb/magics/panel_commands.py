"""Panels that can be touched, and the dashboard that has all of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter

from deepnb.magics import ask
from deepnb.magics.ask import MODES
from deepnb.magics.memory_commands import memory_tabs, memory_twin
from deepnb.magics.pictures import budget_picture, head_picture, history_picture, skills_picture
from deepnb.magics.scene import Args, Result, Scene
from deepnb.magics.skills_commands import skills_rows
from deepnb.values.approvals import Decision
from deepnb.values.errors import NotFoundError
from deepnb.views import html as h
from deepnb.views.approval import CallCard, approval_view, why
from deepnb.views.skills import EMPTY as NO_SKILLS
from deepnb.views.threads import thread_card, threads_view, tree, turn_words
from deepnb.views.tool import call_line
from deepnb.views.values import turn_value
from deepnb.views.view import Picture, Stack, View, notice_view, table_view
from deepnb.views.xray import EMPTY as NO_CALL
from deepnb.views.xray import XrayView
from deepnb.widgets.actions import ActionPanel, Refreshable, Row, Tabs
from deepnb.widgets.approval import ApprovalsPanel, Waiting
from deepnb.widgets.panels import Page
from deepnb.widgets.screen import NoScreen
from deepnb.widgets.threads import LISTED, HistoryPanel, Place, PromptPanel, ThreadsPanel, Turns

EMPTY = "no call needs approval: %agent tools lists which would, %agent tools ask NAME adds one"


def approvals_panel(scene: Scene) -> ApprovalsPanel:
    """Return the calls that wait, each with its buttons; what comes of a click streams below its card, if it has one."""

    def decide(decision: Decision) -> str:
        room = scene.cards.room(decision.call)
        ask.decide(scene, [decision], room or NoScreen())
        return "" if room else f"thread {decision.call.thread} continued: %agent switch and %agent turns show it"

    def policy() -> View:
        return notice_view(policy_words(scene))

    return ApprovalsPanel(policy, partial(_waiting, scene), decide, notice_view(_none_waits(scene)))


def approvals_twin(scene: Scene) -> View:
    """Return the approvals as a table, and below it each card, whole."""
    approvals = scene.session.approvals
    rows = [(c.thread, f"{approvals.number(c)}", call_line(c.name, c.args), why(c)) for c in approvals.asked()]
    head, policy = ("thread", "", "call", "reason"), policy_words(scene)
    listed = table_view(head, rows, f"approvals · {policy}", (1,), f"{_none_waits(scene)} ({policy})", scene.stamp)
    views = (listed, *(one.view for one in _waiting(scene)))
    text = "\n\n".join(view.text() for view in views)
    return Picture((), [text], [h.Html(view.html()) for view in views])


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
    out = []
    for thread, group in groupby(approvals.asked(), attrgetter("thread")):
        calls = list(group)
        numbers = [approvals.number(call) for call in calls]
        cards = [CallCard(n, call, approvals.change(call)) for n, call in zip(numbers, calls, strict=True)]
        view = approval_view(cards, f"thread {thread}", whole=True)
        out.append(Waiting(calls, numbers, view, tuple(approvals.offer(thread))))
    return out


KINDS = {
    "memory": "memory by turn, its journal, changes that need your approval",
    "budget": "what fills the context",
    "history": "offloaded messages, to search and add to the next prompt",
    "skills": "what each skill costs, which were read",
    "prompt": "the request of each call",
    "threads": "threads, forks and rewinds",
    "approvals": "calls that need your approval, and the rules",
}
READ = ("memory", "budget", "history")
"""The panels that an opened session has."""


def agent_panel(scene: Scene, args: Args) -> Result:
    """Show the panels of budget and history, or the one that is named."""
    name = args["what"]
    if name is None:
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


def _show(scene: Scene, names: tuple[str, ...], text: str, above: tuple[Callable[[], View], ...] = ()) -> Result:
    parts = [(name.capitalize(), *_part(scene, name)) for name in names]
    panel = Tabs([(n, make()) for n, make, _ in parts], [*map(Page, above)]) if scene.screen.notebook else None
    scene.show_panel(panel, lambda: Stack(*(twin() for twin in above), *(twin() for *_, twin in parts)), text)
    return None


def _part(scene: Scene, name: str) -> tuple[Callable[[], Refreshable], Callable[[], View]]:
    """Return what makes a panel, and what makes its static twin."""
    session = scene.session
    match name:
        case "memory":
            return partial(memory_tabs, scene), partial(memory_twin, scene)
        case "budget":
            budget = partial(budget_picture, session)
            return partial(Page, budget), budget
        case "history":
            history, undo = partial(history_picture, session), partial(session.bring_back, None)
            panel = partial(HistoryPanel, history, session.bring_back, undo)
            return panel, lambda: replace(history(), brief=True)
        case "skills":
            rows = partial(skills_rows, scene)
            return partial(ActionPanel, rows, notice_view(NO_SKILLS)), partial(skills_picture, session.skills)
        case "prompt":

            def at(place: Place | None) -> View:
                return notice_view(NO_CALL) if place is None else XrayView(session.xray(*place), scene.stamp)

            def newest() -> View:
                there = session.requests()
                return XrayView(session.xray(), scene.stamp, brief=True) if there else notice_view(NO_CALL)

            return partial(PromptPanel, session.requests, at), newest
        case "threads":
            return partial(_threads, scene), lambda: threads_view(session.threads, scene.stamp)
    return partial(approvals_panel, scene), partial(approvals_twin, scene)


def _threads(scene: Scene) -> ThreadsPanel:
    session = scene.session

    def rows() -> list[Row]:
        made = []
        for depth, thread in tree(session.threads):
            act = ("fork", session.fork) if thread.current else ("switch", partial(session.switch, thread.name))
            card = thread_card(depth, thread)
            made.append(Row(thread.name, card, [act], state=card.text()))
        return made

    def words() -> list[tuple[int, str]]:
        return [(turn.number, turn_words(turn.number, turn.first_words)) for turn in session.turns[-LISTED:]]

    turns = Turns(words, lambda at: turn_value(session.turn(at)), lambda at: session.fork(at=at), session.rewind)
    return ThreadsPanel(rows, turns, session.undo)
