"""The panel of approvals: the policy in force, and the pending calls of all threads, to approve, reject and edit."""

from collections.abc import Sequence
from itertools import groupby

from deepnb.core.approvals import Decision, PendingCall
from deepnb.magics import ask
from deepnb.magics.approval_commands import MODES
from deepnb.magics.scene import Scene
from deepnb.views.approval import ApprovalsView, CallCard, approval_view, why
from deepnb.views.notice import notice_view
from deepnb.views.table import table_view
from deepnb.views.tool import call_line
from deepnb.views.view import View
from deepnb.widgets.approval import ApprovalsPanel, Waiting
from deepnb.widgets.screen import Nowhere

EMPTY = "no call needs approval: %agent tools lists which would, %agent tools ask NAME adds one"


def approvals_panel(scene: Scene) -> ApprovalsPanel:
    """The calls that wait, each with its buttons; what comes of a click streams below its card, where there is one."""

    def decide(decision: Decision) -> str:
        room = scene.cards.room(decision.call)
        ask.decide(scene, [decision], room or Nowhere())
        return "" if room else f"thread {decision.call.thread} continued: %agent switch and %agent turns show it"

    return ApprovalsPanel(lambda: notice_view(policy_words(scene)), lambda: _waiting(scene), decide, notice_view(EMPTY))


def approvals_twin(scene: Scene) -> View:
    """The approvals as a table, and below it each card, whole."""
    rows = [
        (thread, f"{scene.session.approvals.number(call)}", call_line(call.name, call.args), why(call))
        for thread, calls in _by_thread(scene)
        for call in calls
    ]
    head, policy = ("thread", "", "call", "reason"), policy_words(scene)
    listed = table_view(head, rows, f"approvals · {policy}", (1,), f"{EMPTY} ({policy})", scene.stamp)
    return ApprovalsView(listed, tuple(one.view for one in _waiting(scene)))


def policy_words(scene: Scene) -> str:
    """What is asked about, in one line."""
    policy = scene.session.approvals.policy
    rules = [f"{name}: {rule}" for name, rule in policy.rules.items()]
    granted = [f"{name} allowed in thread {scene.session.thread}" for name in sorted(policy.granted)]
    return "; ".join([f"{policy.mode}: {MODES[policy.mode]}", *rules, *granted])


def _by_thread(scene: Scene) -> list[tuple[str, Sequence[PendingCall]]]:
    asked = scene.session.approvals.asked()
    return [(thread, list(calls)) for thread, calls in groupby(asked, lambda call: call.thread)]


def _waiting(scene: Scene) -> list[Waiting]:
    approvals = scene.session.approvals
    out = []
    for thread, calls in _by_thread(scene):
        numbers = [approvals.number(call) for call in calls]
        cards = [CallCard(n, call, approvals.change(call)) for n, call in zip(numbers, calls, strict=True)]
        out.append(
            Waiting(
                calls, numbers, approval_view(cards, f"thread {thread}", whole=True), tuple(approvals.offer(thread))
            )
        )
    return out
