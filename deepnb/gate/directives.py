"""Lines that tell an agent what to do, and whether the user said them.

A line that instructs (in English, Chinese, German and common Spanish and French words) goes into memory unasked only
where the user's own words support it: at least 0.6 of what it says stands in one place of them, every identifier is
there, it forbids what they forbid, and no other text holds more of it. A line that does not read so needs support where
it says as a fact what another text instructs, or brings an address out of one. What a model notes by itself may
instruct, unless that is an order of another text. Generous on purpose: a line that is held only costs a question.

Compared are content words (stems of sorts), identifiers and CJK bigrams, within a few neighbouring sentences, so that
a long text which holds every word somewhere is no source of everything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache

from deepnb.gate.own_words import COMMAND, LEAD, forbids, pieces
from deepnb.gate.spans import regex

_ENGLISH = regex(
    r"(?i)\b(?:always|never|must(?:n't)?|should(?:n't)?|shall|do\s+not|don'?t|remember|from\s+now\s+on|going\s+forward|henceforth|in\s+future"  # Always ask first
    r"|whenever|make\s+sure|be\s+sure|ensure|ignore|disregard|forget|note\s+that|you\s+(?:are|will|can|may|have|need|must|should|were)"  # Make sure that
    r"|(?:user|users|owner|admin|customer|team|he|she|they)(?:'s)?\s+(?:wants?|wishes|prefers?|asks?|asked|likes?|expects?|requires?|requested|instructed|"  # The user's preference is
    r"insists?|needs?|said|says|told|preference|demands?)|please|only\s+use|use\s+only|(?:before|after|at|in|on)\s+(?:every|each)|(?:every|each)\s+time"  # The user insists; before every
    r"|instead\s+of|(?:is|are|be)\s+(?:required|mandatory|forbidden|prohibited|important|not\s+allowed|to\s+be)|(?:has|have|need|needs)\s+to"  # Approval is required
    r"|under\s+no\s+circumstances|no\s+longer|at\s+all\s+times|without\s+exception|system\s+prompt|previous\s+instructions?|mandatory|may\s+not|cannot\s+be\s+told)\b"  # Under no circumstances
    r"|\bnote\s*:|\bimportant\s*:|\brule\s*:|\bpreference\s*:",  # Important: the
)
_CHINESE = regex(
    r"记住|谨记|牢记|切记|请(?!求|帖|假)|始终|总是|永远|永不|一律|不要|不得|不准|不许|不可以|必须|必需|务必|务请|从现在起|从今|今后|以后|往后|每次|每当|凡是"  # 记住这一点
    r"|禁止|严禁|切勿|请勿|勿|应该|应当|应始终|须(?!知)|(?<![类级性区特分个识差辨鉴派告])别(?![名的处人墅针称])|一定要|只(?:用|能|使用|准|许)|优先|忽略|无视|忘记|确保"  # 禁止删除
    r"|用户(?:本人)?(?:不)?(?:要求|喜欢|希望|想|偏好|需要|说|指示|规定|要)|都要|你(?:是|现在|要|必|应|将)|無視|必ず|常に|覚えて|してください|禁止|항상|반드시"  # 用户不喜欢
)
_OTHERS = regex(
    r"(?i)\b(?:immer|nie|niemals|muss|musst|müssen|müsst|soll(?:st|en|t|te|ten)?|merke?\s+(?:dir|euch)|denke?\s+daran|ab\s+(?:jetzt|sofort|heute)|von\s+nun\s+an"  # Immer zuerst
    r"|künftig|zukünftig|stets|bitte|verwende(?:n|t)?|nutze|benutze|darf(?:st)?|achte|stelle?\s+sicher|ignorier(?:e|en|t)|vergiss|jedes\s+mal"  # Künftig bitte
    r"|(?:be)?nutzer(?:in)?\s+(?:will|möchte|wünscht|bevorzugt|verlangt|bat|hat\s+gebeten|mag|braucht|zieht|besteht)|(?:vor|nach|bei|in|an)\s+jede[mnrs]?|grundsätzlich"  # Der Nutzer will
    r"|ausschließlich|nur\s+noch|zwingend|unbedingt|keinesfalls|unter\s+keinen\s+umständen|verboten|du\s+(?:bist|sollst|wirst|kannst)|niemandem|zu\s+\w{3,20}en\W{0,3}$"  # Nur noch auf Deutsch
    r"|siempre|nunca|jamás|debes?|deben|recuerda|no\s+olvides|por\s+favor|a\s+partir\s+de\s+ahora|de\s+ahora\s+en\s+adelante|asegúrate|el\s+usuario\s+(?:quiere|prefiere|pidió|desea)"  # Siempre pregunta
    r"|toujours|jamais|doi(?:s|t|vent)|devez|n'oublie[zs]?|souviens|s'il\s+(?:te|vous)\s+plaît|désormais|à\s+partir\s+de\s+maintenant|assurez?"  # Toujours demander
    r"|l'utilisateur\s+(?:veut|préfère|souhaite|a\s+demandé))\b",  # L'utilisateur préfère
)
_BARE = regex(
    rf"{LEAD}(?:ne (?:pas|jamais) )?\w{{3,}}(?:er|ir|re|ar|ez) (?:une?|les?|la|l['’]|aux?|tous|toutes|chaque|una?|el|los|las|al|todos|todas|cada)\b"  # Supprimer un dossier
    rf"|{LEAD}\w{{3,}}[aei] (?:les|tous|toutes|chaque|los|las|al|todos|todas|cada|den|dem|alle[nrs]?|jede[nmrs]?|keine?[nrs]?)\b"  # Borra los registros
    r"|\b(?:jede[nmrs]?|alle[nrs]?|keine[nrs]?|nicht|zuerst|vor|nach|bei|mit|ohne|de[mnr]|das|eine?[nmrs]?)\b.{0,200}\b[a-zäöü]{3,}(?:en|ern|eln)[.!]?\s*$"  # jede Rechnung prüfen
    r"|(?:^|[，,。；;：:])[\s\-*]*(?:先|再)?[把将]"  # 把副本发到
)
_SENTENCE = regex(r"(?<=[.!?;])\s+|\\n|[。！？；]|<!--|\*/|/\*")
_LONGEST = 4000  # of a line; a rule hidden further along is looked for in pieces of this length

# Measured on tests/data/directives: rewordings hold 0.55 to 1.0 of what they say (0.66 to 1.0 but for one of 130 where
# it is the user who said it), rules that the texts do not hold at most 0.33, but for one of 120 at 0.5 ("this file").
THRESHOLD = 0.5
"""How much of a line a text holds that it came from."""
COPIED = 0.8
"""How much of a note a text holds that orders it, whether or not that reads like an instruction."""
SUPPORT = 0.6
"""How much of a line the user's own words hold that support it, and a foreign instruction that it tells as a fact."""

