"""The user's tables as `inspect_variable` describes them, and which of them a request is about."""

import csv
import re
from dataclasses import dataclass, replace
from functools import cached_property

_HEAD = re.compile(
    r"(?:^|(?<=\s))`?(?P<name>\w+)`?: (?P<kind>DataFrame|polars DataFrame|pyarrow (?:Table|RecordBatch)),"
    r" (?P<rows>[\d,]+) rows? [x×] (?P<columns>[\d,]+) columns?",
    re.M,
)
_LISTED = re.compile(
    r"^[-*\s]*`?([A-Za-z_]\w*)`?\s*: *(DataFrame|polars DataFrame|pyarrow (?:Table|RecordBatch))\b", re.M
)
_UNIT_WORDS = """
c f k mm cm m km kg 1e24 g t h s s2 min days pct percent usd eur euro euros ms lb ft mg ml l kwh kw w mwh in
"""
UNITS = frozenset(_UNIT_WORDS.split())
_GENERIC_WORDS = "id ids name no nr number code key label uuid"
_GENERIC = frozenset(_GENERIC_WORDS.split())
_ID = re.compile(
    r"(?:^|_)(?:id|ids|code|zip|zipcode|postcode|postal_code|plz|no|nr|number|index|key|uuid|phone|sku|isbn)$"
)
_AVERAGED = re.compile(
    r"temp|price|mass|length|depth|width|diameter|size|distance|rate|ratio|share|percent|pct|mean|avg|average|median|age$"
    r"|height|weight|gravity|density|score|grade|speed|_c$|radius|pressure|humidity|rating|salary|year|duration"
)
_SHORT = {
    "qty": "quantity", "temp": "temperature", "amt": "amount", "dept": "department", "num": "number", "avg": "average",
}  # fmt: skip
_NO_NOUN_WORDS = "df data table frame my the raw dataset copy new old all"
_NO_NOUN = frozenset(_NO_NOUN_WORDS.split())


