"""What a question about a table is answered with: the calls that it needs, and sentences made of what they gave.

Groups, rows and figures come from `query_table`; plots, the last rows and correlations from code that the user approves.
What a figure leaves out is a sentence of its own, out of the same result.
"""

import csv
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from deepnb.models.teaching.conditions import Condition, Unplaced
from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.grammar import Ask
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.tables import Column, Frame, called, listed_tables, mentioned, parse_frame, without_tables
from deepnb.models.teaching.talk import confess, nothing, says, wants_knowledge
from deepnb.models.teaching.vocabulary import may_ask, names_part, pieces, speaks_of_tables, unknown_words
from deepnb.models.teaching.words import first_match, short

QUERY, INSPECT, LIST = "query_table", "inspect_variable", "list_variables"
_COUNTING = ("most", "fewest", "least")
_SHOWN, _LOOKED_AT, _PROBED = 12, 3, 2
"""Lines of an answer; tables that are looked at if none is named; columns in which unknown words are looked for."""
_NAMED = (
    r"\b(?:DataFrame|data ?frame|table|dataset)\s+`?(?P<name>(?!(?:is|has|have|of|with|by|in)\b)[A-Za-z_]\w*)",
    r"`(?P<name>[A-Za-z_]\w*)`",
)


def wants_table(c: Conversation) -> str | None:
    """A question that has the words of one about a table."""
    given = parse_frame(c.request) is not None
    asks = given or ((INSPECT in c.tools or parse_frame(c.base) is not None) and speaks_of_tables(c.request))
    return c.request if asks and len(c.request) < 20_000 else None


def wants_any_table(c: Conversation) -> str | None:
    """Any other request that may be about one."""
    told = re.match(r"\W*(?:remember|forget|note|save)\b|记", c.request, re.IGNORECASE)
    asks = 0 < len(c.request) < 300 and not told and (may_ask(c.request) or _spoken(c))
    return c.request if asks and {INSPECT, LIST} <= c.tools else None


def understood(
    c: Conversation, request: str, sure: bool, read: Callable[[str, Frame], Ask]
) -> Generator[Use, Step, tuple[Frame, Ask] | str]:
    """The table and the question that `read` finds, or what is to be said instead."""
    frames = yield from tables_asked(c, request, sure)
    if isinstance(frames, str):
        return frames
    request = without_tables(request)
    readings: list[tuple[Frame, Ask]] = []
    failed: list[tuple[Frame, Unplaced]] = []
    for frame in frames:
        known = (yield from with_values(c, frame, request)) if len(frames) == 1 else frame
        try:
            readings.append((known, read(request, known)))
            if frame.name in _spoken(c)[:1]:  # the one last spoken of comes first
                break
        except Unplaced as error:
            failed.append((known, error))
    if len(readings) == 1:
        return readings[0]
    if readings:
        names = [frame.name for frame, _ in readings]
        return refusal(c, Unplaced(readings[0][1].column or names[0], "tables"), readings[0][0], names)
    return refusal(c, failed[0][1], failed[0][0])


def _spoken(c: Conversation) -> list[str]:
    """The names that earlier calls were about, the last one first."""
    args = [call.args for m in reversed(c.earlier) for call in reversed(m.tool_calls)]
    return [str(name) for one in args for name in (one.get("table"), one.get("name")) if name]


def tables_asked(c: Conversation, request: str, sure: bool = True) -> Generator[Use, Step, list[Frame] | str]:
    """The table that is named, the one last spoken of, or the few that there are.

    A request that is not surely about a table has to name one, or a column or value of the one that comes to mind.
    """
    if given := parse_frame(c.request) or parse_frame(c.base):
        return [given[0]]
    if INSPECT in c.tools and (given_name := first_match(request, *_NAMED)):
        step = yield Use(INSPECT, {"name": given_name["name"]}, may_fail=True)
        if found := None if step.failed else parse_frame(step.result):
            return [found[0]]
    step = yield Use(LIST, {})
    names = listed_tables(step.result)
    named = mentioned(request, names)
    if len(named) > 1 and any(name in request for name in named):
        return refusal(c, Unplaced(named[1], "tables"), Frame(named[0], 0, 0, ()), named)
    last = next((name for name in _spoken(c) if name in names), "")
    near = list(dict.fromkeys([*([last] if last else []), *called(request, names)]))
    chosen = named if len(named) == 1 else near or names
    open_ = not (sure or named or called(request, names))
    if not chosen or (open_ and len(chosen) > 1):
        return nothing(c) if sure or wants_knowledge(c) else confess(c, request)
    if len(chosen) > _LOOKED_AT:
        return refusal(c, Unplaced(chosen[0], "tables"), Frame(chosen[0], 0, 0, ()), chosen)
    frames = []
    for name in chosen:
        step = yield Use(INSPECT, {"name": name})
        if found := parse_frame(step.result):
            frames.append(found[0])
    if open_ and not any(names_part(request, frame) for frame in frames):
        return nothing(c) if wants_knowledge(c) else confess(c, request)
    return frames or failure(c, step)


