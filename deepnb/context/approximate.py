"""About how many tokens a text has, where no tokenizer is at hand: by script, erring high.

The text is cut where a byte-pair tokenizer would cut it before it merges (words with the sign
before them, up to three digits, runs of signs, blanks), so that each piece is one token or more.
What a piece costs beyond that depends on its script and, for Latin and Cyrillic words, on how much
of the text round it is in words that every vocabulary has whole. Rates and margin are fitted to
o200k_base: over the texts of tests/data/token_counts.jsonl never below the real count, and at most
1.5 times it. A text unlike all of them may still fall outside; the margin is 17 %.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil

from deepnb.context.rates import ENGLISH, EUROPEAN, RUSSIAN, char_tokens

_LATIN = "À-ÖØ-öø-ɏḀ-ỿ"
_SIGNS = r"\x00-\x08\x0e-\x1b!-/:-@\[-`{-\x7f"
_PIECE = re.compile(
    rf"[^0-9A-Za-z{_LATIN}\r\n]?(?:[A-ZÀ-ÖØ-Þ]*[a-zß-öø-ɏḀ-ỿ]+|[A-ZÀ-ÖØ-Þ]+)(?:'(?:[sdmt]|ll|ve|re)(?![a-z]))?"
    r"|[0-9]{1,3}"
    rf"|[ ]?[^\x00-\x7f{_LATIN}\s]+"
    rf"|[ ]?[{_SIGNS}]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+|."
)

_WINDOW = 64
"""Pieces that are judged together: a page of English with a Finnish note in it is two kinds of text."""
_AT_HOME = 0.22
"""The share of everyday words from which on a text counts as one of a language every vocabulary has whole."""
_MARGIN = 1.17
_KEPT = 24
"""Characters of a piece whose cost is remembered, at most."""

_VOWEL = frozenset("aeiouyAEIOUY")
_HARD = re.compile(r"[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{4}")
_PLAIN_SIGNS = frozenset('"{}[]:,()<>/')
_CYRILLIC = re.compile("[\u0400-\u052f]")
_RUSSIAN_LETTER = re.compile("[ыэёьЫЭЁ]")
_SIGN_RUN = re.compile(f"[{_SIGNS}]+")
_WORD = re.compile(f"[A-Za-z{_LATIN}]")

Cost = tuple[float, float, float, float]
"""(tokens in a text that is at home in the vocabulary, tokens in any other, 1 for a Latin word, 1 for an everyday one)."""


def approximate(text: str) -> int:
    """About how many tokens `text` has; linear in its length, 0 for an empty one."""
    costs = [_known_cost(piece) if len(piece) <= _KEPT else _cost(piece) for piece in _PIECE.findall(text)]
    windows = (costs[start : start + _WINDOW] for start in range(0, len(costs), _WINDOW))
    return ceil(_MARGIN * sum(map(_tokens, windows)) - 0.3) if text else 0


def _tokens(costs: Sequence[Cost]) -> float:
    least, most, words, everyday = map(sum, zip(*costs, strict=True))
    away = 1 - min(1.0, everyday / (_AT_HOME * words)) if words else 1.0
    return least + away * (most - least)


def _cost(piece: str) -> Cost:
    core = piece.strip()
    if not core:
        return _same(_blanks(piece))
    if core.isascii() and core.isdigit():
        return _same(1)
    if _SIGN_RUN.fullmatch(core):
        return _same(_signs(core))
    return _word(piece) if _WORD.search(piece) else _run(core)


_known_cost = lru_cache(50_000)(_cost)


def _same(tokens: float) -> Cost:
    return tokens, tokens, 0.0, 0.0


def _run(core: str) -> Cost:
    """A run in other letters, or of other signs; of a line drawn with one sign, most is free."""
    drawn = sum(a == b and "─" <= a <= "╿" for a, b in pairwise(core))
    tokens = max(1.0, sum(map(char_tokens, core)) - 0.9 * drawn)
    if "\u0e00" <= core[0] <= "\u0e7f":  # Thai, with blanks between phrases only
        return _same(tokens + 0.6)
    if not _CYRILLIC.match(core):
        return _same(tokens)
    russian = core.lower() in RUSSIAN or _RUSSIAN_LETTER.search(core) is not None
    return 1.72 if len(core) > 2 else 1.0, max(1.72, tokens), 1.0, float(russian)


def _blanks(piece: str) -> float:
    """Blanks: a run of one kind is one token up to some length, mixed ones more."""
    kinds = 1 + sum(a != b for a, b in pairwise(piece))
    return 1 + len(piece) / 40 + 0.5 * max(0, kinds - 2)


def _signs(core: str) -> float:
    """ASCII signs: a run of one sign is few tokens, of mixed ones about every second is one."""
    kinds = 1 + sum(a != b for a, b in pairwise(core))
    plain = sum(a != b for a, b in pairwise(core) if a in _PLAIN_SIGNS and b in _PLAIN_SIGNS)
    return 1 + 0.45 * (kinds - 1 - plain) + 0.15 * plain + (len(core) - kinds) / 12


def _word(piece: str) -> Cost:
    """A Latin word, with the sign or blank before it."""
    bare = piece[0].isalpha()
    stem, _, contracted = (piece if bare else piece[1:]).partition("'")
    more = 1.0 if contracted not in ("", "s", "t") else 0.0
    lower = stem.lower()
    if known := 1.0 if lower in ENGLISH else 0.42 if lower in EUROPEAN else 0.0:
        return 1 + more, 1 + more, 1.0, known
    least, most = _lengths(stem, bare)
    long_name = len(stem) > 4 and not _is_hard(stem) and (piece[0] in "_-" or (bare and stem.istitle()))
    return max(1.0, least) + more, max(1.0, least, most) + more, 1.0, 0.3 if long_name else 0.0


def _lengths(stem: str, bare: bool) -> tuple[float, float]:
    """(tokens at home, tokens elsewhere) by a word's length, case and letters; `bare`: with no blank before it."""
    length = len(stem)
    upper = length > 1 and stem.isupper()
    if not upper and length > 2 and stem[:2].isupper():  # `GVsb`, as base64 has it
        return length / 1.5, length / 1.5
    marked = 0 if stem.isascii() else sum(not c.isascii() for c in stem)
    least = 1 + max(0, length - 5) * 0.1 + max(0, length - 11) * 0.2 + 0.25 * marked
    most = 1 + 0.41 * (length - 3) + 0.4 * marked
    if upper:
        least, most = length / 3.5, max(most, length / 2.4)
    if _is_hard(stem):
        most = length / 1.6
    elif bare and length < 5:
        most = max(0.6 + 0.46 * length, length / 2.4 if upper else 0)
    return (most if length > 30 else least), most


def _is_hard(stem: str) -> bool:
    """Whether nobody's words look like this: too long, hardly a vowel, four consonants in a row."""
    length = len(stem)
    return length > 30 or (
        length > 3 and (sum(c in _VOWEL for c in stem) < length / 6 or _HARD.search(stem) is not None)
    )
