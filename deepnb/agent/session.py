"""The session: an agent, its threads and its turns. Everything the magics do is a method call on it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from deepnb.agent.approvals import SessionApprovals, take, waits
from deepnb.agent.context import SessionContext
from deepnb.agent.graphs import Graphs
from deepnb.agent.options import Options, changed
from deepnb.agent.places import Places
from deepnb.agent.session_threads import SessionThreads
from deepnb.agent.state import State
from deepnb.agent.thread import Thread
from deepnb.agent.threads import Threads
from deepnb.core.approvals import Decision
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Event, Notice, Turn, Usage
from deepnb.memory.scope import Scope

if TYPE_CHECKING:
    from deepnb.agent.build import Built
    from deepnb.agent.files import Files
    from deepnb.agent.notes import SessionMemory
    from deepnb.agent.play import Played
    from deepnb.agent.skills import SessionSkills
    from deepnb.agent.storage import Storage
    from deepnb.agent.subagents import SessionSubagents
    from deepnb.backends.guarded import GuardedBackend
    from deepnb.backends.mounts import Mount


class Session(SessionThreads, SessionContext):
    """A deep agent whose files live in this process.

    `Session(model="offline")` works at once, with no key. The other keyword arguments are the
    fields of `deepnb.agent.options.Options`; `clock` gives the time (an aware datetime in the
    user's time zone, which says when a day begins).
    """

    def __init__(self, model: Any = "offline", *, clock: Callable[[], datetime] | None = None, **options: Any) -> None:
        self.options = changed(Options(model=model), options)
        self.clock = clock or (lambda: datetime.now().astimezone())
        self._state = State(
            lambda: self.graph,
            lambda: self.built.exit,
            lambda: self._places.shared(),
            self._elsewhere,
            self.options.checkpointer,
        )
        self._threads = Threads(self._state)
        self._places = Places(
            self._state, self._threads, lambda: self.options, self._facts, lambda: self._playing is None, self._tell
        )
        self._graphs = Graphs(
            lambda: self.backend,
            self.options.checkpointer,
            self.now,
            self._scope,
            lambda: self.storage.search,
            lambda: self.approvals.policy,
            self._places.undoable,
        )
        self.approvals = SessionApprovals(self, self._threads, self._places, self._meant, self._tell)
        """Which calls need the user's word, and which run unasked."""
        self.last: Turn | None = None
        """The turn that ended last, in whichever thread."""
        self._playing: Turn | None = None
        self._watchers: list[Callable[[], None]] = []

    # -- the parts, made when they are first needed

    @property
    def built(self) -> Built:
        """The graph and what belongs to it; importing the engine takes some seconds the first time."""
        return self._graphs.of(self.options)

    @property
    def graph(self) -> Any:
        """The compiled LangGraph graph."""
        return self.built.graph

    @property
    def backend(self) -> GuardedBackend:
        """The agent's files as a deepagents `BackendProtocol` that also works outside a run."""
        return self.storage.guard

    @property
    def storage(self) -> Storage:
        """Where the current thread's files are, and what is mounted into them."""
        return self._places.storage

    @property
    def checkpointer(self) -> Any:
        """Where threads are checkpointed; in memory unless one was given."""
        return self._graphs.checkpointer

    @property
    def files(self) -> Files:
        """path -> text of the agent's files."""
        from deepnb.agent.files import Files

        return Files(self.backend)

    @cached_property
    def memory(self) -> SessionMemory:
        """Reading and writing what the agent remembers."""
        from deepnb.agent.notes import SessionMemory

        return SessionMemory(self)

    @cached_property
    def skills(self) -> SessionSkills:
        """Reading and writing the agent's skills."""
        from deepnb.agent.skills import SessionSkills

        return SessionSkills(self)

    @cached_property
    def subagents(self) -> SessionSubagents:
        """Reading and writing the agents that others hand tasks to."""
        from deepnb.agent.subagents import SessionSubagents

        return SessionSubagents(self)

    # -- what it knows

    @property
    def model(self) -> str:
        """The name of the model in use."""
        return self.options.model if isinstance(self.options.model, str) else self.built.model

    # -- running

    def run(self, prompt: str, **how: Any) -> Turn:
        """Run one turn to its end; keyword arguments as for `stream`."""
        for _ in self.stream(prompt, **how):
            pass
        assert self.last is not None
        return self.last

    def stream(
        self,
        prompt: str,
        *,
        model: Any = None,
        thread: str | None = None,
        max_steps: int | None = None,
        cell: str | None = None,
        rerun: str = "continue",
    ) -> Generator[Event, None, None]:
        """Run one turn, yielding its events; the Turn is in `last` when it ends.

        `model`, `thread` and `max_steps` hold for this turn only. `cell` is the id of the notebook
        cell: where it made a turn before, `rerun` says whether the thread goes on ("continue") or
        is first taken back to before it ("replace"). A failing run raises one line; a
        KeyboardInterrupt, or closing the iterator, stops it with all kept that was reached.
        """
        if not prompt.strip():
            raise DeepnbError("the prompt is empty", "type %agent PROMPT, or a prompt below %%agent")
        self._idle()
        where = self._threads[thread] if thread else self._threads.current
        with self._places.on(where):
            if where.asked:
                raise waits(where, where is self._threads.current)
            self._graphs.agents = self.subagents.begun()
            built = self._built_for(model)
            notices = self._rerun(where, cell, rerun)
            self._state.settle(where)
            self.backend.begin()
            before = replace(where.snapshot, next=())
            where.model = model
            draft = Turn(len(where.turns) + 1, where.name, prompt, "", (), before, before, Usage(), None, cell=cell)
            yield from self._play(built, where, draft, True, notices, max_steps)

    def resume(self, decision: str | Decision | Sequence[Decision] | None = None) -> Generator[Event, None, None]:
        """Go on with a turn that was interrupted, or that waits for the user's word, yielding its events.

        Where a tool was cut in the middle, `decision` says whether it is run "again" or "skip"ped. Where calls
        wait (`asked`) it is the word on some of them; the turn goes on, in its own thread, when there is one on each.
        """
        self._idle()
        words = (decision,) if isinstance(decision, Decision) else () if isinstance(decision, str) else decision or ()
        thread = self._threads[words[0].call.thread] if words else self._threads.current
        choice = decision if isinstance(decision, str) else None
        with self._places.on(thread):
            if thread.asked:
                self._state.start(thread)
            if choice != "skip" and not take(thread, words):
                self._tell()
                return
            last = thread.to_resume(choice)
            answers = None
            if thread.cut and choice == "skip":
                from deepnb.engine.repair import skip_tools

                skip_tools(self.graph, thread.config, last.events)
            elif thread.asked:
                from deepnb.engine import approvals

                answers = approvals.answers(thread.decided.values())
            yield from self._play(self._built_for(thread.model), thread, last, False, (), None, answers)

    def _play(
        self,
        built: Built,
        thread: Thread,
        draft: Turn,
        begin: bool,
        notices: Sequence[Event],
        max_steps: int | None,
        answers: Any = None,
    ) -> Generator[Event, None, None]:
        from deepnb.agent import bringing
        from deepnb.agent.play import asked, play
        from deepnb.engine.probe import to_message
        from deepnb.engine.run import Run

        limits = (max_steps if max_steps is not None else self.options.max_steps, self.options.max_tokens)
        brought = bringing.waiting(thread) if begin else None
        before = [*bringing.messages(brought), *self.skills.before_prompt(thread)] if begin else []
        given = asked(draft.prompt, before) if begin else answers
        ledger = self.recorder(thread, built, draft)
        run = Run(built.graph, given, thread.config, ledger, *limits, record=self.transcripts.event)
        draft = replace(draft, model=built.model, started=draft.started or self.now())
        began = perf_counter()
        thread.running, self._playing = True, draft
        prompt = [to_message(m) for m in given["messages"]] if begin else ()

        def record(played: Played) -> None:
            self._record(thread, draft, played, perf_counter() - began)

        try:
            told = self.transcripts.begin(draft, thread.snapshot.messages, prompt)
            yield from play(run, (*notices, *bringing.notices(brought), *told), record, self.transcripts.event)
        finally:
            thread.running, self._playing = False, None

    def _record(self, thread: Thread, draft: Turn, played: Played, seconds: float) -> None:
        """Append the finished turn, or put it in the place of the one resumed; called once, however the run ended."""
        from deepnb.agent import bringing, play

        thread.running = False
        whole = played.interrupted is None and played.error is None and not played.asks
        self._state.look(thread, played.values if whole else None)
        bringing.sent(thread, played.events)
        turn = play.recorded(draft, played, thread.snapshot, seconds, thread.asked)
        thread.turns[draft.number - 1 :] = [turn]
        self.last = turn
        self.transcripts.end(turn)
        self._state.release(thread)
        self.backend.save(whole=whole)
        self._tell()

    # -- options

    def use(self, model: Any, *, base_url: str | None = None) -> str:
        """Use another model from the next turn on, in the same threads; gives the name it is shown under."""
        return self.configure(model=model, base_url=base_url).model

    def configure(self, **changes: Any) -> Built:
        """Change options (fields of `Options`) from the next turn on; a bad one changes nothing."""
        self._idle()
        for name in ("backend", "checkpointer"):
            if name in changes and changes[name] is not getattr(self.options, name):
                raise DeepnbError(
                    f"{name} can't be changed", f"deepnb.Session({name}=...) starts a session with another"
                )
        options = changed(self.options, changes)
        built = self._graphs.of(options)
        self.options = options
        self._tell()
        return built

    def _built_for(self, model: Any) -> Built:
        """The graph with another model for one turn; the session's own where that is None."""
        return self.built if model is None else self._graphs.of(replace(self.options, model=model))

    def _rerun(self, thread: Thread, cell: str | None, rerun: str) -> tuple[Event, ...]:
        earlier = next((t for t in thread.turns if cell is not None and t.cell == cell), None)
        if earlier is None:
            return ()
        number, now = earlier.number, len(thread.turns)
        if rerun != "replace":
            return (Notice(f"this cell was turn {number}; run again, the thread goes on with turn {now + 1}"),)
        later = f" and the {now - number} after it" if now > number else ""
        self._threads.rewind(thread, number - 1, what=f"re-run of turn {number}")
        self.backend.restored(f"re-run of turn {number}")
        self.transcripts.moved(thread.name, thread.snapshot.messages, "rewind", f"re-run of turn {number}")
        return (Notice(f"turn {number}{later} taken back: this cell was run again (%agent undo brings it back)"),)

    # -- files

    def mount(self, path: str, spec: str) -> Mount:
        """Put the files below a path on a disk (`disk:DIR`), in the store (`store[:NAMESPACE]`) or back (`state`)."""
        self._idle()
        given = {"store": self.options.store, "assistant_id": self.options.assistant_id}
        mount = self.storage.mount(path, spec, base=Path.cwd(), **given)
        self._tell()
        return mount

    def rebase_memory(self) -> None:
        """Have every thread's prompt made anew from the memory files at its next call; its updates are taken out."""
        self._idle()
        self._threads.rebase()
        self._tell()

    def subscribe(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after every change; gives a function that ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def now(self) -> str:
        """The time as an ISO timestamp."""
        return self.clock().isoformat(timespec="seconds")

    # -- helpers

    def is_shared(self, path: str) -> bool:
        """Whether a file belongs to the session (memory, notes, skills) and not to one thread."""
        return self._places.is_shared(path)

    def _elsewhere(self, thread: Thread) -> Mapping[str, str]:
        return self._places.elsewhere(thread, self.memory.paths)

    def _scope(self) -> Scope:
        """What the agent of the turn that is running may know of memory."""
        return self._meant().scope

    def _meant(self) -> Thread:
        """The thread whose turn is running, else the current one."""
        return self._threads[self._playing.thread] if self._playing else self._threads.current

    def _facts(self) -> dict[str, Any]:
        """What the journal keeps of the moment."""
        if (turn := self._playing) is not None:
            return {"at": self.now(), "thread": turn.thread, "turn": turn.number, "cell": turn.cell}
        return {"at": self.now(), "thread": self.thread, "turn": len(self.turns) or None}

    def _idle(self) -> None:
        if self._threads.busy():
            raise DeepnbError("a turn is running", "interrupt it, or wait until it has ended")

    def _tell(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()
