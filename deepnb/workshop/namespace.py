"""Tools over the user's variables and notebooks; all but `edit_notebook` change nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.workshop.columnar import columnar_name
from deepnb.workshop.columns import Columns, columns_of, nearest
from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.exact import class_name, pandas_name
from deepnb.workshop.notebook_plan import notebook_plan
from deepnb.workshop.notebooks import read_notebook
from deepnb.workshop.opaque import conversion
from deepnb.workshop.question import Question, answer
from deepnb.workshop.rows import answer_text


def namespace_tools(namespace: Mapping[str, Any]) -> list[Callable[..., str]]:
    """The tools that look at a namespace, and those for notebooks; none runs any of the user's code."""
    return [*_looks(namespace), _table_question(namespace), read_notebook, _notebook_edit(namespace)]


def _looks(namespace: Mapping[str, Any]) -> list[Callable[..., str]]:
    def list_variables() -> str:
        """List the variables of the user's notebook, one per line, with their types."""
        return list_of_variables(namespace)

    def inspect_variable(name: str) -> str:
        """Look at one variable of the user's notebook: of a DataFrame the columns, statistics and first rows.

        Args:
            name: The variable's name.
        """
        if name not in namespace:
            return f"Error: there is no variable {name!r}. There are:\n{list_of_variables(namespace)}"
        return describe(name, namespace[name])

    return [list_variables, inspect_variable]


def _table_question(namespace: Mapping[str, Any]) -> Callable[..., str]:
    no_items, no_names, no_name = map(_unwritten, (dict, list, str))

    def query_table(
        table: str,
        where: dict[str, Any] = no_items,
        by: list[str] = no_names,
        aggregate: dict[str, Any] = no_items,
        columns: list[str] = no_names,
        sort: str = no_name,
        head: int = 20,
        join: dict[str, list[str]] = no_items,
    ) -> str:
        """Rows or totals of a pandas table, without code.

        where: {column: value, list or {"min": 1, "max": 9}}; by: group; aggregate: {column: sum|mean|
        median|min|max|std|count|nunique}; sort: "-x": down; join: {table: [keys]}.
        """
        try:
            question = _question(where, by, aggregate, columns, sort, head, join)
            other = _columns(namespace, question.join) if question.join else None
            return answer_text(table, question, answer(_columns(namespace, table), question, other))
        except DeepnbError as error:
            return f"Error: {error.typed}"
        except Exception as error:  # of pandas, on a type of column that nothing here knows
            return f"Error: {table} cannot be asked that ({type(error).__name__}): look with inspect_variable"

    return query_table


def _notebook_edit(namespace: Mapping[str, Any]) -> Callable[..., str]:
    no_version = _unwritten(str)

    def edit_notebook(path: str, edits: list[dict[str, Any]], version: str = no_version) -> str:
        """Change cells of a notebook in the working directory, or make one. Nothing is run.

        edits: {"replace": 3, "source"}, {"insert": 4, "source", "kind": code|markdown|raw} (before cell 4),
        {"delete": 5}; numbers as read, before any edit. version: as read; none for a new notebook.
        """
        try:
            return notebook_plan(namespace, path, edits, version).write()
        except DeepnbError as error:
            return f"Error: {error.typed}"

    return edit_notebook


def _unwritten(kind: type) -> Any:
    """An empty default that is not written into a tool's schema, where it would cost tokens."""
    from pydantic import Field

    return Field(default_factory=kind)


def _question(
    where: Mapping[str, Any],
    by: Sequence[str],
    aggregate: Mapping[str, Any],
    columns: Sequence[str],
    sort: str,
    head: int,
    join: Mapping[str, Sequence[str]],
) -> Question:
    """What the arguments of the tool ask."""
    if len(join) > 1:
        raise InvalidError("join names several tables", "join one table at a time")
    other, on = next(iter(join.items()), ("", ()))
    order = (sort,) if sort else ()
    return Question(other, tuple(on), where, tuple(by), aggregate, tuple(columns), order, head)


def _columns(namespace: Mapping[str, Any], name: str) -> Columns:
    """The columns of the table with this name; an error names the nearest."""
    tables = [one for one, value in namespace.items() if _is_asked(value) and not one.startswith("_")]
    if name not in namespace:
        raise NotFoundError(f"there is no variable {name!r}", nearest(name, tables))
    value = namespace[name]
    if not _is_asked(value):
        what = f"{name} is not a table but of type {class_name(value)}"
        raise InvalidError(what, conversion(value) or nearest(name, tables))
    return columns_of(value)


def _is_asked(value: object) -> bool:
    """Whether questions are answered about a value."""
    return pandas_name(value) in ("DataFrame", "Series") or columnar_name(value) != ""
