"""What a question about a table is answered with: the calls that it needs, and sentences made of what they gave.

Groups, rows and figures come from `query_table`. What a figure leaves out is a sentence of its own.
"""

import csv
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from deepnb.models.teaching.conversation import Conversation, Step, first_match, short
from deepnb.models.teaching.grammar import Ask, Condition, Unplaced, dated
from deepnb.models.teaching.tables import Frame, listed_tables, mentioned, parse_frame, singular
from deepnb.models.teaching.talk import QUESTION, Script, Use, confess, failure, says
from deepnb.models.teaching.vocabulary import may_ask, names_part, pieces, speaks_of_tables, unknown_words

QUERY, INSPECT, LIST = "query_table", "inspect_variable", "list_variables"
_SHOWN, _PROBED = 12, 2  # lines of an answer; columns with unknown words
_NAMED = (
    r"\b(?:DataFrame|data ?frame|table|dataset)\s+`?(?P<name>(?!(?:is|has|have|of|with|by|in)\b)[A-Za-z_]\w*)",
    r"`(?P<name>[A-Za-z_]\w*)`",
)
_WHICH = (r"\b(?:which|what) (?:of (?:my|the|these) )?(?:tables?|data ?frames?)\b", r"哪[个张些]?表")


def wants_table(c: Conversation) -> str | None:
    """Return a question that has the words of one about a table."""
    given = parse_frame(c.request) is not None
    asks = given or ((INSPECT in c.tools or parse_frame(c.base) is not None) and speaks_of_tables(c.request))
    return c.request if asks and len(c.request) < 20_000 else None


def wants_any_table(c: Conversation) -> str | None:
    """Any other request that may be about one."""
    order = re.match(r"\W*(?:remember|forget|note|save)\b|记", c.request, re.IGNORECASE)
    asks = 0 < len(c.request) < 300 and not order and (may_ask(c.request) or _spoken(c))
    return c.request if asks and {INSPECT, LIST} <= c.tools else None


def understood(
    c: Conversation, request: str, sure: bool, read: Callable[[str, Frame], Ask]
) -> Generator[Use, Step, tuple[Frame, Ask] | str]:
    """The table and the question that `read` finds, or what is to be said instead."""
    frame = yield from table_asked(c, request, sure)
    if isinstance(frame, str):
        return frame
    while described := parse_frame(request):  # the values of a table that was filled in are none of the request's words
        request = described[1]
    frame = yield from _with_values(c, frame, request)
    try:
        return frame, read(request, frame)
    except Unplaced as error:
        return refusal(c, error, frame)


def _spoken(c: Conversation) -> list[str]:
    args = [call.args for m in reversed(c.earlier) for call in reversed(m.tool_calls)]
    return [str(name) for one in args for name in (one.get("table"), one.get("name")) if name]


def table_asked(c: Conversation, request: str, sure: bool = True) -> Generator[Use, Step, Frame | str]:
    """The table that is named, the one last spoken of, the one whose rows are, or the only one.

    A request that is not surely about a table has to name one, or a column or value of the one that comes to mind.
    """
    if given := parse_frame(c.request) or parse_frame(c.base):
        return given[0]
    if INSPECT in c.tools and (said := first_match(request, *_NAMED)):
        step = yield Use(INSPECT, {"name": said["name"]}, may_fail=True)
        if found := None if step.failed else parse_frame(step.result):
            return found[0]
    step = yield Use(LIST, {})
    names = listed_tables(step.result)
    nouns = {singular(word) for word in re.findall(r"[A-Za-z]+", request)}
    named, by_rows = mentioned(request, names), [name for name in names if Frame(name, 0, 0, ()).nouns & nouns]
    last = [name for name in _spoken(c) if name in names][:1]
    chosen = named or last or by_rows or names
    sure = sure or bool(named or by_rows)
    asks = sure or first_match(c.request, *QUESTION)
    if not chosen or (not sure and len(chosen) > 1):
        offered = tries(c, Frame(chosen[0], 0, 0, ())) if chosen else []
        return says(c, "nothing") if asks else confess(c, request, offered)
    which = first_match(request, *_WHICH) if len(names) > 1 else None
    if which or len(chosen) > 1:
        word = which[0] if which else named[-1] if named else short(request, 60)
        return refusal(c, Unplaced(word), Frame(chosen[0], 0, 0, ()), chosen)
    step = yield Use(INSPECT, {"name": chosen[0]})
    if (found := parse_frame(step.result)) is None:
        return failure(c, step)
    if sure or names_part(request, found[0]):
        return found[0]
    return says(c, "nothing") if asks else confess(c, request, tries(c, found[0]))


