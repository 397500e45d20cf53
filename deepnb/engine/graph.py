"""What turns are played on: a graph behind the few operations that a thread needs, and the session's own one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph import END
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Overwrite

from deepnb.engine import approvals, keys
from deepnb.engine.request import source_of, still_sent
from deepnb.engine.state_backend import Restorer, without_mark, without_messages, without_texts
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.messages import MEMORY_UPDATE
from deepnb.values.turn import Event, ModelEnded, ToolEnded, ToolStarted

Config = Mapping[str, Any]
"""A thread as LangGraph names it: `{"configurable": {"thread_id": ...}}`, perhaps with a checkpoint's id."""

MODES = ("values", "updates")
STREAMED: Mapping[str, Any] = {"stream_mode": list(MODES), "durability": "sync"}
"""How LangGraph streams a run: a step begins once the checkpoint before it is stored, so that no tool runs that a kernel
which ends meanwhile knows nothing of.
"""


def state_of(compiled: Any, config: Config, channel: str) -> Any:
    """Return LangGraph's `StateSnapshot` of a thread; its kernel may have ended between any two writes.

    A prompt that the first step has not read yet is among the messages of `channel`, and tasks that have run are `next`
    as long as no checkpoint is behind them.
    """
    found = compiled.get_state(config)
    values = found.values
    if keys.START in found.next:
        given = compiled.checkpointer.get_tuple(found.config).checkpoint["channel_values"].get(keys.START)
        messages = given.get(channel) if isinstance(given, Mapping) else None
        if isinstance(messages, list):
            values = {**values, channel: [*values.get(channel, ()), *messages]}
    return found._replace(values=values, next=found.next or tuple(task.name for task in found.tasks))


