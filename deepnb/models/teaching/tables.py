"""The user's tables as `inspect_variable` describes them, and which of them a request is about."""

import csv
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from deepnb.gate.spans import word_set

_HEAD = re.compile(
    r"(?:^|(?<=\s))`?(?P<name>\w+)`?: (?P<kind>DataFrame|polars DataFrame|pyarrow (?:Table|RecordBatch)),"  # sales: DataFrame,
    r" (?P<rows>[\d,]+) rows? [x×] (?P<columns>[\d,]+) columns?",  # 8,000 rows x 5 columns
    re.M,
)
_LISTED = re.compile(r"^[-*\s]*`?([A-Za-z_]\w*)`?\s*: *(DataFrame|polars DataFrame|pyarrow (?:Table|RecordBatch))\b", re.M)  # fmt: skip
UNITS = word_set("""c f k mm cm m km kg 1e24 g t h s s2 min days pct percent usd eur euro euros ms lb ft mg ml l kwh kw w
mwh in""")
_GENERIC = ("id", "ids", "name", "no", "nr", "number", "code", "key", "label", "uuid")
# order_id
_ID = re.compile(r"(?:^|_)(?:id|ids|code|zip|zipcode|postcode|postal_code|plz|no|nr|number|index|key|uuid|phone|sku|isbn)$")  # fmt: skip
_AVERAGED = re.compile(
    r"temp|price|mass|length|depth|width|diameter|size|distance|rate|ratio|share|percent|pct|mean|avg|average|median|age$"  # price, age
    r"|height|weight|gravity|density|score|grade|speed|_c$|radius|pressure|humidity|rating|salary|year|duration"  # body_weight
)
_SHORT = {"qty": "quantity", "temp": "temperature", "amt": "amount", "dept": "department", "avg": "average"}
_NO_NOUN = ("data", "table", "frame", "the", "raw", "dataset", "copy", "new", "old", "all")


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case, each in the singular: `OrderDate` and `order_dates` are `order date`."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return [singular(_SHORT.get(word, word)) for word in re.split(r"[\W_]+", apart.lower()) if word]


def singular(word: str) -> str:
    """Return an English word in the singular, by the commonest rules."""
    word = word.lower()
    if len(word) < 4 or word in ("series", "species"):
        return word
    endings = r"(?<=..)(?:(ies)|(x|ch|sh|ss)es|(ss|us|is)|s)$"  # cities, boxes, mass, crates
    return re.sub(endings, lambda found: "y" if found[1] else found[2] or found[3] or "", word)


@dataclass(frozen=True)
class Column:
    """A column of a description, or the index of a table where it is a date.

    `known` is how many rows have a value (-1: nothing says it), `listed` whether the values that were seen are all.
    """

    name: str
    type: str
    summary: str = ""
    known: int = -1
    values: tuple[str, ...] = ()
    listed: bool = False

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
        found = re.search(r"\bmin ([01])\b.*\bmax (\d+)\b", self.summary)
        counts = found and "int" in self.type.lower() and int(found[2]) - int(found[1]) + 1 == self.known > 4
        return bool(counts or _ID.search(re.sub(r"([a-z])([A-Z])|[\W_]+", r"\1_\2", self.name).lower()))

    @property
    def adds_up(self) -> bool:
        """Whether a sum of it is what one asks for: of units, not of prices."""
        return self.is_number and not self.is_id and not _AVERAGED.search(self.name.lower())

    @property
    def units(self) -> set[str]:
        return set(re.split(r"[\W_]+", self.name.lower())) & UNITS

    @property
    def distinct(self) -> int:
        """How many values it has, if that is said."""
        found = re.match(r"([\d,]+) distinct", self.summary)
        return int(found[1].replace(",", "")) if found else -1

    @cached_property
    def phrases(self) -> set[str]:
        """What it may be called: its whole name, its last words, of a name or number what it is the name of."""
        words = name_words(self.name)
        while len(words) > 1 and words[-1] in UNITS:
            words.pop()
        generic = {" ".join(words[:-1])} if len(words) > 1 and words[-1] in _GENERIC else set()
        return generic | {" ".join(words[i:]) for i in range(len(words))}


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
        single = [k.name for k in self.columns if k.is_text and k.distinct == self.rows]
        return next(iter([*single, *(k.name for k in self.columns if k.is_id)]), "")

    @property
    def dates(self) -> list[Column]:
        return [column for column in self.columns if column.is_date]

    def column(self, name: str) -> Column:
        return next((c for c in self.columns if c.name == name), Column(name, ""))

    def named(self, phrase: str) -> list[Column]:
        """Return the columns that a phrase may mean: exactly so called, else by their last words."""
        plain = phrase.casefold()
        exact = [c for c in self.columns if plain in (c.name.casefold(), c.name.casefold().replace("_", " "))]
        if exact:
            return [c for c in exact if c.name == phrase] or exact
        said = " ".join(name_words(phrase)) if re.fullmatch(r"[\w\s-]+", phrase) else ""
        found = [c for c in self.columns if said and said in c.phrases]
        whole = [c for c in found if " ".join(name_words(c.name)) == said]
        ids = [c for c in found if c.is_id and " ".join(name_words(c.name)[:-1]) == said]
        return whole or ids or found

    def lacking(self, column: Column) -> int:
        """Return how many rows have no value there, as far as the description says."""
        return self.rows - column.known if column.known >= 0 else 0