def _with_values(c: Conversation, frame: Frame, request: str) -> Generator[Use, Step, Frame]:
    words = unknown_words(request, frame)
    said = f" {' '.join(pieces(request, frame))} ".casefold()
    words += [value for k in frame.columns for value in k.values if f" {value.casefold()} " in said]
    if not words or len(words) > 15 or QUERY not in c.tools:
        return frame
    forms = [form for word in words for one in (word, word.removesuffix("s")) for form in (one, one.lower(), one.upper(), one.title(), one.capitalize())]  # fmt: skip
    for column in [k for k in frame.columns if k.is_text and not k.listed][:_PROBED]:
        where = {column.name: list(dict.fromkeys(forms))}
        step = yield Use(QUERY, {"table": frame.name, "where": where, "by": [column.name]}, may_fail=True)
        if not step.failed:
            found = replace(column, values=tuple(dict.fromkeys((*column.values, *(r[0] for r in _result(step).rows)))))
            frame = replace(frame, columns=tuple(found if k.name == column.name else k for k in frame.columns))
    return frame


def tries(c: Conversation, frame: Frame) -> list[str]:
    """Return two prompts that have an answer, made of the names of a table."""
    number = next((k.name for k in frame.columns if k.is_number and not k.is_id), "")
    text = next((k.name for k in frame.columns if k.is_text), "")
    keys = ("try mean", "try count") if number and text else ("try describe", "try rows")
    return [says(c, key, t=frame.name, k=number, v=text) for key in keys]


def refusal(c: Conversation, error: Unplaced, frame: Frame, tables: Sequence[str] = ()) -> str:
    """Return one line: the word that has no place, and two prompts that have, made of the names of the table."""
    one, other = tries(c, frame)
    why = "tables" if tables else error.why
    reason = says(c, f"why {why}", x=", ".join(tables[:4])) if why else ""
    return says(c, "unplaced", v=error.word, x=reason, k=one, n=other)


@dataclass(frozen=True)
class Result:
    """What `query_table` gave: how many rows match, and the rows that it shows below the names of the columns."""

    matched: int
    names: tuple[str, ...]
    rows: list[tuple[str, ...]]
    hidden: int
    missing: Mapping[str, int]


def _result(step: Step) -> Result:
    first, _, rest = step.result.partition("\n")
    head = re.search(r": ([\d,]+) rows?", first)
    notes = re.compile(r"^(\d+) more (rows?|columns) not shown$|^missing values: (.*)$", re.M)
    names, *rows = [tuple(row) for row in csv.reader(notes.sub("", rest).splitlines()) if row] or [()]
    rows = [row for row in rows if len(row) == len(names)]
    noted = list(notes.finditer(rest))
    hidden = sum(int(m[1]) for m in noted if (m[2] or "").startswith("row"))
    gaps = [one.rpartition(" ") for m in noted if m[3] for one in m[3].split(", ")]
    missing = {name: int(number) for name, _, number in gaps if number.isdecimal()}
    return Result(int(head[1].replace(",", "")) if head else 0, names, rows, hidden, missing)


def _query(c: Conversation, frame: Frame, where: Sequence[Condition], **args: Any) -> Generator[Use, Step, Result]:
    given = {"where": (yield from _where(c, frame, where)), **args}
    step = yield Use(QUERY, {"table": frame.name, **{k: v for k, v in given.items() if v not in ("", [], {})}})
    return _result(step)


