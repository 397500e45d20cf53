"""DataFrames: look at one with `inspect_variable`, and answer out of what that says."""

import csv
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.words import first_match, short, words

_TABLE = r"DataFrame|polars DataFrame|pyarrow (?:Table|RecordBatch)"
_HEAD = re.compile(
    r"(?:^|(?<=\s))`?(?P<name>\w+)`?: (?P<kind>" + _TABLE + r"),"
    r" (?P<rows>[\d,]+) rows? [x×] (?P<columns>[\d,]+) columns?",
    re.M,
)
_FIGURE = r"(?P<value>[^\s,(]+)(?: \((?P<label>[^)]*)\))?"
_NAMES, _DESCRIBED = 30, 12
"""Columns whose names are listed, or which are described, at most."""
LOOKED_AT = 3
"""Tables that are looked at where the request names none."""
_ABOUT = (
    r"\bdata ?frames?\b|\bdf\b|\bthe (?:data|table|dataset)\b|\bcolumns?\b|\brows?\b|\b(?:kernel )?variables?\b",
    r"数据框|数据表|数据集|数据|变量|哪些列|列名|几列|多少列|几行|多少行",
)
_NAMED = (
    r"`(?P<name>[A-Za-z_]\w*)`",
    r"\b(?P<name>(?!the\b|a\b|my\b|this\b|that\b|data\b|which\b|what\b|our\b|your\b|in\b|of\b|any\b)[A-Za-z_]\w*)\s+(?:data ?frame|df|table|dataset)\b",
    r"\b(?:data ?frame|df|table|dataset|variable)\s+(?:named |called |名为|叫)?(?P<name>(?!(?:is|has|have|and|or|the|do|does|are|in|of|with|i|we|you|look|called|named)\b)[A-Za-z_]\w*)",
    r"\b(?:describe|inspect|analy[sz]e)\s+(?:the\s+)?(?P<name>(?!(?:yourself|this|that|it|me|data|the|a|an|your|my|how|what)\b)[A-Za-z_]\w*)\s*[.!?]?$",
)
HIGH = r"\b(?:highest|strongest|largest|biggest|greatest|most|max(?:imum)?|hottest|warmest|longest|heaviest|fastest|tallest|farthest|furthest|densest|oldest|best)\b|最(?:高|大|强|重|热|长|快|多|远|密|老)"
LOW = r"\b(?:lowest|weakest|smallest|least|min(?:imum)?|fewest|coldest|coolest|shortest|lightest|slowest|closest|nearest|youngest|worst)\b|最(?:低|小|弱|轻|冷|短|慢|少|近|年轻)"
_HIGHEST = {"max": "highest", "min": "lowest"}
MEAN = r"\b(?:mean|average|avg)\b|平均"
_TOTAL = r"\b(?:most|fewest|least|best|worst|total|overall|altogether|in all|sum)\b|最(?:多|少)|总|合计|一共"
_HINTS = (
    (r"heav|light(?:est)|weigh|质量|重量|最重|最轻", "mass weight"),
    (r"hot|cold|warm|cool|温度|最热|最冷", "temperature temp"),
    (r"fast|slow|最快|最慢|速度", "speed velocity"),
    (r"biggest|largest|smallest|大小|最大|最小|半径|直径", "radius diameter size"),
    (r"far|clos|near|距离|最远|最近", "distance"),
    (r"dens|密度", "density"),
    (r"old|young|年龄", "age"),
    (r"tall|高度|身高", "height"),
    (r"重力", "gravity"),
    (r"卫星", "moons"),
    (r"价格|贵|便宜", "price"),
    (r"长度", "length"),
)


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    summary: str
    present: str = ""
    """How many rows have a value."""
    values: tuple[str, ...] = ()
    """Values that were seen: those of a few, and of the first rows."""

    def figure(self, what: str) -> tuple[str, str] | None:
        """(value, label of its row) of `min`, `mean` or `max`."""
        found = re.search(rf"\b{what} {_FIGURE}", self.summary)
        return (found["value"], found["label"] or "") if found else None