_PIECE = regex(
    r"(?P<name>[^\W_\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3](?:[^\W\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]|[.\-/@:](?=[A-Za-z0-9_])){0,119})"  # config.yaml
    r"|(?P<cjk>[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{1,400})"  # 配置文件
)
_LABEL = regex(r"^\W*[\w -]{1,24}[:：]\**\s*(?=\w)")  # Deadline: ask Henrik
_ADDRESS = regex(r"[\w.+-]+@[\w-]+\.\w|https?://")  # eve@example.com, https://example.com
_LIMITS = regex(
    r"(?i)\b(?:not?|without|only|instead|rather|skip|ohne|nur|statt|ausschließlich|sans|seul(?:ement)?|sin|sólo|solo)\b|只|无需|没有|不",  # without asking
)
_CLAUSE = regex(r"[,;，；、]|\b(?:but|aber|mais|pero)\b|但")  # ask first, but
_UNSEEN = regex("[\u0300-\u036f\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")  # e and an accent of its own, a soft hyphen
# Cyrillic, Greek, Latin
_ALIKE = str.maketrans("авсԁеһіјкмнорԛѕтуԝхгпαβεηικνορτυχγɑɡıℓ", "abcdehijkmhopqstywxrnabenikvoptuxyagil")
_ESCAPED = regex(r"\\u([0-9a-fA-F]{4})")  # \u0041
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
_CJK_STOP = regex(
    "用户(?:本人)?(?:要求|喜欢|不喜欢|希望|偏好|规定|想要|需要|想)?|请(?:记住)?|记住|切记|牢记|始终|总是|永远|一律|不要|不得|必须|务必"  # 用户希望
    "|从现在起|今后|以后|每次|每当|禁止|应该|应当|都要|都是|都|[的了在是把被和与也就还很吧呢吗]"  # 从现在起
)
_ENDINGS = ("ungen", "ing", "ez", "ung", "ern", "est", "ed", "en", "em", "er", "es", "st", "e", "s", "n", "t")
_SPAN = 3  # sentences of a source that may be taken together
_ROW = 600  # a longer line is cut
_FIRST_CJK = "\u3040"
_KEPT, _SHORT = 2_048, 4_000
"""Texts that are kept as they were read, since a thread's are asked for at each write; longer ones are read each time."""


