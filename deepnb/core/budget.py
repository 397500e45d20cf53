"""What fills the context window, and how far it is to the trigger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Literal

from deepnb.core.errors import InvalidError
from deepnb.core.short_repr import short_repr

Kind = Literal["fraction", "tokens", "messages"]
Size = tuple[Kind, float]
"""A size of context: ("fraction", 0.85) of the window, ("tokens", n) or ("messages", n)."""

PARTS = ("system", "memory", "skills", "tools", "summary", "user", "assistant", "tool results")
"""What a request is made of, in the order in which the gauge draws it."""


@dataclass(frozen=True)
class Rule:
    """When the thread is compacted, and how much of its end is kept word for word."""

    trigger: Size
    keep: Size
    window: int | None
    """The model's `max_input_tokens`, or None where it is not known."""

    @property
    def trigger_tokens(self) -> int | None:
        """The count of tokens at which compaction sets in; None for a rule in messages."""
        return self._tokens(self.trigger, ceil)

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


def rule_for(window: int | None, trigger: Size | None = None, keep: Size | None = None) -> Rule:
    """The rule in force: 0.85 of a known window, else 170,000 tokens; or what was asked for."""
    if window is None and any(size is not None and size[0] == "fraction" for size in (trigger, keep)):
        raise InvalidError(
            "a fraction of the window needs a window", "set the number of tokens with %config DeepNB.window = N"
        )
    if window is not None:
        return Rule(trigger or ("fraction", 0.85), keep or ("fraction", 0.10), window)
    return Rule(trigger or ("tokens", 170_000), keep or ("messages", 6), None)


@dataclass(frozen=True)
class Budget:
    """One request, by part, against the rule in force. All figures are tokens."""

    parts: Mapping[str, int]
    rule: Rule
    messages: int
    exact: bool = True
    """False where the counts are an approximation that errs high (shown as `~`)."""
    reported: int | None = None
    """What the provider said the same request cost, where it said so."""
    growth: tuple[int, ...] = ()
    """By how much each of the last turns grew the context; the newest last."""

    def __repr__(self) -> str:
        window = f" of {self.rule.window:,}" if self.rule.window else ""
        return short_repr(self, f"{'' if self.exact else '~'}{self.total:,}{window} tokens")

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def left(self) -> int | None:
        """Tokens to the trigger; never negative; None for a rule in messages."""
        trigger = self.rule.trigger_tokens
        return None if trigger is None else max(0, trigger - self.total)

    @property
    def turns_left(self) -> int | None:
        """About how many turns like the last ones fit before the trigger; None where unknown."""
        grown = [g for g in self.growth[-5:] if g > 0]
        if self.left is None or not grown:
            return None
        return int(self.left // (sum(grown) / len(grown)))


def growth(totals: Sequence[int]) -> tuple[int, ...]:
    """Differences of successive totals, those of a compaction (a fall) left out."""
    return tuple(b - a for a, b in pairwise(totals) if b > a)
