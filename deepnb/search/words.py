"""Text as the index reads it: words, bigrams of Chinese, Japanese and Korean, and identifiers kept whole.

FTS5's `porter unicode61` stems and folds what it is given here. Its tokenizer takes a run of Chinese for
one word, so such runs are given to it as characters and pairs of characters; a question is asked in
pairs, and in single characters only by the n-gram leg.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

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
_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_CJK_STOP = re.compile(
    "为什么|什么时候|什么|怎么样|怎么|怎样|多少|哪里|哪儿|哪个|哪些|哪天|哪位|哪|谁|几|吗|呢|吧|啊|的|了|是|在|和|与|被|把|"
    "ですか|ました|ません|どこ|いつ|だれ|なに|です|ます|입니까|습니까|무엇|언제|어디"
)
_WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(r"\W{0,6}(?P<label>[^\W\d_][^:：|`/\\]{0,30}?)\**[:：]\**\s*(?=[^\s/\\])")
_MARK = "\ue000"
"""A character of private use, which FTS5 takes for a letter: what is behind it is a word of a label."""
_HUMP = re.compile(r"[a-z][A-Z]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_RUN = re.compile(
    r"(?<![A-Za-z0-9_./\\:#@~+%$&=-])"
    r"(?=[A-Za-z]*(?:[0-9_#@]|[a-z][A-Z]|[./\\:~+%$&=-][A-Za-z0-9_./\\:]))"
    r"[A-Za-z0-9_./\\:#@~+%$&=-]{2,400}"
)
"""A run of ASCII that may be an identifier: plain words, the most of a text, are passed over at once."""
_EDGES = ".,:;!?-=+&~%$"
_MARKED = re.compile(r"[0-9_/\\:#@]|\.[A-Za-z]|[a-z][A-Z]|-[A-Z]")
"""What a line without an identifier does not have."""
_PATH, _DOTTED = re.compile(r"[/\\]"), re.compile(r"[/\\.:#]")
_NAME = re.compile(
    r"[0-9]{5,}"  # a plain number of fewer digits is a word
    r"|(?=.*[A-Za-z]).*[0-9_/\\.:#@].*"
    r"|#.*[0-9].*|.*[0-9].*\..*|.*\..*[0-9].*"
    r"|(?=.*-).*([A-Z]).*(?!\1)[A-Z].*|.*[a-z][A-Z].*"
)
"""A run of ASCII that is more than a word: with a digit, a slash, an underscore, humps."""

_KNOWN = 200_000
"""As many tokens are kept in memory at most, some 20 MB."""

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
    runs: tuple[str, ...]
    """Runs of Chinese, Japanese and Korean, which may have a name in them: of three characters and more."""


def plain(text: str) -> str:
    """The text with what UTF-8 cannot hold as `?`, letter for letter."""
    return text.encode("utf-8", "replace").decode()


def folded(text: str) -> str:
    """Full-width letters and ligatures as plain ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def indexed(text: str) -> str:
    """What FTS5 is given for a piece of text."""
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


def labelled(of: str) -> str:
    """What FTS5 is given for a label beside the text itself."""
    return "".join(f" {labelling(word)}" for word in terms(of))


def labelling(word: str) -> str:
    """The term of the index for a word in a label."""
    return _MARK + word


def _emoji(character: str) -> str:
    """The term of the index for a character that FTS5 leaves out."""
    return f"{_MARK}{ord(character):x}"


def terms(text: str) -> list[str]:
    """Words, and pairs of characters of Chinese, Japanese and Korean."""
    return [*words(text), *(pair for run in CJK.findall(folded(text)) for pair in pairs(run) or [run])]


def words(text: str) -> list[str]:
    """Words in lower case, in order; runs of Chinese, Japanese and Korean are left out."""
    text = text if text.isascii() else CJK.sub(" ", folded(text))
    return _WORD.findall(text.lower())


def pairs(run: str) -> list[str]:
    """Each two characters that stand side by side."""
    return [run[i : i + 2] for i in range(len(run) - 1)]


def names(text: str) -> set[str]:
    """Identifiers, paths, error codes, ticket numbers and the like in lower case; of a path or an attribute, too,
    its last part."""
    read = Tokens()
    read.read(set(text.split()))
    return {name for found in read.names.values() for name in found}


class Tokens:
    """What is between the spaces of texts, each read once however many texts it is in."""

    def __init__(self, longest: int = 400) -> None:
        self.longest = longest
        """Characters of a word; longer ones are left out."""
        self.names: dict[str, tuple[str, ...]] = {}
        """Of each token that may be an identifier, the `names` in it."""
        self._bare: set[str] = set()
        """Those that are a word in small letters."""
        self._words: dict[str, tuple[str, ...]] = {}
        """The words in each of the others."""
        self._humps: set[str] = set()

    def read(self, tokens: set[str]) -> set[str]:
        """Take in the tokens of a text; gives all the `words` of it."""
        if len(self._bare) + len(self._words) > _KNOWN:
            for known in (self.names, self._bare, self._words, self._humps):
                known.clear()
        found = tokens & self._bare
        others = tokens - found
        new = others.difference(self._words)
        bare = {t for t in new if t.isalpha() and t.islower() and t.isascii() and len(t) <= self.longest}
        self._bare |= bare
        found |= bare
        others -= bare
        for token in new - bare:
            self._read(token)
        return found.union(*map(self._words.__getitem__, others))

    def _read(self, token: str) -> None:
        found = words(token)
        if len(token) > self.longest or not token.isascii():
            found = [word for word in found if len(word) <= self.longest]
        self._words[token] = tuple(found)
        if _MARKED.search(fold := folded(token)):
            self.names[token] = _names(fold)
            if _HUMP.search(token):
                self._humps.add(token)

    def are_plain(self, text: str, tokens: set[str]) -> bool:
        """Whether `indexed` gives the text of these tokens as it is."""
        return text.isascii() and self._humps.isdisjoint(tokens)


def _names(token: str) -> tuple[str, ...]:
    found: list[str] = []
    for run in _RUN.findall(token):
        name = run.strip(_EDGES).rstrip("/\\#@")
        if _NAME.fullmatch(name):
            found.append(name.lower())
            if _DOTTED.search(name):
                parts = (_PATH.split(name)[-1], _DOTTED.split(name)[-1])
                found += [part.lower() for part in parts if part != name and _NAME.fullmatch(part)]
    return tuple(found)


def read_query(text: str) -> Query:
    """A query in terms; never empty where the text has a letter or a digit in it."""
    text = plain(text[:QUERY])
    found = words(text)
    emoji = [_emoji(character) for character in _EMOJI.findall(text)]
    asked = [word for word in found if word not in STOP] or (found if not emoji else [])
    asked += emoji
    runs = [part for run in CJK.findall(folded(text)) for part in list(filter(None, _CJK_STOP.split(run))) or [run]]
    bigrams = [pair for run in runs for pair in (pairs(run) or [run])]
    counts = Counter(term[:100] for term in (*asked, *bigrams))
    return Query(
        words=_first((*asked, *bigrams)),
        soft=_first((*asked, *bigrams, *(c for run in runs for c in run))),
        names=_first([*sorted(names(text)), *asked]),
        counts=tuple(counts.values())[:TERMS],
        runs=_first([run for run in runs if len(run) > 2]),
    )


def _first(terms: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term[:100] for term in terms))[:TERMS]
