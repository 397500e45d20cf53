"""Python code for a question about a table: a plot, a variable, a cell to keep, a figure; and what its result says."""

import difflib
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from deepnb.models.teaching.answers import answer, left_out, refusal, understood, wants_table
from deepnb.models.teaching.conversation import Conversation, Step, first_match, short
from deepnb.models.teaching.grammar import Ask, Unplaced, dated, read
from deepnb.models.teaching.tables import UNITS, Frame
from deepnb.models.teaching.talk import Script, Use, failure, says
from deepnb.models.teaching.vocabulary import may_ask

RUN, CELL = "run_python", "propose_cell"
_BY_CODE = r"\b(?:with|using|in|by|use)\s+(?:python|pandas|code)\b\s*(?:to\b|[:,])?|使?用\s*(?:代码|pandas|python)"
_AS_CELL = (
    r"\b(?:give|write|show|make|put)\b(?: me)? (?:a |the )?(?:new |next )?(?:cell|code|snippet)\b(?: (?:that|which|to|for|with))?:?",
    r"(?:写|给我?|生成)(?:一个|一段)?(?:单元格|代码)[，,：:]?",
)
_PLOT = r"(?<![-\w/.])(?:plots?|chart|graph|visuali[sz]e|histogram|scatter ?plot|draw)\b(?!\.\w)|画|绘制|柱状图|条形图|折线图|散点图|直方图"
_NAME = r"[`\"'“]?(?P<name>[A-Za-z_]\w*)[`\"'”]?"
_NAMED = (
    rf"\s*\b(?:in(?:to)?|as)\s+(?:a |the )?(?:new )?variable\s+(?:named |called )?{_NAME}",
    rf"(?:存到|存入|保存到)\s*(?:一个)?变量\s*{_NAME}",
)
_MAKES = r"^\s*(?:please )?(?:put|store|save|keep|compute|calculate|get)\b|^\s*把"
_PHRASES = {"sum": "total", "mean": "average", "median": "median", "max": "maximum", "min": "minimum"}
_PERIODS = {one: f'.dt.to_period("{one[0].upper()}")' for one in ("year", "quarter", "month", "week", "day")}
_PERIODS["weekday"] = ".dt.day_name()"
_WIDTH, _SHOWN = 88, 10
_text = partial(json.dumps, ensure_ascii=False)


def wants_code(c: Conversation) -> tuple[str, str, str] | None:
    """Return (the request without how, the tool, the variable to make) of a plot, a variable or a figure asked for as code."""
    request = re.sub(_BY_CODE, " ", c.request, flags=re.IGNORECASE)
    by_code, name = request != c.request, ""
    if (by_code or first_match(request, _MAKES)) and (found := first_match(request, *_NAMED)):
        name = found["name"]
        request = re.sub(_MAKES, " ", request[: found.start()] + request[found.end() :], flags=re.IGNORECASE)
    cell = first_match(request, *_AS_CELL)
    request = request[: cell.start()] + request[cell.end() :] if cell else request
    tool = CELL if cell else RUN
    wanted = by_code or cell or name or first_match(request, _PLOT)
    return (request, tool, name) if tool in c.tools and wanted and len(request) < 4_000 else None


def ask(c: Conversation, request: str) -> Script:
    """Answer a question about a table, by code where nothing else can; or say which word has no place."""
    found = yield from understood(c, request, wants_table(c) is not None or may_ask(request), read)
    if isinstance(found, str):
        return found
    return (yield from (_run if found[1].what == "plot" else answer)(c, *found))


def compute(c: Conversation, wanted: tuple[str, str, str]) -> Script:
    """Look at the table, write the code, and say what came of it; a misspelt column is corrected after the error."""
    request, tool, name = wanted
    found = yield from understood(c, request, True, _spelt)
    return found if isinstance(found, str) else (yield from _run(c, *found, name, tool))


