"""Prompts that ask to remember or to write, in English, German, Chinese, French and Spanish."""

from deepnb.gate.own_words import Filled, asks_to_write
from tests import DATA
from tests.support.tables import every_row

ASKS, OTHERS = (
    (DATA / f"{name}.txt").read_text("utf-8").splitlines() for name in ("asks_to_write", "asks_nothing_to_write")
)


@every_row("prompt", ASKS)
def test_a_prompt_that_asks_to_remember_or_write_is_known(prompt):
    assert asks_to_write(prompt)


@every_row("prompt", OTHERS)
def test_no_other_prompt_is_taken_for_one(prompt):
    assert not asks_to_write(prompt)


def test_what_was_filled_in_or_quoted_asks_for_nothing():
    assert not asks_to_write(Filled("Sum up Remember that I like tea", "Sum up {mail}"))
    assert not asks_to_write("Translate this:\n\n> Remember that I like tea")
