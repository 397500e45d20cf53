"""The rule in force, how far it is to the trigger, each kind of rule in a real graph, and what can have been cached."""

from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from deepnb.values.budget import Budget, Rule, growth, rule_for
from deepnb.values.errors import DeepnbError
from deepnb.values.messages import GrowingList
from deepnb.values.request import GUIDELINES_CLOSE, MEMORY_OPEN, SKILLS_CLOSE, SKILLS_OPEN, Request, Sent, system_parts
from deepnb.values.turn import Compacted, Usage
from deepnb.values.xray import Caching, cacheable
from tests.support.scripted import Scripted
from tests.support.tables import every_row


@given(st.integers(1, 2_000_000))
def test_the_trigger_is_085_of_the_window_rounded_up(window):
    rule = rule_for(window)
    assert (rule.trigger, rule.keep) == (("fraction", 0.85), ("fraction", 0.10))
    assert rule.trigger_tokens == ceil(Fraction(85, 100) * window)
    assert rule.keep_tokens == max(1, floor(Fraction(10, 100) * window))


def test_the_figures_of_a_rule():
    assert rule_for(700, ("fraction", 0.07)).trigger_tokens == 49  # 0.07 * 700 is 49.00000000000001
    rule = rule_for(8_000)
    assert [Budget({"user": n}, rule, 1).left for n in (6_798, 6_799, 6_800, 6_801)] == [2, 1, 0, 0]
    rule = rule_for(None)
    assert rule == Rule(("tokens", 170_000), ("messages", 6), None)
    assert (rule.trigger_tokens, rule.keep_tokens) == (170_000, None)
    assert rule_for(8_000, ("tokens", 500)).trigger_tokens == 500
    assert rule_for(8_000, ("messages", 12)).trigger_tokens is None
    assert Budget({"user": 9}, rule_for(8_000, ("messages", 12)), 1).left is None
    assert rule_for(8_000, ("fraction", 0.5), ("tokens", 100)) == Rule(("fraction", 0.5), ("tokens", 100), 8_000)
    assert rule_for(None, ("messages", 12), ("messages", 2)).keep == ("messages", 2)


def test_a_fraction_of_no_window_is_one_line_and_turns_left_come_from_the_last_five_that_grew():
    rules: list[dict[str, Any]] = [{"trigger": ("fraction", 0.5)}, {"keep": ("fraction", 0.5)}]
    says = r"needs a window: set the number of tokens with session.configure\(max_input_tokens=N\)"
    for given_ in rules:
        with pytest.raises(DeepnbError, match=says):
            rule_for(None, **given_)
    rule = rule_for(None, ("tokens", 1_000))
    assert Budget({"user": 400}, rule, 1).turns_left is None
    assert Budget({"user": 400}, rule, 1, growth=(9_999, 100, 100, 100, 100, 100)).turns_left == 6
    assert Budget({"user": 1_000}, rule, 1, growth=(100,)).turns_left == 0
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
        ("system", "base "), ("memory", memory), ("system", " between "), ("skills", skills), ("system", " end"),
    ]  # fmt: skip
    assert system_parts("base") == [("system", "base")] and system_parts("") == []


def test_usages_add_up_and_a_cost_is_said_where_every_price_is_known():
    assert Usage(10, 2, 4, cost=0.25) + Usage(1, 1, 0, cost=0.5) == Usage(11, 3, 4, 0.75)
    assert (Usage() + Usage()).cost is None and (Usage() + Usage(1, 1, cost=0.0)).cost == 0.0
    assert (Usage(10, 2) + Usage(1, 1, cost=0.5)).cost is None
    assert sum([Usage(1, 1, cost=0.5), Usage(10, 2), Usage(1, 1, cost=0.5)], Usage()).cost is None
    from deepnb.values.turn import cost_of

    assert cost_of(Usage(1_000_000, 500_000, 400_000), (3.0, 0.25, 10.0)) == pytest.approx(0.6 * 3 + 0.4 * 0.25 + 5)
    assert str(DeepnbError("bad\n  thing", "type\n%agent")) == "bad thing: type session"
    assert str(DeepnbError("bad")) == "bad"
    s = Session()
    assert s.run("Hello").usage.cost is None and s.ledger()["cost"].isna().all()
    s.configure(prices={"offline": (2.0, 0.5, 8.0)})
    usage = s.run("Hello").usage
    assert usage.cost == pytest.approx((usage.input * 2.0 + usage.output * 8.0) / 1e6)
    assert s.ledger()["cost"].isna().tolist() == [True, False]
    assert sum((t.usage for t in s.turns), Usage()).cost is None


PROMPTS = [f"Number {i}: the matter of item {i} is open and we look at it again soon." for i in range(4)]


def fired(trigger, window=100_000, keep=("messages", 2)) -> bool:
    s = Session(model=TeachingModel(window=window), trigger=trigger, keep=keep, tool_text="full")
    for prompt in PROMPTS:
        s.run(prompt)
    turns = [any(isinstance(e, Compacted) for e in t.events) for t in s.turns]
    assert not any(turns[:-1])
    return turns[-1]


