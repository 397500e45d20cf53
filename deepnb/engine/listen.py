"""A callback handler that turns what happens inside a run into Events, nested agents included."""

import ctypes
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, dispatch_custom_event
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import ensure_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.errors import GraphBubbleUp

from deepnb.engine import keys
from deepnb.engine.answer import ArgumentTexts, Reader, cut_short, hang_up, reader, usage
from deepnb.engine.probe import to_message
from deepnb.engine.request import message_text, result_text, thinking_text
from deepnb.gate import redact_value
from deepnb.values import turn as values
from deepnb.values.agent import TASK
from deepnb.values.answers import SpokenText
from deepnb.values.failures import failure_text, own_traceback
from deepnb.values.lazy import nothing
from deepnb.values.messages import Added, Message
from deepnb.values.text import whole, whole_value

_LOG = logging.getLogger("deepnb")

_PURPOSES: dict[str, values.Purpose] = {keys.SUMMARY_SOURCE: "summary", keys.FLUSH_SOURCE: "flush"}


MOST = 3
"""Answers that may make the same calls and get the same results; the next one is not asked for."""


class Cancelled(KeyboardInterrupt):
    """Raised inside a run that was interrupted, wherever it next calls back."""


class LimitReached(Cancelled):
    """Raised before a model call that would pass one of the turn's limits; `str()` says which."""


@dataclass
class Limits:
    """Says when the next call is not to be made: steps are those of one agent, tokens and cost those of all."""

    max_steps: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    _steps: Counter[values.Path] = field(default_factory=Counter)
    _spent: int = 0
    _paid: float = 0.0
    _begun: dict[tuple[values.Path, str], values.ToolStarted] = field(default_factory=dict)
    _made: dict[values.Path, list[tuple[str, Any, str]]] = field(default_factory=dict)
    """Agent -> (name, arguments, result) of the calls of its last answer."""
    _before: dict[values.Path, tuple[list[tuple[str, Any, str]], int]] = field(default_factory=dict)
    """Agent -> the calls of the answer before it, and how many answers running made these."""

    def add(self, event: values.Event) -> None:
        match event:
            case values.ToolStarted():
                self._begun[event.path, event.id] = event
            case values.ToolEnded() if begun := self._begun.pop((event.path, event.id), None):
                self._made.setdefault(event.path, []).append((event.name, begun.args, event.result))
            case values.ModelEnded(call=call):
                self._spent += call.spent.input + call.spent.output
                self._paid += (call.usage and call.usage.cost) or 0.0

    def count(self, path: values.Path, agent: str) -> None:
        """Count a step that an agent is about to make; raise LimitReached if it is one too many."""
        if self.max_cost is not None and self._paid >= self.max_cost:
            raise LimitReached(f"reached the limit of ${self.max_cost:g}")
        if self.max_tokens is not None and self._spent >= self.max_tokens:
            plural = "s" if self.max_tokens != 1 else ""
            raise LimitReached(f"reached the limit of {self.max_tokens:,} token{plural}")
        if self.max_steps is not None and self._steps[path] >= self.max_steps:
            plural, where = "s" if self.max_steps != 1 else "", f" in the subagent {agent}" if path else ""
            raise LimitReached(f"reached the limit of {self.max_steps} step{plural}{where}")
        made = sorted(self._made.pop(path, []), key=repr)
        before, times = self._before.get(path, ([], 0))
        times = times + 1 if made == before else 1
        self._before[path] = made, times
        if made and times >= MOST:
            name = made[0][0]
            raise LimitReached(f"{name} was called {MOST} times running with the same arguments and the same result")
        self._steps[path] += 1


@dataclass
class _ModelRun:
    call: values.Call
    provider: str
    reads: Reader | None
    spoken: SpokenText
    began: float = field(default_factory=time.perf_counter)
    arguments: ArgumentTexts = field(default_factory=ArgumentTexts)
    has_thought: bool = False
    has_begun: bool = False


