"""The course in `notebooks/`: its exercises, checked against the session of this shell, and a thread in one picture.

`check("02")` says what there is of the exercise of notebook 02, `grade(DIRECTORY)` runs notebooks and gives all of it
as JSON, and `story()` shows the current thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepnb.wings.course.exercises import EXERCISES
from deepnb.wings.course.grading import grade as grade

if TYPE_CHECKING:
    from deepnb.wings.course.view import CheckView, StoryView

__all__ = ["check", "grade", "story"]


def check(number: str | int) -> CheckView:
    """What there is of an exercise in the session of this shell, and what is missing; nothing is changed.

    While a session that was opened is being read, the one that it can be forked into is checked.
    """
    from deepnb import current
    from deepnb.values.errors import NotFoundError
    from deepnb.wings.course.view import check_view

    key = f"{number:0>2}"
    if key not in EXERCISES:
        raise NotFoundError(f"no exercise {number!r}", f'there are "{min(EXERCISES)}" to "{max(EXERCISES)}"')
    session, exercise = current(), EXERCISES[key]
    session = getattr(session, "into", session)
    return check_view(key, exercise.title, tuple(exercise.parts(session)), f"thread {session.thread}")


def story() -> StoryView:
    """The current thread in one picture: its turns, how full its context was, what was remembered, removed, brought back."""
    from deepnb import current
    from deepnb.wings.course.steps import story_of

    return story_of(current())
