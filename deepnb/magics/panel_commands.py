"""Panels of %agent, the dashboard, and the graph: session -> pictures that can be touched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from deepnb.core.errors import NotFoundError
from deepnb.magics.approval_panel import approvals_panel, approvals_twin
from deepnb.magics.memory_commands import memory_tabs, memory_twin
from deepnb.magics.pictures import budget_picture, history_picture, skills_picture
from deepnb.magics.scene import Args, Result, Scene
from deepnb.magics.skills_commands import skills_rows
from deepnb.views.notice import notice_view
from deepnb.views.skills import EMPTY as NO_SKILLS
from deepnb.views.stack import stack_view
from deepnb.views.threads import ThreadCard, threads_view, tree, turn_words
from deepnb.views.values import turn_value
from deepnb.views.view import View
from deepnb.views.xray import EMPTY as NO_CALL
from deepnb.views.xray import xray_view
from deepnb.widgets.actions import ActionPanel, Refreshable, Row, Tabs
from deepnb.widgets.history import HistoryPanel
from deepnb.widgets.panels import Page, Stack
from deepnb.widgets.prompt import Place, PromptPanel
from deepnb.widgets.threads import LISTED, ThreadsPanel, Turns


@dataclass(frozen=True)
class Kind:
    """A panel: the word for it, what it shows, how it is made, and its static twin."""

    title: str
    about: str
    panel: Callable[[Scene], Refreshable]
    twin: Callable[[Scene], View]


def agent_panel(scene: Scene, args: Args) -> Result:
    """Budget and history, or the one that is named."""
    name = args["what"]
    if name is None:
        return _show(scene, ("budget", "history"), "agent panel: budget and history")
    if scene.sessions.reading and name not in READ:
        raise scene.sessions.reading.refusal
    if name not in KINDS:
        raise NotFoundError(f"no panel {name!r}", f"%agent panel {'|'.join(KINDS)}, or %agent dashboard for all")
    return _show(scene, (name,), f"agent panel: {KINDS[name].about}")


def agent_dashboard(scene: Scene, args: Args) -> Result:
    names = READ if scene.sessions.reading else tuple(KINDS)
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
        return [_thread_row(scene, ThreadCard(depth, thread)) for depth, thread in tree(session.threads)]

    turns = Turns(
        lambda: [(turn.number, turn_words(turn.number, turn.first_words)) for turn in session.turns[-LISTED:]],
        lambda number: turn_value(session.turn(number)),
        lambda number: session.fork(at=number),
        session.rewind,
    )
    return ThreadsPanel(rows, turns, session.undo)


def _thread_row(scene: Scene, card: ThreadCard) -> Row:
    session, name = scene.session, card.thread.name
    acts: list[tuple[str, Callable[[], object]]] = (
        [("fork", lambda: session.fork())] if card.thread.current else [("switch", lambda: session.switch(name))]
    )
    return Row(name, card, acts, state=card.text())


def _prompt(scene: Scene) -> PromptPanel:
    def calls() -> list[tuple[str, Place]]:
        return [(name, place) for name, place in scene.session.requests()]

    def at(place: Place | None) -> View:
        return notice_view(NO_CALL) if place is None else xray_view(scene.session.xray(*place), scene.stamp)

    return PromptPanel(calls, at)


def _prompt_twin(scene: Scene) -> View:
    requests = scene.session.requests()
    return replace(xray_view(scene.session.xray(), scene.stamp), brief=True) if requests else notice_view(NO_CALL)


KINDS: Mapping[str, Kind] = {
    "memory": Kind("Memory", "memory by turn, its journal, changes that need your approval", memory_tabs, memory_twin),
    "budget": Kind(
        "Budget",
        "what fills the context",
        lambda scene: Page(lambda: budget_picture(scene.session)),
        lambda scene: budget_picture(scene.session),
    ),
    "history": Kind(
        "History",
        "offloaded messages, to search and add to the next prompt",
        lambda scene: HistoryPanel(
            lambda words: history_picture(scene.session, words),
            scene.session.bring_back,
            lambda: scene.session.bring_back(None),
        ),
        lambda scene: replace(history_picture(scene.session), brief=True),
    ),
    "skills": Kind(
        "Skills",
        "what each skill costs, which were read",
        lambda scene: ActionPanel(lambda: skills_rows(scene), notice_view(NO_SKILLS)),
        lambda scene: skills_picture(scene.session.skills),
    ),
    "prompt": Kind("Prompt", "the request of each call", _prompt, _prompt_twin),
    "threads": Kind(
        "Threads", "threads, forks and rewinds", _threads, lambda s: threads_view(s.session.threads, s.stamp)
    ),
    "approvals": Kind("Approvals", "calls that need your approval, and the rules", approvals_panel, approvals_twin),
}
READ = ("memory", "budget", "history")
"""Those that show a session that was opened."""