def with_values(c: Conversation, frame: Frame, request: str) -> Generator[Use, Step, Frame]:
    """The table with those values of its texts that the request has words for."""
    words = unknown_words(request, frame)
    open_columns = [column for column in frame.columns if column.is_text and not column.listed]
    said = " ".join(pieces(request, frame)).casefold()
    seen = [value for k in frame.columns for value in k.values if f" {value.casefold()} " in f" {said} "]
    if (not words and not seen) or len(words) > 12 or QUERY not in c.tools:
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
    """One line: the word that has no place, and two prompts that have, made of the names of the table."""
    numbers, texts = ([k.name for k in frame.columns if test(k)] for test in (_is_figure, lambda k: k.is_text))
    full = bool(numbers and texts)
    names = {"t": frame.name, "k": full and numbers[0], "v": full and texts[0]}
    one, other = (
        says(c, key, **names) for key in (("try mean", "try count") if full else ("try describe", "try rows"))
    )
    why = "tables" if tables else error.why
    reason = says(c, f"why {why}", x=", ".join(tables[:4])) if why else ""
    return says(c, "unplaced", v=error.word, x=reason, k=one, n=other)


def _is_figure(column: Column) -> bool:
    return column.is_number and not column.is_id


# -- results of query_table


@dataclass(frozen=True)
class Result:
    """What `query_table` gave."""

    matched: int
    groups: int
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: int
    missing: Mapping[str, int]


class _Failed(Exception):
    """Raise where a call failed: its text is the answer."""


def _result(step: Step) -> Result:
    lines = step.result.splitlines()
    head = re.search(r": ([\d,]+) rows?(?: match)?(?:, ([\d,]+) groups?)?", lines[0] if lines else "")
    notes = re.compile(r"(\d+) more (?:rows?|columns) not shown|missing values: (.*)")
    noted = [m for line in lines[1:] if (m := notes.fullmatch(line))]
    body = [row for row in csv.reader(line for line in lines[1:] if not notes.fullmatch(line)) if row]
    gaps = [one.rpartition(" ") for m in noted if m[2] for one in m[2].split(", ")]
    names = tuple(body[0]) if body else ()
    return Result(
        matched=int(head[1].replace(",", "")) if head else 0,
        groups=int((head[2] or "0").replace(",", "")) if head else 0,
        names=names,
        rows=tuple(tuple(row) for row in body[1:] if len(row) == len(names)),
        hidden=sum(int(m[1]) for m in noted if m[1] and "row" in m[0]),
        missing={name: int(number) for name, _, number in gaps if number.isdecimal()},
    )


def _query(c: Conversation, frame: Frame, where: Sequence[Condition], **args: Any) -> Generator[Use, Step, Result]:
    """Ask `query_table`; arguments that are empty are left out."""
    conditions = yield from _where(c, frame, where)
    given = {"where": conditions, **args}
    step = yield Use(QUERY, {"table": frame.name, **{k: v for k, v in given.items() if v not in ("", [], {})}}, True)
    if step.failed:
        raise _Failed(failure(c, step))
    return _result(step)


def _where(c: Conversation, frame: Frame, conditions: Sequence[Condition]) -> Generator[Use, Step, dict[str, Any]]:
    """The conditions as `query_table` takes them: its ranges hold their ends, and it has no `not`."""
    where: dict[str, Any] = {}
    for one in conditions:
        column, value = frame.column(one.column), one.value
        if one.sign in ("not", "contains") or (one.sign == "present" and column.is_text):
            if one.sign == "not" and frame.lacking(column):
                raise Unplaced(str(one.value[0]), "missing")
            known = list(column.values) if column.listed else (yield from _values(c, frame, column, one))
            if one.sign == "contains":
                value = [v for v in known if str(one.value).casefold() in v.casefold()]
            else:
                value = [v for v in known if v not in (one.value or ())]
        elif one.sign in ("in", "and"):
            value = list(one.value)
        elif one.sign == "present":
            value = {"min": "1700-01-01" if column.is_date else -1e308}
        elif one.sign not in ("==", "missing"):
            value = _limit(column, one)
        other = where.get(one.column, {})
        if other and not (isinstance(other, dict) and isinstance(value, dict) and not other.keys() & value.keys()):
            raise Unplaced(one.column, "two")
        where[one.column] = {**other, **value} if other else value
    return where


