"""A compiled graph of somebody else's, read and written as deepnb's own is, and what it asks the user.

It asks by LangGraph's `interrupt`: LangChain's approvals, and questions of its own.
"""

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence
from langchain_core.tools import BaseTool
from langgraph._internal._runnable import RunnableCallable
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.last_value import LastValue
from langgraph.errors import EmptyChannelError
from langgraph.graph import END
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command, Overwrite

from deepnb.engine import coroutines, keys
from deepnb.engine.functions import is_async
from deepnb.engine.graph import STREAMED, Config, Graph, state_of
from deepnb.engine.listen import Listener
from deepnb.engine.probe import offload
from deepnb.gate import redact_value
from deepnb.values.approvals import QUESTION, UNREADABLE, Allowed, Decision, PendingCall, digest, is_unreadable
from deepnb.values.errors import RefusedError
from deepnb.values.turn import Compacted

# -- what a compiled graph is made of, as far as its nodes can be looked into: models, middleware, tools


_DEPTH = 14
_MANY = 200


@dataclass(frozen=True)
class GraphParts:
    """What was found, the nearest to the nodes first."""

    models: tuple[BaseChatModel, ...]
    middleware: tuple[AgentMiddleware[Any, Any, Any], ...]
    tools: tuple[BaseTool, ...]
    is_async: bool
    """Whether something in it runs only as a coroutine."""

    def of(self, name: str) -> Any:
        """Return the first middleware that has this name, or whose class is derived from one that has; None if none does."""
        known = ((m, {m.name, *(c.__name__ for c in type(m).__mro__)}) for m in self.middleware)
        return next((m for m, names in known if name in names), None)


def graph_parts(compiled: Any) -> GraphParts:
    """Return the parts of a compiled graph; those of its subagents are left out."""
    models: list[BaseChatModel] = []
    middleware: list[AgentMiddleware[Any, Any, Any]] = []
    tools: dict[str, BaseTool] = {}
    coroutines = False
    seen: set[int] = set()
    todo = deque[tuple[Any, int]]([(compiled, 0)])
    while todo:  # the nearest first, each once
        one, depth = todo.popleft()
        if id(one) in seen or depth > _DEPTH:
            continue
        seen.add(id(one))
        todo += [(other, depth + 1) for other in _held(one)]
        if isinstance(one, BaseChatModel):
            models.append(one)
        elif isinstance(one, AgentMiddleware):
            middleware.append(one)
            coroutines |= any(
                getattr(type(one), f"a{hook}") is not getattr(AgentMiddleware, f"a{hook}")
                and getattr(type(one), hook) is getattr(AgentMiddleware, hook)
                for hook in ("wrap_model_call", "wrap_tool_call")
            )
        elif isinstance(one, BaseTool):
            tools[one.name] = one
            coroutines |= is_async(one) and getattr(one, "func", None) is None
        elif isinstance(one, RunnableCallable):
            coroutines |= one.func is None
    return GraphParts(tuple(models), tuple(middleware), tuple(tools.values()), coroutines)


def _held(one: Any) -> Sequence[Any]:
    match one:
        case BaseChatModel() | AgentMiddleware():
            return ()
        case BaseTool():  # its middleware is what its function closes over; anything deeper is a subagent's
            return [m for m in _cells(getattr(one, "func", None)) if isinstance(m, AgentMiddleware)]
        case Pregel():
            return [node.bound for node in one.nodes.values()]
        case ToolNode():
            return list(one.tools_by_name.values())
        case RunnableCallable():
            return [one.func, one.afunc]
        case RunnableBinding():
            return [one.bound]
        case RunnableSequence():
            return one.steps
        case MethodType():
            return [one.__self__, one.__func__]
        case partial():
            return [one.func, *one.args, *one.keywords.values()]
        case FunctionType():
            own = one.__globals__  # of what it names, runnables and functions of the same module
            named = [own[name] for name in one.__code__.co_names if name in own]
            mine = (f for f in named if isinstance(f, Runnable | FunctionType))
            return [*_cells(one), *(f for f in mine if isinstance(f, Runnable) or f.__globals__ is own)]
        case list() | tuple():
            return one[:_MANY]
        case dict():
            return list(one.values())[:_MANY]
    return ()


def _cells(function: Any) -> list[Any]:
    return [c.cell_contents for c in getattr(function, "__closure__", None) or () if c != CellType()]


_KINDS: tuple[Allowed, ...] = ("approve", "edit", "reject")
_NUMBER = ":"


