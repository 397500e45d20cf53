"""A turn as it may leave the kernel: the same turn without credentials.

The messages of a thread stay as they were typed and answered; a credential in them, also one that came in several
pieces of a stream, is replaced by its mark here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from deepnb.gate import redact, redact_value
from deepnb.values.turn import CodeOutput, Event, ModelEnded, ModelStarted, TextDelta, ThinkingDelta, Turn

_NAMES = ("id", "key", "digest")
"""Fields that say which is which; they are not shown."""


def without_credentials(turn: Turn) -> Turn:
    """The turn with each credential in its texts replaced by a mark; the pieces of an answer are joined."""
    return replace(
        turn,
        prompt=redact(turn.prompt),
        text=redact(turn.text),
        model=redact(turn.model),
        events=tuple(_clean(event) for event in _joined(turn.events)),
        interrupted=_clean(turn.interrupted),
        error=_clean(turn.error),
        asked=tuple(_clean(call) for call in turn.asked),
    )


def _joined(events: Iterable[Event]) -> list[Event]:
    """The events; all pieces of one answer, or of one thought, where the first of them was."""
    out: list[Event] = []
    at: dict[Any, int] = {}
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            place = at.setdefault((type(event), event.call, event.path), len(out))
            if place < len(out):
                known = out[place]
                assert isinstance(known, TextDelta | ThinkingDelta)
                out[place] = replace(known, text=known.text + event.text)
                continue
        out.append(event)
    return out


def _clean(value: Any) -> Any:
    """A value with the texts in it redacted."""
    if isinstance(value, ModelStarted | ModelEnded):  # figures; the request is not shown
        return value
    if isinstance(value, CodeOutput):  # pictures are no text, but for drawings
        shown = {
            kind: data if kind.startswith("image/") and "svg" not in kind else _clean(data)
            for kind, data in value.data.items()
        }
        return replace(value, text=redact(value.text), data=shown)
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return redact_value(dict(value))
    if isinstance(value, tuple):
        return tuple(map(_clean, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{f.name: _clean(getattr(value, f.name)) for f in fields(value) if _is_text(value, f.name)}
        )
    return value


def _is_text(value: Any, name: str) -> bool:
    """Whether a field is shown: not an id, and not the ids of the calls round an event."""
    return name not in _NAMES and not (name == "path" and isinstance(getattr(value, name), tuple))