def _values(c: Conversation, frame: Frame, column: Column, one: Condition) -> Generator[Use, Step, list[str]]:
    result = yield from _query(c, frame, (), by=[column.name], head=100)
    if result.hidden or any(row[0].endswith("...") for row in result.rows):
        raise Unplaced(str(one.value), "values")
    return [row[0] for row in result.rows if row[0]]


def _limit(column: Column, one: Condition) -> dict[str, Any]:
    up, strict, whole = one.sign[0] == ">", len(one.sign) == 1, "int" in column.type.lower()
    value = one.value
    if column.is_date and one.sign == "<":
        value = f"{date.fromisoformat(value[:10]) - timedelta(days=1)} 23:59:59.999999"
    elif not column.is_date and strict and whole:
        value = math.floor(value) + 1 if up else math.ceil(value) - 1
    elif not column.is_date:
        value = math.nextafter(value, math.inf if up else -math.inf) if strict else value
        value = int(value) if whole and float(value).is_integer() else value
    return {"min" if up else "max": value}


# -- answers


def answer(c: Conversation, frame: Frame, asked: Ask) -> Script:
    """Answer a question about a table."""
    try:
        return (
            yield from _ANSWERS[asked.what](c, frame, asked, {"t": frame.name, "w": _told(c, asked), "k": asked.column})
        )
    except Unplaced as error:
        return refusal(c, error, frame)
    except _Failed as failed:
        return str(failed)


def _told(c: Conversation, asked: Ask) -> str:
    """The conditions in words."""
    parts = []
    for one in asked.where:
        values = () if one.value is None else one.value if isinstance(one.value, tuple) else (one.value,)
        text = ", ".join(
            f"{v:.10g}" if isinstance(v, float) else str(v).removesuffix(" 23:59:59.999999") for v in values
        )
        parts.append(f"{one.column} {says(c, f' {one.sign}')}{' ' if text else ''}{text}")
    return c.tell(f" where {' and '.join(parts)}", f"（{'，'.join(parts)}）") if parts else ""


def left_out(c: Conversation, found: Mapping[str, int]) -> str:
    """How many rows were left out since a column has no value there."""
    gaps = c.tell(", ", "，").join(says(c, "without", n=number, k=name) for name, number in found.items() if number)
    return says(c, "left out", x=gaps) if gaps else ""


def _named(c: Conversation, key: str, label: str) -> str:
    return label or says(c, "without key", k=key.rpartition(".")[0] or key)


def _key(by: str) -> str:
    """`month of packed` for `packed.month`."""
    column, _, period = by.rpartition(".")
    return f"{period} of {column}" if column else by


def _list(c: Conversation, head: str, lines: Sequence[str], more: int = 0) -> str:
    left = max(0, len(lines) - _SHOWN) + more
    return "\n".join([head, *(f"- {line}" for line in lines[:_SHOWN]), *([says(c, "more", n=left)] if left else [])])


