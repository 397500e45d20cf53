"""How many tokens a text has for a tokenizer that nobody has here: high, until its provider's reports say how high.

A count is of what about every tokenizer takes, and of what some take beyond that: one token a digit (Qwen, Gemma, Tekken),
a token or more for a character of Chinese, Japanese and Korean, or of any other script (Claude's takes 3.4 times what
o200k_base takes of Hindi). All of that counts until a report proves less; a report of more counts at once. The figures
were set by tests/data/token_counts.jsonl and hold for other texts, against four public tokenizers, in
tests/context/test_estimate.py.
"""

import re
from collections import deque
from collections.abc import Sequence
from math import ceil
from threading import Lock
from typing import NamedTuple

from deepnb.values.request import Tokens

MARGIN = 1.1
"""What tokenizers take of code and JSON beyond o200k_base: 1.0 (Qwen) to 1.13 times as many (Claude's; of Go 1.35)."""
_WIDE, _EUROPEAN, _OTHER = 0.45, 0.4, 1.0
"""Tokens that a character takes beyond its count at most: Claude's take 1.1 for one of Chinese, 0.5 of Russian, 1.3 of Hindi."""
_SURE = 0.85
"""The share of what counts as sure that a tokenizer takes at least: an excess above it may be that of any class."""
HIGHEST = 1.7
"""How far what counts as sure can be above a tokenizer's count: 1.6 for Japanese (Gemma); less was not all of a request."""
_KEPT = 8
"""Reports that are heeded, so that those of a subagent do not displace the main agent's."""

_DIGITS = re.compile("[0-9]{2,}")
_WIDE_CHARACTERS = re.compile("[\u2e80-\uffff\U00020000-\U0010ffff]+")  # 的, の, 한
_EUROPEAN_CHARACTERS = re.compile("[\x80-\u052f]+")  # é, ж
_OTHER_CHARACTERS = re.compile("[\u0530-\u1fff\U00010000-\U0001ffff]+")  # ह, ع, 😀
_PIECE = re.compile(
    r"[A-Z]?[a-z]{1,7}|[A-Z]{1,3}"  # read, _Name without its sign, HTM
    r"|[0-9]{1,3}|[ \t](?=[0-9])"  # 128, and the blank before it
    r"|([!-/:-@\[-`{-~\u2000-\u2e7f])\1{2,}"  # ===, ──────
    r"|[!-/:-@\[-`{-~]{1,2}|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2000-\u2e7f]"  # {", });  —
    r"|[ \t]{2,}|[\r\n]+"  # indentation, line ends
)


class Rates(NamedTuple):
    """What a model is known to take: a factor of all, and how much of what some tokenizers take beyond what is sure."""

    factor: float = 1
    digits: float = 1
    wide: float = 1
    other: float = 1

    def of(self, text: Tokens) -> int:
        """Return the tokens of a text."""
        return ceil(self.exactly(text) - 1e-6)

    def exactly(self, text: Tokens) -> float:
        """Return the tokens of a text, not rounded up."""
        beyond = self.digits * text.digits + self.wide * text.wide + self.other * text.other
        return self.factor * (text.sure + beyond)


HIGH = Rates()
"""Of a model that has reported nothing."""


def by_class(text: str) -> int:
    """Return about how many tokens o200k_base has for a text: by words, digits and signs, and by characters for the rest."""
    pieces = sum(1 for _ in _PIECE.finditer(text)) or min(1, len(text))
    if text.isascii():
        return pieces
    european, other = _length(_EUROPEAN_CHARACTERS, text), _length(_OTHER_CHARACTERS, text)
    return ceil(pieces + 0.8 * _length(_WIDE_CHARACTERS, text) + 0.35 * (european + other))


def estimated(text: str, count: int) -> Tokens:
    """Return what a text may have, of which o200k_base has about `count` tokens."""
    digits = sum(len(run) - -(-len(run) // 3) for run in _DIGITS.findall(text))
    if text.isascii():
        return Tokens(MARGIN * count, digits)
    wide, european = _length(_WIDE_CHARACTERS, text), _length(_EUROPEAN_CHARACTERS, text)
    other = _length(_OTHER_CHARACTERS, text)
    ascii_share = 1 - (wide + european + other) / len(text)
    return Tokens(count * (1 + (MARGIN - 1) * ascii_share), digits, _WIDE * wide, _EUROPEAN * european + _OTHER * other)


def approximate(*texts: str) -> int:
    """Return how many tokens texts have at most, with no encoding and no report; linear in their length, 0 for an empty one."""
    return sum(HIGH.of(estimated(text, by_class(text))) for text in texts)


def _length(characters: re.Pattern[str], text: str) -> int:
    return sum(map(len, characters.findall(text)))


class Reports:
    """The last reports of a model, and the rates they prove: those of all sessions of a process."""

    def __init__(self) -> None:
        self.rates = HIGH
        self._lock = Lock()
        self._last: deque[tuple[Tokens, int]] = deque(maxlen=_KEPT)

    def add(self, sent: Tokens, reported: int) -> None:
        """Take note of what a provider reported of a request; one that was cut, or is reported in part, says nothing."""
        if reported * HIGHEST >= sent.sure > 0:
            with self._lock:  # the rates are those of the newest reports, whoever reported last
                self._last.append((sent, reported))
                self.rates = proved(tuple(self._last))


def proved(reports: Sequence[tuple[Tokens, int]]) -> Rates:
    """Return the rates that these reports prove, the newest last.

    Of a class of which a request holds much, no more is counted than what was reported beyond what is sure: all of the
    excess may be of that class. The factor goes up to what was reported last, and of the longest request: that of a
    short one is mostly what the provider's own words add, and comes down with the next longer one.
    """
    held = Rates(1, *(min((_share(sent, sent[at], told) for sent, told in reports), default=1) for at in (1, 2, 3)))
    decisive = (reports[-1], max(reports, key=lambda report: report[0].sure)) if reports else ()
    needed = (told / max(held.exactly(sent), 1) for sent, told in decisive)
    return held._replace(factor=ceil(32 * max(1, *needed, 1)) / 32)


def _share(sent: Tokens, most: float, reported: int) -> float:
    """Return how much of a class is counted after a report, in eighths, so that counts change rarely."""
    if most < sent.sure / 8:
        return 1
    return min(1, ceil(8 * max(0, reported - _SURE * sent.sure) / most) / 8)
