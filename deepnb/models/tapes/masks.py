"""A text without what differs from run to run though nobody changed a word: ids that are drawn, and the time now.

A date is masked only near the moments that are given: any other date is a word of the prompt or of the data.
"""

import re
from collections.abc import Iterable
from datetime import date

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
    r"(?P<day>\b\d{4}-\d\d-\d\d)"
    r"(?P<time>[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|^## \d\d:\d\d\b",  # the heading of an entry in a daily note
    re.MULTILINE,
)


def days_near(at: str) -> frozenset[str]:
    """The day of an ISO timestamp, the one before and the one after, as `YYYY-MM-DD`."""
    day = date.fromisoformat(at[:10]).toordinal()
    first, last = date.min.toordinal(), date.max.toordinal()
    return frozenset(date.fromordinal(n).isoformat() for n in (day - 1, day, day + 1) if first <= n <= last)


def masked(text: str, days: Iterable[str]) -> str:
    """The text with ids, and times of these days, replaced by their masks; the same object if it has none.

    Law: `masked(masked(t, a), b) == masked(t, a | b)`.
    """
    near = frozenset(days)

    def time(found: re.Match[str]) -> str:
        if found["day"] is None:
            return f"## {TIME}"
        if found["day"] not in near:
            return found[0]
        return TIME if found["time"] else DAY

    made = _TIMES.sub(time, _IDS.sub(ID, text))
    return text if made == text else made
