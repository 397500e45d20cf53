"""The line of a turn that is still running."""

from __future__ import annotations

from deepnb.values.budget import Budget, rule_for
from deepnb.views.status import RunningView
from deepnb.views.text import elapsed
from tests.support.tables import every_row


@every_row(
    ("seconds", "words"),
    [(0.9, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (312.4, "5 min 12 s"), (3_725, "1 h 02 min")],
)
def test_a_time_that_goes_on(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words


def test_time_what_is_waited_for_and_the_context() -> None:
    view = RunningView(
        65, "run_python", Budget({"system": 4_000}, rule_for(8_000), 0), "interrupt the kernel to stop it"
    )
    assert view.text() == (
        "1 min 05 s · run_python · context 4,000 of 8,000 tokens (50 %) · interrupt the kernel to stop it"
    )
    html = view.html()
    assert "run_python" in html and "width:60px" in html, "half of the gauge is full"


def test_one_that_may_outlive_its_turn_says_when_it_was_so() -> None:
    assert (
        RunningView(12, "waiting for the model", at="10:02:33").text() == "as of 10:02:33: 12 s · waiting for the model"
    )


def test_what_is_waited_for_is_escaped() -> None:
    assert "<script>" not in RunningView(1, "<script>").html()