def _where(c: Conversation, frame: Frame, conditions: Sequence[Condition]) -> Generator[Use, Step, dict[str, Any]]:
    """The conditions as `query_table` takes them: its ranges hold their ends, and it has no `not`."""
    where: dict[str, Any] = {}
    for one in conditions:
        column, value = frame.column(one.column), one.value
        if one.sign in ("not", "contains"):
            if one.sign == "not" and frame.lacking(column):
                raise Unplaced(str(value[0]), "missing")
            known = column.values
            if not column.listed:
                result = yield from _query(c, frame, (), by=[column.name], head=100)
                known = tuple(row[0] for row in result.rows if row[0])
                if result.hidden or any(name.endswith("...") for name in known):
                    raise Unplaced(str(value), "values")
            denied = one.sign == "not"
            value = [v for v in known if (v not in value if denied else value.casefold() in v.casefold())]
        elif one.sign in ("in", "and"):
            value = list(value)
        elif one.sign[0] in "<>":
            up = one.sign[0] == ">"
            if column.is_date and one.sign == "<":
                value = f"{date.fromisoformat(value[:10]) - timedelta(days=1)} 23:59:59.999999"
            elif one.sign in "<>" and "int" in column.type.lower():
                value = math.floor(value) + 1 if up else math.ceil(value) - 1
            elif one.sign in "<>" and not column.is_date:
                value = math.nextafter(value, math.inf if up else -math.inf)
            value = {"min" if up else "max": value}
        other = where.get(one.column, {})
        if other and not (isinstance(other, dict) and isinstance(value, dict) and not other.keys() & value.keys()):
            raise Unplaced(one.column, "two")
        where[one.column] = {**other, **value} if other else value
    return where


def answer(c: Conversation, frame: Frame, asked: Ask) -> Script:
    parts = []
    for one in asked.where:  # the conditions in words
        values = () if one.value is None else one.value if isinstance(one.value, tuple) else (one.value,)
        plain = (f"{v:.10g}" if isinstance(v, float) else str(v).removesuffix(" 23:59:59.999999") for v in values)
        parts.append(f"{one.column} {says(c, f' {one.sign}')} {', '.join(plain)}".rstrip())
    where = c.tell(f" where {' and '.join(parts)}", f"（{'，'.join(parts)}）") if parts else ""
    names = {"t": frame.name, "w": where, "k": asked.column}
    try:
        return (yield from _ANSWERS[asked.what](c, frame, asked, names))
    except Unplaced as error:
        return refusal(c, error, frame)


def left_out(c: Conversation, found: Mapping[str, int]) -> str:
    """Return how many rows were left out since a column has no value there."""
    gaps = c.tell(", ", "，").join(says(c, "without", n=number, k=name) for name, number in found.items() if number)
    return says(c, "left out", x=gaps) if gaps else ""


def _uncounted(c: Conversation, asked: Ask, result: Result) -> str:
    """Return how many rows have no value of the column, where the result counts those that have one."""
    if (counts := f"{asked.column} (count)") not in result.names or result.hidden:
        return ""
    counted = (row[result.names.index(counts)] for row in result.rows)
    return left_out(c, {asked.column: result.matched - sum(int(one) for one in counted if one.isdecimal())})


def _aggregate(frame: Frame, asked: Ask) -> dict[str, Any]:
    """Return the figure of the column, and how many rows have one if some have none, or are in no group."""
    gaps = any(frame.lacking(frame.column(dated(name)[0])) for name in (asked.column, *asked.by))
    return {asked.column: [asked.how, "count"] if gaps else asked.how} if asked.column else {}


def _keys(asked: Ask) -> str:
    return ", ".join(f"{period} of {column}" if period else column for column, period in map(dated, asked.by))


def _table(c: Conversation, head: str, names: Sequence[str], rows: Sequence[Sequence[str]], left: int = 0) -> str:
    lines = [f"| {' | '.join(one.replace('|', chr(92) + '|') for one in row)} |" for row in (names, *rows)]
    more = [f"\n{says(c, 'more rows', n=left)}"] if left > 0 else []
    return "\n".join([f"{head}\n", lines[0], "|" + " --- |" * len(names), *lines[1:], *more])