@lru_cache(4096)
def is_directive(line: str) -> bool:
    """Return whether a line reads like an instruction, a rule or a wish of the user's."""
    pieces = [line[at : at + _LONGEST] for at in range(0, len(line), _LONGEST - 100)] or [""]
    return any(_reads_so(part) or ((folded := fold(part)) != part.casefold() and _reads_so(folded)) for part in pieces)


def unsaid(
    added_lines: Iterable[str], foreign: Iterable[str], own: Iterable[str], *, copied: bool = False, noted: bool = False
) -> tuple[str, ...]:
    """Return the added lines that the user is to be asked about, since their `own` words do not say them.

    With `copied`, only lines that instruct and came out of a `foreign` text; with `noted`, only where one instructs so, too.
    """
    users = Sources(own)
    said = frozenset().union(*(text.lines for text in users.texts))
    lines = [line for line in added_lines if content(line) and _words(line) not in said]
    bare = {line: _LABEL().sub("", line) if noted else line for line in lines}
    others = Sources(with_words_of([*lines, *bare.values()], foreign))
    asked = (line for line in lines if _needs_support(line, users, others, copied, noted))
    return tuple(line for line in asked if not any(says(users, one, others) for one in {line, bare[line]}))


def _words(line: str) -> str:
    """Return the line without what makes it an item of a list, and with single spaces."""
    return " ".join(line.lstrip(" \t-*").split())


def _needs_support(line: str, users: Sources, others: Sources, copied: bool, noted: bool) -> bool:
    if noted and is_directive(line):
        task = _LABEL().sub("", line)
        whole = sum(_weights(task).values())
        near = [(s, rows) for s, rows in others.places(task) if s >= THRESHOLD and (s == 1 or s * whole > 1)]
        return any((s >= COPIED and whole > 1) or any(map(is_directive, rows)) for s, rows in near)
    if is_directive(line):
        words = (word for text in users.texts for word, at in text.places.items() for _ in at)  # once in a sentence
        in_cjk = sum(1 if word > _FIRST_CJK else -1 for word in words) > 0
        translated = in_cjk and not any(word > _FIRST_CJK for word in content(line))
        return not (copied or translated) or came_from(line, others)
    share, rows = next(iter(others.places(line)), (0.0, []))
    if copied or share < SUPPORT:
        return False
    return bool(_ADDRESS().search(line)) or any(map(is_directive, rows))


def says(users: Sources, line: str, others: Sources) -> bool:
    """Return whether the user's own words support a line, at least as well as any other text."""
    words = content(line)
    exact = {word for word, weight in _weights(line).items() if weight > 1}
    most = min(others.cover(line), 1.0)
    for share, rows in users.places(line):
        if share < max(SUPPORT, most if share < 1 else 0.0):
            return False
        if not exact <= content(" ".join(rows)):
            continue
        if forbids(line):
            agrees = any(forbids(row) or _LIMITS().search(row) for row in rows)
        else:  # none of the clauses that speak of it may forbid
            clauses = (part for row in rows for part in _CLAUSE().split(row) if not words.isdisjoint(content(part)))
            agrees = bool(_LIMITS().search(line)) or not any(map(forbids, clauses))
        if agrees:
            return True
    return False


def came_from(line: str, sources: Sources) -> bool:
    return sources.cover(line) >= THRESHOLD


class _Text:
    """A text that was heard, read as far as somebody asked; a JSON string's escapes are read."""

    def __init__(self, text: str) -> None:
        unescaped = "\\" in text and _ESCAPED().sub(lambda m: chr(int(m[1], 16)), text).replace("\\n", "\n")
        self._plain = unescaped or text
        self.folded = fold(self._plain)

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines as `_words` gives them."""
        return frozenset(map(_words, self._plain.splitlines()))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        rows = (row for line in self._plain.splitlines() for row in _SENTENCE().split(line))
        pieces = (row[at : at + _ROW + 40] for row in rows for at in range(0, len(row), _ROW))
        return tuple(piece for piece in pieces if content(piece))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Content word -> the sentences that hold it."""
        found: dict[str, list[int]] = {}
        for at, sentence in enumerate(self.sentences):
            for word in content(sentence):
                found.setdefault(word, []).append(at)
        return found


_kept = lru_cache(_KEPT)(_Text)


