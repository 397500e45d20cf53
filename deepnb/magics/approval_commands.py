"""Approvals by command: decide on calls that wait, and say which calls do."""

import re
from collections.abc import Sequence
from typing import Any

from deepnb.core.approvals import Decision, PendingCall
from deepnb.core.errors import DeepnbError
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.views.table import table_view
from deepnb.widgets.approval import arguments

MODES = {
    "outside": "asks for what can't be taken back",
    "writes": "asks for all that changes anything",
    "read-only": "nothing may be changed",
}


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


def agent_tools(scene: Scene, args: Args) -> Result:
    """The tools with what happens to their calls; or another rule for them."""
    approvals, rule, name = scene.session.approvals, args["rule"], args["name"]
    if rule in MODES:
        if name:
            raise DeepnbError(f"{rule} is for all tools", f"%agent tools {rule}, or %agent tools ask {name}")
        approvals.mode(rule)
        return notice(f"from the next call on: {rule}, {MODES[rule]}")
    if rule is not None:
        if not name:
            raise DeepnbError(f"{rule} which tool", f"%agent tools {rule} NAME; %agent tools lists them")
        approvals.rule(name, rule)
        return notice(f"{name}: {approvals.words(name)}, from the next call on")
    mode = approvals.policy.mode
    rows = [(tool, approvals.words(tool), does) for tool, does in scene.session.workspace.built.tools]
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