def _described(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """What the description of the table says."""
    yield from ()

    def said(k: Column, limit: int) -> str:
        lacks = says(c, "lacks", n=frame.lacking(k)) if frame.lacking(k) else ""
        return f"{k.type}, {short(k.summary, limit)}{lacks}"

    if asked.column:
        return says(c, "column", x=said(frame.column(asked.column), 400), **names)
    head = says(c, "shape", n=str(frame.rows), m=str(frame.width), **names)
    if asked.what in ("size", "count"):
        return head
    lines = [f"{k.name} ({k.type})" if asked.what == "columns" else f"{k.name} ({k.type}): {said(k, 70).partition(', ')[2]}" for k in frame.columns]  # fmt: skip
    rest = [k.name for k in frame.columns[_SHOWN:]]
    left = max(0, frame.width - len(frame.columns)) + len(rest)
    named = f": {short(', '.join(rest), 200)}" if rest else ""
    more = [says(c, "columns", n=left, x=named)] if left else []
    return "\n".join([head, *(f"- {line}" for line in lines[:_SHOWN]), *more])


def _missing(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    yield from ()
    columns = [k for k in frame.columns if not asked.column or k.name == asked.column]
    if frame.sampled or any(not k.present.isdecimal() for k in columns):
        return says(c, "sample", **names)
    gaps = {k.name: frame.lacking(k) for k in columns if frame.lacking(k)}
    hidden = 0 if asked.column else max(0, frame.width - len(frame.columns))
    unseen = says(c, "unseen", n=hidden) if hidden else ""
    if not gaps:
        return says(c, "none missing", x=asked.column and f"{asked.column} in ", **names) + unseen
    if asked.column:
        return says(c, "missing in", n=gaps[asked.column], m=frame.rows, **names)
    head = says(c, "missing", n=sum(gaps.values()), **names)
    return _list(c, head, [f"{name}: {number:,}" for name, number in gaps.items()]) + unseen


def _rows(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """Rows below the names of the columns; in an order if one is asked for."""
    sort = f"{'-' if asked.most else ''}{asked.column}" if asked.what == "sort" else ""
    result = yield from _query(c, frame, asked.where, sort=sort, head=asked.head or _SHOWN)
    head = says(c, "rows", n=result.matched, **names) if asked.where else says(c, "first", n=asked.head, **names)
    if sort:
        head = says(c, "sorted", x=says(c, "down" if asked.most else "up"), **names)
    left = min(asked.head or result.matched, result.matched) - len(result.rows)
    return _row_lines(c, head, result.names, result.rows, left)


def _row_lines(c: Conversation, head: str, names: Sequence[str], rows: Sequence[Sequence[str]], left: int = 0) -> str:
    more = [says(c, "more rows", n=left)] if left > 0 else []
    lines = [f"- {', '.join(row)}" for row in (names, *rows)] if rows else []
    return "\n".join([f"{head}{':' if rows else '.'}" if head[-1] not in ":：" else head, *lines, *more])


def _count(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    if asked.by:
        result = yield from _query(c, frame, asked.where, by=list(asked.by))
        return _groups(c, asked, result, says(c, "row count"), names)
    if not asked.where:
        return (yield from _described(c, frame, asked, names))
    result = yield from _query(c, frame, asked.where, head=0, columns=[frame.columns[0].name])
    if asked.what == "exists":
        return says(c, "yes" if result.matched else "no", n=result.matched, **names)
    return says(c, "rows", n=result.matched, **names) + c.tell(".", "。")


def _groups(c: Conversation, asked: Ask, result: Result, what: str, names: dict[str, str]) -> str:
    """A line for each group, and what they leave out."""
    keys = len(asked.by)
    hows = [name.rpartition(" (")[2].rstrip(")") for name in result.names[keys:]]
    shown = [i for i, how in enumerate(hows, keys) if how != "count" or "count" in asked.hows]
    lines = []
    for row in result.rows:
        figures = [f"{hows[i - keys]} {row[i] or '-'}" if len(shown) > 1 else row[i] or "-" for i in shown]
        lines.append(f"{', '.join(map(_named, [c] * keys, asked.by, row))}: {', '.join(figures)}")
    left = (
        {asked.column: result.matched - _counted(result, asked)} if len(shown) < len(hows) and not result.hidden else {}
    )
    head = says(c, "by", x=what, **{**names, "k": ", ".join(map(_key, asked.by))})
    return _list(c, head, lines, result.hidden) + left_out(c, left)


def _counted(result: Result, asked: Ask) -> int:
    """How many rows have a value of the column."""
    at = result.names.index(f"{asked.column} (count)")
    return sum(int(row[at]) for row in result.rows if row[at].isdecimal())


def _figure(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    hows = [*asked.hows, *(["count"] if frame.lacking(frame.column(asked.column)) else [])]
    aggregate = {asked.column: hows if len(hows) > 1 else hows[0]}
    sort = f"{'-' if asked.kind == 'max' else ''}{asked.column} ({hows[0]})" if asked.by and asked.kind else ""
    result = yield from _query(c, frame, asked.where, by=list(asked.by), aggregate=aggregate, sort=sort)
    if asked.by:
        return _groups(c, asked, result, f"{asked.column} ({', '.join(asked.hows)})", names)
    values = [value for name, value in zip(result.names, result.rows[0] if result.rows else (), strict=False) if name.endswith(tuple(f"({how})" for how in asked.hows))]  # fmt: skip
    if not any(values):
        return says(c, "no value", **names)
    left = left_out(c, {asked.column: result.matched - _counted(result, asked)}) if "count" in hows else ""
    if asked.kind == "range" and frame.column(asked.column).is_number:
        low, high = (float(value) for value in values)
        whole = "int" in frame.column(asked.column).type.lower()
        if not whole and any(sum(map(str.isdecimal, value.lstrip("-0."))) > 3 for value in values):
            raise Unplaced("range", "how")  # these are rounded, and their difference would be wrong
        return says(c, "range", x=f"{high - low:.10g}", v=values[0], n=values[1], **names) + left
    key, both = ("nunique" if asked.hows == ("nunique",) else "figure"), c.tell(" and ", "和")
    what = both.join(says(c, f" {how}") for how in asked.hows if how != "nunique")
    return says(c, key, x=what, v=both.join(values), **names) + left


def _value(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """The value of one row, or one that all have."""
    result = yield from _query(c, frame, asked.where, columns=[asked.column])
    values = {row[0] for row in result.rows} or {""}
    if len(values) > 1 or result.matched > 20:
        raise Unplaced(asked.word, "how")
    return says(c, "value" if result.matched else "no row", v=values.pop() or says(c, " missing"), **names)


def _distinct(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    result = yield from _query(c, frame, asked.where, by=[asked.column], head=30)
    lacking = sum(int(row[1]) for row in result.rows if not row[0])
    values = [row[0] for row in result.rows if row[0]] + ([f"+{result.hidden}"] if result.hidden else [])
    number = result.groups - bool(lacking)
    return says(c, "distinct", n=number, v=", ".join(values), **names) + left_out(c, {asked.column: lacking})


def _duplicates(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    by = [asked.column] if asked.column else [k.name for k in frame.columns if k.summary]
    if not asked.column and frame.width > len(by):
        return says(c, "sample", **names)
    result = yield from _query(c, frame, (), by=by, sort="-rows", head=5)
    number = result.matched - result.groups
    if asked.column:
        return says(c, "not unique" if number else "unique", n=number, **names)
    return says(c, "duplicates" if number else "no duplicates", n=number, **names)


def _share(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """The part of the rows, or of a total, that conditions keep, of those that have a value there."""
    args: dict[str, Any] = {"aggregate": {asked.column: "sum"}} if asked.column else {}
    what = says(c, "of total" if asked.column else "of rows", **names)
    if asked.by:
        result = yield from _query(c, frame, (), by=list(asked.by), **args)
        values = [float(row[-1] or 0) for row in result.rows]
        if result.hidden or not sum(values) or len(asked.by) > 1:
            raise Unplaced(asked.by[0], "values")
        lines = [f"{_named(c, asked.by[0], row[0])}: {100 * v / sum(values):.1f} %" for row, v in zip(result.rows, values, strict=True)]  # fmt: skip
        return _list(c, says(c, "share by", x=what, **{**names, "k": _key(asked.by[0])}), lines)
    args = args or {"head": 0, "columns": [frame.columns[0].name]}
    column = frame.column(asked.where[0].column)
    lacking = 0 if asked.where[0].sign == "missing" else frame.lacking(column)
    known = (Condition(column.name, "present"),) if lacking else ()
    results = []
    for where in (known, asked.where):
        result = yield from _query(c, frame, where, **args)
        results.append(float(result.rows[0][0] or 0) if asked.column else float(result.matched))
    whole, part = results
    if not whole:
        raise Unplaced(asked.column or column.name, "of what")
    text = says(c, "share", v=f"{100 * part / whole:.1f}", x=what, n=f"{part:,.10g}", m=f"{whole:,.10g}", **names)
    return text + left_out(c, {column.name: lacking})


def _top(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """The groups with the most, or the least, and those that are level with the last of them."""
    key, column = asked.by[0], frame.column(asked.column)
    if len(asked.hows) > 1 and frame.column(key).is_id:
        result = yield from _query(c, frame, (), aggregate={key: ["nunique", "count"]})
        if len(set(result.rows[0])) == 1:  # each row has its own
            return (yield from _best(c, frame, replace(asked, by=(), against=key), names))
    hows = [*asked.hows, *(["count"] if asked.column and frame.lacking(column) else [])]
    aggregate: dict[str, Any] = {asked.column: hows if len(hows) > 1 else hows[0]} if asked.column else {}
    sort = ("-" if asked.most else "") + (f"{asked.column} ({hows[0]})" if hows else "rows")
    many = 200 if len(asked.hows) > 1 else asked.head + 12
    result = yield from _query(c, frame, asked.where, by=[key], aggregate=aggregate, sort=sort, head=many)
    rows = [row for row in result.rows if row[0] and row[1]]
    if not rows:
        return says(c, "no value", **{**names, "k": asked.column or key})
    best = _level(rows, 1, asked.head)
    if len(asked.hows) > 1:
        other = sorted((row for row in rows if row[2]), key=lambda row: float(row[2]), reverse=asked.most)
        if result.hidden or {row[0] for row in _level(other, 2, asked.head)} != {row[0] for row in best}:
            raise Unplaced(asked.word, "agree")
    unnamed = sum(int(row[-1]) for row in result.rows if not row[0] and (not hows or hows[-1] == "count"))
    left = {asked.column: result.matched - _counted(result, asked)} if hows and hows[-1] == "count" and not result.hidden else {}  # fmt: skip
    note = left_out(c, left) + (says(c, "no group", k=key.rpartition(".")[0] or key, n=unnamed) if unnamed else "")
    what = asked.column or says(c, "row count")
    said = asked.word if asked.word in _COUNTING else "high" if asked.most else "low"
    end = says(c, said if hows else ("most" if asked.most else "fewest"))
    extreme = c.tell(f"{end} {what}", f"{what} {end}")
    figures = [", ".join(f"{v} ({how})" for v, how in zip(row[1:], asked.hows, strict=False)) or row[1] for row in best]
    names = {**names, "k": _key(key)}
    if asked.head > 1:
        lines = [f"{row[0]}: {figure}" for row, figure in zip(best, figures, strict=True)]
        tied = says(c, "tied", n=len(best)) if len(best) > asked.head else ""
        return _list(c, says(c, "top", n=asked.head, x=extreme, **names), lines) + tied + note
    has, tie = ("have", says(c, "level")) if len(best) > 1 else ("has", "")
    labels = c.tell(" and ", "和").join(row[0] for row in best)
    return says(c, "best of", v=labels, has=has, x=extreme, n=figures[0], tie=tie, **names) + note


def _level(rows: Sequence[tuple[str, ...]], at: int, head: int) -> list[tuple[str, ...]]:
    """The first rows, and those that are level with the last of them."""
    last = rows[min(head, len(rows)) - 1][at]
    return [row for i, row in enumerate(rows) if i < head or row[at] == last]


def _best(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """The rows with the largest, or the smallest, value, and those that are level with the last of them."""
    label = asked.against or frame.label
    single = asked.head == 1 and label != ""
    others = [] if single else [k.name for k in frame.columns[:6]]
    columns = [name for name in dict.fromkeys([label, asked.column, *others]) if name]
    sort = f"{'-' if asked.most else ''}{asked.column}"
    result = yield from _query(c, frame, asked.where, columns=columns, sort=sort, head=asked.head + 12)
    at = columns.index(asked.column)
    rows = [row for row in result.rows if row[at]]
    if not rows:
        return says(c, "no value", **names)
    best = _level(rows, at, asked.head)
    note = says(c, "maybe") if len(best) == asked.head + 12 else ""
    note += left_out(c, {asked.column: result.missing.get(asked.column, 0)})
    ends = ("latest", "earliest") if frame.column(asked.column).is_date else ("high", "low")
    extreme = says(c, asked.word if asked.word in _COUNTING else ends[0] if asked.most else ends[1])
    if not single:
        return _row_lines(c, says(c, "best rows", n=len(best), x=extreme, **names), result.names, best) + note
    labels = list(dict.fromkeys(_named(c, label, row[0]) for row in best))
    said = c.tell(" and ", "和").join(labels)
    said = said if frame.column(label).is_text or frame.column(label).is_date else f"{label} {said}"
    has = "have" if len(labels) > 1 else "has"
    return says(c, "best", v=said, has=has, x=extreme, n=best[0][at], **names) + note


_ANSWERS: Mapping[str, Callable[[Conversation, Frame, Ask, dict[str, str]], Script]] = {
    **dict.fromkeys(("describe", "size", "columns"), _described),
    **dict.fromkeys(("rows", "sort"), _rows),
    **dict.fromkeys(("count", "exists"), _count),
    "missing": _missing,
    "figure": _figure,
    "value": _value,
    "distinct": _distinct,
    "duplicates": _duplicates,
    "share": _share,
    "top": _top,
    "best": _best,
}
