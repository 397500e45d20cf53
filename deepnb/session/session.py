"""The session: an agent, its threads and its turns. Everything the magics do is a method call on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.core.approvals import Decision, PendingCall
from deepnb.core.budget import Budget, Rule
from deepnb.core.values import BroughtBack, Event, Flush, HistorySection, Offload, Snapshot, ThreadInfo, Turn
from deepnb.memory.scope import Scope
from deepnb.running.runner import Runner, TurnStream
from deepnb.running.transcripts import Transcripts
from deepnb.running.workspace import Workspace
from deepnb.session.approvals import SessionApprovals
from deepnb.session.context import SessionContext
from deepnb.session.history import SessionHistory
from deepnb.wiring.options import Options, changed

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.backends.guarded import GuardedBackend
    from deepnb.backends.mounts import Mount
    from deepnb.core.stack import Stack
    from deepnb.core.xray import Xray
    from deepnb.running.storage import Storage
    from deepnb.session.files import Files
    from deepnb.session.memory import SessionMemory
    from deepnb.session.skills import SessionSkills
    from deepnb.session.subagents import SessionSubagents
    from deepnb.wiring.build import Built


class Session:
    """A deep agent whose files live in this process.

    `Session(model="offline")` works at once, with no key. The other keyword arguments are the
    fields of `deepnb.wiring.options.Options`; `clock` gives the time (an aware datetime in the
    user's time zone, which says when a day begins).
    """

    def __init__(self, model: Any = "offline", *, clock: Callable[[], datetime] | None = None, **options: Any) -> None:
        self._workspace = Workspace(changed(Options(model=model), options), clock)
        self._runner = Runner(self._workspace)
        self._context = SessionContext(self._workspace)
        self._history = SessionHistory(self._workspace, self._context)
        self.approvals = SessionApprovals(self._workspace, self._runner)
        """Which calls need approval, and which run unasked."""

    # -- its parts

    @property
    def options(self) -> Options:
        """What the agent is made of."""
        return self._workspace.options

    @property
    def model(self) -> str:
        """The name of the model in use."""
        return self.options.model if isinstance(self.options.model, str) else self.built.model

    @property
    def built(self) -> Built:
        """The graph and what belongs to it; importing the engine takes some seconds the first time."""
        return self._workspace.built

    @property
    def graph(self) -> Any:
        """The compiled LangGraph graph."""
        return self.built.graph

    @property
    def checkpointer(self) -> Any:
        """Where threads are checkpointed; in memory unless one was given."""
        return self._workspace.graphs.checkpointer

    @property
    def backend(self) -> GuardedBackend:
        """The agent's files as a deepagents `BackendProtocol` that also works outside a run."""
        return self._workspace.backend

    @property
    def storage(self) -> Storage:
        """Where the current thread's files are, and what is mounted into them."""
        return self._workspace.home.storage

    @property
    def files(self) -> Files:
        """path -> text of the agent's files."""
        from deepnb.session.files import Files

        return Files(self.backend)

    @cached_property
    def memory(self) -> SessionMemory:
        """Reading and writing what the agent remembers."""
        from deepnb.session.memory import SessionMemory

        return SessionMemory(self._workspace, self._context)

    @cached_property
    def skills(self) -> SessionSkills:
        """Reading and writing the agent's skills."""
        from deepnb.session.skills import SessionSkills

        return SessionSkills(self._workspace)

    @cached_property
    def subagents(self) -> SessionSubagents:
        """Reading and writing the agents that others hand tasks to."""
        from deepnb.session.subagents import SessionSubagents

        return SessionSubagents(self._workspace)

    @property
    def transcripts(self) -> Transcripts:
        """All that happened, by thread, as it is written down."""
        return self._workspace.transcripts

    # -- running

    def run(self, prompt: str, **how: Any) -> Turn:
        """Run one turn to its end; keyword arguments as for `stream`."""
        stream = self.stream(prompt, **how)
        for _ in stream:
            pass
        assert stream.turn is not None
        return stream.turn

    def stream(
        self,
        prompt: str,
        *,
        model: Any = None,
        thread: str | None = None,
        max_steps: int | None = None,
        cell: str | None = None,
        rerun: str = "continue",
    ) -> TurnStream:
        """Run one turn, yielding its events; the stream's `turn` is its record when it ends.

        `model`, `thread` and `max_steps` hold for this turn only. `cell` is the id of the notebook
        cell: where it made a turn before, `rerun` says whether the thread goes on ("continue") or
        is first taken back to before it ("replace"). A failing run raises one line; a
        KeyboardInterrupt, or closing the stream, stops it with all kept that was reached.
        """
        return self._runner.stream(prompt, model=model, thread=thread, max_steps=max_steps, cell=cell, rerun=rerun)

    def resume(
        self, decision: str | Decision | Sequence[Decision] | None = None, *, thread: str | None = None
    ) -> TurnStream:
        """Go on with a turn that was interrupted, or whose calls need approval, yielding its events.

        Where a tool was cut in the middle, `decision` says whether it is run "again" or "skip"ped. Where calls
        wait (`asked`) it is the decision on some of them; the turn goes on, in its own thread, once there is one on
        each. `thread` is the current one, if not given.
        """
        choice = decision if isinstance(decision, str) else None
        words = (decision,) if isinstance(decision, Decision) else () if isinstance(decision, str) else decision or ()
        if not words:
            return self._runner.resume(choice, thread)
        whole = self.approvals.decide(words)
        return self._runner.resume(None, words[0].call.thread) if whole else self._runner.nothing()

    @property
    def pending(self) -> str | None:
        """What the current thread waits for, in one line; None where nothing is left to run."""
        return self._workspace.thread.pending

    @property
    def asked(self) -> tuple[PendingCall, ...]:
        """The calls that need approval; each has `approve()`, `reject(why)` and `edit(args)` for `resume`."""
        return self._workspace.thread.asked

    @property
    def last(self) -> Turn | None:
        """The turn that ended last, in whichever thread."""
        return self._workspace.current.last

    # -- options

    def use(self, model: Any, *, base_url: str | None = None) -> str:
        """Use another model from the next turn on, in the same threads; gives the name it is shown under."""
        return self.configure(model=model, base_url=base_url).model

    def configure(self, **changes: Any) -> Built:
        """Change options (fields of `Options`) from the next turn on; a bad one changes nothing."""
        return self._workspace.configure(changes)

    def mount(self, path: str, spec: str) -> Mount:
        """Put the files below a path on a disk (`disk:DIR`), in the store (`store[:NAMESPACE]`) or back (`state`)."""
        work = self._workspace
        work.current.idle()
        given = {"store": self.options.store, "assistant_id": self.options.assistant_id}
        mount = self.storage.mount(path, spec, base=Path.cwd(), **given)
        work.current.tell()
        return mount

    def is_shared(self, path: str) -> bool:
        """Whether a file belongs to the session (memory, notes, skills) and not to one thread."""
        return self._workspace.home.paths.is_shared(path)

    @property
    def clock(self) -> Callable[[], datetime]:
        """What gives the time, as it was given."""
        return self._workspace.current.clock

    def now(self) -> str:
        """The time as an ISO timestamp."""
        return self._workspace.current.now()

    def subscribe(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after every change; gives a function that ends it."""
        return self._workspace.current.watch(watcher)

    # -- threads

    @property
    def thread(self) -> str:
        """The name of the current thread."""
        return self._workspace.current.thread.name

    @property
    def thread_info(self) -> ThreadInfo:
        """The current thread as it is listed."""
        return self._workspace.threads.info(self._workspace.thread)

    @property
    def threads(self) -> tuple[ThreadInfo, ...]:
        """All threads, in the order they were made."""
        return self._workspace.threads.infos()

    @property
    def thread_names(self) -> tuple[str, ...]:
        """The names of all threads; none of those that a given checkpointer holds is read for it."""
        return self._workspace.threads.names

    @property
    def scope(self) -> Scope:
        """What the agent of the current thread may know of memory."""
        return self._workspace.thread.scope

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the current thread."""
        return self._workspace.turns

    def turn(self, number: int) -> Turn:
        """Turn `number` of the current thread, counted from 1."""
        return self._workspace.thread.turn(number)

    @property
    def text(self) -> str:
        """The last answer in the current thread; empty before the first."""
        return self.turns[-1].text if self.turns else ""

    @property
    def snapshot(self) -> Snapshot:
        """The state of the current thread as it stands, waiting writes included."""
        return self._workspace.snapshot

    def new(self, name: str | None = None, *, empty: bool = False, shared: bool = False) -> str:
        """Start a new thread and make it current; gives its name.

        Memory, notes and skills are the session's: it has them, and the others see what it learns. An
        `empty` one has none of them, and keeps what it learns to itself and its forks. A `shared` one is
        a thread that others read along: `/MEMORY.md` is kept from its agent.
        """
        work = self._workspace
        work.current.idle()
        made = work.threads.new(name, scope=Scope(empty, shared))
        work.current.tell()
        return made.name

    def switch(self, name: str) -> str:
        """Make another thread current."""
        work = self._workspace
        work.current.idle()
        work.threads.switch(name)
        work.current.tell()
        return name

    def fork(self, name: str | None = None, at: int | None = None) -> str:
        """A new thread that begins as this one stood after turn `at` (the last, if not given)."""
        work = self._workspace
        work.current.idle()
        source = self.thread
        made = work.threads.fork(name, at)
        work.transcripts.forked(source, made.name, made.snapshot.messages, made.parent or source)
        work.current.tell()
        return made.name

    def rewind(self, number: int, *, memory: bool = False) -> None:
        """Take the current thread back to just after turn `number`; with `memory`, memory and skills too."""
        work = self._workspace
        work.current.idle()
        work.threads.rewind(work.thread, number, memory=memory)
        work.backend.restored(f"rewind to turn {number}")
        work.transcripts.moved(self.thread, self.snapshot.messages, "rewind", f"to turn {number}")
        work.current.tell()

    def undo(self) -> str:
        """Take back the last rewind, fork, new or re-run; says which it was."""
        work = self._workspace
        work.current.idle()
        what, thread = work.threads.undo()
        with work.current.on(thread):
            work.backend.restored(f"undo of {what}")
            work.transcripts.moved(thread.name, thread.snapshot.messages, "undo", what)
        work.transcripts.gone(work.threads.names, what)
        work.current.tell()
        return what

    # -- context

    @property
    def rule(self) -> Rule:
        """The compaction rule in force."""
        return self.built.rule

    def count(self, text: str) -> int:
        """Tokens of a text, by the counter in use."""
        return self.built.meter.count(text)

    def budget(self) -> Budget | None:
        """What filled the context at the last model call; None before the first."""
        return self._context.budget()

    def xray(self, turn: int | None = None, call: int | None = None) -> Xray:
        """What a model call was sent, piece by piece, and what changed since the one before it.

        The last call for an answer, that of turn `turn`, or call `call` of it, both counted from 1.
        """
        return self._context.xray(turn, call)

    def requests(self) -> list[tuple[str, tuple[int, int]]]:
        """The calls of the thread whose request was kept, oldest first: a name, and turn and call for `xray`."""
        return self._context.requests()

    def stack(self) -> Stack:
        """The layers of the main agent in the order a request passes them, with what each added to the last one."""
        return self._context.stack()

    def ledger(self) -> pd.DataFrame:
        """One row per model call of the current thread. Figures are tokens."""
        from deepnb.session.tables import ledger

        return ledger(self.turns)

    def compact(self, tell: Callable[[Event], None] = lambda event: None) -> Offload:
        """Compact the current thread now, all but its last turn: flush, offload, summary, as at the trigger.

        `tell` is given each event as it happens.
        """
        return self._context.compact(tell)

    def flush(self) -> Flush:
        """Put down in today's note what is worth keeping of the current thread; nothing leaves its prompt."""
        return self._context.flush()

    def history(self) -> tuple[HistorySection, ...]:
        """What was offloaded from the current thread, by time."""
        return self._history.sections()

    def bring_back(self, section: int | None, messages: Iterable[int] | None = None) -> BroughtBack | None:
        """Put messages of a section of the history before the next prompt, word for word as in the file.

        Sections and messages count from 1; without `messages` all of them, beside those that wait there
        already. None in the place of a section takes them all away again.
        """
        return self._history.bring_back(section, messages)

    @property
    def brought_back(self) -> BroughtBack | None:
        """What stands before the next prompt of the current thread."""
        return self._history.brought_back

    def transcript(self, thread: str | None = None) -> pd.DataFrame:
        """One row per line of a thread's transcript (the current one's, if not given), oldest first."""
        from deepnb.session.tables import transcript

        one = self.transcripts.keep(self._workspace.threads[thread or self.thread].name)
        return transcript(one.read()[0], one.session)
