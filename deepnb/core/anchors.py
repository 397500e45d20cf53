"""Facts a summary must not lose: found in messages by rule, checked against it, kept word for word.

A summarizer keeps the gist and drops what can't be guessed again: a path, a ticket number, 37 ms, what the
user forbade. Those are looked for here, in any language that writes them with digits and Latin letters,
and the user's prohibitions in English, Chinese, Japanese, Korean, German, French and Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, get_args

from deepnb.core.messages import Message

Kind = Literal["prohibition", "path", "identifier", "number", "date", "name"]
"""`name` is what stood in code font."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Anchor:
    """One fact: its text as it stood, and for a number the words that say of what it is."""

    kind: Kind
    text: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class Anchored:
    """What is appended to a summary: its text, the anchors shown in it, and those there was no room for."""

    text: str = ""
    shown: tuple[Anchor, ...] = ()
    hidden: tuple[Anchor, ...] = ()


_LABELS: dict[Kind, str] = {
    "prohibition": "The user said",
    "path": "Paths",
    "identifier": "Identifiers",
    "number": "Numbers",
    "date": "Dates",
    "name": "Names",
}
OPEN, CLOSE = "<anchors>", "</anchors>"
_LEAD = "Word for word from the part that was summarized:"
_BETWEEN = " | "
_LONGEST = 400
"""Characters of a prohibition; a longer sentence is cut to the clause that holds it."""

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|"
    r"Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:\s?[ap]\.?m\b\.?)?"
_DATE = (
    rf"(?<![A-Za-z0-9_./-])(?:\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_TIME}(?:Z|[+-]\d{{2}}:?\d{{2}})?)?|\d{{4}}/\d{{1,2}}/\d{{1,2}}"
    rf"|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?:,?\s\d{{4}})?"
    rf"|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|{_MONTH},?\s\d{{4}}|{_TIME})(?![A-Za-z0-9_/-]|\.\d)"
    r"|(?:\d{4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号일]|\d{4}\s?[年년]\s?\d{1,2}\s?[月월]|\d{4}\s?[年년]"
)
_UNIT = (
    r"%|‰|°\s?[CFK]?|(?:[num]s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|quarters?"
    r"|[KMGTP]i?[Bb](?:ps|/s)?|k[Bb](?:ps|/s)?|bytes?|bits?|[kMGT]?Hz|[kMG]?W(?:h)?|[mk]?V|m?A|[kcmnµμ]?m[²³23]?|km/h|mph|mi(?:les?)?"
    r"|f(?:ee)?t|inch(?:es)?|[kmµμ]?g|lbs?|oz|[mµμ]?[lL]|t(?:ons?)?|mol|Pa|bar|psi|dB|px|pt|em|rem|fps|rpm|dpi|K|s|h|x|×"
    r"|USD|EUR|GBP|CNY|RMB|JPY|KRW|CHF|INR|dollars?|euros?|pounds?|yuan|yen|cents?|percent|points?|tokens?|people"
    r"|[a-z]{3,20}s)(?![A-Za-z])"
    r"|分钟|小时|毫秒|微秒|公里|千米|厘米|毫米|千克|公斤|毫升|百分点|[个個件条條元块万萬亿億秒分时天日周月年米克吨升度岁歲次人名行列页頁台倍位字项項轮輪步层層种種款张張组組家块円本枚回歳冊]"
    r"|시간|킬로|미터|그램|[원개명초분일년월주회건권장배]"
)
_NUMBER = (
    r"(?<![A-Za-z0-9_.$€£¥₹])(?:[$€£¥₹₩]\s?\d[\d,]{0,20}(?:\.\d{1,10})?(?:\s?(?:[KMB]|million|billion|k|m|bn)\b)?"
    rf"|(?:[-+±~≈<>≤≥]\s?)?\d[\d,]{{0,20}}(?:\.\d{{1,10}})?(?:[eE][+-]?\d{{1,3}})?\s?(?:{_UNIT}))"
)
_FILE = r"[\w@+-][\w.@+-]{0,80}"
_PATH = (
    r"https?://[^\s<>\"'`|\\^{}，。；、）】」]{1,300}"
    r"|(?<![A-Za-z0-9_])[A-Za-z]:\\[^\s<>\"'|?*:，。；]{1,200}"
    rf"|(?<![A-Za-z0-9_/.:~-])(?:~|\.{{1,2}})?/(?:{_FILE}/){{0,16}}{_FILE}\.[A-Za-z][A-Za-z0-9]{{0,9}}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9_/.:~-])(?:~|\.{1,2})?/(?:[A-Za-z0-9_.@+-]{1,80}/){0,16}[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]{0,80}/?"
    r"|(?<![A-Za-z0-9_/.:~-])(?:[A-Za-z0-9_.@+-]{1,80}/){1,16}[A-Za-z0-9_@+-][A-Za-z0-9_@+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,9}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9_/.:~-])[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]{0,80}\.(?:py|ipynb|md|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|log|sql|db|"
    r"sqlite|parquet|feather|xlsx?|docx?|pdf|pptx?|html?|css|scss|jsx?|tsx?|vue|java|kt|go|rs|rb|php|c|cc|cpp|h|hpp|cs|swift|sh|bash|"
    r"zsh|ps1|bat|xml|svg|png|jpe?g|gif|webp|mp[34]|wav|zip|tar|gz|tgz|whl|pkl|npy|npz|pt|pth|onnx|bin|so|dll|exe|pem|crt)(?![A-Za-z0-9])"
)
_IDENTIFIER = (
    r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}"
    r"|(?<![A-Za-z0-9_])(?:"
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?"
    r"|v?\d{1,6}(?:\.\d{1,6}){2,3}(?:[-+.]?[A-Za-z0-9]{1,20}){0,3}"
    r"|#\d{1,10}"
    r"|[A-Za-z_][A-Za-z0-9_]{0,80}(?:(?:\.|::|->)[A-Za-z_][A-Za-z0-9_]{0,80}){1,8}(?:\(\))?"
    r"|[A-Za-z_][A-Za-z0-9_]{0,80}\(\)"
    r"|[A-Za-z0-9]{1,60}(?:_[A-Za-z0-9]{1,60}){1,12}|__?[A-Za-z][A-Za-z0-9_]{1,80}"
    r"|[a-z]{1,40}[a-z0-9]{0,40}(?:[A-Z][a-z0-9]{1,40}){1,8}|(?:[A-Z][a-z0-9]{1,40}){2,8}"
    r"|(?=[A-Za-z0-9.-]{0,60}\d)(?=[\d.-]{0,60}[A-Za-z])[A-Za-z0-9]{1,60}(?:[-.][A-Za-z0-9]{1,60}){0,8}"
    r"|--?[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,6}(?==|\b)"
    r"|\d{4,30}"
    r")(?![A-Za-z0-9_])"
)
_CODE = r"(?<!`)`([^`\n]{1,80})`(?!`)"

