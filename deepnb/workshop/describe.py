"""A variable in a few lines that a model can reason from: its shape, its columns, its first rows.

Only values of exactly known types are read (`exact.py`); of any other the class and its names are shown. Figures have
at most four significant digits and types the same names under pandas 2 and 3, so that a prompt is the same everywhere.
"""

import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from deepnb.gate import redact
from deepnb.workshop import exact
from deepnb.workshop.exact import ITEMS, cell, class_name, cut, figure, is_credential, pandas_name, short
from deepnb.workshop.tables import Table, columnar_name, conversion, type_name

ROWS = 5  # sample rows of a table
_READ = 2_000_000  # values of an array that are read; a larger one is sampled
LABELS = 50  # first columns in which a text column is looked for
GROUPS = 6  # distinct values whose sizes are counted
FROM_IPYTHON = frozenset({"In", "Out", "exit", "quit", "get_ipython"})
HIDDEN = "not shown: it looks like a credential"


def describe(name: str, value: object, budget: int = 1500) -> str:
    """Return what a value is, in at most `budget` characters; never an exception, and never a credential."""
    if is_credential(name, value):
        return cut(f"{name}: {class_name(value)}, {HIDDEN}", budget)
    try:
        text = _description(name, value, budget)
    except Exception:
        text = f"{name}: {class_name(value)}, {unprintable(value)}"
    return cut(redact(text), budget)


def list_of_variables(namespace: Mapping[str, object], limit: int = 100) -> str:
    """One line a variable, `name: type, short`, in the order of definition; no modules, nothing of IPython's own."""
    names = []
    for name, value in namespace.items():
        module = value.__module__ if type(value) is types.FunctionType else exact.module_name(type(value))
        is_ours = name.startswith("_") or name in FROM_IPYTHON or type(value) is types.ModuleType
        if not is_ours and (type(module) is not str or module.split(".")[0] != "IPython"):
            names.append(name)
    lines = [
        f"{name}: {class_name(value)}, {HIDDEN}" if is_credential(name, value) else redact(f"{name}: {_brief(value)}")
        for name, value in ((name, namespace[name]) for name in names[:limit])
    ]
    if len(names) > limit:
        lines.append(f"{len(names) - limit} more variables not shown")
    return "\n".join(lines) or "(no variables)"


def is_table(value: object) -> bool:
    """Return whether a value is a table of pandas, polars or pyarrow, no subclass of one."""
    return pandas_name(value) in ("DataFrame", "Series") or columnar_name(value) != ""


def unprintable(value: object) -> str:
    """Return what stands for a value that cannot be shown."""
    return f"<unprintable {class_name(value)}>"


def _description(name: str, value: Any, budget: int) -> str:
    if is_table(value):
        table = Table(value)
        return _table_text(f"{name}: {table.title}", table, budget)
    lines = [f"{name}: {_brief(value)}"]
    if exact.is_array(value):
        lines += _array_lines(value)
    elif type(value) is dict:
        for key, item in islice(value.items(), ITEMS):
            lines.append(f"  {short(key, 40)}: {HIDDEN if is_credential(key, item) else short(item)}")
    elif exact.is_one_of(value, exact.COLLECTIONS):
        lines += [f"  {short(item)}" for item in islice(value, ITEMS)]
    elif type(value) is str and len(value) > exact.LINE:
        lines = [f"{name}: str, {len(value)} characters", short(value, budget - 60)]
    elif exact.is_from(value, "matplotlib.figure", ("Figure",)):
        for ax in value.axes[:ITEMS]:
            if not exact.is_from(ax, "matplotlib.axes", ("Axes",)):
                lines.append(f"  {class_name(ax)}")
                continue
            said = [ax.get_title(), f"x {ax.get_xlabel()}", f"y {ax.get_ylabel()}"]
            drawn = [(len(ax.lines), "line"), (len(ax.patches), "bar or patch"), (len(ax.collections), "collection")]
            said += [f"{count} {what}" for count, what in drawn if count]
            lines.append(f"  Axes: {cut(', '.join(s for s in said if len(s) > 2), exact.LINE)}")
    elif exact.is_routine(value) or exact.is_class(value):
        doc = exact.first_doc_line(value)
        lines += [f"  {doc}"] * bool(doc)
    elif not (type(value) is types.ModuleType or exact.is_scalar(value) or pandas_name(value)):
        lines += [f"  {line}" for line in (exact.static_names(value), conversion(value)) if line]
    if exact.is_one_of(value, exact.COLLECTIONS) and len(value) > ITEMS:
        lines.append(f"  {len(value) - ITEMS} more items not shown")
    if len(lines) == 1 and lines[0].endswith("..."):
        lines = [f"{name}: {class_name(value)}", short(value, budget)]
    return "\n".join(lines)


def _brief(value: Any) -> str:
    kind = class_name(value)
    try:
        if is_table(value):
            return Table(value).title
        if pandas_name(value):
            return f"{kind}, {len(value)} labels"
        if exact.is_array(value):
            return f"{kind}, shape {tuple(value.shape)}, {value.dtype}"
        if exact.is_one_of(value, exact.COLLECTIONS):
            return f"{kind}, {len(value)} item{'' if len(value) == 1 else 's'}"
        if type(value) is types.ModuleType:
            doc, own_name = exact.first_doc_line(value), vars(value).get("__name__")
            return f"module, {own_name if type(own_name) is str else '?'}" + (f": {doc}" if doc else "")
        if exact.is_routine(value) or exact.is_class(value):
            return f"{'class' if exact.is_class(value) else 'function'}, {exact.signature(value)}"
        shown = short(value)
        return kind if shown == f"<{kind}>" else f"{kind}, {shown}"
    except Exception:
        return f"{kind}, {unprintable(value)}"


