"""Objects whose every method notes that it was called."""

from typing import Any

loud: list[str] = []


def _noting(name: str, value: Any) -> Any:
    def noted(self: object, *args: object) -> Any:
        loud.append(name)
        return value

    return noted


class Loud:
    """It answers every name, and notes each call: a reader that is silent leaves `loud` empty."""

    def __init__(self) -> None:
        self.__dict__["width"] = 3

    def __getattr__(self, name: str) -> Any:
        loud.append(name)
        return self

    area, __call__ = _noting("area", None), _noting("__call__", None)
    lazy = property(_noting("lazy", 1))
    __class__ = property(_noting("__class__", dict))  # type: ignore[assignment, misc]
    __repr__ = __str__ = _noting("__repr__", "x" * 100)
    __eq__, __bool__ = _noting("__eq__", True), _noting("__bool__", True)
    __hash__, __len__, __sizeof__ = _noting("__hash__", 1), _noting("__len__", 1), _noting("__sizeof__", 1)
    __iter__, __dir__ = _noting("__iter__", iter(())), _noting("__dir__", ["x"])
