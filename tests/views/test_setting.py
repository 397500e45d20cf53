"""What a setting says when it is changed."""

from deepnb.values.budget import rule_for
from deepnb.views.status import setting_words
from tests.support.tables import every_row


@every_row(
    ("name", "value", "words"),
    [
        (
            "window",
            6_500,
            "window is 6,500: compacts at 85 % of the window (5,525 of 6,500 tokens), keeps the last 10 %",
        ),
        ("max_steps", 5, "max_steps is 5 from the next turn on"),
        ("max_cost", None, "max_cost is the default from the next turn on"),
        ("rerun", "replace", "rerun is replace"),
        ("stop_at_approval", False, "stop_at_approval is False"),
        ("approve", {"write_file": "ask"}, "approve is write_file: ask from the next turn on"),
        ("clock", "", "clock is empty"),
    ],
)
def test_a_setting_says_its_effect(name: str, value: object, words: str) -> None:
    assert setting_words(name, value, rule_for(6_500)) == words
