"""What a question about a table is answered with: the calls that it needs, and sentences made of what they gave.

Groups, rows and figures come from `query_table`; plots, the last rows and correlations from code that the user approves.
What a figure leaves out is a sentence of its own, out of the same result.
"""

import csv
import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.grammar import Ask, Condition, Unplaced, read
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.talk import nothing
from deepnb.models.teaching.tables import (
    Column,
    Frame,
    listed_tables,
    mentioned,
    parse_frame,
    without_tables,
)
from deepnb.models.teaching.vocabulary import unknown_words
from deepnb.models.teaching.words import first_match, short

QUERY, INSPECT, LIST = "query_table", "inspect_variable", "list_variables"
_SHOWN = 12
"""Lines of an answer."""
_LOOKED_AT, _PROBED = 3, 2
"""Tables that are looked at if none is named, and columns in which unknown words are looked for."""
_STRONG = (
    r"\b(?:how many|mean|average|avg|median|total|sum|highest|largest|biggest|greatest|most|fewest|least|lowest|smallest|max(?:imum)?"
    r"|min(?:imum)?|heaviest|lightest|longest|shortest|tallest|oldest|youngest|newest|latest|earliest|cheapest|hottest|coldest|warmest"
    r"|coolest|fastest|slowest|rows?|records|columns?|dataframe|data ?set|per|each|duplicates?|repeated|distinct|unique|missing values?"
    r"|nulls?|percentage|proportion|share of|sort(?:ed)?|top \w+|std|standard deviation|correlat\w+|monthly|daily|yearly)\b",
    r"每|平均|总和|合计|最[大小高低多少重轻热冷贵长短新早晚]|多少|几[行个]|行数|缺失|重复|排序|数据|哪个|占比|中位数|不同",
)
_WEAK = (r"^\s*(?:what|which|how|is|are|does|do|has|have|show|list|give|find|count|display|describe|tell me about|when)\b", r"什么|哪|描述|看看|列出|吗|查看")  # fmt: skip


def wants_table(c: Conversation) -> str | None:
    """A question that has the words of one about a table."""
    near = LIST in c.tools or parse_frame(c.base) is not None
    asks = parse_frame(c.request) is not None or (near and first_match(c.request, *_STRONG) is not None)
    return c.request if asks and len(c.request) < 20_000 else None


def wants_any_table(c: Conversation) -> str | None:
    """Any other question that may be about one."""
    near = LIST in c.tools and len(c.request) < 300
    return c.request if near and first_match(c.request, *_WEAK) else None


def ask(c: Conversation, request: str) -> Script:
    """Look at the tables that are meant, read the question, and answer it; else say which word has no place."""
    found = yield from understood(c, request)
    return found if isinstance(found, str) else (yield from answer(c, *found))


def understood(c: Conversation, request: str) -> Generator[Use, Step, tuple[Frame, Ask] | str]:
    """The table and the question, or what is to be said instead."""
    frames = yield from tables_asked(c, request)
    if isinstance(frames, str):
        return frames
    request = without_tables(request)
    readings: list[tuple[Frame, Ask]] = []
    failed: list[tuple[Frame, Unplaced]] = []
    for frame in frames:
        known = (yield from with_values(c, frame, request)) if len(frames) == 1 else frame
        try:
            readings.append((known, read(request, known)))
        except Unplaced as error:
            failed.append((known, error))
    if len(readings) == 1:
        return readings[0]
    if readings:
        names = [frame.name for frame, _ in readings]
        return refusal(c, Unplaced(readings[0][1].column or names[0], "tables"), readings[0][0], names)
    return refusal(c, failed[0][1], failed[0][0])


def tables_asked(c: Conversation, request: str) -> Generator[Use, Step, list[Frame] | str]:
    """The table that is named, the one last spoken of, or the few that there are."""
    if given := parse_frame(c.request) or parse_frame(c.base):
        return [given[0]]
    step = yield Use(LIST, {})
    names = listed_tables(step.result)
    named = mentioned(request, names)
    if len(named) > 1 and any(name in request for name in named):
        return refusal(c, Unplaced(named[1], "tables"), Frame(named[0], 0, 0, ()), named)
    spoken = [
        n for m in c.earlier for call in m.tool_calls for n in (call.args.get("name"), call.args.get("table")) if n
    ]
    last = next((name for name in reversed(spoken) if name in names), "")
    chosen = named if len(named) == 1 else [last] if last else names
    if not chosen:
        return nothing(c)
    if len(chosen) > _LOOKED_AT:
        return refusal(c, Unplaced(chosen[0], "tables"), Frame(chosen[0], 0, 0, ()), chosen)
    frames = []
    for name in chosen:
        step = yield Use(INSPECT, {"name": name})
        if found := parse_frame(step.result):
            frames.append(found[0])
    return frames or failure(c, step)


