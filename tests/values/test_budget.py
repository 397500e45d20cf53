"""The rule in force, and how far it is to the trigger."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.budget import Budget, Rule, growth, rule_for
from deepnb.values.errors import DeepnbError
from deepnb.values.request import GUIDELINES_CLOSE, MEMORY_OPEN, SKILLS_CLOSE, SKILLS_OPEN, system_parts
from deepnb.values.tokenizer import count, tokens
from deepnb.values.turn import Usage


@given(st.integers(1, 2_000_000))
def test_the_trigger_is_085_of_the_window_rounded_up(window):
    rule = rule_for(window)
    assert (rule.trigger, rule.keep) == (("fraction", 0.85), ("fraction", 0.10))
    assert rule.trigger_tokens == ceil(Fraction(85, 100) * window)
    assert rule.keep_tokens == max(1, floor(Fraction(10, 100) * window))


def test_tokens_left_end_at_the_trigger():
    rule = rule_for(8_000)
    assert [Budget({"user": n}, rule, 1).left for n in (6_798, 6_799, 6_800, 6_801)] == [2, 1, 0, 0]


def test_without_a_window():
    rule = rule_for(None)
    assert rule == Rule(("tokens", 170_000), ("messages", 6), None)
    assert (rule.trigger_tokens, rule.keep_tokens) == (170_000, None)


def test_a_given_rule():
    assert rule_for(8_000, ("tokens", 500)).trigger_tokens == 500
    assert rule_for(8_000, ("messages", 12)).trigger_tokens is None
    assert Budget({"user": 9}, rule_for(8_000, ("messages", 12)), 1).left is None
    assert rule_for(8_000, ("fraction", 0.5), ("tokens", 100)) == Rule(("fraction", 0.5), ("tokens", 100), 8_000)
    assert rule_for(None, ("messages", 12), ("messages", 2)).keep == ("messages", 2)


def test_a_fraction_of_no_window_is_one_line():
    rules: list[dict[str, Any]] = [{"trigger": ("fraction", 0.5)}, {"keep": ("fraction", 0.5)}]
    says = r"needs a window: set the number of tokens with session.configure\(max_input_tokens=N\)"
    for given_ in rules:
        with pytest.raises(DeepnbError, match=says):
            rule_for(None, **given_)


def test_turns_left_come_from_the_last_five_that_grew():
    rule = rule_for(None, ("tokens", 1_000))
    assert Budget({"user": 400}, rule, 1).turns_left is None
    assert Budget({"user": 400}, rule, 1, growth=(9_999, 100, 100, 100, 100, 100)).turns_left == 6
    assert Budget({"user": 1_000}, rule, 1, growth=(100,)).turns_left == 0


def test_growth_leaves_compactions_out():
    assert growth([100, 250, 80, 180]) == (150, 100)


TAGS = st.sampled_from(["<agent_memory>", "</agent_memory>", "<memory_guidelines>", "</memory_guidelines>",
                        "<agent_skills>", "</agent_skills>", "text", "\n", ""])  # fmt: skip


@given(st.lists(TAGS).map("".join))
def test_the_parts_of_a_system_prompt_joined_are_its_text(text):
    assert "".join(stretch for _, stretch in system_parts(text)) == text


def test_parts_by_their_tags():
    memory = f"{MEMORY_OPEN}a </memory_guidelines> b{GUIDELINES_CLOSE}"
    skills = f"{SKILLS_OPEN}s{SKILLS_CLOSE}"
    assert system_parts(f"base {memory} between {skills} end") == [
        ("system", "base "),
        ("memory", memory),
        ("system", " between "),
        ("skills", skills),
        ("system", " end"),
    ]
    assert system_parts("base") == [("system", "base")]
    assert system_parts("") == []


@given(st.text())
def test_the_teaching_tokens_joined_are_the_text(text):
    assert "".join(tokens(text)) == text
    assert count(text) == len(tokens(text))


def test_usages_add_up():
    assert Usage(10, 2, 4, cost=0.25) + Usage(1, 1, 0, cost=0.5) == Usage(11, 3, 4, 0.75)
    assert (Usage() + Usage()).cost is None
    assert (Usage() + Usage(1, 1, cost=0.0)).cost == 0.0


def test_a_cost_is_said_only_where_every_price_is_known():
    assert (Usage(10, 2) + Usage(1, 1, cost=0.5)).cost is None
    assert sum([Usage(1, 1, cost=0.5), Usage(10, 2), Usage(1, 1, cost=0.5)], Usage()).cost is None


def test_an_error_is_one_line():
    assert str(DeepnbError("bad\n  thing", "type\n%agent")) == "bad thing: type session"
    assert str(DeepnbError("bad")) == "bad"
