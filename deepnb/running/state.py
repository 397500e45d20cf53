"""The threads' state in the checkpointer, and what is seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from operator import itemgetter
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from deepnb.memory.layers import scope_of
from deepnb.running.current import Current
from deepnb.running.graphs import Graphs
from deepnb.running.home import Home
from deepnb.running.thread import Thread, running, waits
from deepnb.values.approvals import PendingCall
from deepnb.values.errors import NotFoundError
from deepnb.values.turn import Snapshot, Turn

if TYPE_CHECKING:
    from deepnb.engine.graph import Graph
    from deepnb.running.persistence import Persistence

_FIRST = 10.0
"""Seconds that a run which waits for its place on a server is given to make its first checkpoint."""


class State:
    """Reads and writes checkpoints through the graph. A mapping of files is never changed in place.

    Imports of the engine are inside the methods: a session is made long before its engine is needed.
    """

    def __init__(self, current: Current, home: Home, graphs: Graphs) -> None:
        self._current = current
        self._home = home
        self._graphs = graphs
        self.put_back = home.put_back
        home.found = self._memory_in_states
        self._peeked: tuple[Snapshot | None, Mapping[str, Any]] = (None, {})
        self.persistence: Persistence | None = None

    def forget(self) -> None:
        """Forget what was read of checkpoints: it was changed there."""
        self._graphs.restorer.forget()

    def ensure_checkpoint(self, thread: Thread) -> None:
        """Give the thread its first checkpoint; see what was written to it since by anyone else."""
        newest = self._first(thread)
        if thread.root is not None and self._current.is_served and newest is None:
            thread.note_missing(())  # the server has nothing of it any more
            self.read_checkpoint(thread)
        if thread.root is None and self._given is not None and newest is not None:
            self.read_stored(thread)  # another kernel has made it since it was looked for
        elif thread.root is None:
            self._update(thread.config, {"files": {}})
            self.read_checkpoint(thread)
            thread.root = thread.snapshot
        elif newest != thread.snapshot.checkpoint:
            values = self.read_checkpoint(thread)
            if self._given is not None:
                from deepnb.running.stored_turns import joined

                stored = self._stored_turns(thread, values)
                there = list(stored) if self.persistence else joined(thread.turns, stored)
                if self._current.is_served:
                    thread.note_missing(there)
                thread.turns = there

    @property
    def _given(self) -> Any:
        return self._current.options.checkpointer

    def stored(self) -> dict[str, str]:
        """Return thread -> newest checkpoint of the threads that a given checkpointer holds, the newest first."""
        if self._given is None:
            return {}
        from deepnb.engine.checkpoints import stored_threads

        if self.persistence is None:
            return stored_threads(self._given)
        newest = dict(sorted(self.persistence.database.newest(), key=itemgetter(1), reverse=True))
        return {**newest, **{name: newest.get(name, "") for name in self.persistence.records.threads()}}

    def metadata(self, name: str) -> Mapping[str, Any] | None:
        """Return what is kept of a thread with its newest checkpoint; None where a given checkpointer has no such thread."""
        if self._given is None:
            return None
        from deepnb.engine.checkpoints import made_with

        kept = self.persistence.metadata(name) if self.persistence else None
        return made_with(self._given, name) if kept is None else kept

    def read_changes(self, thread: Thread) -> None:
        """See what another kernel did in a thread; nothing where there can be none."""
        if self.persistence is not None or self._current.is_served:
            self.ensure_checkpoint(thread)

    def read_served(self, thread: Thread) -> None:
        """See what the server has of a thread; nothing is written."""
        if thread.root is not None or self._newest(thread) is not None:
            self.ensure_checkpoint(thread)

    def served(self, name: str) -> dict[str, Any]:
        """Return what a server says of a thread, when it last listed them: `status` is idle, busy, interrupted or error."""
        return {"status": self._given.statuses.get(name, ""), "parent": self._given.parents.get(name) or None}

    def read_stored(self, thread: Thread) -> None:
        """Read a thread that another session made: its state, and its turns."""
        with self.persistence.reading(thread) if self.persistence else nullcontext():
            thread.taken = ""
            values = self.read_checkpoint(thread)
            thread.root = thread.snapshot if thread.snapshot.checkpoint else None
            thread.turns = list(self._stored_turns(thread, values))

    def _stored_turns(self, thread: Thread, values: Mapping[str, Any]) -> Sequence[Turn]:
        from deepnb.engine import keys
        from deepnb.engine.checkpoints import begins
        from deepnb.engine.probe import file_texts
        from deepnb.running.stored_turns import turns_of

        def files_at(state: Snapshot, seen: str | None) -> Mapping[str, str]:
            values = self._graph.state(_at(state)).values if state.checkpoint else {}
            return {**file_texts(values.get(keys.FILES) or {})[0], **self._home.texts_at(thread, seen)}

        messages = values.get(keys.MESSAGES) or ()
        if self.persistence:
            kept = self.persistence.turns(thread, messages, partial(files_at, seen=None))
            if kept is not None:
                return kept
        place = {"configurable": {"thread_id": thread.name, "checkpoint_ns": ""}}
        begun, last = begins(self._given, place, thread.snapshot.checkpoint, self._current.options.messages_key)
        return turns_of(thread, messages, begun, last, files_at)

    def read_checkpoint(self, thread: Thread, values: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """See the thread's state anew: from `values` where a run just told them, else from its checkpoint."""
        from deepnb.engine.probe import snapshot, stored_results
        from deepnb.engine.request import compacted, mark_of

        todo: tuple[str, ...] = ()
        asked: tuple[PendingCall, ...] = ()
        thread.unsigned, thread.stored = False, frozenset()
        if values is None:
            state = self._graph.state(thread.config)
            values, todo = state.values, state.next
            if any(task.interrupts for task in state.tasks):
                thread.unsigned = self._graph.has_unsigned(state.tasks)
                asked = self._graph.pending(thread.name, state)
            thread.stored = stored_results(state.tasks)
        thread.asked = asked
        thread.runs = bool(todo) and not asked and self._graph.is_running(thread.config)
        thread.decided = {c.key: d for c in asked if (d := thread.decided.get(c.key)) and d.call.is_same(c)}
        if (files := values.get("files") or {}) != thread.files:
            thread.files = dict(files)
        taken = str(mark_of(values).get("checkpoint", ""))
        sure = compacted(values) if taken and taken == thread.taken else 0
        thread.taken = taken
        whole, at = {**values, "files": thread.files}, self._newest(thread)
        found = snapshot(thread.name, whole, next=todo, checkpoint=at, last=thread.snapshot, sure=sure)
        thread.snapshot = self._with_memory(thread, found)
        return values

    def restore_checkpoint(self, thread: Thread, to: Snapshot) -> None:
        """Make an earlier state the thread's newest again: one of its own, or of the thread it was forked from."""
        if to.thread == thread.name:
            with self.claimed(thread.name):
                self._graph.restore_checkpoint({**thread.config, **_at(to)})
        else:
            self._become(thread, self._graph.state(_at(to)).values, to)

    def drop_after(self, thread: Thread, to: Snapshot) -> bool:
        """Make an earlier state the newest by dropping those after it; False where that can't be.

        Calls wait in it as they did; the copy that `restore_checkpoint` makes asks for them anew.
        """
        from deepnb.engine.checkpoints import drop_after

        if to.checkpoint is None or self.persistence is None:
            return to.checkpoint is not None and drop_after(self._graphs.checkpointer, thread.name, to.checkpoint)
        with self.claimed(thread.name):
            self.persistence.database.drop_after(thread.name, to.checkpoint)
        return True

    def drop_turn(self, thread: Thread, to: Snapshot) -> None:
        """Take a turn that nobody answered out of its thread: all is as it was before it, but for the files."""
        files, shared = thread.files, self._current.is_shared
        if to.checkpoint is None:  # another program began the thread with this turn
            self._become(thread, {})
        else:
            self.restore_checkpoint(thread, to)
        self.read_checkpoint(thread)
        written = {p: files.get(p) for p in {*files, *thread.files} if files.get(p) != thread.files.get(p)}
        if written := {p: data for p, data in written.items() if not shared(p)}:
            self.write_values(thread, {"files": written})

    def rebase(self, thread: Thread) -> None:
        """Let the thread's memory block be made anew at its next call; where calls need approval, after them."""
        from deepnb.engine.graph import without_memory

        self.ensure_checkpoint(thread)
        if thread.rebases or thread.asked:
            thread.rebases = True
            return
        self.settle(thread)
        self._update(thread.config, without_memory(self._graph.state(thread.config).values, self._home.reread()))
        self.read_checkpoint(thread)

    def delete(self, thread: Thread) -> None:
        with self.claimed(thread.name):
            self._graphs.checkpointer.delete_thread(thread.name)

    def values_at(self, source: Snapshot) -> dict[str, Any]:
        from deepnb.engine import keys

        values = dict(self._graph.state(_at(source)).values)
        values.pop(keys.OFFLOAD_ID, None)
        return values

    def begin(
        self,
        thread: Thread,
        values: Mapping[str, Any],
        memory: Mapping[str, Any] | None = None,
        source: Snapshot | None = None,
    ) -> None:
        """Begin a thread with these values, of a state of another; one with a `memory` of its own begins with these files."""
        if memory:
            self._home.of(thread.home).adopt(memory)
        self._become(thread, values, source)
        self.read_checkpoint(thread)

    def values(self, thread: Thread) -> dict[str, Any]:
        """Return the thread's state, what waited for it written into it."""
        self.settle(thread)
        return dict(self._graph.state(thread.config).values)

    def last_values(self, thread: Thread) -> Mapping[str, Any]:
        """Return the thread's values as it was last looked at; nothing is written, and nothing read twice."""
        if self._peeked[0] is not thread.snapshot:
            self._peeked = (thread.snapshot, self._graph.state(thread.config).values)
        return self._peeked[1]

    def write_values(self, thread: Thread, values: Mapping[str, Any]) -> None:
        self._update(thread.config, values)
        self.read_checkpoint(thread)

    def read(self, thread: Thread) -> Mapping[str, Any]:
        """Return the files of a thread as the user has them, those that wait included: path -> FileData."""
        return _updated(thread.files, thread.held)

    def write(self, thread: Thread, update: Mapping[str, Any]) -> None:
        """Merge files into the thread, or keep them until its unfinished turn has ended."""
        if self.persistence is not None and self.is_busy(thread):
            raise self.persistence.database.busy(thread.name)
        if self._current.plays(thread) or thread.unfinished:
            thread.held = {**thread.held, **update}
        elif update:
            self.ensure_checkpoint(thread)
            self.write_values(thread, {"files": {**thread.held, **update}})

    def _memory_in_states(self, name: str) -> Mapping[str, Any]:
        """Return the memory that another program, or an older deepnb, left in the newest state with this memory: path -> FileData."""
        from deepnb.engine.checkpoints import files_in_state

        shared = self._current.is_shared
        for thread in self.stored():
            facts = self.metadata(thread) or {}
            scope = scope_of(str(facts.get("deepnb_scope", "")))
            if str(facts.get("deepnb_pool", "")) == name and scope.whole:
                return {path: data for path, data in files_in_state(self._given, thread).items() if shared(path)}
        return {}

    def write_held(self, thread: Thread) -> None:
        """Write what was held, once nothing is left to run."""
        if thread.unfinished or self._current.plays(thread):
            return
        if thread.held:
            self.settle(thread)
        if thread.rebases:
            thread.rebases = False
            self.rebase(thread)

    def settle(self, thread: Thread) -> None:
        """Write what waits for the thread; steps that are left to run are dropped, unless the user is asked about them."""
        from deepnb.engine.checkpoints import rested_files

        self.ensure_checkpoint(thread)
        if thread.asked:
            raise waits(thread)
        if thread.runs:
            raise running(thread)
        if thread.unfinished:
            with self.claimed(thread.name):
                self._graph.drop_pending_steps(thread.config)
            self.read_checkpoint(thread)
        if thread.held:
            self.write_values(thread, {"files": thread.held})
            thread.held = {}
        elif update := rested_files(self._graphs.checkpointer, thread.config, thread.files):
            self.write_values(thread, update)

    def snapshot(self, thread: Thread) -> Snapshot:
        """Return the thread's snapshot with the files that wait to be told to it, and its memory as it is now."""
        found = thread.snapshot
        if thread.held:
            from deepnb.engine.probe import texts_of

            texts, binary = texts_of(_updated(thread.files, thread.held))
            found = replace(found, files=texts, binary=binary)
        return self._with_memory(thread, found)

    def _with_memory(self, thread: Thread, found: Snapshot) -> Snapshot:
        texts, binary = self._home.texts(thread)
        shared = self._current.is_shared
        own = {path: text for path, text in found.files.items() if not shared(path)}
        files = {**own, **texts}
        if files == found.files and not binary:
            return found
        return replace(found, files=files, binary={**found.binary, **binary})

    @property
    def _graph(self) -> Graph:
        return self._graphs.built.graph

    def _update(self, config: dict[str, Any], values: Mapping[str, Any]) -> None:
        with self.claimed(config["configurable"]["thread_id"]):
            self._graph.update(config, values)

    def _become(self, thread: Thread, values: Mapping[str, Any], source: Snapshot | None = None) -> None:
        with self.claimed(thread.name):
            self._graph.replace_state(thread.config, values, None if source is None else _at(source))

    def claimed(self, thread: str) -> AbstractContextManager[None]:
        """Within the block no other kernel writes to a thread; an error where one does."""
        return self.persistence.claimed(thread) if self.persistence else nullcontext()

    def is_busy(self, thread: Thread) -> bool:
        return self.persistence is not None and self.persistence.is_busy(thread.name)

    def _first(self, thread: Thread) -> str | None:
        """Return the newest checkpoint; of a run that waits for its place on a server, once it has made its first."""
        until = monotonic() + _FIRST
        while (newest := self._newest(thread)) is None and self._current.is_served and monotonic() < until:
            if not self._graph.is_running(thread.config):
                break
            sleep(0.1)
        return newest

    def _newest(self, thread: Thread) -> str | None:
        from deepnb.engine.checkpoints import newest

        return newest(self._graphs.checkpointer, thread.config)[0]


def _updated(files: Mapping[str, Any], update: Mapping[str, Any]) -> Mapping[str, Any]:
    return {p: data for p, data in {**files, **update}.items() if data is not None} if update else files


def _at(state: Snapshot) -> dict[str, Any]:
    if state.checkpoint is None:
        raise NotFoundError("the state after that turn was not kept", "%agent turns lists the turns")
    return {"configurable": {"thread_id": state.thread, "checkpoint_ns": "", "checkpoint_id": state.checkpoint}}