def with_values(c: Conversation, frame: Frame, request: str) -> Generator[Use, Step, Frame]:
    """The table with those values of its texts that the request has words for."""
    words = unknown_words(request, frame)
    open_columns = [column for column in frame.columns if column.is_text and not column.listed]
    seen = [value for column in frame.columns for value in column.values if value.casefold() in request.casefold()]
    if not words and not seen or len(words) > 12 or QUERY not in c.tools:
        return frame
    wanted = [*words, *(value for value in seen if isinstance(value, str))]
    forms = list(dict.fromkeys(form for word in wanted for form in _forms(word)))
    for column in open_columns[:_PROBED]:
        step = yield Use(
            QUERY, {"table": frame.name, "where": {column.name: forms}, "by": [column.name]}, may_fail=True
        )
        if not step.failed:
            values = tuple(dict.fromkeys((*column.values, *(row[0] for row in _result(step).rows))))
            columns = tuple(replace(one, values=values) if one.name == column.name else one for one in frame.columns)
            frame = replace(frame, columns=columns)
    return frame


def _forms(word: str) -> list[str]:
    forms = [word, word.lower(), word.upper(), word.title(), word.capitalize()]
    return [*forms, *(form[:-1] for form in forms if len(form) > 3 and form[-1:] == "s")]


# -- refusals


def refusal(c: Conversation, error: Unplaced, frame: Frame, tables: Sequence[str] = ()) -> str:
    """One line: the word that has no place, and two prompts that have."""
    why_en, why_zh = _WHYS.get(error.why, ("", ""))
    one, other = _prompts(c, frame)
    if tables:
        why_en, why_zh = f": there are {', '.join(tables[:4])}", f"：有 {'、'.join(tables[:4])}"
    return c.tell(
        f'I can\'t place "{error.word}" in that{why_en}. Try "{one}" or "{other}".',
        f"我无法理解“{error.word}”{why_zh}。可以试试“{one}”或“{other}”。",
    )


_WHYS = {
    "two": (": it may mean two things", "：它可以有两种意思"),
    "id": (": it names rows, and is no figure", "：它是编号，不是数值"),
    "text": (": it is no figure to compute with", "：它不是可以计算的数值"),
    "number": (": I group by no such figures", "：不能按这样的数值分组"),
    "how": (": say total, mean, median, highest or lowest", "：请说明总和、平均、中位数、最大或最小"),
    "dates": (": there is not one column of dates", "：没有唯一的日期列"),
    "and": (": say or, or ask of one at a time", "：请用“或”，或逐个询问"),
    "of what": (": it does not say of what", "：没有说明是什么的"),
    "missing": (": some rows have no value there", "：有的行没有值"),
    "values": (": there are too many values to choose from", "：值太多，无法选择"),
    "agree": (": it may mean a total or a single row, which differ here", "：可以指总和，也可以指单行，两者在这里不同"),
}


def _prompts(c: Conversation, frame: Frame) -> tuple[str, str]:
    """Two questions with the names of the table and of its columns."""
    numbers = [k.name for k in frame.columns if k.is_number and not k.is_id]
    texts = [k.name for k in frame.columns if k.is_text]
    name = frame.name
    if numbers and texts:
        return (
            c.tell(f"mean {numbers[0]} by {texts[0]} in {name}", f"{name} 里每个 {texts[0]} 的平均 {numbers[0]}"),
            c.tell(f"how many rows are there per {texts[-1]} in {name}?", f"{name} 里每个 {texts[-1]} 有多少行？"),
        )
    first = c.tell(f"what is in {name}?", f"描述 {name}")
    return first, c.tell(f"how many rows are in {name}?", f"{name} 有多少行？")


# -- results of query_table


@dataclass(frozen=True)
class Result:
    """What `query_table` gave."""

    matched: int
    groups: int
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: int
    missing: dict[str, int]


def _result(step: Step) -> Result:
    lines = step.result.splitlines()
    head = re.search(r": ([\d,]+) rows?(?: match)?(?:, ([\d,]+) groups?)?", lines[0] if lines else "")
    hidden = next((int(f[1]) for line in lines if (f := re.fullmatch(r"(\d+) more rows? not shown", line))), 0)
    noted = next((line.removeprefix("missing values: ") for line in lines if line.startswith("missing values: ")), "")
    missing = {
        name: int(n) for name, _, n in (one.rpartition(" ") for one in noted.split(", ") if noted) if n.isdecimal()
    }
    body = [row for row in csv.reader(lines[1:]) if row]
    names = tuple(body[0]) if body else ()
    rows = tuple(
        tuple(row) for row in body[1:] if len(row) == len(names) and not (len(row) == 1 and _NOTE.fullmatch(row[0]))
    )
    matched, groups = (int((head[i] or "0").replace(",", "")) for i in (1, 2)) if head else (0, 0)
    return Result(matched, groups, names, rows, hidden, missing)


