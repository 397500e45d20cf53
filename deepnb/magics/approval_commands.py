"""Approvals in a cell: the card, its buttons, and the words that do the same; a resumed run streams below the card."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.core.approvals import Decision, PendingCall
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Turn
from deepnb.magics.scene import Scene
from deepnb.magics.showing import Args, Shown, said
from deepnb.views.approval import ApprovalView, CallCard, approval_view
from deepnb.views.table import table_view
from deepnb.widgets.approval import ApprovalButtons, arguments
from deepnb.widgets.screen import Output, Reserved, Screen
from deepnb.widgets.turn import MAX_OUTPUTS

KEPT = 12
"""Outputs kept free below a card, for the run that goes on there."""

_NEEDED = 5
"""Of these, for one more card with its buttons, and a run after it."""

MODES = {
    "outside": "asks for what can't be taken back",
    "writes": "asks for all that changes anything",
    "read-only": "nothing may be changed",
}

Resume = Callable[[Scene, Sequence[Decision], Screen | None], object]


@dataclass
class Card:
    """The calls of one pause, as they are shown."""

    calls: tuple[PendingCall, ...]
    changes: tuple[Any, ...]
    stamp: str
    output: Output
    buttons: ApprovalButtons | None = None
    below: Output | None = None
    """Where the buttons stand."""
    room: Reserved | None = None
    """Where the run goes on."""

    def view(self, decided: Mapping[str, Decision], waiting: Collection[str]) -> ApprovalView:
        """Each call as it stands, by the decisions there are and the keys of the calls that wait."""
        cards = [
            CallCard(n, call, change, decided.get(call.key), call.key not in (*waiting, *decided))
            for n, (call, change) in enumerate(zip(self.calls, self.changes, strict=True), 1)
        ]
        return approval_view(cards, self.stamp)


class Cards:
    """The cards that are open, by the key of their calls: whoever decides, they follow."""

    def __init__(self) -> None:
        self._open: list[Card] = []

    def show(self, scene: Scene, turn: Turn, screen: Screen, used: int, resume: Resume) -> None:
        """End a cell with the calls of a turn that wait; in a notebook with buttons, and room for what comes of them."""
        if isinstance(screen, Reserved) and screen.free < _NEEDED:
            screen.gather()
        calls = turn.asked
        changes = tuple(scene.session.approvals.change(call) for call in calls)
        stamp = f"thread {turn.thread}, turn {turn.number}"
        offer = scene.session.approvals.offer(turn.thread)
        cards = [CallCard(n, call, c) for n, (call, c) in enumerate(zip(calls, changes, strict=True), 1)]
        card = Card(calls, changes, stamp, screen.show(approval_view(cards, stamp, offer)))
        self._open.append(card)
        if not scene.screen.notebook or (isinstance(screen, Reserved) and not screen.free):
            return

        card.buttons = ApprovalButtons(calls, lambda decision: resume(scene, [decision], card.room), tuple(offer))
        card.below = screen.widget(card.buttons.widget, "buttons: approve, reject, edit")
        left = MAX_OUTPUTS - used - 2
        card.room = screen if isinstance(screen, Reserved) else Reserved(screen, max(1, min(KEPT, left)))

    def room(self, call: PendingCall) -> Reserved | None:
        """Where the run of a call goes on: below its card, where that has room."""
        return next((card.room for card in self._open if any(c.key == call.key for c in card.calls)), None)

    def follow(self, approvals: Any) -> None:
        """Show what was decided, whoever did; a card that is decided as a whole becomes a record."""
        if not self._open:
            return
        waiting, decided = {call.key for call in approvals.asked()}, approvals.decided()
        for card in tuple(self._open):
            card.output.update(card.view(decided, waiting))
            if card.buttons is not None:
                card.buttons.decided([c.key for c in card.calls if c.key not in waiting])
            if not any(c.key in waiting for c in card.calls):
                self._open.remove(card)
                self._settle(card)

    def _settle(self, card: Card) -> None:
        if card.buttons is not None and card.below is not None and card.room is not None:
            card.room.give_back(card.below)
            card.buttons.close()
            card.buttons = None


def decisions(scene: Scene, name: str, args: Args) -> list[Decision]:
    """The decisions that `approve`, `reject` and `edit` with their arguments mean."""
    asked = scene.session.asked
    if not asked:
        raise DeepnbError("no call waits for your word in this thread", f"%agent -- {name} ... sends it as a prompt")
    if name == "approve":
        offer = scene.session.approvals.offer(scene.session.thread) if args["skill"] else {}
        if args["skill"] and not offer:
            raise DeepnbError("no skill in use asks for a tool of these calls", "%agent approve, or approve --thread")
        chosen = _chosen(asked, args["which"], "approve")
        return [call.approve(remember=bool(args["thread"]), also=offer) for call in chosen]
    which, rest = _split(str(args["what"] or ""), asked)
    chosen = _chosen(asked, which, name)
    if name == "reject":
        return [call.reject(rest) for call in chosen]
    return [call.edit(arguments(rest)) for call in chosen]


def agent_tools(scene: Scene, args: Args) -> Shown:
    """The tools with what happens to their calls; or another rule for them."""
    approvals, rule, name = scene.session.approvals, args["rule"], args["name"]
    if rule in MODES:
        if name:
            raise DeepnbError(f"{rule} is for all tools", f"%agent tools {rule}, or %agent tools ask {name}")
        approvals.mode(rule)
        return said(f"from the next call on: {rule}, {MODES[rule]}")
    if rule is not None:
        if not name:
            raise DeepnbError(f"{rule} which tool", f"%agent tools {rule} NAME; %agent tools lists them")
        approvals.rule(name, rule)
        return said(f"{name}: {approvals.words(name)}, from the next call on")
    mode = approvals.policy.mode
    rows = [(tool, approvals.words(tool), does) for tool, does in scene.session.built.tools]
    return table_view(("tool", "its calls", "what it does"), rows, title=f"tools · {mode}: {MODES[mode]}")


def _split(text: str, asked: Sequence[PendingCall]) -> tuple[str | None, str]:
    """`2 too risky` as (`2`, `too risky`): the number is that of a call only where several wait."""
    found = re.fullmatch(r"(all|\d{1,3})(?:\s+(.*))?", text, re.DOTALL)
    if found and (found[1] == "all" or len(asked) > 1 or (found[1] == "1" and (found[2] or "").startswith("{"))):
        return found[1], found[2] or ""
    return None, text


def _chosen(asked: Sequence[PendingCall], which: Any, name: str) -> Sequence[PendingCall]:
    if which == "all":
        return asked
    if which is None:
        if len(asked) > 1:
            raise DeepnbError(
                f"{len(asked)} calls wait", f"%agent {name} 1 to {name} {len(asked)}, or %agent {name} all"
            )
        return asked
    if not 1 <= int(which) <= len(asked):
        raise DeepnbError(f"no call {which} waits", f"%agent {name} takes a number from 1 to {len(asked)}, or all")
    return [asked[int(which) - 1]]
