"""The pandas and matplotlib code that answers an analysis: short, and as a course would write it."""

import json
import keyword
import re
from collections.abc import Collection
from typing import Any

from deepnb.models.teaching.analysis import Analysis, Condition, default_how

BAR, LINE, POINTS, HISTOGRAM = "bar", "line", "scatter", "hist"
_FIGURE = 'fig, ax = plt.subplots(layout="constrained")'


def table_code(a: Analysis, name: str = "", taken: Collection[str] = ()) -> str:
    """Code whose last line is the answer, bound to `name` if one is given."""
    lines, value = _value(a, taken)
    return "\n".join([*lines, f"{name} = {value}", name] if name else [*lines, value])


def plot_code(a: Analysis, kind: str, name: str = "", taken: Collection[str] = ()) -> str:
    """Code that draws, and whose last line gives the figures that are drawn."""
    lines, rows = _rows(a, taken)
    if kind == POINTS:
        x, y = a.against, a.column
        draw = f'{rows}.plot.scatter(x={_text(x)}, y={_text(y)}, ax=ax, title="{_title(y)} against {_plain(x)}")'
        last = f"{rows}[{_text(x)}].corr({rows}[{_text(y)}])"
        return _cell(lines, [], [draw, last])
    if kind == HISTOGRAM:
        values = f"{rows}[{_text(a.column)}]"
        draw = f'{values}.plot.hist(ax=ax, title="Distribution of {_plain(a.column)}", xlabel={_text(a.column)})'
        return _cell(lines, [], [draw, f"{values}.describe()"])
    along = a.over or a.by
    what = "number of rows" if not a.column else a.column if a.single else f"{a.column} ({_how(a)})"
    name = name or free_name(f"{a.column or 'rows'}_by_{along}", taken)
    value = _totals(a, rows) if kind == LINE else _totals(a, rows, ".sort_values()")
    title = f"{_title(a.column) if a.column else 'Rows'} by {_plain(along)}"
    axis = f"ylabel={_text(what)}" if kind == LINE else f"xlabel={_text(what)}"
    draw = f'{name}.plot.{"line" if kind == LINE else "barh"}(ax=ax, title="{title}", {axis})'
    return _cell(lines, [f"{name} = {value}"], [draw, name])


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name for a variable that is not in use."""
    name = re.sub(r"\W+", "_", wanted.lower()).strip("_") or "result"
    name = f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _cell(before: list[str], made: list[str], drawn: list[str]) -> str:
    data = [*before, *made]
    blocks = ["import matplotlib.pyplot as plt", *(["\n".join(data)] if data else []), "\n".join([_FIGURE, *drawn])]
    return "\n\n".join(blocks)


def _value(a: Analysis, taken: Collection[str]) -> tuple[list[str], str]:
    """The lines before, and the expression of what is asked: rows, totals of groups, or one figure."""
    if a.by or a.over:
        lines, rows = _rows(a, taken)
        order = f".sort_values(ascending={not a.descending})" if a.sort else ""
        return lines, _totals(a, rows, order) + (f".head({a.head})" if a.head else "")
    if a.column and a.how:
        lines, rows = _rows(a, taken)
        return lines, f"{rows}[{_text(a.column)}].{a.how}()"
    if a.column and not a.head:
        lines, rows = _rows(a, taken)
        return lines, f"{rows}[{_text(a.column)}].{default_how(a.column)}()"
    if a.join and not (a.where or a.sort or a.head or a.how):
        return [], _merge(a)
    lines, rows = _rows(a, taken)
    if a.how == "count":
        return lines, f"len({rows})"
    if a.head and a.sort:
        return lines, f"{rows}.{'nlargest' if a.descending else 'nsmallest'}({a.head}, {_text(a.sort)})"
    order = f".sort_values({_text(a.sort)}{', ascending=False' if a.descending else ''})" if a.sort else ""
    return lines, f"{rows}{order}" + (f".head({a.head})" if a.head else "")


def _totals(a: Analysis, rows: str, order: str = "") -> str:
    """A figure for each group: a table of them where lines are drawn for several groups."""
    if a.by and a.over and a.column:
        return (
            f"{rows}.pivot_table(index={_text(a.over)}, columns={_text(a.by)}, values={_text(a.column)},"
            f" aggfunc={_text(_how(a))})"
        )
    along = _text(a.by or a.over)
    if not a.column:
        return f"{rows}.groupby({along}).size(){order}"
    if a.single and not a.how:
        return f"{rows}.set_index({along})[{_text(a.column)}]{order}"
    return f"{rows}.groupby({along})[{_text(a.column)}].{_how(a)}(){order}"


def _how(a: Analysis) -> str:
    return a.how or default_how(a.column)


def _rows(a: Analysis, taken: Collection[str]) -> tuple[list[str], str]:
    """The lines before, and the table with the rows that are kept."""
    lines, table = [], a.table
    if a.join:
        table = free_name(f"{a.table}_{a.join}", taken)
        lines.append(f"{table} = {_merge(a)}")
    if not a.where:
        return lines, table
    masks = [_mask(table, one) for one in a.where]
    return lines, f"{table}[{masks[0] if len(masks) == 1 else ' & '.join(f'({mask})' for mask in masks)}]"


def _merge(a: Analysis) -> str:
    return f"{a.table}.merge({a.join}, on={_text(a.on)})"


def _mask(table: str, one: Condition) -> str:
    column = f"{table}[{_text(one.column)}]"
    if one.sign == "in":
        return f"{column}.isin([{', '.join(map(_literal, one.value))}])"
    if isinstance(one.value, bool):
        return column if one.value else f"~{column}"
    return f"{column} {one.sign} {_literal(one.value)}"


def _literal(value: Any) -> str:
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(value)
    return _text(value) if isinstance(value, str) else repr(value)


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _plain(column: str) -> str:
    """The name of a column within a title."""
    return column.replace("_", " ").replace("\\", "").replace('"', "'")


def _title(column: str) -> str:
    plain = _plain(column)
    return plain[:1].upper() + plain[1:]