class Questions(Graph):
    """What a graph asks, and what it is given for an answer; nothing that it asks is signed by deepnb."""

    def asked(self, interrupts: Iterable[Any], thread: str, messages: Sequence[Any]) -> tuple[PendingCall, ...]:
        # one interrupt for several calls does not tell their ids: the last answer that has any does
        last = next((m for m in reversed(messages) if getattr(m, "tool_calls", None)), None)
        open_ = list(getattr(last, "tool_calls", ()))
        return tuple(call for one in interrupts for call in _calls(one, thread, open_))

    def pending(self, thread: str, state: Any) -> tuple[PendingCall, ...]:
        found = [one for task in state.tasks for one in task.interrupts]
        return self.asked(found, thread, state.values.get(keys.MESSAGES) or ())

    def answers(self, decisions: Iterable[Decision]) -> Command[Any]:
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
    actions = value.get("action_requests") if isinstance(value, Mapping) else None
    if isinstance(actions, list) and actions and all(map(_has_name_and_args, actions)):
        # LangChain's `HumanInTheLoopMiddleware` asks about all calls of an answer at once
        rules = {str(r.get("action_name")): r for r in value.get("review_configs") or () if isinstance(r, Mapping)}
        for number, action in enumerate(actions):
            name, args = str(action["name"]), dict(action["args"])
            allowed = _allowed((rules.get(name) or {}).get("allowed_decisions"))
            meant = next((one for one in open_ if one["name"] == name and one["args"] == args), None)
            if meant is not None:
                open_.remove(meant)
            id_ = str(meant["id"] or "") if meant else ""
            yield _call(id_, name, args, f"{interrupt.id}{_NUMBER}{number}", thread, allowed)
    elif isinstance(value, Mapping) and value.get("type") == "tool_approval" and _has_name_and_args(value):
        # it asks about one
        id_, name, args = str(value.get("tool_call_id") or ""), str(value["name"]), dict(value["args"])
        yield _call(id_, name, args, interrupt.id, thread, _allowed(_types_in(interrupt.response_schema)))
    else:
        shown = value if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else {"value": value}
        plain: dict[str, Any] = json.loads(json.dumps(shown, default=str))  # what JSON has not is text
        yield _call("", "interrupt", plain, interrupt.id, thread, QUESTION)


def _call(
    id_: str, name: str, args: dict[str, Any], key: str, thread: str, allowed: tuple[Allowed, ...]
) -> PendingCall:
    shown = redact_value(args)
    allowed = UNREADABLE if allowed != QUESTION and is_unreadable(args, shown) else allowed
    return PendingCall(id_ or key, name, shown, digest(name, args), key, thread, allowed=allowed)


def _answer(decision: Decision) -> Any:
    match decision.kind:
        case "answer":
            return decision.value
        case "edit":
            return {"type": "edit", "edited_action": {"name": decision.call.name, "args": dict(decision.args or {})}}
        case "reject":
            return {"type": "reject", **({"message": decision.reason} if decision.reason else {})}
    return {"type": "approve"}