_NOTE = re.compile(r"\d+ more (?:rows?|columns) not shown|missing values: .*")


class _No(Exception):
    """Raise where a call failed: its text is the answer."""


def _query(c: Conversation, frame: Frame, where: dict[str, Any], **args: Any) -> Generator[Use, Step, Result]:
    given = {
        "table": frame.name,
        **({"where": where} if where else {}),
        **{k: v for k, v in args.items() if v not in ("", [], {})},
    }
    step = yield Use(QUERY, given, may_fail=True)
    if step.failed:
        raise _No(failure(c, step))
    return _result(step)


def _where(c: Conversation, frame: Frame, conditions: Sequence[Condition]) -> Generator[Use, Step, dict[str, Any]]:
    """The conditions as `query_table` takes them: its ranges hold their ends, and it has no `not`."""
    where: dict[str, Any] = {}
    for one in conditions:
        column = frame.column(one.column)
        value: Any = one.value
        if one.sign in ("not", "contains", "present") and not (one.sign == "present" and not column.is_text):
            values = yield from _values(c, frame, column, one)
            if one.sign == "not" and frame.lacking(column):
                raise Unplaced(str(one.value[0]), "missing")
            text = str(one.value).casefold()
            value = [
                v
                for v in values
                if (text in v.casefold() if one.sign == "contains" else one.sign == "present" or v not in one.value)
            ]
        elif one.sign in ("in", "and"):
            value = list(one.value)
        elif one.sign == "missing":
            value = None
        elif one.sign == "present":
            value = {"min": "1700-01-01" if column.is_date else -1e308}
        elif one.sign != "==":
            value = _limit(column, one)
        other = where.get(one.column)
        if other is not None and not (isinstance(other, dict) and isinstance(value, dict)):
            raise Unplaced(one.column, "two")
        where[one.column] = {**other, **value} if other is not None else value
    return where


def _values(c: Conversation, frame: Frame, column: Column, one: Condition) -> Generator[Use, Step, list[str]]:
    if column.listed:
        return list(column.values)
    result = yield from _query(c, frame, {}, by=[column.name], head=100)
    if result.hidden or any(row[0].endswith("...") for row in result.rows):
        raise Unplaced(str(one.value), "values")
    return [row[0] for row in result.rows if row[0]]


def _limit(column: Column, one: Condition) -> dict[str, Any]:
    side = "min" if one.sign[0] == ">" else "max"
    if column.is_date:
        before = one.sign == "<" and f"{date.fromisoformat(one.value[:10]) - timedelta(days=1)} 23:59:59.999999"
        return {side: before or one.value}
    number = one.value
    if len(one.sign) == 1:
        whole = "int" in column.type.lower()
        up = side == "min"
        number = (math.floor(number) + 1 if up else math.ceil(number) - 1) if whole else math.nextafter(number, math.inf if up else -math.inf)  # fmt: skip
    return {side: int(number) if float(number).is_integer() and "int" in column.type.lower() else number}


# -- answers


def answer(c: Conversation, frame: Frame, asked: Ask) -> Script:
    """Answer a question about a table."""
    if asked.what in ("plot", "tail", "corr"):
        from deepnb.models.teaching.code import run

        return (yield from run(c, frame, asked, "", ()))
    try:
        return (yield from _ANSWERS[asked.what](c, frame, asked))
    except Unplaced as error:
        return refusal(c, error, frame)
    except _No as no:
        return str(no)


def _told(c: Conversation, asked: Ask) -> str:
    """The conditions in words."""
    parts = [_one(c, one) for one in asked.where]
    return c.tell(f" where {' and '.join(parts)}", f"（{'，'.join(parts)}）") if parts else ""


_SIGNS = {
    ">": ("is above", "大于"), ">=": ("is at least", "至少为"), "<": ("is below", "小于"), "<=": ("is at most", "至多为"), "==": ("is", "为"),
    "not": ("is not", "不为"), "in": ("is one of", "为"), "and": ("is one of", "为"), "contains": ("contains", "包含"),
}  # fmt: skip


def _one(c: Conversation, one: Condition) -> str:
    if one.sign in ("missing", "present"):
        return f"{one.column} {c.tell('is missing' if one.sign == 'missing' else 'is not missing', '缺失' if one.sign == 'missing' else '不缺失')}"
    sign = c.tell(*_SIGNS[one.sign])
    value = one.value if isinstance(one.value, tuple) else (one.value,)
    text = ", ".join(f"{v:g}" if isinstance(v, float) else str(v).replace(" 23:59:59.999999", "") for v in value)
    return f"{one.column} {sign} {text}"


