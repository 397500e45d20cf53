"""What the ledger counts: each message once, to the token, in requests that share their pieces."""

import sys
from dataclasses import replace
from itertools import pairwise
from threading import Thread
from typing import Any

import tiktoken
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deepnb import Session
from deepnb.context.counting import Counter, Meter
from deepnb.context.estimate import HIGH, Rates, Reports
from deepnb.engine.request import pieces
from deepnb.models.teaching import TeachingModel
from deepnb.values.budget import PARTS, rule_for
from deepnb.values.messages import GrowingList
from deepnb.values.request import Request
from deepnb.values.tokenizer import count
from deepnb.values.turn import ModelStarted
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row


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


def test_one_more_turn_of_a_long_thread_counts_its_own_messages_only():
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


def test_what_changed_is_counted_again():
    m = meter(Counting())

    def total(message: BaseMessage) -> int:
        return m.budget([message], ()).total

    assert total(HumanMessage("one", id="1")) < total(HumanMessage("one and more words", id="1"))
    calls = [{"name": "ls", "args": {"path": "/"}, "id": "c"}]
    assert total(AIMessage("x", id="2")) < total(AIMessage("x", id="2", tool_calls=calls))
    before = m.budget([HumanMessage("sum", id="3")], ()).parts
    after = m.budget([HumanMessage("sum", id="3", additional_kwargs={"lc_source": "summarization"})], ()).parts
    assert (before["user"], after["summary"]) == (after["summary"], before["user"]) and before["user"]


def test_the_memory_of_what_was_counted_has_an_end():
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


def test_a_report_weighs_all_anew_and_counts_nothing_again():
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


def test_a_report_changes_nothing_of_an_exact_count_nor_without_reports():
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
    task = call("task", id="t1", description="THE TASK", subagent_type="general-purpose")
    s = Session(model=Scripted(answers=[task, call("ls", id="n1", path="/"), "nested", "end"]))
    s.run("p")
    one, nested, nested_on, two = (e.call.request for e in s.turns[0].events if isinstance(e, ModelStarted))
    assert nested_on.body.shares(nested.body) and two.body.shares(one.body) and not two.body.shares(nested.body)
