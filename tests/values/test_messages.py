"""A Messages is the beginning of a log that only grows: nobody else's view ever changes; and moments in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.messages import Message, Messages
from deepnb.values.text import moment


def some(*ids: str) -> list[Message]:
    return [Message(i, "user", f"text of {i}") for i in ids]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.integers(0, 3)), max_size=20))
def test_growing_one_view_never_changes_another(steps):
    """Each step grows some view made so far, keeping some of it; a plain list is the model."""
    views: list[tuple[Messages, list[Message]]] = [(Messages(), [])]
    for number, (which, kept, more) in enumerate(steps):
        view, model = views[which % len(views)]
        kept = min(kept, len(model))
        new = some(*(f"{number}.{i}" for i in range(more)))
        views.append((view.replace_from(kept, new), [*model[:kept], *new]))
    for view, model in views:
        assert list(view) == model and view == Messages(model) and len(view) == len(model)


def test_it_is_a_sequence_that_shares_the_list():
    first = Messages(some("a", "b"))
    second = first.replace_from(2, some("c"))
    assert second._values is first._values and list(first) == some("a", "b")
    view = Messages(some("a", "b")).replace_from(2, some("c"))
    older = Messages(some("a", "b"))
    older.replace_from(2, some("z"))
    assert view[-1].id == "c" and view[1:] == tuple(some("b", "c")) and older[-1].id == "b"
    assert older[:] == tuple(some("a", "b"))
    for index in (2, -3):
        with pytest.raises(IndexError):
            older[index]
    assert older != list(older)


def test_order_is_that_of_time_and_not_of_text():
    summer, winter = "2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"
    assert sorted([winter, summer]) == [winter, summer]
    assert sorted([winter, summer], key=moment) == [summer, winter] and moment("") == moment("no time") == 0.0