class Listener(BaseCallbackHandler, _StreamingCallbackHandler):
    """Tells of every model call, token and tool of a run through `emit`.

    Being a streaming handler makes LangChain stream models that a node only `invoke`s. Once `cancel` was called each
    callback that begins something raises `Cancelled`. What ends is kept, until nobody waits for it: a tool that comes
    back later can't write a result into a thread that has gone on without it.
    """

    run_inline = True
    raise_error = True

    def __init__(
        self,
        emit: Callable[[values.Event], None],
        ledger: Any,
        *limits: Any,
        added: Callable[[Added], None] = nothing,
    ) -> None:
        """Tools' threads call `emit`; `added` takes each whole answer after its ModelEnded; `ledger` is a Recorder."""
        self._emit = emit
        self._added = added
        self._places: dict[tuple[values.Path, str], int] = {}
        """(agent, id) of a call -> its place among the calls of the agent's last answer."""
        self._ledger = ledger
        self._limits = Limits(*limits)
        self._inside: dict[UUID, tuple[values.Path, str]] = {}
        """Run -> the path of what happens in it, and the name of the subagent it happens in, empty for the main one."""
        self._tools: dict[UUID, tuple[str, str, float]] = {}
        self._models: dict[UUID, _ModelRun] = {}
        self._busy: dict[UUID, int] = {}
        self._calls = ledger.calls
        self._said: set[str] = set()
        self._told: set[int] = set()
        """The numbers of the calls that have said something."""
        self._failed: dict[values.Path, values.Call] = {}
        """Where -> the call that failed there last: if it is made again, it is the same call."""
        self.begun: dict[str, str] = {}
        """The calls of the main agent's last answer that have begun: id -> name; without those that ask the user themselves."""
        self._cancelled = threading.Event()
        self.is_late = False
        self.wakes_nodes = False
        """Whether nodes do work of their own, as those of somebody else's graph may."""

    def emit(self, event: values.Event) -> None:
        if isinstance(event, values.ToolStarted):
            event = replace(event, place=self._places.get((event.path, event.id), 0))
        self._limits.add(event)
        self._emit(event)

    def expect(self, path: values.Path, ids: Iterable[str]) -> None:
        self._places.update({(path, id_): place for place, id_ in enumerate(ids)})

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def wake(self) -> None:
        """Raise `Cancelled` in the threads that are inside a model, a tool, or a node of somebody else's just now.

        Python delivers it between two bytecodes: a tool blocked in C sees it when it returns. A model that waits for its
        server does not: its connection is ended, which the server sees.
        """
        busy = self._busy.copy()  # tools that run side by side come and go
        for thread in set(busy.values()):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))
        for thread in {busy[run] for run in tuple(self._models) if run in busy}:
            hang_up(thread)

    def wait(self, seconds: float) -> None:
        """Let some seconds pass; a run that is cancelled meanwhile ends."""
        self._cancelled.wait(seconds)
        self._check()

    def said(self, message: Message) -> None:
        """Tell of an answer that no model call gave: a node wrote it."""
        if message.text and message.text not in self._said:
            gap = "\n\n" if self._calls in self._told else ""
            self._told.add(self._calls)
            self.emit(values.TextDelta(f"{gap}{message.text}", self._calls))

    # -- nodes and chains: only what is inside of what

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **given: Any) -> None:
        self._check()
        self._inside[run_id] = self._at(given.get("parent_run_id"))
        if self.wakes_nodes and (given.get("metadata") or {}).get("langgraph_node") == given.get("name"):
            self._busy[run_id] = threading.get_ident()

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._busy.pop(run_id, None)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._inside.pop(run_id, None)
        self._busy.pop(run_id, None)
        if self.is_late:
            raise Cancelled

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **given: Any
    ) -> None:
        self._check()
        facts = given.get("metadata") or {}
        purpose = _PURPOSES.get(facts.get("lc_source") or "", "answer")
        self._inside[run_id] = path, agent = self._at(given.get("parent_run_id"))
        failed = self._failed.pop(path, None)
        again = failed is not None and failed.purpose == purpose
        if purpose == "answer" and not again:
            self._limits.count(path, agent)
        if not path:
            self.begun.clear()
        self._calls += not again
        number = failed.number if failed is not None and again else self._calls
        tools = (given.get("invocation_params") or {}).get("tools") or ()
        budget, request = self._ledger.sent(messages[0], tools, path, purpose, agent)
        model = str(facts.get("ls_model_name") or "") or self._ledger.label(agent)
        call = values.Call(number, purpose, path, budget, model=model, agent=agent, request=request)
        provider, reads = str(facts.get("ls_provider") or ""), reader()
        self._models[run_id] = _ModelRun(call, provider, reads, SpokenText(reads.offered if reads else ()))
        self._busy[run_id] = threading.get_ident()
        self.emit(values.ModelStarted(call, call.path))

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:
        if self._cancelled.is_set():
            raise Cancelled
        if (run := self._models.get(run_id)) is None:
            return
        run.has_begun = True
        text = token
        if chunk is not None and hasattr(chunk, "message"):
            if thought := thinking_text(chunk.message):
                self._grow(run, thought, values.ThinkingDelta)
            text = message_text(chunk.message)
            if pieces := getattr(chunk.message, "tool_call_chunks", None):
                run.arguments.add(pieces)
        if text and isinstance(text, str):
            self._say(run, text)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        self._busy.pop(run_id, None)
        self._inside.pop(run_id, None)
        if (run := self._models.pop(run_id, None)) is None:
            return
        run.arguments.end()
        call = run.call
        message = getattr(response.generations[0][0], "message", None) if response.generations else None
        if message is not None:
            if not run.has_thought and not run.spoken.begun:
                self._grow(run, thinking_text(message), values.ThinkingDelta)
            if not run.spoken.begun:
                self._say(run, message_text(message))
            message, whole = run.reads.read(message) if run.reads else message, message
            if message is whole or message.content:
                self._grow(run, run.spoken.end(), values.TextDelta)
        reported = usage(message)
        paid = self._ledger.reported(reported, call) if reported else None
        counted = self._ledger.answered(message, call.agent) if message is not None and reported is None else 0
        ended = replace(call, usage=paid, seconds=time.perf_counter() - run.began, answered=counted)
        self.emit(values.ModelEnded(ended, call.path))
        if message is not None and (line := cut_short(message.response_metadata, run.provider)):
            self.emit(values.Notice(line, call.path))
        if call.purpose == "answer" and message is not None:
            self._said.add(message_text(message))
            self.expect(call.path, [made["id"] for made in getattr(message, "tool_calls", ()) if made["id"]])
            self._added(Added(replace(to_message(message), role="assistant"), call.path, call.number))
        self._check()

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._busy.pop(run_id, None)
        self._inside.pop(run_id, None)
        if run := self._models.pop(run_id, None):
            self._failed[run.call.path] = run.call
            error.broke_off = run.has_begun  # type: ignore[attr-defined]

    def on_tool_start(self, serialized: dict[str, Any] | None, input_str: str, *, run_id: UUID, **given: Any) -> None:
        name = (serialized or {}).get("name") or given.get("name") or "tool"
        id_, inputs = given.get("tool_call_id") or str(run_id), given.get("inputs")
        path, agent = self._at(given.get("parent_run_id"))
        if not path:
            self.begun[id_] = name  # before it is checked: who cancels after that knows of it
        if self._cancelled.is_set():
            self.begun.pop(id_, None)
            raise Cancelled
        called = str(inputs.get("subagent_type") or "") if name == TASK and inputs is not None else agent
        self._inside[run_id] = (*path, id_), called
        self._tools[run_id] = (id_, name, time.perf_counter())
        self._busy[run_id] = threading.get_ident()
        args = whole_value(redact_value(dict(inputs) if inputs is not None else {"input": input_str}))
        self.emit(values.ToolStarted(id_, name, args, path))

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        status = "error" if isinstance(output, ToolMessage) and output.status == "error" else "ok"
        self._tool_ended(run_id, result_text(output), status)
        if self.is_late:
            raise Cancelled

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        if isinstance(error, GraphBubbleUp):
            nested = self._at(run_id)[0][:-1]
            if (known := self._forget_tool(run_id)) and not nested:
                self.begun.pop(known[0], None)
        elif isinstance(error, KeyboardInterrupt):
            self._tool_ended(run_id, "interrupted", "cut")
        elif isinstance(error, Exception):  # not every LangChain says more; `ToolErrorsMiddleware` tells of the others
            self._tool_ended(run_id, failure_text(error), "error", own_traceback(error))

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        """Tell of an event that our own middleware sends with `tell`."""
        if name != keys.TELL:
            return
        # a decision names the path of its call itself
        event = data if isinstance(data, values.Decided) else replace(data, path=self._at(run_id)[0])
        if isinstance(event, values.TextDelta):  # of an answer that was read as more than text
            gap = "\n\n" if self._calls in self._told else ""
            event = replace(event, text=f"{gap}{event.text}", call=self._calls)
        if isinstance(event, values.ToolEnded):
            for run, known in tuple(self._tools.items()):
                if known[0] == event.id and self._at(run)[0][:-1] == event.path:
                    self._forget_tool(run)
        self.emit(event)

    def tap_output_iter(self, run_id: UUID, output: Any) -> Any:
        return output

    tap_output_aiter = tap_output_iter

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _say(self, run: _ModelRun, text: str) -> None:
        for is_thought, piece in run.spoken.add(text):
            self._grow(run, piece, values.ThinkingDelta if is_thought else values.TextDelta)

    def _grow(self, run: _ModelRun, text: str, kind: type[values.TextDelta | values.ThinkingDelta]) -> None:
        if (text := whole(text)) and run.call.purpose == "answer":
            run.has_thought |= kind is values.ThinkingDelta
            self._told.add(run.call.number)
            self.emit(kind(text, run.call.number, run.call.path))

    def _tool_ended(self, run_id: UUID, result: str, status: Any, traceback: str = "") -> None:
        path = self._at(run_id)[0][:-1]
        if known := self._forget_tool(run_id):
            id_, name, began = known
            took, result, traceback = time.perf_counter() - began, whole(result), whole(traceback)
            self.emit(values.ToolEnded(id_, name, result, status, took, path, traceback))

    def _forget_tool(self, run_id: UUID) -> tuple[str, str, float] | None:
        self._busy.pop(run_id, None)
        self._inside.pop(run_id, None)
        return self._tools.pop(run_id, None)

    def _at(self, run_id: UUID | None) -> tuple[values.Path, str]:
        return self._inside.get(run_id, ((), "")) if run_id is not None else ((), "")


def tell(event: values.Event) -> None:
    """Send an event from inside a run; where no listener hears it, a notice is logged and nothing else sent.

    An event is no value that a server's stream could hold. The listener adds the path of the agent that sends it.
    """
    if listener() is not None:
        dispatch_custom_event(keys.TELL, event)
    elif isinstance(event, values.Notice):
        _LOG.warning("%s", event.text)


def tell_notice(line: str) -> None:
    tell(values.Notice(line))


def listener() -> Listener | None:
    callbacks = ensure_config().get("callbacks") or ()
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks
    return next((handler for handler in handlers if isinstance(handler, Listener)), None)
