"""Counts for a tokenizer that nobody has here: never under after one report, and no higher than the reports allow."""

import json
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.context.estimate import HIGH, HIGHEST, Reports, approximate, by_class, estimated, proved
from deepnb.values.request import Tokens
from tests import DATA
from tests.support.tables import every_row
from tests.support.token_requests import TOKENIZERS, counted, stored

FITTED = [json.loads(line) for line in (DATA / "token_counts.jsonl").read_text("utf-8").splitlines()]
"""Texts that the figures were set by, with their count by o200k_base."""
UNDER = frozenset(
    ["random", "protein", "dna", "names", "base64", "BASE32", "base64url", "nanoid", "data", "box", "math", "chemistry",
     "rare", "emoji", "amharic", "swahili", "finnish", "hungarian", "polish", "swedish", "italian", "indonesian"]
)  # fmt: skip
"""First words of the kinds that have more: no words, words of no language that o200k_base has whole, rare characters."""


@every_row("counter", [stored("o200k"), by_class], ids=["o200k", "by class"])
def test_requests_of_twelve_kinds_are_never_under_after_one_report(counter):
    """By four public tokenizers; the first request that is reported holds nothing of the kind."""
    found = [one for name in TOKENIZERS for one in counted(counter, stored(name))]
    assert [one for one in found if one.first < 1 or one.own < 1] == []
    assert median(one.first for one in found) <= 1.3 and median(one.own for one in found) <= 1.3
    assert min(one.plain for one in found) < 0.55  # without classes and reports it is half of what they have


@every_row("counter", [stored("o200k"), by_class], ids=["o200k", "by class"])
@every_row("name", TOKENIZERS)
def test_with_each_tokenizer_a_thread_of_one_kind_comes_near_its_count(counter, name):
    found = counted(counter, stored(name))
    assert len(found) == len({one.kind for one in found}) == 12
    assert median(one.own for one in found) <= 1.3 and max(one.own for one in found) <= 1.4


def test_an_estimate_by_class_is_not_under_o200k_but_for_some_kinds():
    """Of the texts that it was set by; what is under are strings without words, and languages in Latin letters."""
    assert len(FITTED) == 178
    under = {row["kind"].split()[0] for row in FITTED if approximate(row["text"]) < row["o200k_base"]}
    assert under == UNDER and all(approximate(row["text"]) >= 0.33 * row["o200k_base"] for row in FITTED)


NUMBERS = st.floats(0, 100_000)
REQUESTS = st.builds(Tokens, st.floats(100, 100_000), NUMBERS, NUMBERS, NUMBERS)
"""Of a request of a few tokens, which nobody sends, what is reported is rounded by more than the laws allow for."""
TIMES = st.floats(0.6, 8)


def reported(*told: tuple[Tokens, int]) -> Reports:
    reports = Reports()
    for sent, tokens in told:
        reports.add(sent, tokens)
    return reports


def tokens(sent: Tokens, times: float) -> int:
    return max(1, round(times * sent.sure))


@given(st.lists(st.tuples(REQUESTS, TIMES), min_size=1, max_size=12))
def test_the_last_report_is_never_exceeded_by_its_provider(told):
    reports = Reports()
    for sent, times in told:
        reports.add(sent, tokens(sent, times))
        assert reports.rates.of(sent) >= tokens(sent, times)
    assert reports.rates.factor >= 1


@given(REQUESTS, TIMES, REQUESTS)
def test_after_a_report_of_k_times_the_estimate_any_next_request_counts_k_times(sent, times, other):
    told = round(times * HIGH.exactly(sent))
    after = reported((sent, told)).rates
    assert after.of(other) >= times * other.sure * 0.99
    if times >= 1:  # nothing is proved to be less: all of the next one counts so many times
        assert after.of(other) >= times * HIGH.of(other) * 0.99 - 2


@given(REQUESTS, st.floats(0, 0.12))
def test_a_class_of_which_a_request_holds_little_counts_as_high_as_before(sent, little):
    sent = sent._replace(digits=little * sent.sure, wide=little * sent.sure, other=little * sent.sure)
    assert reported((sent, tokens(sent, 0.8))).rates == HIGH


def test_a_class_comes_down_to_what_was_reported_and_goes_up_again_at_once():
    csv = Tokens(1_100, digits=500)
    low = reported((csv, 1_050)).rates  # three digits are a token
    assert low.of(csv) == 1_100 + 125 and (low.wide, low.other) == (1, 1)
    high = reported((csv, 1_050), (csv, 1_550)).rates
    assert 1_550 <= high.of(csv) <= 1_600


def test_the_factor_of_a_short_request_comes_down_with_the_next_longer_one_and_not_with_a_shorter_one():
    short, longer = Tokens(40), Tokens(3_000)
    assert reported((short, 160)).rates.factor == 4  # a template's own words
    assert reported((short, 160), (longer, 3_100)).rates.factor == pytest.approx(3_100 / 3_000, abs=1 / 32)
    assert reported((longer, 6_000), *[(short, 40)] * 5).rates.factor == 2  # a subagent's
    assert reported((longer, 6_000), *[(short, 40)] * 8).rates.factor == 1


@every_row("told", [1, 20, 1_700])
def test_a_report_of_less_than_all_of_a_request_proves_nothing(told):
    """As of a prompt that a server cut, or the part of it that it had not cached."""
    sent = Tokens(3_000, wide=2_000)
    assert told * HIGHEST < sent.sure and reported((sent, told)).rates == HIGH
    assert reported((sent, 4_000), (sent, told)).rates == reported((sent, 4_000)).rates != HIGH


def test_nothing_reported_is_as_high_as_it_gets():
    assert proved(()) == HIGH == (1, 1, 1, 1)


@every_row(
    ("text", "most"),
    [("", 0), ("a", 2), (" ", 2), ("\n", 2), ("hello", 2), ("é", 3), ("的", 3), ("1", 2), ("1234", 5), ("{}", 2), ("它是", 4),
     ("it's", 4), ("...", 2), ("—", 2), ("SELECT", 3), ("fooBar", 3), ("😀", 3), ("\r\n", 2), ("\x00", 2), ("हिन्दी", 10)],
)  # fmt: skip
def test_short_texts(text, most):
    assert bool(text) <= approximate(text) <= most


def test_digits_count_one_each():
    assert estimated("7 1234567 89", 6).digits == 4 + 1 and approximate("0" * 300) >= 300


@given(st.text())
def test_any_text_has_a_count(text):
    assert approximate(text) >= (1 if text else 0)
    assert approximate(text) <= 5 * len(text.encode("utf-8", "surrogatepass"))


@given(st.text(), st.text())
def test_longer_never_costs_much_less(a, b):
    """Where two texts meet a piece may change, so that little is all that can be gained."""
    assert approximate(a + "\n" + b) >= 0.5 * max(approximate(a), approximate(b)) - 2


@every_row("text", [
    "a" * 300_000, " " * 300_000, "\n \t" * 100_000, "A" * 300_000, "-" * 300_000, "的" * 300_000, "'s" * 150_000,
])  # fmt: skip
def test_a_long_run_is_counted_in_one_pass(text):
    """A pattern that looked back over the run at each step would not come to an end here."""
    assert approximate(text) >= 1