class Sources:
    """Texts that stand apart from each other; time and room are linear in their size, and each is read once."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = [_kept(text) if len(text) <= _SHORT else _Text(text) for text in texts]
        self._found: dict[str, list[tuple[float, list[str]]]] = {}

    def places(self, line: str) -> list[tuple[float, list[str]]]:
        """Return (part of the line's content words that stand together there, the sentences that hold them), best first."""
        if (known := self._found.get(line)) is not None:
            return known
        weights = _weights(line)
        whole, places = sum(weights.values()), list[tuple[float, int, int, list[str]]]()
        for text in self.texts:
            held: dict[int, dict[str, set[int]]] = {}
            for word in weights:
                for row in text.places.get(word, ()):
                    for start in range(row - _SPAN + 1, row + 1):
                        held.setdefault(start, {}).setdefault(word, set()).add(row)
            for _, words in sorted(held.items()):
                share = sum(weights[word] for word in words) / whole
                rows = [text.sentences[row] for row in sorted(set[int]().union(*words.values()))]
                places.append((-share, len(rows), len(places), rows))
        found = [(-least, rows) for least, _, _, rows in sorted(places)]
        self._found[line] = found
        return found

    def cover(self, line: str) -> float:
        places = self.places(line)
        return places[0][0] if places else 0.0


def with_words_of(lines: Sequence[str], texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts that may be the source of a line: half of its words stand in them somewhere."""
    wanted = [words for line in lines if (words := content(line))]
    for text in texts:
        folded = (_kept(text) if len(text) <= _SHORT else _Text(text)).folded
        if any(2 * sum(word in folded for word in words) >= len(words) for words in wanted):
            yield text


def _reads_so(text: str) -> bool:
    if _ENGLISH().search(text) or _CHINESE().search(text) or _OTHERS().search(text):
        return True
    return any(COMMAND().match(part) or _BARE().search(part) for part in _SENTENCE().split(text) if part)


def fold(text: str) -> str:
    """Return the text in small letters, those that look alike as one; without accents and signs that take no room."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _UNSEEN().sub("", plain)).translate(_ALIKE)


_STOP = cache(lambda: frozenset(fold(_STOP_TEXT).split()))


@lru_cache(4096)
def content(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about, folded: an identifier whole and in parts, CJK in pairs."""
    stop, found = _STOP(), set[str]()
    for match in _PIECE().finditer(fold(text)):
        if match["cjk"]:
            for run in _CJK_STOP().split(match["cjk"]):
                found.update(run[i : i + 2] for i in range(len(run) - 1))
            continue
        word = match["name"]
        if len(parts := re.split(r"[.\-/@:_]", word)) > 1:
            found.add(word.rstrip("."))
        found.update(_stem(part) for part in parts if part not in stop and (len(part) > 1 or part.isdigit()))
    return frozenset(found)


def _stem(word: str) -> str:
    """Return a stem of sorts for English and German: `geladen` stays apart from `lade`, `tests` meets `test`."""
    if len(word) < 5 or not word.isalpha():
        return word[:-1] if len(word) == 4 and word.endswith(("s", "e", "t")) else word
    for _ in range(2):
        ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 4), "")
        word = word[: len(word) - len(ending)]
    return word[2:] if word.startswith("ge") and len(word) > 6 else word


@lru_cache(1024)
def _weights(text: str) -> dict[str, float]:
    """Return the content words of a text with their weights: identifiers say more about where a line came from than words do."""
    return {word: 2.0 if not word.isalpha() and len(word) > 3 else 1.0 for word in content(text)}


# -- A summary in which no rule or wish is called the user's that their own words don't support

_USER = regex(
    r"(?i)\b(?:(?:the|der|die|el|la|le)\s+|l['’])?(?:user|human|(?:be)?nutzer(?:in)?|utilisat(?:eur|rice)|usuari[oa])\b"  # the user
    r"|用户(?:本人)?",
)
_HEADING = regex(r"\s*(?:#{1,6}\s.*|\*\*.*\*\*|.*[:：])\s*$")  # ## User preferences
# ## User preferences
_THEIRS = regex(r"\b(?:user|human|intent|preferences?|wishes|rules?|constraints?|nutzer|utilisateur|usuario)\b|用户|偏好|要求", re.IGNORECASE)  # fmt: skip
SOMEBODY = "somebody (not in the user's own words)"
_LEAST = 1 / 3


def attributed(summary: str, foreign: Iterable[str], own: Iterable[str]) -> str:
    """Return the summary, with somebody in place of the user where it tells a rule or wish that their own words do not support.

    What the user says a third to 0.6 of, and nobody more, stays: a summary puts things in other words.
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
            if not of_user or not is_directive(part) or says(users, part, others):
                continue
            share = users.cover(part)
            if _LEAST <= share < SUPPORT and others.cover(part) <= share:
                continue
            words = part.lstrip(" \t-*•>")
            labelled = f"{part[: len(part) - len(words)]}{SOMEBODY.capitalize()}: {words}"
            parts[i] = _USER().sub(SOMEBODY, part) if _USER().search(part) else labelled
        lines[n] = "".join(parts)
    return "\n".join(lines)
