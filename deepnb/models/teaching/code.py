"""Python code for a question about a table: a plot, a variable, a cell to keep, a figure; and what its result says."""

import difflib
import json
import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from deepnb.models.teaching.answers import answer, left_out, refusal, tables_asked, understood, wants_table, with_values
from deepnb.models.teaching.conditions import Condition, Unplaced
from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.grammar import Ask, read
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.tables import UNITS, Frame, without_tables
from deepnb.models.teaching.talk import says
from deepnb.models.teaching.vocabulary import may_ask
from deepnb.models.teaching.words import first_match, is_stop_word, short

RUN, CELL = "run_python", "propose_cell"
_BY_CODE = (
    r"\b(?:with|using|in|by|use)\s+(?:python|pandas|code)\b\s*(?:to\b|[:,])?|(?:用|使用)\s*(?:代码|pandas|python)"
)
_AS_CELL = (
    r"\b(?:give|write|show|make|put)\b(?: me)? (?:a |the )?(?:new |next )?(?:cell|code|snippet)\b(?: (?:that|which|to|for|with))?:?",
    r"(?:写|给我?|生成)(?:一个|一段)?(?:单元格|代码)[，,：:]?",
)
_PLOT = r"(?<![-\w/.])(?:plots?|chart|graph|visuali[sz]e|histogram|scatter ?plot|draw)\b(?!\.\w)|画|绘制|柱状图|条形图|折线图|散点图|直方图"
_NAME = r"[`\"'“]?(?P<name>[A-Za-z_]\w*)[`\"'”]?"
_NAMED = (
    rf"\s*\b(?:in(?:to)?|as)\s+(?:a |the )?(?:new )?variable\s+(?:named |called )?{_NAME}|\s+as\s+{_NAME.replace('name', 'as_')}\s*[.!]?$",
    rf"(?:存到|存入|保存到)\s*(?:一个)?变量\s*{_NAME}",
)
_MAKES = r"^\s*(?:please )?(?:put|store|save|keep|compute|calculate|get)\b|^\s*把"
_AGAIN = r"\b(?:give|put|show|write|make|keep)\s+(?:me\s+)?(?:that|this|it)\b.*\bcell\b|(?:刚才|上面).*单元格"
_PHRASES = {"sum": "total", "mean": "average", "median": "median", "max": "maximum", "min": "minimum"}
_WIDTH, _SHOWN = 88, 10


@dataclass(frozen=True)
class Wanted:
    """What is to come of a request, which has no words any more that say how; `again` is the code that ran last."""

    request: str
    tool: str = RUN
    name: str = ""
    """The variable to make."""
    again: bool = False


def wants_code(c: Conversation) -> Wanted | None:
    """A plot, a new variable, or anything else of a table that is asked for as code."""
    request = re.sub(_BY_CODE, " ", c.request, flags=re.IGNORECASE)
    by_code, name = request != c.request, ""
    if (by_code or first_match(request, _MAKES)) and (found := first_match(request, *_NAMED)):
        name = next(group for group in found.groups() if group)
        request = re.sub(_MAKES, " ", request[: found.start()] + request[found.end() :], flags=re.IGNORECASE)
    again = first_match(request, _AGAIN) is not None
    cell = first_match(request, *_AS_CELL)
    request = request[: cell.start()] + request[cell.end() :] if cell else request
    tool = CELL if cell or again else RUN
    wanted = by_code or tool == CELL or (name and not is_stop_word(name)) or first_match(request, _PLOT)
    return Wanted(request, tool, name, again) if tool in c.tools and wanted and len(request) < 4_000 else None


def ask(c: Conversation, request: str) -> Script:
    """Answer a question about a table, by code where nothing else can; or say which word has no place."""
    found = yield from understood(c, request, wants_table(c) is not None or may_ask(request))
    if isinstance(found, str):
        return found
    return (yield from (run if found[1].what in ("plot", "tail", "corr") else answer)(c, *found))