def _spelt(request: str, frame: Frame) -> Ask:
    try:
        return read(request, frame)
    except Unplaced as error:
        typed, near = error.word, difflib.get_close_matches(error.word, [k.name for k in frame.columns], 1, cutoff=0.7)
        if not near:
            raise
    return replace(read(re.sub(rf"\b{re.escape(typed)}\b", f"`{near[0]}`", request), frame), slip=(typed, near[0]))


def _run(c: Conversation, frame: Frame, asked: Ask, name: str = "", tool: str = RUN) -> Script:
    """Run the code, or put it into a cell; a column that was misspelt is first taken as it was typed."""
    listed = next((s.result for s in c.turn if s.tool == "list_variables"), "")
    try:
        code = _code(frame, asked, name, re.findall(r"^`?(\w+)`?:", listed, re.M))
    except Unplaced as error:
        return refusal(c, error, frame)
    if tool == CELL:
        step = yield Use(CELL, {"code": code})
        if step.result.startswith("The code is in the next cell"):
            return says(c, "cell")
        return says(c, "no cell", v=f"\n\n```python\n{code}\n```\n\n`{CELL}`", x=short(step.result, 200))
    typed, near = asked.slip or ("", "")
    for tried in dict.fromkeys((code.replace(_text(near), _text(typed)) if typed else code, code)):
        step = yield Use(RUN, {"code": tried}, may_fail=True)
        if not step.failed or typed not in step.result or "did not allow" in step.result:
            break
    lead = says(c, "slip", v=typed, k=near, t=frame.name) if typed and tried == code else ""
    return lead + _report(c, frame, asked, name, step, tried)


def _code(frame: Frame, asked: Ask, name: str, taken: Collection[str]) -> str:
    """Return code whose last line is the answer, bound to `name` if one is given."""
    masks = []
    for one in asked.where:
        column, value = f"{frame.code}[{_text(one.column)}]", one.value
        if one.sign in ("not", "contains", "missing"):
            raise Unplaced(str(value or one.column))
        text = _text(value) if isinstance(value, str) else str(value) if isinstance(value, bool) else ""
        is_in = isinstance(value, tuple)
        masks.append(f"{column}.isin({_text(value)})" if is_in else f"{column} {one.sign} {text or f'{value:.15g}'}")
    kept = masks[0] if len(masks) == 1 else " & ".join(f"({mask})" for mask in masks)
    rows = f"{frame.code}[{kept}]" if masks else frame.code
    if asked.what == "plot":
        return _plot(frame, asked, rows, taken)
    if asked.what in ("count", "figure"):
        single = f"{rows}[{_text(asked.column)}].{asked.how}()" if asked.how else f"len({rows})"
        chain = [rows, *_groups(frame, asked)] if asked.by else [single]
    elif asked.what in ("rows", "sort"):
        order = [f".sort_values({_text(asked.column)}, ascending={not asked.most})"] if asked.what == "sort" else []
        chain = [rows, *order, *([f".head({asked.head})"] if asked.head else [])]
    else:
        raise Unplaced(asked.word or asked.column or frame.name, "text")
    return "\n".join([_line(chain, name), *([name] if name else [])])


def _groups(frame: Frame, asked: Ask) -> list[str]:
    parts = [dated(one) for one in asked.by]
    keys = [f"{frame.code}[{_text(k)}]{_PERIODS[period]}" if period else _text(k) for k, period in parts]
    along = f"[{', '.join(keys)}]" if len(keys) > 1 else keys[0]
    column = f"[{_text(asked.column)}]" if asked.column else ""
    return [f".groupby({along}){column}", f".{asked.how}()" if column else ".size()"]


