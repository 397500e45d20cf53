"""Finding the anchors of messages, and which of them a summary lost."""

import re
from collections.abc import Callable, Iterable

from deepnb.core.anchors.facts import facts
from deepnb.core.anchors.prohibitions import prohibitions, statements
from deepnb.core.anchors.values import Anchor, Kind
from deepnb.core.messages import Message
from deepnb.core.regex import regex

_TYPE = regex(
    r"(?:u?int|float|complex)\d{1,3}|(?:datetime|timedelta)64(?:\[.*\])?|d?types?(?:\('.*'\))?|object|bool|category|str(?:ing)?|int|float|NaN|NaT|None(?:Type)?"
    r"|(?:pd\.|pandas\.|np\.|numpy\.)?(?:DataFrame|Series|ndarray|(?:Range|Multi|Datetime)?Index|Timestamp|Categorical)(?:\(\))?",
    re.IGNORECASE,
)
_PLAIN = regex(r"[a-z]+(?:_[a-z]+)*|[a-z]+(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+)+(?:[ _][A-Za-z]+)*")
"""Words as code and columns have them, which a model invents as well: `year_discovered`, `DataFrame`."""
_OURS = (
    "/conversation_history/",
    "/memory/",
    "/.deepnb/",
    "/large_tool_results/",
    "/skills/",
    "/agents/",
    "/AGENTS.md",
    "/MEMORY.md",
    "/USER.md",
)
_OF_DATA = ("list_variables", "inspect_variable", "query_table")
"""Tools whose results can be had again."""


def find(messages: Iterable[Message], redact: Callable[[str], str] = str) -> tuple[Anchor, ...]:
    """The anchors of messages, each once, in the order in which they came; `redact` takes credentials out."""
    found: dict[tuple[Kind, str], Anchor] = {}
    looked_at: list[str] = []
    for message in messages:
        own = redact(message.own)
        said = [
            *(Anchor("prohibition", one) for one in prohibitions(own)),
            *(Anchor("statement", one) for one in statements(own)),
        ]
        typed = "" if message.role != "user" else message.text if message.typed is None else message.typed
        text = "" if message.status == "error" else redact(message.text)
        looked_at += [text] if message.name in _OF_DATA or (typed != message.text and typed) else []
        for anchor in (*said, *(a for a in facts(f"{text}\n{_arguments(message)}") if _is_lasting(a, typed))):
            found.setdefault((anchor.kind, anchor.text), anchor)
    return tuple(a for a in found.values() if not (_is_plain(a) and any(a.text in text for text in looked_at)))


def _is_plain(anchor: Anchor) -> bool:
    """Whether it is a word as a column or a class may be called."""
    return anchor.kind in ("identifier", "name") and bool(_PLAIN().fullmatch(anchor.text))


def _is_lasting(anchor: Anchor, typed: str) -> bool:
    """Whether a fact can't be had again; a plain word is one only where the user typed it."""
    if _TYPE().fullmatch(anchor.text) or (anchor.kind == "path" and anchor.text.startswith(_OURS)):
        return False
    return not _is_plain(anchor) or anchor.text in typed


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