def compute(c: Conversation, wanted: Wanted) -> Script:
    """Look at the table, write the code, and say what came of it; a misspelt column is corrected after the error."""
    if wanted.again:
        ran = {m.tool_call_id for m in c.earlier if m.role == "tool" and m.status == "ok"}
        codes = [str(call.args.get("code", "")) for m in c.earlier for call in m.tool_calls if call.name == RUN and call.id in ran]  # fmt: skip
        return (yield from _propose(c, codes[-1])) if codes else says(c, "no code")
    frames = yield from tables_asked(c, wanted.request)
    if isinstance(frames, str):
        return frames
    listed = next((s.result for s in c.turn if s.tool == "list_variables"), "")
    request, failed = without_tables(wanted.request), Unplaced("?")
    for frame in frames:
        known = (yield from with_values(c, frame, request)) if len(frames) == 1 else frame
        names, typed, near = [column.name for column in known.columns], "", ""
        try:
            try:
                asked = read(request, known)
            except Unplaced as error:
                typed, near = error.word, next(iter(difflib.get_close_matches(error.word, names, 1, cutoff=0.7)), "")
                if not near:
                    raise
                asked = read(re.sub(rf"\b{re.escape(typed)}\b", f"`{near}`", request), known)
        except Unplaced as error:
            failed = error
            continue
        taken = re.findall(r"^`?(\w+)`?:", listed, re.M)
        return (yield from run(c, known, asked, wanted.name, taken, wanted.tool, (typed, near)))
    return refusal(c, failed, frames[0])


def run(
    c: Conversation,
    frame: Frame,
    asked: Ask,
    name: str = "",
    taken: Collection[str] = (),
    tool: str = RUN,
    slip: tuple[str, str] = ("", ""),
) -> Script:
    """Run the code, or put it into a cell; a column that was misspelt is first taken as it was typed."""
    try:
        right = _code(frame, asked, name, taken)
    except Unplaced as error:
        return refusal(c, error, frame)
    if tool == CELL:
        return (yield from _propose(c, right))
    code, lead = right.replace(json.dumps(slip[1]), json.dumps(slip[0])) if slip[0] else right, ""
    step = yield Use(RUN, {"code": code}, may_fail=True)
    if slip[0] and step.failed and slip[0] in step.result and "did not allow" not in step.result:
        lead, code = says(c, "slip", v=slip[0], k=slip[1], t=frame.name), right
        step = yield Use(RUN, {"code": code}, may_fail=True)
    return lead + _report(c, frame, asked, name, step, code)


# -- code


def _code(frame: Frame, asked: Ask, name: str, taken: Collection[str]) -> str:
    """Code whose last line is the answer, bound to `name` if one is given."""
    if asked.what == "plot":
        return _plot(frame, asked, taken)
    rows, how, column = _rows(frame, asked), (asked.hows or ("",))[0], _text(asked.column)
    order = f"ascending={not asked.most}"
    single = [f"{rows}[{column}].{how}()" if how else f"len({rows})"]
    groups = [rows, *_totals(asked)] if asked.by else single
    chains: Mapping[str, list[str]] = {
        "rows": [rows, *([f".head({asked.head})"] if asked.head else [])],
        "tail": [rows, f".tail({asked.head})"],
        "sort": [rows, f".sort_values({column}, {order})"],
        "best": [rows, f".{'nlargest' if asked.most else 'nsmallest'}({asked.head}, {column})"],
        "corr": [f"{rows}[{column}].corr({rows}[{_text(asked.against)}])"],
        "top": [*groups, f".sort_values({order})", f".head({asked.head})"],
        **dict.fromkeys(("count", "figure"), groups),
    }
    if asked.what not in chains or len(asked.hows) > 1:
        raise Unplaced(asked.word or asked.column or frame.name, "text")
    return "\n".join([_line(chains[asked.what], name), *([name] if name else [])])