def _plot(frame: Frame, asked: Ask, rows: str, taken: Collection[str]) -> str:
    column, data, axis = _text(asked.column), [], ""
    if asked.kind == "scatter":
        x, title = _text(asked.against), f"{_plain(asked.column)} against {_plain(asked.against)}"
        draw = f"{rows}.plot.scatter(x={x}, y={column}, ax=ax)"
        last = f'print("correlation:", round({rows}[{x}].corr({rows}[{column}]), 2))'
    elif not asked.by:
        draw, title = f"{rows}[{column}].plot.hist(ax=ax)", f"Distribution of {_plain(asked.column)}"
        axis, last = f", xlabel={column}", f"{rows}[{column}].describe()"
    else:
        along, period = dated(asked.by[0])
        kind = "line" if asked.kind == "line" else "bar" if period else "barh"
        wanted = re.sub(r"\W+|^(?=\d)", "_", f"{asked.column or 'rows'}_by_{asked.by[0]}".lower())
        last = next(one for one in (wanted, *(f"{wanted}_{n}" for n in range(2, 10_000))) if one not in taken)
        data = [_line([rows, *_groups(frame, asked), *([".sort_values()"] if kind == "barh" else [])], last)]
        what = f"{asked.column} ({asked.how})" if asked.column else "number of rows"
        axis = f", {'xlabel' if kind == 'barh' else 'ylabel'}={_text(what)}"
        draw, title = f"{last}.plot.{kind}(ax=ax)", f"{_plain(asked.column or 'rows')} by {_plain(period or along)}"
    label = f"ax.set(title={_text(title[:1].upper() + title[1:])}{axis})"
    figure = "\n".join(['fig, ax = plt.subplots(layout="constrained")', draw, label, last])
    return "\n\n".join(["import matplotlib.pyplot as plt", *data, figure])


def _line(chain: Sequence[str], name: str = "") -> str:
    start = f"{name} = " if name else ""
    if len(start) + len("".join(chain)) <= _WIDTH or len(chain) < 3:
        return start + "".join(chain)
    return "\n".join([f"{start}(", *(f"    {part}" for part in chain), ")"])


def _plain(column: str) -> str:
    words = re.sub(r"[_\\\"]", " ", column).split()
    while len(words) > 1 and words[-1].lower() in UNITS:
        words.pop()
    return " ".join(words)


def _report(c: Conversation, frame: Frame, asked: Ask, name: str, step: Step, code: str) -> str:
    """Return what the result says: the largest and the smallest group, or a quotation, as of code that the user changed."""
    how = _PHRASES.get(asked.how, asked.how)
    if step.failed:
        refused = "did not allow" in step.result and "query_table" in c.tools and asked.by and how
        phrase = says(c, "by total", x=how, k=asked.column, v=asked.by[0], t=frame.name) if refused else ""
        return failure(c, step) + (says(c, "without code", x=phrase) if refused else "")
    kept = says(c, "kept", v=name) if name and re.search(rf"\[variables: .*\b{re.escape(name)}\b", step.result) else ""
    text = re.sub(r"\n?\[(?:variables: .*|image/\S+ shown to the user)\]", "", step.result).strip("\n")
    found = dict(re.findall(r"^(\S.*?) {2,}(-?\d[\d.]*(?:e[+-]?\d+)?)$", text, re.M)) if "dtype: " in text else {}
    figures = {label: float(value) for label, value in found.items()}
    if step.args.get("code") == code and asked.by and len(set(figures.values())) > 1:
        what = says(c, "measure", x=how, k=asked.column) if how else says(c, "number")
        high, low = (
            f"{' and '.join(one for one, value in figures.items() if value == end)}"
            f" ({end:{'.0f' if end.is_integer() or abs(end) >= 1000 else '.4g'}})"
            for end in (max(figures.values()), min(figures.values()))
        )
        names = {asked.column, *(dated(one)[0] for one in asked.by)} if not asked.where else set()
        gaps = {k.name: frame.lacking(k) for k in frame.columns if k.name in names}
        ends = says(c, "ends", k=", ".join(asked.by), x=what, t=frame.name, v=high, n=low)
        return ends + kept + left_out(c, gaps)
    lines = text.splitlines()
    more = [f"… {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    quote = "\n".join(["```", *lines[:_SHOWN], *more, "```"])
    return says(c, "gave", v=quote) + (f"\n{kept.strip()}" if kept else "")
