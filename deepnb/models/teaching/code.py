"""Python code for a question about a table: a plot, a variable, a cell to keep, a figure; and what its result says."""

import difflib
import json
import keyword
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deepnb.models.teaching.answers import refusal, tables_asked, with_values
from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.grammar import Ask, Condition, Unplaced, read
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.tables import Frame, without_tables
from deepnb.models.teaching.words import first_match, is_stop_word, short

RUN, CELL = "run_python", "propose_cell"
_BY_CODE = (
    r"\b(?:with|using|in|by|use|run)\s+(?:some |my |your )?(?:python|pandas|code)\b\s*(?:to\b|[:,])?",
    r"(?:用|使用|运行)\s*(?:代码|pandas|python)",
)
_AS_CELL = (
    r"\b(?:give|write|show|make|create|propose|put|have|want|need|insert|add)\b(?: me)? (?:a |the )?(?:new |next )?(?:cell|code|snippet)"
    r"\b(?: (?:that|which|to|for|with))?:?",
    r"(?:写|给我?|生成)(?:一个|一段)?(?:单元格|代码)[，,：:]?",
)
_PLOT = (
    r"(?<![-\w/.])(?:plots?|chart|graph|visuali[sz]e|histogram|scatter ?plot|plotting)\b(?!\.\w)|^\s*draw\b.*\b(?:bars?|lines?|points)\b",
    r"画|绘制|柱状图|条形图|折线图|散点图|直方图",
)
_NAME = r"[`\"'“]?(?P<name>[A-Za-z_]\w*)[`\"'”]?"
_NAMED = (
    rf"[,，]?\s*(?:and )?\b(?:call|name)\s+(?:it|that|the result)\s+{_NAME}",
    rf"\s*\b(?:in(?:to)?|as|to|in)\s+(?:a |the )?(?:new )?variable\s+(?:named |called )?{_NAME}",
    rf"(?<=\w)\s+(?:and (?:store|save|keep) (?:it|that) )?as\s+{_NAME}\s*[.!]?$",
    rf"(?:存到|存入|放到|保存到|赋给)\s*(?:一个)?新?变量\s*{_NAME}",
)
_MAKES = r"^\s*(?:please )?(?:put|store|save|keep|assign|compute|calculate|get)\b|^\s*把"
_AGAIN = r"\b(?:give|put|show|write|make|keep|have|want|get|save)\s+(?:me\s+)?(?:that|this|it|the (?:last |same )?(?:plot|result|code|cell))\b|刚才|上面"
_UNITS = frozenset(["c", "f", "k", "mm", "cm", "m", "km", "kg", "1e24", "g", "t", "h", "s", "s2", "min", "days", "pct", "usd", "eur"])  # fmt: skip
_PHRASES = {"sum": "total", "mean": "average", "median": "median", "max": "maximum", "min": "minimum"}
_WIDTH, _SHOWN = 88, 10


@dataclass(frozen=True)
class Wanted:
    """What is to come of a request: run, or put into a cell; the name of a variable to make."""

    request: str
    """The request without the words that say how."""
    tool: str = RUN
    name: str = ""
    again: bool = False
    """Whether the code that ran last is meant."""


def wants_code(c: Conversation) -> Wanted | None:
    """A plot, a new variable, or anything else of a table that is asked for as code."""
    if len(c.request) > 4_000:
        return None
    request = c.request
    for pattern in _BY_CODE:
        request = re.sub(pattern, " ", request, flags=re.IGNORECASE)
    by_code = request != c.request
    cell = first_match(request, *_AS_CELL)
    name = ""
    if (
        (by_code or first_match(request, _MAKES))
        and (found := first_match(request, *_NAMED))
        and not is_stop_word(found["name"])
    ):
        name = found["name"]
        request = re.sub(_MAKES, " ", request[: found.start()] + request[found.end() :], flags=re.IGNORECASE)
    again = cell is None and "cell" in request and first_match(request, _AGAIN) is not None
    if cell:
        request = request[: cell.start()] + request[cell.end() :]
    tool = CELL if cell or again else RUN
    plot = first_match(request, *_PLOT)
    return Wanted(request, tool, name, again) if tool in c.tools and (by_code or plot or name or tool == CELL) else None