def _left_out(c: Conversation, found: dict[str, int]) -> str:
    """How many rows were left out since a column has no value there."""
    en = ", ".join(f"{number:,} without `{name}`" for name, number in found.items() if number)
    zh = "，".join(f"{number:,} 行没有 `{name}`" for name, number in found.items() if number)
    return c.tell(f"\n\nRows left out: {en}.", f"\n\n未计入：{zh}。") if en else ""


def _label(c: Conversation, key: str, text: str) -> str:
    return text or c.tell(f"(no {key.partition('.')[0]})", f"（没有 {key.partition('.')[0]}）")


def _listing(lines: Sequence[str], more: int, c: Conversation) -> str:
    left = len(lines) - _SHOWN + more if len(lines) > _SHOWN else more
    rest = [c.tell(f"- and {left:,} more", f"- 另有 {left:,} 条")] if left else []
    return "\n".join([*(f"- {line}" for line in lines[:_SHOWN]), *rest])


def _describe(c: Conversation, frame: Frame, asked: Ask) -> Script:
    yield from ()
    if asked.column:
        k = frame.column(asked.column)
        lacks = c.tell(f", {frame.lacking(k):,} missing", f"，缺失 {frame.lacking(k):,}") if frame.lacking(k) else ""
        return c.tell(
            f"`{k.name}` in {frame.name}: {k.type}, {k.summary}{lacks}.",
            f"{frame.name} 的 `{k.name}`：{k.type}，{k.summary}{lacks}。",
        )

    def gap(k: Column) -> str:
        return c.tell(f", {frame.lacking(k):,} missing", f"，缺失 {frame.lacking(k):,}") if frame.lacking(k) else ""

    lines = [f"{k.name} ({k.type}): {short(k.summary, 70)}{gap(k)}" for k in frame.columns]
    return _columns_text(c, frame, lines)


def _columns_text(c: Conversation, frame: Frame, lines: list[str]) -> str:
    names = [column.name for column in frame.columns[_SHOWN:]]
    left = max(0, frame.width - len(frame.columns)) + len(names)
    named = f": {short(', '.join(names), 200)}" if names else ""
    more = [c.tell(f"- and {left:,} more columns{named}", f"- 另有 {left:,} 列{named}")] if left else []
    return "\n".join([_shape(c, frame), *(f"- {line}" for line in lines[:_SHOWN]), *more])


def _shape(c: Conversation, frame: Frame) -> str:
    return c.tell(
        f"{frame.name} is a DataFrame of {frame.rows} rows and {frame.width} columns.",
        f"{frame.name} 是一个 {frame.rows} 行 {frame.width} 列的 DataFrame。",
    )


def _size(c: Conversation, frame: Frame, asked: Ask) -> Script:
    yield from ()
    return _shape(c, frame)


def _columns(c: Conversation, frame: Frame, asked: Ask) -> Script:
    yield from ()
    return _columns_text(c, frame, [f"{k.name} ({k.type})" for k in frame.columns])


def _missing(c: Conversation, frame: Frame, asked: Ask) -> Script:
    yield from ()
    columns = [k for k in frame.columns if not asked.column or k.name == asked.column]
    if frame.sampled or any(not k.present.isdecimal() for k in columns):
        return c.tell(
            f"I only see a sample of {frame.name}, so I can't tell.", f"我只看到 {frame.name} 的样本，无法回答。"
        )
    gaps = [(k.name, frame.lacking(k)) for k in columns if frame.lacking(k)]
    hidden = frame.width - len(frame.columns)
    unseen = (
        c.tell(f" {hidden} columns were not looked at.", f"另有 {hidden} 列没有查看。")
        if hidden > 0 and not asked.column
        else ""
    )
    of = asked.column and f"{asked.column} in "
    if not gaps:
        return c.tell(f"No value is missing in {of}{frame.name}: 0.", f"{frame.name} 没有缺失值：0。") + unseen
    if asked.column:
        return c.tell(f"{gaps[0][1]:,} of {frame.rows} values of {asked.column} are missing in {frame.name}.", f"{frame.name} 的 {asked.column} 缺失 {gaps[0][1]:,} 个（共 {frame.rows} 行）。")  # fmt: skip
    head = c.tell(f"Missing values in {frame.name}:", f"{frame.name} 的缺失值：")
    return f"{head}\n{_listing([f'{name}: {number:,}' for name, number in gaps], 0, c)}{unseen}"


