"""Panels that can be touched, the dashboard that has all of them, and the graph."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from deepnb.magics import ask
from deepnb.magics.ask import MODES
from deepnb.magics.memory_commands import memory_tabs, memory_twin
from deepnb.magics.pictures import budget_picture, history_picture, skills_picture
from deepnb.magics.scene import Args, Result, Scene
from deepnb.magics.skills_commands import skills_rows
from deepnb.values.approvals import Decision
from deepnb.values.errors import NotFoundError
from deepnb.views.agent import stack_view
from deepnb.views.approval import CallCard, approval_view, approvals_list, why
from deepnb.views.skills import EMPTY as NO_SKILLS
from deepnb.views.threads import thread_card, threads_view, tree, turn_words
from deepnb.views.tool import call_line
from deepnb.views.values import turn_value
from deepnb.views.view import Stack, View, notice_view, table_view
from deepnb.views.xray import EMPTY as NO_CALL
from deepnb.views.xray import xray_view
from deepnb.widgets.actions import ActionPanel, Refreshable, Row, Tabs
from deepnb.widgets.approval import ApprovalsPanel, Waiting
from deepnb.widgets.panels import Page
from deepnb.widgets.screen import Nowhere
from deepnb.widgets.threads import LISTED, HistoryPanel, Place, PromptPanel, ThreadsPanel, Turns

# -- the panel of approvals


EMPTY = "no call needs approval: %agent tools lists which would, %agent tools ask NAME adds one"


def approvals_panel(scene: Scene) -> ApprovalsPanel:
    """Return the calls that wait, each with its buttons; what comes of a click streams below its card, if it has one."""

    def decide(decision: Decision) -> str:
        room = scene.cards.room(decision.call)
        ask.decide(scene, [decision], room or Nowhere())
        return "" if room else f"thread {decision.call.thread} continued: %agent switch and %agent turns show it"

    return ApprovalsPanel(lambda: notice_view(policy_words(scene)), lambda: _waiting(scene), decide, notice_view(EMPTY))


def approvals_twin(scene: Scene) -> View:
    """Return the approvals as a table, and below it each card, whole."""
    approvals = scene.session.approvals
    rows = [(c.thread, f"{approvals.number(c)}", call_line(c.name, c.args), why(c)) for c in approvals.asked()]
    head, policy = ("thread", "", "call", "reason"), policy_words(scene)
    listed = table_view(head, rows, f"approvals · {policy}", (1,), f"{EMPTY} ({policy})", scene.stamp)
    return approvals_list(listed, [one.view for one in _waiting(scene)])


def policy_words(scene: Scene) -> str:
    """Return what is asked about, in one line."""
    policy = scene.session.approvals.policy
    rules = [f"{name}: {rule}" for name, rule in policy.rules.items()]
    granted = [f"{name} allowed in thread {scene.session.thread}" for name in sorted(policy.granted)]
    return "; ".join([f"{policy.mode}: {MODES[policy.mode]}", *rules, *granted])


def _waiting(scene: Scene) -> list[Waiting]:
    approvals = scene.session.approvals
    out = []
    for thread, group in groupby(approvals.asked(), lambda call: call.thread):
        calls = list(group)
        numbers = [approvals.number(call) for call in calls]
        cards = [CallCard(n, call, approvals.change(call)) for n, call in zip(numbers, calls, strict=True)]
        view = approval_view(cards, f"thread {thread}", whole=True)
        out.append(Waiting(calls, numbers, view, tuple(approvals.offer(thread))))
    return out


# -- panels of %agent, the dashboard, and the graph


@dataclass(frozen=True)
class Kind:
    """A panel: the word for it, what it shows, how it is made, and its static twin."""

    title: str
    about: str
    panel: Callable[[Scene], Refreshable]
    twin: Callable[[Scene], View]


def agent_panel(scene: Scene, args: Args) -> Result:
    """Show the panels of budget and history, or the one that is named."""
    name = args["what"]
    if name is None:
        return _show(scene, ("budget", "history"), "agent panel: budget and history")
    if (problem := scene.sessions.read_only) and name not in READ:
        raise problem
    if name not in KINDS:
        raise NotFoundError(f"no panel {name!r}", f"%agent panel {'|'.join(KINDS)}, or %agent dashboard for all")
    return _show(scene, (name,), f"agent panel: {KINDS[name].about}")


def agent_dashboard(scene: Scene, args: Args) -> Result:
    names = READ if scene.sessions.read_only else tuple(KINDS)
    return _show(scene, names, "dashboard: " + ", ".join(KINDS[name].title.lower() for name in names))


def agent_graph(scene: Scene, args: Args) -> Result:
    return stack_view(scene.session.stack(), scene.stamp)


def _show(scene: Scene, names: tuple[str, ...], text: str) -> Result:
    chosen = [KINDS[name] for name in names]
    panel = Tabs([(kind.title, kind.panel(scene)) for kind in chosen]) if scene.screen.notebook else None
    scene.show_panel(panel, lambda: Stack(*(kind.twin(scene) for kind in chosen)), text)
    return None


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


def _prompt(scene: Scene) -> PromptPanel:
    def at(place: Place | None) -> View:
        return notice_view(NO_CALL) if place is None else xray_view(scene.session.xray(*place), scene.stamp)

    return PromptPanel(scene.session.requests, at)


def _prompt_twin(scene: Scene) -> View:
    requests = scene.session.requests()
    return replace(xray_view(scene.session.xray(), scene.stamp), brief=True) if requests else notice_view(NO_CALL)


def _history(scene: Scene) -> HistoryPanel:
    session = scene.session
    return HistoryPanel(partial(history_picture, session), session.bring_back, partial(session.bring_back, None))


KINDS = {
    "memory": Kind("Memory", "memory by turn, its journal, changes that need your approval", memory_tabs, memory_twin),
    "budget": Kind(
        "Budget",
        "what fills the context",
        lambda scene: Page(partial(budget_picture, scene.session)),
        lambda scene: budget_picture(scene.session),
    ),
    "history": Kind(
        "History",
        "offloaded messages, to search and add to the next prompt",
        _history,
        lambda scene: replace(history_picture(scene.session), brief=True),
    ),
    "skills": Kind(
        "Skills",
        "what each skill costs, which were read",
        lambda scene: ActionPanel(partial(skills_rows, scene), notice_view(NO_SKILLS)),
        lambda scene: skills_picture(scene.session.skills),
    ),
    "prompt": Kind("Prompt", "the request of each call", _prompt, _prompt_twin),
    "threads": Kind(
        "Threads", "threads, forks and rewinds", _threads, lambda s: threads_view(s.session.threads, s.stamp)
    ),
    "approvals": Kind("Approvals", "calls that need your approval, and the rules", approvals_panel, approvals_twin),
}
READ = ("memory", "budget", "history")
"""The panels that an opened session has."""
