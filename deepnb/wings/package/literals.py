"""Plain values as Python text."""

import ast
import math
from collections.abc import Iterable, Iterator
from typing import Any

from deepnb.gate import credentials, reasons, secrecy

LONGEST = 20_000
"""Characters: what is longer is data, which belongs into a file."""

_PLAIN = (str, bytes, bool, int, float, complex, type(None))


def literal(value: object) -> str | None:
    """Return the text that gives this value again; None where there is none, or only a long one."""
    if not is_plain(value):
        return None
    text = repr(value)
    return text if len(text) <= LONGEST and ast.literal_eval(text) == value else None


def texts(value: Any) -> Iterator[str]:
    """Yield the texts in a plain value, as they are without quotes and escapes."""
    if isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():  # a name says what its value is
            yield from texts(name)
            yield from (f"{name} = {text}" for text in texts(one))
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from texts(one)


def is_plain(value: Any) -> bool:
    """Return whether a value is made of numbers, texts, and containers of them alone."""
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is dict:
        return all(is_plain(one) for pair in value.items() for one in pair)
    if type(value) in (list, tuple, set):
        return all(map(is_plain, value))
    return type(value) in _PLAIN


class CantWriteError(Exception):
    """The reason, as it follows the thing's name."""


def in_value(name: str, value: Any) -> str:
    """Return what a plain value of this name holds that is a credential; empty for nothing."""
    held = tuple(texts(value))
    found = in_texts((f"{name} = {value!r}", *held, *(f"{name} = {text}" for text in held)))
    parts = (text.partition(" = ") for text in held)  # a text out of a mapping has its own name before it
    reasons = (secrecy(own, text) if named else secrecy(name, own) for own, named, text in parts)
    return found or next(filter(None, reasons), "")


def in_texts(given: Iterable[str]) -> str:
    """Return what the first of these texts that has any credential holds; empty for nothing."""
    return next((reasons(found) for text in given if (found := credentials(text))), "")
