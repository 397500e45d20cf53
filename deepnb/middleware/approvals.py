"""Approvals: a call that needs one interrupts the run, and `Command(resume=...)` says what becomes of it."""

from collections.abc import Mapping
from typing import Any

from deepagents.backends import StateBackend
from deepagents.backends.composite import CompositeBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import validate_path

from deepnb.engine import approvals
from deepnb.engine.coroutines import awaited
from deepnb.values.approvals import Effect, Mode, Rule, policy_of
from deepnb.values.errors import InvalidError
from deepnb.workshop.approvals import NOTES, READS, TASK, Effects, marked, state_of

_FOREIGN: dict[str, Effect] = dict.fromkeys(
    {TASK, *READS, *NOTES} - {"ls", "read_file", "glob", "grep", "write_todos"}, "outside"
)
"""Names of deepnb's own tools that in another program may be anything's. A subagent's calls are its own middleware's."""


class ApprovalMiddleware(approvals.ApprovalMiddleware):
    """Interrupts before a call that can't be undone; the agent needs a checkpointer.

    Each call that waits is one interrupt with LangChain's `tool_approval` request as its value, credentials masked. It
    is answered with one of LangChain's decisions, by the interrupt's id where several wait:

        agent.invoke(Command(resume={"type": "approve"}), config)
        agent.invoke(Command(resume={interrupt.id: {"type": "reject", "message": "not on Fridays"}}), config)
        agent.invoke(Command(resume={"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 5}}}), config)

        agent.invoke(Command(resume={"type": "respond", "message": "paid already"}), config)

    `respond` gives the tool's result in its place. `{"decisions": [...]}` with one decision in it is good, too. Any other
    answer asks again, and the description of the request says why.

    A call of a tool that does not exist, or whose arguments are not JSON or do not fit, asks nothing: it gets an error
    as its result. Tools that other middleware adds to a request are known where that middleware is outside this one.
    """

    def __init__(
        self, approve: Mode | Mapping[str, Rule | Mode] = "outside", backend: BackendProtocol | None = None
    ) -> None:
        """The approvals of one agent; its subagents have none of their own, so a call of `task` needs one.

        Args:
            approve: `"outside"` asks about all that can't be undone: your own tools, unless `@deepnb.reads` marks them
                as changing nothing, and files that are not in the thread's state. `"writes"` asks about all that
                changes anything, `"read-only"` refuses that. Or rules by tool, `{"task": "allow", "pay": "ask"}`, of
                `"ask"`, `"allow"` and `"deny"`, where `"*"` is one of those three, or `"allow"` for all other tools.
            backend: What the file tools write to; None is `StateBackend()`.
        """
        policy = policy_of(approve)
        files: Any = backend or StateBackend()
        away, files = _away(files), awaited(files)
        self._effects = effects = Effects(lambda path: not _is_below(path, away), _FOREIGN)
        super().__init__(
            lambda: policy, effects.of, before=lambda name, args: state_of(files, effects.target(name, args))
        )

    def _effect_of(self, request: Any) -> Effect:
        return "reads" if marked(request.tool) == "reads" else super()._effect_of(request)

    def _given(self, value: Mapping[str, Any], answer: Any) -> Mapping[str, Any] | None:
        return super()._given(value, answer) or _decision(value, answer)


def _decision(value: Mapping[str, Any], answer: Any) -> dict[str, Any] | None:
    """What one of LangChain's decisions says of a call; an error for one that does not fit it, None for that of a session."""
    listed = answer.get("decisions") if isinstance(answer, Mapping) else None
    one = listed[0] if isinstance(listed, list | tuple) and len(listed) == 1 else answer
    if approvals.is_bound(one):
        return None
    if not isinstance(one, Mapping) or one.get("type") not in ("approve", "edit", "reject", "respond"):
        raise InvalidError("the answer is no decision", 'give {"type": "approve"}, or edit, reject, respond')
    if one.get("type") == "approve":
        return {"kind": "approve"}
    if one.get("type") == "reject":
        return {"kind": "reject", "reason": str(one.get("message") or "")}
    if one.get("type") == "respond":
        return {"kind": "answer", "value": str(one.get("message") or "")}
    action = one.get("edited_action")
    if not isinstance(action, Mapping) or action.get("name") != value["name"]:
        what = f"an edit of {value['name']} has an edited_action with this name"
        raise InvalidError(what, '{"type": "edit", "edited_action": {"name": ..., "args": {...}}}')
    return {"kind": "edit", "args": approvals.to_call(value, "", "").edit(action.get("args") or {}).args}


def _away(backend: BackendProtocol) -> tuple[str, ...]:
    """The directories whose files are not in the thread's state, so that no earlier checkpoint has them."""
    if isinstance(backend, StateBackend):
        return ()
    if not isinstance(backend, CompositeBackend):
        return ("/",)
    routed = tuple(prefix for prefix, one in backend.routes.items() if not isinstance(one, StateBackend))
    return (*_away(backend.default), *routed)


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a path is in one of the directories, or has one of them in it."""
    try:
        folder = f"{validate_path(path).rstrip('/')}/"
    except ValueError:
        return False  # the file tools refuse it
    return any(folder.startswith(prefix) or prefix.startswith(folder) for prefix in folders)