def parse_frame(text: str) -> tuple[Frame, str] | None:
    """Return the first description of a table in a text, and the text without it."""
    if (head := _HEAD.search(text)) is None:
        return None
    lines = text[head.end() :].split("\n")
    at = next((i for i, line in enumerate(lines) if line.strip() and line.count("|") < 2), len(lines))
    cells = [[cell.strip() for cell in line.split("|")] for line in lines[:at] if line.strip()]
    sampled = lines[at : at + 1] != [] and lines[at].startswith("figures are of a sample")
    rest = lines[at + sampled :]
    # The lines of CSV below `first rows:` are those with as many cells as the first.
    read = [next(csv.reader([line]), []) for line in rest[1:]] if rest and rest[0].startswith("first rows") else []
    sample = list(takewhile(lambda row: row and len(row) == len(read[0]), read))
    seen = {name: values for name, *values in zip(*sample, strict=True)}
    kept = [one for one in cells if one[:2] != ["column", "type"] and not set(one[0]) <= set("-: ")]
    columns = [_column(one[0], one[1], one[-1], one[2] if len(one) > 3 else "", seen.get(one[0], [])) for one in kept]
    rows, width = (int(head[key].replace(",", "")) for key in ("rows", "columns"))
    if sample and len(sample[0]) == len(columns) + 1 and sample[0][0] not in {c.name for c in columns}:
        dates = len(sample) > 1 and all(re.match(r"\d{4}-\d{2}-\d{2}\b", one[0]) for one in sample[1:])
        columns.insert(0, Column(sample[0][0], "datetime" if dates else "index", "", rows))
    left = "\n".join(rest[len(sample) + 1 :] if sample else rest)
    return Frame(head["name"], rows, width, tuple(columns), head["kind"], sampled), text[: head.start()] + left


def _column(name: str, kind: str, summary: str, known: str, sample: list[str]) -> Column:
    listed = re.search(r"\b([\d,]+) distinct: (.*)", summary)
    texts = [re.sub(r" \(\d+\)$", "", one) for one in listed[2].split(", ")] if listed else []
    values = [one for one in texts if not one.endswith("...")]
    every = bool(listed) and listed[1].replace(",", "") == str(len(values))  # type: ignore[index]
    column = Column(name, kind, summary, int(known) if known.isdecimal() else -1)
    if kind == "bool":
        return replace(column, values=("True", "False"), listed=True)
    more = [one for one in sample if one and not one.endswith("...")] if column.is_text and not every else []
    return replace(column, values=tuple(dict.fromkeys([*values, *more])), listed=every)


def listed_tables(listing: str) -> list[str]:
    """Return the tables that `list_variables` shows."""
    return list(dict.fromkeys(name for name, _ in _LISTED.findall(listing)))


def mentioned(request: str, names: list[str]) -> list[str]:
    """Return the tables that a request names; of several the one that it asks in."""
    said = re.findall(r"\w+", request, re.A)
    exact = [name for name in names if name in said]
    within = r"\b(?:in|from|of|dataframe|table)\s+`?{}\b"
    asked_in = [name for name in exact if re.search(within.format(re.escape(name)), request, re.I | re.A)]
    low = {word.lower() for word in said}
    return asked_in if len(asked_in) == 1 else exact or [name for name in names if name.lower() in low]
