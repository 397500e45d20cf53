"""Turns in the background: each plays in a thread of Python's, in a workspace of its own, on a fork of a thread."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Literal

from deepnb.backends.writer import note_writes
from deepnb.running.current import Current
from deepnb.running.runner import Runner, TurnStream
from deepnb.running.thread import Thread
from deepnb.running.workspace import Workspace
from deepnb.values.approvals import Policy, Rule, policy_of
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError
from deepnb.values.events import Activity
from deepnb.values.text import excerpt, short_repr
from deepnb.values.turn import Event, Turn
from deepnb.wiring.options import Options
from deepnb.workshop.kernel import PlainKernel

JobState = Literal["running", "needs approval", "done", "stopped", "failed"]

_GRACE = 5.0
"""Seconds that a job which is being stopped is waited for; a tool that is blocked may go on, and is ignored."""
MOST = 4
"""Jobs that run at once."""


class JobStream(TurnStream):
    """The events of a background turn, for the thread that plays it; stopping it is an interrupt there."""

    def __init__(self, stream: Callable[[Callable[[], None]], TurnStream]) -> None:
        """`stream` takes `notify`, which says that there are events."""
        self._arrived = threading.Event()
        self._stream = stream(self._arrived.set)
        self._first: Event | None = None
        self._stop = threading.Event()
        self.activity = Activity()

    @property
    def turn(self) -> Turn | None:
        return self._stream.turn

    def begin(self) -> None:
        """Begin the turn: what is wrong with its model or its options is raised here."""
        self._first = self._stream.poll()

    def __next__(self) -> Event:
        while not self._stop.is_set():
            event, self._first = self._first or self._stream.poll(), None
            if event is not None:
                self.activity.add(event)
                return event
            self._arrived.wait()
            self._arrived.clear()
        raise KeyboardInterrupt

    def close(self) -> None:
        self._stream.close()

    def stop(self) -> None:
        """Interrupt whoever reads it; called in another thread."""
        self._stop.set()
        self._arrived.set()


class Job:
    """A turn in the background. It runs in a fork of a thread, with the options and the policy of when it started.

    Code never runs in it: such a call needs approval, and the turn then continues as any other, in the session.
    """

    def __init__(
        self, number: int, prompt: str, source: str, thread: Thread, current: Current, stream: JobStream
    ) -> None:
        """`source` is the thread that was forked, `current` that of the session. What is wrong with its options is raised."""
        self.number = number
        self.prompt = prompt
        self.source = source
        self.started = current.now()
        """ISO timestamp."""
        self._thread, self._current = thread, current
        self._at = len(thread.turns) + 1
        self._began = perf_counter()
        self._turn: Turn | None = None
        self._ended = threading.Event()
        self.problem: DeepnbError | None = None
        self._stream, self._context = stream, copy_context()
        self._context.run(current.begin_background)
        self._context.run(note_writes, f"background job {number}")
        self._context.run(stream.begin)

    def __repr__(self) -> str:
        return short_repr(self, f"{self.number} in {self.thread}, {self.state}: {excerpt(self.prompt)!r}")

    @property
    def thread(self) -> str:
        """The name of its thread: `session.switch(job.thread)` continues there once it is no longer running."""
        return self._thread.name

    @property
    def turn(self) -> Turn | None:
        """Its turn as it is now; None while it is running."""
        if not self._ended.is_set():
            return None
        kept = self._thread.turns[self._at - 1 : self._at]
        self._turn = kept[0] if kept else self._turn
        return self._turn

    @property
    def state(self) -> JobState:
        """What has become of it."""
        if not self._ended.is_set():
            return "running"
        if (turn := self.turn) is None or turn.interrupted is not None:
            return "stopped"
        if turn.error is not None:
            return "failed"
        return "needs approval" if turn.asked else "done"

    @property
    def activity(self) -> Activity:
        """Says what the job waits for, and the tokens of its calls so far."""
        return self._stream.activity

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        turn = self.turn
        return turn.seconds if turn is not None else perf_counter() - self._began

    def wait(self, timeout: float | None = None) -> Turn | None:
        """Its turn, once it has ended or needs approval; None where it is still running after `timeout` seconds."""
        if not self._ended.wait(timeout):
            return None
        self._current.catch_up()
        return self.turn

    def stop(self) -> Turn | None:
        """Stop it, with all kept that was reached; gives its turn."""
        if self.state != "running":
            raise NotFoundError(f"job {self.number} is not running: it is {self.state}", "%agent jobs lists the others")
        self.interrupt()
        return self.wait(_GRACE)

    def interrupt(self) -> None:
        """Let it end soon; called in whichever thread."""
        self._stream.stop()

    def run(self, read: Callable[[JobStream], object], end: Callable[[], None]) -> None:
        """Have `read` read the stream in a thread of its own, in the context it was begun in; `end` comes last there."""

        def run() -> None:
            try:
                # `stop` raises KeyboardInterrupt; the turn, which `close` records, says that it was interrupted and where.
                with suppress(KeyboardInterrupt):
                    read(self._stream)
            except DeepnbError as error:
                self.problem = error
            finally:
                self._stream.close()
                self._turn = self._stream.turn
                end()
                self._ended.set()

        threading.Thread(target=self._context.run, args=(run,), daemon=True, name=f"deepnb-job-{self.number}").start()


class Reader:
    """Reads the events of a job; this one says nothing of them."""

    def read(self, job: Job, stream: JobStream) -> None:
        """Read them to their end; called in the job's own thread."""
        for _ in stream:
            pass

    def returned(self, job: Job) -> None:
        """Its thread is one of the session's now; called in the session's own thread."""