def _rows(c: Conversation, frame: Frame, asked: Ask) -> Script:
    head = asked.head or _SHOWN
    result = yield from _query(c, frame, (yield from _where(c, frame, asked.where)), head=head)
    return _table(c, frame, asked, result, c.tell(f"{result.matched:,} rows of {frame.name}{_told(c, asked)}", f"{frame.name}{_told(c, asked)}：{result.matched:,} 行") if asked.where else _first_rows(c, frame, asked))  # fmt: skip


def _first_rows(c: Conversation, frame: Frame, asked: Ask) -> str:
    return c.tell(f"The first {asked.head} rows of {frame.name}", f"{frame.name} 的前 {asked.head} 行")


def _table(c: Conversation, frame: Frame, asked: Ask, result: Result, head: str) -> str:
    """Rows, a line each, below the names of the columns."""
    if not result.rows:
        return f"{head}."
    lines = [", ".join(result.names), *(", ".join(row) for row in result.rows)]
    left = min(asked.head, result.matched) - len(result.rows) if asked.head else result.matched - len(result.rows)
    rest = [c.tell(f"- and {left:,} more rows", f"- 另有 {left:,} 行")] if left > 0 else []
    return "\n".join([f"{head}:", *(f"- {line}" for line in lines), *rest])


def _sort(c: Conversation, frame: Frame, asked: Ask) -> Script:
    sort = f"{'-' if asked.most else ''}{asked.column}"
    result = yield from _query(c, frame, (yield from _where(c, frame, asked.where)), sort=sort, head=_SHOWN)
    down = c.tell("from high to low" if asked.most else "from low to high", "从高到低" if asked.most else "从低到高")
    head = c.tell(
        f"{frame.name}{_told(c, asked)} by {asked.column}, {down}",
        f"{frame.name}{_told(c, asked)} 按 {asked.column} {down}",
    )
    return _table(c, frame, asked, result, head)


def _count(c: Conversation, frame: Frame, asked: Ask) -> Script:
    where = yield from _where(c, frame, asked.where)
    told = _told(c, asked)
    if not asked.by and not asked.where:
        return c.tell(f"{frame.name} is a DataFrame of {frame.rows} rows and {frame.width} columns.", f"{frame.name} 有 {frame.rows} 行。")  # fmt: skip
    result = yield from _query(c, frame, where, by=list(asked.by), head=0 if not asked.by else 20, columns=[] if asked.by else [frame.columns[0].name])  # fmt: skip
    if not asked.by:
        return c.tell(f"{result.matched:,} rows of {frame.name}{told}.", f"{frame.name}{told}：{result.matched:,} 行。")
    return _of_groups(c, frame, asked, result, c.tell("rows", "行数"))


def _exists(c: Conversation, frame: Frame, asked: Ask) -> Script:
    result = yield from _query(
        c, frame, (yield from _where(c, frame, asked.where)), head=0, columns=[frame.columns[0].name]
    )
    told, number = _told(c, asked), result.matched
    if not number:
        return c.tell(f"No, 0 rows of {frame.name}{told}.", f"没有：{frame.name}{told} 0 行。")
    return c.tell(f"Yes, {number:,} rows of {frame.name}{told}.", f"有：{frame.name}{told} {number:,} 行。")


def _of_groups(c: Conversation, frame: Frame, asked: Ask, result: Result, what: str) -> str:
    """A line for each group, and what they leave out."""
    keys, counted = len(asked.by), _counted(result, asked)
    hidden = [
        i for i, name in enumerate(result.names) if name == f"{asked.column} (count)" and "count" not in asked.hows
    ]
    lines = []
    for row in result.rows:
        figures = [f"{result.names[i].rpartition(' (')[2].rstrip(')')} {v or '-'}" if len(asked.hows) > 1 else v or "-" for i, v in enumerate(row) if i >= keys and i not in hidden]  # fmt: skip
        label = ", ".join(_label(c, key, text) for key, text in zip(asked.by, row, strict=False))
        lines.append(f"{label}: {', '.join(figures)}")
    by = ", ".join(asked.by)
    head = c.tell(
        f"{what} by {by} in {frame.name}{_told(c, asked)}:", f"{frame.name}{_told(c, asked)} 按 {by} 的 {what}："
    )
    left = {asked.column: result.matched - counted} if hidden and not result.hidden else {}
    return f"{head}\n{_listing(lines, result.hidden, c)}{_left_out(c, left)}"


def _counted(result: Result, asked: Ask) -> int:
    """How many rows have a value of the column, as far as it was asked."""
    at = next((i for i, name in enumerate(result.names) if name == f"{asked.column} (count)"), None)
    return sum(int(row[at]) for row in result.rows if row[at].isdecimal()) if at is not None else 0


