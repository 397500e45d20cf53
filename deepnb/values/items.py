"""What a request is made of, item by item: each tool, memory file, skill and large message, and what takes it out."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from deepnb.gate import redact
from deepnb.values.request import Request, Sent

LARGE = 100
"""Tokens from which on a message is an item of its own."""
MOST = 5
"""Messages of one part that are items of their own, the largest."""
_START, _READ = 80, 8_000
"""Characters of a message that tell what it is; of those that are searched for credentials before it is cut."""
_SOURCE = re.compile(
    r"/(?:user|project|sources)(?:-\d+)?/"
)  # /user/AGENTS.md: the user's file, which only leaves the prompt
_FRAMES = {("memory", "memory"): "guidelines", ("skills", "skills"): "instructions"}
"""What stands round the files of memory and the skills, and what it is listed as."""


@dataclass(frozen=True)
class Item:
    """One thing in a request."""

    part: str
    """One of `values.budget.PARTS`."""
    name: str
    tokens: int
    out: str = ""
    """The magic or the option of `configure` that takes it out of later requests; empty where nothing does."""
    start: str = ""
    """The first characters of a message, credentials masked."""


def items(request: Request, own_tools: Collection[str] = ()) -> tuple[Item, ...]:
    """All of a request, part by part in the order in which it was sent, in each the largest first.

    Nothing is counted again: the tokens of a part's items are together those of its pieces. `own_tools` are the user's.
    """
    head: dict[tuple[str, str], int] = {}
    for piece in request.head:
        key = (piece.part, _FRAMES.get((piece.part, piece.label), piece.label))
        head[key] = head.get(key, 0) + piece.tokens
    found = [Item(*key, tokens) for key, tokens in head.items()]
    found += _messages(request.body)
    order = list(dict.fromkeys(item.part for item in found))
    found.sort(key=lambda item: (order.index(item.part), -item.tokens))
    return tuple(replace(item, out=_out(item, own_tools)) for item in found)


def _messages(messages: Iterable[tuple[Sent, ...]]) -> Iterator[Item]:
    """The large messages of each part, and the others of it as one item."""
    by_part: dict[str, list[Item]] = {}
    for pieces in messages:
        for part in dict.fromkeys(piece.part for piece in pieces):
            mine = [piece for piece in pieces if piece.part == part]
            most = max(mine, key=lambda piece: piece.tokens)
            one = Item(part, most.label, sum(piece.tokens for piece in mine), start=most.text)
            by_part.setdefault(part, []).append(one)
    for part, found in by_part.items():
        large = sorted((one for one in found if one.tokens >= LARGE), key=lambda one: -one.tokens)[:MOST]
        yield from (replace(one, start=" ".join(redact(one.start[:_READ]).split())[:_START]) for one in large)
        if rest := len(found) - len(large):
            tokens = sum(one.tokens for one in found) - sum(one.tokens for one in large)
            yield Item(part, f"{rest} {'other ' if large else ''}{'message' if rest == 1 else 'messages'}", tokens)


def _out(item: Item, own_tools: Collection[str]) -> str:
    """What takes an item out."""
    part, name = item.part, item.name
    match part:
        case "tools":
            return f"%agent tools {'remove' if name in own_tools else 'off'} {name}"
        case "memory":
            if _SOURCE.match(name):
                return f"%memory sources remove {name}"
            return f"%memory rm {name}" if name.startswith("/") else "enable_memory=False"
        case "skills":
            return "enable_skills=False" if name == "instructions" else f"%skills disable {name}"
        case "system":
            return 'system_prompt=""'
        case "summary":
            return "%agent new"
    return "%agent history --bring none" if name == "brought back" else "%agent compact"
