"""What a graph of somebody else's asks by LangGraph's `interrupt`: LangChain's approvals, and questions of its own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from deepnb.core.approvals import QUESTION, UNREADABLE, Allowed, Decision, PendingCall, digest, is_unreadable
from deepnb.core.secrets import redact_value
from deepnb.engine import keys

_KINDS: tuple[Allowed, ...] = ("approve", "edit", "reject")
_NUMBER = ":"
"""Between the id of an interrupt and the number of a call in it."""


class Questions:
    """What a graph asks, and what it is given for an answer; nothing that it asks is signed by deepnb."""

    def asked(self, interrupts: Iterable[Any], thread: str, messages: Sequence[Any]) -> tuple[PendingCall, ...]:
        return pending_calls(interrupts, thread, messages)

    def pending(self, thread: str, state: Any) -> tuple[PendingCall, ...]:
        found = [one for task in state.tasks for one in task.interrupts]
        return pending_calls(found, thread, state.values.get(keys.MESSAGES) or ())

    def has_unsigned(self, tasks: Sequence[Any]) -> bool:
        return False

    def answers(self, decisions: Iterable[Decision]) -> Command[Any]:
        return answers(decisions)


def pending_calls(
    interrupts: Iterable[Any], thread: str, messages: Sequence[BaseMessage] = ()
) -> tuple[PendingCall, ...]:
    """What interrupts ask, in order. `messages` tell the ids of calls, which one interrupt for several of them does not."""
    open_ = _open_calls(messages)
    return tuple(call for one in interrupts for call in _calls(one, thread, open_))


def answers(decisions: Iterable[Decision]) -> Command[Any]:
    """What a graph is given to go on with these decisions, each interrupt answered in its own shape."""
    given: dict[str, Any] = {}
    lists: dict[str, dict[int, Any]] = defaultdict(dict)
    for one in decisions:
        id_, _, number = one.call.key.partition(_NUMBER)
        if number:
            lists[id_][int(number)] = _answer(one)
        else:
            given[id_] = _answer(one)
    for id_, numbered in lists.items():
        given[id_] = {"decisions": [numbered[n] for n in sorted(numbered)]}
    return Command(resume=given)


def _calls(interrupt: Any, thread: str, open_: list[Mapping[str, Any]]) -> Iterable[PendingCall]:
    value = interrupt.value
    if _is_batch(value):
        rules = {
            str(one.get("action_name")): one for one in value.get("review_configs") or () if isinstance(one, Mapping)
        }
        for number, action in enumerate(value["action_requests"]):
            name, args = str(action["name"]), dict(action["args"])
            allowed = _allowed((rules.get(name) or {}).get("allowed_decisions"))
            yield _call(_take(open_, name, args), name, args, f"{interrupt.id}{_NUMBER}{number}", thread, allowed)
    elif _is_call(value):
        id_, name, args = str(value.get("tool_call_id") or ""), str(value["name"]), dict(value["args"])
        yield _call(id_, name, args, interrupt.id, thread, _allowed(_types_in(interrupt.response_schema)))
    else:
        shown = value if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else {"value": value}
        yield _call("", "interrupt", _plain(shown), interrupt.id, thread, QUESTION)


def _call(
    id_: str, name: str, args: dict[str, Any], key: str, thread: str, allowed: tuple[Allowed, ...]
) -> PendingCall:
    shown = redact_value(args)
    allowed = UNREADABLE if allowed != QUESTION and is_unreadable(args, shown) else allowed
    return PendingCall(id_ or key, name, shown, digest(name, args), key, thread, allowed=allowed)


def _answer(decision: Decision) -> Any:
    """A decision in LangChain's words; the answer to a question as it is."""
    match decision.kind:
        case "answer":
            return decision.value
        case "edit":
            return {"type": "edit", "edited_action": {"name": decision.call.name, "args": dict(decision.args or {})}}
        case "reject":
            return {"type": "reject", **({"message": decision.reason} if decision.reason else {})}
    return {"type": "approve"}


def _is_batch(value: Any) -> bool:
    """Whether it is what LangChain's `HumanInTheLoopMiddleware` asks, all calls of an answer at once."""
    actions = value.get("action_requests") if isinstance(value, Mapping) else None
    return isinstance(actions, list) and bool(actions) and all(map(_has_name_and_args, actions))


def _is_call(value: Any) -> bool:
    """Whether it is what that asks of one call."""
    return isinstance(value, Mapping) and value.get("type") == "tool_approval" and _has_name_and_args(value)


def _has_name_and_args(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and isinstance(value.get("args"), Mapping)


def _allowed(kinds: Any) -> tuple[Allowed, ...]:
    """What may be decided of a call, as the graph says it; all where it says nothing that is known."""
    found = tuple(kind for kind in _KINDS if isinstance(kinds, list | tuple | set) and kind in kinds)
    return found or _KINDS


def _types_in(schema: Any) -> set[str]:
    """The kinds of decisions that a JSON schema takes: the constants of its properties `type`."""
    found: set[str] = set()
    if isinstance(schema, Mapping):
        kind = schema.get("properties", {}).get("type") if isinstance(schema.get("properties"), Mapping) else None
        if isinstance(kind, Mapping):
            found |= {str(one) for one in (kind.get("const"), *(kind.get("enum") or ())) if one}
        for part in schema.values():
            found |= _types_in(part)
    elif isinstance(schema, list):
        for part in schema:
            found |= _types_in(part)
    return found


def _open_calls(messages: Sequence[BaseMessage]) -> list[Mapping[str, Any]]:
    """The calls of the last answer that has any."""
    last = next((m for m in reversed(messages) if getattr(m, "tool_calls", None)), None)
    return list(getattr(last, "tool_calls", ()))


def _take(open_: list[Mapping[str, Any]], name: str, args: Mapping[str, Any]) -> str:
    """The id of the first of these calls that is the one meant, which is taken off the list."""
    found = next((one for one in open_ if one["name"] == name and one["args"] == args), None)
    if found is None:
        return ""
    open_.remove(found)
    return str(found["id"] or "")


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as JSON has it; what JSON has not is text."""
    plain: dict[str, Any] = json.loads(json.dumps(value, default=str))
    return plain
