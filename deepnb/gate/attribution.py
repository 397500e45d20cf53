"""A summary in which no rule or wish is called the user's that their own words don't support."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deepnb.gate.directives import SUPPORT, Sources, is_directive, says, with_words_of
from deepnb.gate.own_words import pieces
from deepnb.gate.regex import regex

_USER = regex(
    r"\b(?:(?:the|der|die|el|la|le)\s+|l['’])?(?:user|human|(?:be)?nutzer(?:in)?|utilisat(?:eur|rice)|usuari[oa])\b"  # the user
    r"|用户(?:本人)?",
    re.IGNORECASE,
)
_HEADING = regex(r"\s*(?:#{1,6}\s.*|\*\*.*\*\*|.*[:：])\s*$")  # ## User preferences
_THEIRS = regex(
    r"\b(?:user|human|intent|preferences?|wishes|rules?|constraints?|nutzer|utilisateur|usuario)\b|用户|偏好|要求",
    re.IGNORECASE,
)
SOMEBODY = "somebody (not in the user's own words)"
_LEAST = 1 / 3


def attributed(summary: str, foreign: Iterable[str], own: Iterable[str]) -> str:
    """The summary, with somebody in place of the user in sentences of rules and wishes which the user did not say.

    Looser than `unsaid`, since a summary puts things in other words: what the user says a third to 0.6 of, and nobody
    more, stays as it is.
    """
    lines = summary.split("\n")
    users, others = Sources(own), Sources(with_words_of([*pieces(summary)], foreign))
    theirs = False
    for n, line in enumerate(lines):
        if _HEADING().match(line):
            theirs = bool(_THEIRS().search(line))
            continue
        of_user, parts = theirs, [*pieces(line)]
        for i, part in enumerate(parts):
            of_user = of_user or bool(_USER().search(part))
            if of_user and _is_wrong(part, users, others):
                parts[i] = _USER().sub(SOMEBODY, part) if _USER().search(part) else _labelled(part)
        lines[n] = "".join(parts)
    return "\n".join(lines)


def _is_wrong(part: str, users: Sources, others: Sources) -> bool:
    if not is_directive(part) or says(users, part, others):
        return False
    share = users.cover(part)
    return share < _LEAST or share >= SUPPORT or others.cover(part) > share


def _labelled(part: str) -> str:
    words = part.lstrip(" \t-*•>")
    return f"{part[: len(part) - len(words)]}{SOMEBODY.capitalize()}: {words}"
