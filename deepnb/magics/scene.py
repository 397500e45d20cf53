"""What a magic has to hand: the session in use, the screen, the cards of calls that wait, the user's variables."""

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from deepnb.magics.config import DeepNB
from deepnb.magics.last_error import LastError
from deepnb.session.approvals import SessionApprovals
from deepnb.session.session import Session
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.errors import DeepnbError, RefusedError
from deepnb.values.turn import ThreadInfos, Turn
from deepnb.views.approval import AGAIN, UNDONE, ApprovalView, CallCard
from deepnb.views.turn import FooterView
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import close, cover, last_page, leave
from deepnb.widgets.approval import ApprovalButtons
from deepnb.widgets.panels import Live, folded
from deepnb.widgets.screen import NOTHING, Boxed, Output, Reserved, Screen
from deepnb.widgets.turn import MAX_OUTPUTS

Args = Mapping[str, Any]
Result = View | object | None
"""A view is shown; anything else is the magic's value; None is nothing."""
Command = Callable[["Scene", Args], Result]
Deliver = Callable[[Turn], Sequence[View]]
"""What is done with the answer of a turn, and shown of it above the footer."""
Instead = Callable[[str, str], Command | None]
"""(magic, subcommand) -> what it does in a session that was opened to be read; None where it is the same as in any."""


class Sessions:
    """Each graph has a session of its own, with its threads, files and memory."""

    def __init__(self, own: Session, prepare: Callable[[Session], None]) -> None:
        """`prepare` joins a session to the shell."""
        prepare(own)
        self.own = self.current = own
        self._prepare = prepare
        self._attached: dict[str, Session] = {}
        self.opened: dict[str, Session] = {}
        """Those that were opened to be read, by the name of their thread."""
        self._instead: Instead = lambda magic, name: None
        self._live = own

    def __iter__(self) -> Iterator[Session]:
        return iter((self.own, *self._attached.values()))

    def use_own(self) -> Session:
        self.live.workspace.current.idle()
        self.current = self.own
        return self.own

    def attach(
        self, name: str, graph: Any, messages_key: str | None, header: str | None = None
    ) -> tuple[Session, bool]:
        """Put the session on a graph, held by a variable or at an address, in use; return it, and whether it is new."""
        self.live.workspace.current.idle()
        known = self._attached.get(name)
        attached = known.options.graph if known is not None else None
        key = messages_key or (attached.messages if attached else None)
        same = attached is not None and (attached.graph is graph or (attached.is_served and not header))
        if known is not None and attached is not None and same and attached.messages == key:
            self.current = known
            return known, False
        given = {"messages_key": messages_key, "header": header, "name": name if graph != name else None}
        made = self.own.attach(graph, **{option: value for option, value in given.items() if value})
        self._prepare(made)
        if known is not None:
            known.close()
        self._attached[name] = self.current = made
        return made, True

    @property
    def live(self) -> Session:
        """The session that prompts go to: that in use, or the one before it where this was opened to be read."""
        if not self.read_only:
            self._live = self.current
        return self._live

    @property
    def read_only(self) -> DeepnbError | None:
        """Why nothing can be changed in the session in use, which was opened to be read; None in any other."""
        return self.current.workspace.current.read_only

    def read(self, opened: Session, instead: Instead) -> None:
        """Put a session in use that was opened to be read."""
        self._prepare(opened)
        self._instead = instead
        self.opened[opened.thread] = self.current = opened

    def instead(self, magic: str, name: str) -> Command | None:
        """Return what a subcommand does where that is not the same in the session in use as in any other."""
        return self._instead(magic, name) if self.read_only else None

    def switch(self, name: str) -> Session:
        """Return the session of a thread, in use from now on."""
        self.live.workspace.current.idle()
        if (known := self.opened.get(name)) is None:
            self.live.switch(name)
        self.current = known or self.live
        return self.current

    def threads(self) -> ThreadInfos:
        """Return the threads of the live session, and those that were opened."""
        reading = self.current is not self.live
        own = (replace(info, current=info.current and not reading) for info in self.live.threads)
        opened = (replace(info, current=one is self.current) for one in self.opened.values() for info in one.threads)
        return ThreadInfos((*own, *opened))


FREE_OUTPUTS = 12
"""Outputs kept free below a card, for the run that goes on there."""