class Graph(Protocol):
    """A graph of this process, which has the bodies here, or one on a server. A conversation is called `keys.MESSAGES`."""

    @property
    def compiled(self) -> Any:
        """Return the graph as LangGraph knows it."""

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        """Run it, and yield (mode, chunk); the callbacks in `config` are told of the calls of models and tools."""

    def state(self, config: Config) -> Any:
        """Return LangGraph's `StateSnapshot`: `values`, `next`, `tasks` with their interrupts."""

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        """Write into a thread, of which nothing is left to run then."""

    def replace_state(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        """Make these values the whole state of a thread: those of `source`, a state of another thread, if it is given."""

    def restore_checkpoint(self, config: Config) -> None:
        """Make the checkpoint that `config` names the newest again."""
        self.compiled.update_state(config, None, as_node=keys.COPY_NODE)

    def drop_pending_steps(self, config: Config) -> None:
        """Keep what the ended ones of a step's tools gave and wrote, and drop what was still to run."""
        # LangGraph drops the results of an unfinished step with the step, when it is given anything else.
        self.compiled.update_state(config, None, as_node=END)

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        """Give open calls of tools these results: the run goes on after them."""

    def asked(self, interrupts: Iterable[Any], thread: str, messages: Sequence[Any]) -> tuple[PendingCall, ...]:
        """Return what interrupts of a run with these messages ask the user; those that nobody can answer are left out."""

    def pending(self, thread: str, state: Any) -> tuple[PendingCall, ...]:
        """Return the calls that the steps of a thread's state wait with, without those answered already."""

    def has_unsigned(self, tasks: Sequence[Any]) -> bool:
        """Return whether a step waits with a call that this user's kernels did not ask about."""
        return False

    def answers(self, decisions: Iterable[Decision]) -> Any:
        """Return what `stream` is given to go on with these decisions."""

    def is_running(self, config: Config) -> bool:
        """Return whether a run of an unfinished thread is read by nobody here; `stream` with nothing given follows it."""
        return False


class OwnGraph(Graph):
    compiled: Any = None

    def __init__(self, compiled: Any, end: str, restorer: Restorer, sign: approvals.Sign, *, prunes: bool) -> None:
        """`end` is the last node of a turn; `prunes` says whether messages and texts are taken out of the state."""
        self.compiled = compiled
        self._end = end
        self._restorer = restorer
        self._prunes = prunes
        self._sign = sign

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        before = None
        for mode, chunk in self.compiled.stream(given, config, **STREAMED):
            if mode == "values":
                yield mode, self._restorer.whole(chunk, before)
                before = chunk
            else:
                yield mode, chunk

    def state(self, config: Config) -> Any:
        found = state_of(self.compiled, config, keys.MESSAGES)
        return found._replace(values=self._restorer.whole(found.values))

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        compacts, rewrites = bool(values.get(keys.OFFLOAD)), isinstance(values.get(keys.FILES), Overwrite)
        if self._prunes and (compacts or rewrites):
            now = self.compiled.get_state(config)
            place = now.config["configurable"]
            without = without_messages if compacts else without_texts
            values = without(values, now.values, place["thread_id"], place["checkpoint_id"])
        self.compiled.update_state(config, values, as_node=self._end)

    def replace_state(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        now, then = self.compiled.get_state(config).values, without_mark(values)
        files = {**dict.fromkeys(now.get(keys.FILES) or {}), **(then.get(keys.FILES) or {})}
        messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *(then.get(keys.MESSAGES) or ())]
        update = {**dict.fromkeys(now), **then, keys.FILES: files, keys.MESSAGES: messages}
        self.compiled.update_state(config, update, as_node=self._end)

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        self.compiled.update_state(config, {keys.MESSAGES: list(results)}, as_node="tools")

    def asked(self, interrupts: Iterable[Any], thread: str, messages: Sequence[Any]) -> tuple[PendingCall, ...]:
        return tuple(approvals.to_call(i.value, i.id, thread) for i in interrupts if approvals.is_bound(i.value))

    def pending(self, thread: str, state: Any) -> tuple[PendingCall, ...]:
        # what another kernel asked is left out: the call may be another than the one it shows
        saver, sign = self.compiled.checkpointer, self._sign
        found = [i for task in state.tasks for i in task.interrupts if approvals.is_bound(i.value)]
        mine = [i for i in found if approvals.is_signed(i.value, sign)]
        open_ = [i for i in mine if not approvals.is_used(saver, thread, i.value, sign)]
        return tuple(approvals.to_call(i.value, i.id, thread) for i in open_)

    def has_unsigned(self, tasks: Sequence[Any]) -> bool:
        found = (i.value for task in tasks for i in task.interrupts if approvals.is_bound(i.value))
        return any(not approvals.is_signed(value, self._sign) for value in found)

    def answers(self, decisions: Iterable[Decision]) -> Any:
        return approvals.answers(decisions, self._sign)


def skipped_results(messages: Sequence[BaseMessage], events: Iterable[Event]) -> list[ToolMessage]:
    """Return results for the open tool calls of a thread: of those that had ended their own, the rest are skipped."""
    ended: dict[str, ToolEnded] = {}
    for event in events:
        if isinstance(event, ModelEnded | ToolStarted) and not event.path:  # an id may be that of an earlier call
            ended = {} if isinstance(event, ModelEnded) else {k: e for k, e in ended.items() if k != event.id}
        elif isinstance(event, ToolEnded) and not event.path and event.status != "cut":
            ended[event.id] = event
    at = next((i for i in range(len(messages))[::-1] if getattr(messages[i], "tool_calls", None)), len(messages))
    asked = messages[at] if at < len(messages) else None
    answered = {m.tool_call_id for m in messages[at:] if isinstance(m, ToolMessage)}
    results = []
    for call in getattr(asked, "tool_calls", ()):
        if (id_ := call["id"]) in answered:
            continue
        if done := ended.get(id_ or ""):
            text, status = done.result, "error" if done.status == "error" else "success"
        else:
            text, status = "Skipped: the user interrupted this call and chose not to run it again.", "error"
        results.append(ToolMessage(text, name=call["name"], tool_call_id=id_, status=status))
    return results


def without_memory(values: Mapping[str, Any], now: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the update that makes a state forget which memory its prompt holds; `now` is what it holds instead."""
    updates = [m for m in still_sent(values) if source_of(m) == MEMORY_UPDATE and m.id]
    return {keys.MEMORY: now, keys.TOLD: None, keys.MESSAGES: [RemoveMessage(id=m.id) for m in updates]}