def _table_text(head: str, table: Table, budget: int) -> str:
    labels = _labels(table)
    lines, used = [head, "column | type | non-null | summary"], len(head) + 35
    names: list[str] = []
    for i in range(table.width):
        name = _label_text(table.names[i])
        summary = "..."
        with suppress(Exception):  # of a column that can't be read or compared
            summary = _summary(name, table, i, labels)
        line = f"{name} | {type_name(table.arrays[i])} | {table.present(i)} | {summary}"
        # Two fifths are kept for the rows; the first column is shown in any case.
        if names and used + len(line) + 1 > budget * 0.6:
            break
        lines.append(line)
        used += len(line) + 1
        names.append(name)
    notes = [f"figures are of a sample: 1 row in {table.step} of {table.rows}"] * (table.step > 1)
    last = [f"{table.width - len(names)} more columns not shown"] if len(names) < table.width else []
    room = budget - used - sum(len(line) + 1 for line in [*notes, *last]) - len("\nfirst rows:")
    columns = [(name, table.first(i, ROWS)) for i, name in enumerate(names)]
    heading = [cut(name, exact.CELL) for name in names]
    if names and table.index is not None:
        name = "index" if table.index.name is None else _label_text(table.index.name)
        columns.insert(0, (name, table.index[:ROWS]))
        heading.insert(0, name)
    rows = range(min(ROWS, table.rows) if names else 0)
    first = [exact.csv_line(heading)]
    first += [exact.csv_line([exact.cell_of(name, cells[row]) for name, cells in columns]) for row in rows]
    while len(first) > 1 and sum(len(line) + 1 for line in first) > room:
        first.pop()
    return "\n".join([*lines, *notes, *(["first rows:", *first] if len(first) > 1 else []), *last])


def _labels(table: Table) -> Any:
    """Return what rows are named by: the first column of text that can be read and is no credential, else an index of text."""
    for i in range(min(table.width, LABELS)):
        if type_name(table.arrays[i]) in ("str", "category"):
            with suppress(Exception):
                column = table.column(i)
                if not _is_secret(_label_text(table.names[i]), column):
                    return column
    index = table.labels()
    return None if index is None or _is_secret(_label_text(table.index.name), index) else index


def _is_secret(name: str, column: Any) -> bool:
    return any(is_credential(name, value) for value in column.iloc[:100].to_numpy())


def _types_of(values: Iterable[object]) -> str:
    names = sorted({class_name(v) for v in values if v is not None})
    return f"values of type {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"


def _summary(name: str, table: Table, i: int, labels: Any) -> str:
    """Return the summary of a column; types alone if its values are not read, and HIDDEN if they look like credentials."""
    column = table.column(i)
    if not exact.is_readable(column):
        return _types_of(column.iloc[:100].to_numpy())
    if _is_secret(name, column):
        return HIDDEN
    present = column.dropna()
    if not len(present):
        return "all missing" if len(column) else "no rows"
    if (kind := getattr(column.dtype, "kind", "O")) == "b":
        trues = int(present.sum())
        return f"{trues} True, {len(present) - trues} False"
    if kind in "iuf":
        at = column.reset_index(drop=True)
        ends = []
        for row in (at.idxmin(), at.idxmax()):
            named = labels is not None and not exact.is_missing(labels.iloc[row])
            ends.append(f"{figure(column.iloc[row])}{f' ({cell(labels.iloc[row])})' if named else ''}")
        text = f"min {ends[0]}, mean {figure(present.mean())}, max {ends[1]}"
        # whole numbers that are more like names, such as years
        few = kind != "f" and present.iloc[:1000].nunique() <= GROUPS and (distinct := present.nunique()) <= GROUPS
        return f"{text}; {distinct} distinct: {_sizes(present)}" if few and len(present) >= 4 * distinct else text
    if kind in "Mm":
        return f"min {cell(present.min())}, max {cell(present.max())}"
    values = present.unique()
    if len(values) <= GROUPS and len(present) >= 2 * len(values):
        return f"{len(values)} distinct: {_sizes(present)}"
    first = ", ".join(cell(v) for v in values[:3])
    return f"{len(values)} distinct: {first}{', ...' if len(values) > 3 else ''}"


def _sizes(present: Any) -> str:
    counts = present.value_counts(sort=False)
    counts = counts[counts > 0]
    return ", ".join(f"{cell(value)} ({size})" for value, size in zip(counts.index, counts, strict=True))


def _label_text(label: object) -> str:
    return cell(label, 2 * exact.CELL) or "nan"


def _array_lines(array: Any) -> list[str]:
    """Ranges, missing values and first values; a big array is sampled, one of objects shows their types."""
    if not array.size:
        return []
    if array.dtype.kind not in "biufcMmSU" and not (array.dtype.kind == "O" and exact.all_scalars(array.flat[:_READ])):
        return [f"  {_types_of(array.flat[:100])}"] if array.dtype.kind == "O" else []
    lines = []
    step = 1 if array.size <= _READ else array.size // (_READ)
    if array.dtype.kind in "iuf":
        values = array.flat[::step] if step > 1 else array
        numbers = values[values == values]  # NaN is not equal to itself
        if numbers.size:
            missing = f", {values.size - numbers.size} missing" if numbers.size < values.size else ""
            sample = f" (of a sample: 1 value in {step})" if step > 1 else ""
            low, mean, high = figure(numbers.min()), figure(numbers.mean()), figure(numbers.max())
            lines.append(f"  min {low}, mean {mean}, max {high}{missing}{sample}")
    more = ", ..." if array.size > ITEMS else ""
    lines.append("  first values: " + ", ".join(cell(v) for v in array.flat[:ITEMS]) + more)
    return lines