def _totals(asked: Ask) -> list[str]:
    """The methods that give a figure for each group."""
    keys = [
        _text(one) if not _period(one) else f"lambda t: t[{_text(one.rpartition('.')[0])}]{_period(one)}"
        for one in asked.by
    ]
    along = f"[{', '.join(keys)}]" if len(keys) > 1 else keys[0]
    if any("lambda" in key for key in keys):
        along = f"lambda t: {along.removeprefix('lambda t: ')}"
    figure = [f".{asked.hows[0]}()"] if asked.column else [".size()"]
    return [f".groupby({along})" + (f"[{_text(asked.column)}]" if asked.column else ""), *figure]


def _period(by: str) -> str:
    """The method that gives the months of dates, for `sold.month`."""
    period = by.rpartition(".")[2] if "." in by else ""
    return f'.dt.to_period("{period[0].upper()}")' if period in ("year", "quarter", "month", "week", "day") else ""


def _plot(frame: Frame, asked: Ask, taken: Collection[str]) -> str:
    """Code that draws, and whose last line gives the figures that are drawn."""
    rows, column = _rows(frame, asked), _text(asked.column)
    if asked.kind == "scatter":
        x = _text(asked.against)
        title, last = f"{_title(asked.column)} against {_plain(asked.against)}", f"{rows}[{x}].corr({rows}[{column}])"
        return _cell(
            [], f"{rows}.plot.scatter(x={x}, y={column}, ax=ax)", title, "", f'print("correlation:", round({last}, 2))'
        )
    if not asked.by:
        values, title = f"{rows}[{column}]", f"Distribution of {_plain(asked.column)}"
        return _cell([], f"{values}.plot.hist(ax=ax)", title, f"xlabel={column}", f"{values}.describe()")
    along = asked.by[0].rpartition(".")[0] if _period(asked.by[0]) else asked.by[0]
    single = asked.column and frame.distinct(frame.column(along)) == str(frame.rows)
    what = "number of rows" if not asked.column else asked.column if single else f"{asked.column} ({asked.hows[0]})"
    name = _free("_".join((asked.column or "rows", "by", asked.by[0])), taken)
    chain = [rows, f".set_index({_text(along)})[{column}]"] if single else [rows, *_totals(asked)]
    dated = asked.kind == "line" or _period(asked.by[0])
    draw, axis = ("line" if asked.kind == "line" else "bar", "ylabel") if dated else ("barh", "xlabel")
    title = f"{_title(asked.column) if asked.column else 'Rows'} by {_plain(asked.by[0].rpartition('.')[2])}"
    data = _line([*chain, *([] if dated else [".sort_values()"])], name)
    return _cell([data], f"{name}.plot.{draw}(ax=ax)", title, f"{axis}={_text(what)}", name)


def _free(wanted: str, taken: Collection[str]) -> str:
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
    kept = masks[0] if len(masks) == 1 else " & ".join(f"({mask})" for mask in masks)
    return f"{frame.code}[{kept}]" if masks else frame.code


def _mask(frame: Frame, one: Condition) -> str:
    column = f"{frame.code}[{_text(one.column)}]"
    if isinstance(one.value, bool):
        return column if one.value else f"~{column}"
    if one.sign in ("missing", "present"):
        return f"{column}.{'isna' if one.sign == 'missing' else 'notna'}()"
    if one.sign == "contains":
        return f"{column}.str.contains({_text(one.value)}, case=False, na=False, regex=False)"
    if isinstance(one.value, tuple):
        values = f"{column}.isin({json.dumps(one.value, ensure_ascii=False)})"
        return f"~{values} & {column}.notna()" if one.sign == "not" else values
    number = isinstance(one.value, float)
    return f"{column} {one.sign} {(f'{one.value:.15g}' if number else _text(one.value))}"


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _plain(column: str) -> str:
    """The name of a column within a title, without its unit: the axis has that."""
    words = re.sub(r"[_\\\"]", " ", column).split()
    while len(words) > 1 and words[-1].lower() in UNITS:
        words.pop()
    return " ".join(words)


