"""A comparison: a prompt run with several options, one after another, each in a fork that nothing else knows of.

A fork has a workspace and a checkpointer of its own, in memory, and a copy of the thread's memory. So the session
stays as it is by construction, also if it is kept in a database, and if the kernel ends in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.context.ledger import last_request
from deepnb.memory.layers import layers
from deepnb.running.runner import Runner
from deepnb.running.thread import Thread, asks_only, waits
from deepnb.running.workspace import Workspace
from deepnb.values.approvals import policy_of
from deepnb.values.budget import PARTS
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, RefusedError
from deepnb.values.image import PromptImage
from deepnb.values.text import excerpt, short_repr
from deepnb.values.turn import Snapshot, Turn
from deepnb.wings.compare.column import NOT_RUN, Column, State
from deepnb.wings.compare.jobs import code_asks, fork_workspace
from deepnb.wiring.options import Options, changed

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.views.view import View

MOST = 4
"""Combinations in one comparison."""


@dataclass(frozen=True)
class Choice:
    """A value of an option with the words it is shown by."""

    value: Any
    words: str


@dataclass(frozen=True)
class Comparison:
    """What came of a prompt with each combination of options; its forks are gone but for those that were kept."""

    prompt: str
    thread: str
    columns: tuple[Column, ...]

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return short_repr(self, f"of {excerpt(self.prompt)!r} in {self.thread}: {names}")

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before all columns had run."""
        return any(column.state == "interrupted" for column in self.columns)

    @property
    def stopped(self) -> Comparison:
        """Give the comparison where nothing goes on: what has not ended is interrupted, what has not begun is not run."""
        why = "interrupted before it ended"
        ends: dict[State, tuple[State, str]] = {"running": ("interrupted", why), "waiting": ("not run", "")}
        ended = (ends.get(column.state, (column.state, column.problem)) for column in self.columns)
        columns = (replace(c, state=state, problem=why) for c, (state, why) in zip(self.columns, ended, strict=True))
        return replace(self, columns=tuple(columns))

    def df(self) -> pd.DataFrame:
        """One row per column: its options, how it ended, the answer, and the figures."""
        import pandas as pd

        rows = [
            {
                **column.options,
                "state": column.state,
                "answer": column.answer,
                "tool_calls": [call.name for call, _ in column.tool_calls],
                "stale": list(column.stale),
                **{part: column.budget.parts.get(part, 0) if column.budget else None for part in PARTS},
                "context": column.budget.total if column.budget else None,
                "input": column.usage.input,
                "output": column.usage.output,
                "exact": column.usage.exact,
                "cached": column.cached,
                "cacheable": column.cacheable,
                "calls": len(column.calls),
                "changed": [diff.path for diff in column.changed],
                "cost": column.usage.cost,
                "seconds": round(column.turn.seconds, 3) if column.turn else None,
                "problem": column.problem,
                "thread": column.thread,
            }
            for column in self.columns
        ]
        kinds = dict.fromkeys((*PARTS, "context"), "Int64") | dict.fromkeys(("cached", "cacheable", "cost"), "Float64")
        return pd.DataFrame(rows).astype(kinds)


def comparison_value(comparison: Comparison) -> View:
    """Return a comparison as a value shows it: whole answers if there is room."""
    from deepnb.views.values import brief
    from deepnb.wings.compare.view import comparison_view

    view = comparison_view(comparison.columns, comparison.thread)
    return brief(view, [lambda: replace(view, brief=True)], "whole answers: .df(), or .columns")


def comparisons(
    work: Workspace,
    prompt: str,
    choices: Mapping[str, Sequence[Any]],
    *,
    base: Mapping[str, Any] | None = None,
    thread: str | None = None,
    images: Sequence[PromptImage] = (),
    keep: bool = False,
) -> Iterator[Comparison]:
    """Yield the comparison as it is so far, each time a column begins or has ended; an interrupt ends it.

    What is wrong with the options is raised before the first. `base` are options of all columns. With `keep`, the forks
    that ended well become threads.
    """
    combinations = _combinations(work, choices)
    if not prompt.strip():
        raise InvalidError("the prompt is empty", "%agent PROMPT")
    work.need("comparisons")
    source = _source(work, thread)
    every = []
    for one in combinations:
        options = changed(work.options, {**(base or {}), **{o: choice.value for o, choice in one.items()}})
        # It asks about calls that are allowed from now on, since they would run several times.
        asks = code_asks(policy_of(options.approve).without_allowed)
        every.append(replace(options, checkpointer=None, approve=asks.option))
    begun = next((r for turn in reversed(source.turns) if (r := last_request(turn.events)) is not None), None)
    columns = [Column({o: choice.words for o, choice in one.items()}, begun=begun) for one in combinations]
    now = Comparison(prompt, thread or work.current.thread.name, tuple(columns))
    for at, options in enumerate(every):
        columns[at] = replace(columns[at], state="running")
        yield replace(now, columns=tuple(columns))
        columns[at] = _run(work, source, options, columns[at], prompt, images, keep)
        if columns[at].state == "interrupted":
            break
    yield replace(now, columns=tuple(columns)).stopped


