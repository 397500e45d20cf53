"""Running turns: a prompt to its end, a decision on calls that wait, and a turn that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from deepnb.running.thread import ADDED, Thread, brought_messages, running, waits
from deepnb.running.workspace import Workspace
from deepnb.values.approvals import Decision
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.values.image import PromptImage, with_markers
from deepnb.values.server_address import LOST
from deepnb.values.text import whole
from deepnb.values.turn import Event, ModelEnded, Notice, ToolEnded, Turn, Usage

if TYPE_CHECKING:
    from deepnb.context.ledger import Recorder
    from deepnb.running.play import Played
    from deepnb.wiring.build import Built


Notify = Callable[[], None]

_LOOK_UP = 0.1
"""Seconds after which an event loop that waits is woken: a signal, as ipykernel's interrupt, does not wake it."""


class TurnStream(Iterator[Event]):
    """The events of a turn as they happen. Nothing that plays it refers to this: one that nobody reads is closed at once."""

    def __init__(self, events: Generator[Event | None, None, None], ended: Sequence[Turn]) -> None:
        """`ended` is given the turn when it has ended; `events` yields None only to an `AsyncTurnStream`."""
        self._events = events
        self._ended = ended

    @property
    def turn(self) -> Turn | None:
        """Its record, however it ended; None until it has, and where no turn began."""
        return self._ended[-1] if self._ended else None

    def __next__(self) -> Event:
        event = next(self._events)
        assert event is not None
        return event

    def poll(self) -> Event | None:
        """Return the next event; None if nothing has happened yet and the stream was started with `notify`."""
        return next(self._events)

    def close(self) -> None:
        """End the run that is going on, with all kept that was reached; an interrupt does not stop the ending."""
        while True:
            try:
                return self._events.close()
            except KeyboardInterrupt:
                continue


class Arrivals:
    """How the thread of a run wakes the event loop that waits for its events."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def notify(self) -> None:
        """There may be an event; called in whichever thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self._loop.call_soon_threadsafe(self._event.set)

    def begin(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_UP):  # wait_for of Python 3.11 can lose a cancellation that comes with it
                await self._event.wait()
        self._event.clear()


class AsyncTurnStream(AsyncIterator[Event]):
    """A `TurnStream`, begun with `arrivals.notify`, for `async for`: all but the run itself happens on the event loop.

    A task that is cancelled while it waits for an event stops the run, with all kept that was reached.
    """

    def __init__(self, stream: TurnStream, arrivals: Arrivals) -> None:
        self._stream = stream
        self._arrivals = arrivals

    @property
    def turn(self) -> Turn | None:
        return self._stream.turn

    async def __anext__(self) -> Event:
        self._arrivals.begin()
        try:
            while (event := self._stream.poll()) is None:
                await self._arrivals.wait()
        except StopIteration:
            raise StopAsyncIteration from None
        except asyncio.CancelledError:
            self._stream.close()
            raise
        return event

    async def aclose(self) -> None:
        self._stream.close()


