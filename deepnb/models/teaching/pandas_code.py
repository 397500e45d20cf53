"""The pandas and matplotlib code that answers an analysis: short, and as a course would write it."""

import json
import keyword
import re
from collections.abc import Collection, Sequence
from typing import Any

from deepnb.models.teaching.analysis import Analysis, Condition, default_how

BAR, LINE, POINTS, HISTOGRAM = "bar", "line", "scatter", "hist"
_UNITS = frozenset(
    ["c", "f", "k", "mm", "cm", "m", "km", "kg", "1e24", "g", "t", "h", "s", "s2", "min", "days", "pct", "usd", "eur"]
)
_WIDTH = 88


def table_code(a: Analysis, name: str = "", taken: Collection[str] = ()) -> str:
    """Code whose last line is the answer, bound to `name` if one is given."""
    lines, chain = _value(a, taken)
    return "\n".join([*lines, _line(chain, name), name] if name else [*lines, _line(chain)])


def plot_code(a: Analysis, kind: str, name: str = "", taken: Collection[str] = ()) -> str:
    """Code that draws, and whose last line gives the figures that are drawn."""
    lines, rows = _rows(a, taken)
    if kind in (POINTS, HISTOGRAM) and a.where:
        rows_name = free_name(f"{a.table}_shown", taken)
        lines, rows = [*lines, f"{rows_name} = {rows}"], rows_name
    if kind == POINTS:
        x, y = _text(a.against), _text(a.column)
        draw = f"{rows}.plot.scatter(x={x}, y={y}, ax=ax)"
        title = f"{_title(a.column)} against {_plain(a.against)}"
        return _cell(lines, draw, title, "", f'print("correlation:", round({rows}[{x}].corr({rows}[{y}]), 2))')
    if kind == HISTOGRAM:
        values = f"{rows}[{_text(a.column)}]"
        title, axis = f"Distribution of {_plain(a.column)}", f"xlabel={_text(a.column)}"
        return _cell(lines, f"{values}.plot.hist(ax=ax)", title, axis, f"{values}.describe()")
    along = a.over or a.by
    what = "number of rows" if not a.column else a.column if a.single and not a.how else f"{a.column} ({_how(a)})"
    name = name or free_name("_".join([a.column or "rows", "by", along, *([a.also] if a.also else [])]), taken)
    chain = [rows, *_totals(a)]
    if kind == BAR and not (a.over or a.against):
        chain.append(".sort_values()")
    title = f"{_title(a.column) if a.column else 'Rows'} by {_plain(along)}"
    draw, axis = ("barh", "xlabel") if kind == BAR and not a.over else ("bar" if kind == BAR else "line", "ylabel")
    return _cell([*lines, _line(chain, name)], f"{name}.plot.{draw}(ax=ax)", title, f"{axis}={_text(what)}", name)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name for a variable that is not in use."""
    name = re.sub(r"\W+", "_", wanted.lower()).strip("_") or "result"
    name = f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _cell(data: list[str], draw: str, title: str, axis: str, last: str) -> str:
    """A cell in blocks: the import, the data, the figure."""
    labels = f'ax.set(title="{title}"{", " if axis else ""}{axis})'
    figure = "\n".join(['fig, ax = plt.subplots(layout="constrained")', draw, labels, last])
    return "\n\n".join(["import matplotlib.pyplot as plt", *(["\n".join(data)] if data else []), figure])


def _line(chain: Sequence[str], name: str = "") -> str:
    """A chain of methods on one line; on a line each where that would be too long."""
    start = f"{name} = " if name else ""
    if len(start) + len("".join(chain)) <= _WIDTH or len(chain) < 3:
        return start + "".join(chain)
    return "\n".join([f"{start}(", *(f"    {part}" for part in chain), ")"])


def _value(a: Analysis, taken: Collection[str]) -> tuple[list[str], list[str]]:
    """The lines before, and the chain of what is asked: rows, totals of groups, or one figure."""
    lines, rows = _rows(a, taken)
    head = [f".head({a.head})"] if a.head else []
    if a.by or a.over:
        order = [f".sort_values(ascending={not a.descending})"] if a.sort else []
        return lines, [rows, *_totals(a), *order, *head]
    if a.how == "corr":
        return lines, [f"{rows}[{_text(a.column)}]", f".corr({rows}[{_text(a.against)}])"]
    if a.column and not a.head:
        if len(a.where) == 1 and not a.against:
            rows = f"{rows.partition('[')[0]}.loc[{rows.partition('[')[2][:-1]}, {_text(a.column)}]"
        else:
            rows = f"{rows}{_columns(a)}"
        return lines, [rows, f".{_how(a)}()"]
    if a.join and not (a.where or a.sort or a.head or a.how):
        return [], [_merge(a)]
    if a.how == "count":
        return lines, [f"len({rows})"]
    if a.head and a.sort:
        return lines, [rows, f".{'nlargest' if a.descending else 'nsmallest'}({a.head}, {_text(a.sort)})"]
    order = [f".sort_values({_text(a.sort)}{', ascending=False' if a.descending else ''})"] if a.sort else []
    return lines, [rows, *order, *head]


def _totals(a: Analysis) -> list[str]:
    """The methods that give a figure for each group: a table of them where lines are drawn for several groups."""
    if a.by and a.over and a.by != a.over and a.column:
        index, columns, values, how = map(_text, (a.over, a.by, a.column, _how(a)))
        return [f".pivot_table(index={index}, columns={columns}, values={values}, aggfunc={how})"]
    along = f"[{_text(a.by)}, {_text(a.also)}]" if a.also else _text(a.by or a.over)
    if not a.column:
        return [f".groupby({along})", ".size()"]
    if a.single and not a.how:
        return [f".set_index({along}){_columns(a)}"]
    return [f".groupby({along}){_columns(a)}", f".{_how(a)}()"]


def _columns(a: Analysis) -> str:
    """The columns that are taken of a table: one, or a list of two."""
    return f"[[{_text(a.column)}, {_text(a.against)}]]" if a.against else f"[{_text(a.column)}]"


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
    """The name of a column within a title, without its unit: the axis has that."""
    words = re.sub(r"[_\\\"]", " ", column).split()
    while len(words) > 1 and words[-1].lower() in _UNITS:
        words.pop()
    return " ".join(words)


def _title(column: str) -> str:
    plain = _plain(column)
    return plain[:1].upper() + plain[1:]
