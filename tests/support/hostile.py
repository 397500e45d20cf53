"""Objects whose every method notes that it was called."""

from __future__ import annotations

from typing import Any

loud: list[str] = []
"""What was called of a `Loud`."""


class Loud:
    """It answers every name, and notes each call: a reader that is silent leaves `loud` empty."""

    def __init__(self) -> None:
        self.__dict__["width"] = 3

    def area(self) -> Any:
        loud.append("area")

    @property
    def lazy(self) -> Any:
        loud.append("lazy")
        return 1

    def __getattr__(self, name: str) -> Any:
        loud.append(name)
        return self

    def __repr__(self) -> Any:
        loud.append("__repr__")
        return "x" * 100

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        loud.append("__eq__")
        return True

    def __hash__(self) -> Any:
        loud.append("__hash__")
        return 1

    def __len__(self) -> Any:
        loud.append("__len__")
        return 1

    def __iter__(self) -> Any:
        loud.append("__iter__")
        return iter(())

    def __bool__(self) -> Any:
        loud.append("__bool__")
        return True

    def __dir__(self) -> Any:
        loud.append("__dir__")
        return ["x"]

    def __sizeof__(self) -> Any:
        loud.append("__sizeof__")
        return 1

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        loud.append("__class__")
        return dict

    def __call__(self) -> Any:
        loud.append("__call__")
