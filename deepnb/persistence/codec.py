"""The values of a turn as JSON, and back: frozen dataclasses of `values` by name, and nothing else."""

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, cast

from deepnb.persistence.savers import redacted_text
from deepnb.values import turn as values
from deepnb.values.agent import Skill
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.budget import Budget, Rule
from deepnb.values.messages import GrowingList
from deepnb.values.offload import Anchor, BroughtBack, Flush, HistoryMessage, Offload
from deepnb.values.request import Request, Sent
from deepnb.values.text import json_text

_PARTS = (Anchor, BroughtBack, Budget, values.Call, Decision, Flush, HistoryMessage, Offload, PendingCall, Rule, Skill)
_ALL: tuple[type, ...] = (*_PARTS, values.Usage, *values.Event.__args__)
CLASSES: Mapping[str, type] = {one.__name__: one for one in _ALL}

_CLASS = "="
"""Key of an object that is no plain one: it names what it is."""


class DamagedError(ValueError):
    """What was read is no value of these."""


class Writer:
    """Writes the values of one turn. `put` keeps a text that other turns may have, too, and gives its name."""

    def __init__(self, put: Callable[[str], str], before: Request | None = None) -> None:
        """`before` is the last request of the turn before: a request is written as what differs from one known."""
        self._put = put
        self._requests: list[Request] = [before] if before is not None else []

    def plain(self, value: Any) -> Any:
        """Return the value in JSON's own words."""
        match value:
            case None | bool() | int():
                return value
            case str():
                return redacted_text(value)
            case float():
                return value if math.isfinite(value) else {_CLASS: "float", "of": str(value)}
            case bytes():
                return {_CLASS: "bytes", "of": base64.b64encode(value).decode()}
            case Request():
                return self._request(value)
            case tuple():
                return [self.plain(item) for item in value]
            case list():
                return {_CLASS: "list", "of": [self.plain(item) for item in value]}
            case Mapping():
                out = {redacted_text(str(k)): v if _is_image(k, v) else self.plain(v) for k, v in value.items()}
                return {_CLASS: "dict", "of": out} if _CLASS in out else out
            case _ if type(value).__name__ in CLASSES and is_dataclass(value):
                return self._object(value)
        return redacted_text(str(value))

    def _object(self, value: Any) -> dict[str, Any]:
        out: dict[str, Any] = {_CLASS: type(value).__name__}
        for name, default in _fields(cast(Any, type(value))):
            held = getattr(value, name)
            if not (type(held) is type(default) and held == default):
                out[name] = self.plain(held)
        return out

    def _request(self, value: Request) -> dict[str, Any]:
        for number, known in enumerate(self._requests):
            if known is value:
                return {_CLASS: "Request", "same": number}
        base: int | None = None
        kept = 0
        for number, known in reversed(tuple(enumerate(self._requests))):  # the one that this goes on from
            most = min(len(known.body), len(value.body))
            if not known.body.shares(value.body):
                pairs = enumerate(zip(known.body, value.body, strict=False))
                most = next((n for n, (x, y) in pairs if x is not y and x != y), most)
            if most > kept:
                base, kept = number, most
            if most == len(known.body):
                break
        self._requests.append(value)
        new = [[_sent(piece) for piece in message] for message in value.body[kept:]]
        head = self._put(dumps([_sent(piece) for piece in value.head]))
        return {_CLASS: "Request", "head": head, "base": base, "kept": kept, "new": new}


class Reader:
    """Reads what a `Writer` wrote. `get` gives a text by its name."""

    def __init__(
        self, get: Callable[[str], str], before: Request | None = None, heads: dict[str, tuple[Sent, ...]] | None = None
    ) -> None:
        """`heads` are those of requests that were read before: they are the same ones for a whole thread."""
        self._get = get
        self._heads: dict[str, tuple[Sent, ...]] = {} if heads is None else heads
        self._requests: list[Request] = [before] if before is not None else []

    def value(self, plain: Any) -> Any:
        """Return the value that was written as `plain`; raise DamagedError if no value is written so."""
        if type(plain) in _SCALARS:
            return plain
        if isinstance(plain, list):
            return tuple(map(self.value, plain))
        if (kind := plain.get(_CLASS)) is None:
            return {k: v if type(v) in _SCALARS else self.value(v) for k, v in plain.items()}
        if kind in CLASSES:
            return self._object(CLASSES[kind], plain)
        match kind:
            case "Request":
                return self._request(plain)
            case "dict":
                return {k: self.value(v) for k, v in plain["of"].items()}
            case "list":
                return [self.value(item) for item in plain["of"]]
            case "float":
                return float(plain["of"])
            case "bytes":
                return base64.b64decode(plain["of"])
        raise DamagedError(f"no value is a {kind!r}")

    def _object(self, made: type, plain: Mapping[str, Any]) -> Any:
        value = self.value
        try:
            return made(**{k: v if type(v) in _SCALARS else value(v) for k, v in plain.items() if k != _CLASS})
        except TypeError as error:
            raise DamagedError(str(error)) from None

    def _request(self, plain: Mapping[str, Any]) -> Request:
        try:
            if "same" in plain:
                same: Request = self._requests[plain["same"]]
                return same
            base = plain["base"]
            body = GrowingList[tuple[Sent, ...]]() if base is None else self._requests[base].body
            new = [tuple(Sent(*piece) for piece in message) for message in plain["new"]]
            if (name := plain["head"]) not in self._heads:
                self._heads[name] = tuple(Sent(*piece) for piece in json.loads(self._get(name)))
            made = Request(self._heads[name], body.replace_from(plain["kept"], new))
        except (LookupError, TypeError) as error:
            raise DamagedError(str(error)) from None
        self._requests.append(made)
        return made


_SCALARS = frozenset((str, int, float, bool, type(None)))


def dumps(value: Any) -> str:
    """JSON in few characters; half of a surrogate pair is written as its number."""
    return json_text(value, separators=(",", ":"))


def _sent(piece: Sent) -> list[Any]:
    return [piece.part, redacted_text(piece.label), redacted_text(piece.text), piece.tokens]


def _is_image(key: object, value: object) -> bool:
    """Return whether a value is base64, which is full of what looks drawn by chance."""
    return isinstance(value, str) and key != "image/svg+xml" and str(key).startswith(("image/", "application/pdf"))


@cache
def _fields(made: type) -> Sequence[tuple[str, Any]]:
    """Return (name, default) of each field of a dataclass; an object that equals no value if the field has no default."""
    out = []
    for field in fields(cast(Any, made)):
        make: Any = field.default_factory
        out.append((field.name, field.default if make is MISSING else make()))
    return tuple(out)
