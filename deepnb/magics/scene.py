"""What a magic has to hand: the session, the screen, the user's variables, the next cell."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deepnb.core.errors import RefusedError
from deepnb.core.values import ThreadInfo, Turn
from deepnb.magics.cards import Cards
from deepnb.magics.config import DeepNB
from deepnb.magics.last_error import LastError
from deepnb.magics.sessions import Sessions
from deepnb.session.session import Session
from deepnb.views.notice import notice_view
from deepnb.views.text_file import text_view
from deepnb.views.view import View
from deepnb.widgets.app_screen import in_voila
from deepnb.widgets.panels import Folded, Live
from deepnb.widgets.screen import Screen

Args = Mapping[str, Any]
Result = View | object | None
"""A view is shown; anything else is the magic's value; None is nothing."""


@dataclass
class Scene:
    """One loaded extension, as its commands see it."""

    session: Session
    screen: Screen
    config: DeepNB
    namespace: MutableMapping[str, Any]
    next_cell: Callable[[str], None]
    """Put text into a new cell below (in a terminal: the next prompt)."""
    cell: Callable[[], str | None]
    """The id of the cell that is running, where the front end sends one."""
    live: Live
    """The panels that follow the session."""
    last_error: LastError
    sessions: Sessions
    """All sessions of the shell; `session` is the one in use."""
    in_cell: Callable[[], bool]
    """Whether a cell is running: a button's callback can't make a cell."""

    @cached_property
    def cards(self) -> Cards:
        """The cards of calls that need the user's approval."""
        cards = Cards(self.session.approvals, lambda: self.buttons)
        self.session.workspace.current.watch(cards.follow)
        return cards

    @property
    def buttons(self) -> bool:
        """Whether buttons can be shown, and what comes of a click."""
        return self.screen.notebook and self.config.updates

    @cached_property
    def deliveries(self) -> dict[str, Callable[[Turn], Sequence[View]]]:
        """Thread -> what is to be done with the answer of its turn, which is not finished yet."""
        return {}

    @property
    def thread(self) -> ThreadInfo:
        """The current thread as it is listed."""
        work = self.session.workspace
        return work.threads.info(work.thread)

    @property
    def stamp(self) -> str:
        """Which turn a record belongs to."""
        return self.session.memory.stamp

    def show(self, view: View) -> None:
        """Show a view below what the cell has shown."""
        self.screen.show(view)

    def put_code(self, code: str, done: str) -> View | None:
        """Put code into the next cell and give the line that says so; the code itself where the page has no cells.

        None in a button's callback, which can make no cell.
        """
        if not self.in_cell():
            return None
        if in_voila():
            return text_view("", code)
        self.next_cell(code)
        return notice(done)

    def show_panel(self, panel: Any, twin: Callable[[], View], text: str) -> None:
        """A panel and its static twin, following the session."""
        pictured = (lambda: Folded("static picture", twin())) if panel is not None else twin
        self.live.show(self.screen, panel, pictured, text, self.cell())


def notice(line: str) -> View:
    """One line that says what was done."""
    return notice_view(line, "ok")


def ask_before_removal(scene: Scene, path: str, yes: bool, do: str) -> None:
    """Raise RefusedError for a file that is not the session's own, where the user has not said `--yes`."""
    if not yes and scene.session.memory.is_elsewhere(path):
        raise RefusedError(f"{path} is not in this session alone: its file would be gone from where it is kept", do)
