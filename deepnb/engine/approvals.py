"""Calls that wait for the user: LangChain's human in the loop, with each answer bound to one call.

Upstream's middleware decides anew on resuming whether a call asks, and takes any answer for it. Here an answer counts for
the one call it was given for: its id, the hash of its arguments, and the file that it would change as it was then.
"""

import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.types import Command, interrupt

from deepnb.engine import keys
from deepnb.engine.answer import Reader, impossible, misfit, reading, unreadable
from deepnb.engine.coroutines import in_thread
from deepnb.engine.listen import listener, tell, tell_notice
from deepnb.engine.request import tools_by_name
from deepnb.gate import redact, redact_value
from deepnb.values import approvals
from deepnb.values.approvals import Decision, Effect, PendingCall, Policy, decide, digest
from deepnb.values.errors import DeepnbError
from deepnb.values.lazy import Memo, set_in_block
from deepnb.values.turn import Decided, ToolEnded, ToolStarted

_OURS = "deepnb_approval"

_SIGNATURE = "signature"

_SECRET = secrets.token_bytes(16)
"""Keys the hash of arguments that hold a credential, which the checkpoint does not."""

Sign = Callable[[Any], str]
"""The signature of a value; empty where threads are in this process alone, and none is needed."""

_CLEARED: ContextVar[tuple[str, str] | None] = ContextVar("cleared", default=None)
"""(id, digest) of the call that may run just now."""

REFUSED = "Do not try it again; go on without it, or say why it is needed."
EDITED = (
    "Note: the user changed the arguments of this call before it ran. What stands in your message is what you asked"
    " for, not what was done. Do not make your first call again."
)


