"""`keep` and `trigger` together: what keeps as much as sets a compaction off is refused, or does not come to be."""

from __future__ import annotations

from typing import Any

import pytest

from deepnb import DeepnbError, Session
from deepnb.middleware import CompactionMiddleware
from deepnb.values.budget import Rule, rule_for
from deepnb.values.turn import Compacted, Notice
from tests.support.scripted import Scripted
from tests.support.tables import every_row

TOO_MUCH: list[dict[str, Any]] = [
    {"keep": ("fraction", 0.9)},
    {"trigger": ("fraction", 0.5), "keep": ("fraction", 0.5)},
    {"trigger": ("tokens", 2_000), "keep": ("tokens", 2_000)},
    {"trigger": ("messages", 6), "keep": ("messages", 8)},
    {"trigger": ("fraction", 0.5), "keep": ("tokens", 5_000)},
    {"trigger": ("tokens", 500), "keep": ("fraction", 0.1)},
    {"max_input_tokens": 1_000, "keep": ("tokens", 900)},
]
ENOUGH: list[dict[str, Any]] = [
    {"trigger": ("fraction", 0.5), "keep": ("fraction", 0.49)},
    {"trigger": ("fraction", 0.5), "keep": ("tokens", 4_999)},
    {"trigger": ("tokens", 10), "keep": ("messages", 50)},
    {"max_input_tokens": 1_000, "keep": ("tokens", 800)},
]


def scripted(window: int = 10_000) -> Scripted:
    return Scripted(answers=["word " * 100], profile={"max_input_tokens": window})


def notices(s: Session) -> list[str]:
    return [e.text for e in s.turns[-1].events if isinstance(e, Notice)]


@every_row("sizes", TOO_MUCH)
def test_keep_at_or_above_the_trigger_is_refused_in_one_line(sizes: dict[str, Any]) -> None:
    s = Session(model=scripted())
    options = s.options
    for make in (lambda: Session(model=scripted(), **sizes), lambda: s.configure(**sizes)):
        with pytest.raises(DeepnbError, match=r"^keep=\(.*\) is not less than trigger=.*give a smaller keep") as caught:
            make()
        assert "\n" not in str(caught.value)
    assert s.options is options


@every_row("sizes", ENOUGH)
def test_keep_below_the_trigger_is_taken(sizes: dict[str, Any]) -> None:
    s = Session(model=scripted(), **sizes)
    assert (s.rule.keep, s.rule.note) == (sizes["keep"], "")


def test_the_teaching_models_window_is_known_before_it_is_made() -> None:
    with pytest.raises(DeepnbError, match="of a window of 8,000 tokens"):
        Session(trigger=("fraction", 0.5), keep=("tokens", 4_000))


def test_the_middleware_refuses_it_too() -> None:
    with pytest.raises(DeepnbError, match="is not less than"):
        CompactionMiddleware(scripted(), trigger=("messages", 3), keep=("messages", 3))


def test_one_of_the_two_is_checked_against_the_other_in_force() -> None:
    s = Session(model=scripted(), keep=("fraction", 0.4))
    with pytest.raises(DeepnbError, match=r"keep=\('fraction', 0.4\) is not less than trigger=\('fraction', 0.3\)"):
        s.configure(trigger=("fraction", 0.3))
    s.configure(trigger=("fraction", 0.3), keep=None)
    assert s.rule.keep == ("fraction", 0.10)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["model", "window", "one turn"])
def test_a_smaller_window_keeps_the_default_and_says_so_in_one_line(by: str, caplog: pytest.LogCaptureFixture) -> None:
    s = Session(model=scripted(40_000), keep=("tokens", 15_000))
    s.run("a")
    line = (
        "keep=('tokens', 15000) is not less than trigger=('fraction', 0.85) of a window of 16,000 tokens:"
        " ('fraction', 0.1) is kept instead"
    )
    if by == "one turn":
        s.run("b", model=scripted(16_000))
    else:
        s.configure(**({"model": scripted(16_000)} if by == "model" else {"max_input_tokens": 16_000}))
        assert caplog.messages == [line]
        assert s.rule == Rule(("fraction", 0.85), ("fraction", 0.10), 16_000, line)
        s.run("b")
    assert notices(s) == [line]
    if by != "one turn":
        for _ in range(30):  # no dead end
            s.run("word " * 500)
        assert any(isinstance(e, Compacted) for t in s.turns for e in t.events)
        assert line not in [e.text for t in s.turns[2:] for e in t.events if isinstance(e, Notice)]
    s.configure(model=scripted(40_000), max_input_tokens=None)
    assert (s.rule.keep, s.rule.note) == (("tokens", 15_000), "")


def test_of_a_subagent_with_a_smaller_window_it_is_said_too() -> None:
    agent = {"name": "small", "description": "d", "system_prompt": "s", "model": scripted(4_000)}
    s = Session(model=scripted(40_000), keep=("tokens", 15_000), subagents=[agent])
    s.run("a")
    (line,) = notices(s)
    assert line.startswith("subagent small: keep=('tokens', 15000) is not less than trigger=")
    s.run("b")
    assert notices(s) == []


@every_row(
    ("window", "trigger", "keep"),
    [
        (10_000, ("tokens", 900), ("tokens", 105)),
        (10_000, ("fraction", 0.05), ("tokens", 58)),
        (None, ("messages", 5), ("messages", 1)),
        (None, ("messages", 17), ("messages", 6)),
        (10_000, ("tokens", 5_000), ("fraction", 0.10)),
    ],
)
def test_the_default_keep_is_below_any_trigger(window: int | None, trigger: Any, keep: Any) -> None:
    assert rule_for(window, trigger) == Rule(trigger, keep, window)
