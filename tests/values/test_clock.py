"""Moments in order, also in the hour in which clocks go back."""

from deepnb.values.text import moment


def test_order_is_that_of_time_and_not_of_text():
    summer, winter = "2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"
    assert sorted([winter, summer]) == [winter, summer]
    assert sorted([winter, summer], key=moment) == [summer, winter]
    assert moment("") == moment("no time") == 0.0