def name_words(name: str) -> list[str]:
    """The words of a name in lower case, each in the singular: `OrderDate` and `order_dates` are `order date`."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return [singular(_SHORT.get(word, word)) for word in re.split(r"[\W_]+", apart.lower()) if word]


def singular(word: str) -> str:
    """An English word in the singular, by the commonest rules."""
    word = word.lower()
    if len(word) > 4 and word.endswith("ies") and word not in ("series", "species"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    plain = word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in ("series", "species", "gas")
    return word[:-1] if len(word) > 3 and plain else word


@dataclass(frozen=True)
class Column:
    """A column of a description, or the index of a table where it is a date."""

    name: str
    type: str
    summary: str = ""
    present: str = ""
    """How many rows have a value."""
    values: tuple[str, ...] = ()
    """Its values as far as they were seen."""
    listed: bool = False
    """Whether these are all."""

    @property
    def is_date(self) -> bool:
        return self.type.startswith(("datetime", "date"))

    @property
    def is_number(self) -> bool:
        return self.type.lower().startswith(("int", "uint", "float", "decimal"))

    @property
    def is_text(self) -> bool:
        return self.type in ("str", "category", "object")

    @cached_property
    def is_id(self) -> bool:
        """Whether its numbers are names: it is called so, or they count the rows without a gap."""
        found = re.search(r"\bmin (-?\d+)\b.*\bmax (-?\d+)\b", self.summary)
        low, high = (int(found[1]), int(found[2])) if found and "int" in self.type.lower() else (0, -1)
        counts = self.present.isdecimal() and high - low + 1 == int(self.present) > 4 and low in (0, 1)
        return (
            bool(_ID.search("_".join(re.split(r"[\W_]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", self.name).lower()))))
            or counts
        )

    @property
    def adds_up(self) -> bool:
        """Whether a sum of it is what one asks for: of units, not of prices."""
        return self.is_number and not self.is_id and not _AVERAGED.search(self.name.lower())

    @cached_property
    def units(self) -> frozenset[str]:
        return frozenset(word for word in re.split(r"[\W_]+", self.name.lower()) if word in UNITS)

    @cached_property
    def phrases(self) -> frozenset[str]:
        """What it may be called: its whole name, its last words, of a name or number what it is the name of."""
        words = name_words(self.name)
        while len(words) > 1 and words[-1] in UNITS:
            words.pop()
        found = {" ".join(words[i:]) for i in range(len(words))}
        if len(words) > 1 and words[-1] in _GENERIC:
            found.add(" ".join(words[:-1]))
        return frozenset(found)


@dataclass(frozen=True)
class Frame:
    """A table as `inspect_variable` describes it."""

    name: str
    rows: int
    width: int
    columns: tuple[Column, ...]
    kind: str = "DataFrame"
    sampled: bool = False

    @property
    def code(self) -> str:
        """The expression that gives it as a pandas table."""
        return self.name if self.kind == "DataFrame" else f"{self.name}.to_pandas()"

    @cached_property
    def nouns(self) -> frozenset[str]:
        """What its rows are called, by its name."""
        return frozenset(word for word in name_words(self.name) if word not in _NO_NOUN and len(word) > 2)

    @cached_property
    def label(self) -> str:
        """The column by which a row is named: the first text that is in one row only, else the first identifier."""
        single = (c for c in self.columns if c.is_text and self.distinct(c) == str(self.rows))
        ids = (c for c in self.columns if c.is_id)
        return next((c.name for c in (*single, *ids)), "")

    @staticmethod
    def distinct(column: Column) -> str:
        found = re.match(r"([\d,]+) distinct", column.summary)
        return found[1].replace(",", "") if found else ""

    @property
    def dates(self) -> list[Column]:
        return [column for column in self.columns if column.is_date]

    def column(self, name: str) -> Column:
        return next((c for c in self.columns if c.name == name), Column(name, ""))

    def named(self, phrase: str) -> list[Column]:
        """The columns that a phrase may mean: exactly so called, else by their last words."""
        plain = phrase.casefold()
        exact = [c for c in self.columns if plain in (c.name.casefold(), c.name.casefold().replace("_", " "))]
        if exact:
            return [c for c in exact if c.name == phrase] or exact
        said = " ".join(name_words(phrase)) if re.fullmatch(r"[\w\s-]+", phrase) else ""
        whole = [c for c in self.columns if said and " ".join(name_words(c.name)) == said]
        found = whole or [c for c in self.columns if said and said in c.phrases]
        ids = [c for c in found if c.is_id and " ".join(name_words(c.name)[:-1]) == said]
        return ids or found

    def lacking(self, column: Column) -> int:
        """How many rows have no value there, as far as the description says."""
        return self.rows - int(column.present) if column.present.isdecimal() else 0


def parse_frame(text: str) -> tuple[Frame, str] | None:
    """The first description of a table in a text, and the text without it."""
    head = _HEAD.search(text)
    if head is None:
        return None
    columns: list[Column] = []
    end = head.end()
    for line in text[head.end() :].splitlines(keepends=True):
        cells = [cell.strip() for cell in line.split("|")]
        if line.strip() and len(cells) < 3:
            break
        if len(cells) >= 3 and cells[:2] != ["column", "type"] and not set(cells[0]) <= set("-: "):
            columns.append(_column(cells[0], cells[1], cells[-1], cells[2] if len(cells) > 3 else ""))
        end += len(line)
    rest = text[end:].splitlines()
    if rest and rest[0].startswith("figures are of a sample"):
        rest = rest[1:]
    sample = _sample(rest)
    table = list(csv.DictReader(sample))
    names = next(csv.reader(sample[:1]), [])
    if names and len(names) == len(columns) + 1 and names[0] not in {c.name for c in columns}:
        columns.insert(0, _index(names[0], [str(row.get(names[0]) or "") for row in table], head["rows"]))
    seen = [replace(c, values=_seen(c, [row.get(c.name) for row in table])) for c in columns]
    width, rows = int(head["columns"].replace(",", "")), int(head["rows"].replace(",", ""))
    left = "\n".join(rest[len(sample) + 1 :] if sample else rest)
    sampled = "figures are of a sample" in text[end : end + 40]
    return Frame(head["name"], rows, width, tuple(seen), head["kind"], sampled), text[: head.start()] + left


def _column(name: str, kind: str, summary: str, present: str) -> Column:
    if kind == "bool":
        return Column(name, kind, summary, present, ("True", "False"), True)
    listed = re.search(r"\b([\d,]+) distinct: (.*)", summary)
    texts = [re.sub(r" \(\d+\)$", "", one) for one in listed[2].split(", ")] if listed else []
    values = tuple(one for one in texts if not one.endswith("..."))
    return Column(name, kind, summary, present, values, bool(listed) and listed[1].replace(",", "") == str(len(values)))  # type: ignore[index]


def _index(name: str, labels: list[str], rows: str) -> Column:
    dates = bool(labels) and all(re.match(r"\d{4}-\d{2}-\d{2}\b", one) for one in labels)
    return Column(name, "datetime" if dates else "index", "", rows.replace(",", ""))


def _sample(lines: list[str]) -> list[str]:
    """The lines of CSV below `first rows:`: those with as many cells as the first."""
    if not lines or not lines[0].startswith("first rows"):
        return []
    found: list[str] = []
    for line in lines[1:]:
        cells = len(next(csv.reader([line]), []))
        if not cells or (found and cells != len(next(csv.reader(found[:1])))):
            break
        found.append(line)
    return found


def _seen(column: Column, sample: list[str | None]) -> tuple[str, ...]:
    more = [value for value in sample if value and column.is_text and not column.listed and not value.endswith("...")]
    return tuple(dict.fromkeys((*column.values, *more)))


def without_tables(text: str) -> str:
    """A request without the descriptions of tables that were filled in: their values are none of its words."""
    while found := parse_frame(text):
        text = found[1]
    return text


def listed_tables(listing: str) -> list[str]:
    """The tables that `list_variables` shows."""
    return list(dict.fromkeys(name for name, _ in _LISTED.findall(listing)))


def mentioned(request: str, names: list[str]) -> list[str]:
    """The tables that a request names, those that it asks in first."""
    said = re.findall(r"[^\W]+", re.sub(r"(?<=[A-Za-z0-9_])(?=[㐀-鿿])|(?<=[㐀-鿿])(?=[A-Za-z0-9_])", " ", request))
    exact = [name for name in names if name in said]
    asked_in = [
        n for n in exact if re.search(rf"\b(?:in|from|of|dataframe|table)\s+`?{re.escape(n)}\b", request, re.I | re.A)
    ]
    if exact:
        return asked_in if len(asked_in) == 1 else exact
    return [name for name in names if name.lower() in {word.lower() for word in said}]


def called(request: str, names: list[str]) -> list[str]:
    """The tables whose rows a request calls by their name: `crate` of `crates`."""
    words = {singular(word) for word in re.findall(r"[A-Za-z]+", request)}
    return [name for name in names if Frame(name, 0, 0, ()).nouns & words]