def _combinations(work: Workspace, choices: Mapping[str, Sequence[Any]]) -> list[dict[str, Choice]]:
    from deepnb.session.disk import named_tape

    named: list[list[tuple[str, Choice]]] = []
    for option, values in choices.items():
        if isinstance(values, str | bytes) or not isinstance(values, Sequence) or len(values) < 2:
            raise InvalidError(f"{option} needs at least two values to compare", f"give two to {MOST}")
        found: list[Choice] = []
        for value in values:
            one = value if isinstance(value, Choice) else Choice(value, _words(option, value))
            if option == "model" and isinstance(value, Path):
                one = Choice(named_tape(work, value), f"tape {value.name}")
            alike = [other for other in found if other.words.partition(" #")[0] == one.words]
            if any(other.value is one.value or other.value == one.value for other in alike):
                raise InvalidError(f"{option} has the same value twice", "name each value once")
            found.append(replace(one, words=f"{one.words} #{len(alike) + 1}") if alike else one)
        named.append([(option, one) for one in found])
    if not named:
        raise InvalidError("nothing to compare", "give an option two values, such as memory_refresh")
    combinations = list(product(*named))
    if len(combinations) > MOST:
        raise LimitError(f"{len(combinations)} combinations to compare, {MOST} at most", "compare fewer values")
    return [dict(one) for one in combinations]


def _words(option: str, value: Any) -> str:
    if option in ("trigger", "keep") and isinstance(value, tuple | list) and len(value) == 2:
        return f"{value[1]}" if value[0] == "fraction" else f"{value[1]:,} {value[0]}"
    if isinstance(value, bool) or value is None:
        return {True: "on", False: "off", None: "none"}[value]
    if isinstance(value, str | int | float):
        return excerpt(f"{value:,}" if isinstance(value, int) else str(value), 40)
    if isinstance(value, tuple | list):
        return " + ".join(_words("", one) for one in value) or "none"
    if option == "model":
        from deepnb.models.resolve import label_of

        return label_of(value)
    return excerpt(repr(value), 40)


def _source(work: Workspace, name: str | None) -> Thread:
    """Return the thread that is forked, as it is now; nothing is written to it."""
    work.current.idle()
    if (graph := work.options.graph) is not None and graph.backend is not None and not graph.in_state:
        what = f"{graph.name} keeps files outside of its state, which each run of a comparison would change"
        raise RefusedError(what, "compile it with deepagents' StateBackend()")
    thread = work.threads[name] if name else work.threads.current
    if work.state.is_busy(thread) and work.persistence is not None:
        raise work.persistence.database.busy(thread.name)
    if thread.root is not None:
        work.state.ensure_checkpoint(thread)
    if thread.asked:
        raise waits(thread, thread is work.current.thread)
    return thread


def _run(
    work: Workspace,
    source: Thread,
    options: Options,
    column: Column,
    prompt: str,
    images: Sequence[PromptImage],
    keep: bool,
) -> Column:
    problem, stopped = "", False
    try:
        # It is named as the thread it comes from: what is sent is what would be sent there, and a tape knows it.
        new: dict[str, Any] = {"turns": list(source.turns), "snapshot": Snapshot(source.name), "files": {}}
        thread = replace(source, **new, asked=(), decided={}, root=None)
        thread.granted = frozenset()
        fork = fork_workspace(work, options, thread)
        fork.home.copy(work.home, source.home)
        fork.graphs.undoable = fork.home.in_kernel
        if source.root is not None:
            fork.state.begin(thread, work.state.values_at(source.snapshot))
            thread.root = thread.snapshot
    except DeepnbError as error:
        return _ended(column, None, error.typed, False)
    except KeyboardInterrupt:
        return _ended(column, None, "", True)
    try:
        context = copy_context()
        context.run(work.current.begin_background)
        stream = Runner(fork).stream(prompt, images=images)
        try:
            while context.run(next, stream, None) is not None:
                pass
        except DeepnbError as error:
            problem = error.typed
        except KeyboardInterrupt:
            stopped = True
        finally:
            stream.close()
        last = source.turns[-1].model if source.turns else ""
        if (turn := stream.turn) is not None:  # no model has in its cache what another was sent
            column = replace(column, caching=fork.built.caching, begun=column.begun if turn.model == last else None)
        files = fork.options.memory
        if fork.options.graph is None:
            files = tuple(filter(thread.scope.may_read, layers(files, fork.current.now()[:10])))
        column = _ended(replace(column, layers=files), turn, problem, stopped)
        if not keep or column.state != "done":
            return column
        values, memory = fork.state.values_at(thread.snapshot), fork.home.files(thread.home)
        made = work.threads.adopt(source, work.threads.free_name("compare", 1), values, memory, thread.turns[-1])
        work.transcripts.forked(source.name, made.name, made.snapshot.messages, made.parent or "")
        work.current.tell()
        return replace(column, thread=made.name)
    finally:
        fork.close()


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