class ApprovalMiddleware(HumanInTheLoopMiddleware):
    """Asks about calls as the policy of the moment says.

    The `seal`, inside the user's own middleware, asks about what was made of a call since the first one cleared it.
    """

    state_schema = AgentState  # type: ignore[assignment]
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    def __init__(
        self,
        policy: Callable[[], Policy],
        effect: Callable[[str, Mapping[str, Any]], Effect],
        nest: Callable[[], tuple[str, ...]] = tuple,
        *,
        seal: bool = False,
        offered: set[str] | None = None,
        problem: Callable[[str, Mapping[str, Any]], str | None] | None = None,
        sign: Sign = lambda value: "",
        before: Callable[[str, Mapping[str, Any]], str],
    ) -> None:
        """`effect` says what a call does, `nest` gives the ids of the `task` calls round the agent.

        `offered` are the tools that models were offered: some middleware runs tools of its own that the graph has not.
        `problem` says of a call that would fail why, as the model is told; nobody is asked about such a call. What
        is stored without the signature that `sign` gives is no question and no answer of this user's. `before` names the
        state of what a call would change: a decision holds while it stays the same.
        """
        super().__init__({}, interrupt_mode="per_call", edit_notice=EDITED)
        self.tools = []
        self._policy = policy
        self._effect = effect
        self._nest = nest
        self._seal = seal
        self._problem = problem
        self._sign = sign
        self._before = before
        self._offered = set() if offered is None else offered
        self._tools = Memo(tools_by_name)

    @property
    def name(self) -> str:
        return "ApprovalSeal" if self._seal else "ApprovalMiddleware"

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        with self._reading(request) as answer:
            response = handler(request)
        return answer.of(response)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        with self._reading(request) as answer:
            response = await handler(request)
        return answer.of(response)

    def _reading(self, request: Any) -> AbstractContextManager[Reader]:
        tools = self._tools(tuple(request.tools or ()))
        self._offered.update(tools)
        return reading(request, tools, listen=listener() is None)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        plan = self._plan(request)
        if isinstance(plan, ToolMessage):
            return plan
        run, edited = plan
        with _cleared(run):
            return self._annotate_edited_result(handler(run), run, edited)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        plan = await in_thread(self._plan, request)
        if isinstance(plan, ToolMessage):
            return plan
        run, edited = plan
        with _cleared(run):
            return self._annotate_edited_result(await handler(run), run, edited)

    def _plan(self, request: Any) -> ToolMessage | tuple[Any, Any]:
        """Return the call to run and what it was edited to, or the message that stands in its place."""
        call = request.tool_call
        name, args, id_ = call["name"], dict(call["args"]), call["id"] or ""
        if self._seal and _CLEARED.get() == (id_, digest(name, args)):
            return request, None
        # the answers that the step under way has been given, those of an earlier run of it included
        answers = list(getattr(get_config()["configurable"].get(keys.SCRATCHPAD), "resume", ()))
        if not answers and (problem := impossible(request, self._offered)):
            return _not_run(call, problem)
        effect = self._effect_of(request)
        rule = decide(policy := self._policy(), name, effect)
        if rule == "deny":
            why = f"{name} was not run: the agent is in read-only mode and must change nothing"
            if policy.rules.get(name) == "deny":
                why = f"the user does not let the tool {name} run"
            return _message(call, f"Error: {why}. {REFUSED}")
        if rule == "allow" and not answers:
            return request, None
        value = self._value(request, effect)
        mine = [answer for answer in answers if _is_for(value, answer, self._sign)]
        if rule == "allow" and not mine:
            return request, None
        if not answers:
            problem = misfit(request) or unreadable(call) or (self._problem and self._problem(name, args))
            if problem:
                return _not_run(call, problem)
        # of the answers to one call the newest counts: the others are for a file as it was before
        if (given := self._taken(value, mine[-1]) if mine else None) is None and mine:
            tell_notice(f"{name} asks again: {args.get('file_path', 'it')} has changed since you were asked")
        while given is None:
            answer = interrupt(value)
            try:
                given = None if answer in mine else self._taken(value, answer)
            except DeepnbError as error:
                value = {**value, "description": redact(f"{name} asks for approval again: {error.what}")}
        shown, reason = value["args"], str(given.get("reason") or "")
        changed = {k: args[k] if k in args and v == shown.get(k) else v for k, v in (given.get("args") or {}).items()}
        waited = to_call(value, str(given.get("key", "")), str(get_config()["configurable"].get("thread_id", "")))
        waited = replace(waited, before=str(given.get("before", "")))  # of the card that it was decided on
        said = given.get("value")
        tell(Decided(Decision(waited, given["kind"], given.get("args"), reason, value=said), waited.path))
        if given["kind"] == "answer":
            return ToolMessage(str(said), name=name, tool_call_id=call["id"])
        if given["kind"] == "approve":
            return request, None
        if given["kind"] == "edit":
            run = request.override(tool_call={**call, "args": changed})
            edited = {"name": name, "args": redact_value(changed)}
            if self._before(name, changed) == self._before(name, args):
                return run, edited
            plan = self._plan(run)  # it changes another file, which no card has shown
            return plan if isinstance(plan, ToolMessage) else (plan[0], plan[1] or edited)
        why = f", and said why: {reason}" if reason else ""
        return _message(call, f"The user did not allow this call of {name}{why}. It was not run. {REFUSED}")

    def _effect_of(self, request: Any) -> Effect:
        call = request.tool_call
        return self._effect(call["name"], dict(call["args"]))

    def _taken(self, value: Mapping[str, Any], answer: Any) -> Mapping[str, Any] | None:
        given = self._given(value, answer)
        runs = given is not None and given["kind"] in ("approve", "edit")
        return None if runs and value[_OURS]["unreadable"] else given

    def _given(self, value: Mapping[str, Any], answer: Any) -> Mapping[str, Any] | None:
        """Return what an answer says of the call that a value speaks of; None for any other, which asks again."""
        return answer[_OURS] if _fits(value, answer, self._sign) else None

    def _value(self, request: Any, effect: Effect) -> dict[str, Any]:
        """Return what the interrupt carries, as upstream's does, and beside it what is ours; without credentials."""
        call, config = request.tool_call, get_config()
        args = dict(call["args"])
        shown = redact_value(args)
        path = [id_ for id_ in self._nest() if id_ != call["id"]]
        parameters, required = dict[str, str](), list[str]()  # name -> JSON type, and those that are needed
        with suppress(Exception):  # a schema of the user's that is no JSON: the tool itself checks what it is given
            schema = request.tool.tool_call_schema
            schema = schema if isinstance(schema, dict) else schema.model_json_schema()
            types = {name: str(one.get("type", "")) for name, one in schema.get("properties", {}).items()}
            parameters, required = types, [str(name) for name in schema.get("required", ())]
        value: dict[str, Any] = {
            "type": "tool_approval",
            "tool_call_id": call["id"] or "",
            "name": call["name"],
            "args": shown,
            "description": f"{call['name']} asks for approval",
            _OURS: {
                "digest": digest(call["name"], args, b"" if shown is args else _SECRET),
                "agent": config.get("metadata", {}).get(keys.AGENT_NAME) or "",
                "path": path,
                "effect": effect,
                "ns": config["configurable"].get(keys.NAMESPACE, ""),
                "parameters": parameters,
                "required": required,
                "unreadable": approvals.is_unreadable(args, shown),
                "before": self._sign(before := self._before(call["name"], args)) or before,
            },
        }
        return _with_signature(value, self._sign)


