"""The cards of calls that need approval: their buttons, and room below for the turn that goes on."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deepnb.core.approvals import Decision, PendingCall
from deepnb.core.values import Turn
from deepnb.session.approvals import SessionApprovals
from deepnb.views.approval import AGAIN, UNDONE, ApprovalView, CallCard, approval_view
from deepnb.views.footer import FooterView
from deepnb.widgets.approval import ApprovalButtons
from deepnb.widgets.screen import NOTHING, Output, Reserved, Screen
from deepnb.widgets.turn import MAX_OUTPUTS

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
    """Where the buttons stand."""
    room: Reserved | None = None
    """Where the run goes on."""

    kept: bool = False
    """Whether the session outlives the kernel."""
    again: set[str] = field(default_factory=set)
    """The keys of its calls that were asked about again, on another card."""

    def view(self, decided: Mapping[str, Decision], waiting: Collection[PendingCall]) -> ApprovalView:
        """Each call in its state, by the decisions there are and the calls that wait."""
        self.again |= {
            one.key for call in self.calls for one in waiting if one.key == call.key and not waits(call, waiting)
        }
        cards = []
        for n, (call, change) in enumerate(zip(self.calls, self.changes, strict=True), 1):
            made = decided.get(call.key)
            decision = made if made is not None and made.call.before == call.before else None
            gone = AGAIN if call.key in self.again else "" if decision or waits(call, waiting) else UNDONE
            cards.append(CallCard(n, call, change, decision, gone))
        return approval_view(cards, self.stamp, kept=self.kept)


def waits(call: PendingCall, waiting: Collection[PendingCall]) -> bool:
    """Whether a call waits as it was shown: one that is asked about again has another card."""
    return any((one.key, one.before) == (call.key, call.before) for one in waiting)


class Cards:
    """The cards that are open, by the key of their calls: whoever decides, they follow."""

    def __init__(self, approvals: SessionApprovals, buttons: Callable[[], bool]) -> None:
        """`buttons` is whether the front end can show them, and outputs anew when they are clicked."""
        self._approvals = approvals
        self._buttons = buttons
        self._open: list[Card] = []

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
        card = Card(
            calls, changes, stamp, screen.show(approval_view(cards, stamp, offer, kept=kept)), footer, kept=kept
        )
        self._open.append(card)
        if not self._buttons() or (isinstance(screen, Reserved) and screen.free < 2):
            card.beneath = screen.show(footer)
            return

        card.buttons = ApprovalButtons(calls, lambda decision: resume([decision], card.room), tuple(offer))
        card.below = screen.widget(card.buttons.widget, "")
        left = MAX_OUTPUTS - used - 3
        card.beneath = screen.take() if isinstance(screen, Reserved) else screen.show(NOTHING)
        card.beneath.update(footer)
        card.room = screen if isinstance(screen, Reserved) else Reserved(screen, max(1, min(FREE_OUTPUTS, left)))

    def are_shown(self, calls: Collection[PendingCall]) -> bool:
        """Whether a card of these calls is open."""
        return any(call.key == one.key for card in self._open for one in card.calls for call in calls)

    def room(self, call: PendingCall) -> Reserved | None:
        """Where the run of a call goes on: below its card, where that has room."""
        return next((card.room for card in reversed(self._open) if any(c.key == call.key for c in card.calls)), None)

    def follow(self) -> None:
        """Show what was decided, whoever did; a card that is decided as a whole becomes a record."""
        if not self._open:
            return
        waiting, decided = self._approvals.asked(), self._approvals.decided()
        for card in tuple(self._open):
            card.output.update(card.view(decided, waiting))
            if card.buttons is not None:
                card.buttons.decided([c for c in card.calls if not waits(c, waiting)])
            if not any(waits(c, waiting) for c in card.calls):
                self._open.remove(card)
                self._settle(card)

    def _settle(self, card: Card) -> None:
        """The buttons go, and of the footer what is not in that of the turn that goes on."""
        rest = replace(card.footer, facts=())
        if card.buttons is None or card.below is None or card.room is None:
            if card.beneath is not None:
                card.beneath.update(rest if rest.lines else NOTHING)
            return
        if card.beneath is not None:
            card.room.give_back(card.beneath)
        if rest.lines:
            card.below.update(rest)
        else:
            card.room.give_back(card.below)
        card.buttons.close()
        card.buttons = None
