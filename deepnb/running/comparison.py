"""A prompt run with several options, one after another, each in a fork of a thread that nothing else knows of.

A fork has a workspace and a checkpointer of its own, in memory, and a copy of the thread's memory. So the session
stays as it is by construction, also where it is kept in a database, and where the kernel ends in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from deepnb.memory.layers import layers
from deepnb.running.runner import Runner, TurnStream
from deepnb.running.thread import Thread, asks_only, waits
from deepnb.running.workspace import Workspace, code_asks, workspace_beside
from deepnb.values.approvals import policy_of
from deepnb.values.comparison import NOT_RUN, Column
from deepnb.values.errors import DeepnbError, InvalidError, RefusedError
from deepnb.values.image import PromptImage
from deepnb.values.turn import Snapshot, Turn
from deepnb.wiring.options import Options, changed


@dataclass(frozen=True)
class Variant:
    """One combination of options."""

    words: Mapping[str, str]
    """Option -> its value as it is shown."""
    changes: Mapping[str, Any]


Columns = tuple[Column, ...]


def compare(
    work: Workspace,
    prompt: str,
    variants: Sequence[Variant],
    *,
    thread: str | None = None,
    images: Sequence[PromptImage] = (),
    keep: bool = False,
) -> Iterator[Columns]:
    """The columns as they are so far, each time one begins or has ended; after an interrupt the rest is not run.

    What is wrong with the options is raised before the first. With `keep`, the forks that ended well become threads.
    """
    if not prompt.strip():
        raise InvalidError("the prompt is empty", "%agent PROMPT")
    work.need("comparisons")
    source = _source(work, thread)
    options = [_options(work, one.changes) for one in variants]
    begun = _last_request(source)
    columns = [Column(one.words, begun=begun) for one in variants]
    for at, one in enumerate(options):
        columns[at] = replace(columns[at], state="running")
        yield tuple(columns)
        columns[at] = _run(work, source, one, columns[at], prompt, images, keep)
        if columns[at].state == "interrupted":
            columns[at + 1 :] = [replace(left, state="not run") for left in columns[at + 1 :]]
            break
    yield tuple(columns)


def _run(
    work: Workspace,
    source: Thread,
    options: Options,
    column: Column,
    prompt: str,
    images: Sequence[PromptImage],
    keep: bool,
) -> Column:
    """A column when it has ended, however it ended; a model that can't be set up is the end of its column alone."""
    try:
        fork = _Fork(work, source, options)
    except DeepnbError as error:
        return _ended(column, None, error.typed, False)
    except KeyboardInterrupt:
        return _ended(column, None, "", True)
    try:
        column = fork.run(column, prompt, images)
        return replace(column, thread=fork.keep()) if keep and column.state == "done" else column
    finally:
        fork.close()


class _Fork:
    """A fork of a thread with options of its own."""

    def __init__(self, work: Workspace, source: Thread, options: Options) -> None:
        self._session, self._source = work, source
        turns = list(source.turns)
        # Named as the thread it comes from: what is sent is what would be sent there, and a tape knows it.
        self._thread = replace(
            source, turns=turns, snapshot=Snapshot(source.name), files={}, asked=(), decided={}, root=None
        )
        self._thread.granted = frozenset()
        self._work = made = workspace_beside(work, options, self._thread)
        made.home.copy(work.home, source.home)
        made.graphs.undoable = made.home.in_kernel
        if source.root is not None:
            made.state.begin(self._thread, work.state.values_at(source.snapshot))
            self._thread.root = self._thread.snapshot

    def run(self, column: Column, prompt: str, images: Sequence[PromptImage]) -> Column:
        """The column when its turn has ended, however it ended."""
        context = copy_context()
        context.run(self._session.current.begin_background)
        problem, stopped = "", False
        stream = Runner(self._work).stream(prompt, images=images)
        try:
            while context.run(next, stream, None) is not None:
                pass
        except DeepnbError as error:
            problem = error.typed
        except KeyboardInterrupt:
            stopped = True
        finally:
            _close(stream)
        last = self._source.turns[-1].model if self._source.turns else ""
        if stream.turn is not None and stream.turn.model != last:
            column = replace(column, begun=None)  # no model has in its cache what another was sent
        if stream.turn is not None:
            column = replace(column, caching=self._work.built.caching)
        column = replace(column, layers=self._layers())
        return _ended(column, stream.turn, problem, stopped)

    def _layers(self) -> tuple[str, ...]:
        options = self._work.options
        if options.graph is not None:
            return options.memory
        return tuple(filter(self._thread.scope.may_read, layers(options.memory, self._work.current.now()[:10])))

    def keep(self) -> str:
        """Make it a thread of the session, with a memory of its own; gives its name."""
        work, values = self._session, self._work.state.values_at(self._thread.snapshot)
        memory, name = self._work.home.files(self._thread.home), work.threads.free_name("compare", 1)
        made = work.threads.adopt(self._source, name, values, memory, self._thread.turns[-1])
        work.transcripts.forked(self._source.name, name, made.snapshot.messages, made.parent or "")
        work.current.tell()
        return name

    def close(self) -> None:
        """Drop it."""
        self._work.close()


def _close(stream: TurnStream) -> None:
    """End a run that is still going on; a second interrupt does not stop the ending."""
    while True:
        try:
            return stream.close()
        except KeyboardInterrupt:
            continue


def _ended(column: Column, turn: Turn | None, problem: str, stopped: bool) -> Column:
    column = replace(column, turn=turn)
    why = turn.interrupted if turn is not None else None
    if stopped:
        return replace(column, state="interrupted", problem=why or "interrupted before the turn started")
    if why is not None:  # at a limit of the turn
        return replace(column, state="stopped", problem=why)
    if problem:
        return replace(column, state="failed", problem=problem)
    if turn is not None and turn.asked and asks_only(turn.asked):
        return replace(column, state="stopped", problem="the graph asks a question, which a comparison does not answer")
    if turn is not None and turn.asked:
        names = ", ".join(dict.fromkeys(call.name for call in turn.asked))
        return replace(column, state="needs approval", problem=f"{names} needs approval: {NOT_RUN}")
    return replace(column, state="done")


def _source(work: Workspace, name: str | None) -> Thread:
    """The thread that is forked, as it is now; nothing is written to it."""
    work.current.idle()
    if (graph := work.options.graph) is not None and graph.backend is not None and not graph.in_state:
        raise RefusedError(
            f"{graph.name} keeps files outside of its state, which each run of a comparison would change",
            "compile it with deepagents' StateBackend()",
        )
    thread = work.threads[name] if name else work.threads.current
    if work.state.is_busy(thread) and work.persistence is not None:
        raise work.persistence.database.busy(thread.name)
    if thread.root is not None:
        work.state.start(thread)
    if thread.asked:
        raise waits(thread, thread is work.current.thread)
    return thread


def _options(work: Workspace, changes: Mapping[str, Any]) -> Options:
    """The options of a fork: calls that the user allowed once and for all are asked about, since they would run several times."""
    options = changed(work.options, changes)
    asks = code_asks(policy_of(options.approve).without_allowed)
    return replace(options, checkpointer=None, approve=asks.option)


def _last_request(thread: Thread) -> Any:
    from deepnb.context.ledger import last_request

    return next((r for turn in reversed(thread.turns) if (r := last_request(turn.events)) is not None), None)