_FINDERS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("name", re.compile(_CODE)),
    ("path", re.compile(_PATH)),
    ("date", re.compile(_DATE)),
    ("number", re.compile(_NUMBER)),
    ("identifier", re.compile(_IDENTIFIER)),
)
_ORDINARY = re.compile(r"\d{1,4}(?:st|nd|rd|th)|and/or|e\.g|i\.e|a\.m|p\.m|U\.S|[1-9]\d{0,2}", re.IGNORECASE)
_NOT_PLURAL = re.compile(r"\d\s?(?:this|was|has|does|its|as|is|us|his|yes|less|plus|across|versus|always|perhaps)$")
_BEFORE = re.compile(r"(?:[^\s.;:!?,，。；：！？、|]{1,24}[ =:]{1,2}){1,5}$")

_FORBIDS = re.compile(
    r"\b(?:do not|don['’]?t|does not|doesn['’]t|must not|mustn['’]t|may not|should not|shouldn['’]t|shall not|you can ?not|you can['’]t"
    r"|never|avoid|refrain from|stop (?:using|doing|adding|writing|making|sending|calling)|no longer|under no circumstances"
    r"|(?:is|are|it's) (?:forbidden|prohibited|off[- ]limits|not (?:allowed|permitted|ok(?:ay)?|acceptable|to be))"
    r"|not allowed|not permitted|forbidden|prohibited|off[- ]limits|keep (?:away|off|out)|hands off|leave .{1,60} (?:alone|untouched|as (?:it|they) (?:is|are))"
    r"|without (?:asking|my|telling|permission|approval)|no (?:more )?[a-z-]{2,30} (?:in|on|at|for|from|without|please|ever|allowed))\b"
    r"|不要|不得|不能|不可|不许|不准|不应|不该|禁止|严禁|切勿|请勿|勿|千万别|(?<![特分区级类个性差识辨告离])别(?![的人处墅名])|避免|不再"
    r"|しないで|するな|ないでください|てはいけ|てはなら|ちゃだめ|禁止|厳禁|避けて"
    r"|하지\s?마|지\s?마세요|지\s?말|금지|안\s?됩니다|안\s?돼|하면\s?안"
    r"|\b(?:niemals|nie|nicht|kein(?:e[mnrs]?)?|verboten|vermeide[nt]?|keinesfalls)\b"
    r"|\b(?:jamais|interdit|évite[zr]?|n['’e]\s?[\wéèêà]{1,20} (?:pas|jamais|plus))\b"
    r"|\b(?:nunca|jamás|prohibid[oa]|evita[rd]?|no (?:uses?|hagas?|toques?|borres?|cambies?|modifiques?|escribas?|envíes?|debes?|se (?:debe|puede)))\b",
    re.IGNORECASE,
)
_ONLY_TALK = re.compile(
    r"\b(?:I|we|you|it|they|he|she|that|this|there|which|who|what|why) (?:(?:really|just|still|also) )?(?:do not|don['’]?t|does not|doesn['’]t|can ?not|can['’]t)"
    r" (?!want|wish|like|allow|accept|touch|use|let|ever)[a-z]"
    r"|\b(?:why|how come|what if) .{0,40}(?:not|n['’]t)\b|\bdon['’]?t (?:worry|mind|bother me|know|think)\b|\bnever ?mind\b"
    r"|\bnot (?:only|sure|yet|bad)\b|能不能|可不可以|要不要|是不是|不能不|不得不|(?:我|他|她|它|我们)(?:不能|不可|不再)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？；])|\n+")
