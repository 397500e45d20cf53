"""Questions about tables that are computed: by `query_table`, by code that the user approves, or as a cell to keep."""

import csv
import difflib
import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deepnb.models.teaching.analysis import Analysis, Condition, analysis_asked, default_how, fit, wants_join
from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.frames import Frame, answer, parse_frame, variables
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.pandas_code import BAR, HISTOGRAM, LINE, POINTS, plot_code, table_code
from deepnb.models.teaching.words import first_match, is_stop_word, short, words

RUN, CELL = "run_python", "propose_cell"
_BY_CODE = (
    r"\b(?:with|using|in|by|through|via|use|run)\s+(?:some |a (?:bit|piece) of |a little |my |your )?(?:python|pandas|code)\b\s*(?:to\b|[:,])?",
    r"(?:用|使用|运行)\s*(?:代码|pandas|python)",
)
_AS_CELL = (
    r"\b(?:give|write|show|make|create|propose|prepare|put|have|get|want|need|insert|add)\b.{0,40}\b(?:cell|code|snippet)\b",
    r"(?:写|给|生成|放|要).{0,8}(?:单元格|代码)",
)
_PLOT = (
    r"(?<![-\w/.])(?:plot|chart|graph|visuali[sz]e|histogram|scatter ?plot)(?:s|ted|ting)?\b(?!\.\w)",
    r"\bas (?:a )?(?:bars?|lines?|points|curve)\b|\bdraw\b.{0,60}\b(?:bars?|lines?|points|curve|distribution)\b",
    r"画出|画.{0,40}图|绘制|柱状图|条形图|折线图|散点图|直方图",
)
_KINDS = (
    (POINTS, r"\bscatter|\bpoints\b|\brelation(?:ship)?\b|\bcorrelat|散点"),
    (HISTOGRAM, r"\bhistogram|\bdistribut|直方|分布"),
    (LINE, r"\blines?\b|\bcurve\b|\bover (?:the )?(?:time|months|days|years|weeks)\b|\btrend|\bdevelop|折线|随"),
    (BAR, r"\bbars?\b|\bcolumn chart\b|柱状|条形"),
)
_IDENTIFIER = r"[`\"'“]?(?P<name>[A-Za-z_]\w*)[`\"'”]?"
_MAKES = r"\b(?:put|store|save|keep|hold|assign|make|create|build|define|compute|calculate|get|set|call|name)\b"
_NAMES = (
    rf"\b(?:call|name)\s+(?:it|them|that|this|(?:the|this|that) (?:result|table|variable|frame))\s+{_IDENTIFIER}",
    rf"{_MAKES}.*\b(?:variable|table|data ?frame|frame|result)\s+(?:that is )?(?:named|called)\s+{_IDENTIFIER}",
    rf"\b(?:in(?:to)?|as|to)\s+(?:a |a new |the new |new )variable\s+(?:named |called )?{_IDENTIFIER}",
    rf"\b(?:make|create|build|define)\s+(?:me )?(?:a |the )?(?:new )?(?:variable|table|data ?frame)\s+{_IDENTIFIER}",
    rf"(?:存到|存入|放到|放进|保存到|赋给|新建|创建)\s*(?:一个)?新?变量\s*{_IDENTIFIER}",
    rf"(?:命名为|叫做|存为|保存为|记为)\s*{_IDENTIFIER}",
)
_NAMES_OF_FIGURES = (
    rf"{_MAKES}.*\b(?:named|called)\s+{_IDENTIFIER}",
    rf"{_MAKES}.*\b(?:as|to|into|under)\s+(?:the name )?{_IDENTIFIER}\s*[.!?]?\s*$",
)
_FIGURES = r"\b(?:total|sum|mean|average|median|rows|table|filter|sort|join|merge|count|number|largest|smallest|highest|lowest|most|top|where|by|per|each)\b"
_NO_NAME = frozenset(
    [
        "cell",
        "code",
        "notebook",
        "pandas",
        "python",
        "file",
        "table",
        "variable",
        "bars",
        "bar",
        "line",
        "lines",
        "plot",
        "chart",
        "high",
        "low",
    ]
)
_STRUCTURED = (
    r"\b(?:total|sum|mean|average|median|count|number of|how many|max(?:imum)?|min(?:imum)?)\b.{0,80}\b(?:by|per|(?:for |of |in )?(?:each|every))\b",
    r"\b(?:rows|records|entries)\b.{0,60}(?:[<>=]|\b(?:where|with|whose|have|has|above|over|under|below|more|less|at least|at most)\b)",
    r"每一?[个种].{0,30}(?:总|合计|平均|多少|行数|最[大小高低])|各个?.{0,20}(?:总|平均)",
)
_CONNECTED = (
    r"(?:(?:\b(?:named|called|as|to|into|in|under|variable|table|a|the|new|name)\b|存到|存入|存为|变量)\s*)*[`\"'“]?$"
)
_AGAIN = r"\b(?:that|it|this|the same|last|plot|result)\b|刚才|这段|上面"
_PHRASES = {
    "sum": "total",
    "mean": "average",
    "median": "median",
    "max": "maximum",
    "min": "minimum",
    "count": "number of",
}
_SHOWN = 10
"""Lines of a result that an answer has."""
_SEEN = 3
"""Tables that are looked at, at most."""


