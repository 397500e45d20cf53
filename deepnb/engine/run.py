"""One run of a graph in a thread of its own, read as Events; it can be cancelled at any moment."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import Any, TypeVar

from deepnb.core.messages import Added
from deepnb.core.values import Event
from deepnb.engine import keys
from deepnb.engine.approvals import asked, foreign
from deepnb.engine.listen import Cancelled, Ledger, LimitReached, Listener
from deepnb.engine.probe import new_messages

T = TypeVar("T")

_GRACE = 2.0
"""Seconds a cancelled run is waited for; after that it is left to end by itself."""


def apart(work: Callable[[], T], emit: Callable[[Event], None], ledger: Ledger) -> T:
    """Do something outside a graph whose model calls are told of all the same."""
    from langchain_core.runnables import RunnableLambda

    listener = Listener(emit, ledger)
    runnable: RunnableLambda[object, T] = RunnableLambda(lambda _: work())
    return runnable.invoke(None, {"callbacks": [listener]})


class Run:
    """Iterate it for the Events of the run, and each message as it joins; afterwards `values` is the last state seen.

    The graph runs in a thread, so that an interrupt ends the waiting at once even where a tool is
    blocked in C. With the stream modes used here LangGraph runs the nodes in that same thread.
    """

    def __init__(self, graph: Any, input: Any, config: dict[str, Any], ledger: Ledger, *limits: int | None) -> None:  # noqa: A002
        self.values: dict[str, Any] | None = None
        self.interrupts: tuple[Any, ...] = ()
        self._events: queue.SimpleQueue[Event | Added | threading.Event | None] = queue.SimpleQueue()
        """What was told and not read yet; a `threading.Event` is set by the reader when it gets there."""
        self._cancelled = False
        self._error: BaseException | None = None
        self.listener = Listener(self._events.put, ledger, *limits, added=self._events.put)
        callbacks = [*(config.get("callbacks") or ()), self.listener]
        arguments = (graph, input, {**config, "callbacks": callbacks})
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._pump, *arguments), daemon=True, name="deepnb-run"
        )

    def __iter__(self) -> Iterator[Event | Added]:
        self._thread.start()
        while (event := self._events.get()) is not None:
            if isinstance(event, threading.Event):
                event.set()
            else:
                yield event
        self._thread.join()
        if self._error is not None:
            raise self._error

    def cancel(self) -> tuple[list[Event | Added], bool]:
        """End the run: (the events not read yet, whether it has ended within the grace time)."""
        self._cancelled = True
        self.listener.cancel()
        if self._thread.ident is None:  # not begun, and never will be
            return [], True
        self._thread.join(0.1)
        if self._thread.is_alive():
            self.listener.wake()
            self._thread.join(_GRACE)
        rest = []
        while not self._events.empty():
            event = self._events.get()
            if event is not None and not isinstance(event, threading.Event):
                rest.append(event)
        return rest, not self._thread.is_alive()

    def unanswerable(self) -> str:
        """What asked the user something that no approval is, in a few words; empty where nothing did, or a call waits."""
        found = foreign(self.interrupts)
        if not found or len(found) < len(self.interrupts):
            return ""
        return f"the run stopped with interrupt({found[0]}), and a session can't answer it"

    def _asks(self, interrupts: Iterable[Any], config: dict[str, Any]) -> None:
        """Tell of the calls that wait for the user, each once."""
        known = {one.id for one in self.interrupts}
        new = [one for one in interrupts if one.id not in known]
        self.interrupts = (*self.interrupts, *new)
        for event in asked(new, config["configurable"]["thread_id"]):
            self._events.put(event)

    def _until_read(self) -> None:
        """Wait for the reader after each step: what a step gave is written down before the next one runs."""
        here = threading.Event()
        self._events.put(here)
        while not here.wait(0.05) and not self._cancelled:
            pass

    def _pump(self, graph: Any, input: Any, config: dict[str, Any]) -> None:  # noqa: A002
        try:
            for mode, chunk in graph.stream(input, config, stream_mode=["values", "updates"]):
                if mode == "values":
                    self.values = chunk
                elif keys.INTERRUPT in chunk:
                    self._asks(chunk[keys.INTERRUPT], config)
                else:
                    for message in new_messages(chunk):
                        self._events.put(Added(message))
                    self._until_read()
        except LimitReached as limit:
            self._error = limit
        except Cancelled:  # whoever cancelled knows
            self._error = None
        except BaseException as error:  # handed to the reading thread, which raises it
            self._error = error
        finally:
            self._events.put(None)
