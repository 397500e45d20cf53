"""Finding the anchors of messages, and which of them a summary lost."""

from collections.abc import Callable, Iterable

from deepnb.core.anchors.facts import facts
from deepnb.core.anchors.prohibitions import prohibitions
from deepnb.core.anchors.values import Anchor, Kind
from deepnb.core.messages import Message


def find(messages: Iterable[Message], redact: Callable[[str], str] = str) -> tuple[Anchor, ...]:
    """The anchors of messages, each once, in the order in which they came; `redact` takes credentials out."""
    found: dict[tuple[Kind, str], Anchor] = {}
    for message in messages:
        text = redact(message.text)
        for sentence in prohibitions(redact(message.own)):
            found.setdefault(("prohibition", sentence), Anchor("prohibition", sentence))
        for anchor in facts(f"{text}\n{_arguments(message)}"):
            found.setdefault((anchor.kind, anchor.text), anchor)
    return tuple(found.values())


def lost(anchors: Iterable[Anchor], summary: str) -> tuple[Anchor, ...]:
    """The anchors that the summary does not hold word for word."""
    held = _plain(summary)
    return tuple(a for a in anchors if not _holds(held, _plain(a.text)))


def union(*groups: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Anchors of several groups, each once; those of later groups count as newer."""
    found: dict[tuple[Kind, str], Anchor] = {}
    for group in groups:
        for anchor in group:
            found.pop((anchor.kind, anchor.text), None)
            found[anchor.kind, anchor.text] = anchor
    return tuple(found.values())


def _arguments(message: Message) -> str:
    """Paths and other short arguments of its tool calls."""
    values = (v for call in message.tool_calls for v in call.args.values())
    return "\n".join(v for v in values if isinstance(v, str) and len(v) <= 200)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(text: str, fact: str) -> bool:
    """Whether a text holds a fact that is not a part of a longer word, path or number there."""
    start = text.find(fact)
    while start >= 0:
        before, after = text[max(0, start - 2) : start], text[start + len(fact) : start + len(fact) + 2]
        inside = _runs_on(before[-1:], fact[0]) or _runs_on(after[:1], fact[-1])
        if not (inside or _continues(after) or _continues(before[::-1])):
            return True
        start = text.find(fact, start + 1)
    return False


def _runs_on(neighbour: str, edge: str) -> bool:
    return (
        bool(neighbour)
        and neighbour.isascii()
        and edge.isascii()
        and ((neighbour.isalnum() or neighbour in "_/\\") and (edge.isalnum() or edge in "_/\\~.-"))
    )


def _continues(after: str) -> bool:
    """Whether a number or a path goes on: `.5` after 37, `.py` after a name."""
    return len(after) == 2 and after[0] in ".,-:" and after[1].isascii() and after[1].isalnum()