@dataclass(frozen=True)
class Frame:
    """A DataFrame as `inspect_variable` describes it."""

    name: str
    rows: str
    width: str
    columns: tuple[Column, ...]
    kind: str = "DataFrame"
    """`polars DataFrame` or `pyarrow Table` for one of another library."""

    @property
    def code(self) -> str:
        """The expression that gives it as a pandas table."""
        return self.name if self.kind == "DataFrame" else f"{self.name}.to_pandas()"

    def lacking(self, column: Column) -> int:
        """How many rows have no value there, as far as the description says."""
        present = column.present
        return int(self.rows.replace(",", "")) - int(present) if present.isdecimal() else 0

    def missing(self, column: Column) -> str:
        """`, 2 missing`; empty where each row has a value."""
        return f", {lacking:,} missing" if (lacking := self.lacking(column)) else ""

    @property
    def hidden(self) -> int:
        """How many columns are not described."""
        return max(0, int(self.width.replace(",", "")) - len(self.columns))


@dataclass(frozen=True)
class Groups:
    """A question about the groups of rows that share a name: which has the most, or the fewest."""

    by: str
    column: str
    how: str
    descending: bool

    def args(self, table: str) -> dict[str, Any]:
        """The arguments of `query_table` that answer it."""
        sort = f"{'-' if self.descending else ''}{self.column}"
        return {"table": table, "by": [self.by], "aggregate": {self.column: self.how}, "sort": sort}


def parse_frame(text: str) -> tuple[Frame, str] | None:
    """The first description of a DataFrame in a text, and the text without it."""
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
            columns.append(Column(cells[0], cells[1], cells[-1], cells[2] if len(cells) > 3 else ""))
        end += len(line)
    sample = list(csv.DictReader(text[end:].splitlines()[1:])) if text[end:].startswith("first rows") else []
    columns = [replace(column, values=_values(column, sample)) for column in columns]
    rest = text[: head.start()] + _without_sample(text[end:].splitlines())
    return Frame(head["name"], head["rows"], head["columns"], tuple(columns), head["kind"]), rest


