"""What an MCP server offers, as tools that a model can be shown: its words are not trusted, and a change is noticed."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MOST = 100
"""Tools of one server; providers take 128 in all."""
LONGEST_NAME = 64
"""Characters of a tool's name that every provider takes."""
LONGEST_DESCRIPTION = 2_000
LONGEST_SCHEMA = 20_000
"""Characters of a tool's parameters, as JSON."""
LONGEST_WORDS = 500
"""Characters of what is said of one parameter."""

Listed = tuple[str, str, Any]
"""(name, description, schema of the parameters) of a tool, as a server lists it."""


@dataclass(frozen=True)
class Offer:
    """A tool of a server, as a model is shown it."""

    name: str
    """`server__tool`: no tool of deepnb has two underscores in its name."""
    own: str
    """What the server calls it."""
    description: str
    schema: Mapping[str, Any]
    fingerprint: str
    """The hash of what the server says of it, all of it."""


def offers(server: str, listed: Iterable[Listed]) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    """The tools of a server, and a line for each that can't be used."""
    made: dict[str, Offer] = {}
    left_out: list[str] = []
    for own, description, schema in listed:
        problem = _problem(own, schema, {offer.own for offer in made.values()})
        if not problem and len(made) == MOST:
            problem = f"only the first {MOST} tools of a server are used"
        if problem:
            left_out.append(f"{_plain(own, LONGEST_NAME)!r}: {problem}")
            continue
        name = _name(server, own, made)
        made[name] = Offer(
            name,
            own,
            _plain(description, LONGEST_DESCRIPTION)
            or f"The tool {_plain(own, LONGEST_NAME)} of the MCP server {server}.",
            {"type": "object", "properties": {}, **_cleaned(schema)},
            fingerprint(own, description, schema),
        )
    return tuple(made.values()), tuple(left_out)


def fingerprint(own: str, description: str, schema: Any) -> str:
    """A hash of what a server says of a tool."""
    return hashlib.sha256(json.dumps([own, description, schema], sort_keys=True).encode()).hexdigest()


def _problem(own: str, schema: Any, taken: Collection[str]) -> str:
    """Why a tool can't be used; empty where it can."""
    if not own.strip():
        return "it has no name"
    if own in taken:
        return "the server lists two tools of this name; the first is used"
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return "its parameters are not a JSON object"
    if len(json.dumps(schema)) > LONGEST_SCHEMA:
        return f"its parameters take more than {LONGEST_SCHEMA:,} characters"
    return ""


def _name(server: str, own: str, taken: Collection[str]) -> str:
    """`server__tool`; where that is too long, or two come out the same, with the beginning of a hash of its own name."""
    name = f"{server}__{re.sub(r'[^a-zA-Z0-9_-]', '_', own)}"
    rounds = 0
    while len(name) > LONGEST_NAME or name in taken:
        mark = hashlib.sha256(f"{own}{rounds or ''}".encode("utf-8", "replace")).hexdigest()[:8]
        name, rounds = f"{name[: LONGEST_NAME - 9]}_{mark}", rounds + 1
    return name


def _cleaned(schema: Any) -> Any:
    """A schema whose words are plain and short; names and values in it are as they were."""
    if isinstance(schema, Mapping):
        words = ("description", "title")
        return {
            key: _plain(value, LONGEST_WORDS) if key in words and isinstance(value, str) else _cleaned(value)
            for key, value in schema.items()
        }
    return [_cleaned(one) for one in schema] if isinstance(schema, list) else schema


def _plain(text: str, longest: int) -> str:
    """A text without signs that can't be seen, cut to a length."""
    seen = "".join(c for c in text[: 4 * longest] if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()
    return seen if len(seen) <= longest else f"{seen[: longest - 1]}…"
