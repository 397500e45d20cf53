"""The threads' state in the checkpointer, and the files that threads have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deepnb.core.approvals import PendingCall
from deepnb.core.errors import NotFoundError
from deepnb.core.memo import Memo
from deepnb.core.skills import Skill
from deepnb.core.values import Snapshot, Turn
from deepnb.running.current import Current
from deepnb.running.file_updates import merged, overlay, rebased
from deepnb.running.graphs import Graphs
from deepnb.running.home import Home
from deepnb.running.thread import Pool, Thread, running, waits

if TYPE_CHECKING:
    from deepnb.engine.checkpoints import Newest
    from deepnb.engine.graph import Graph
    from deepnb.running.persistence import Persistence

RECORDS = "/.deepnb/"
"""Where deepnb keeps the journal."""


class State:
    """Reads and writes checkpoints through the graph; keeps the files that threads have in common.

    Imports of the engine are inside the methods: a session is made long before its engine is needed. A mapping of files is never changed in place: one that is the same as before needs no look inside.
    """

    def __init__(self, current: Current, home: Home, graphs: Graphs) -> None:
        self._current = current
        self._home = home
        self._graphs = graphs
        self.put_back = home.put_back
        self.paths = home.paths
        self._overlay = Memo(overlay)
        self._only = Memo(_only)
        self._known = Memo(_only)
        self._peeked: tuple[Snapshot | None, Mapping[str, Any]] = (None, {})
        self.persistence: Persistence | None = None
        """Where what the checkpoints do not hold is kept; None while the session is not."""

    # -- one thread's checkpoints

    def start(self, thread: Thread) -> None:
        """Give the thread its first checkpoint; see what was written to it since by anyone else."""
        if thread.root is not None and self.paths.is_served and self._newest(thread).id is None:
            thread.lose(())  # the server has nothing of it any more
            self.look(thread, share=False)
        if thread.root is None and self._given is not None and self._newest(thread).id is not None:
            self.open(thread)  # another kernel has made it since it was looked for
        elif thread.root is None:
            thread.base = self._common(thread)
            self._update(thread.config, {"files": dict(thread.base)})
            self.look(thread)
            thread.root = thread.snapshot
        elif self._newest(thread).id != thread.snapshot.checkpoint:
            values = self.look(thread)
            if self._given is not None:
                from deepnb.running.stored_threads import joined

                stored = self._stored_turns(thread, values)
                there = list(stored) if self.persistence else joined(thread.turns, stored)
                if self.paths.is_served:
                    thread.lose(there)
                thread.turns = there

    @property
    def _given(self) -> Any:
        """A checkpointer that was given, which may hold threads of other sessions."""
        return self._current.options.checkpointer

    def stored(self) -> dict[str, str]:
        """Thread -> newest checkpoint of the threads that a given checkpointer holds, the newest first."""
        if self._given is None:
            return {}
        from deepnb.engine.stored_threads import stored_threads

        if self.persistence is None:
            return stored_threads(self._given)
        newest = dict(sorted(self.persistence.database.newest(), key=lambda one: one[1], reverse=True))
        return {**newest, **{name: newest.get(name, "") for name in self.persistence.names()}}

    def metadata(self, name: str) -> Mapping[str, Any] | None:
        """What is kept of a thread with its newest checkpoint; None where a given checkpointer has no such thread."""
        if self._given is None:
            return None
        from deepnb.engine.checkpoints import newest

        kept = self.persistence.metadata(name) if self.persistence else None
        if kept is not None:
            return kept
        found = newest(self._given, {"configurable": {"thread_id": name}})
        return None if found.id is None else found.metadata

    def refresh(self, thread: Thread) -> None:
        """See what another kernel did in a thread; nothing where there can be none."""
        if self.persistence is not None or self.paths.is_served:
            self.start(thread)

    def see(self, thread: Thread) -> None:
        """See what the server has of a thread; nothing is written."""
        if thread.root is not None:
            self.start(thread)
        elif self._newest(thread).id is not None:
            self.open(thread)

    def served(self, name: str) -> dict[str, Any]:
        """What a server says of a thread, when it last listed them: `status` is idle, busy, interrupted or error."""
        return {"status": self._given.statuses.get(name, ""), "parent": self._given.parents.get(name) or None}

    def open(self, thread: Thread) -> None:
        """Read a thread that another session made: its state, and its turns."""
        if self.persistence is None:
            self._opened(thread)
            return
        from deepnb.persistence.savers import readable

        with readable(f"thread {thread.name} in {self.persistence.database.where}", (Exception,)):
            self.persistence.open(thread)
            self._opened(thread)

    def _opened(self, thread: Thread) -> None:
        values = self.look(thread, share=False)
        thread.root = thread.snapshot if thread.snapshot.checkpoint else None
        thread.turns = list(self._stored_turns(thread, values))

    def _stored_turns(self, thread: Thread, values: Mapping[str, Any]) -> Sequence[Turn]:
        from deepnb.engine import keys
        from deepnb.engine.probe import file_texts
        from deepnb.engine.stored_threads import begins
        from deepnb.running.stored_threads import turns

        def files_at(state: Snapshot) -> Mapping[str, str]:
            return file_texts(self._graph.state(_at(state)).values.get(keys.FILES) or {})[0]

        messages = values.get(keys.MESSAGES) or ()
        if self.persistence and (kept := self.persistence.turns(thread, messages, files_at)) is not None:
            return kept
        place = {"configurable": {"thread_id": thread.name, "checkpoint_ns": ""}}
        begun = begins(self._given, place, self._current.options.messages_key)
        return turns(thread, messages, begun, files_at)

    def look(self, thread: Thread, values: Mapping[str, Any] | None = None, *, share: bool = True) -> Mapping[str, Any]:
        """See the thread's state anew: from `values` where a run just told them, else from its checkpoint."""
        from deepnb.engine.probe import snapshot, stored_results

        todo: tuple[str, ...] = ()
        asked: tuple[PendingCall, ...] = ()
        thread.unsigned, thread.stored = False, frozenset()
        if values is None:
            state = self._graph.state(thread.config)
            values, todo = state.values, state.next
            asked, thread.stored = self._asked(thread, state), stored_results(state.tasks)
        thread.asked = asked
        thread.runs = bool(todo) and not asked and self._graph.is_running(thread.config)
        thread.decided = {c.key: d for c in asked if (d := thread.decided.get(c.key)) and d.call.is_same(c)}
        files = values.get("files") or {}
        if files != thread.files:
            thread.files = dict(files)
        found = snapshot(
            thread.name,
            {**values, "files": thread.files},
            next=todo,
            checkpoint=self._newest(thread).id,
            last=thread.snapshot,
            texts_of=self._texts,
            skills_of=self._skills,
        )
        thread.snapshot = self._with_others(thread, found)
        if share:
            self.share(thread)
        else:
            thread.base = self._own(thread)
        return values

    def back(self, thread: Thread, to: Snapshot) -> None:
        """Make an earlier state the thread's newest again: one of its own, or of the thread it was forked from."""
        if to.thread == thread.name:
            with self.claimed(thread.name):
                self._graph.back({**thread.config, **_at(to)})
        else:
            self._become(thread, self._graph.state(_at(to)).values, to)

    def drop_after(self, thread: Thread, to: Snapshot) -> bool:
        """Make an earlier state the newest by dropping those after it, so that calls wait in it as they did; False where that can't be.

        The copy that `back` makes of a state asks for its calls anew, when it goes on.
        """
        from deepnb.engine.checkpoints import drop_after

        if to.checkpoint is None or not (
            self.persistence or drop_after(self._graphs.checkpointer, thread.name, to.checkpoint)
        ):
            return False
        if self.persistence is not None:
            with self.claimed(thread.name):
                self.persistence.database.drop_after(thread.name, to.checkpoint)
        return True

    def withdraw(self, thread: Thread, to: Snapshot) -> None:
        """Take a turn that nobody answered out of its thread: all is as it was before it, but for the files."""
        files = thread.files
        if to.checkpoint is None:  # another program began the thread with this turn
            self._become(thread, {})
        else:
            self.back(thread, to)
        self.look(thread, share=False)
        if written := overlay(files, thread.files, lambda path: True):
            self.put(thread, {"files": written})

    def rebase(self, thread: Thread) -> None:
        """Let the thread's memory block be made anew at its next call, and take the updates after it out.

        Where calls need the user's approval, that is done after them: written before, it would drop them.
        """
        from deepnb.engine.graph import without_memory

        self.start(thread)
        if thread.rebases or thread.asked:
            thread.rebases = True
            return
        self.settle(thread)
        self._update(thread.config, without_memory(self._graph.state(thread.config).values, self._home.reread()))
        self.look(thread)

    def delete(self, thread: Thread) -> None:
        """Delete the thread's checkpoints."""
        with self.claimed(thread.name):
            self._graphs.checkpointer.delete_thread(thread.name)

    def copy(self, source: Snapshot, target: Thread) -> None:
        """Begin `target` with a state of another thread. Its memory is as old as that, until its next turn."""
        self._become(target, self.values_at(source), source)
        self.look(target, share=False)

    def values_at(self, source: Snapshot) -> dict[str, Any]:
        """All that a thread held in a state, for another thread to begin with."""
        from deepnb.engine import keys

        values = dict(self._graph.state(_at(source)).values)
        values.pop(keys.OFFLOAD_ID, None)
        return values

    def begin(self, thread: Thread, values: Mapping[str, Any]) -> None:
        """Begin a thread with these values."""
        self._become(thread, values)
        self.look(thread, share=False)

    def values(self, thread: Thread) -> dict[str, Any]:
        """The thread's state, what waited for it written into it."""
        self.settle(thread)
        return dict(self._graph.state(thread.config).values)

    def peek(self, thread: Thread) -> Mapping[str, Any]:
        """The thread's values as it was last looked at; nothing is written, and nothing read twice."""
        if self._peeked[0] is not thread.snapshot:
            self._peeked = (thread.snapshot, self._graph.state(thread.config).values)
        return self._peeked[1]

    def put(self, thread: Thread, values: Mapping[str, Any]) -> None:
        """Write values into the state of a thread that has nothing left to run."""
        self._update(thread.config, values)
        self.look(thread)

    # -- files, outside a run

    def share(self, thread: Thread) -> None:
        """Take what this thread changed in memory, notes and skills into its pool."""
        own = self._own(thread)
        if own is thread.base:
            return
        changed = {p: own.get(p) for p in {*own, *thread.base} if own.get(p) != thread.base.get(p)}
        thread.pool.files = self._rebased(thread.pool, changed, thread.base, thread.pool.files)
        thread.base = own

    def adopt(self, thread: Thread, pool: Pool, before: Mapping[str, Any]) -> tuple[str, ...]:
        """Take a thread of another workspace into a pool, which held `before` when it began; gives the files it changed."""
        own = self._own(thread)
        records = {p: data for p, data in own.items() if p.startswith(RECORDS)}
        begun = {p: d for p, d in before.items() if thread.scope.may_read(p) and not p.startswith(RECORDS)} | records
        changed = {p: own.get(p) for p in {*own, *begun} if own.get(p) != begun.get(p)}
        pool.files = self._rebased(pool, changed, begun, pool.files)
        thread.pool, thread.base = pool, own
        return tuple(sorted(changed))

    def fill(self, pool: Pool, threads: Sequence[Thread]) -> None:
        """Give a pool what these threads of it hold, the newest last: each knows all that it may read."""
        for thread in threads:
            kept = {p: data for p, data in pool.files.items() if not thread.scope.may_read(p)}
            pool.files = {**kept, **self._own(thread)}

    def restore(self, thread: Thread) -> None:
        """Take the whole of this thread's memory, notes and skills as its pool's."""
        thread.pool.files = {**self._withheld(thread), **self._own(thread)}

    def unrestore(self, pool: Pool, before: Mapping[str, Any], restored: Mapping[str, Any]) -> None:
        """Take `restore` back: the pool's files as `before` it, with what was changed since."""
        now = pool.files
        since = {p: now.get(p) for p in {*now, *restored} if now.get(p) != restored.get(p)}
        pool.files = self._rebased(pool, since, restored, before)

    def _rebased(
        self, pool: Pool, changed: Mapping[str, Any], base: Mapping[str, Any], now: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The files of `now` with the changes made to `base`; where they disagree, the journal will name it."""
        update, conflicts = rebased(changed, base, now, lambda path, text: self._home.newest(pool, path, text))
        for path, found in conflicts.items():
            self._home.disagree(pool, path, found)
        return merged(now, update)

    def unsent(self, thread: Thread) -> dict[str, Any]:
        """The files that the thread is given at its next turn: path -> FileData, None deletes."""
        update = self._overlay(self._common(thread), thread.files, self._home.paths.shared())
        return {**update, **thread.held} if thread.held else update

    def read(self, thread: Thread) -> Mapping[str, Any]:
        """The files as the user has them in a thread, those that wait included: path -> FileData."""
        files, kept_back = merged(thread.files, self.unsent(thread)), self._withheld(thread)
        return {**files, **kept_back} if kept_back else files

    def write(self, thread: Thread, update: Mapping[str, Any]) -> None:
        """Merge files into the thread, or keep them until its unfinished turn has ended.

        What its scope keeps from the thread goes to its pool alone.
        """
        if self.persistence is not None and self.is_busy(thread):
            raise self.persistence.database.busy(thread.name)
        later = self._current.plays(thread) or thread.unfinished
        is_shared = self._home.paths.shared()
        common = {p: d for p, d in update.items() if is_shared(p) and (later or not thread.scope.may_read(p))}
        thread.pool.files = merged(thread.pool.files, common)
        rest = {p: data for p, data in update.items() if p not in common}
        if later:
            thread.held = {**thread.held, **rest}
        elif rest:
            self.start(thread)
            self._put(thread, rest)

    def release(self, thread: Thread) -> None:
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
        from deepnb.engine.checkpoints import whole

        self.start(thread)
        if thread.asked:
            raise waits(thread)
        if thread.runs:
            raise running(thread)
        if thread.unfinished:
            with self.claimed(thread.name):
                self._graph.land(thread.config)
            self.look(thread)
        if self.unsent(thread):
            self._put(thread, {})
            thread.held = {}
        elif self._newest(thread).is_far:
            self.put(thread, whole(thread.files))

    def snapshot(self, thread: Thread) -> Snapshot:
        """The thread's snapshot with the files that wait to be told to it."""
        update = self.unsent(thread)
        if not update:
            return self._with_others(thread, thread.snapshot)
        texts, binary = self._texts(merged(thread.files, update))
        return self._with_others(thread, replace(thread.snapshot, files=texts, binary=binary))

    def _with_others(self, thread: Thread, found: Snapshot) -> Snapshot:
        """The snapshot with the memory files that are not in the kernel's state."""
        others = self._home.elsewhere(thread)
        return replace(found, files={**found.files, **others}) if others else found

    def _put(self, thread: Thread, update: Mapping[str, Any]) -> None:
        self._update(thread.config, {"files": {**self.unsent(thread), **update}})
        thread.base = self._common(thread)
        self.look(thread)

    def _own(self, thread: Thread) -> dict[str, Any]:
        return self._only(thread.files, self._home.paths.shared())

    def _common(self, thread: Thread) -> dict[str, Any]:
        """What a thread is told of its pool."""
        files = thread.pool.files
        return files if thread.scope.whole else self._known(files, thread.scope.may_read)

    def _withheld(self, thread: Thread) -> dict[str, Any]:
        """The keys that are not told of."""
        if thread.scope.whole:
            return {}
        return {p: data for p, data in thread.pool.files.items() if not thread.scope.may_read(p)}

    @property
    def _graph(self) -> Graph:
        return self._graphs.built.graph

    def _update(self, config: dict[str, Any], values: Mapping[str, Any]) -> None:
        with self.claimed(config["configurable"]["thread_id"]):
            self._graph.update(config, values)

    def _become(self, thread: Thread, values: Mapping[str, Any], source: Snapshot | None = None) -> None:
        with self.claimed(thread.name):
            self._graph.become(thread.config, values, None if source is None else _at(source))

    def claimed(self, thread: str) -> AbstractContextManager[None]:
        """Within the block no other kernel writes to a thread; an error where one does."""
        return self.persistence.claimed(thread) if self.persistence else nullcontext()

    def is_busy(self, thread: Thread) -> bool:
        """Whether another kernel plays a turn in a thread."""
        return self.persistence is not None and self.persistence.is_busy(thread.name)

    def _asked(self, thread: Thread, state: Any) -> tuple[PendingCall, ...]:
        """The calls among a state's steps that need the user's approval."""
        if not any(task.interrupts for task in state.tasks):
            return ()
        thread.unsigned = self._graph.has_unsigned(state.tasks)
        return self._graph.pending(thread.name, state)

    def _newest(self, thread: Thread) -> Newest:
        from deepnb.engine.checkpoints import newest

        return newest(self._graphs.checkpointer, thread.config)

    @cached_property
    def _texts(self) -> Memo[tuple[dict[str, str], dict[str, int]]]:
        from deepnb.engine.probe import file_texts

        return Memo(file_texts)

    @cached_property
    def _skills(self) -> Memo[tuple[Skill, ...]]:
        from deepnb.engine.probe import skills

        return Memo(skills)


def _only(files: Mapping[str, Any], fits: Callable[[str], bool]) -> dict[str, Any]:
    return {p: data for p, data in files.items() if fits(p)}


def _at(state: Snapshot) -> dict[str, Any]:
    if state.checkpoint is None:
        raise NotFoundError("the state after that turn was not kept", "%agent turns lists the turns")
    return {"configurable": {"thread_id": state.thread, "checkpoint_ns": "", "checkpoint_id": state.checkpoint}}