def _described(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    yield from ()
    shown = [k for k in frame.columns if asked.column in ("", k.name)][:_SHOWN]
    lacks = [says(c, "lacks", n=frame.lacking(k)) if frame.lacking(k) else "" for k in shown]
    limit = 400 if asked.column else 70
    said = (re.sub(r"[^,;]*…$", " …", short(k.summary, limit)) for k in shown)  # 3 distinct: 2007 (11…
    lines = [f"- {k.name} ({k.type}): {text}{gap}" for k, text, gap in zip(shown, said, lacks, strict=True)]
    head = says(c, "shape", n=str(frame.rows), m=str(frame.width), **names)
    left = 0 if asked.column else frame.width - len(lines)
    more = [says(c, "columns", n=left)] if left > 0 else []
    return head if asked.what == "size" else "\n".join([head, *lines, *more])


def _missing(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    yield from ()
    columns = [k for k in frame.columns if asked.column in ("", k.name)]
    if frame.sampled or any(k.known < 0 for k in columns):
        return says(c, "sample", **names)
    hidden = 0 if asked.column else max(0, frame.width - len(frame.columns))
    unseen = says(c, "unseen", n=hidden) if hidden else ""
    gaps = {k.name: frame.lacking(k) for k in columns if frame.lacking(k)}
    if not gaps:
        return says(c, "none missing", x=asked.column and f"{asked.column} in ", **names) + unseen
    head = says(c, "missing", n=sum(gaps.values()), **names)
    return "\n".join([head, *(f"- {name}: {number:,}" for name, number in gaps.items())]) + unseen


def _rows(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """Rows below the names of the columns; in an order if one is asked for, and those level with the last of them."""
    others = [] if asked.column and asked.what == "rows" else [k.name for k in frame.columns[:6]]
    columns = list(dict.fromkeys(one for one in (frame.label, asked.column, *others) if one)) if asked.column else []
    order = {} if asked.what == "rows" else {"sort": f"{'-' if asked.most else ''}{asked.column}"}
    ties = 12 if order and asked.head else 0
    result = yield from _query(c, frame, asked.where, columns=columns, **order, head=(asked.head or _SHOWN) + ties)
    rows, at = result.rows, columns.index(asked.column) if ties else 0
    rows = _level([row for row in rows if row[at]], at, asked.head) if ties else rows
    key = "sorted" if order else "rows" if asked.where else "first"
    n, direction = result.matched if asked.where else asked.head, says(c, "down" if asked.most else "up")
    head = says(c, key, n=n, x=direction, **names) + (":" if rows else ".")
    left = 0 if ties else min(asked.head or result.matched, result.matched) - len(rows)
    note = says(c, "maybe") if ties and len(rows) == asked.head + ties else ""
    note += left_out(c, {asked.column: result.missing.get(asked.column, 0)}) if ties else ""
    return (_table(c, head, result.names, rows, left) if rows else head) + note


def _figure(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    if not (asked.column or asked.by or asked.where):
        return (yield from _described(c, frame, replace(asked, what="size"), names))
    if not (asked.column or asked.by):
        result = yield from _query(c, frame, asked.where, head=0, columns=[frame.columns[0].name])
        return says(c, "rows", n=result.matched, **names) + c.tell(".", "。")
    sort = f"{'-' if asked.kind == 'max' else ''}{asked.column} ({asked.how})" if asked.by and asked.kind else ""
    aggregate = _aggregate(frame, asked)
    result = yield from _query(c, frame, asked.where, by=list(asked.by), aggregate=aggregate, sort=sort)
    keys, note = len(asked.by), _uncounted(c, asked, result)
    if not keys:
        value = result.rows[0][0] if result.rows else ""
        key = ("nunique" if asked.how == "nunique" else "figure") if value else "no value"
        what = says(c, f" {asked.how}") if key == "figure" else ""
        return says(c, key, x=what, v=value, **names) + (note if value else "")
    rows = []
    for row in result.rows[:_SHOWN]:
        labels = [v or says(c, "without key", k=dated(k)[0]) for k, v in zip(asked.by, row, strict=False)]
        rows.append([*labels, row[keys] or "-"])
    what = f"{asked.column} ({asked.how})" if asked.column else says(c, "row count")
    head = says(c, "by", x=what, **{**names, "k": _keys(asked)})
    return _table(c, head, result.names[: keys + 1], rows, len(result.rows) + result.hidden - len(rows)) + note


def _duplicates(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    by = [asked.column] if asked.column else [k.name for k in frame.columns if k.summary]
    if not asked.column and frame.width > len(by):
        return says(c, "sample", **names)
    result = yield from _query(c, frame, (), by=by, sort="-rows", head=5)
    number = result.matched - len(result.rows) - result.hidden
    none, some = ("unique", "not unique") if asked.column else ("no duplicates", "duplicates")
    return says(c, some if number else none, n=number, **names)


def _share(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    """The part of the rows that conditions on a column keep, of those that have a value there."""
    column = asked.where[0].column
    every = yield from _query(c, frame, (), aggregate={column: "count"})
    part = yield from _query(c, frame, asked.where, head=0, columns=[column])
    whole = every.matched if asked.where[0].sign == "missing" else int(every.rows[0][0])
    if not whole:
        raise Unplaced(column, "of what")
    value = f"{100 * part.matched / whole:.1f}"
    text = says(c, "share", v=value, x=says(c, "of rows"), n=part.matched, m=whole, **names)
    return text + left_out(c, {column: every.matched - whole})


def _top(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    key = asked.by[0]
    if asked.column and not asked.how:  # of each row, or of a total or a mean?
        unique = {key: ["nunique", "count"]} if frame.column(key).is_id else {}
        result = (yield from _query(c, frame, (), aggregate=unique)) if unique else None
        if result is None or len(set(result.rows[0])) > 1:
            raise Unplaced(asked.word, "how")
        return (yield from _best(c, frame, replace(asked, by=(), against=key), names))
    sort = ("-" if asked.most else "") + (f"{asked.column} ({asked.how})" if asked.how else "rows")
    many, aggregate = asked.head + 12, _aggregate(frame, asked)
    result = yield from _query(c, frame, asked.where, by=[key], aggregate=aggregate, sort=sort, head=many)
    rows = [row for row in result.rows if row[0] and row[1]]
    if not rows:
        return says(c, "no value", **{**names, "k": asked.column or key})
    best = _level(rows, 1, asked.head)
    counts = not asked.column or result.names[-1].endswith(" (count)")
    unnamed = sum(int(row[-1]) for row in result.rows if not row[0] and counts)
    note = _uncounted(c, asked, result)
    note += says(c, "no group", k=dated(key)[0], n=unnamed) if unnamed else ""
    end, what = _superlative(c, frame, asked), asked.column or says(c, "row count")
    figures = [f"{row[1]} ({asked.how})" if asked.how else row[1] for row in best]
    names |= {"k": _keys(asked), "x": c.tell(f"{end} {what}", f"{what} {end}")}
    if asked.head > 1:
        tied = says(c, "tied", n=len(best)) if len(best) > asked.head else ""
        table = _table(c, says(c, "top", n=asked.head, **names), result.names[:2], [row[:2] for row in best])
        return table + tied + note
    has, tie = ("have", says(c, "level")) if len(best) > 1 else ("has", "")
    labels = c.tell(" and ", "和").join(row[0] for row in best)
    return says(c, "best of", v=labels, has=has, n=figures[0], tie=tie, **names) + note


def _superlative(c: Conversation, frame: Frame, asked: Ask) -> str:
    most, least = ("most", "fewest") if not asked.column else ("high", "low")
    if frame.column(asked.column).is_date:
        most, least = "latest", "earliest"
    return says(c, asked.word if asked.word in ("most", "fewest", "least") else most if asked.most else least)


def _level(rows: Sequence[tuple[str, ...]], at: int, head: int) -> list[tuple[str, ...]]:
    return [row for i, row in enumerate(rows) if i < head or row[at] == rows[head - 1][at]]


def _best(c: Conversation, frame: Frame, asked: Ask, names: dict[str, str]) -> Script:
    label = asked.against or frame.label
    if asked.head > 1 or not label:
        return (yield from _rows(c, frame, asked, names))
    columns, sort = list(dict.fromkeys([label, asked.column])), f"{'-' if asked.most else ''}{asked.column}"
    result = yield from _query(c, frame, asked.where, columns=columns, sort=sort, head=13)
    rows = [row for row in result.rows if row[-1]]
    if not rows:
        return says(c, "no value", **names)
    best = _level(rows, -1, 1)
    note = says(c, "maybe") if len(best) == 13 else ""
    note += left_out(c, {asked.column: result.missing.get(asked.column, 0)})
    labels = list(dict.fromkeys(row[0] or says(c, "without key", k=label) for row in best))
    said = c.tell(" and ", "和").join(labels)
    said = said if frame.column(label).is_text or frame.column(label).is_date else f"{label} {said}"
    has = "have" if len(labels) > 1 else "has"
    return says(c, "best", v=said, has=has, x=_superlative(c, frame, asked), n=best[0][-1], **names) + note


_ANSWERS: Mapping[str, Callable[[Conversation, Frame, Ask, dict[str, str]], Script]] = {
    **dict.fromkeys(("describe", "size"), _described),
    **dict.fromkeys(("rows", "sort"), _rows),
    **dict.fromkeys(("count", "figure"), _figure),
    "missing": _missing,
    "duplicates": _duplicates,
    "share": _share,
    "top": _top,
    "best": _best,
}
