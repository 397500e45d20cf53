"""What left the prompt: a compaction, the facts that its summary must not lose, and the offloaded messages.

A summarizer keeps the gist and drops what can't be guessed again: a path, a ticket number, 37 ms, what the user forbade,
asked to remember and said of themselves. Those are looked for here, the user's sentences in seven languages. What a look
at the data gives again (types, names of columns) is none, and neither are deepnb's own files.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Literal, get_args

from deepnb.gate.own_words import MONTH, less_rows, said
from deepnb.gate.spans import regex
from deepnb.values.messages import Message
from deepnb.values.text import Listing, short_repr

Kind = Literal["prohibition", "statement", "path", "identifier", "number", "date", "name"]
"""`statement` is what the user asks to remember or says of themselves, `name` what stood in code font."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One fact: its text as it stood, and for a number the words that say of what it is."""

    kind: Kind
    text: str
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class AnchorBlock:
    """What is appended to a summary: its text, the anchors shown in it, and those there was no room for."""

    text: str = ""
    shown: tuple[Anchor, ...] = ()
    hidden: tuple[Anchor, ...] = ()


_TYPE = regex(
    r"(?i)(?:u?int|float|complex)\d{1,3}|(?:datetime|timedelta)64(?:\[.*\])?|d?types?(?:\('.*'\))?|object|bool|category|str(?:ing)?|int|float|NaN|NaT|None(?:Type)?"  # float64, datetime64[ns], None
    r"|(?:pd\.|pandas\.|np\.|numpy\.)?(?:DataFrame|Series|ndarray|(?:Range|Multi|Datetime)?Index|Timestamp|Categorical)(?:\(\))?",  # pd.DataFrame, RangeIndex
)
# year_discovered, numRows, Data Frame
_PLAIN = regex(r"[a-z]+(?:_[a-z]+)*|[a-z]+(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+)+(?:[ _][A-Za-z]+)*")
"""Words as code and columns have them, which a model invents as well: `year_discovered`, `DataFrame`."""
_FILES = ("/AGENTS.md", "/MEMORY.md", "/USER.md")
_OURS = ("/conversation_history/", "/memory/", "/.deepnb/", "/large_tool_results/", "/skills/", "/agents/", *_FILES)
_OF_DATA = ("list_variables", "inspect_variable", "query_table")
"""Tools whose results can be had again."""


def find(messages: Iterable[Message], redact: Callable[[str], str] = str) -> tuple[Anchor, ...]:
    """Return the anchors of messages, each once, in the order in which they came; `redact` takes credentials out."""
    found: dict[tuple[Kind, str], Anchor] = {}
    looked_at, asked = list[str](), list[str]()
    for message in messages:
        sentences = (Anchor(*one) for one in said(redact(message.own)))
        typed = "" if message.role != "user" else message.text if message.typed is None else message.typed
        asked.append(typed)
        text = "" if message.status == "error" else redact(message.text)
        looked_at += [text] if message.name in _OF_DATA or (typed != message.text and typed) else []
        text = text if (answer := message.role == "assistant") else less_rows(text)
        values = (v for call in message.tool_calls for v in call.args.values())
        arguments = "\n".join(v for v in values if isinstance(v, str) and len(v) <= 200)  # paths and other short ones
        stated = facts(f"{text}\n{arguments}")
        for anchor in (*sentences, *(a for a in stated if _is_lasting(a, typed, answer))):
            found.setdefault((anchor.kind, anchor.text), anchor)
    named = [a for a in found.values() if a.kind in ("identifier", "name")]
    figures = {a.text for a in named if a.text.isidentifier() or a.text.isdigit()}  # `mass_1e24_kg`, `4879`
    words = {a.text for a in named if _is_plain(a) or (a.text in figures and not any(a.text in t for t in asked))}
    return tuple(a for a in found.values() if not (a.text in words and any(a.text in text for text in looked_at)))


def _is_plain(anchor: Anchor) -> bool:
    return anchor.kind in ("identifier", "name") and bool(_PLAIN().fullmatch(anchor.text))


def _is_lasting(anchor: Anchor, typed: str, answer: bool) -> bool:
    """Return whether a fact can't be had again; plain words must be typed, identifiers and addresses typed or in an answer."""
    if not answer and anchor.text not in typed and (anchor.kind == "identifier" or anchor.text.startswith("http")):
        return False
    if _TYPE().fullmatch(anchor.text) or (anchor.kind == "path" and anchor.text.startswith(_OURS)):
        return False
    return not _is_plain(anchor) or anchor.text in typed


