"""Moments as they are written down."""

import heapq
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

T = TypeVar("T")


def moment(at: str) -> float:
    """Seconds since 1970 of an ISO timestamp, for sorting: where clocks go back, text does not sort by time.

    What is no timestamp comes first.
    """
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def in_turn(places: Iterable[Iterable[T]], at: Callable[[T], str]) -> list[T]:
    """What several places tell, by time; what one place tells stays in its order, whatever its clock did."""
    return list(heapq.merge(*places, key=lambda one: moment(at(one))))
