"""What texts are known by: words, identifiers and pairs of characters as the index reads them, and a hash."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def content_hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


# -- Text as the index reads it: words, bigrams of Chinese, Japanese and Korean, and identifiers kept whole
# FTS5's `porter unicode61` stems and folds what it is given here. Its tokenizer takes a run of Chinese for
# one word, so such runs are given to it as characters and pairs of characters; a question is asked in
# pairs, and in single characters only by the n-gram leg.

_STOP = """
a about after again all also am an and any are as at be because been before being between both but by can could did do
does doing during each ever for from further had has have having he her here hers herself him himself his how however i
if in into is it its itself just me more most my myself no nor not now of off on once only or other our ours out over
same shall she should so some such than that the their theirs them themselves then there these they this those though
through to too under until up upon us very was we were what when where whether which while who whom whose why will with
would you your yours yourself
aren couldn d didn doesn don hadn hasn haven isn ll m re s shouldn t ve wasn weren won wouldn
"""
STOP = frozenset(_STOP.split())
"""Words a question is made of, in English; a query of nothing else is asked as it stands."""

_CJK = "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
CJK = re.compile(f"[{_CJK}]+")
_QUOTED = re.compile(rf"[「『“‘《\"']([{_CJK}]+)[」』”’》\"']")  # 「设计师」
_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")  # ☂
_CJK_STOP = re.compile(
    "为什么|什么时候|什么|怎么样|怎么|怎样|多少|哪里|哪儿|哪个|哪些|哪天|哪位|哪|谁|几|吗|呢|吧|啊|的|了|是|在|和|与|被|把|"
    "ですか|ました|ません|どこ|いつ|だれ|なに|です|ます|입니까|습니까|무엇|언제|어디"
)
_WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(r"\W{0,6}(?P<label>[^\W\d_][^:：|`/\\]{0,30}?)\**[:：]\**\s*(?=[^\s/\\])")
MARK = "\ue000"
"""A character of private use, which FTS5 takes for a letter: what is behind it is a word of a label, or an emoji."""
_HUMP = re.compile(r"[a-z][A-Z]")  # readCsv
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # read|Csv, HTTP|Server

_RUN = re.compile(
    r"(?<![A-Za-z0-9_./\\:#@~+%$&=-])"
    r"(?=[A-Za-z]*(?:[0-9_#@]|[a-z][A-Z]|[./\\:~+%$&=-][A-Za-z0-9_./\\:]))"
    r"[A-Za-z0-9_./\\:#@~+%$&=-]{2,400}"
)
"""A run of ASCII that may be an identifier: plain words, the most of a text, are passed over at once."""
_EDGES = ".,:;!?-=+&~%$"
_MARKED = re.compile(r"[0-9_/\\:#@]|\.[A-Za-z]|[a-z][A-Z]|-[A-Z]")  # a_b, x.y, readCsv, A-B
"""What a line without an identifier does not have."""
_PATH, _DOTTED = re.compile(r"[/\\]"), re.compile(r"[/\\.:#]")
_NAME = re.compile(
    r"[0-9]{5,}"  # a plain number of fewer digits is a word
    r"|(?=.*[A-Za-z]).*[0-9_/\\.:#@].*"  # utf8, a/b, os.path
    r"|#.*[0-9].*|.*[0-9].*\..*|.*\..*[0-9].*"  # #12, 3.14
    r"|(?=.*-).*([A-Z]).*(?!\1)[A-Z].*|.*[a-z][A-Z].*"  # X-Ray-Z, readCsv
)
"""A run of ASCII that is more than a word: with a digit, a slash, an underscore, humps."""

LONGEST = 40
"""Words over this many characters are not in the vocabulary."""
_KNOWN = 50_000
"""Of so many tokens it is kept what was read of them: most are in many files."""

TERMS = 48
"""A query is asked with this many different terms at most, its first ones."""
QUERY = 20_000
"""Characters of a query that are read."""


@dataclass(frozen=True)
class Query:
    """What is asked of each leg: `words` of the keyword leg, `soft` of the n-grams, `names` of the exact leg."""

    words: tuple[str, ...]
    soft: tuple[str, ...]
    names: tuple[str, ...]
    counts: tuple[int, ...]
    """How often each of `words` is asked."""
    common: bool
    """Whether words that a question is made of were left out of it."""
    runs: tuple[str, ...]
    """Runs of Chinese, Japanese and Korean that are names: in quotation marks, or all that is asked; of three characters
    and more."""


def plain(text: str) -> str:
    """Return the text with what UTF-8 cannot hold as `?`, letter for letter."""
    return text.encode("utf-8", "replace").decode()


def folded(text: str) -> str:
    """Full-width letters and ligatures as plain ones, traditional characters as simplified ones, and ß as ss."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_simplified())


