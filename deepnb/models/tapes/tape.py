"""A tape: what models were asked and what they answered, as values and as lines of JSON.

The first line says what the file is. After it come, in the order in which they happened, the models that were used,
parts (a message of a request, or its list of tools, each written once and named by its digest) and exchanges: a
request as the names of its parts, and the answer in the pieces it was streamed in, with the milliseconds from the
request. Its requests are masked, and nothing in it has credentials, before it comes here; an exchange keeps the moment
it was made at, since a day near it in a request is masked too.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from deepnb.gate import redact, redact_value
from deepnb.values.errors import InvalidError
from deepnb.values.text import excerpt, json_text, short_repr

# -- A text without what differs from run to run though nobody changed a word: ids that are drawn, and the time now
# A date is masked only near the moments that are given: any other date is a word of the prompt or of the data.

ID, TIME, DAY = "<id>", "<time>", "<day>"

_IDS = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"  # a UUID
    r"|\b(?:call|toolu|chatcmpl|msg|run)[_-][A-Za-z0-9]{20,}\b"  # what providers and LangChain name calls
    r"|\bsession_[0-9a-f]{8,32}\b"  # the history file of a subagent
    r"|(?<=<!-- flush )[0-9a-f]{12}(?= -->)|(?<=<!-- flush by hand )[0-9a-f]{12}(?= -->)"  # made of a message's id
    r"|\b[0-9a-f]{12}(?=:\d{1,6} )"  # the same, in the heading of an offloaded part
    r"|(?<= at )0x[0-9a-fA-F]{6,16}\b"  # <Thing object at 0x7f...>
)
_TIMES = re.compile(
    r"(?P<day>\b\d{4}-\d\d-\d\d)"  # 2026-03-04
    r"(?P<time>[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"  # T09:30:00+01:00
    r"|(?P<entry>^[-+ ]?## )\d\d:\d\d\b",  # the heading of an entry in a daily note, or in the diff of one
    re.MULTILINE,
)


def days_near(at: str) -> frozenset[str]:
    """Return the day of an ISO timestamp, the one before and the one after, as `YYYY-MM-DD`."""
    day = date.fromisoformat(at[:10]).toordinal()
    first, last = date.min.toordinal(), date.max.toordinal()
    return frozenset(date.fromordinal(n).isoformat() for n in (day - 1, day, day + 1) if first <= n <= last)


def masked(text: str, days: Iterable[str]) -> str:
    """Return the text with ids, and times of these days, replaced by their masks; the same object if it has none.

    Law: `masked(masked(t, a), b) == masked(t, a | b)`.
    """
    near = frozenset(days)

    def time(found: re.Match[str]) -> str:
        if found["day"] is None:
            return found["entry"] + TIME
        if found["day"] not in near:
            return found[0]
        return TIME if found["time"] else DAY

    made = _TIMES.sub(time, _IDS.sub(ID, text))
    return text if made == text else made


VERSION = 1
_TRIES = 10  # retries at most, whatever a tape says
_SHOWN = 80  # characters of a note, or of a model's name
Json = Mapping[str, Any]
Piece = tuple[int, Json]  # (milliseconds since the request, a piece of the answer)


@dataclass(frozen=True)
class TapedModel:
    """A model that answered, and what of it decides how requests are made."""

    name: str
    profile: Json = field(default_factory=dict)
    counts: str = "by script"
    """How its tokens were counted: "teaching", or "by script", an estimate."""
    schemas: str = "openai"
    """The form in which it was sent the schemas of tools, "openai" or "anthropic": they count as they are sent."""
    retries: int = 0
    """How often a request of it that failed was sent again."""


@dataclass(frozen=True)
class Exchange:
    """One request and what came of it: pieces, then an error where it failed."""

    at: str
    """ISO timestamp."""
    model: str
    purpose: str
    """answer, summary or flush"""
    tools: str
    """The name of a part, as of each message."""
    messages: tuple[str, ...]
    pieces: tuple[Piece, ...] = ()
    error: Json | None = None


@dataclass(frozen=True)
class Tape:
    """All of a tape."""

    name: str
    """The name of its file."""
    made: str = ""
    """ISO timestamp of when the recording began."""
    note: str = ""
    """What it says of itself, such as "scripted, no LLM"."""
    models: tuple[TapedModel, ...] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)
    exchanges: tuple[Exchange, ...] = ()
    cut: bool = False
    """Whether its last line is incomplete, and left out."""

    def __repr__(self) -> str:
        return short_repr(self, "; ".join((f"{self.label}: {len(self.exchanges)} requests", *self.notices)))

    @property
    def label(self) -> str:
        """What stands where the name of a model would."""
        return f"tape {self.name}" + (f" ({self.note})" if self.note else "")

    @property
    def days(self) -> frozenset[str]:
        """The days on which it was recorded, and those round them."""
        return frozenset[str]().union(*map(days_near, {one.at for one in self.exchanges}))

    @property
    def notices(self) -> Iterator[str]:
        """What to know before it is played, in a line each."""
        if self.cut:
            yield f"the last line of {self.name} was incomplete and is left out"


def digest(part: Any) -> str:
    return blake2b(json.dumps(part, sort_keys=True).encode(), digest_size=9).hexdigest()


def head_line(made: str, note: str) -> bytes:
    """Return the first line of a tape."""
    return _line({"tape": VERSION, "made": made, "note": note})


def model_line(model: TapedModel) -> bytes:
    facts = {name: getattr(model, name) for name in ("profile", "counts", "schemas", "retries")}
    return _line({"model": model.name, **facts})


def part_line(name: str, part: Any) -> bytes:
    return _line({"part": name, "is": part})


def exchange_line(one: Exchange) -> bytes:
    """Return the line of a request and its answer."""
    head = {"at": one.at, "by": one.model, "purpose": one.purpose, "tools": one.tools, "messages": list(one.messages)}
    error = {"error": one.error} if one.error is not None else {}
    return _line({**head, "answer": [list(piece) for piece in one.pieces], **error})


def read_tape(data: bytes, name: str) -> Tape:
    """Return the tape that is written in these bytes; an error of one line where it can't be played."""
    lines = data.split(b"\n")
    cut = bool(lines.pop())
    if not lines or not isinstance(version := _parsed(lines[0]).get("tape"), int):
        raise InvalidError(f"{name} is not a tape", "%agent record FILE makes one")
    if version > VERSION:
        do = "%pip install -U deepnb"
        raise InvalidError(f"{name} is a tape of version {version}, and this deepnb reads up to version {VERSION}", do)
    head, models, exchanges = _parsed(lines[0]), list[TapedModel](), list[Exchange]()
    parts: dict[str, Any] = {}
    for number, text in enumerate(lines[1:], 2):
        try:
            line = _parsed(text)
            if "model" in line:
                profile = {
                    key: value
                    for key, value in dict(line["profile"]).items()
                    if isinstance(value, bool | str) or (isinstance(value, int) and value > 0)
                }
                retries = min(max(int(line["retries"]), 0), _TRIES)
                form = str(line["schemas"])
                models.append(TapedModel(_words(line["model"]), profile, str(line["counts"]), form, retries))
            elif "part" in line:
                parts[line["part"]] = line["is"]
            else:
                messages, tools = tuple(map(str, line["messages"])), line["tools"]
                _ = [parts[name] for name in (*messages, tools)], days_near(line["at"])  # without them it is damaged
                pieces = tuple((int(ms), dict(piece)) for ms, piece in line["answer"])
                error = None if line.get("error") is None else dict(line["error"])
                by, purpose = str(line["by"]), str(line["purpose"])
                exchanges.append(Exchange(line["at"], by, purpose, tools, messages, pieces, error))
        except (KeyError, TypeError, ValueError):
            do = "get the file again, or record it again: %agent record FILE"
            raise InvalidError(f"{name} is damaged in line {number}", do) from None
    made, note = _words(head.get("made", "")), _words(head.get("note", ""))
    return Tape(name, made, note, tuple(models), parts, tuple(exchanges), cut)


