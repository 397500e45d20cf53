"""What keeps credentials out of code: looked for as a value is written, as it is, and under its name."""

from collections.abc import Iterable
from typing import Any

from deepnb.gate import credentials, reasons, secrecy
from deepnb.wings.package.literals import texts


def in_value(name: str, value: Any) -> str:
    """What a plain value of this name holds that is a credential; empty for nothing."""
    held = tuple(texts(value))
    found = in_texts((f"{name} = {value!r}", *held, *(f"{name} = {text}" for text in held)))
    return found or next(filter(None, (_secrecy(name, text) for text in held)), "")


def _secrecy(name: str, text: str) -> str:
    """Why one text of a value is not to be given away; a text out of a mapping has its own name before it."""
    own, given, one = text.partition(" = ")
    return secrecy(own, one) if given else secrecy(name, text)


def in_texts(given: Iterable[str]) -> str:
    """What the first of these texts that has any credential holds; empty for nothing."""
    return next((reasons(found) for text in given if (found := credentials(text))), "")
