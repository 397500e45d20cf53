"""The picture of a thread, made of its turns."""

from collections.abc import Iterator, Sequence

from deepnb.running.thread import ADDED
from deepnb.session.session import Session
from deepnb.values.offload import Offload
from deepnb.values.turn import Compacted, ModelEnded, Notice, Turn
from deepnb.views.course import StoryStep, StoryView, story_view
from deepnb.views.text import counted

_TURNS = 8
"""Turns shown, the last ones."""


def story_of(session: Session) -> StoryView:
    """The last turns of the current thread."""
    budget, turns = session.budget(), session.turns[-_TURNS:]
    rule = budget.rule if budget is not None else session.rule
    figures, compactions = _requests(turns)
    steps = [_step(session, turn) for turn in turns]
    return story_view(session.thread, steps, figures, compactions, rule.window, rule.trigger_tokens)


def _requests(turns: Sequence[Turn]) -> tuple[list[int], list[int]]:
    """Tokens of each request, those too full to be sent included, and the indices of those that came after one."""
    figures: list[int] = []
    compactions: list[int] = []
    for event in (event for turn in turns for event in turn.events if not event.path):
        if isinstance(event, Compacted):
            figures.append(event.offload.before)
            compactions.append(len(figures))
        elif isinstance(event, ModelEnded) and event.call.purpose == "answer":
            figures.append(event.call.budget.total)
    return figures, [at for at in compactions if at < len(figures)]


def _step(session: Session, turn: Turn) -> StoryStep:
    figures, _ = _requests([turn])
    return StoryStep(turn.number, turn.prompt, _first(turn.text), max(figures, default=0), tuple(_marks(session, turn)))


def _marks(session: Session, turn: Turn) -> Iterator[tuple[str, str]]:
    for change in session.memory.between(turn.before, turn.after):
        added = [line for hunk in change.hunks for line in hunk.lines if line.strip()]
        yield from (("remembers", f"{_words(line)} ({change.path})") for line in added)
    for offload in _offloads(turn):
        kept = f", saved verbatim in {offload.path}" if offload.path else ""
        yield (
            "compacts",
            f"{offload.before:,} tokens pass the trigger: {counted(offload.messages, 'message')} → summary{kept}",
        )
    for event in turn.events:
        if isinstance(event, Notice) and event.text.startswith(ADDED):
            yield "brings back", f"{event.text.removeprefix(ADDED)}, out of the offloaded history"


def _offloads(turn: Turn) -> list[Offload]:
    return [event.offload for event in turn.events if isinstance(event, Compacted) and not event.path]


def _first(answer: str) -> str:
    """The first line of an answer, with the one below it where it ends in a colon."""
    kept: list[str] = []
    for line in filter(None, map(_words, answer.split("\n"))):
        kept.append(line)
        if not line.endswith(":"):
            break
    return " ".join(kept)


def _words(line: str) -> str:
    """A line without its bullet."""
    return line.strip().removeprefix("- ")