@dataclass(frozen=True)
class Wanted:
    """What is to come of a request: a plot, a variable, a value; run, or as a cell."""

    request: str
    """The request without the words that say how."""
    tool: str = RUN
    plot: bool = False
    kind: str = ""
    name: str = ""


def wants_code(c: Conversation) -> Wanted | None:
    """A plot, a new variable, or anything else of a table that is asked for as code."""
    request = _without(c.request, _BY_CODE)
    by_code = request != c.request
    tool = CELL if first_match(request, *_AS_CELL) else RUN
    plot = first_match(request, *_PLOT) is not None
    name, rest = _name(request)
    if tool not in c.tools or not (by_code or plot or name or tool == CELL):
        return None
    kind = next((kind for kind, pattern in _KINDS if first_match(request, pattern)), "") if plot else ""
    return Wanted(rest, tool, plot, kind, name)


def wants_figures(c: Conversation) -> str | None:
    """A question that `query_table` answers for several groups, or rows."""
    return c.request if "query_table" in c.tools and first_match(c.request, *_STRUCTURED) else None


def _without(text: str, patterns: Sequence[str]) -> str:
    for pattern in patterns:
        text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return text


def _name(request: str) -> tuple[str, str]:
    """The name of the variable that is to be made, and the request without what says so."""
    for pattern in (*_NAMES, *(_NAMES_OF_FIGURES if first_match(request, _FIGURES) else ())):
        found = first_match(request, pattern)
        if found and not is_stop_word(found["name"].lower()) and found["name"].lower() not in _NO_NAME:
            said = re.sub(_CONNECTED, "", request[: found.start("name")], flags=re.IGNORECASE)
            return found["name"], f"{said} {request[found.end('name') :]}"
    return "", request


def compute(c: Conversation, wanted: Wanted) -> Script:
    """Look at the table, write the code, and say what came of it."""
    if wanted.tool == CELL and first_match(wanted.request, _AGAIN) and (code := _earlier_code(c)):
        return (yield from _propose(c, code))
    seen = yield from _tables(c, wanted.request)
    if isinstance(seen, str):
        return seen
    frames, taken = seen
    asked = analysis_asked(frames, wanted.request)
    if not (code := _code(frames, asked, wanted, taken)):
        return _unclear(c, frames[0])
    if wanted.tool == CELL:
        return (yield from _propose(c, code))
    step = yield Use(RUN, {"code": code}, may_fail=True)
    slip = _slip(asked, step.result) if step.failed else None
    if slip is None:
        return _report(c, asked, wanted, step)
    asked = _with_name(asked, *slip)
    step = yield Use(RUN, {"code": _code(frames, asked, wanted, taken)}, may_fail=True)
    lead = c.tell(
        f"{asked.table} has no column `{slip[0]}`; I took `{slip[1]}`, the nearest. ",
        f"{asked.table} 没有列 `{slip[0]}`，我改用最接近的 `{slip[1]}`。",
    )
    return lead + _report(c, asked, wanted, step)


