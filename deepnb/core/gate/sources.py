"""Where a line's words came from: an index of texts, and how much of a line one place in them covers.

Compared are content words (stems of sorts), identifiers and CJK bigrams, within a few neighbouring lines of
one text, so that a long text which holds every word somewhere is no source of everything.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator

from deepnb.core.regex import regex

# Measured on tests/data/directives: rewordings cover 0.55 to 1.0 of what they say, rules that the texts do not
# hold at most 0.33, but for one of 120 at 0.5 ("this file"): asking once too often costs little.
THRESHOLD = 0.5

_PIECE = regex(
    r"(?P<name>[^\W_\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3](?:[^\W\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]|[.\-/@:](?=[A-Za-z0-9_])){0,119})"
    r"|(?P<cjk>[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{1,400})"
)
_ESCAPED = regex(r"\\u([0-9a-fA-F]{4})")
_STOP_TEXT = """
a aber all alle allen aller alles als always am an and any are as ask asked asks at auch auf aus be been bei
beim benutzer bevorzugt bin bis bist bitte but by can con could da damit dann dans das dass de dem den denn der
des did die dies diese diesem diesen dieser dir do doch does du each ein eine einem einen einer el elle en
ensure es est et every for forward from fuer future für geht going haben had has hat have he her his how i ich
if ihm ihn ihr il im immer important in instead into is ist it its ja jede jedem jeden jeder jedes just kann
kein keine la las le les like likes los make man may me merke mit more most muss musst must my möchte müssen
nach need needs never nicht nie niemals no noch nor not note now nun nur nutze nutzer ob oder of ohne on only or
our out para please por pour prefer preference prefers que remember se sein shall she should sich sie sind so
sobald soll sollen sollst sollte some stets such sur sure than that the their them then there these they this
those to too un una und under une uns unter until up use used user users using verwende verwenden vom von vor
want wants war was we wenn wer werden were what when whenever which while who wie will wird with would wurde
wünscht y you your zu zum zur über
"""
_STOP = frozenset(_STOP_TEXT.split())
_CJK_STOP = regex(
    "用户(?:本人)?(?:要求|喜欢|不喜欢|希望|偏好|规定|想要|需要|想)?|请(?:记住)?|记住|切记|牢记|始终|总是|永远|一律|不要|不得|必须|务必"
    "|从现在起|今后|以后|每次|每当|禁止|应该|应当|都要|都是|都|[的了在是把被和与也就还很吧呢吗]"
)
_ENDINGS = ("ungen", "ing", "ung", "ern", "est", "ed", "en", "em", "er", "es", "st", "e", "s", "n", "t")
_SPAN = 3  # lines of a source that may be taken together
_ROW = 600  # a longer line is cut


def content(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, folded: an identifier whole and in parts, CJK in pairs."""
    return frozenset(_content(text))


def _content(text: str) -> Iterator[str]:
    for match in _PIECE().finditer(unicodedata.normalize("NFKC", text).casefold()):
        if match["cjk"]:
            for run in _CJK_STOP().split(match["cjk"]):
                yield from (run[i : i + 2] for i in range(len(run) - 1))
            continue
        word = match["name"]
        if len(parts := re.split(r"[.\-/@:_]", word)) > 1:
            yield word.rstrip(".")
        yield from (_stem(part) for part in parts if part not in _STOP and (len(part) > 1 or part.isdigit()))


def _stem(word: str) -> str:
    """A stem of sorts for English and German: `geladen` stays apart from `lade`, `tests` meets `test`."""
    if len(word) < 5 or not word.isalpha():
        return word[:-1] if len(word) == 4 and word.endswith(("s", "e", "t")) else word
    for _ in range(2):
        ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 4), "")
        word = word[: len(word) - len(ending)]
    word = word[2:] if word.startswith("ge") and len(word) > 6 else word
    return word.replace("ä", "a").replace("ö", "o").replace("ü", "u")


class Sources:
    """Texts, indexed once; time and room are linear in their size."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._rows: dict[str, list[int]] = defaultdict(list)
        self._next = 0
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more text, which stands apart from those before it; a JSON string's escapes are read."""
        plain = _ESCAPED().sub(lambda m: chr(int(m[1], 16)), text).replace("\\n", "\n")
        for line in plain.splitlines():
            for at in range(0, len(line), _ROW):
                words = content(line[at : at + _ROW + 40])
                for word in words:
                    self._rows[word].append(self._next)
                self._next += bool(words)
        self._next += _SPAN

    def cover(self, line: str) -> float:
        """The largest part of the line's content words that stand together in one place, 0 to 1."""
        words = content(line)
        if not words:
            return 0.0
        best: dict[int, float] = defaultdict(float)
        for word in words:
            weight = _weight(word)
            for row in {row - back for row in self._rows.get(word, ()) for back in range(_SPAN)}:
                best[row] += weight
        return max(best.values(), default=0.0) / sum(map(_weight, words))


def _weight(word: str) -> float:
    """Identifiers say more about where a line came from than words do."""
    return 2.0 if not word.isalpha() and len(word) > 3 else 1.0


def came_from(line: str, sources: Sources) -> bool:
    """Whether at least half of what the line says stands in one place of the sources."""
    return sources.cover(line) >= THRESHOLD