class Runner:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._streams: WeakSet[TurnStream] = WeakSet()

    def close(self) -> None:
        """Stop the turn that is running, with all kept that was reached."""
        for stream in tuple(self._streams):
            stream.close()

    def stream(
        self,
        prompt: str,
        *,
        model: Any = None,
        thread: str | None = None,
        max_steps: int | None = None,
        cell: str | None = None,
        rerun: str = "continue",
        images: Sequence[Any] = (),
        response_format: Any = None,
        notify: Notify | None = None,
    ) -> TurnStream:
        """Return one turn as a stream; with `notify`, called for an event in any thread, it yields None and never waits."""
        ended: list[Turn] = []
        work, other = self._workspace, {"model": model, "response_format": response_format}
        shown: Sequence[PromptImage] = ()
        if images:
            from deepnb.workshop.images import prompt_images

            shown = prompt_images(images)

        def events() -> Generator[Event | None, None, None]:
            if not prompt.strip():
                raise InvalidError("the prompt is empty", "%agent PROMPT")
            from deepnb.engine.images import prompt_message

            work.current.idle()
            meant = work.threads[thread] if thread else work.threads.current
            with work.state.claimed(meant.name), work.current.on(meant):
                work.state.read_changes(meant)
                if meant.asked:
                    raise waits(meant, meant is work.current.thread)
                if meant.runs:
                    raise running(meant)
                listed = work.catalogs.agents() if work.options.enable_subagents else ()
                work.graphs.begin(tuple(one.agent for one in listed if one.problem is None))
                built = self._built_for(other)
                notices = [*_gone(meant), *self._taken_back(meant, cell, rerun)]
                if shown and not built.sees:
                    names, were = ", ".join(one.name for one in shown), "were" if len(shown) > 1 else "was"
                    line = f"{built.model} does not see images, by its profile: {names} {were} described in words"
                    notices.append(Notice(line))
                work.state.settle(meant)
                work.backend.begin()
                state, number = replace(work.state.snapshot(meant), next=()), len(meant.turns) + 1
                meant.other = other
                text = with_markers(whole(prompt), shown)
                draft = Turn(number, meant.name, text, "", (), state, state, Usage(), None, cell=cell)
                before = brought_messages(brought := meant.added)
                notices += [Notice(f"{ADDED}{brought.line}")] if brought else []
                if meant.pins:
                    meant.pins = dict(work.catalogs.pinned(meant))
                    before += work.catalogs.before_prompt(meant.pins)
                given = {"messages": [*before, prompt_message(text, shown)]}
                yield from self._play(ended, built, meant, draft, given, notices, max_steps, notify)

        return self._read(TurnStream(events(), ended))

    def resume(self, choice: str | None = None, thread: str | None = None, notify: Notify | None = None) -> TurnStream:
        """Return the stream of a turn that goes on; `choice` says whether a tool that was cut is run "again" or "skip"ped."""
        ended: list[Turn] = []
        work = self._workspace

        def events() -> Generator[Event | None, None, None]:
            work.current.idle()
            meant = work.threads[thread] if thread else work.threads.current
            with work.state.claimed(meant.name), work.current.on(meant):
                lost = bool(meant.turns) and (meant.turns[-1].error or "").startswith(LOST)
                work.state.read_changes(meant)
                if meant.asked:
                    work.state.ensure_checkpoint(meant)
                if lost and not meant.unfinished and not meant.gone:
                    ended.append(meant.turns[-1])
                    yield from (*_gone(meant), Notice("the run has ended on the server"), *meant.turns[-1].events)
                    return
                last = meant.to_resume(choice)
                answers = None
                if meant.cut and choice == "skip":
                    from deepnb.engine import keys
                    from deepnb.engine.graph import skipped_results

                    graph = work.built.graph
                    graph.drop_pending_steps(meant.config)
                    messages = graph.state(meant.config).values.get(keys.MESSAGES) or ()
                    graph.answer_tools(meant.config, skipped_results(messages, last.events))
                elif meant.asked:
                    answers = work.built.graph.answers(meant.decided.values())
                built = self._built_for(meant.other)
                work.backend.begin(last.before.files if choice == "again" else None)
                yield from self._play(ended, built, meant, last, answers, _gone(meant), None, notify)

        return self._read(TurnStream(events(), ended))

    def _read(self, stream: TurnStream) -> TurnStream:
        self._streams.add(stream)
        return stream

    def nothing(self) -> TurnStream:
        """Return the stream of a turn that does not go on yet."""
        none: tuple[Event, ...] = ()
        return TurnStream((event for event in none), ())

    def decide(self, decisions: Sequence[Decision]) -> bool:
        """Record decisions on calls of one thread; return whether its turn can continue."""
        work = self._workspace
        work.current.idle()
        thread = work.threads[decisions[0].call.thread]
        if thread.asked:
            work.state.ensure_checkpoint(thread)
        if work.persistence is not None and not work.options.middleware and not work.options.graph:
            # another kernel asked; those that were left out may run tools of their own
            known = {name for name, _ in work.built.tools}
            runs = (one.call for one in decisions if one.kind != "reject" and not one.call.agent)
            if strange := next((call.name for call in runs if call.name not in known), None):
                what = f"the tool {strange} is not there in this kernel yet"
                raise NotFoundError(what, "run the cell that adds it, then decide again")
        try:
            return work.threads.decide(thread, decisions)
        finally:
            work.current.tell()

    def _play(
        self,
        ended: list[Turn],
        built: Built,
        thread: Thread,
        draft: Turn,
        given: Any,
        notices: Sequence[Event],
        max_steps: int | None,
        notify: Notify | None,
    ) -> Generator[Event | None, None, None]:
        from deepnb.engine.probe import to_message
        from deepnb.engine.run import Run
        from deepnb.running.play import play

        work = self._workspace
        prompt = [to_message(m) for m in given["messages"]] if isinstance(given, dict) else []
        steps = max_steps if max_steps is not None else work.options.max_steps
        limits = (steps, work.options.max_tokens, work.options.max_cost)
        ledger = recorder(work, thread, built, draft)
        write = work.transcripts.event
        run = Run(built.graph, given, thread.config, ledger, *limits, record=write, notify=notify)
        run.expect(() if prompt else thread.asked)
        draft = replace(draft, model=built.model, started=draft.started or work.current.now())
        began = perf_counter()

        def record(played: Played) -> Turn:
            ended.append(self._record(thread, draft, played, perf_counter() - began, built.form))
            return ended[-1]

        work.current.play(thread, draft)
        try:
            if work.persistence is not None:
                work.persistence.begin(draft)
            opening = work.transcripts.begin(draft, thread.snapshot.messages, prompt)
            yield from work.current.read(play(run, (*notices, *opening), record, write))
        finally:
            work.current.stop()

    def _record(self, thread: Thread, draft: Turn, played: Played, seconds: float, form: Any) -> Turn:
        """Return the turn that has ended, in its thread; called once, however the run ended."""
        from deepnb.running import play

        work = self._workspace
        work.current.stop()
        try:
            work.state.read_checkpoint(thread, played.values if played.whole else None)
        except DeepnbError as failure:  # a server that does not answer: the thread is read when it does
            played = replace(played, error=played.error or failure.typed)
        lost = (played.error or "").startswith(LOST)
        known = {message.id for message in draft.before.messages}
        answered = any(m.role == "assistant" and m.id not in known for m in thread.snapshot.messages)
        if played.error is not None and not lost and not answered:
            with suppress(Exception):  # a checkpointer that takes no more: the turn stays as it was left
                work.state.drop_turn(thread, draft.before)
        if thread.unfinished:  # a call that began and has no result was cut, whatever was told of it
            ids = {e.id for e in played.events if isinstance(e, ToolEnded) and e.status == "cut" and not e.path}
            done = thread.answered | ids
            cut = (one for one in played.begun.items() if one[0] not in done)
            ends = (ToolEnded(id_, name, "interrupted", "cut", 0.0) for id_, name in cut)
            played = replace(played, events=(*played.events, *ends))
        answers = (e.call for e in played.events if isinstance(e, ModelEnded) and not e.path)
        if thread.added is None and any(call.purpose == "answer" for call in answers):
            thread.brought = None
        turn = play.recorded(draft, played, thread, seconds, form)
        thread.turns[turn.number - 1 :] = [turn]  # in the place of the one that was resumed
        work.current.last = turn
        work.transcripts.end(turn)
        work.state.write_held(thread)
        work.backend.save()
        if work.persistence is not None:
            work.persistence.end(thread)
        with work.current.on(work.current.thread):  # who looks sees its memory, whichever thread has played
            work.current.tell()
        return turn

    def _built_for(self, other: Mapping[str, Any]) -> Built:
        work = self._workspace
        changes = {name: value for name, value in other.items() if value is not None}
        return work.graphs.of(work.changed(changes)) if changes else work.built

    def _taken_back(self, thread: Thread, cell: str | None, rerun: str) -> tuple[Event, ...]:
        """Return what is said of a cell that made a turn before; with `replace` the thread is rewound to before that."""
        earlier = next((t for t in thread.turns if cell is not None and t.cell == cell), None)
        if earlier is None:
            return ()
        number, now = earlier.number, len(thread.turns)
        if rerun != "replace":
            return (Notice(f"this cell was turn {number} before; running it again adds turn {now + 1}"),)
        later = f" and the {now - number} after it" if now > number else ""
        what, work = f"re-run of turn {number}", self._workspace
        work.threads.rewind(thread, number - 1, what=what)
        work.backend.restored(what)
        work.transcripts.moved(thread.name, thread.snapshot.messages, "rewind", what)
        return (Notice(f"this cell was run again: turn {number}{later} undone (%agent undo restores it)"),)


def recorder(work: Workspace, thread: Thread, built: Built, turn: Turn | None = None) -> Recorder:
    """Return what takes down the calls of a run: in `turn`, or after the last one."""
    from deepnb.context.ledger import Recorder, last_request

    before = next((r for t in reversed(thread.turns) if (r := last_request(t.events)) is not None), None)
    draft = turn or thread.turns[-1]
    own = {name: (one.meter, one.label) for name, one in built.nested.items()}
    return Recorder(built.meter, draft.events, before, work.options.prices, built.model, own)


def _gone(thread: Thread) -> tuple[Event, ...]:
    return (Notice(line),) if (line := thread.missing_line()) else ()
