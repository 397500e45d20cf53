"""What a run on a server streams, told to the listener as the callbacks of a run in this process would tell it.

The stream mode `events` is LangChain's callbacks, written as JSON: calls of models with their prompts (but not the
tools that were bound), pieces of answers, calls of tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from deepnb.engine.listen import Listener
from deepnb.engine.request import message_text
from deepnb.engine.server_values import Decoder

_PLUMBING = ("runtime", "state", "store", "config")
"""What LangGraph adds to the arguments of a call."""


class EventFeed:
    """Tells a listener of one run, but for what is `known` already."""

    def __init__(
        self, listener: Listener, decoder: Decoder, known: frozenset[str] = frozenset(), *, follows: bool, whole: bool
    ) -> None:
        """`known` are ids of messages and calls. `follows` is for a run that has begun before, of which events may be missing.

        Without `whole` the run streams none, and its messages tell.
        """
        self._follows = follows
        self._listener = listener
        self._decoder = decoder
        self._known = known
        self._whole = whole
        self._open: dict[str | None, list[Mapping[str, Any]]] = {}
        """The run of the tool that an agent works for (None: the main agent) -> its calls that have not begun."""
        self._begun: set[str] = set()
        """Ids of the calls that have."""
        self._tools: dict[str, bool] = {}
        """Run of a tool -> whether the listener knows of it."""
        self._runs: dict[str, UUID] = {}
        """Id of a call that messages alone tell of -> the run that was made up for it."""
        self._held: dict[str, tuple[Any, ...]] = {}
        """Run of a model -> its beginning, until the id of its answer says whether that is known."""
        self._models: set[str] = set()

    def state(self, messages: Sequence[BaseMessage], added: Sequence[BaseMessage]) -> None:
        """The main agent's thread holds these now; what joined it tells of calls that no event told of."""
        calls = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        for one in added:
            if isinstance(one, AIMessage) and not self._whole:
                for call in one.tool_calls:
                    self._start(call)
            elif self._follows and isinstance(one, ToolMessage) and one.tool_call_id not in self._known | self._begun:
                for call in [c for c in calls if c["id"] == one.tool_call_id][-1:]:
                    self._start(call)
            if isinstance(one, ToolMessage) and (run := self._runs.pop(one.tool_call_id, None)):
                self._listener.on_tool_end(one, run_id=run)
        done = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)} | self._begun
        last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        self._open[None] = [c for c in (last.tool_calls if last else ()) if c["id"] not in done]

    def event(self, one: Mapping[str, Any]) -> None:
        """One event of the stream."""
        data, run = one.get("data") or {}, str(one.get("run_id"))
        match one.get("event"):
            case "on_chat_model_start":
                self._held[run] = (one, data)
                self._models.add(run)
                if not self._follows:
                    self._begins(run, None)
            case "on_chat_model_stream" if run in self._models:
                piece = self._decoder.message(data.get("chunk") or {})
                if self._begins(run, piece) and isinstance(piece, AIMessageChunk):
                    chunk = ChatGenerationChunk(message=piece)
                    self._listener.on_llm_new_token(message_text(piece), chunk=chunk, run_id=UUID(run))
            case "on_chat_model_end" if run in self._models:
                self._model_ended(one, run, data.get("output") or {})
            case "on_tool_start":
                self._tool_started(one, run, data)
            case "on_tool_end" if self._tools.get(run):
                self._listener.on_tool_end(self._result(data.get("output")), run_id=UUID(run))
            case "on_tool_error" if self._tools.get(run):
                said = str(data.get("error") or "the tool failed")
                asks = "Interrupt" in said
                self._listener.on_tool_error(GraphBubbleUp() if asks else RuntimeError(said), run_id=UUID(run))

    # -- helpers

    def _start(self, call: Mapping[str, Any]) -> None:
        """A call of the main agent begins that no event tells of."""
        id_ = str(call["id"])
        if id_ in self._known | self._begun:
            return
        self._begun.add(id_)
        run = self._runs[id_] = uuid4()
        inputs = dict(call["args"])
        self._listener.on_tool_start({"name": call["name"]}, "", run_id=run, inputs=inputs, tool_call_id=id_)

    def _begins(self, run: str, answer: BaseMessage | None) -> bool:
        """Whether a call of a model is to be told of. That of a run that is followed begins when a piece of its answer has come."""
        if (held := self._held.pop(run, None)) is None:
            return run in self._models
        if answer is not None and answer.id in self._known:
            self._models.discard(run)
            return False
        one, data = held
        asked = (data.get("input") or {}).get("messages") or [[]]
        self._listener.on_chat_model_start(
            {},
            [self._decoder.messages(asked[0])],
            run_id=UUID(run),
            parent_run_id=self._enclosing(one),
            metadata=dict(one.get("metadata") or {}),
        )
        return True

    def _model_ended(self, one: Mapping[str, Any], run: str, output: Mapping[str, Any]) -> None:
        answer = self._decoder.message(output)
        above = self._enclosing(one)
        if above is not None:
            self._open[str(above)] = list(getattr(answer, "tool_calls", ()))
        if self._begins(run, answer):
            self._listener.on_llm_end(LLMResult(generations=[[ChatGeneration(message=answer)]]), run_id=UUID(run))
        self._models.discard(run)

    def _tool_started(self, one: Mapping[str, Any], run: str, data: Mapping[str, Any]) -> None:
        above, name = self._enclosing(one), str(one.get("name"))
        given = {k: v for k, v in (data.get("input") or {}).items() if k not in _PLUMBING}
        call = self._taken(str(above) if above else None, name, given)
        id_ = str(call["id"]) if call else None
        self._tools[run] = new = id_ not in self._known
        if new:
            inputs = dict(call["args"]) if call else given
            self._listener.on_tool_start(
                {"name": name}, "", run_id=UUID(run), parent_run_id=above, inputs=inputs, tool_call_id=id_
            )

    def _taken(self, above: str | None, name: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The call that has begun, which the event does not name: one of this name, the one with these arguments first."""
        named = [call for call in self._open.get(above, ()) if call["name"] == name]
        found = next((call for call in named if call["args"] == given), named[0] if named else None)
        if found is not None:
            self._open[above].remove(found)
            self._begun.add(str(found["id"]))
        return found

    def _enclosing(self, one: Mapping[str, Any]) -> UUID | None:
        """The run of the tool that an event happened in, the innermost."""
        found = next((run for run in reversed(one.get("parent_ids") or ()) if run in self._tools), None)
        return UUID(found) if found else None

    def _result(self, output: Any) -> Any:
        if isinstance(output, Mapping) and output.get("type") == "tool":
            return self._decoder.message(
                {**output, "id": output.get("id") or f"result of {output.get('tool_call_id')}"}
            )
        update = output.get("update") if isinstance(output, Mapping) else None
        if isinstance(update, Mapping):
            return Command(update={"messages": self._decoder.messages(update.get("messages"))})
        return output