@cache
def _simplified() -> dict[int, str]:
    """Return what each traditional character is in simplified Chinese, after Unicode's Unihan: those of GB 2312."""
    traditional, simplified = Path(__file__).with_name("han.txt").read_text(encoding="utf-8").split()
    return dict(zip(map(ord, f"{traditional}ß"), [*simplified, "ss"], strict=True))


def is_plain(text: str) -> bool:
    """Return whether FTS5 is given the text, and any piece of it, as it stands."""
    return text.isascii() and not _HUMP.search(text)


def indexed(text: str) -> str:
    """Return what FTS5 is given for a piece of text."""
    if is_plain(text):
        return text
    text = folded(text)
    if not text.isascii():
        text = CJK.sub(lambda run: f" {' '.join((*run[0], *pairs(run[0])))} ", text)
        text = _EMOJI.sub(lambda found: f" {_emoji(found[0])} ", text)
    if not _HUMP.search(text):
        return text
    return f"{text} {' '.join(' '.join(_CAMEL.split(word)) for word in _WORD.findall(text) if _HUMP.search(word))}"


def label(line: str) -> str:
    """Who or what a line is of: "Ana" of "- **Ana**: I keep bees", nothing of a line without such a label."""
    if ":" not in line and "：" not in line:
        return ""
    found = _LABEL.match(line)
    return found["label"] if found and len(found["label"].split()) <= 3 else ""


def _emoji(character: str) -> str:
    """Return the term of the index for a character that FTS5 leaves out."""
    return f"{MARK}{ord(character):x}"


def terms(text: str) -> list[str]:
    """Words, and pairs of characters of Chinese, Japanese and Korean."""
    return [*words(text), *(pair for run in CJK.findall(folded(text)) for pair in pairs(run) or [run])]


def words(text: str) -> list[str]:
    """Return words in lower case, in order; runs of Chinese, Japanese and Korean are left out."""
    text = text if text.isascii() else CJK.sub(" ", folded(text))
    return _WORD.findall(text.lower())


def pairs(run: str) -> list[str]:
    """Return each two characters that stand side by side."""
    return [run[i : i + 2] for i in range(len(run) - 1)]


def names(text: str) -> set[str]:
    """Identifiers, paths, error codes, ticket numbers and the like in lower case; of a path or an attribute, too,
    its last part."""
    return {name for token in set(text.split()) for name in names_in(token)}


@lru_cache(_KNOWN)
def words_in(token: str) -> tuple[str, ...]:
    """Return the `words` of what is between two spaces, but for the longest ones."""
    return tuple(word for word in words(token) if len(word) <= LONGEST)


@lru_cache(_KNOWN)
def names_in(token: str) -> tuple[str, ...]:
    """Return the `names` of what is between two spaces."""
    token = folded(token)
    found: list[str] = []
    for run in _RUN.findall(token) if _MARKED.search(token) else ():
        name = run.strip(_EDGES).rstrip("/\\#@")
        if _NAME.fullmatch(name):
            found.append(name.lower())
            if _DOTTED.search(name):
                parts = (_PATH.split(name)[-1], _DOTTED.split(name)[-1])
                found += [part.lower() for part in parts if part != name and _NAME.fullmatch(part)]
    return tuple(found)


def read_query(text: str) -> Query:
    """Return a query in terms; never empty where the text has a letter or a digit in it."""
    text = plain(text[:QUERY])
    found = words(text)
    emoji = [_emoji(character) for character in _EMOJI.findall(text)]
    asked = [word for word in found if word not in STOP] or (found if not emoji else [])
    asked += emoji
    folds = folded(text)
    runs = [part for run in CJK.findall(folds) for part in list(filter(None, _CJK_STOP.split(run))) or [run]]
    names_of = _QUOTED.findall(folds) or (runs if len(runs) == 1 and not asked else [])
    bigrams = [pair for run in runs for pair in (pairs(run) or [run])]
    counts = Counter(term[:100] for term in (*asked, *bigrams))
    return Query(
        words=_first((*asked, *bigrams)),
        soft=_first((*asked, *bigrams, *(c for run in runs for c in run))),
        names=_first([*sorted(names(text)), *asked]),
        counts=tuple(counts.values())[:TERMS],
        common=any(word in STOP and len(word) > 1 for word in found) or _CJK_STOP.search(text) is not None,
        runs=_first([run for run in names_of if len(run) > 2]),
    )


def _first(terms: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term[:100] for term in terms))[:TERMS]