def _has_name_and_args(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and isinstance(value.get("args"), Mapping)


def _allowed(kinds: Any) -> tuple[Allowed, ...]:
    found = tuple(kind for kind in _KINDS if isinstance(kinds, list | tuple | set) and kind in kinds)
    return found or _KINDS


def _types_in(schema: Any) -> set[str]:
    """Return the kinds of decisions that a JSON schema takes: the constants of its properties `type`."""
    found: set[str] = set()
    if isinstance(schema, Mapping):
        kind = schema.get("properties", {}).get("type") if isinstance(schema.get("properties"), Mapping) else None
        if isinstance(kind, Mapping):
            found |= {str(one) for one in (kind.get("const"), *(kind.get("enum") or ())) if one}
        schema = [*schema.values()]
    return found.union(*map(_types_in, schema if isinstance(schema, list) else ()))


class AttachedGraph(Questions):
    """Translates the name of its messages, and writes only what it has a channel for."""

    compiled: Any = None

    def __init__(self, compiled: Any, messages: str = keys.MESSAGES, *, is_async: bool = False) -> None:
        """`messages` is the channel of the conversation; `is_async` runs it as a coroutine."""
        self.compiled = compiled
        self._messages = messages
        self._is_async = is_async
        self._channels: Mapping[str, Any] = compiled.builder.channels
        nodes, edges, branches = compiled.builder.nodes, compiled.builder.edges, compiled.builder.branches
        plain = [name for name in nodes if not branches.get(name)]
        ends = [name for name in plain if (name, END) in edges]
        self._writer = str(next(iter((*ends, *plain, *nodes))))
        """The node that state is written as from: the fewer nodes follow on it, the fewer are dropped again."""

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        if (listener := listener_of(config)) is not None:
            listener.wakes_nodes = True
        value = self._theirs(given) if isinstance(given, Mapping) and not isinstance(given, Command) else given
        if self._is_async:
            chunks = coroutines.read(partial(self.compiled.astream, value, config, **STREAMED))
        else:
            chunks = self.compiled.stream(value, config, **STREAMED)
        before: dict[str, Any] | None = None
        for mode, chunk in chunks:
            if mode == "values":
                values = self._ours(chunk)
                if before is not None:
                    yield "updates", {"": {keys.MESSAGES: added_messages(before, values)}}
                    tell_compaction(listener, before, values)
                yield mode, (before := values)
            elif keys.INTERRUPT in chunk:
                yield mode, chunk

    def state(self, config: Config) -> Any:
        found = state_of(self.compiled, config, self._messages)
        return found._replace(values=self._ours(found.values))

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        known = {name: value for name, value in self._theirs(values).items() if name in self._channels}
        if known:
            self.compiled.update_state(config, known, as_node=self._writer)
        if not known or self.compiled.get_state(config).next:
            self.drop_pending_steps(config)

    def replace_state(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        now, then = self.compiled.get_state(config).values, self._theirs(values)
        written: dict[str, Any] = {}
        for name in {*now, *then} & self._channels.keys():
            channel, value = self._channels[name], then.get(name)
            if isinstance(channel, LastValue):
                written[name] = value
            elif isinstance(channel, BinaryOperatorAggregate | DeltaChannel):
                if value is None:  # what it holds before anything was written to it
                    try:
                        value = channel.copy().get()
                    except EmptyChannelError:
                        value = channel.typ() if isinstance(channel.typ, type) else []
                written[name] = Overwrite(value)  # whatever its reducer
        self.update(config, self._ours(written))

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        if "tools" not in self.compiled.nodes:
            what = "the graph has no node named tools that could skip a call"
            raise RefusedError(what, "%agent resume again runs it again, %agent PROMPT continues without it")
        self.compiled.update_state(config, {self._messages: list(results)}, as_node="tools")

    def _theirs(self, values: Mapping[str, Any]) -> dict[str, Any]:
        named = {self._messages if name == keys.MESSAGES else name: value for name, value in values.items()}
        if isinstance(held := named.get(self._messages), list):
            named[self._messages] = [
                m.model_copy(update={"id": None})
                if isinstance(m, BaseMessage) and (m.id or "").startswith(_NUMBERED)
                else m
                for m in held
            ]
        return named

    def _ours(self, values: Any) -> dict[str, Any]:
        """Return values with the conversation under its usual name, as LangChain's messages."""
        named = dict(values) if isinstance(values, Mapping) else {}
        if self._messages != keys.MESSAGES and (self._messages in named or keys.MESSAGES in named):
            named.pop(keys.MESSAGES, None)
            if self._messages in named:
                named[keys.MESSAGES] = named.pop(self._messages)
        if isinstance(held := named.get(keys.MESSAGES), list):
            messages = held if all(isinstance(m, BaseMessage) for m in held) else convert_to_messages(held)
            named[keys.MESSAGES] = [
                m if m.id else m.model_copy(update={"id": f"{_NUMBERED}{number}"}) for number, m in enumerate(messages)
            ]
        return named


_NUMBERED = "deepnb-"
"""Before the place of a message that a reducer of the user's leaves without an id: by that it is known again."""


def listener_of(config: Config) -> Listener | None:
    return next((one for one in config.get("callbacks") or () if isinstance(one, Listener)), None)


def tell_compaction(listener: Listener | None, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Tell the listener of a run that messages were offloaded since the last state."""
    made, known = (offload(state.get(keys.OFFLOAD)) for state in (now, before))
    if made is not None and made != known and listener is not None:
        gone = made.cutoff - (known.cutoff if known else 0)
        listener.emit(Compacted(made if made.messages else replace(made, messages=max(0, gone))))


def added_messages(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[BaseMessage]:
    known = {message.id for message in before.get(keys.MESSAGES) or ()}
    return [message for message in now.get(keys.MESSAGES) or () if message.id not in known]
