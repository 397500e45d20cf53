"""What the events of a turn tell: what it waits for, what is said in it, and the same without credentials."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from deepnb.gate import redact, redact_value
from deepnb.values import turn as values
from deepnb.values.agent import TASK
from deepnb.values.budget import Budget
from deepnb.values.turn import Event, Turn

WAITS = {
    "answer": "waiting for the model",
    "summary": "compacting the context: summarizing",
    "flush": "compacting the context: asking the model what is worth keeping",
}
"""What a model was called for -> what is waited for until it answers."""


class Activity:
    """Takes the events of a turn as they happen."""

    def __init__(self) -> None:
        self.budget: Budget | None = None
        self.usage = values.Usage()
        self._begun = False
        self._open: dict[tuple[str, ...], tuple[values.Path, str]] = {}
        """Calls of models and tools that go on, the newest last: key -> where, and in words."""
        self._agents: dict[str, str] = {}
        """Id of a task -> the subagent that has it."""

    def add(self, event: Event) -> None:
        self._begun = True
        match event:
            case values.ModelStarted(call=call):
                self._begin(("model", *event.path), event.path, WAITS[call.purpose])
                if not event.path and call.purpose == "answer":
                    self.budget = call.budget
            case values.TextDelta() | values.ThinkingDelta() if (key := ("model", *event.path)) in self._open:
                does = "answers" if isinstance(event, values.TextDelta) else "thinks"
                self._open[key] = event.path, f"the model {does}"
            case values.Retry():
                self._begin(("model", *event.path), event.path, event.line)
            case values.ModelEnded(call=call):
                self._open.pop(("model", *event.path), None)
                self.usage += call.spent
            case values.ToolStarted():
                self._agents |= {event.id: str(event.args.get("subagent_type", ""))} if event.name == TASK else {}
                self._begin(("tool", event.id), event.path, event.name)
            case values.ToolEnded():
                for key in [k for k, (path, _) in self._open.items() if k == ("tool", event.id) or event.id in path]:
                    del self._open[key]

    @property
    def line(self) -> str:
        """`waiting for the model`, `run_python`, `subagent research: grep`; of several at once the newest."""
        outer = {id_ for path, _ in self._open.values() for id_ in path}
        inner = [(key, *at) for key, at in self._open.items() if key[0] == "model" or key[1] not in outer]
        if not inner:
            return "between two steps" if self._begun else "starting"
        key, path, said = inner[-1]
        if key[0] == "tool" and key[1] in self._agents:
            said = f"subagent {self._agents[key[1]]}"
        agent = self._agents.get(path[-1], "") if path else ""
        more = f" and {len(inner) - 1} more" if len(inner) > 1 else ""
        return f"{f'subagent {agent}: ' * bool(path)}{said}{more}"

    def _begin(self, key: tuple[str, ...], path: values.Path, words: str) -> None:
        self._open.pop(key, None)
        self._open[key] = path, words


# -- What is said in a turn, piece by piece, to be searched


@dataclass(frozen=True, slots=True)
class TurnPassage:
    """One piece of a turn."""

    turn: int
    what: str
    """`prompt`, `answer`, `thinking`, `Bash`, `result of Bash`, `summary`, `note`; inside a subagent with `subagent: ` before it."""
    text: str


def passages(turn: Turn) -> Iterator[TurnPassage]:
    """Yield all that is said in a turn, in order; the pieces of an answer, or of a thought, are one."""
    yield TurnPassage(turn.number, "prompt", turn.prompt)
    for event in _joined(turn.events):
        match event:
            case values.TextDelta():
                what, text = "answer", event.text
            case values.ThinkingDelta():
                what, text = "thinking", event.text
            case values.ToolStarted():
                what, text = event.name, json.dumps(dict(event.args), ensure_ascii=False, default=str)
            case values.ToolEnded():
                what, text = f"result of {event.name}", event.result
            case values.Compacted():
                what, text = "summary", event.offload.summary
            case values.Notice():
                what, text = "note", event.text
            case _:
                continue
        yield TurnPassage(turn.number, f"subagent: {what}" if event.path else what, text)


# -- A turn as it may leave the kernel: the same turn without credentials
# The messages of a thread stay as they were typed and answered; a credential in them, also one that came in several
# pieces of a stream, is replaced by its mark here.

_NAMES = ("id", "key", "digest")
"""Fields that say which is which; they are not shown."""


def without_credentials(turn: Turn) -> Turn:
    """Return the turn with each credential in its texts replaced by a mark; the pieces of an answer are joined."""
    said = {name: _clean(getattr(turn, name)) for name in ("prompt", "text", "model", "interrupted", "error", "asked")}
    return replace(turn, events=tuple(map(_clean, _joined(turn.events))), **said)


def _joined(events: Iterable[Event]) -> list[Event]:
    out, texts = list[Any](), dict[Any, tuple[int, list[str]]]()
    for event in events:
        if isinstance(event, values.TextDelta | values.ThinkingDelta):
            at, pieces = texts.setdefault((type(event), event.call, event.path), (len(out), []))
            pieces.append(event.text)
            if at < len(out):
                continue
        out.append(event)
    for at, pieces in texts.values():
        out[at] = replace(out[at], text="".join(pieces))
    return out


def _clean(value: Any) -> Any:
    if isinstance(value, values.ModelStarted | values.ModelEnded):  # figures; the request is not shown
        return value
    if isinstance(value, values.CodeOutput):  # pictures are no text, but for drawings
        pictures = {kind for kind in value.data if kind.startswith("image/") and "svg" not in kind}
        shown = {kind: data if kind in pictures else _clean(data) for kind, data in value.data.items()}
        return replace(value, text=redact(value.text), data=shown)
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return redact_value(dict(value))
    if isinstance(value, tuple):
        return tuple(map(_clean, value))
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in _NAMES}
        if isinstance(held.get("path"), tuple):  # the ids of the calls round an event
            del held["path"]
        return replace(value, **{name: _clean(one) for name, one in held.items()})
    return value