def _figure(c: Conversation, frame: Frame, asked: Ask) -> Script:
    column = frame.column(asked.column)
    hows = [*asked.hows, *(["count"] if frame.lacking(column) else [])]
    where = yield from _where(c, frame, asked.where)
    aggregate = {asked.column: hows if len(hows) > 1 else hows[0]}
    result = yield from _query(c, frame, where, by=list(asked.by), aggregate=aggregate)
    named = " and ".join(_NAMES.get(how, how) for how in asked.hows)
    if asked.by:
        return _of_groups(c, frame, asked, result, f"{asked.column} ({', '.join(asked.hows)})")
    if not result.rows or not any(result.rows[0]):
        return c.tell(f"No row of {frame.name}{_told(c, asked)} has a value of {asked.column}.", f"{frame.name}{_told(c, asked)} 没有 {asked.column} 的值。")  # fmt: skip
    values = " and ".join(value for name, value in zip(result.names, result.rows[0], strict=True) if name.endswith(tuple(f"({h})" for h in asked.hows)))  # fmt: skip
    left = _left_out(c, {asked.column: result.matched - _counted(result, asked)}) if "count" in hows else ""
    if asked.hows == ("nunique",):
        return c.tell(f"There are {values} different values of {asked.column} in {frame.name}{_told(c, asked)}.", f"{frame.name}{_told(c, asked)} 的 {asked.column} 有 {values} 个不同的值。") + left  # fmt: skip
    are = "is" if len(asked.hows) == 1 else "are"
    zh = "和".join(_HAN.get(how, how) for how in asked.hows)
    return c.tell(f"The {named} {asked.column} in {frame.name}{_told(c, asked)} {are} {values}.", f"{frame.name}{_told(c, asked)} 的 {asked.column} {zh}是 {values}。") + left  # fmt: skip


_NAMES = {"sum": "total", "max": "highest", "min": "lowest", "std": "standard deviation of"}
_HAN = {"sum": "总和", "mean": "平均值", "median": "中位数", "max": "最大值", "min": "最小值", "std": "标准差"}


def _value(c: Conversation, frame: Frame, asked: Ask) -> Script:
    """The value of one row, or one that all have."""
    result = yield from _query(c, frame, (yield from _where(c, frame, asked.where)), columns=[asked.column], head=20)
    values = {row[0] for row in result.rows} or ({""} if result.matched else set())
    if result.matched > 1 and (len(values) != 1 or result.hidden or result.matched > 20):
        raise Unplaced(asked.word, "how")
    if not result.matched:
        return c.tell(f"There is no row of {frame.name}{_told(c, asked)}.", f"{frame.name} 没有{_told(c, asked)}的行。")
    (value,) = values
    return c.tell(f"The {asked.column} in {frame.name}{_told(c, asked)} is {value or 'missing'}.", f"{frame.name}{_told(c, asked)} 的 {asked.column} 是 {value or '缺失'}。")  # fmt: skip


def _distinct(c: Conversation, frame: Frame, asked: Ask) -> Script:
    result = yield from _query(c, frame, (yield from _where(c, frame, asked.where)), by=[asked.column], head=30)
    lines = [row[0] for row in result.rows if row[0]]
    lacking = sum(int(row[1]) for row in result.rows if not row[0])
    more = c.tell(f" and {result.hidden} more", f" 等另外 {result.hidden} 个") if result.hidden else ""
    number = result.groups - (1 if lacking else 0)
    text = c.tell(f"{asked.column} in {frame.name}{_told(c, asked)} has {number} different values: {', '.join(lines)}{more}.", f"{frame.name}{_told(c, asked)} 的 {asked.column} 有 {number} 个不同的值：{'、'.join(lines)}{more}。")  # fmt: skip
    return text + _left_out(c, {asked.column: lacking})


def _duplicates(c: Conversation, frame: Frame, asked: Ask) -> Script:
    dates = [k.name for k in frame.columns if k.type != "index" and not (k.is_date and not k.summary)]
    by = [asked.column] if asked.column else dates
    if not asked.column and frame.width > len(by):
        return c.tell(
            f"I don't see all columns of {frame.name}, so I can't tell.",
            f"我没有看到 {frame.name} 的所有列，无法回答。",
        )
    result = yield from _query(c, frame, {}, by=by, sort="-rows", head=5)
    number = result.matched - result.groups
    if asked.column:
        repeated = c.tell(f"{asked.column} is not unique in {frame.name}: {number:,} rows repeat a value of an earlier one.", f"{frame.name} 的 {asked.column} 有重复：{number:,} 行与前面的值相同。")  # fmt: skip
        return repeated if number else c.tell(f"{asked.column} is unique in {frame.name}: 0 duplicates.", f"{frame.name} 的 {asked.column} 没有重复：0。")  # fmt: skip
    if not number:
        return c.tell(f"No, {frame.name} has 0 duplicate rows.", f"{frame.name} 没有重复的行：0。")
    return c.tell(
        f"Yes, {number:,} rows of {frame.name} are duplicates of an earlier one.",
        f"有：{frame.name} 有 {number:,} 行重复。",
    )