def compute(c: Conversation, wanted: Wanted) -> Script:
    """Look at the table, write the code, and say what came of it; a misspelt column is corrected after the error."""
    if wanted.again and (code := _earlier_code(c)):
        return (yield from _propose(c, code))
    listed = next((s.result for s in c.turn if s.tool == "list_variables"), "")
    frames = yield from tables_asked(c, wanted.request)
    if isinstance(frames, str):
        return frames
    taken = re.findall(r"^`?(\w+)`?:", listed, re.M)
    request, typed, near = without_tables(wanted.request), "", ""
    failed: list[tuple[Frame, Unplaced]] = []
    for frame in frames:
        known = (yield from with_values(c, frame, request)) if len(frames) == 1 else frame
        try:
            asked = read(request, known)
        except Unplaced as error:
            names = difflib.get_close_matches(error.word, [column.name for column in known.columns], 1, cutoff=0.7)
            try:
                asked = read(re.sub(rf"\b{re.escape(error.word)}\b", f"`{names[0]}`" if names else "", request), known)
            except Unplaced:
                failed.append((known, error))
                continue
            if not names:
                failed.append((known, error))
                continue
            typed, near = error.word, names[0]
        return (yield from run(c, known, asked, wanted.name, taken, wanted.tool, typed, near))
    return refusal(c, failed[0][1], failed[0][0])


def run(
    c: Conversation,
    frame: Frame,
    asked: Ask,
    name: str,
    taken: Sequence[str],
    tool: str = RUN,
    typed: str = "",
    near: str = "",
) -> Script:
    """Run the code, or put it into a cell."""
    try:
        code = code_of(frame, asked, name, taken)
    except Unplaced as error:
        return refusal(c, error, frame)
    first = code.replace(f'"{near}"', f'"{typed}"') if typed else code
    if tool == CELL:
        return (yield from _propose(c, code))
    step = yield Use(RUN, {"code": first}, may_fail=True)
    lead = ""
    if typed and step.failed and typed in step.result and "did not allow" not in step.result:
        lead = c.tell(
            f"{frame.name} has no column `{typed}`; I took `{near}`, the nearest. ",
            f"{frame.name} 没有列 `{typed}`，我改用最接近的 `{near}`。",
        )
        step = yield Use(RUN, {"code": code}, may_fail=True)
    return lead + _report(c, frame, asked, name, step)


def code_of(frame: Frame, asked: Ask, name: str = "", taken: Collection[str] = ()) -> str:
    """Code whose last line is the answer, bound to `name` if one is given."""
    rows = _rows(frame, asked)
    if asked.what == "plot":
        return _plot(frame, asked, rows, taken)
    how = asked.hows[0] if asked.hows else ""
    column = _text(asked.column)
    sort = f".sort_values(ascending={not asked.most})"
    chain = {
        "rows": [rows, *([f".head({asked.head})"] if asked.head else [])],
        "tail": [rows, f".tail({asked.head})"],
        "sort": [rows, f".sort_values({column}, ascending={not asked.most})"],
        "best": [rows, f".{'nlargest' if asked.most else 'nsmallest'}({asked.head}, {column})"],
        "corr": [f"{rows}[{column}]", f".corr({rows}[{_text(asked.against)}])"],
        "exists": [f"len({rows})"],
    }.get(asked.what)
    if asked.what in ("count", "figure", "top"):
        groups = [rows, *_totals(asked)] if asked.by else [f"{rows}[{column}].{how}()" if how else f"len({rows})"]
        chain = [*groups, *([sort, f".head({asked.head})"] if asked.what == "top" else [])]
    if chain is None:
        raise Unplaced(asked.word or asked.column or frame.name, "text")
    return "\n".join([_line(chain, name), name] if name else [_line(chain)])


def _totals(asked: Ask) -> list[str]:
    """The methods that give a figure for each group."""
    keys = [_key(one) for one in asked.by]
    along = f"[{', '.join(keys)}]" if len(keys) > 1 else keys[0]
    if not asked.column:
        return [f".groupby({along})", ".size()"]
    return [f".groupby({along})[{_text(asked.column)}]", f".{asked.hows[0]}()"]


def _key(by: str) -> str:
    column, _, period = by.rpartition(".")
    if period in ("year", "quarter", "month", "week", "day") and column:
        return f"lambda t: t[{_text(column)}].dt.to_period({period[0].upper()!r})"
    return _text(by)