# -- Words that look alike: the vocabulary of the index by its character n-grams, three to five of them
# A word is compared by the cosine of its n-grams, weighted by how rare they are in the vocabulary, its edges
# being letters, too ("photo" is close to "photograph", and to "fotos" a little). The vocabulary is some
# 10,000 words where the texts are millions, so this is quick and small enough to be kept in memory.

_PLURAL = re.compile(r"(?<=[äöü]\w)(\w*?)(?:ern?|e)$")  # häus|er, mäus|e, büch|ern
_UMLAUTS = str.maketrans("äöü", "aou")
SIZES = (3, 4, 5)


class Vocabulary:
    """Words that are only ever added to; a few new ones do not cost the work for the old."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._parts: list[_Part] = []

    def extend(self, words: Sequence[str]) -> None:
        """Add words, each of 1 to LONGEST characters."""
        if not words:
            return
        old = self._parts[0].size if self._parts else 0
        self.words += words
        if len(self.words) - old > max(1000, old // 5):
            self._parts = [_Part(self.words, 0, None)]
        else:
            base = self._parts[0] if self._parts else None
            self._parts = [*self._parts[:1], _Part(self.words[old:], old, base)]

    def similar(self, word: str, floor: float, most: int) -> list[tuple[str, float]]:
        """Return the words closest to this one with their cosines of at least `floor`, best first; itself is 1."""
        hashes = np.unique(_grams([word])[0])
        found: list[tuple[str, float]] = []
        for part in self._parts:
            where, cosines = part.cosines(hashes, floor)
            found += [(self.words[part.first + i], float(c)) for i, c in zip(where, cosines, strict=True)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]


class _Part:
    """The n-grams of some words, sorted, each with the words it is in."""

    def __init__(self, words: Sequence[str], first: int, base: _Part | None) -> None:
        self.first, self.size = first, len(words)
        hashes, where = _grams(words)
        order = np.lexsort((where, hashes))
        hashes, where = hashes[order], where[order]
        new = np.ones(len(hashes), bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (where[1:] != where[:-1])
        hashes, where = hashes[new], where[new]
        self.grams, self.starts, counts = np.unique(hashes, return_index=True, return_counts=True)
        self.ends = self.starts + counts
        self.where = where
        self.rare = np.log1p(self.size / counts) if base is None else base.rarity(self.grams)
        self.most: float = float(np.log1p(self.size)) if base is None else base.most
        weights = np.repeat(self.rare**2, counts)
        self.norms = np.sqrt(np.maximum(np.bincount(where, weights=weights, minlength=self.size), 1e-9))

    def rarity(self, grams: NDArray[np.uint64]) -> NDArray[np.float64]:
        at = np.minimum(np.searchsorted(self.grams, grams), len(self.grams) - 1)
        return np.where(self.grams[at] == grams, self.rare[at], self.most)

    def cosines(self, hashes: NDArray[np.uint64], floor: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        rare = self.rarity(hashes)
        at = np.minimum(np.searchsorted(self.grams, hashes), len(self.grams) - 1)
        known = at[self.grams[at] == hashes]
        if not len(known):
            return np.empty(0, np.intp), np.empty(0)
        where = np.concatenate([self.where[self.starts[i] : self.ends[i]] for i in known])
        weights = np.repeat(self.rare[known] ** 2, self.ends[known] - self.starts[known])
        dots = np.bincount(where, weights=weights, minlength=self.size)
        cosines = dots / (self.norms * np.sqrt((rare**2).sum()))
        best = np.flatnonzero(cosines >= floor)
        return best, np.minimum(cosines[best], 1.0)


def _grams(words: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the hash of each n-gram of each word between two spaces, and the word it is of."""
    words = [word if word.isascii() else _PLURAL.sub(r"\1", word).translate(_UMLAUTS) for word in words]
    codes = np.frombuffer("".join(f" {word} " for word in words).encode("utf-32-le"), np.uint32).astype(np.uint64)
    sizes = np.array([len(word) + 2 for word in words])
    ends = np.repeat(np.cumsum(sizes), sizes)
    where = np.repeat(np.arange(len(words)), sizes)
    at = np.arange(len(codes))
    hashes, owners = [], []
    for n in SIZES:
        fits = at[at + n <= ends]
        value = np.full(len(fits), n, np.uint64)
        for i in range(n):
            value = (value ^ codes[fits + i]) * np.uint64(0x100000001B3)
            value ^= value >> np.uint64(29)
        hashes.append(value)
        owners.append(where[fits])
    return np.concatenate(hashes), np.concatenate(owners)


def bare(word: str) -> str:
    """Return a word without its accents."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign)) or word