class Jobs(Sequence[Job]):
    """The jobs of a session, in the order they were started; `job(3)` is number 3."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._jobs: list[Job] = []

    def __repr__(self) -> str:
        return short_repr(self, ", ".join(f"{job.number} {job.state}" for job in self) or "(empty)")

    def __len__(self) -> int:
        return len(self._jobs)

    def __getitem__(self, at: Any) -> Any:
        return self._jobs[at]

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs whose turn has not ended."""
        return tuple(job for job in self if job.state == "running")

    def job(self, number: int) -> Job:
        """Job `number`, counted from 1."""
        if not 1 <= number <= len(self._jobs):
            raise NotFoundError(f"no job {number}", "%agent jobs lists them")
        return self._jobs[number - 1]

    def start(self, prompt: str, *, thread: str | None = None, reader: Reader | None = None, **options: Any) -> Job:
        """Run a prompt in the background, in a fork of a thread; the options are those of `Session.start`."""
        work, reader = self._workspace, reader or Reader()
        work.current.idle()
        if not prompt.strip():
            raise InvalidError("the prompt is empty", "%agent PROMPT")
        if len(self.running) >= MOST:
            raise LimitError(f"{MOST} jobs are running", "wait until one ends, or %agent jobs stop N")
        source = work.threads[thread] if thread else work.threads.current
        number = len(self._jobs) + 1
        fork = work.threads.branch(source, work.threads.free_name("job", number))
        work.transcripts.forked(source.name, fork.name, fork.snapshot.messages, fork.parent or "")
        work.current.save()
        # Its options are those of now, but code always asks before it runs.
        asks = code_asks(policy_of(work.options.approve))
        apart = fork_workspace(work, replace(work.options, checkpointer=None, approve=asks.option), fork)
        apart.keep_with(work)
        apart.home.share(work.home)
        apart.transcripts.share(work.transcripts[fork.name])
        try:
            stream = JobStream(lambda notify: Runner(apart).stream(prompt, notify=notify, **options))
            job = Job(number, prompt, source.name, fork, work.current, stream)
        except BaseException:
            work.threads.remove(fork)
            apart.close()
            raise
        work.threads.lend(fork)
        self._jobs.append(job)
        give_back = partial(self._give_back, job, fork, apart, reader)
        job.run(partial(reader.read, job), partial(work.current.later, give_back))
        return job

    def stop(self) -> int:
        """Stop all that run; gives how many these were."""
        running = self.running
        for job in running:
            job.interrupt()
        for job in running:
            with suppress(DeepnbError):  # it has ended meanwhile
                job.stop()
        return len(running)

    def _give_back(self, job: Job, thread: Thread, apart: Workspace, reader: Reader) -> None:
        """The turn has ended: its thread is one of the session's, and so is what waits for the user."""
        work, turn = self._workspace, job.wait()  # its thread of Python's has left to say that it ended
        guard = apart.backend  # where its thread's files are now, which are the session's from here on
        work.threads.take_back(thread)
        notes = guard.drain()
        if turn is not None:
            with work.current.on(thread):
                for one in guard.held_changes:  # its files are ours now
                    work.backend.hold(one.path, one.base, one.text, one.why, one.origin)
                known = work.backend.notices
                known.extend(line for line in notes if line not in known)
            work.current.last = turn
        apart.close()
        reader.returned(job)
        work.current.tell()


# -- a workspace beside that of a session, for one fork of a thread: a job in the background, or a column of a comparison


def fork_workspace(work: Workspace, options: Options, thread: Thread) -> Workspace:
    """Return a workspace with one thread, and the variables and the tape of another."""
    made = Workspace(options, work.current.clock, thread.name)
    if work.current.kernel is not None:
        made.current.shell = PlainKernel(work.current.kernel.namespace)
    made.current.shared = work.current.shared
    made.current.recording = work.current.recording
    made.threads.take_back(thread)
    made.current.thread = thread
    return made


def code_asks(policy: Policy) -> Policy:
    asks: dict[str, Rule] = {tool: "ask" for tool in CODE_TOOLS if policy.rules.get(tool) != "deny"}
    return replace(policy, rules={**policy.rules, **asks})