def ask(c: Conversation, request: str) -> Script:
    """Answer by `query_table`; what it can't be asked out of the description of the table."""
    seen = yield from _tables(c, request)
    if isinstance(seen, str):
        return seen
    frame = seen[0][0]
    asked = analysis_asked(seen[0], request)
    if not (asked.by or asked.over or asked.where):
        return answer(c, frame, request)
    step = yield Use("query_table", query(frame, asked), may_fail=True)
    if step.failed:
        return failure(c, step)
    rows = list(csv.reader(line for line in step.result.splitlines()[1:]))
    lines = [f"- {row[0]}: {row[1]}" if len(row) == 2 else f"- {', '.join(row)}" for row in rows[1:]]
    head = ", ".join(rows[0][1:] or rows[0]) if rows else ""
    what = (
        f"{head} by {asked.by or asked.over} in {asked.table}" if asked.by or asked.over else step.result.split("\n")[0]
    )
    more = [f"- … {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    return "\n".join([f"{what}:", *lines[:_SHOWN], *more])


def query(frame: Frame, asked: Analysis) -> dict[str, Any]:
    """The arguments of `query_table` that ask the same."""
    by = [name for name in (asked.by, asked.over) if name]
    args: dict[str, Any] = {"table": asked.table}
    if asked.where:
        args["where"] = {one.column: _wanted_values(frame, one) for one in asked.where}
    if by:
        args["by"] = by
    if asked.column and by:
        args["aggregate"] = {asked.column: asked.how or default_how(asked.column)}
    if asked.sort:
        args["sort"] = f"{'-' if asked.descending else ''}{asked.sort}"
    if asked.head:
        args["head"] = asked.head
    if asked.join:
        args["join"] = {asked.join: [asked.on]}
    return args


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


def _tables(c: Conversation, request: str) -> Generator[Use, Step, tuple[list[Frame], list[str]] | str]:
    """The table that a request is about, and one to join; the names that are in use. Else what is to be said."""
    given = parse_frame(c.request) or parse_frame(c.base)
    if given:
        return [given[0]], [given[0].name]
    step = yield Use("list_variables", {})
    names, types = variables(step.result)
    frames = [name for name in names if types[name] == "DataFrame"]
    if not frames:
        return c.tell(
            "I compute with DataFrames, and `list_variables` shows none.",
            "我只计算 DataFrame，而 `list_variables` 里没有。",
        )
    said = [word for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", request, re.ASCII)) if word in frames]
    joins = wants_join(request)
    near = sorted(frames, key=lambda name: not words(name.replace("_", " ")) & words(request))
    seen: list[Frame] = []
    for name in said[: 2 if joins else 1] if said and (len(said) > 1 or not joins) else [*said, *near][:_SEEN]:
        step = yield Use("inspect_variable", {"name": name})
        if found := parse_frame(step.result):
            seen.append(found[0])
            if not (said or joins) and fit(found[0], request) > 1:
                break
    if not seen:
        return failure(c, step)
    best = sorted(seen, key=lambda frame: -fit(frame, request)) if not said else seen
    return (best[:2] if joins else best[:1]), names


def _code(frames: Sequence[Frame], asked: Analysis, wanted: Wanted, taken: Sequence[str]) -> str:
    """The code that gives what is wanted; empty where the request leaves too much open."""
    if not wanted.plot:
        return table_code(asked, wanted.name, taken) if asked.is_clear else ""
    columns = [column for frame in frames for column in frame.columns]
    kind = wanted.kind or _kind(asked, wanted.request)
    if kind == POINTS:
        if not (asked.column and asked.against):
            return ""
        if not first_match(wanted.request, r"\bagainst\b|\bversus\b|\bvs\b"):
            asked = replace(asked, column=asked.against, against=asked.column)
    elif kind == LINE:
        times = [column.name for column in columns if column.type.startswith("datetime")]
        along = asked.over or (times[0] if times else asked.by)
        asked = replace(asked, over=along, by="" if along == asked.by else asked.by)
    elif kind == BAR:
        label = next((column.name for column in columns if column.type in ("str", "category")), "")
        asked = replace(asked, by=asked.by or asked.over or label, over="")
    if kind == BAR:
        drawable = asked.by and (asked.column or asked.how == "count")
    else:
        drawable = asked.column and (kind != LINE or asked.over)
    return plot_code(asked, kind, wanted.name, taken) if drawable else ""


def _kind(asked: Analysis, request: str) -> str:
    """The chart that suits the question, where the request leaves it open."""
    if (
        asked.against
        and not (asked.by or asked.over)
        and first_match(request, r"\bagainst\b|\bversus\b|\bvs\b|\band\b|和")
    ):
        return POINTS
    if asked.over:
        return LINE
    return BAR if asked.by else HISTOGRAM


def _propose(c: Conversation, code: str) -> Script:
    step = yield Use(CELL, {"code": code})
    if step.result.startswith("The code is in the next cell"):
        return c.tell(
            "The code is in the next cell. I have not run it.", "代码在下一个单元格里，我没有运行它。"
        )  # fmt: skip
    return c.tell(
        f"I have not run this code:\n\n```python\n{code}\n```\n\n`{CELL}` says: {short(step.result, 200)}",
        f"我没有运行这段代码：\n\n```python\n{code}\n```\n\n`{CELL}` 说：{short(step.result, 200)}",
    )


def _earlier_code(c: Conversation) -> str:
    """The code that last ran in this thread, as far as its call is still sent."""
    ran = {m.tool_call_id for m in c.earlier if m.role == "tool" and m.status == "ok"}
    calls = [call for m in c.earlier for call in m.tool_calls if call.name == RUN and call.id in ran]
    return str(calls[-1].args.get("code", "")) if calls else ""


def _slip(asked: Analysis, result: str) -> tuple[str, str] | None:
    """(column as it was typed, nearest one) where that is what the error is about."""
    for name in asked.unseen:
        near = difflib.get_close_matches(name.lower(), [one.lower() for one in asked.known], 1)
        if near and "KeyError" in result and name in result:
            return name, next(one for one in asked.known if one.lower() == near[0])
    return None


def _with_name(asked: Analysis, typed: str, name: str) -> Analysis:
    fields = ("by", "over", "column", "against", "sort", "on")
    changed = {field: name for field in fields if getattr(asked, field) == typed}
    where = tuple(replace(one, column=name) if one.column == typed else one for one in asked.where)
    return replace(asked, where=where, **changed)


def _unclear(c: Conversation, frame: Frame) -> str:
    names = ", ".join(column.name for column in frame.columns[:12])
    return c.tell(
        f"I match words by rules and can't tell what to compute of {frame.name}. Its columns are: {names}.",
        f"我只按规则比对词语，看不出要用 {frame.name} 计算什么。它的列有：{names}。",
    )


def _report(c: Conversation, asked: Analysis, wanted: Wanted, step: Step) -> str:
    """What the result of the code says, with its figures."""
    if step.failed:
        return _no_figures(c, asked, step)
    made = re.search(rf"\[variables: .*\b{re.escape(wanted.name)}\b", step.result) if wanted.name else None
    kept = c.tell(f" It is in the variable `{wanted.name}`.", f"结果在变量 `{wanted.name}` 中。") if made else ""
    figures = _figures(step.result)
    if wanted.kind == HISTOGRAM or {"count", "mean", "std"} <= set(figures):
        return _spread(c, asked, figures)
    if figures:
        return _of_groups(c, asked, figures) + kept
    text = re.sub(r"\n?\[variables: .*\]\s*$", "", step.result)
    text = re.sub(r"\n?\[image/\S+ shown to the user\]", "", text)
    number = re.fullmatch(r"(?:np\.\w+\()?(-?[\d.]+(?:e[+-]?\d+)?)\)?", text.strip())
    if number:
        return _single(c, asked, number[1]) + kept
    lines = text.strip().splitlines()
    more = [f"… {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    quote = "\n".join(["```", *lines[:_SHOWN], *more, "```"])
    return c.tell(f"The code gave:\n{quote}", f"代码给出：\n{quote}") + kept


def _figures(result: str) -> dict[str, str]:
    """Label -> figure of a Series as it is printed; nothing of any other value."""
    if not re.search(r"^(?:.*, )?dtype: \w", result, re.M):
        return {}
    found = re.findall(r"^(\S.*?) {2,}(-?\d[\d.]*(?:e[+-]?\d+)?)$", result, re.M)
    return {label: _figure(value) for label, value in found}


def _figure(value: str) -> str:
    """A figure without zeros at its end."""
    return re.sub(r"\.?0+$", "", value) if re.fullmatch(r"-?\d+\.\d+", value) else value


def _measure(asked: Analysis) -> str:
    if not asked.column:
        return "number of rows"
    return (
        asked.column
        if asked.single and not asked.how
        else f"{asked.how or default_how(asked.column)} of {asked.column}"
    )


def _of_groups(c: Conversation, asked: Analysis, figures: Mapping[str, str]) -> str:
    """The largest and the smallest of the groups; along time the first and the last."""
    what, along = _measure(asked), asked.by or asked.over
    labels = list(figures)
    if asked.over and not asked.by:
        first, last = labels[0], labels[-1]
        return c.tell(
            f"The {what} goes from {figures[first]} ({first}) to {figures[last]} ({last}).",
            f"{what} 从 {figures[first]}（{first}）变到 {figures[last]}（{last}）。",
        )
    high = max(labels, key=lambda label: float(figures[label]))
    low = min(labels, key=lambda label: float(figures[label]))
    return c.tell(
        f"By {along}, the {what} in {asked.table} is highest for {high} ({figures[high]}) and lowest for {low} ({figures[low]}).",
        f"{asked.table} 按 {along} 计算 {what}：{high} 最大（{figures[high]}），{low} 最小（{figures[low]}）。",
    )


def _spread(c: Conversation, asked: Analysis, figures: Mapping[str, str]) -> str:
    low, mean, high = (figures.get(name, "?") for name in ("min", "mean", "max"))
    return c.tell(
        f"{asked.column} in {asked.table} goes from {low} to {high}, with a mean of {mean}.",
        f"{asked.table} 的 {asked.column} 从 {low} 到 {high}，平均值 {mean}。",
    )


def _single(c: Conversation, asked: Analysis, number: str) -> str:
    if asked.against:
        return c.tell(
            f"The correlation of {asked.against} and {asked.column} in {asked.table} is {float(number):.2f}.",
            f"{asked.table} 中 {asked.against} 与 {asked.column} 的相关系数是 {float(number):.2f}。",
        )
    where = " and ".join(f"{one.column} {one.sign} {one.value}" for one in asked.where)
    rows = c.tell(f", where {where},", f"（{where}）") if where else ""
    return c.tell(
        f"The {_measure(asked)} in {asked.table}{rows} is {_figure(number)}.",
        f"{asked.table}{rows} 的 {_measure(asked)} 是 {_figure(number)}。",
    )


def _no_figures(c: Conversation, asked: Analysis, step: Step) -> str:
    """That the code did not run, or how it failed; and, where it was not allowed, what needs no code."""
    text = failure(c, step)
    along = asked.by or asked.over
    if "did not allow" not in step.result or "query_table" not in c.tools or not (along and asked.column):
        return text
    phrase = f"{_PHRASES[asked.how or default_how(asked.column)]} {asked.column} by {along} in {asked.table}"
    return text + c.tell(
        f" `query_table` gives the figures without code: ask for the {phrase}.",
        f" `query_table` 不用代码也能给出这些数字：可以问“每个 {along} 的 {asked.column} 总和”。",
    )
