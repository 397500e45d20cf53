"""Read-only tools over the user's variables and notebooks."""

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.notebooks import read_notebook


def namespace_tools(namespace: Mapping[str, Any]) -> list[Callable[..., str]]:
    """`list_variables` and `inspect_variable` over a namespace, and `read_notebook`; none runs any of the user's code."""

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

    return [list_variables, inspect_variable, read_notebook]