_NEEDED = 5
"""Of these, for one more card with its buttons, and a run after it."""

Resume = Callable[[Sequence[Decision], Screen | None], object]


@dataclass
class Card:
    """The calls of one pause, as they are shown."""

    calls: tuple[PendingCall, ...]
    changes: tuple[Any, ...]
    stamp: str
    output: Output
    footer: FooterView
    beneath: Output | None = None
    """Where the footer of the turn stands while the calls wait."""
    buttons: ApprovalButtons | None = None
    below: Output | None = None
    room: Screen | None = None
    page: object = None
    """What stands for the page that its outputs were made in."""
    stop: Output | None = None
    """Where the line stands that says why no cell below was run."""

    kept: bool = False
    again: set[str] = field(default_factory=set)
    """The keys of its calls that were asked about again, on another card."""

    def view(self, decided: Mapping[str, Decision], waiting: Collection[PendingCall]) -> ApprovalView:
        """Return each call in its state, by the decisions there are and the calls that wait."""
        keys = {one.key for one in waiting}
        self.again |= {call.key for call in self.calls if call.key in keys and not waits(call, waiting)}
        cards = []
        for n, (call, change) in enumerate(zip(self.calls, self.changes, strict=True), 1):
            made = decided.get(call.key)
            decision = made if made is not None and made.call.before == call.before else None
            gone = AGAIN if call.key in self.again else "" if decision or waits(call, waiting) else UNDONE
            cards.append(CallCard(n, call, change, decision, gone))
        return ApprovalView(cards, self.stamp, kept=self.kept)


def waits(call: PendingCall, waiting: Collection[PendingCall]) -> bool:
    """Return whether a call waits as it was shown: one that is asked about again has another card."""
    return any((one.key, one.before) == (call.key, call.before) for one in waiting)