def _plot(frame: Frame, asked: Ask, rows: str, taken: Collection[str]) -> str:
    """Code that draws, and whose last line gives the figures that are drawn."""
    column = _text(asked.column)
    if asked.kind == "scatter":
        x = _text(asked.against)
        last = f'print("correlation:", round({rows}[{x}].corr({rows}[{column}]), 2))'
        return _cell([], f"{rows}.plot.scatter(x={x}, y={column}, ax=ax)", f"{_title(asked.column)} against {_plain(asked.against)}", "", last)  # fmt: skip
    if not asked.by:
        values = f"{rows}[{column}]"
        return _cell([], f"{values}.plot.hist(ax=ax)", f"Distribution of {_plain(asked.column)}", f"xlabel={column}", f"{values}.describe()")  # fmt: skip
    along, period = asked.by[0].rpartition(".")[::2] if _key(asked.by[0])[:1] == "l" else (asked.by[0], "")
    single = bool(asked.column) and frame.distinct(frame.column(along)) == str(frame.rows)
    what = "number of rows" if not asked.column else asked.column if single else f"{asked.column} ({asked.hows[0]})"
    name = free_name("_".join(filter(None, (asked.column or "rows", "by", along, period))), taken)
    if period:
        data = f"{rows}.groupby({rows}[{_text(along)}].dt.to_period({period[0].upper()!r}))"
        chain = [data, *(_totals(asked)[1:] if not asked.column else [f"[{column}]", f".{asked.hows[0]}()"])]
    else:
        chain = [rows, *([f".set_index({_text(along)})[{column}]"] if single else _totals(asked))]
    if asked.kind != "line" and not period:
        chain.append(".sort_values()")
    draw, axis = ("line", "ylabel") if asked.kind == "line" else ("bar", "ylabel") if period else ("barh", "xlabel")
    title = f"{_title(asked.column) if asked.column else 'Rows'} by {_plain(period or along)}"
    return _cell([_line(chain, name)], f"{name}.plot.{draw}(ax=ax)", title, f"{axis}={_text(what)}", name)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name for a variable that is not in use."""
    name = re.sub(r"\W+", "_", wanted.lower()).strip("_") or "result"
    name = f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name
    return next(one for one in (name, *(f"{name}_{n}" for n in range(2, 10_000))) if one not in taken)


def _cell(data: list[str], draw: str, title: str, axis: str, last: str) -> str:
    labels = f"ax.set(title={_text(title)}{', ' if axis else ''}{axis})"
    figure = "\n".join(['fig, ax = plt.subplots(layout="constrained")', draw, labels, last])
    return "\n\n".join(["import matplotlib.pyplot as plt", *data, figure])


def _line(chain: Sequence[str], name: str = "") -> str:
    """A chain of methods on one line; on a line each where that would be too long."""
    start = f"{name} = " if name else ""
    if len(start) + len("".join(chain)) <= _WIDTH or len(chain) < 3:
        return start + "".join(chain)
    return "\n".join([f"{start}(", *(f"    {part}" for part in chain), ")"])


def _rows(frame: Frame, asked: Ask) -> str:
    masks = [_mask(frame, one) for one in asked.where]
    return (
        f"{frame.code}[{masks[0] if len(masks) == 1 else ' & '.join(f'({mask})' for mask in masks)}]"
        if masks
        else frame.code
    )


def _mask(frame: Frame, one: Condition) -> str:
    column = f"{frame.code}[{_text(one.column)}]"
    if frame.column(one.column).type == "bool" and one.sign == "==":
        return column if one.value else f"~{column}"
    if one.sign in ("missing", "present"):
        return f"{column}.{'isna' if one.sign == 'missing' else 'notna'}()"
    if one.sign == "contains":
        return f"{column}.str.contains({_text(one.value)}, case=False, na=False, regex=False)"
    if isinstance(one.value, tuple):
        values = f"{column}.isin([{', '.join(map(_literal, one.value))}])"
        return f"~{values} & {column}.notna()" if one.sign == "not" else values
    return f"{column} {one.sign} {_literal(one.value)}"


def _literal(value: object) -> str:
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(value)
    return _text(value) if isinstance(value, str) else repr(value)


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _plain(column: str) -> str:
    """The name of a column within a title, without its unit: the axis has that."""
    words = re.sub(r"[_\\\"]", " ", column).split()
    while len(words) > 1 and words[-1].lower() in _UNITS:
        words.pop()
    return " ".join(words)


def _title(column: str) -> str:
    return _plain(column)[:1].upper() + _plain(column)[1:]


# -- what came of it


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


def _report(c: Conversation, frame: Frame, asked: Ask, name: str, step: Step) -> str:
    """What the result says, with its figures: never more than it shows, since the user may have changed the code."""
    if step.failed:
        return _no_figures(c, frame, asked, step)
    made = name and re.search(rf"\[variables: .*\b{re.escape(name)}\b", step.result)
    kept = c.tell(f" It is in the variable `{name}`.", f"结果在变量 `{name}` 中。") if made else ""
    changed = step.args.get("code") != code_of(frame, asked, name, ()) and asked.what != "plot"
    text = re.sub(r"\n?\[(?:variables: .*|image/\S+ shown to the user)\]", "", step.result).strip("\n")
    figures = dict(re.findall(r"^(\S.*?) {2,}(-?\d[\d.]*(?:e[+-]?\d+)?)$", text, re.M)) if "dtype: " in text else {}
    lines = text.splitlines()
    number = re.fullmatch(r"(?:correlation: |np\.\w+\()?(-?[\d.]+(?:e[+-]?\d+)?)\)?", lines[-1]) if lines else None
    if asked.what in ("corr", "plot") and asked.against and number:
        one, value = f"{asked.against} and {asked.column}", f"{float(number[1]):.2f}"
        return c.tell(f"The correlation of {one} in {frame.name} is {value}.", f"{frame.name} 中 {asked.against} 与 {asked.column} 的相关系数是 {value}。")  # fmt: skip
    if {"count", "mean", "std"} <= set(figures):
        low, mean, high = (_figure(figures[one]) for one in ("min", "mean", "max"))
        return c.tell(f"{asked.column} in {frame.name} goes from {low} to {high}, with a mean of {mean}.", f"{frame.name} 的 {asked.column} 从 {low} 到 {high}，平均值 {mean}。")  # fmt: skip
    if figures and asked.by and not changed:
        return _of_groups(c, frame, asked, figures) + kept + _left_out(c, frame, asked)
    more = [f"… {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    quote = "\n".join(["```", *lines[:_SHOWN], *more, "```"])
    return c.tell(f"The code gave:\n{quote}", f"代码给出：\n{quote}") + (f"\n{kept.strip()}" if kept else "")


def _left_out(c: Conversation, frame: Frame, asked: Ask) -> str:
    """Which rows the code leaves out since they have no value; what conditions keep of them is not known."""
    names = {asked.column, *(one.rpartition(".")[0] if _key(one)[:1] == "l" else one for one in asked.by)}
    found = (
        [(k.name, frame.lacking(k)) for k in frame.columns if k.name in names and frame.lacking(k)]
        if not asked.where
        else []
    )
    en = ", ".join(f"{number:,} without `{name}`" for name, number in found)
    zh = "，".join(f"{number:,} 行没有 `{name}`" for name, number in found)
    return c.tell(f"\n\nRows left out: {en}.", f"\n\n未计入：{zh}。") if found else ""


def _figure(value: str) -> str:
    if value.lstrip("-").isdecimal():
        return value
    return f"{float(value):.0f}" if abs(float(value)) >= 1000 else f"{float(value):.4g}"


def _of_groups(c: Conversation, frame: Frame, asked: Ask, figures: dict[str, str]) -> str:
    """The largest and the smallest of the groups; along time the first and the last."""
    what = asked.column and c.tell(f"{_PHRASES.get(asked.hows[0], asked.hows[0])} of {asked.column}", f"{asked.column}（{asked.hows[0]}）")  # fmt: skip
    what = what or c.tell("number of rows", "行数")
    labels, by = list(figures), ", ".join(asked.by)
    first, last = labels[0], labels[-1]
    if asked.kind == "line":
        return c.tell(
            f"The {what} goes from {_figure(figures[first])} ({first}) to {_figure(figures[last])} ({last}).",
            f"{what}从 {_figure(figures[first])}（{first}）变到 {_figure(figures[last])}（{last}）。",
        )
    values = [float(value) for value in figures.values()]
    high, low = (
        " and ".join(label for label in labels if float(figures[label]) == end) for end in (max(values), min(values))
    )
    top, bottom = (_figure(next(v for v in figures.values() if float(v) == end)) for end in (max(values), min(values)))
    if high == low:
        return c.tell(f"By {by}, the {what} in {frame.name} is the same everywhere: {top}.", f"{frame.name} 按 {by} 计算{what}：都是 {top}。")  # fmt: skip
    return c.tell(
        f"By {by}, the {what} in {frame.name} is highest for {high} ({top}) and lowest for {low} ({bottom}).",
        f"{frame.name} 按 {by} 计算{what}：{high} 最大（{top}），{low} 最小（{bottom}）。",
    )


def _no_figures(c: Conversation, frame: Frame, asked: Ask, step: Step) -> str:
    """That the code did not run, or how it failed; and, where it was not allowed, what needs no code."""
    text = failure(c, step)
    if "did not allow" not in step.result or "query_table" not in c.tools or not (asked.by and asked.column):
        return text
    phrase = f"{_PHRASES[asked.hows[0]]} {asked.column} by {asked.by[0]} in {frame.name}"
    return text + c.tell(
        f" `query_table` gives the figures without code: ask for the {phrase}.",
        f" `query_table` 不用代码也能给出这些数字：可以问“每个 {asked.by[0]} 的 {asked.column} 总和”。",
    )
