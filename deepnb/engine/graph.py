"""What turns are played on: a graph behind the few operations that a thread needs, and the session's own one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from langchain_core.messages import ToolMessage
from langgraph.graph import END
from langgraph.types import Overwrite

from deepnb.core.approvals import Decision, PendingCall
from deepnb.engine import approvals, keys
from deepnb.engine.repair import becoming
from deepnb.engine.taken import Taken, without_mark, without_messages, without_texts

Config = Mapping[str, Any]
"""A thread as LangGraph names it: `{"configurable": {"thread_id": ...}}`, perhaps with a checkpoint's id."""

MODES = ("values", "updates")


class Graph(Protocol):
    """A graph of this process, or one on a server. All states name the conversation `keys.MESSAGES`."""

    @property
    def compiled(self) -> Any:
        """The graph as LangGraph knows it."""

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        """Run it: (mode, chunk) as they come. The callbacks in `config` are told of the calls of models and tools."""

    def state(self, config: Config) -> Any:
        """LangGraph's `StateSnapshot`: `values`, `next`, `tasks` with their interrupts."""

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        """Write into a thread, of which nothing is left to run then."""

    def become(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        """Make these values the whole state of a thread: those of `source`, a state of another thread, if it is given."""

    def back(self, config: Config) -> None:
        """Make the checkpoint that `config` names the newest again."""

    def land(self, config: Config) -> None:
        """Keep what the ended ones of a step's tools gave and wrote, and drop what was still to run."""

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        """Give open calls of tools these results: the run goes on after them."""

    def asked(self, interrupts: Iterable[Any], thread: str, messages: Sequence[Any]) -> tuple[PendingCall, ...]:
        """What interrupts of a run with these messages ask the user; those that nobody can answer are left out."""

    def pending(self, thread: str, state: Any) -> tuple[PendingCall, ...]:
        """The interrupts that the steps of a thread's state wait for, without those answered already."""

    def has_unsigned(self, tasks: Sequence[Any]) -> bool:
        """Whether a step waits with a call that this user's kernels did not ask about."""

    def answers(self, decisions: Iterable[Decision]) -> Any:
        """What `stream` is given to go on with these decisions."""

    def is_running(self, config: Config) -> bool:
        """Whether a run of an unfinished thread goes on that nobody here reads; `stream` with nothing given follows it."""


class OwnGraph:
    """The graph that deepnb has made."""

    def __init__(
        self, compiled: Any, end: str, taken: Taken, sign: approvals.Sign = lambda value: "", *, takes: bool
    ) -> None:
        """`end` is the last node of a turn: state written as from it leaves nothing to run.

        `takes` says whether messages and texts are taken out of the state.
        """
        self.compiled = compiled
        self._end = end
        self._taken = taken
        self._takes = takes
        self._sign = sign

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        before = None
        for mode, chunk in self.compiled.stream(given, config, stream_mode=list(MODES)):
            if mode == "values":
                yield mode, self._taken.whole(chunk, before)
                before = chunk
            else:
                yield mode, chunk

    def state(self, config: Config) -> Any:
        found = self.compiled.get_state(config)
        return found._replace(values=self._taken.whole(found.values))

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        compacts, rewrites = bool(values.get(keys.OFFLOAD)), isinstance(values.get(keys.FILES), Overwrite)
        if self._takes and (compacts or rewrites):
            now = self.compiled.get_state(config)
            place = now.config["configurable"]
            without = without_messages if compacts else without_texts
            values = without(values, now.values, place["thread_id"], place["checkpoint_id"])
        self.compiled.update_state(config, values, as_node=self._end)

    def become(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        update = becoming(self.compiled.get_state(config).values, without_mark(values))
        self.compiled.update_state(config, update, as_node=self._end)

    def back(self, config: Config) -> None:
        self.compiled.update_state(config, None, as_node=keys.COPY_NODE)

    def land(self, config: Config) -> None:
        # LangGraph drops the results of an unfinished step with the step, when it is given anything else.
        self.compiled.update_state(config, None, as_node=END)

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        self.compiled.update_state(config, {keys.MESSAGES: list(results)}, as_node="tools")

    def asked(self, interrupts: Iterable[Any], thread: str, messages: Sequence[Any]) -> tuple[PendingCall, ...]:
        return tuple(approvals.to_call(i.value, i.id, thread) for i in interrupts if approvals.is_bound(i.value))

    def pending(self, thread: str, state: Any) -> tuple[PendingCall, ...]:
        return approvals.pending_calls(self.compiled.checkpointer, thread, state.tasks, self._sign)

    def has_unsigned(self, tasks: Sequence[Any]) -> bool:
        return approvals.has_unsigned(tasks, self._sign)

    def answers(self, decisions: Iterable[Decision]) -> Any:
        return approvals.answers(decisions, self._sign)

    def is_running(self, config: Config) -> bool:
        return False
