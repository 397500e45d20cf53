"""A graph on a LangGraph server, run, read and written as one of this process is."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END
from langgraph.types import Command

from deepnb.engine import keys
from deepnb.engine.attached_graph import Questions, added_messages, listener_of, tell_compaction
from deepnb.engine.graph import MODES, Config
from deepnb.engine.listen import Cancelled, Listener
from deepnb.engine.request import message_text
from deepnb.gate import redact
from deepnb.values.errors import RefusedError, RunError
from deepnb.wings.server.server import GoneError, lost
from deepnb.wings.server.threads import GOING, Decoder, ServerThreads, ids_of, to_json
from deepnb.wings.server.threads import interrupts as asked_in

# -- what a run on a server streams, told to the listener as the callbacks of a run in this process would tell it


_PLUMBING = ("runtime", "state", "store", "config")
"""What LangGraph adds to the arguments of a call."""
_STREAM = (*MODES, "events")
_RECURSION = 9_999
"""Steps of a graph, as deepagents sets them; a server's own limit of 25 is some eight calls of tools. `max_steps` is the turn's."""
_LOOK_UP = 0.05
"""Seconds after which a thread that waits for the server looks whether the run was cancelled."""
_ENDING = 5.0
"""Seconds within which the server knows that a run has ended whose stream has."""


class EventFeed:
    """Tells a listener of one run, but for what is `known` already."""

    def __init__(self, listener: Listener, decoder: Decoder, known: frozenset[str], *, follows: bool) -> None:
        """`known` are ids of messages and calls. `follows` is for a run that has begun before, of which events may be missing."""
        self._follows = follows
        self._listener = listener
        self._decoder = decoder
        self._known = known
        self._open: dict[str | None, list[Mapping[str, Any]]] = {}
        """The run of the tool that an agent works for (None: the main agent) -> its calls that have not begun."""
        self._begun: set[str] = set()
        """Ids of the calls that have."""
        self._tools: dict[str, bool] = {}
        """Run of a tool -> whether the listener knows of it."""
        self._held: dict[str, tuple[Any, ...]] = {}
        """Run of a model -> its beginning, until the id of its answer says whether that is known."""
        self._models: set[str] = set()

    def state(self, messages: Sequence[BaseMessage], added: Sequence[BaseMessage]) -> None:
        """The main agent's thread holds these now; what joined it tells of calls that no event told of."""
        calls = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        for one in added:
            if self._follows and isinstance(one, ToolMessage) and one.tool_call_id not in self._known | self._begun:
                for call in [c for c in calls if c["id"] == one.tool_call_id][-1:]:
                    self._begun.add(one.tool_call_id)
                    run, inputs, id_ = uuid4(), dict(call["args"]), one.tool_call_id
                    self._listener.on_tool_start(
                        {"name": call["name"]}, "", run_id=run, inputs=inputs, tool_call_id=id_
                    )
                    self._listener.on_tool_end(one, run_id=run)
        done = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)} | self._begun
        last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        self._open[None] = [c for c in (last.tool_calls if last else ()) if c["id"] not in done]

    def event(self, one: Mapping[str, Any]) -> None:
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
                answer, above = self._decoder.message(data.get("output") or {}), self._enclosing(one)
                if above is not None:
                    self._open[str(above)] = list(getattr(answer, "tool_calls", ()))
                if self._begins(run, answer):
                    result = LLMResult(generations=[[ChatGeneration(message=answer)]])
                    self._listener.on_llm_end(result, run_id=UUID(run))
                self._models.discard(run)
            case "on_tool_start":
                self._tool_started(one, run, data)
            case "on_tool_end" if self._tools.get(run):
                self._listener.on_tool_end(self._result(data.get("output")), run_id=UUID(run))
            case "on_tool_error" if self._tools.get(run):
                said = str(data.get("error") or "the tool failed")
                asks = "Interrupt" in said
                self._listener.on_tool_error(GraphBubbleUp() if asks else RuntimeError(said), run_id=UUID(run))

    def _begins(self, run: str, answer: BaseMessage | None) -> bool:
        """Return whether a call of a model is to be told of; in a run that is followed, once a piece of its answer has come."""
        if (held := self._held.pop(run, None)) is None:
            return run in self._models
        if answer is not None and answer.id in self._known:
            self._models.discard(run)
            return False
        one, data = held
        asked = (data.get("input") or {}).get("messages") or [[]]
        sent, above, about = self._decoder.messages(asked[0]), self._enclosing(one), dict(one.get("metadata") or {})
        self._listener.on_chat_model_start({}, [sent], run_id=UUID(run), parent_run_id=above, metadata=about)
        return True

    def _tool_started(self, one: Mapping[str, Any], run: str, data: Mapping[str, Any]) -> None:
        above, name = self._enclosing(one), str(one.get("name"))
        given = {k: v for k, v in (data.get("input") or {}).items() if k not in _PLUMBING}
        waiting = self._open.get(str(above) if above else None, [])
        named = [one for one in waiting if one["name"] == name]
        # The event does not name its call: it is one of this name that has not begun, that with these arguments first.
        call = next((one for one in named if one["args"] == given), named[0] if named else None)
        if call is not None:
            waiting.remove(call)
            self._begun.add(str(call["id"]))
        id_ = str(call["id"]) if call else None
        self._tools[run] = new = id_ not in self._known
        if new:
            inputs = dict(call["args"]) if call else given
            self._listener.on_tool_start(
                {"name": name}, "", run_id=UUID(run), parent_run_id=above, inputs=inputs, tool_call_id=id_
            )

    def _enclosing(self, one: Mapping[str, Any]) -> UUID | None:
        found = next((run for run in reversed(one.get("parent_ids") or ()) if run in self._tools), None)
        return UUID(found) if found else None

    def _result(self, output: Any) -> Any:
        if isinstance(output, Mapping) and output.get("type") == "tool":
            id_ = output.get("id") or f"result of {output.get('tool_call_id')}"
            return self._decoder.message({**output, "id": id_})
        update = output.get("update") if isinstance(output, Mapping) else None
        if isinstance(update, Mapping):
            return Command(update={"messages": self._decoder.messages(update.get("messages"))})
        return output


