"""Questions about groups and rows of tables, answered by `query_table`: no code, no approval."""

import csv
import math
from collections.abc import Sequence
from typing import Any

from deepnb.models.teaching.analysis import Analysis, Condition, default_how, renamed, slip
from deepnb.models.teaching.analysis_request import FREQUENT, analysis_asked
from deepnb.models.teaching.code_request import LONGEST
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.frames import Frame, answer, answer_asked, groups_asked
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.report import corrected, left_out, unclear
from deepnb.models.teaching.tables import tables_asked
from deepnb.models.teaching.words import first_match

_STRUCTURED = (
    r"\b(?:total|sum|mean|average|median|count|number of|how many|max(?:imum)?|min(?:imum)?)\b.{0,80}\b(?:by|per|(?:for |of |in )?(?:each|every))\b",
    r"\b(?:rows|records|entries)\b.{0,60}(?:[<>=]|\b(?:where|with|whose|have|has|above|over|under|below|more|less|at least|at most)\b)",
    r"\b(?:which|what)\b.{0,40}\b(?:most|fewest|(?<!at )least)\b",
    r"每一?[个种].{0,30}(?:总|合计|平均|多少|行数|最[大小高低])|各个?.{0,20}(?:总|平均)",
)
_SHOWN = 10
"""Lines of an answer."""


def wants_figures(c: Conversation) -> str | None:
    """A question that `query_table` answers for several groups, or rows."""
    short_enough = len(c.request) <= LONGEST
    return c.request if short_enough and "query_table" in c.tools and first_match(c.request, *_STRUCTURED) else None


def ask(c: Conversation, request: str) -> Script:
    """Answer by `query_table`; what it can't be asked out of the description of the table."""
    seen = yield from tables_asked(c, request)
    if isinstance(seen, str):
        return seen
    frame = seen[0][0]
    asked = analysis_asked(seen[0], request)
    if asked.unknown:
        return unclear(c, frame, asked.unknown)
    if asked.how == "sum" and asked.by and not asked.column and not first_match(request, FREQUENT):
        return answer(c, frame, request)  # of what, it does not say
    if asked.how != "count" and groups_asked(frame, request):
        return (yield from answer_asked(c, frame, request))
    single = asked.single and asked.sort  # one row answers it: its description tells which
    if single or asked.how == "corr" or not (asked.by or asked.over or asked.where):
        return answer(c, frame, request)
    lead = ""
    step = yield Use("query_table", query(frame, asked), may_fail=True)
    if step.failed and (misspelt := slip(asked, step.result)):
        asked = renamed(asked, *misspelt)
        lead = corrected(c, asked, *misspelt)
        step = yield Use("query_table", query(frame, asked), may_fail=True)
    if step.failed:
        return failure(c, step)
    rows = list(csv.reader(line for line in step.result.splitlines()[1:]))
    lines = [f"- {row[0]}: {row[1]}" if len(row) == 2 else f"- {', '.join(row)}" for row in rows[1:]]
    by = list(dict.fromkeys(name for name in (asked.by, asked.also, asked.over) if name))
    head = ", ".join(rows[0][len(by) :]) if rows else ""
    what = f"{head} by {', '.join(by)} in {asked.table}" if by else step.result.split("\n")[0]
    more = [f"- … {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    return "\n".join([f"{lead}{what}:", *lines[:_SHOWN], *more]) + left_out(c, frame, asked)


def query(frame: Frame, asked: Analysis) -> dict[str, Any]:
    """The arguments of `query_table` that ask the same."""
    by = list(dict.fromkeys(name for name in (asked.by, asked.also, asked.over) if name))
    args: dict[str, Any] = {"table": asked.table}
    if asked.where:
        args["where"] = _where(frame, asked.where)
    if by:
        args["by"] = by
    if asked.column and by:
        how = asked.how or default_how(asked.column)
        args["aggregate"] = {name: how for name in (asked.column, asked.against) if name}
    if asked.sort:
        args["sort"] = f"{'-' if asked.descending else ''}{asked.sort}"
    if asked.head:
        args["head"] = asked.head
    if asked.join:
        args["join"] = {asked.join: [asked.on]}
    return args


def _where(frame: Frame, conditions: Sequence[Condition]) -> dict[str, Any]:
    """The conditions by column; two ends of a range are one."""
    where: dict[str, Any] = {}
    for one in conditions:
        value, other = _wanted_values(frame, one), where.get(one.column)
        where[one.column] = {**other, **value} if isinstance(other, dict) and isinstance(value, dict) else value
    return where


def _wanted_values(frame: Frame, one: Condition) -> Any:
    """A condition as `query_table` takes it: its ranges hold their ends."""
    if one.sign in ("==", "in"):
        return list(one.value) if isinstance(one.value, tuple) else one.value
    whole = any(column.name == one.column and "int" in column.type for column in frame.columns)
    if one.sign in (">", "<"):
        up = one.sign == ">"
        step = math.floor(one.value) + 1 if up else math.ceil(one.value) - 1
        value = step if whole else math.nextafter(one.value, math.inf if up else -math.inf)
        return {"min" if up else "max": value}
    return {"min" if one.sign == ">=" else "max": one.value}
