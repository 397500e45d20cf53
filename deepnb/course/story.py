"""The picture of a thread, made of its turns."""

from collections.abc import Iterator

from deepnb.core.offload import Offload
from deepnb.core.values import Compacted, ModelEnded, Notice, Turn
from deepnb.magics.pictures import budget_picture
from deepnb.running.excerpt import ADDED
from deepnb.session.session import Session
from deepnb.views.numbers import counted
from deepnb.views.story import StoryStep, StoryView, story_view

_TURNS = 8
"""Turns shown, the last ones."""


def story_of(session: Session) -> StoryView:
    """The last turns of the current thread."""
    gauge = budget_picture(session)
    rule = session.rule
    steps = [_step(session, turn) for turn in session.turns[-_TURNS:]]
    return story_view(session.thread, steps, gauge.history, gauge.compactions, rule.window, rule.trigger_tokens)


def _step(session: Session, turn: Turn) -> StoryStep:
    calls = [e.call.budget.total for e in turn.events if isinstance(e, ModelEnded) and not e.path]
    tokens = max([*calls, *(offload.before for offload in _offloads(turn))], default=0)
    return StoryStep(turn.number, turn.prompt, _first(turn.text), tokens, tuple(_marks(session, turn)))


def _marks(session: Session, turn: Turn) -> Iterator[tuple[str, str]]:
    for change in session.memory.between(turn.before, turn.after):
        added = [line for hunk in change.hunks for line in hunk.lines if line.strip()]
        yield from (("remembers", f"{line.strip()}   ({change.path})") for line in added)
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
    for line in filter(None, map(str.strip, answer.split("\n"))):
        kept.append(line)
        if not line.endswith(":"):
            break
    return " ".join(kept)
