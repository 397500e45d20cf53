"""The end of a cell whose turn waits for the user: Run All stops there, also before plain Python cells."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepnb.core.approvals import PendingCall

_LAST = ("last_type", "last_value", "last_traceback", "last_exc")


class ApprovalNeeded(Exception):
    """Ends a cell with an error, so that a front end runs no cell below it; shown as one line without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def approval_needed(calls: Sequence[PendingCall], *, buttons: bool) -> ApprovalNeeded:
    """For a card of these calls."""
    count = len(calls)
    if all(call.is_question for call in calls):
        what, how = "the graph needs your answer", "answer above" if buttons else "type %agent resume JSON"
        return ApprovalNeeded(f"{what}: {how}, then run the cells below")
    what = "a call needs" if count == 1 else f"{count} calls need"
    how = "decide above" if buttons else "type %agent approve or reject"
    return ApprovalNeeded(f"{what} your approval: {how}, then run the cells below")


def last_error() -> dict[str, Any]:
    """What `%debug` and the like take for the last error."""
    return {name: getattr(sys, name) for name in _LAST if hasattr(sys, name)}


def restore(last: dict[str, Any]) -> None:
    """Restore the last error: a cell that ends at a card is not an error to debug."""
    for name in _LAST:
        if name in last:
            setattr(sys, name, last[name])
        elif hasattr(sys, name):
            delattr(sys, name)