def _values(column: Column, sample: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The values of a column that a description shows, each once."""
    listed = re.fullmatch(r"[\d,]+ distinct: (.*)", column.summary)
    texts = [re.sub(r" \(\d+\)$", "", text) for text in listed[1].split(", ")] if listed else []
    texts += [row[column.name] for row in sample if isinstance(row.get(column.name), str)]
    return tuple(dict.fromkeys(text for text in texts if text not in ("", "...")))


def _without_sample(lines: Iterable[str]) -> str:
    """What follows a description, its first rows left out: their header would match any column."""
    kept: list[str] = []
    sample, header = False, ""
    for line in lines:
        if line.startswith("first rows"):
            sample, header = True, ""
        elif sample and (re.search(r"\S[,|\t]\S", line) or (header and line.count(",") == header.count(",") > 0)):
            header = header or line  # a row may be all but empty: `,4`
        else:
            sample = False
            kept.append(line)
    return "\n".join(kept)


def without_tables(text: str) -> str:
    """A request without the descriptions of tables that were filled in: their values are none of its words."""
    while found := parse_frame(text):
        text = found[1]
    return text


def wants_frame(c: Conversation) -> str | None:
    """The name of a variable as far as the request tells it, else an empty one."""
    if parse_frame(c.request):
        return ""
    if named := first_match(c.request, *_NAMED):
        return named["name"]
    return "" if first_match(c.request, *_ABOUT) else None


def wants_superlative(c: Conversation) -> str | None:
    """A question such as `Which planet has the strongest gravity?`, where there are variables to look at."""
    near = "list_variables" in c.tools or parse_frame(c.base) is not None
    return "" if near and first_match(c.request, HIGH, LOW, MEAN) else None


def look(c: Conversation, name: str) -> Script:
    """Find the variable, inspect it, answer; a description in the prompt itself is enough."""
    given = parse_frame(c.request) or (parse_frame(c.base) if not name else None)
    if given:
        frame, rest = given
        return (yield from answer_asked(c, frame, rest if given == parse_frame(c.request) else c.request))
    step = yield from _inspect(c, name)
    if isinstance(step, str):
        return step
    found = parse_frame(step.result)
    if found is None:
        name = step.args.get("name", "it")
        quote = "\n".join(f"> {short(line, 160)}" for line in step.result.splitlines()[:8])
        return c.tell(f"`inspect_variable` says of `{name}`:\n{quote}", f"`inspect_variable` 说 `{name}`：\n{quote}")
    return (yield from answer_asked(c, found[0], c.request))


def answer_asked(c: Conversation, frame: Frame, question: str) -> Script:
    """What the table says on the question: of groups of rows by `query_table`, of all else by its description."""
    if "query_table" in c.tools and (groups := groups_asked(frame, question)):
        step = yield Use("query_table", groups.args(frame.name), may_fail=True)
        if not step.failed and (best := _first_group(step.result)):
            return _group_figure(c, frame, groups, *best)
    return answer(c, frame, question)


def _inspect(c: Conversation, name: str) -> Generator[Use, Step, Step | str]:
    """The step that shows the variable, found by name or among all there are; else what is to be said."""
    if name:
        step = yield Use("inspect_variable", {"name": name}, may_fail=True)
        if not step.failed:
            return step
        if f"`{name}`" in c.request or "list_variables" not in c.tools:
            return failure(c, step)
    step = yield Use("list_variables", {})
    names, types = variables(step.result)
    name = _choose(c, names, types)
    frames = [n for n in names if types[n] == "DataFrame"][:LOOKED_AT]
    if len(frames) > 1 and not said(c.request, names) and first_match(c.request, HIGH, LOW, MEAN):
        best = yield Use("inspect_variable", {"name": frames[0]})
        for one in frames[1:]:
            step = yield Use("inspect_variable", {"name": one})
            best = max(best, step, key=lambda step: _fit(step.result, c.request))
        return best
    if not name:
        return _which(c, names, step.result)
    return (yield Use("inspect_variable", {"name": name}))


def variables(listing: str) -> tuple[list[str], dict[str, str]]:
    found = re.findall(r"^[-*\s]*`?([A-Za-z_]\w*)`?\s*: *((?:polars |pyarrow )?\w+)", listing, re.M)
    return [name for name, _ in found], dict(found)


def _choose(c: Conversation, names: list[str], types: dict[str, str]) -> str:
    """The variable that the request means; none where it only asks which there are, or where that is open."""
    asked = words(c.request)
    if named := said(c.request, names):
        return named[0]
    if first_match(c.request, r"\bvariables\b|\bdata ?frames\b|变量|哪些数据") and not first_match(
        c.request, HIGH, LOW, MEAN
    ):
        return ""
    frames = [n for n in names if re.fullmatch(_TABLE, types[n])]
    close = [n for n in frames or names if words(n.replace("_", " ")) & asked]
    return close[0] if close else frames[0] if len(frames) == 1 else ""


def said(request: str, names: Iterable[str]) -> list[str]:
    """The variables that a request names, in its order, but first those it asks in: "the heaviest penguins in my_table"."""
    known = set(names)
    found = [name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", request, re.ASCII)) if name in known]
    return sorted(found, key=lambda name: not re.search(rf"\b(?:in|from)\s+{name}\b", request, re.ASCII))


def _fit(description: str, question: str) -> int:
    """How many columns of a table the question speaks of."""
    found = parse_frame(description)
    columns = found[0].columns if found else ()
    return sum(bool(words(column.name.replace("_", " ")) & words(question)) for column in columns)


def _which(c: Conversation, names: list[str], listing: str) -> str:
    if not names:
        told = short(listing, 120) or "(nothing)"
        return c.tell(f"`list_variables` says: {told}", f"`list_variables` 说：{told}")
    lines = "\n".join(f"- {short(line.strip(), 120)}" for line in listing.splitlines()[:20] if line.strip())
    return c.tell(f"`list_variables` gives:\n{lines}", f"`list_variables` 给出：\n{lines}")


def answer(c: Conversation, frame: Frame, question: str) -> str:
    """What the description says on the question; a short description where it asks for nothing special."""
    if first_match(
        question,
        r"\bhow many (?:rows|columns)\b|\bshape\b|\bhow (?:big|large|long)\b|几行|多少行|几列|多少列|形状|大小",
    ):
        return _shape(c, frame)
    if first_match(question, r"\bcolumns\b|\bcolumn names\b|哪些列|列名|有什么列"):
        return _listed(c, frame, [f"- {k.name} ({k.type})" for k in frame.columns[:_NAMES]])
    if groups := groups_asked(frame, question):
        return _grouped(c, frame, groups)
    column = _column(frame, question)
    for pattern, what in ((HIGH, "max"), (LOW, "min"), (MEAN, "mean")):
        if first_match(question, pattern):
            return _figure(c, frame, _measure(frame, question), what)
    if column:
        return c.tell(
            f"`{column.name}` in {frame.name}: {column.type}, {column.summary}{frame.missing(column)}.",
            f"{frame.name} 的 `{column.name}`：{column.type}，{column.summary}{frame.missing(column)}。",
        )
    shown = frame.columns[:_DESCRIBED]
    return _listed(c, frame, [f"- {k.name} ({k.type}): {short(k.summary, 70)}{frame.missing(k)}" for k in shown])


def _listed(c: Conversation, frame: Frame, lines: list[str]) -> str:
    """The shape and a line for each column, and how many have none."""
    names = [column.name for column in frame.columns[len(lines) :]]
    left = len(names) + frame.hidden
    named = short(", ".join(names), 200)
    en, zh = (f": {named}", f"：{named}") if named else ("", "")
    more = [c.tell(f"- and {left:,} more columns{en}", f"- 另有 {left:,} 列{zh}")] if left and lines else []
    return "\n".join([_shape(c, frame), *lines, *more])


def _group(frame: Frame, column: Column, question: str) -> Column | None:
    """The column of names that the question asks for one of, where a name has several rows: `which region ... most units`."""
    asked = first_match(question, r"\b(?:which|what)\s+(?P<x>\w+)", r"(?:哪个|哪一个|哪种|哪些)\s*(?P<x>\w+)")
    if asked is None:
        return None
    wanted = words(asked["x"].replace("_", " "))
    for one in frame.columns:
        distinct = re.match(r"([\d,]+) distinct", one.summary)
        is_asked = words(one.name.replace("_", " ")) & wanted or one.name in asked["x"]
        if one is not column and distinct and is_asked and distinct[1] != one.present:
            return one
    return None


def _gathers(frame: Frame, group: Column, question: str) -> str:
    """How the rows of a name are to be gathered; empty where a single row answers the question."""
    if first_match(question, MEAN):
        return "mean"
    if first_match(question, _TOTAL):
        return "sum"
    labels = next((k for k in frame.columns if " distinct: " in k.summary), None)  # a figure names its row by it
    how = "max" if first_match(question, HIGH) else "min" if first_match(question, LOW) else ""
    return how if labels is not group else ""


def groups_asked(frame: Frame, question: str) -> Groups | None:
    """The groups that a question is about; None where a single row, or the whole column, answers it."""
    column = _measure(frame, question)
    if column and (group := _group(frame, column, question)) and (how := _gathers(frame, group, question)):
        return Groups(group.name, column.name, how, not first_match(question, LOW))
    return None


def _first_group(result: str) -> tuple[str, str] | None:
    """Name and figure of the first row that has both, in an answer of `query_table`."""
    rows = list(csv.reader(result.splitlines()[2:]))
    return next(((row[0], row[1]) for row in rows if len(row) == 2 and all(row)), None)


def _group_figure(c: Conversation, frame: Frame, groups: Groups, name: str, value: str) -> str:
    """`North has the most units in sales by region: 11 (sum).`"""
    english, han = _extreme(c.request, groups.column, groups.descending), "最大" if groups.descending else "最小"
    return c.tell(
        f"{name} has the {english} {groups.column} in {frame.name} by {groups.by}: {value} ({groups.how}).",
        f"{frame.name} 按 {groups.by} 计算 {groups.column}（{groups.how}），{name} {han}：{value}。",
    )


def _extreme(question: str, column: str, high: bool) -> str:
    """The adjective of the largest or the smallest value: of what is counted, that of the question."""
    counted = "|".join(map(re.escape, words(column.replace("_", " "))))
    asked = "most" if high else "fewest|least"
    found = re.search(rf"\b({asked})\s+(?:\w+\s+)?(?:{counted or '$'})", question, re.IGNORECASE)
    return found[1].lower() if found else _HIGHEST["max" if high else "min"]


def _grouped(c: Conversation, frame: Frame, groups: Groups) -> str:
    """That the description can't tell, and the line that does."""
    group, column = groups.by, groups.column
    code = f'{frame.code}.groupby("{group}")["{column}"].{groups.how}()'
    return c.tell(
        f"Several rows of {frame.name} have the same {group}, and I only see what each column holds, so I can't tell "
        f"that. This line gives {column} by {group}:\n\n```python\n{code}\n```",
        f"{frame.name} 中同一个 {group} 有多行，而我只看得到各列的概况，所以答不出。下面按 {group} 计算 {column}：\n\n"
        f"```python\n{code}\n```",
    )


def _shape(c: Conversation, frame: Frame) -> str:
    return c.tell(
        f"{frame.name} is a DataFrame of {frame.rows} rows and {frame.width} columns.",
        f"{frame.name} 是一个 {frame.rows} 行 {frame.width} 列的 DataFrame。",
    )


def _column(frame: Frame, question: str) -> Column | None:
    """The column whose name shares most words with the question; of equals a numeric one, then the first."""
    hints = " ".join(more for pattern, more in _HINTS if first_match(question, pattern))
    asked, hinted = words(question), words(hints)
    about = words(frame.name.replace("_", " "))

    def score(column: Column) -> tuple[int, int, bool]:
        own = words(column.name.replace("_", " "))
        return (len(own & (asked - about)) + (column.name in question), len(own & hinted), bool(column.figure("max")))

    best = max(frame.columns, key=score, default=None)
    return best if best and any(score(best)[:2]) else None


def _measure(frame: Frame, question: str) -> Column | None:
    """The column of figures that the question means: of `the heaviest species` the mass, not the species."""
    numbers = tuple(column for column in frame.columns if column.figure("max"))
    return _column(replace(frame, columns=numbers), question) or _column(frame, question)


def hinted(column: Column, question: str) -> bool:
    """Whether a word of the question hints at a column: `heaviest` at `mass_kg`."""
    hints = " ".join(more for pattern, more in _HINTS if first_match(question, pattern))
    return bool(words(column.name.replace("_", " ")) & words(hints))


def _figure(c: Conversation, frame: Frame, column: Column | None, what: str) -> str:
    figure = column.figure(what) if column else None
    if column is None or figure is None:
        numeric = ", ".join(k.name for k in frame.columns if k.figure("max")) or "none"
        return c.tell(
            f"I match words by rules and can't tell which column of {frame.name} that is about. Numeric ones: {numeric}.",
            f"我只按规则比对词语，看不出这问的是 {frame.name} 的哪一列。数值列有：{numeric}。",
        )
    value, label = figure
    english = "mean" if what == "mean" else _extreme(c.request, column.name, what == "max") if label else _HIGHEST[what]
    han = {"max": "最大值", "min": "最小值", "mean": "平均值"}[what]
    if not label:
        return c.tell(
            f"The {english} {column.name} in {frame.name} is {value}.",
            f"{frame.name} 的 {column.name} {han}是 {value}。",
        )
    return c.tell(
        f"{label} has the {english} {column.name} in {frame.name}: {value}.",
        f"{frame.name} 中 {column.name} 的{han}是 {value}，属于 {label}。",
    )