class ServerGraph(Questions):
    """One assistant. A run goes on when the kernel dies, and stops when the user stops it."""

    def __init__(
        self, threads: ServerThreads, assistant: str, nodes: Mapping[str, Any], channels: Iterable[str]
    ) -> None:
        """`nodes` is the graph as the server draws it, and `channels` are those of its state."""
        self._threads = threads
        self._assistant = assistant
        self._server = threads.server
        self._decoder = threads.decoder
        self._channels = frozenset(channels)
        self._nodes = {str(one["id"]) for one in nodes.get("nodes") or ()}
        self._writer = _writer(nodes)

    @cached_property
    def compiled(self) -> Any:
        from langgraph.pregel.remote import RemoteGraph

        return RemoteGraph(self._assistant, sync_client=self._server.client)

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        name, listener = config["configurable"]["thread_id"], listener_of(config)
        assert listener is not None
        run = _Run(self._server.client)
        under_way = self._threads.run_under_way(name) if given is None else None
        known = self._threads.known.get(name, frozenset()) if under_way else frozenset[str]()
        feed = EventFeed(listener, self._decoder, known, follows=under_way is not None)
        parts: Callable[[], Iterator[Any]]
        if under_way:
            thread, id_ = str(self._threads.id(name)), str(under_way["run_id"])
            run.created(thread, id_)
            # A server that is asked for several modes here sends the last one alone: it is asked for none, and sends all.
            parts = partial(self._server.client.runs.join_stream, thread, id_, last_event_id="0")
        else:
            parts = self._begun(name, given, config, run)
        try:
            yield from self._updates(run.read(parts, listener, self._server.errors), feed, listener, known)
            # A stream that ends says not whether its run has; an error where that goes on without us.
            until, runs = monotonic() + _ENDING, self._server.client.runs
            try:
                while run.id and self._server.ask(runs.get, self._threads.there(name), run.id)["status"] in GOING:
                    if monotonic() > until:
                        raise lost(self._server.address)
                    listener.wait(_LOOK_UP)
            except (GoneError, RunError):  # it has ended, or begun anew without this run
                raise lost(self._server.address) from None
        except (Cancelled, GeneratorExit):
            run.cancel()
            raise

    def _begun(self, name: str, given: Any, config: Config, run: _Run) -> Callable[[], Iterator[Any]]:
        id_ = self._threads.ensure(name, config.get("metadata") or {})
        how: dict[str, Any] = {"input": None}
        if isinstance(given, Command):
            how = {"command": {"resume": given.resume}}
        elif given is not None:
            how = {"input": to_json(given, self._decoder.channel)}
        client: Any = self._server.client
        return lambda: client.runs.stream(
            id_,
            self._assistant,
            config={"recursion_limit": _RECURSION},
            stream_mode=list(_STREAM),
            stream_resumable=True,
            on_disconnect="continue",
            multitask_strategy="reject",
            on_run_created=lambda made: run.created(id_, made["run_id"]),
            **how,
        )

    def _updates(
        self, parts: Iterator[Any], feed: EventFeed, listener: Listener, known: frozenset[str]
    ) -> Iterator[tuple[str, Any]]:
        before: dict[str, Any] | None = None
        for part in parts:
            match part.event:
                case "events":
                    feed.event(part.data)
                case "values":
                    values = self._decoder.values(part.data)
                    first = {} if known else values  # of a run that is followed, the first state has news, too
                    new = [m for m in added_messages(before or first, values) if m.id not in known]
                    feed.state(values.get(keys.MESSAGES) or (), new)
                    if new:
                        yield "updates", {"": {keys.MESSAGES: new}}
                    tell_compaction(listener, before or values, values)
                    yield "values", (before := values)
                case "updates" if part.data.get(keys.INTERRUPT):
                    yield "updates", {keys.INTERRUPT: asked_in(part.data[keys.INTERRUPT])}
                case "error":
                    data = part.data if isinstance(part.data, Mapping) else {}
                    kind, said = (str(data.get(key) or "") for key in ("error", "message"))
                    words = " ".join(redact(f"{kind}: {said}" if said else kind or "no reason given").split())
                    raise RunError(f"the run failed on the server: {words}", "its log says more; run the cell again")

    def is_running(self, config: Config) -> bool:
        return self._threads.run_under_way(config["configurable"]["thread_id"]) is not None

    def state(self, config: Config) -> Any:
        place = config["configurable"]
        name, checkpoint = place["thread_id"], place.get("checkpoint_id")
        found = self._decoder.snapshot(name, self._threads.state(name, checkpoint))
        if checkpoint is None:
            self._threads.known[name] = ids_of(found.values)
        return found

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        theirs = to_json(values, self._decoder.channel)
        known = {name: value for name, value in theirs.items() if name in self._channels}
        if known:
            self._write(config, known, self._writer)
        if not known or self.state(config).next:
            self.drop_pending_steps(config)

    def replace_state(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        name = config["configurable"]["thread_id"]
        if source is None:
            self._threads.delete_thread(name)
            self.update(config, values)
            return
        place = source["configurable"]
        if self._threads.id(name) is None:
            self._threads.copy(place["thread_id"], name, config.get("metadata") or {})
        there = {**config["configurable"], "checkpoint_id": place["checkpoint_id"]}
        self.restore_checkpoint({**config, "configurable": there})

    def restore_checkpoint(self, config: Config) -> None:
        self._write(config, None, keys.COPY_NODE)

    def drop_pending_steps(self, config: Config) -> None:
        self._write(config, None, END)

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        if "tools" not in self._nodes:
            what = "the graph has no node named tools that could skip a call"
            raise RefusedError(what, "%agent resume again runs it again, %agent PROMPT continues without it")
        self._write(config, to_json({keys.MESSAGES: list(results)}, self._decoder.channel), "tools")

    def _write(self, config: Config, values: Mapping[str, Any] | None, node: str) -> None:
        place = config["configurable"]
        id_, at = self._threads.ensure(place["thread_id"], config.get("metadata") or {}), place.get("checkpoint_id")
        given: Any = dict(values) if values is not None else None
        self._server.ask(self._server.client.threads.update_state, id_, given, as_node=node, checkpoint_id=at)


class _Run:
    """One run on the server, read in a thread of its own: so it can be stopped while the server is silent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._thread = ""
        self._cancelled = False
        self.id = ""

    def created(self, thread: str, run: str) -> None:
        self._thread, self.id = thread, run
        if self._cancelled:
            self._stop()

    def read(self, begin: Callable[[], Iterator[Any]], listener: Listener, errors: Callable[[], Any]) -> Iterator[Any]:
        parts: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def pump() -> None:
            try:
                with errors():
                    for part in begin():
                        parts.put(part)
                        if self._cancelled:
                            return
                parts.put(None)
            except BaseException as error:  # handed to the thread that reads, which raises it
                parts.put(error)

        threading.Thread(target=pump, daemon=True, name="deepnb-server").start()
        while True:
            try:
                part = parts.get(timeout=_LOOK_UP)
            except queue.Empty:
                if listener.is_cancelled:
                    raise Cancelled from None
                continue
            if part is None:
                return
            if isinstance(part, BaseException):
                raise part
            yield part

    def cancel(self) -> None:
        """Stop it, with all kept that was reached; nothing that interrupts this thread cuts that in two."""
        self._cancelled = True
        if not self.id:
            return
        stopping = threading.Thread(target=self._stop, daemon=True, name="deepnb-server-stop")
        stopping.start()
        while stopping.is_alive():
            with suppress(Cancelled):
                stopping.join()

    def _stop(self) -> None:
        with suppress(Exception):  # it has ended, or the server does not answer: that is seen when the thread is read
            self._client.runs.cancel(self._thread, self.id, wait=True)


def _writer(nodes: Mapping[str, Any]) -> str:
    """Return the node that state is written as from: the fewer nodes follow on it, the fewer are dropped again."""
    edges = nodes.get("edges") or ()
    branches = {one["source"] for one in edges if one.get("conditional")}
    ends = [str(one["source"]) for one in edges if one["target"] == END and one["source"] not in branches]
    inner = [str(one["id"]) for one in nodes.get("nodes") or () if one["id"] not in ("__start__", END)]
    plain = [name for name in inner if name not in branches]
    return next(iter((*ends, *plain, *inner)), "__start__")
