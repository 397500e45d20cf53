"""What fills the context window, and how far it is to the trigger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Literal

from deepnb.values.errors import InvalidError
from deepnb.values.request import Item, Request, items
from deepnb.values.text import short_repr

Kind = Literal["fraction", "tokens", "messages"]
Size = tuple[Kind, float]
"""A size of context: ("fraction", 0.85) of the window, ("tokens", n) or ("messages", n)."""

LEAST = 1_024
"""Tokens below which no client's room for an answer is lowered."""

PARTS = ("system", "memory", "skills", "tools", "summary", "user", "assistant", "tool results")
"""What a request is made of, in the order in which the gauge draws it."""

NOT_RECORDED = "not recorded"
"""A further part, of a session read from a file: what a request held and the file does not (an estimate)."""


@dataclass(frozen=True)
class Rule:
    """When the thread is compacted, and how much of its end is kept word for word."""

    trigger: Size
    keep: Size
    window: int | None
    """The model's `max_input_tokens`, or None where it is not known."""
    compacts: bool = True
    """False where nothing does: then all of the window is there to be filled."""
    guessed: bool = False
    """Whether nobody said how large the window is."""
    known: bool = True
    """False for the session of another program, whose file does not say when it compacts: trigger and keep mean nothing."""
    reserve: int = field(default=0, compare=False)
    """Tokens that the model's client sets aside for an answer, where there is room for them."""
    limit: int | None = field(default=None, compare=False)
    """The most tokens that are sent: the rest of the window is the answer's. None where nobody sees to it."""

    @property
    def trigger_tokens(self) -> int | None:
        """The count of tokens at which compaction sets in; None for a rule in messages, and where nothing compacts or the rule is unknown."""
        asked = self.asked_tokens
        return asked if asked is None or self.limit is None else max(1, min(asked, self.limit))

    @property
    def asked_tokens(self) -> int | None:
        """The trigger as it was asked for, whether or not an answer has room above it."""
        return self._tokens(self.trigger, ceil) if self.compacts and self.known else None

    @property
    def drawn(self) -> int | None:
        """Where the gauge has its mark: at the trigger, or for one in messages at the limit."""
        limit = self.limit if self.compacts and self.known else None
        return limit if self.trigger_tokens is None else self.trigger_tokens

    def answer_room(self, total: int) -> int | None:
        """Return the most tokens that an answer to a request of `total` may have; None where there is no limit."""
        if self.window is None or self.limit is None:
            return None
        return max(self.window - self.limit, self.window - headroom(self.window) - total)

    @property
    def keep_tokens(self) -> int | None:
        """How many tokens of the thread's end are kept; None for a rule in messages."""
        return self._tokens(self.keep, floor)

    def _tokens(self, size: Size, whole: Callable[[Fraction], int]) -> int | None:
        kind, value = size
        if kind == "tokens":
            return int(value)
        if kind == "fraction" and self.window is not None:
            return max(1, whole(Fraction(str(value)) * self.window))
        return None

    @property
    def conflict(self) -> str:
        """That a compaction would keep all that set it off, in one line; empty where it keeps less, or nobody can know."""
        alike = self.keep[0] == self.trigger[0]
        kept, limit = (self.keep[1], self.trigger[1]) if alike else (self.keep_tokens, self.trigger_tokens)
        if kept is None or limit is None or kept < limit:
            return ""
        of = "" if alike else f" of a window of {self.window:,} tokens"
        return f"keep={self.keep!r} is not less than trigger={self.trigger!r}{of}"


def headroom(window: int) -> int:
    """Return tokens of a window that are left free, since a provider may count otherwise."""
    return ceil(Fraction(5, 100) * window)


def limit_of(window: int | None, reserve: int = 0, fixed: int = 0) -> int | None:
    """Return the most tokens that are sent where the reserve for the answer is lowered as the window fills; None without a window.

    It is never lowered below 1,024 tokens or 5 % of the window beside what is `fixed`, as the room for thinking is.
    """
    if window is None:
        return None
    free = headroom(window)
    return max(0, window - max(free, min(reserve, fixed + max(LEAST, free))))


def rule_for(
    window: int | None,
    trigger: Size | None = None,
    keep: Size | None = None,
    reserve: int = 0,
    limit: int | None = None,
    *,
    as_asked: bool = False,
) -> Rule:
    """Return the rule in force: what was asked for, else 0.85 of a known window, or 170,000 tokens.

    Where a compaction would keep as much as sets it off, less is kept; with `as_asked` the rule has its conflict.
    """
    known = window is not None or (as_asked and keep is not None and keep[0] == "fraction")
    usual: tuple[Size, Size] = (
        (("fraction", 0.85), ("fraction", 0.10)) if known else (("tokens", 170_000), ("messages", 6))
    )
    asked = Rule(trigger or usual[0], keep or usual[1], window, reserve=reserve, limit=limit)
    if as_asked:
        return asked
    if window is None and any(size is not None and size[0] == "fraction" for size in (trigger, keep)):
        do = "set the number of tokens with %config DeepNB.window = N"
        raise InvalidError("a fraction of the window needs a window", do)
    if not asked.conflict:
        return asked
    by_default = replace(asked, keep=usual[1])
    at = asked.trigger_tokens
    unit: Kind = "messages" if at is None else "tokens"
    part = replace(asked, keep=(unit, max(1, int((at or asked.trigger[1]) * 10 // 85))))
    return next((rule for rule in (by_default, part) if not rule.conflict), by_default)


@dataclass(frozen=True)
class Budget:
    """One request, by part, against the rule in force. All figures are tokens."""

    parts: Mapping[str, int]
    rule: Rule
    messages: int
    exact: bool = True
    """False where the counts are an approximation that errs high (shown as `~`)."""
    reported: int | None = None
    """What the provider said the last request cost, where it said so."""
    sent: int | None = None
    """What was counted of that request, where this is another one."""
    growth: tuple[int, ...] = ()
    """By how much each of the last turns grew the context; the newest last."""
    request: Request | None = field(default=None, repr=False, compare=False)
    """What was counted, where it is kept."""
    own_tools: tuple[str, ...] = ()
    """Names of the tools in it that are the user's."""
    unseen: str = ""
    """What of the request can't be seen and so is not counted, in one line."""

    def __repr__(self) -> str:
        window = f" of {self.rule.window:,}" if self.rule.window else ""
        return short_repr(self, f"{'' if self.exact else '~'}{self.total:,}{window} tokens")

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def items(self) -> tuple[Item, ...]:
        """Each tool, memory file, skill and large message, with its tokens and what takes it out."""
        return () if self.request is None else items(self.request, self.own_tools)

    @property
    def left(self) -> int | None:
        """Tokens to the trigger, or to the window's end where nothing compacts; never negative; None for a rule in messages."""
        trigger = self.rule.trigger_tokens if self.rule.compacts else self.rule.window
        return None if trigger is None else max(0, trigger - self.total)

    @property
    def turns_left(self) -> int | None:
        """About how many turns like the last ones fit before the trigger; None where unknown."""
        grown = [g for g in self.growth[-5:] if g > 0]
        if self.left is None or not grown:
            return None
        return int(self.left // (sum(grown) / len(grown)))


def growth(totals: Sequence[int]) -> tuple[int, ...]:
    return tuple(b - a for a, b in pairwise(totals) if b > a)
