"""Approvals by command: decide on pending calls."""

import re
from collections.abc import Sequence
from typing import Any

from deepnb.core.approvals import Decision, PendingCall
from deepnb.core.errors import InvalidError, NotFoundError
from deepnb.magics.scene import Args, Scene
from deepnb.widgets.approval import arguments

MODES = {
    "outside": "asks before calls that can't be undone",
    "writes": "asks before calls that change anything",
    "read-only": "denies calls that change anything",
}


def decisions(scene: Scene, name: str, args: Args) -> list[Decision]:
    """The decisions that `approve`, `reject` and `edit` with their arguments mean."""
    asked = scene.session.asked
    if not asked and (elsewhere := scene.session.approvals.asked()):
        do = f"thread {elsewhere[0].thread} has one: %agent switch {elsewhere[0].thread}, then %agent {name}"
        raise NotFoundError("no call needs approval in this thread", do)
    if not asked and not scene.session.turns and scene.screen.notebook:
        what = "no call needs approval in this kernel"
        do = "run the cell of the card again, or, where the session was kept, %agent persist FILE"
        raise NotFoundError(what, do)
    if not asked:
        raise NotFoundError("no call needs approval in this thread", f"%agent -- {name} ... sends this as a prompt")
    if name == "approve":
        offer = scene.session.approvals.offer(scene.session.thread) if args["skill"] else {}
        if args["skill"] and not offer:
            raise NotFoundError(
                "no skill in use asks for the tools of these calls", "%agent approve, or approve --thread"
            )
        chosen = _chosen(asked, args["which"], "approve")
        return [call.approve(remember=bool(args["thread"]), also=offer) for call in chosen]
    which, rest = _split(str(args["what"] or ""), asked)
    chosen = _chosen(asked, which, name)
    if name == "reject":
        return [call.reject(rest) for call in chosen]
    return [call.edit(arguments(rest)) for call in chosen]


def answers(scene: Scene, text: str) -> list[Decision]:
    """The answer to a question of the graph, after its number where there are several."""
    asked = scene.session.asked
    if not asked:
        raise NotFoundError(
            "no question waits for an answer in this thread", "%agent resume continues an interrupted turn"
        )
    found = re.fullmatch(r"(\d{1,3})\s+(\S.*)", text, re.DOTALL)
    number, given = (found[1], found[2]) if found else (None, text)
    return [
        call.answer(arguments(given, 'write a JSON value, such as true or "text"'))
        for call in _chosen(asked, number, "resume")
    ]


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
            raise InvalidError(
                f"{len(asked)} questions need an answer" if name == "resume" else f"{len(asked)} calls need approval",
                f"%agent {name} N (1 to {len(asked)}){' JSON' if name == 'resume' else f', or %agent {name} all'}",
            )
        return asked
    if not 1 <= int(which) <= len(asked):
        raise NotFoundError(f"there is no call {which}", f"%agent {name} takes a number from 1 to {len(asked)}, or all")
    return [asked[int(which) - 1]]
