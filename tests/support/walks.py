"""Steps that a session, a shell or a kernel is led through, a text for each."""

from operator import attrgetter
from typing import Any, TypeVar

Place = TypeVar("Place")


def walked(s: Place, *steps: str) -> Place:
    """The session, or shell, after methods that are named with what they are given: `run a prompt`, `memory.add tea`, `rewind 1`."""
    for step in steps:
        name, _, given = step.partition(" ")
        attrgetter(name)(s)(*([int(given) if name == "rewind" else given] if given else []))
    return s


def enter(place: Any, *cells: str) -> None:
    """Run cells in a shell or a kernel; each goes well."""
    for cell in cells:
        place.ok(cell)