def _share(c: Conversation, frame: Frame, asked: Ask) -> Script:
    aggregate: dict[str, Any] = {asked.column: "sum"} if asked.column else {}
    what = c.tell(
        f"the total {asked.column}" if asked.column else "the rows", f"{asked.column} 总和" if asked.column else "行数"
    )
    whole = yield from _query(c, frame, {}, by=list(asked.by), aggregate=aggregate)
    if asked.by:
        values = [(row[0], float(row[1] or 0)) for row in whole.rows]
        total = sum(value for _, value in values)
        if whole.hidden or not total or len(asked.by) > 1:
            raise Unplaced(asked.by[0], "values")
        lines = [f"{_label(c, asked.by[0], label)}: {100 * value / total:.1f} %" for label, value in values]
        head = c.tell(
            f"Share of {what} by {asked.by[0]} in {frame.name}:", f"{frame.name} 按 {asked.by[0]} 占{what}的比例："
        )
        return f"{head}\n{_listing(lines, 0, c)}"
    where = yield from _where(c, frame, asked.where)
    part = yield from _query(c, frame, where, aggregate=aggregate, head=20 if aggregate else 0, columns=[] if aggregate else [frame.columns[0].name])  # fmt: skip
    some, all_ = (float(r.rows[0][0] or 0) if aggregate else r.matched for r in (part, whole))
    if not all_:
        raise Unplaced(asked.column, "of what")
    lacking = {one.column: frame.lacking(frame.column(one.column)) for one in asked.where} if not aggregate else {}
    gaps = ", ".join(f"{n:,} `{name}`" for name, n in lacking.items() if n)
    counted = (
        c.tell(f" Rows without a value are counted in the whole: {gaps}.", f"没有值的行也计入总数：{gaps}。")
        if gaps
        else ""
    )
    figures = f"{some:,.10g} of {all_:,.10g}"
    return c.tell(f"{100 * some / all_:.1f} % of {what} in {frame.name}{_told(c, asked)} ({figures}).{counted}", f"{frame.name}{_told(c, asked)} 占{what}的 {100 * some / all_:.1f} %（{some:,.10g} / {all_:,.10g}）。{counted}")  # fmt: skip


def _top(c: Conversation, frame: Frame, asked: Ask) -> Script:
    """The groups with the most, or the least: all that are level with the last one."""
    key, how = asked.by[0], asked.hows[0] if asked.hows else ""
    where = yield from _where(c, frame, asked.where)
    column = frame.column(asked.column)
    hows = [*asked.hows, *(["count"] if asked.column and frame.lacking(column) else [])]
    aggregate: dict[str, Any] = {asked.column: hows if len(hows) > 1 else hows[0]} if asked.column else {}
    sort = ("-" if asked.most else "") + (f"{asked.column} ({how})" if aggregate else "rows")
    result = yield from _query(c, frame, where, by=[key], aggregate=aggregate, sort=sort, head=200 if len(asked.hows) > 1 else asked.head + 12)  # fmt: skip
    rows = [row for row in result.rows if row[0] and row[1]]
    if not rows:
        return c.tell(f"No row of {frame.name}{_told(c, asked)} has a value of {asked.column or key}.", f"{frame.name}{_told(c, asked)} 没有值。")  # fmt: skip
    best = _level(rows, 1, asked.head)
    if len(asked.hows) > 1:
        other = sorted(rows, key=lambda row: float(row[2]) if _is_number(row[2]) else 0, reverse=asked.most)
        if result.hidden or [row[0] for row in _level(other, 2, asked.head)] != [row[0] for row in best]:
            raise Unplaced(asked.word, "agree")
    unnamed = result.matched and any(not row[0] for row in result.rows)
    note = c.tell(f"\n\nRows without `{key.partition('.')[0]}` are no group here.", f"\n\n没有 `{key.partition('.')[0]}` 的行不算一组。") if unnamed else ""  # fmt: skip
    left = {asked.column: result.matched - _counted(result, asked)} if "count" in hows and not result.hidden else {}
    note = _left_out(c, left) + note
    what = f"{asked.column}" if aggregate else c.tell("rows", "行数")
    english, han = ("highest", "最大") if asked.most else ("lowest", "最小")
    english = english if aggregate and "most" not in asked.kind else ("most" if asked.most else "fewest")
    figure = best[0][1]
    said = f" ({how})" if how else ""
    if len(best) > 1 and asked.head > 1:
        head = c.tell(f"The {asked.head} of {key} with the {english} {what}{said} in {frame.name}{_told(c, asked)}:", f"{frame.name}{_told(c, asked)} 中 {what}{said} {han}的 {asked.head} 个 {key}：")  # fmt: skip
        tied = c.tell(f"\n\n{len(best)} are shown, since the last ones are level.", f"\n\n末位并列，共 {len(best)} 个。") if len(best) > asked.head else ""  # fmt: skip
        return f"{head}\n{_listing([f'{row[0]}: {row[1]}' for row in best], 0, c)}{tied}{note}"
    labels = " and ".join(row[0] for row in best)
    has = "have" if len(best) > 1 else "has"
    tie = c.tell(", level", "（并列）") if len(best) > 1 else ""
    return c.tell(f"{labels} {has} the {english} {what} in {frame.name}{_told(c, asked)} by {key}: {figure}{said}{tie}.", f"{frame.name}{_told(c, asked)} 按 {key} 计算 {what}{said}，{labels} {han}{tie}：{figure}。") + note  # fmt: skip