def lost(anchors: Iterable[Anchor], summary: str) -> tuple[Anchor, ...]:
    held = _plain(summary)
    return tuple(a for a in anchors if not _holds(held, _plain(a.text)))


def union(*groups: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Anchors of several groups, each once; those of later groups count as newer."""
    found: dict[tuple[Kind, str], Anchor] = {}
    for group in groups:
        for anchor in group:
            found.pop((anchor.kind, anchor.text), None)
            found[anchor.kind, anchor.text] = anchor
    return tuple(found.values())


_EDGE = regex(r"[a-z0-9_/\\~.-]")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(text: str, fact: str) -> bool:
    """Return whether a text holds a fact that is not a part of a longer word, path or number there: of 37.5, or of a.py."""
    before = r"(?<![a-z0-9_/\\])" if _EDGE().match(fact[0]) else ""
    after = r"(?![a-z0-9_/\\])" if _EDGE().match(fact[-1]) else ""
    return bool(re.search(rf"(?<![a-z0-9][.,:-]){before}{re.escape(fact)}{after}(?![.,:-][a-z0-9])", text))


# -- facts in a text


_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:\s?[ap]\.?m\b\.?)?"  # 10:30, 10:30:15.5, 9:00 p.m.
_DATE = (
    rf"(?<![A-Za-z0-9_./-])(?:\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_TIME}(?:Z|[+-]\d{{2}}:?\d{{2}})?)?|\d{{4}}/\d{{1,2}}/\d{{1,2}}"  # 2026-01-02T03:04Z, 2026/1/2
    rf"|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s(?:of\s|de\s)?{MONTH}(?:,?\s(?:de\s)?\d{{4}})?"  # 2.1.2026, 3rd of May 2026
    rf"|{MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|{MONTH},?\s(?:de\s)?\d{{4}}|{_TIME})(?![A-Za-z0-9_/-]|\.\d)"  # May 3rd, 2026; May 2026; 10:30
    r"|(?:\d{4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号일]|\d{4}\s?[年년]\s?\d{1,2}\s?[月월]|\d{4}\s?[年년]"  # 2026年1月2日, 2026年1月, 2026년
)
_UNIT = (
    r"%|‰|°\s?[CFK]?|(?:[num]s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|quarters?"  # 5 %, 20 °C, 37 ms
    r"|[KMGTP]i?[Bb](?:ps|/s)?|k[Bb](?:ps|/s)?|bytes?|bits?|[kMGT]?Hz|[kMG]?W(?:h)?|[mk]?V|m?A|[kcmnµμ]?m[²³23]?|km/h|mph|mi(?:les?)?"  # 8 GiB, 3 GHz, 4 km
    r"|f(?:ee)?t|inch(?:es)?|[kmµμ]?g|lbs?|oz|[mµμ]?[lL]|t(?:ons?)?|mol|Pa|bar|psi|dB|px|pt|em|rem|fps|rpm|dpi|K|s|h|x|×"  # 6 ft, 70 kg, 2 dB
    r"|USD|EUR|GBP|CNY|RMB|JPY|KRW|CHF|INR|dollars?|euros?|pounds?|yuan|yen|cents?|percent|points?|tokens?|people"  # 12 EUR, 30 people
    r"|[a-z]{3,20}s)(?![A-Za-z])"
    r"|分钟|小时|毫秒|微秒|公里|千米|厘米|毫米|千克|公斤|毫升|百分点|[个個件条條元块万萬亿億秒分时天日周月年米克吨升度岁歲次人名行列页頁台倍位字项項轮輪步层層种種款张張组組家块円本枚回歳冊]"
    r"|시간|킬로|미터|그램|[원개명초분일년월주회건권장배]"
)
_NUMBER = (
    r"(?<![A-Za-z0-9_.$€£¥₹])(?:[$€£¥₹₩]\s?\d[\d,]{0,20}(?:\.\d{1,10})?(?:\s?(?:[KMB]|million|billion|k|m|bn)\b)?"  # $1,200, €3.5 million
    rf"|(?:[-+±~≈<>≤≥]\s?)?\d[\d,]{{0,20}}(?:\.\d{{1,10}})?(?:[eE][+-]?\d{{1,3}})?\s?(?:{_UNIT}))"  # ~5 %, 1.2e-3 s
)
_FILE = r"[\w@+-][\w.@+-]{0,80}"
_PATH = (
    r"https?://[^\s<>\"'`|\\^{}，。；、）】」]{1,300}"  # https://example.com/a
    r"|(?<![A-Za-z0-9_])[A-Za-z]:\\[^\s<>\"'|?*:，。；]{1,200}"  # C:\data\a.csv
    rf"|(?<![A-Za-z0-9_/.:~-])(?:~|\.{{1,2}})?/(?:{_FILE}/){{0,16}}{_FILE}\.[A-Za-z][A-Za-z0-9]{{0,9}}(?![A-Za-z0-9])"  # /srv/数据.csv, ~/a.py
    r"|(?<![A-Za-z0-9_/.:~-])(?:~|\.{1,2})?/(?:[A-Za-z0-9_.@+-]{1,80}/){0,16}[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]{0,80}/?"  # /usr/lib/, ./run
    r"|(?<![A-Za-z0-9_/.:~-])(?:[A-Za-z0-9_.@+-]{1,80}/){1,16}[A-Za-z0-9_@+-][A-Za-z0-9_@+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,9}(?![A-Za-z0-9])"  # src/main.rs
    r"|(?<![A-Za-z0-9_/.:~-])[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]{0,80}\.(?:py|ipynb|md|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|log|sql|db|"  # report.csv
    r"sqlite|parquet|feather|xlsx?|docx?|pdf|pptx?|html?|css|scss|jsx?|tsx?|vue|java|kt|go|rs|rb|php|c|cc|cpp|h|hpp|cs|swift|sh|bash|"
    r"zsh|ps1|bat|xml|svg|png|jpe?g|gif|webp|mp[34]|wav|zip|tar|gz|tgz|whl|pkl|npy|npz|pt|pth|onnx|bin|so|dll|exe|pem|crt)(?![A-Za-z0-9])"
)
_IDENTIFIER = (
    r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}"  # ann@example.com
    r"|(?<![A-Za-z0-9_])(?:"
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # 123e4567-e89b-12d3-a456-426614174000
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?"  # 10.0.0.1:8080
    r"|v?\d{1,6}(?:\.\d{1,6}){2,3}(?:[-+.]?[A-Za-z0-9]{1,20}){0,3}"  # v1.2.3-rc1
    r"|#\d{1,10}"  # #1042
    r"|[A-Za-z_][A-Za-z0-9_]{0,80}(?:(?:\.|::|->)[A-Za-z_][A-Za-z0-9_]{0,80}){1,8}(?:\(\))?"  # os.path.join()
    r"|[A-Za-z_][A-Za-z0-9_]{0,80}\(\)"  # main()
    r"|[A-Za-z0-9]{1,60}(?:_[A-Za-z0-9]{1,60}){1,12}|__?[A-Za-z][A-Za-z0-9_]{1,80}"  # user_id, __init__
    r"|[a-z]{1,40}[a-z0-9]{0,40}(?:[A-Z][a-z0-9]{1,40}){1,8}|(?:[A-Z][a-z0-9]{1,40}){2,8}"  # userId, UserName
    r"|(?=[A-Za-z0-9.-]{0,60}\d)(?=[\d.-]{0,60}[A-Za-z])[A-Za-z0-9]{1,60}(?:[-.][A-Za-z0-9]{1,60}){0,8}"  # KX-20931, gpt-4
    r"|--?[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,6}(?==|\b)"  # --dry-run
    r"|\d{0,20}\.\d{4,30}|\d{1,3},\d{4,30}|\d{4,30}(?:\.\d{1,20})?"  # 0.0375, 1,9120, 20931
    r")(?![A-Za-z0-9_])"
)
_CODE = r"(?<!`)`([^`\n]{1,80})`(?!`)"

_FINDERS: tuple[tuple[Kind, Callable[[], re.Pattern[str]]], ...] = (
    ("name", regex(_CODE)),
    ("path", regex(_PATH)),
    ("date", regex(_DATE)),
    ("number", regex(_NUMBER)),
    ("identifier", regex(_IDENTIFIER)),
)
_ORDINARY = regex(r"\d{1,4}(?:st|nd|rd|th)|and/or|e\.g|i\.e|a\.m|p\.m|U\.S|[1-9]\d{0,2}", re.IGNORECASE)
_NOT_PLURAL = regex(r"\d\s?(?:this|was|has|does|its|as|is|us|his|yes|less|plus|across|versus|always|perhaps)$")
# of a number, the few words before it that say of what it is: `the trial costs 12 EUR`
_BEFORE = regex(r"(?:[^\s.;:!?,，。；：！？、|]{1,24}[ =:]{1,2}){1,5}$")


def facts(text: str) -> Iterator[Anchor]:
    """Yield the facts in a text, each stretch taken once, in the order in which they stand."""
    found: list[tuple[int, Anchor]] = []
    for kind, pattern in _FINDERS:
        spans = []
        for match in pattern().finditer(text):
            fact = (match[1] if kind == "name" else match[0]).strip()
            if kind in ("path", "identifier"):  # without the punctuation of its sentence
                fact = fact.rstrip(".,;:!?'\"]}")
                fact = fact[:-1] if fact.endswith(")") and fact.count(")") > fact.count("(") else fact
            if _is_fact(kind, fact):
                start = match.start()
                before = _BEFORE().search(text[max(0, start - 80) : start]) if kind == "number" else None
                phrase = f"{before[0].strip()} {fact}" if before and "\0" not in before[0] else ""
                found.append((start, Anchor(kind, fact, phrase)))
                spans.append(match.span())
        parts, at = [], 0
        for start, end in spans:  # what is taken is blank for the other kinds
            parts += [text[at:start], "\0" * (end - start)]
            at = end
        text = "".join([*parts, text[at:]])
    found.sort(key=itemgetter(0))
    yield from (anchor for _, anchor in found)


def _is_fact(kind: Kind, text: str) -> bool:
    if not text or _ORDINARY().fullmatch(text):
        return False
    if kind == "name":
        return text.count(" ") <= 3 and any(c.isalnum() for c in text)
    if kind == "path":
        return any(c.isalpha() for c in text)
    return kind != "number" or not _NOT_PLURAL().search(text)


Count = Callable[[str], int]

LABELS: dict[Kind, str] = {
    "prohibition": "The user said",
    "statement": "The user said",
    "path": "Paths",
    "identifier": "Identifiers",
    "number": "Numbers",
    "date": "Dates",
    "name": "Names",
}
SAID: tuple[Kind, ...] = ("prohibition", "statement")
"""Kinds that are sentences of the user's."""
OPEN, CLOSE = "<anchors>", "</anchors>"
_LEAD = "Word for word from the part that was summarized:"
_BETWEEN = " | "


def anchor_block(anchors: Sequence[Anchor], room: int, count: Count, path: str | None, more: int = 0) -> AnchorBlock:
    """Return the anchors as text of at most `room` tokens: what the user said first, then kinds in turn, the newest first.

    What has no room is named by number, with the file `path` that holds it, and `more` others.
    """
    if not anchors:
        return AnchorBlock()
    said = [a.text for a in anchors if a.kind in SAID]
    anchors = [a for a in anchors if a.kind in SAID or not any(a.text in sentence for sentence in said)]
    whole = AnchorBlock(_text(anchors, more, path, phrases=True), tuple(anchors))
    if count(whole.text) <= room:
        return whole
    labels = {kind: count(f"\n{label}:") for kind, label in LABELS.items()}
    costs = {a: count(f"\n{LABELS[a.kind]}: {a.text}" if a.kind in SAID else _BETWEEN + a.text) for a in anchors}
    # Prohibitions, statements, then one of each kind in turn; within a kind the newest first.
    by_kind = {kind: [a for a in reversed(anchors) if a.kind == kind] for kind in get_args(Kind)}
    turns = zip_longest(*(by_kind[k] for k in by_kind if k not in SAID))
    ranked = [*(a for kind in SAID for a in by_kind[kind]), *(a for turn in turns for a in turn if a is not None)]
    shown, hidden, new = list[Anchor](), ranked, {*anchors}
    while new:  # parts cost more than the whole, so that there is some room again
        left, new = room - count(_text(shown, len(hidden) + more, path)), set()
        begun = {*SAID, *(a.kind for a in shown)}
        for one in hidden:
            if (cost := costs[one] + (0 if one.kind in begun else labels[one.kind])) <= left:
                new.add(one)
                begun.add(one.kind)
                left -= cost
        shown += [one for one in hidden if one in new]
        hidden = [one for one in hidden if one not in new]
    while shown and count(_text(shown, len(hidden) + more, path)) > room:
        hidden.insert(0, shown.pop())
    return AnchorBlock(_text(shown, len(hidden) + more, path), tuple(shown), tuple(hidden))


def _text(anchors: Sequence[Anchor], hidden: int, path: str | None, *, phrases: bool = False) -> str:
    lines = [OPEN, _LEAD]
    for kind in get_args(Kind):
        texts = [(a.phrase or a.text) if phrases else a.text for a in anchors if a.kind == kind]
        if kind in SAID:
            lines += [f"{LABELS[kind]}: {t}" for t in texts]
        elif texts:
            lines.append(f"{LABELS[kind]}: {_BETWEEN.join(texts)}")
    if hidden:
        lines.append(f"({hidden} more {'are' if hidden > 1 else 'is'} {f'in {path}' if path else 'left out'})")
    return "\n".join([*lines, CLOSE])


# -- What left the prompt: a compaction, its note, and the offloaded messages, as they are read and brought back

Cause = Literal["trigger", "by hand", "overflow"]
"""What set off a compaction: the rule in force, `%agent compact`, or a provider that said the request is too long."""


@dataclass(frozen=True, slots=True)
class Flush:
    """What was added to a daily note before a part of the thread was removed from the prompt."""

    file: str
    """The daily note."""
    lines: tuple[str, ...] = ()
    """As they were added to it; empty where there was nothing worth keeping."""
    how: Literal["model", "rules"] = "model"
    """Who chose them: the model, or rules where its answer puts nothing down."""


@dataclass(frozen=True, slots=True)
class Offload:
    """A compaction: which messages were removed from the prompt, where they are, what replaces them."""

    path: str | None
    """The file in the backend that holds them word for word; None where that failed."""
    summary: str
    cutoff: int
    """Messages [0, cutoff) of the thread are no longer sent."""
    at: str = ""
    """ISO timestamp."""
    cause: Cause = "trigger"
    before: int = 0
    """Tokens of the request before the compaction."""
    after: int = 0
    """Tokens of the request that took its place."""
    anchors: tuple[Anchor, ...] = ()
    """What the summary lost, added to it verbatim."""
    hidden: tuple[Anchor, ...] = ()
    """What it lost and there was no room for, that of most weight first: it is in the file."""
    flush: Flush | None = None
    messages: int = 0
    """How many messages of the conversation went this time."""
    more: int = 0
    """How much else it lost: that is in the file, too, and there alone."""
    foreign: bool = False
    """Whether another program made it: then there is no note, no key facts, and figures may be unknown (0)."""


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message of a history file: verbatim, without credentials, then the calls it made."""

    number: int
    """Counted from 1 in its section."""
    role: str
    """`user`, `assistant`, `tool NAME`; empty for a whole section whose messages can no longer be separated."""
    text: str


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """Messages from the history that are added to the next prompt, as one message."""

    id: str
    """Of that message."""
    messages: tuple[tuple[int, HistoryMessage], ...]
    """(section counted from 1, message), in order."""
    tokens: int
    """What it costs in the request."""
    exact: bool = True
    """Whether that was counted, or is an approximation."""

    def __repr__(self) -> str:
        return short_repr(self, self.line)

    @property
    def line(self) -> str:
        """`messages 2, 5-7 of section 1 (412 tokens)`."""
        by_section: dict[int, list[int]] = {}
        for section, message in self.messages:
            by_section.setdefault(section, []).append(message.number)
        words = [
            f"message{'s' * (len(of) > 1)} {ranges(of)} of section {section}" for section, of in by_section.items()
        ]
        return f"{', '.join(words)} ({'' if self.exact else '~'}{self.tokens:,} token{'' if self.tokens == 1 else 's'})"


@dataclass(frozen=True, slots=True)
class HistorySection:
    """One offload of a history file: `text` has `messages` messages verbatim."""

    at: str
    """ISO timestamp."""
    path: str
    text: str
    messages: int
    items: tuple[HistoryMessage, ...] = ()
    """The messages one by one."""
    offload: Offload | None = None
    """The compaction it belongs to, where this session still knows of it."""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.at}: messages={self.messages} in {self.path}")


class HistorySections(Listing[HistorySection]):
    """The offloaded history of a thread, by time."""


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers in order, neighbours joined: `2, 5-7`."""
    runs = groupby(enumerate(numbers), lambda at: at[1] - at[0])  # as far from their places: one after the other
    out = [[number for _, number in run] for _, run in runs]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in out)
