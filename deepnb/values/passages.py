"""What is said in a turn, piece by piece, to be searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from deepnb.values.turn import Compacted, Notice, TextDelta, ThinkingDelta, ToolEnded, ToolStarted, Turn


@dataclass(frozen=True, slots=True)
class TurnPassage:
    """One piece of a turn."""

    turn: int
    what: str
    """`prompt`, `answer`, `thinking`, `Bash`, `result of Bash`, `summary`, `note`; inside a subagent with `subagent: ` before it."""
    text: str


def passages(turn: Turn) -> Iterator[TurnPassage]:
    """All that is said in a turn, in order."""
    yield TurnPassage(turn.number, "prompt", turn.prompt)
    said: list[str] = []
    now = ("", 0, ())
    for event in turn.events:
        if isinstance(event, TextDelta | ThinkingDelta):
            here = ("answer" if isinstance(event, TextDelta) else "thinking", event.call, event.path)
            if here != now and said:
                yield TurnPassage(turn.number, _what(now[0], now[2]), "".join(said))
                said = []
            now = here  # type: ignore[assignment]
            said.append(event.text)
        elif (one := _other(event)) is not None:
            yield TurnPassage(turn.number, _what(one[0], getattr(event, "path", ())), one[1])
    if said:
        yield TurnPassage(turn.number, _what(now[0], now[2]), "".join(said))


def _other(event: object) -> tuple[str, str] | None:
    match event:
        case ToolStarted():
            return event.name, json.dumps(dict(event.args), ensure_ascii=False, default=str)
        case ToolEnded():
            return f"result of {event.name}", event.result
        case Compacted():
            return "summary", event.offload.summary
        case Notice():
            return "note", event.text
    return None


def _what(what: str, path: tuple[str, ...]) -> str:
    return f"subagent: {what}" if path else what