def _title(column: str) -> str:
    return _plain(column)[:1].upper() + _plain(column)[1:]


# -- what came of it


def _propose(c: Conversation, code: str) -> Script:
    step = yield Use(CELL, {"code": code})
    if step.result.startswith("The code is in the next cell"):
        return says(c, "cell")
    return says(c, "no cell", v=f"\n\n```python\n{code}\n```\n\n`{CELL}`", x=short(step.result, 200))


def _report(c: Conversation, frame: Frame, asked: Ask, name: str, step: Step, code: str) -> str:
    """What the result says, with its figures: quoted where the user changed the code on the card."""
    if step.failed:
        text = failure(c, step)
        if "did not allow" not in step.result or "query_table" not in c.tools or not (asked.by and asked.column):
            return text
        phrase = says(c, "by total", x=_PHRASES[asked.hows[0]], k=asked.column, v=asked.by[0], t=frame.name)
        return text + says(c, "without code", x=phrase)
    kept = says(c, "kept", v=name) if name and re.search(rf"\[variables: .*\b{re.escape(name)}\b", step.result) else ""
    text = re.sub(r"\n?\[(?:variables: .*|image/\S+ shown to the user)\]", "", step.result).strip("\n")
    found = dict(re.findall(r"^(\S.*?) {2,}(-?\d[\d.]*(?:e[+-]?\d+)?)$", text, re.M)) if "dtype: " in text else {}
    figures = {label: float(value) for label, value in found.items()}
    lines, same = text.splitlines(), step.args.get("code") == code
    number = re.fullmatch(r"(?:correlation: |np\.\w+\()?(-?[\d.]+(?:e[+-]?\d+)?)\)?", lines[-1]) if lines else None
    if same and asked.against and number:
        return says(c, "corr", k=asked.column, x=asked.against, v=f"{float(number[1]):.2f}", t=frame.name)
    if same and {"count", "mean", "std"} <= set(figures):
        low, mean, high = (_figure(figures[one]) for one in ("min", "mean", "max"))
        return says(c, "spread", k=asked.column, v=low, n=high, x=mean, t=frame.name)
    if same and figures and asked.by:
        names = {asked.column, *(one.rpartition(".")[0] if _period(one) else one for one in asked.by)}
        gaps = {} if asked.where else {k.name: frame.lacking(k) for k in frame.columns if k.name in names}
        return _of_groups(c, frame, asked, figures) + kept + left_out(c, gaps)
    more = [f"… {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    quote = "\n".join(["```", *lines[:_SHOWN], *more, "```"])
    return says(c, "gave", v=quote) + (f"\n{kept.strip()}" if kept else "")


def _figure(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:.4g}"


def _of_groups(c: Conversation, frame: Frame, asked: Ask, figures: Mapping[str, float]) -> str:
    """The largest and the smallest of the groups; along time the first and the last."""
    what = (
        says(c, "measure", x=_PHRASES.get(asked.hows[0], asked.hows[0]), k=asked.column)
        if asked.column
        else says(c, "number")
    )
    labels = list(figures)
    if asked.kind == "line":
        first, last = (f"{_figure(figures[one])} ({one})" for one in (labels[0], labels[-1]))
        return says(c, "line", x=what, v=first, n=last)
    high, low = max(figures.values()), min(figures.values())
    names = {"k": ", ".join(asked.by), "x": what, "t": frame.name}
    if high == low:
        return says(c, "same", v=_figure(high), **names)
    ends = [f"{' and '.join(one for one in labels if figures[one] == end)} ({_figure(end)})" for end in (high, low)]
    return says(c, "ends", v=ends[0], n=ends[1], **names)
