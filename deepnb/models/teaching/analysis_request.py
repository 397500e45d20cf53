"""What a request asks of a table, read out of its words and the columns that were seen."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deepnb.models.teaching.analysis import Analysis, Condition, nearest
from deepnb.models.teaching.frames import HIGH, LOW, MEAN, Column, Frame, hinted
from deepnb.models.teaching.words import first_match, is_stop_word, stem

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = r"[`\"']?(?P<x>[A-Za-z_][A-Za-z0-9_]*)[`\"']?"
_GROUP = re.compile(
    r"(?:\b(?:(?:grouped )?by|per|(?:(?:for|of|in|from) )?(?:each|every)|across|(?:between|among) the)\s+(?:the |different )*"
    rf"|(?:每一?[个种]|各个?|按照?)\s*){_NAME}",
    re.IGNORECASE,
)
_ASKED_OF = re.compile(rf"(?:\b(?:which|what)\s+|哪一?[个种]\s*){_NAME}", re.IGNORECASE)
_OVER = re.compile(rf"(?:\b(?:over|against|versus|vs\.?)\s+(?:the )?|随着?\s*){_NAME}", re.IGNORECASE)
_TIME = re.compile(r"(?:date|day|week|month|quarter|year|time|hour)s?", re.IGNORECASE)
_SORT = re.compile(
    rf"\bsort(?:ed)?\b.{{0,80}}?\bby\s+(?:the )?{_NAME}|按\s*(?P<y>[A-Za-z_]\w*)\s*.{{0,6}}排序", re.IGNORECASE
)
_AND = re.compile(rf"\s*(?:,|and|和)\s+(?:by |the |each )?{_NAME}", re.IGNORECASE)
FREQUENT = r"\b(?:appear|occur|frequent|common|often|listed)"
_VERBS: Mapping[str, tuple[str, ...]] = {
    r"\b(?:sold|sells?|selling|bought|buys?|卖)": ("unit|sold|quantit|qty", "sale|amount|revenue|volume"),
    r"\b(?:earn|made|makes?|brought in|赚)": ("revenue|earning|income|profit", "sale|amount|total|money"),
    r"\b(?:spen[dt]|cost|pa(?:y|id))": ("cost|spen|expense|paid", "price|amount"),
    r"\b(?:produce|output|generat)": ("output|produc|generat", "quantit|amount|yield|unit"),
}
"""What a verb says of the column that is meant where none is named."""
_LABEL = re.compile(r"(?:^|_)(?:id|no|nr|code|zip|index|key)$")
"""Names of columns whose numbers are no figures."""
_COUNTED = re.compile(r"\b(?:how many|number of|count(?: of)?|most|fewest)\s+(?:the )?(?P<x>\w+)", re.IGNORECASE)
_CORRELATION = r"\bcorrelat|相关"
_DOWN = r"\bdescending\b|\b(?:high(?:est)?|larg(?:e|est)|big(?:gest)?) (?:to|first)\b|\bdown\b|降序|从[高大多]到"
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_COUNT = rf"(?P<n>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_FIRST = (
    rf"\b(?:top|first|best)\s+{_COUNT}\s+(?P<noun>\w+)",
    rf"\b{_COUNT}\s+(?:\w{{3,}}est|best|worst)\b(?:\s+(?P<noun>\w+))?",
    rf"\b{_COUNT}\s+(?P<noun>\w+)\s+(?:with|that have|of)\s+the\s+(?:most|highest|largest|fewest|lowest|least|smallest)\b",
    rf"\b(?:largest|biggest|highest|smallest|lowest)\s+{_COUNT}\s+(?P<noun>\w+)",
    r"前\s*(?P<n>\d{1,4})\s*[个名行条]?\s*(?P<noun>\w*)",
)
_ABOVE = r"(?P<gt>>(?!=)|\babove\b|\bover\b|\b(?:more|greater|larger|higher|heavier|longer|older|warmer|hotter|bigger|taller|faster|wider|deeper) than\b|超过|大于)"
_FROM = r"(?P<ge>>=|\bat least\b|至少)"
_BELOW = r"(?P<lt><(?!=)|\bbelow\b|\bunder\b|\b(?:less|fewer|smaller|lower|lighter|shorter|younger|colder|cheaper|slower) than\b|小于|低于)"
_TO = r"(?P<le><=|\bat most\b|至多)"
_COMPARED = re.compile(rf"(?:{_ABOVE}|{_FROM}|{_BELOW}|{_TO})\s*(?P<n>-?\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s+(?P<low>-?\d[\d,.]*\d|\d)\s+and\s+(?P<high>-?\d[\d,.]*\d|\d)", re.IGNORECASE)
_EQUAL = re.compile(rf"{_NAME}\s*(?:==?|\bis\b|\bequals\b|等于|是|为)\s*[\"'“]?(?P<value>[\w.-]+)", re.IGNORECASE)
_SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_HOW = (
    ("median", r"\bmedian\b|中位数"),
    ("mean", MEAN),
    ("count", r"\b(?:how many|number of|count(?: the)?)\s+(?:rows|records|entries|lines|times)\b|\bcount\b|行数|多少行|几行"),
    ("sum", r"\b(?:total|sum|add(?:ed)? up|altogether|overall|in all|how many|how much)\b|总|合计|求和|多少"),
    ("max", r"\bmax(?:imum)?\b|\b(?:highest|largest|biggest)\b|最[大高]"),
    ("min", r"\bmin(?:imum)?\b|\b(?:lowest|smallest)\b|最[小低]"),
    ("sum", r"\b(?:most|fewest|least)\b|最[多少]"),
)  # fmt: skip
_ROWS = r"\b(?:rows|records|entries|filter|only the|keep|sort(?:ed)?)\b|筛选|哪些行|排序"
_VALUE = re.compile(
    r"\b(?:sum|total|mean|average|median|plot|chart|histogram of|distribution of|max(?:imum)?|min(?:imum)?|of)"
    rf"\s+(?:the |of |up )*{_NAME}",
    re.IGNORECASE,
)
_JOIN = r"\b(?:join|merge|combine)(?:s|d|ing)?\b|连接|合并"
_ON = re.compile(rf"\bon\s+(?:the )?(?:column )?{_NAME}|按\s*(?P<y>[A-Za-z_]\w*)\s*(?:连接|合并)", re.IGNORECASE)
_NOT_VALUES_TEXT = """
the a an one each total sum mean average median count rows row time
line lines bar bars points plot chart graph histogram distribution scatter variable table cell code far hand
"""
_NOT_VALUES = frozenset(_NOT_VALUES_TEXT.split())


@dataclass(frozen=True)
class _Text:
    """The request, and the columns that its words mean."""

    text: str
    columns: Mapping[str, Column]
    rows: frozenset[str] = frozenset()
    """Stems of the names of the tables: what their rows are called."""

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stem(one.lower()) for one in _WORD.findall(self.text))

    def column(self, word: str) -> str:
        """The column that a word means; empty for none."""
        folded = {name.casefold(): name for name in self.columns}
        if word.casefold() in folded:
            return folded[word.casefold()]
        if is_stop_word(word.lower()) or word.lower() in _NOT_VALUES:
            return ""
        near = [name for name in self.columns if stem(word.lower()) in _stems(name)]
        of_rows = label_column(self.columns.values()) if stem(word.lower()) in self.rows else ""
        return max(near, key=lambda name: len(_stems(name) & self.stems), default=of_rows)

    def typed(self, word: str) -> str:
        """A word that is nearly the name of a column, as it was typed; empty for any other."""
        other = is_stop_word(word.lower()) or word.lower() in _NOT_VALUES or self.column(word)
        return word if not other and nearest(word, self.columns) else ""

    @cached_property
    def mentioned(self) -> Sequence[tuple[int, str]]:
        """(place, column), in the order of the text; a column may come several times."""
        found = [(word.start(), self.column(word[0])) for word in _WORD.finditer(self.text)]
        others = [
            (self.text.find(name), name) for name in self.columns if not _WORD.fullmatch(name) and name in self.text
        ]
        return sorted((place, name) for place, name in found + others if name)


def _stems(name: str) -> frozenset[str]:
    parts = re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
    return frozenset(stem(part) for part in parts)


def analysis_asked(frames: Sequence[Frame], request: str) -> Analysis:
    """What the request asks of the first table, joined with the second where there are two."""
    text, counted = _text_of(frames, request)
    request, columns = text.text, text.columns
    where = tuple(_conditions(text))
    order, down = _order(text)
    by, over, also = _groups(text, order)
    head, noun = _head(text)
    if noun and (of := text.column(noun)) and not _is_number(columns[of]):
        by = by if by and by not in columns else of
    how = "count" if counted else _how(text, order)
    if head and by and not first_match(request, r"\bm(?:ax|in)imum\b"):
        how = "" if how in ("max", "min") else how  # the largest of the totals
    measures = _measures(text, {by, over, also}, [one.column for one in where])
    column, against = ([*measures, "", ""])[:2]
    if head and not by:  # the rows with the largest figures
        how, order, column = "", order or column, ""
    if how == "sum" and by and not column and not first_match(request, FREQUENT):
        column = _meant(columns, {by, over, also}, request)
    if how == "corr" and not against:
        how = ""
    if not by and first_match(request, _ROWS) and how in ("", "sum", "max", "min", "count"):
        how, column = ("count" if how == "count" and not order else ""), ""
    if not (by or over or how) and column in [one.column for one in where]:
        column = ""  # it is compared: its rows are asked for
    joined = frames[1] if len(frames) > 1 else None
    if joined and not (by or how):
        column = ""
    most = by and not head and not order and _asks_for_one(request)
    return Analysis(
        table=frames[0].name,
        where=where,
        by=by,
        over=over,
        also=also,
        column=column if how != "count" else "",
        against=against if how != "count" and column else "",
        how=how,
        sort=order or (("rows" if how == "count" else column) if (head or most) and by else ""),
        descending=not first_match(request, LOW) if head or most else down,
        head=head,
        join=joined.name if joined else "",
        on=_key(text, frames) if joined else "",
        unknown="" if by or over or order or head else _unknown_group(text),
        single=bool(by and not (joined or also) and is_single(columns.get(by))),
        known=frozenset(columns),
    )  # fmt: skip


def _text_of(frames: Sequence[Frame], request: str) -> tuple[_Text, bool]:
    """The request without the names of tables; and whether it asks to count their rows."""
    columns = {column.name: column for frame in reversed(frames) for column in frame.columns}
    rows = frozenset(one for frame in frames for one in _stems(frame.name))
    counted = any(stem(found["x"].lower()) in rows for found in _COUNTED.finditer(request))
    for frame in frames:
        request = re.sub(rf"\b{re.escape(frame.name)}\b", " ", request) if frame.name not in columns else request
    return _Text(request, columns, rows), counted


def _asks_for_one(request: str) -> bool:
    """Whether it asks which group has the most, or the least."""
    return bool(first_match(request, r"\b(?:which|what)\b|哪") and first_match(request, HIGH, LOW))


def _meant(columns: Mapping[str, Column], taken: Collection[str], request: str) -> str:
    """The column of figures that is summed where none is named: the one a verb hints at, else the only one there is."""
    figures = [
        name
        for name, column in columns.items()
        if _is_number(column) and not _is_time(column) and name not in taken and not _LABEL.search(name.lower())
    ]
    for verb, hints in _VERBS.items():
        if re.search(verb, request, re.IGNORECASE):
            alike = ([name for name in figures if re.search(hint, name.lower())] for hint in hints)
            figures = next(filter(None, alike), figures)
    return figures[0] if len(figures) == 1 else ""


def _is_number(column: Column) -> bool:
    return column.type.lower().startswith(("int", "float", "uint"))


def _is_time(column: Column) -> bool:
    return column.type.startswith("datetime") or _TIME.fullmatch(column.name) is not None


def label_column(columns: Iterable[Column]) -> str:
    """The first column of texts in which each row has its own; empty for none."""
    return next((one.name for one in columns if one.type == "str" and is_single(one)), "")


def _how(text: _Text, order: str) -> str:
    """The aggregate that the request asks for; empty where it leaves that open."""
    if first_match(text.text, _CORRELATION):
        return "corr"
    return "" if order else next((how for how, pattern in _HOW if first_match(text.text, pattern)), "")


def is_single(column: Column | None) -> bool:
    """Whether each value of a column is in one row."""
    distinct = re.match(r"([\d,]+) distinct", column.summary) if column else None
    return bool(column and distinct and distinct[1].replace(",", "") == column.present)


def _conditions(text: _Text) -> Iterator[Condition]:
    """Comparisons, equalities, then values that the request names alone: `only for tea`."""
    for found in _COMPARED.finditer(text.text):
        sign = next(sign for kind, sign in _SIGNS.items() if found[kind])
        if name := _compared(text, found):
            yield Condition(name, sign, _number(found["n"]))
    for found in _BETWEEN.finditer(text.text):
        if name := _compared(text, found):
            yield Condition(name, ">=", _number(found["low"]))
            yield Condition(name, "<=", _number(found["high"]))
    equal: dict[str, list[Any]] = {}
    for found in _EQUAL.finditer(text.text):
        name, typed = text.column(found["x"]), found["value"].rstrip(".")
        if name and not is_stop_word(typed.lower()) and not text.column(typed):
            equal.setdefault(name, []).append(_value(text.columns[name], typed))
    for name, column in text.columns.items():
        for value in column.values:
            said = re.search(rf"(?<![\w/]){re.escape(value)}s?(?![\w/])", text.text, re.ASCII | re.IGNORECASE)
            if said and not _is_number(column) and value not in equal.setdefault(name, []):
                equal[name].append(value)
    for name, column in text.columns.items():
        plain = re.escape(name.replace("_", " "))
        if column.type == "bool" and first_match(text.text, rf"\b{plain}\b"):
            equal.setdefault(name, [not first_match(text.text, rf"\b(?:without|no|not)\s+(?:\w+ )?{plain}\b")])
    for name, values in equal.items():
        if values:
            yield Condition(name, "==", values[0]) if len(values) == 1 else Condition(name, "in", tuple(values))


def _compared(text: _Text, found: re.Match[str]) -> str:
    """The column of numbers that a comparison is about: `more than 6 units`, `units above 6`."""
    numbers = [(place, name) for place, name in text.mentioned if _is_number(text.columns[name])]
    word = _WORD.match(text.text, found.end() + 1)
    if word and any(place == word.start() for place, _ in numbers):
        return text.column(word[0])
    before = [name for place, name in numbers if place < found.start()]
    after = [name for place, name in numbers if place >= found.end()]
    only = [column.name for column in text.columns.values() if _is_number(column)]
    hints = [one.name for one in text.columns.values() if _is_number(one) and hinted(one, found[0])]
    return [*before[-1:], *after[:1], *hints, *(only if len(only) == 1 else []), ""][0]


def _number(typed: str) -> float:
    return float(typed.replace(",", ""))


def _value(column: Column, typed: str) -> Any:
    """A value as the column holds it: a number, True or False, or a text as it was seen."""
    if column.type == "bool":
        return typed.lower() in ("true", "yes", "1")
    if _is_number(column):
        try:
            return float(typed)
        except ValueError:
            return typed
    return next((value for value in column.values if value.casefold() == typed.casefold()), typed)


def _order(text: _Text) -> tuple[str, bool]:
    """The column to sort by, as far as the request says so, and whether it goes down."""
    found = _SORT.search(text.text)
    if found is None:
        return "", False
    place = max(found.start("x"), found.start("y"))
    after = [name for at, name in text.mentioned if place <= at < place + 30]
    return (after or [text.typed(found["x"] or found["y"])])[0], bool(first_match(text.text, _DOWN))


def _groups(text: _Text, order: str) -> tuple[str, str, str]:
    """The columns to group by, to draw along, and to group by besides; a misspelt one is taken as it was typed."""
    by = over = also = ""
    is_ordered = bool(order or first_match(text.text, *_FIRST))
    for found in _GROUP.finditer(text.text):
        name = text.column(found["x"])
        column = text.columns.get(name)
        if column is None:
            by = by or ("" if is_ordered else text.typed(found["x"]))
        elif _is_time(column):
            over = over or name
        elif not (_is_number(column) and (is_ordered or column.values == ())):
            by = by or name
            second = _AND.match(text.text, found.end())
            other = text.columns.get(text.column(second["x"])) if second else None
            also = other.name if other and other.name != by and not _is_number(other) else also
    if (asked := _ASKED_OF.search(text.text)) and not by and first_match(text.text, HIGH, LOW):
        name = text.column(asked["x"])
        by = name if name and not _is_number(text.columns[name]) else by
    along = _OVER.search(text.text)
    if along and not over:
        name = text.column(along["x"])
        times = [column.name for column in text.columns.values() if _is_time(column)]
        named = name if name and not _is_number(text.columns[name]) else ""
        over = named or (times[0] if times and along["x"].lower() in ("time", "the") else "")
    if not over and first_match(
        text.text, r"\b(?:over|through|along) (?:the )?(?:time|months|days|years|weeks)\b|随时间"
    ):
        over = next((column.name for column in text.columns.values() if _is_time(column)), "")
    if over and not by and not first_match(text.text, r"\bover\b|\bagainst\b|\bline\b|随|折线"):
        return over, over, ""
    return by, over, also


def _unknown_group(text: _Text) -> str:
    """A word that the request groups by, and that is like no column."""
    words = (found["x"] for found in _GROUP.finditer(text.text))
    return next((word for word in words if not is_stop_word(word.lower()) and word.lower() not in _NOT_VALUES), "")


def _head(text: _Text) -> tuple[int, str]:
    """How many of the first are asked for, and of what."""
    found = first_match(text.text, *_FIRST)
    if found is None:
        return 0, ""
    count = found["n"].lower()
    return _NUMBERS.get(count) or int(count), found["noun"] or ""


def _measures(text: _Text, taken: set[str], compared: Sequence[str]) -> list[str]:
    """The columns of numbers that the request means, in its order; one that it misspells as it was typed."""
    numbers = [name for _, name in text.mentioned if name not in taken and _is_number(text.columns[name])]
    named = list(dict.fromkeys(numbers))
    left = [name for name in named if name not in compared] or named
    if left:
        return left
    for found in _VALUE.finditer(text.text):
        if (word := text.typed(found["x"])) and word not in taken:
            return [word]
    return [one.name for one in text.columns.values() if _is_number(one) and hinted(one, text.text)][:1]


def _key(text: _Text, frames: Sequence[Frame]) -> str:
    """The column to join on: the one that is named, else the first that both tables have."""
    found = _ON.search(text.text)
    word = (found["x"] or found["y"]) if found else ""
    other = {column.name for column in frames[1].columns}
    shared = [column.name for column in frames[0].columns if column.name in other]
    return text.column(word) or word or (shared[0] if shared else "")


def wants_join(request: str) -> bool:
    return first_match(request, _JOIN) is not None


def fit(frame: Frame, request: str) -> int:
    """How many columns and values of a table the request names."""
    text = _Text(request, {column.name: column for column in frame.columns}, _stems(frame.name))
    return len({name for _, name in text.mentioned}) + sum(one.sign in ("==", "in") for one in _conditions(text))