@pytest.fixture(scope="module")
def total() -> int:
    s = Session(model=TeachingModel(window=100_000), tool_text="full")
    for prompt in PROMPTS:
        s.run(prompt)
    return s.turns[-1].budget.total


@every_row(("messages", "fires"), [(7, True), (8, False)])
def test_a_trigger_in_messages(messages, fires):
    """Before the fourth answer there are seven messages; at six the third turn would not yet have fired: it has five."""
    assert fired(("messages", messages)) == fires


@pytest.mark.parametrize("fraction", [0.85, 0.5, 0.33, 0.1])
def test_a_trigger_in_a_fraction_of_the_window(total, fraction):
    """The three windows next to the one at which the fraction is just the last request."""
    exact = Fraction(str(fraction))
    border = floor(total / exact)
    for window in (border - 1, border, border + 1):
        assert fired(("fraction", fraction), window) == (total >= ceil(exact * window)), window
    assert fired(("fraction", fraction), border)
    assert not fired(("fraction", fraction), border + ceil(1 / exact))


def cutoff(keep, window: int = 100_000) -> int:
    model = Scripted(answers=["ok", "ok", "ok", "ok", "a summary"], profile={"max_input_tokens": window})
    s = Session(model=model, trigger=("messages", 9), keep=keep)
    for prompt in [*PROMPTS, "last"]:
        s.run(prompt)
    return s.snapshot.offload.cutoff


@every_row(("keep", "gone"), [(("messages", 1), 8), (("messages", 3), 6), (("messages", 5), 4)])
def test_a_keep_in_messages(keep, gone):
    assert cutoff(keep) == gone


def test_a_keep_in_tokens_and_the_same_in_a_fraction():
    """The last three messages cost so much; one token less does not keep the first of them."""
    s = Session(model=Scripted(answers=["ok"]))
    for prompt in [*PROMPTS, "last"]:
        s.run(prompt)
    body = s.xray().request.body[:9]
    three = sum(p.tokens for pieces in body[-3:] for p in pieces)
    found = [cutoff(("tokens", three + off)) for off in (-1, 0, 1)]
    assert found[1] == found[2] == 6 and found[0] > 6
    window = 100_000
    found = [cutoff(("fraction", (three + off) / window), window) for off in (-1, 0, 1)]
    assert found[1] == found[2] == 6 and found[0] > 6


@every_row("prices", [{"m": 1}, {"m": (1, 2)}, {"m": (1, 2, -3)}, {"m": (1, 2, "3")}, {"m": (1, 2, float("nan"))}, [1]])
def test_a_price_that_is_none_is_one_line(prices):
    with pytest.raises(Exception, match=r"^prices must give dollars .*: prices=\{"):
        Session(prices=prices)


@every_row(("name", "model", "label", "found"), [
    ("gpt-5.2", "gpt-5.2", "openai:gpt-5.2", True), ("openai:gpt-5.2", "gpt-5.2", "openai:gpt-5.2", True),
    ("openai:gpt-5.2", "gpt-5.2", "offline", True), ("offline", "", "offline", True),
    ("offline", "gpt-5.2", "offline", False), ("gpt-5", "gpt-5.2", "openai:gpt-5.2", False),
    ("ollama:qwen3:8b", "qwen3:8b", "ollama:qwen3:8b", True),
])  # fmt: skip
def test_a_price_goes_by_either_name(name, model, label, found):
    from deepnb.values.turn import price_of

    assert (price_of({name: (1, 1, 1)}, model, label) is not None) == found


def parts(tools: str = "t", system: str = "s", memory: str = "m", *talk: str) -> Request:
    """A request whose pieces are named by their parts; of the talk `a...` is said by the assistant."""
    head = (
        Sent("tools", "ls", tools, 2_000), Sent("system", "system prompt", system, 1_500),
        Sent("system", "system prompt", "\n\n", 1), Sent("memory", "memory", memory, 400),
    )  # fmt: skip
    body = [(Sent("assistant" if one.startswith("a") else "user", "", one, 50),) for one in talk]
    return Request(head, GrowingList(body))


TALK = ("u1", "a1", "u2")


@every_row(("now", "marks", "unknown"), [
    (parts("t", "s", "m", *TALK, "a2", "u3"), 4_051, 4_051), (parts("t", "s", "m2", *TALK, "a2", "u3"), 3_500, 1_501),
    (parts("t", "s2", "m", *TALK, "a2", "u3"), 0, 0), (parts("t2", "s", "m", *TALK, "a2", "u3"), 0, 0),
    (parts("t", "s", "m", "sum", "u3"), 3_901, 3_901),
    (parts("t", "s", "m", "u1", "a1b", "u2", "a2"), 3_951, 3_951),
    (parts("t", "s", "m", "u1", "a1", "u2b", "a2"), 3_951, 4_001),
])  # fmt: skip
def test_cacheable_is_what_the_provider_can_have_kept(now, marks, unknown):
    """With marks the prefix up to the last of them; with tools above or below the system prompt what is the same in both."""
    before = parts("t", "s", "m", *TALK)
    assert cacheable(before, now, Caching(marks=True, least=1_024)) == marks
    assert cacheable(before, now, Caching()) == unknown and cacheable(before, now, Caching(least=10_000)) == 0
