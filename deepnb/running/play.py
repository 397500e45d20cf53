"""Playing one turn: the events of a run as they happen, and the record of it in the end."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import Any

from deepnb.engine.listen import LimitReached
from deepnb.engine.run import Run
from deepnb.engine.structured import Form, as_text
from deepnb.running.thread import Thread
from deepnb.values import turn as values
from deepnb.values.errors import DeepnbError, RunError
from deepnb.values.failures import has_credential, model_failure, one_line
from deepnb.values.files import uninterrupted
from deepnb.values.turn import Event, Turn, Usage

_PIECES = (values.TextDelta, values.ThinkingDelta)
_INSTEAD = "let the tool return its question, or require approval for it: %agent tools ask NAME"


@dataclass(frozen=True)
class Played:
    """What came of a run."""

    events: tuple[Event, ...]
    values: dict[str, Any] | None
    """The last state seen, None where the run did not get that far."""
    interrupted: str | None = None
    error: str | None = None
    asks: bool = False
    begun: Mapping[str, str] = field(default_factory=dict)
    """The calls of the main agent that it ran: id -> name of the tool."""

    @property
    def whole(self) -> bool:
        return self.interrupted is None and self.error is None and not self.asks


def play(
    run: Run, before: Iterable[Event], record: Callable[[Played], Turn], write: Callable[[Event], None]
) -> Generator[Event | None, None, None]:
    """Yield the events, and None while none has come; call `record` once at the end, and `write` with each event that is not the run's."""
    events: list[Event] = []
    cut: list[Event] = []
    interrupted = error = None
    failed: Exception | None = None

    try:
        for event in before:
            write(event)
            events.append(event)
            yield event
        yield from run
        if asks := run.unanswerable():
            raise RunError(asks, f"%agent PROMPT continues without it; {_INSTEAD}")
    except LimitReached as limit:
        interrupted = str(limit)
    except (KeyboardInterrupt, GeneratorExit):
        interrupted = f"interrupted {_where(run.told)}"  # a second interrupt may come any moment
        ended = run.cancel()
        interrupted = f"interrupted {_where(e for e in run.told if getattr(e, 'status', '') != 'cut')}"
        for tool in _open_tools(run.told):
            cut.append(values.ToolEnded(tool.id, tool.name, "interrupted", "cut", 0.0, tool.path))
            write(cut[-1])
        if not ended:
            interrupted += "; it is still running, and its result will be ignored"
        raise
    except Exception as failure:
        error = failure.typed if isinstance(failure, DeepnbError) else one_line(failure)
        failed = failure
    finally:
        with uninterrupted():
            told = tuple(joined(in_model_order([*events, *run.told, *cut])))  # with what nobody had read yet
            begun = dict(run.listener.begun)
            turn = record(Played(told, run.values, interrupted, error, bool(run.interrupts), begun))
    if isinstance(failed, DeepnbError):
        raise failed
    if failed is not None:  # a traceback of an SDK below one line would say no more, and may quote a key
        raise _run_error(failed, turn) from None if model_failure(failed) or has_credential(failed) else failed


def recorded(draft: Turn, played: Played, thread: Thread, seconds: float, form: Any) -> Turn:
    """Return the turn with what was played in its thread added to it; `form` is what its answer was to be, if anything."""
    value = (played.values or {}).get("structured_response") if form is not None and played.whole else None
    events = (*draft.events, *played.events)
    asked = any(isinstance(e, values.ModelEnded) for e in draft.events)
    before = Usage() if asked else draft.usage  # of a turn that was read
    calls = [e.call for e in events if isinstance(e, values.ModelStarted | values.ModelEnded)]
    last = next((call for call in reversed(calls) if call.purpose == "answer" and not call.path), None)
    said = defaultdict[int, list[str]](list)
    for event in played.events:
        if isinstance(event, values.TextDelta) and not event.path:
            said[event.call].append(event.text)
    text, used = "".join(said[max(said, default=0)]) or draft.text, last.usage if last else None
    return replace(
        draft,
        text=text if value is None else as_text(value),
        events=events,
        after=thread.snapshot,
        usage=before + usage(events),
        budget=replace(last.budget, reported=used.input if used else None, request=last.request) if last else None,
        seconds=draft.seconds + seconds,
        interrupted=played.interrupted,
        error=played.error,
        asked=thread.asked,
        structured=None if value is None else Form(form).made(value),
    )


def in_model_order(events: Iterable[Event]) -> list[Event]:
    """Return the events of a run, the beginnings of the calls of each answer in the order that its model made them."""
    out: list[Event] = []
    begun: dict[values.Path, list[values.ToolStarted]] = {}
    for event in events:
        at = len(out)
        if isinstance(event, values.ModelStarted):
            begun.pop(event.path, None)
        elif isinstance(event, values.ToolStarted):
            beside = begun.setdefault(event.path, [])
            if later := {id(one) for one in beside if one.place > event.place}:
                at = next(i for i, one in enumerate(out) if id(one) in later)
            beside.append(event)
        out.insert(at, event)
    return out


def joined(events: Iterable[Event]) -> list[Event]:
    """The events with neighbouring pieces of one answer, or of one thought, joined."""
    out: list[Event] = []
    for _, some in groupby(events, lambda e: (type(e), e.call, e.path) if isinstance(e, _PIECES) else id(e)):
        first, *others = some
        if others and isinstance(first, _PIECES):
            first, others = replace(first, text="".join(e.text for e in (first, *others) if isinstance(e, _PIECES))), []
        out += (first, *others)
    return out


def usage(events: Iterable[Event]) -> Usage:
    """Tokens of all model calls, nested agents and summaries included."""
    return sum((e.call.spent for e in events if isinstance(e, values.ModelEnded)), Usage())


def _run_error(failed: Exception, turn: Turn) -> RunError:
    failure, resumes = model_failure(failed), bool(turn.after.next)
    if failure is None:
        do = "fix it, then %agent resume" if resumes else "nothing was lost; fix it and run the cell again"
        return RunError(one_line(failed), do)
    repeat = "type %agent resume" if resumes else "run the cell again"
    since = list(takewhile(lambda e: not isinstance(e, values.ModelEnded | values.ToolEnded), reversed(turn.events)))
    if any(isinstance(e, _PIECES) for e in since):
        return RunError(f"the answer broke off: {failure.line}", f"{repeat} to send the request again")
    tries = sum(isinstance(e, values.Retry) for e in since) + 1
    return RunError(f"{failure.line}{f', {tries} times' if tries > 1 else ''}", failure.do(repeat))


def _open_tools(events: Iterable[Event]) -> list[values.ToolStarted]:
    open_: dict[str, values.ToolStarted] = {}
    for event in events:
        if isinstance(event, values.ToolStarted):
            open_[event.id] = event
        elif isinstance(event, values.ToolEnded):
            open_.pop(event.id, None)
    return list(open_.values())


def _where(told: Iterable[Event]) -> str:
    events = list(told)
    if tools := _open_tools(events):
        return f"in the tool {tools[0].name}"
    model = next((e for e in reversed(events) if isinstance(e, values.ModelStarted | values.ModelEnded)), None)
    return "while the model answered" if isinstance(model, values.ModelStarted) else "between two steps"
