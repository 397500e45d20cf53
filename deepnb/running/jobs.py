"""The background turns of a session: each plays in a workspace of its own, on a fork of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from deepnb.running.job import Job, JobStream
from deepnb.running.thread import Thread
from deepnb.running.workspace import Workspace, code_asks, workspace_beside
from deepnb.values.approvals import policy_of
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError
from deepnb.values.image import PromptImage
from deepnb.values.short_repr import short_repr


class Reader(Protocol):
    """Who reads the events of a job."""

    def read(self, job: Job, stream: JobStream) -> None:
        """Read them to their end; called in the job's own thread."""

    def landed(self, job: Job) -> None:
        """Its thread is one of the session's now; called in the session's own thread."""


class _Silent:
    """Reads them, and says nothing of them."""

    def read(self, job: Job, stream: JobStream) -> None:
        for _ in stream:
            pass

    def landed(self, job: Job) -> None:
        """Nothing is to be done."""


MOST = 4
"""Jobs that run at once."""


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

    def __iter__(self) -> Iterator[Job]:
        return iter(tuple(self._jobs))

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs whose turn has not ended."""
        return tuple(job for job in self if job.state == "running")

    def job(self, number: int) -> Job:
        """Job `number`, counted from 1."""
        if not 1 <= number <= len(self._jobs):
            raise NotFoundError(f"no job {number}", "%agent jobs lists them")
        return self._jobs[number - 1]

    def start(
        self,
        prompt: str,
        *,
        model: Any = None,
        thread: str | None = None,
        max_steps: int | None = None,
        cell: str | None = None,
        images: Sequence[PromptImage] = (),
        response_format: Any = None,
        reader: Reader | None = None,
    ) -> Job:
        """Run a prompt in the background, in a fork of a thread."""
        work, reader = self._workspace, reader or _Silent()
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
        apart = workspace_apart(work, fork)
        job = Job(number, prompt, source.name, fork, work.current)
        options = {"model": model, "max_steps": max_steps, "cell": cell, "images": images}
        options |= {"response_format": response_format}
        try:
            job.begin(apart, lambda runner, notify: runner.stream(prompt, **options, notify=notify))
        except BaseException:
            work.threads.remove(fork)
            apart.close()
            raise
        work.threads.lend(fork)
        self._jobs.append(job)
        land = partial(self._land, job, fork, apart, reader)
        job.run(partial(reader.read, job), partial(work.current.later, land))
        return job

    def stop(self) -> int:
        """Stop all that run; gives how many these were."""
        running = self.running
        for job in running:
            job.interrupt()
        for job in running:
            try:
                job.stop()
            except DeepnbError:  # it has ended meanwhile
                continue
        return len(running)

    def _land(self, job: Job, thread: Thread, apart: Workspace, reader: Reader) -> None:
        """The turn has ended: its thread is one of the session's, and so is what waits for the user."""
        work, turn = self._workspace, job.wait()  # its thread of Python's has left to say that it ended
        guard = apart.backend  # where its thread's files are now, which are the session's from here on
        work.threads.take_back(thread)
        notes = guard.drain()
        if turn is not None:
            with work.current.on(thread):
                work.backend.take_over(guard, notes)
            work.current.last = turn
        apart.close()
        reader.landed(job)
        work.current.tell()


def workspace_apart(work: Workspace, thread: Thread) -> Workspace:
    """A workspace for one thread alone: its options are those of now, but code always asks before it runs."""
    asks = code_asks(policy_of(work.options.approve))
    made = workspace_beside(work, replace(work.options, checkpointer=None, approve=asks.option), thread)
    made.keep_with(work)
    made.home.share(work.home)
    made.transcripts.share(work.transcripts[thread.name])
    return made