def _words(text: Any) -> str:
    """Return a text of somebody else's as it is shown: one short line."""
    return excerpt("".join(char if char.isprintable() else " " for char in str(text)), _SHOWN)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _line(value: Json) -> bytes:
    return json_text(value, allow_nan=False).encode() + b"\n"


# -- A request in the form in which a tape keeps and finds it: without credentials, ids, times, or a provider's own forms

_KEPT = 4_096  # parts that are remembered


@dataclass(frozen=True)
class Parts:
    """A request as the names of its parts, and the parts."""

    tools: str
    messages: tuple[str, ...]
    texts: Mapping[str, Any] = field(compare=False, default_factory=dict)

    @property
    def key(self) -> tuple[str, ...]:
        """What two requests have in common that are the same."""
        return (self.tools, *self.messages)


class TapeForm:
    """Brings requests into a tape's form, in which times of `days` are masked.

    Each message is worked on once, in however many requests it is sent.
    """

    def __init__(self, days: Iterable[str]) -> None:
        self._days = frozenset(days)
        self._kept = lru_cache(_KEPT)(lambda written: self.masked_part(clean(json.loads(written))))

    def parts(self, messages: Sequence[Json], tools: Sequence[tuple[str, str]]) -> Parts:
        """Return the parts of a request whose messages are as `messages_of` gives them."""
        written = (json.dumps(raw, default=str) for raw in (list(map(list, tools)), *messages))
        made: list[tuple[str, Any]] = list(map(self._kept, written))
        return Parts(made[0][0], tuple(name for name, _ in made[1:]), dict(made))

    def masked_part(self, part: Any) -> tuple[str, Any]:
        """Return a part without ids and times, and its name."""
        made = _changed(part, lambda text: masked(text, self._days))
        return digest(made), made


def clean(value: Any) -> Any:
    """Return a JSON-like value without credentials: a model may take one for the name of an argument, too."""
    return _changed(redact_value(value), key=redact)


def _changed(value: Any, text: Callable[[str], str] = str, key: Callable[[str], str] = str) -> Any:
    """Return a JSON-like value with its texts, and the names in its mappings, changed by these functions."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key(k) if isinstance(k, str) else k: _changed(item, text, key) for k, item in value.items()}
    return [_changed(item, text, key) for item in value] if isinstance(value, list | tuple) else value
