"""Moments as they are written down."""

from datetime import datetime


def moment(at: str) -> float:
    """Seconds since 1970 of an ISO timestamp, for sorting: where clocks go back, text does not sort by time.

    What is no timestamp comes first.
    """
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
