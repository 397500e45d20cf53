"""The credentials that this process itself uses, such as a provider's key: found word for word, whatever their shape."""

from collections.abc import Iterator

from deepnb.gate.spans import Span

_LEAST = 12
"""Characters: what is shorter (`none`, `test`) would be found in plain text."""

OWN: set[str] = set()
"""The values."""
CLEAN: set[str] = set()
"""Texts that hold no credential: another set from each new value on, so that no search begun before adds to it."""


def add_own(value: str) -> None:
    """From now on this value counts as a credential wherever it stands; short ones are no secrets."""
    global CLEAN
    if len(value.strip()) >= _LEAST:
        OWN.add(value.strip())
        CLEAN = set()


def own_credentials(text: str) -> Iterator[Span]:
    for value in tuple(OWN):
        at = text.find(value)
        while at >= 0:
            yield Span(at, at + len(value), "API key", "a key that this session uses")
            at = text.find(value, at + len(value))
