"""A graph on a LangGraph server, run, read and written as one of this process is."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from time import monotonic
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.graph import END
from langgraph.types import Command

from deepnb.core.errors import RefusedError, RunError
from deepnb.core.secrets import redact
from deepnb.engine import keys
from deepnb.engine.attached_graph import added_messages, listener_of, tell_compaction
from deepnb.engine.graph import MODES, Config
from deepnb.engine.interrupts import Questions
from deepnb.engine.listen import Cancelled, Listener
from deepnb.engine.server import GoneError, lost
from deepnb.engine.server_events import EventFeed
from deepnb.engine.server_threads import ServerThreads, ids_of
from deepnb.engine.server_values import interrupts as asked_in
from deepnb.engine.server_values import to_json

_STREAM = (*MODES, "events")
_RECURSION = 9_999
"""Steps of a graph, as deepagents sets them; a server's own limit of 25 is some eight calls of tools. `max_steps` is the turn's."""
_LOOK_UP = 0.05
"""Seconds after which a thread that waits for the server looks whether the run was cancelled."""
_ENDING = 5.0
"""Seconds within which the server knows that a run has ended whose stream has."""


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
        """LangGraph's own client of it."""
        from langgraph.pregel.remote import RemoteGraph

        return RemoteGraph(self._assistant, sync_client=self._server.client)

    # -- a run

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        name, listener = config["configurable"]["thread_id"], listener_of(config)
        assert listener is not None
        run = _Run(self._server.client)
        under_way = self._threads.run_under_way(name) if given is None else None
        known = self._threads.known.get(name, frozenset()) if under_way else frozenset[str]()
        whole = under_way is None or "events" in ((under_way.get("kwargs") or {}).get("stream_mode") or ())
        feed = EventFeed(listener, self._decoder, known, follows=under_way is not None, whole=whole)
        parts = self._joined(name, under_way, run) if under_way else self._begun(name, given, config, run)
        try:
            yield from self._told(run.read(parts, listener, self._server.errors), feed, listener, known)
            self._await_end(name, run, listener)
        except (Cancelled, GeneratorExit):
            run.cancel()
            raise

    def _begun(self, name: str, given: Any, config: Config, run: _Run) -> Callable[[], Iterator[Any]]:
        """A run that begins, or goes on where the thread stopped."""
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

    def _joined(self, name: str, under_way: Mapping[str, Any], run: _Run) -> Callable[[], Iterator[Any]]:
        """A run that goes on, from its first event, as far as the server has kept them."""
        id_ = str(self._threads.id(name))
        run.created(id_, str(under_way["run_id"]))
        # A server that is asked for several modes here sends the last one alone: it is asked for none, and sends all.
        return lambda: self._server.client.runs.join_stream(id_, str(under_way["run_id"]), last_event_id="0")

    def _told(
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
                    raise _failed(part.data)

    def _await_end(self, name: str, run: _Run, listener: Listener) -> None:
        """A stream that ends says not whether its run has; an error where that goes on without us."""
        until = monotonic() + _ENDING
        try:
            while run.id and not self._threads.is_over(name, run.id):
                if monotonic() > until:
                    raise lost(self._server.address)
                listener.wait(_LOOK_UP)
        except (GoneError, RunError):  # it has ended, or begun anew without this run
            raise lost(self._server.address) from None

    def is_running(self, config: Config) -> bool:
        return self._threads.run_under_way(config["configurable"]["thread_id"]) is not None

    # -- its state

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
            self.land(config)

    def become(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        name = config["configurable"]["thread_id"]
        if source is None:
            self._threads.delete_thread(name)
            self.update(config, values)
            return
        place = source["configurable"]
        if self._threads.id(name) is None:
            self._threads.copy(place["thread_id"], name, config.get("metadata") or {})
        self.back({**config, "configurable": {**config["configurable"], "checkpoint_id": place["checkpoint_id"]}})

    def back(self, config: Config) -> None:
        self._write(config, None, keys.COPY_NODE)

    def land(self, config: Config) -> None:
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
        self._server.ask(lambda c: c.threads.update_state(id_, given, as_node=node, checkpoint_id=at))


class _Run:
    """One run on the server, read in a thread of its own: so it can be stopped while the server is silent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._thread = ""
        self._cancelled = False
        self.id = ""

    def created(self, thread: str, run: str) -> None:
        """The server has begun it."""
        self._thread, self.id = thread, run
        if self._cancelled:
            self._stop()

    def read(self, begin: Callable[[], Iterator[Any]], listener: Listener, errors: Callable[[], Any]) -> Iterator[Any]:
        """The parts of the stream as they come."""
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
            try:
                stopping.join()
            except Cancelled:
                continue

    def _stop(self) -> None:
        try:
            self._client.runs.cancel(self._thread, self.id, wait=True)
        except Exception:  # it has ended, or the server does not answer: what is so is seen when the thread is read
            return


def _failed(data: Any) -> RunError:
    """What made a run fail, in one line."""
    kind, said = (str(data.get(key) or "") for key in ("error", "message")) if isinstance(data, Mapping) else ("", "")
    words = " ".join(redact(f"{kind}: {said}" if said else kind or "no reason given").split())
    return RunError(f"the run failed on the server: {words}", "its log says more; run the cell again")


def _writer(nodes: Mapping[str, Any]) -> str:
    """The node that state is written as from: the fewer nodes follow on it, the fewer are dropped again."""
    edges = nodes.get("edges") or ()
    branches = {one["source"] for one in edges if one.get("conditional")}
    ends = [str(one["source"]) for one in edges if one["target"] == END and one["source"] not in branches]
    inner = [str(one["id"]) for one in nodes.get("nodes") or () if one["id"] not in ("__start__", END)]
    plain = [name for name in inner if name not in branches]
    return next(iter((*ends, *plain, *inner)), "__start__")