def _level(rows: Sequence[tuple[str, ...]], at: int, head: int) -> list[tuple[str, ...]]:
    """The first rows, and those that are level with the last of them."""
    last = rows[min(head, len(rows)) - 1][at]
    return [row for i, row in enumerate(rows) if i < head or row[at] == last]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[\d.]+(?:e[+-]?\d+)?", text) is not None


def _best(c: Conversation, frame: Frame, asked: Ask) -> Script:
    """The rows with the largest, or the smallest, value."""
    where = yield from _where(c, frame, asked.where)
    label = asked.against or frame.label
    names = list(dict.fromkeys([label, asked.column])) if label else [k.name for k in frame.columns[:6]]
    if asked.head > 1 or not label:
        names = list(dict.fromkeys([*([label] if label else []), asked.column, *(k.name for k in frame.columns[:6])]))
    sort = f"{'-' if asked.most else ''}{asked.column}"
    result = yield from _query(c, frame, where, columns=names, sort=sort, head=asked.head + 12)
    at = result.names.index(asked.column) if asked.column in result.names else len(result.names) - 1
    rows = [row for row in result.rows if row[at]]
    if not rows:
        return c.tell(f"No row of {frame.name}{_told(c, asked)} has a value of {asked.column}.", f"{frame.name}{_told(c, asked)} 没有 {asked.column} 的值。")  # fmt: skip
    best = _level(rows, at, asked.head)
    more = c.tell("\n\nMore rows may be level with the last one.", "\n\n可能还有并列的行。") if len(best) == asked.head + 12 else ""  # fmt: skip
    left = _left_out(c, {asked.column: result.missing.get(asked.column, 0)})
    english, han = ("highest", "最大") if asked.most else ("lowest", "最小")
    if frame.column(asked.column).is_date:
        english, han = ("latest", "最晚") if asked.most else ("earliest", "最早")
    if asked.head == 1 and label and len(result.names) <= 2:
        at_label = result.names.index(label)
        found = list(dict.fromkeys(row[at_label] or c.tell(f"(no {label})", f"（没有 {label}）") for row in best))
        said = " and ".join(found)
        said = f"{label} {said}" if not frame.column(label).is_text else said
        value = best[0][at]
        has = "have" if len(found) > 1 else "has"
        return c.tell(f"{said} {has} the {english} {asked.column} in {frame.name}{_told(c, asked)}: {value}.", f"{frame.name}{_told(c, asked)} 中 {asked.column} 的{han}值是 {value}，属于 {said}。") + more + left  # fmt: skip
    number = len(best)
    head = c.tell(f"The {number} rows with the {english} {asked.column} in {frame.name}{_told(c, asked)}:" if number > 1 else f"The row with the {english} {asked.column} in {frame.name}{_told(c, asked)}:", f"{frame.name}{_told(c, asked)} 中 {asked.column} {han}的 {number} 行：")  # fmt: skip
    lines = [", ".join(result.names), *(", ".join(row) for row in best)]
    return "\n".join([head, *(f"- {line}" for line in lines)]) + more + left


_ANSWERS = {
    "describe": _describe, "size": _size, "columns": _columns, "missing": _missing, "rows": _rows, "sort": _sort, "count": _count,
    "exists": _exists, "figure": _figure, "value": _value, "distinct": _distinct, "duplicates": _duplicates, "share": _share,
    "top": _top, "best": _best,
}  # fmt: skip
