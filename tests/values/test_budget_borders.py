"""Every kind of trigger and keep in a real graph, just below its border, at it, and just above."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import pytest

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from deepnb.values.budget import rule_for
from deepnb.values.turn import Compacted, Usage
from tests.support.scripted import Scripted
from tests.support.tables import every_row

PROMPTS = [f"Number {i}: the matter of item {i} is open and we look at it again soon." for i in range(4)]


def fired(trigger, window=100_000, keep=("messages", 2)) -> bool:
    """Whether the last of four turns was compacted before its call, and none before it."""
    s = Session(model=TeachingModel(window=window), trigger=trigger, keep=keep, tool_text="full")
    for prompt in PROMPTS:
        s.run(prompt)
    turns = [any(isinstance(e, Compacted) for e in t.events) for t in s.turns]
    assert not any(turns[:-1])
    return turns[-1]


@pytest.fixture(scope="module")
def total() -> int:
    """What the last request of the four costs where nothing is compacted."""
    s = Session(model=TeachingModel(window=100_000), tool_text="full")
    for prompt in PROMPTS:
        s.run(prompt)
    return s.turns[-1].budget.total


@pytest.mark.parametrize(("off", "fires"), [(-1, True), (0, True), (1, False)])
def test_a_trigger_in_tokens(total, off, fires):
    assert fired(("tokens", total + off)) == fires


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


def test_a_fraction_is_exact_where_a_float_is_not():
    assert rule_for(700, ("fraction", 0.07)).trigger_tokens == 49  # 0.07 * 700 is 49.00000000000001


def cutoff(keep, window: int = 100_000) -> int:
    """How many messages of four turns went."""
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


def test_without_a_window_170000_tokens_and_6_messages():
    """A thread just below 170,000, and one at it."""
    s = Session(model=Scripted(answers=["ok"], profile=None))
    text = "7 " * 6_000  # below what is put into a file instead
    while not any(isinstance(e, Compacted) for e in s.last.events) if s.last else True:
        s.run(text)
    *below, last = s.turns
    assert max(t.budget.total for t in below) < 170_000
    assert below[-1].budget.total + s.count(text) > 170_000 > last.budget.total
    (offload,) = [e.offload for e in last.events if isinstance(e, Compacted)]
    assert 2 * len(s.turns) - 1 - offload.cutoff in (5, 6)  # with the sixth, a prompt would stand without its answer


# -- prices


def test_a_cost_is_said_where_the_price_is_known_and_only_there():
    s = Session()
    assert s.run("Hello").usage.cost is None
    assert s.ledger()["cost"].isna().all()
    s.configure(prices={"offline": (2.0, 0.5, 8.0)})
    usage = s.run("Hello").usage
    assert usage.cost == pytest.approx((usage.input * 2.0 + usage.output * 8.0) / 1e6)
    assert s.ledger()["cost"].isna().tolist() == [True, False]
    assert sum((t.usage for t in s.turns), Usage()).cost is None


@every_row("prices", [{"m": 1}, {"m": (1, 2)}, {"m": (1, 2, -3)}, {"m": (1, 2, "3")}, {"m": (1, 2, float("nan"))}, [1]])
def test_a_price_that_is_none_is_one_line(prices):
    with pytest.raises(Exception, match=r"^prices must give dollars .*: prices=\{"):
        Session(prices=prices)


@every_row(
    ("name", "model", "label", "found"),
    [
        ("gpt-5.2", "gpt-5.2", "openai:gpt-5.2", True),
        ("openai:gpt-5.2", "gpt-5.2", "openai:gpt-5.2", True),
        ("openai:gpt-5.2", "gpt-5.2", "offline", True),
        ("offline", "", "offline", True),
        ("offline", "gpt-5.2", "offline", False),
        ("gpt-5", "gpt-5.2", "openai:gpt-5.2", False),
        ("ollama:qwen3:8b", "qwen3:8b", "ollama:qwen3:8b", True),
    ],
)
def test_a_price_goes_by_either_name(name, model, label, found):
    from deepnb.values.turn import price_of

    assert (price_of({name: (1, 1, 1)}, model, label) is not None) == found


def test_cached_input_has_its_own_price():
    from deepnb.values.turn import cost_of

    assert cost_of(Usage(1_000_000, 500_000, 400_000), (3.0, 0.25, 10.0)) == pytest.approx(0.6 * 3 + 0.4 * 0.25 + 5)
