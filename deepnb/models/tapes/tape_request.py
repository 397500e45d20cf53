"""A request in the form in which a tape keeps and finds it: without credentials, ids, times, or a provider's own forms."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from json import dumps
from typing import Any

from deepnb.gate import credentials, redact, redact_value
from deepnb.models.tapes.masks import masked
from deepnb.models.tapes.tape import Json, digest

_KEY = "[redacted: key]"
_SHORTEST = 8
"""Characters of a key that is known by its value: a shorter one could be any word."""
_KEPT = 4_096
"""Parts that are remembered."""


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
    """Brings requests into a tape's form; each message is worked on once, in however many requests it is sent."""

    def __init__(self, days: Iterable[str], secrets: Iterable[str] = ()) -> None:
        """`days` are those whose times are masked, `secrets` what is a key though nothing but its owner knows it."""
        self._days = frozenset(days)
        self.clean = cleaner(secrets)
        self._known: dict[bytes, tuple[str, Any]] = {}

    def parts(self, messages: Sequence[Json], tools: Sequence[tuple[str, str]]) -> Parts:
        """The parts of a request whose messages are as `models.tapes.request` gives them."""
        made = [self._part(one) for one in (list(map(list, tools)), *messages)]
        return Parts(made[0][0], tuple(name for name, _ in made[1:]), dict(made))

    def _part(self, raw: Any) -> tuple[str, Any]:
        known = blake2b(dumps(raw, sort_keys=True, default=str).encode(), digest_size=16).digest()
        if (found := self._known.get(known)) is None:
            found = self.masked_part(self.clean(raw))
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[known] = found
        return found

    def masked_part(self, part: Any) -> tuple[str, Any]:
        """A part without ids and times, and its name."""
        made = self._masked(part)
        return digest(made), made

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return masked(value, self._days)
        if isinstance(value, Mapping):
            return {key: self._masked(item) for key, item in value.items()}
        return [self._masked(item) for item in value] if isinstance(value, list) else value


def cleaner(secrets: Iterable[str]) -> Callable[[Any], Any]:
    """What takes known keys, and all that looks like a credential, out of a JSON-like value."""
    known = sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True)

    def without(value: Any) -> Any:
        if isinstance(value, str):
            for secret in known:
                value = value.replace(secret, _KEY)
            return value
        if isinstance(value, Mapping):
            return {without(key): without(item) for key, item in value.items()}
        return [without(item) for item in value] if isinstance(value, list | tuple) else value

    def clean(value: Any) -> Any:
        return _keys_too(redact_value(without(value) if known else value))

    return clean


def keys_of(variables: Iterable[str] = (), environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """The values of the environment that are keys: those of these variables, and those whose name and value tell."""
    found, there = set[str](), dict(os.environ if environment is None else environment)
    named = frozenset(variables)
    for name, value in there.items():
        if name in named or any(f.start > len(name) for f in credentials(f"{name}={value}")):
            found |= {value, value.strip()}
    return frozenset(found)


def _keys_too(value: Any) -> Any:
    """A JSON-like value with the keys of its mappings redacted: a model may take a credential for the name of an argument."""
    if isinstance(value, dict):
        return {redact(key) if isinstance(key, str) else key: _keys_too(item) for key, item in value.items()}
    return [_keys_too(item) for item in value] if isinstance(value, list | tuple) else value
