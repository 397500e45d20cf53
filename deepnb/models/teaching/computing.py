"""Code for a question about tables: run once the user has approved it, or put into a cell to keep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deepnb.models.teaching.analysis import Analysis, renamed, slip
from deepnb.models.teaching.analysis_request import analysis_asked, label_column
from deepnb.models.teaching.code_request import CELL, RUN, Wanted
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.frames import Frame, without_tables
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.pandas_code import BAR, HISTOGRAM, LINE, POINTS, plot_code, table_code
from deepnb.models.teaching.report import corrected, left_out, report, unclear
from deepnb.models.teaching.tables import tables_asked
from deepnb.models.teaching.words import first_match, short

_AGAINST = r"\bagainst\b|\bversus\b|\bvs\b"


@dataclass(frozen=True)
class _Task:
    """What the code is written from."""

    asked: Analysis
    kind: str
    """The chart; empty for no plot."""
    name: str
    taken: Sequence[str]
    """Names that are in use."""

    @property
    def code(self) -> str:
        if self.kind:
            return plot_code(self.asked, self.kind, self.name, self.taken)
        return table_code(self.asked, self.name, self.taken)


def compute(c: Conversation, wanted: Wanted) -> Script:
    """Look at the table, write the code, and say what came of it."""
    if wanted.again and (code := _earlier_code(c)):
        return (yield from _propose(c, code))
    seen = yield from tables_asked(c, wanted.request)
    if isinstance(seen, str):
        return seen
    frames, taken = seen
    asked = analysis_asked(frames, without_tables(wanted.request))
    task = _task(frames, asked, wanted, taken)
    if task is None or asked.unknown:
        return unclear(c, frames[0], asked.unknown)
    if wanted.tool == CELL:
        return (yield from _propose(c, task.code))
    step = yield Use(RUN, {"code": task.code}, may_fail=True)
    misspelt = slip(task.asked, step.result) if step.failed else None
    if misspelt is None:
        return report(c, task.asked, task.name, step) + ("" if step.failed else left_out(c, frames[0], task.asked))
    task = replace(task, asked=renamed(task.asked, *misspelt))
    step = yield Use(RUN, {"code": task.code}, may_fail=True)
    said = corrected(c, task.asked, *misspelt) + report(c, task.asked, task.name, step)
    return said + ("" if step.failed else left_out(c, frames[0], task.asked))


def _task(frames: Sequence[Frame], asked: Analysis, wanted: Wanted, taken: Sequence[str]) -> _Task | None:
    """The code that gives what is wanted; None where the request leaves too much open."""
    if not wanted.plot:
        return _Task(asked, "", wanted.name, taken) if asked.is_clear else None
    label = label_column(column for frame in frames for column in frame.columns)
    kind = wanted.kind or _kind(asked, wanted.request, label)
    if kind == POINTS:
        if not first_match(wanted.request, _AGAINST):
            asked = replace(asked, column=asked.against, against=asked.column)
        asked = replace(asked, how="corr")
        drawable = bool(asked.column and asked.against)
    elif kind == LINE:
        along = asked.over or _first(frames, "datetime") or asked.by
        asked = replace(asked, over=along, by="" if along == asked.by else asked.by)
        drawable = bool(asked.column and along)
    elif kind == BAR:
        if not (asked.by or asked.over) and label:
            asked = replace(asked, by=label, single=True)
        asked = replace(asked, by=asked.by or asked.over or _first(frames, "str", "category"))
        drawable = bool(asked.by and (asked.column or asked.how == "count"))
    else:
        drawable = bool(asked.column)
    return _Task(asked, kind, wanted.name, taken) if drawable else None


def _first(frames: Sequence[Frame], *types: str) -> str:
    """The first column of a type."""
    return next((one.name for frame in frames for one in frame.columns if one.type.startswith(types)), "")


def _kind(asked: Analysis, request: str, label: str) -> str:
    """The chart that suits the question, where the request leaves it open."""
    if asked.against and not (asked.by or asked.over) and first_match(request, _AGAINST, r"\band\b|和"):
        return POINTS
    if asked.over:
        return LINE
    return BAR if asked.by or label else HISTOGRAM


def _propose(c: Conversation, code: str) -> Script:
    step = yield Use(CELL, {"code": code})
    if step.result.startswith("The code is in the next cell"):
        return c.tell("The code is in the next cell. I have not run it.", "代码在下一个单元格里，我没有运行它。")
    return c.tell(
        f"I have not run this code:\n\n```python\n{code}\n```\n\n`{CELL}` says: {short(step.result, 200)}",
        f"我没有运行这段代码：\n\n```python\n{code}\n```\n\n`{CELL}` 说：{short(step.result, 200)}",
    )


def _earlier_code(c: Conversation) -> str:
    """The code that last ran in this thread, as far as its call is still sent."""
    ran = {m.tool_call_id for m in c.earlier if m.role == "tool" and m.status == "ok"}
    calls = [call for m in c.earlier for call in m.tool_calls if call.name == RUN and call.id in ran]
    return str(calls[-1].args.get("code", "")) if calls else ""