class Cards:
    """The cards that are open, by the key of their calls: whoever decides, they follow."""

    def __init__(self, approvals: SessionApprovals, *, buttons: bool) -> None:
        """`buttons` is whether the front end can show them."""
        self._approvals = approvals
        self._buttons = buttons
        self._open: list[Card] = []
        self._boxed: list[str] = []

    def show(self, turn: Turn, screen: Screen, used: int, resume: Resume, footer: FooterView) -> None:
        """End a cell with the calls of a turn that wait, above its footer; in a notebook with buttons, and room for
        what comes of them."""
        if isinstance(screen, Reserved) and screen.free < _NEEDED:
            screen.gather()
        calls = turn.asked
        changes = tuple(self._approvals.change(call) for call in calls)
        stamp = f"thread {turn.thread}, turn {turn.number}"
        offer = self._approvals.offer(turn.thread)
        cards = [CallCard(n, call, c) for n, (call, c) in enumerate(zip(calls, changes, strict=True), 1)]
        kept = self._approvals.kept
        output = screen.show(ApprovalView(cards, stamp, offer, kept=kept))
        card = Card(calls, changes, stamp, output, footer, kept=kept)
        self._open.append(card)
        if not self._buttons or (isinstance(screen, Reserved) and screen.free < 2):
            card.beneath = screen.show(footer)
            return

        card.buttons = ApprovalButtons(cards, lambda decision: resume([decision], self._place(card)), tuple(offer))
        card.page = last_page()
        card.below = screen.widget(card.buttons.widget, "")
        left = MAX_OUTPUTS - used - 3
        card.beneath = screen.take() if isinstance(screen, Reserved) else screen.show(NOTHING)
        card.beneath.update(footer)
        card.room = screen if isinstance(screen, Reserved) else Reserved(screen, max(1, min(FREE_OUTPUTS, left)))

    def say_stop(self, line: View, screen: Screen) -> bool:
        """Show below the newest card why no cell below it was run, until it is decided; return whether one is open."""
        if self._open:
            self._open[-1].stop = screen.show(line)
        return bool(self._open)

    def are_shown(self, calls: Collection[PendingCall]) -> bool:
        """Return whether a card of these calls is open."""
        return any(call.key == one.key for card in self._open for one in card.calls for call in calls)

    def room(self, call: PendingCall) -> Screen | None:
        """Return where the run of a call goes on: below its card, where that has room."""
        shown = (card for card in reversed(self._open) if any(one.key == call.key for one in card.calls))
        return next(map(self._place, shown), None)

    def _place(self, card: Card) -> Screen | None:
        """Return where the run of a card goes on, which is in the box of its buttons where the page was loaded again.

        Such a page knows none of the other outputs: the box holds the record, too, and what is around it is hidden.
        """
        if card.buttons is not None and card.page is not last_page() and not isinstance(card.room, Boxed):
            card.room = Boxed(card.buttons.widget)
            card.output = card.room.show(NOTHING)
            cover(card.buttons.widget)
        return card.room

    def follow(self) -> None:
        """Show what was decided, whoever did; a card that is decided as a whole becomes a record."""
        if not self._open:
            return
        waiting, decided = self._approvals.asked(), self._approvals.decided()
        for card in tuple(self._open):
            view = card.view(decided, waiting)
            if not all(one.open for one in view.cards):
                self._place(card)
            card.output.update(view)
            if card.buttons is not None:
                card.buttons.decided([c for c in card.calls if not waits(c, waiting)])
            if not any(waits(c, waiting) for c in card.calls):
                self._open.remove(card)
                self._settle(card, view.text())

    def notes(self) -> list[str]:
        """Return what was decided where a page that is saved keeps no record of it, once."""
        notes, self._boxed = self._boxed, []
        return notes

    def _settle(self, card: Card, record: str) -> None:
        """The buttons go, and of the footer what is not in that of the turn that goes on."""
        rest = replace(card.footer, facts=())
        if card.stop is not None:
            card.stop.update(NOTHING)
        if isinstance(card.room, Boxed):
            card.room.show(rest if rest.lines else NOTHING)
            self._boxed.append(f"decided above ({card.stamp}): {record.replace(chr(10), '; ')}")
            return
        if card.buttons is None or card.below is None or not isinstance(card.room, Reserved):
            if card.beneath is not None:
                card.beneath.update(rest if rest.lines else NOTHING)
            return
        leave(card.below)
        if card.beneath is not None:
            card.room.give_back(card.beneath)
        if rest.lines:
            card.below.update(rest)
        else:
            card.room.give_back(card.below)
        close(card.buttons.widget)
        card.buttons = None


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
    last_error: LastError
    sessions: Sessions
    in_cell: Callable[[], bool]
    """Whether a cell is running: a button's callback can't make a cell."""
    typed: Callable[[], str] = str
    answers: list[Any] = field(default_factory=list)
    """The value of each answer that the magic has had."""
    deliveries: dict[str, Deliver | None] = field(default_factory=dict)
    """Thread -> what is to be done with the answer of its turn, which is not finished yet."""

    @cached_property
    def cards(self) -> Cards:
        """The cards of calls that need the user's approval."""
        cards = Cards(self.session.approvals, buttons=self.screen.notebook)
        self.session.workspace.current.watch(cards.follow)
        return cards

    @property
    def stamp(self) -> str:
        """Which turn a record belongs to."""
        return self.session.memory.stamp

    def show(self, view: View) -> None:
        self.screen.show(view)

    def put_code(self, code: str, done: str) -> View | None:
        """Put code into the next cell and give the line that says so; None in a button's callback, which can make no cell."""
        if not self.in_cell():
            return None
        self.next_cell(code)
        return notice(done)

    def show_panel(self, panel: Any, twin: Callable[[], View], text: str) -> None:
        """A panel and its static twin, following the session."""
        pictured = (lambda: folded("static picture", twin())) if panel is not None else twin
        self.live.show(self.screen, panel, pictured, text, self.cell())


def notice(line: str) -> View:
    """Return one line that says what was done."""
    return notice_view(line, "ok")


def put_file(scene: Scene, path: str, head: str, show: str) -> str:
    """Put a file that was written into the next cell, below its `head`; return what to say, with what shows it else."""
    scene.next_cell(f"{head}\n{scene.session.files[path]}")
    edit = f"edit it and run the cell (where no cell appears, {show} shows it)"
    return f"wrote {path}; the next cell has its text: {edit}"


def ask_before_removal(scene: Scene, path: str, yes: bool, do: str) -> None:
    """Raise RefusedError for a file that is not the session's own, where the user has not said `--yes`."""
    storage = scene.session.workspace.home.storage
    if not yes and (storage.kept or not storage.in_kernel(path)):
        raise RefusedError(f"{path} is not in this session alone: its file would be gone from where it is kept", do)