def to_call(value: Mapping[str, Any], key: str, thread: str) -> PendingCall:
    """Return the call that an interrupt's value speaks of; `key` is the interrupt's id."""
    ours = value[_OURS]
    return PendingCall(
        value["tool_call_id"],
        value["name"],
        dict(value["args"]),
        ours["digest"],
        key,
        thread,
        ours["agent"],
        tuple(ours["path"]),
        ours["effect"],
        dict(ours["parameters"]),
        tuple(ours["required"]),
        approvals.UNREADABLE if ours.get("unreadable") else approvals.CALL,
        str(ours.get("before", "")),
    )


def answers(decisions: Iterable[Decision], sign: Sign) -> Command[Any]:
    """Return what a graph is given to go on with: each answer names the one call it is for."""
    given: dict[str, dict[str, Any]] = {}
    for one in decisions:
        ours: dict[str, Any] = {"id": one.call.id, "digest": one.call.digest, "key": one.call.key, "kind": one.kind}
        ours |= {"args": None if one.args is None else dict(one.args), "reason": one.reason, "before": one.call.before}
        given[one.call.key] = _with_signature({"type": one.kind, _OURS: ours}, sign)
    return Command(resume=given)


def is_bound(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get(_OURS), Mapping)


def _with_signature(value: dict[str, Any], sign: Sign) -> dict[str, Any]:
    if signature := sign(value):
        return {**value, _OURS: {**value[_OURS], _SIGNATURE: signature}}
    return value


def is_signed(value: Mapping[str, Any], sign: Sign) -> bool:
    ours = dict(value[_OURS])
    given = str(ours.pop(_SIGNATURE, ""))
    return hmac.compare_digest(given.encode(), sign({**value, _OURS: ours}).encode()) if sign(value) else True


def _fits(value: Mapping[str, Any], answer: Any, sign: Sign) -> bool:
    """Return whether an answer decides the call that a value speaks of: a rejection does also where the file has changed since."""
    if not _is_for(value, answer, sign):
        return False
    given, asked = answer[_OURS], value[_OURS]
    if given.get("kind") == "reject":
        return True
    return not asked.get("unreadable") and given.get("before", "") == asked.get("before", "")


def _is_for(value: Mapping[str, Any], answer: Any, sign: Sign) -> bool:
    """Return whether an answer was given for the call that a value speaks of, whatever it would have changed then."""
    if not is_bound(answer) or not is_signed(answer, sign):
        return False
    given = answer[_OURS]
    return (given.get("id"), given.get("digest")) == (value["tool_call_id"], value[_OURS]["digest"])


def is_used(checkpointer: Any, thread: str, value: Mapping[str, Any], sign: Sign) -> bool:
    """Return whether the step that asked has its answer, or has ended; until then its interrupt stays beside it."""
    place, _, step = str(value[_OURS]["ns"]).rpartition(keys.STEP)
    at = place.rpartition(keys.LEVEL)[0]
    found = checkpointer.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": at}})
    pending = (found and found.pending_writes) or ()
    writes = [(channel, written) for task, channel, written in pending if task == step]
    if all(channel != keys.INTERRUPT for channel, _ in writes):
        return True
    given = (written for channel, written in writes if channel == keys.RESUME)
    return any(_fits(value, one, sign) for all_ in given for one in (all_ if isinstance(all_, list) else [all_]))


def _message(call: Mapping[str, Any], text: str) -> ToolMessage:
    return ToolMessage(redact(text), name=call["name"], tool_call_id=call["id"], status="error")


def _not_run(call: Mapping[str, Any], text: str) -> ToolMessage:
    id_, name = call["id"] or "", call["name"]
    tell(ToolStarted(id_, name, redact_value(dict(call["args"]))))
    tell(ToolEnded(id_, name, redact(text), "error", 0.0))
    return _message(call, text)


def _cleared(request: Any) -> AbstractContextManager[object]:
    call = request.tool_call
    return set_in_block(_CLEARED, (call["id"] or "", digest(call["name"], dict(call["args"]))))
