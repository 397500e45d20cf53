"""Functions to be tools of which only the name and the result matter."""

from collections.abc import Callable
from typing import Any


def gives(name: str, result: Any) -> Callable[[], Any]:
    """A function without parameters that gives this; an exception is raised."""

    def made() -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    made.__name__, made.__doc__ = name, f"{name.title()}."
    return made