_CLAUSE = re.compile(r"(?<=[,;:，；：、])\s*")


def find(messages: Iterable[Message], redact: Callable[[str], str] = str) -> tuple[Anchor, ...]:
    """The anchors of messages, each once, in the order in which they came; `redact` takes credentials out."""
    found: dict[tuple[Kind, str], Anchor] = {}
    for message in messages:
        text = redact(message.text)
        if message.role == "user":
            for sentence in prohibitions(text):
                found.setdefault(("prohibition", sentence), Anchor("prohibition", sentence))
        for anchor in _in_text(f"{text}\n{_arguments(message)}"):
            found.setdefault((anchor.kind, anchor.text), anchor)
    return tuple(found.values())


def prohibitions(text: str) -> Iterator[str]:
    """The sentences of a text that forbid something."""
    for sentence in sentences(text):
        if _FORBIDS.search(sentence) and _FORBIDS.search(_ONLY_TALK.sub(" ", sentence)):
            if len(sentence) <= _LONGEST:
                yield sentence
            else:
                yield from (c[:_LONGEST] for c in _CLAUSE.split(sentence) if _FORBIDS.search(c))


def sentences(text: str) -> Iterator[str]:
    """A text's sentences and lines, without bullets and white space round them."""
    for part in _SENTENCE.split(text):
        if sentence := part.strip().lstrip("-*>• \t").strip():
            yield sentence


def lost(anchors: Iterable[Anchor], summary: str) -> tuple[Anchor, ...]:
    """Those that the summary does not hold word for word."""
    held = _plain(summary)
    return tuple(a for a in anchors if not _holds(held, _plain(a.text)))


