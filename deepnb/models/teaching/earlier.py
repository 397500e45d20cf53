"""What a request still says of messages that left it: brought back word for word, or kept as anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepnb.core.anchors import CLOSE, OPEN
from deepnb.core.messages import BROUGHT_BACK, SUMMARY
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.facts import looks_secret
from deepnb.models.teaching.words import coverage, short

_EARLIER = re.compile(r"<earlier>\n(.*)\n</earlier>", re.DOTALL)
_MOST = 3
"""Lines quoted of either."""


def brought_back(c: Conversation, asked: frozenset[str]) -> list[str]:
    """The lines of brought back messages that say most of what is asked, each with who said it; no questions."""
    return _best(asked, ((line, f'- "{short(line, 200)}" ({role})') for role, line in _lines(c)))


def anchors(c: Conversation, asked: frozenset[str]) -> list[str]:
    """The same of the anchors beside a summary."""
    return _best(asked, ((line, f'- "{short(line, 200)}"') for line in _anchors(c)))


def _best(asked: frozenset[str], lines: Iterator[tuple[str, str]]) -> list[str]:
    scored = [(coverage(asked, line), shown) for line, shown in lines if not looks_secret(line)]
    best = max((score for score, _ in scored), default=0.0)
    return list(dict.fromkeys(shown for score, shown in scored if score == best > 0))[:_MOST]


def _lines(c: Conversation) -> Iterator[tuple[str, str]]:
    for message in c.earlier:
        found = _EARLIER.search(message.text) if message.source == BROUGHT_BACK else None
        role = "?"
        for line in found[1].splitlines() if found else ():
            if line.startswith("### "):
                role = line[4:]
            elif line.strip() and not line.rstrip().endswith(("?", "？")):
                yield role, line.strip()


def _anchors(c: Conversation) -> Iterator[str]:
    for message in c.earlier:
        if message.source == SUMMARY and OPEN in message.text:
            inside = message.text.partition(OPEN)[2].partition(CLOSE)[0]
            for line in inside.splitlines():
                label, _, facts = line.partition(": ")
                yield from (f"{label}: {fact}" for fact in facts.split(" | ") if facts)
