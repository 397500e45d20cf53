"""A tape: what models were asked and what they answered, as values and as lines of JSON.

The first line says what the file is. After it come, in the order in which they happened, the models that were used,
parts (a message of a request, or its list of tools, each written once and named by its digest) and exchanges: a
request as the names of its parts, and the answer in the pieces it was streamed in, with the milliseconds from the
request. Its requests are masked, and nothing in it has credentials, before it comes here; an exchange keeps the moment
it was made at, since a day near it in a request is masked too.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from deepnb.models.tapes.masks import days_near
from deepnb.values.errors import InvalidError
from deepnb.values.short_repr import excerpt, short_repr

VERSION = 1
_TRIES = 10
"""Retries at most, whatever a tape says."""
_SHOWN = 80
"""Characters of a note, or of a model's name."""
Json = Mapping[str, Any]
Piece = tuple[int, Json]
"""(milliseconds since the request, a piece of the answer)"""


@dataclass(frozen=True)
class TapedModel:
    """A model that answered, and what of it decides how requests are made."""

    name: str
    profile: Json = field(default_factory=dict)
    counts: str = "by script"
    """How its tokens were counted: "by script", or "teaching"."""
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
    version: int = VERSION
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
        moments = {one.at for one in self.exchanges}
        return frozenset[str]().union(*map(days_near, moments))

    @property
    def notices(self) -> Iterator[str]:
        """What to know before it is played, in a line each."""
        if self.version < VERSION:
            yield (
                f"{self.name} is of version {self.version}, older than {VERSION}: requests may not be found on it;"
                " if so, record it again"
            )
        if self.cut:
            yield f"the last line of {self.name} was incomplete and is left out"


def digest(part: Any) -> str:
    """The name of a part."""
    return blake2b(json.dumps(part, sort_keys=True).encode(), digest_size=9).hexdigest()


def head_line(made: str, note: str) -> bytes:
    """The first line of a tape."""
    return _line({"tape": VERSION, "made": made, "note": note})


def model_line(model: TapedModel) -> bytes:
    """The line that tells of a model."""
    return _line(
        {
            "model": model.name,
            "profile": model.profile,
            "counts": model.counts,
            "schemas": model.schemas,
            "retries": model.retries,
        }
    )


def part_line(name: str, part: Any) -> bytes:
    """The line of a part."""
    return _line({"part": name, "is": part})


def exchange_line(one: Exchange) -> bytes:
    """The line of a request and its answer."""
    head = {"at": one.at, "by": one.model, "purpose": one.purpose, "tools": one.tools, "messages": list(one.messages)}
    error = {"error": one.error} if one.error is not None else {}
    return _line({**head, "answer": [list(piece) for piece in one.pieces], **error})


def read_tape(data: bytes, name: str) -> Tape:
    """The tape that is written in these bytes; an error of one line where it can't be played."""
    lines = data.split(b"\n")
    cut = bool(lines.pop())
    if not lines or not isinstance(version := _parsed(lines[0]).get("tape"), int):
        raise InvalidError(f"{name} is not a tape", "%agent record FILE makes one")
    if version > VERSION:
        raise InvalidError(
            f"{name} is a tape of version {version}, and this deepnb reads up to version {VERSION}",
            "%pip install -U deepnb",
        )
    head, models, exchanges = _parsed(lines[0]), list[TapedModel](), list[Exchange]()
    parts: dict[str, Any] = {}
    for number, text in enumerate(lines[1:], 2):
        try:
            line = _parsed(text)
            if "model" in line:
                models.append(_model(line))
            elif "part" in line:
                parts[line["part"]] = line["is"]
            else:
                exchanges.append(_exchange(line, parts))
        except (KeyError, TypeError, ValueError):
            raise InvalidError(
                f"{name} is damaged in line {number}", "get the file again, or record it again: %agent record FILE"
            ) from None
    made, note = _words(head.get("made", "")), _words(head.get("note", ""))
    return Tape(name, version, made, note, tuple(models), parts, tuple(exchanges), cut)


def _model(line: Json) -> TapedModel:
    profile = {
        key: value
        for key, value in dict(line["profile"]).items()
        if isinstance(value, bool | str) or (isinstance(value, int) and value > 0)
    }
    retries = min(max(int(line["retries"]), 0), _TRIES)
    return TapedModel(_words(line["model"]), profile, str(line["counts"]), str(line["schemas"]), retries)


def _words(text: Any) -> str:
    """A text of somebody else's as it is shown: one short line."""
    return excerpt("".join(char if char.isprintable() else " " for char in str(text)), _SHOWN)


def _exchange(line: Json, parts: Json) -> Exchange:
    messages = tuple(map(str, line["messages"]))
    if missing := [name for name in (*messages, line["tools"]) if name not in parts]:
        raise KeyError(missing[0])
    days_near(line["at"])  # no timestamp, no exchange
    pieces = tuple((int(ms), dict(piece)) for ms, piece in line["answer"])
    error = None if line.get("error") is None else dict(line["error"])
    return Exchange(line["at"], str(line["by"]), str(line["purpose"]), line["tools"], messages, pieces, error)


def _parsed(line: bytes) -> dict[str, Any]:
    """A line as an object; an empty one where it is none."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _line(value: Json) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value).encode() + b"\n"