def joined(*groups: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Anchors of several groups, each once; those of later groups count as newer."""
    found: dict[tuple[Kind, str], Anchor] = {}
    for group in groups:
        for anchor in group:
            found.pop((anchor.kind, anchor.text), None)
            found[anchor.kind, anchor.text] = anchor
    return tuple(found.values())


def anchored(anchors: Sequence[Anchor], room: int, count: Count, path: str | None) -> Anchored:
    """The anchors as text of at most `room` tokens: prohibitions first, then kinds in turn, the newest first.

    What has no room is named by number, with the file that holds it; `path` is that file.
    """
    if not anchors:
        return Anchored()
    whole = Anchored(_text(anchors, 0, path, said=True), tuple(anchors))
    if count(whole.text) <= room:
        return whole
    order = _by_rank(anchors)
    costs = [count(f"\n{_LABELS[a.kind]}: {a.text}" if a.kind == "prohibition" else _BETWEEN + a.text) for a in order]
    left = room - count(_text(order[:0], len(order), path)) - sum(count(f"\n{w}:") for w in _LABELS.values())
    shown: list[Anchor] = []
    rest: list[Anchor] = []
    for anchor, cost in zip(order, costs, strict=True):
        if cost <= left:
            shown.append(anchor)
            left -= cost
        else:
            rest.append(anchor)
    while shown and count(_text(shown, len(rest), path)) > room:
        rest.insert(0, shown.pop())
    hidden: list[Anchor] = []
    misses = 0
    for i, anchor in enumerate(rest):
        if misses >= 8:  # sizes differ little: what comes after will not fit either
            hidden += rest[i:]
            break
        if count(_text([*shown, anchor], len(anchors) - len(shown) - 1, path)) <= room:
            shown.append(anchor)
        else:
            hidden.append(anchor)
            misses += 1
    return Anchored(_text(shown, len(hidden), path), tuple(shown), tuple(hidden))


def _text(anchors: Sequence[Anchor], hidden: int, path: str | None, *, said: bool = False) -> str:
    lines = [OPEN, _LEAD]
    for kind in get_args(Kind):
        texts = [(a.said or a.text) if said else a.text for a in anchors if a.kind == kind]
        if kind == "prohibition":
            lines += [f"{_LABELS[kind]}: {t}" for t in texts]
        elif texts:
            lines.append(f"{_LABELS[kind]}: {_BETWEEN.join(texts)}")
    if hidden:
        lines.append(f"({hidden} more {'are' if hidden > 1 else 'is'} {f'in {path}' if path else 'left out'})")
    return "\n".join([*lines, CLOSE])


def _by_rank(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Prohibitions, then one of each kind in turn; within a kind the newest first."""
    by_kind = {kind: [a for a in reversed(anchors) if a.kind == kind] for kind in get_args(Kind)}
    turns = zip_longest(*(by_kind[k] for k in by_kind if k != "prohibition"))
    return [*by_kind["prohibition"], *(a for turn in turns for a in turn if a is not None)]


def _in_text(text: str) -> Iterator[Anchor]:
    """The facts in a text, each stretch taken once, in the order in which they stand."""
    found: list[tuple[int, Anchor]] = []
    for kind, pattern in _FINDERS:
        spans = []
        for match in pattern.finditer(text):
            fact = _trimmed(kind, (match[1] if kind == "name" else match[0]).strip())
            if _is_fact(kind, fact):
                said = _said(text, match.start(), fact) if kind == "number" else ""
                found.append((match.start(), Anchor(kind, fact, said)))
                spans.append(match.span())
        text = _blanked(text, spans)
    found.sort(key=lambda pair: pair[0])
    yield from (anchor for _, anchor in found)


def _trimmed(kind: Kind, text: str) -> str:
    """The fact without the punctuation of its sentence."""
    if kind not in ("path", "identifier"):
        return text
    text = text.rstrip(".,;:!?'\"]}")
    return text[:-1] if text.endswith(")") and text.count(")") > text.count("(") else text


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with these stretches taken, its length as it was."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], "\0" * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _is_fact(kind: Kind, text: str) -> bool:
    if not text or _ORDINARY.fullmatch(text):
        return False
    if kind == "name":
        return text.count(" ") <= 3 and any(c.isalnum() for c in text)
    if kind == "path":
        return any(c.isalpha() for c in text)
    return kind != "number" or not _NOT_PLURAL.search(text)


def _said(text: str, start: int, fact: str) -> str:
    """The number with the few words before it that say of what it is."""
    before = _BEFORE.search(text[max(0, start - 80) : start])
    return f"{before[0].strip()} {fact}" if before and "\0" not in before[0] else ""


def _arguments(message: Message) -> str:
    """Paths and other short arguments of its tool calls."""
    values = (v for call in message.tool_calls for v in call.args.values())
    return "\n".join(v for v in values if isinstance(v, str) and len(v) <= 200)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(text: str, fact: str) -> bool:
    """Whether a text holds a fact that is not a part of a longer word, path or number there."""
    start = text.find(fact)
    while start >= 0:
        before, after = text[max(0, start - 2) : start], text[start + len(fact) : start + len(fact) + 2]
        inside = _runs_on(before[-1:], fact[0]) or _runs_on(after[:1], fact[-1])
        if not (inside or _continues(after) or _continues(before[::-1])):
            return True
        start = text.find(fact, start + 1)
    return False


def _runs_on(neighbour: str, edge: str) -> bool:
    return (
        bool(neighbour)
        and neighbour.isascii()
        and edge.isascii()
        and ((neighbour.isalnum() or neighbour in "_/\\") and (edge.isalnum() or edge in "_/\\~.-"))
    )


def _continues(after: str) -> bool:
    """Whether a number or a path goes on: `.5` after 37, `.py` after a name."""
    return len(after) == 2 and after[0] in ".,-:" and after[1].isascii() and after[1].isalnum()
