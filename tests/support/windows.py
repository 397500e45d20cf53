"""A window that a thread of a few short turns fills, however many tools there are."""

from functools import cache

from deepnb import Session
from deepnb.models.teaching import TeachingModel

_ROOM = 400  # tokens between a thread's first request and the trigger: a few short turns


@cache
def tight_window() -> int:
    """Tokens of a window whose trigger at 85 % a thread of the offline model compacts within nine short prompts."""
    session = Session(TeachingModel(), namespace={})
    return int((session.run("what can you do?").budget.total + _ROOM) / 0.85)
