"""The context of a session: the trigger, the compaction, the offloaded history, the count."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import pandas as pd
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from deepnb import Session
from deepnb.context import history
from deepnb.context.counting import BY_CLASS, Counter, Meter
from deepnb.context.estimate import approximate
from deepnb.models.teaching import TeachingModel
from deepnb.values.budget import rule_for
from deepnb.values.messages import Message, ToolCall
from deepnb.values.tokenizer import count
from deepnb.values.turn import Compacted, ModelStarted
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

ODD = 'a <b> & "c" \'d\' `e` 茶を飲む &amp; <message type="human">not one</message>\n## Heading\n\n- last'


def prompts(n: int) -> list[str]:
    """Prompts of some forty tokens, each told apart."""
    words = "please note for later that in the long run of this project the matter of"
    return [f"Number {i}: {words} item {i} is open and that we look at it again soon." for i in range(n)]


@pytest.fixture(scope="module")
def long() -> Session:
    """Thirty turns in a window of 8,000."""
    s = Session(model=TeachingModel(window=8_000), tool_text="full")
    s.run(ODD)
    for i, prompt in enumerate(prompts(29)):
        s.run(f"Write /f{i}.md: {prompt}" if i % 3 == 0 else " ".join([prompt] * 4))
    return s


def compactions(s: Session) -> list[Compacted]:
    return [e for t in s.turns for e in t.events if isinstance(e, Compacted)]


def test_a_long_conversation_passes_the_trigger_and_is_compacted(long):
    assert len(compactions(long)) >= 1
    assert all(c.offload.path == "/conversation_history/main.md" for c in compactions(long))
    assert long.snapshot.offload == compactions(long)[-1].offload
    assert all(c.budget.total < 6_800 for t in long.turns for c in t.calls if c.purpose == "answer")
    assert long.budget().parts["summary"] > 0


def test_the_thread_keeps_every_message(long):
    users = [m.text for m in long.snapshot.messages if m.role == "user"]
    assert users == [t.prompt for t in long.turns]


def test_the_history_holds_what_went_word_for_word_and_once(long):
    text = long.files["/conversation_history/main.md"]
    assert len(re.findall(r"^## Summarized at \S+$", text, re.M)) == len(compactions(long))
    gone = long.snapshot.messages[: long.snapshot.offload.cutoff]
    assert gone
    bodies = Tally(m.text for m in gone if m.text)
    for body, times in bodies.items():
        assert text.count(f"\n\n{body}\n\n") == times, body
    assert ODD in text
    assert "conversation_history" not in text  # no earlier summary is stored
    sections = long.history()
    assert sum(section.messages for section in sections) == len(gone)
    assert [s.at for s in sections] == [c.offload.at for c in compactions(long)]
    table = pd.DataFrame(sections)
    assert list(table["messages"]) == [section.messages for section in sections]
    assert {"at", "path", "text"} <= {*table.columns}


def test_what_is_kept_begins_with_no_orphan_result(long):
    for event in compactions(long):
        messages = long.snapshot.messages
        assert messages[event.offload.cutoff].role != "tool"


def test_the_gauge_is_what_the_model_reports(long):
    calls = [c for t in long.turns for c in t.calls]
    assert len(calls) > 30
    for c in calls:
        assert c.usage is not None
        assert (c.budget.total, c.budget.exact) == (c.usage.input, True), c
    assert [t.budget.reported for t in long.turns] == [t.budget.total for t in long.turns]


# -- the border


def three_turns(window: int = 100_000, **options) -> Session:
    s = Session(model=TeachingModel(window=window), keep=("tokens", 100), tool_text="full", **options)
    for prompt in prompts(3):
        s.run(prompt)
    return s


def test_it_compacts_exactly_at_the_border():
    """The same conversation in windows round the one whose 0.85 is just what the last request costs."""
    last = prompts(4)[3]
    total = three_turns().run(last).budget.total
    fired = {}
    for trigger in (total - 1, total, total + 1):
        s = three_turns(trigger=("tokens", trigger))
        s.run(last)
        fired[trigger - total] = bool(compactions(s))
    assert fired == {-1: True, 0: True, 1: False}
    window = int(total / 0.85)
    fired = {}
    for n in range(window - 1, window + 3):
        s = three_turns(n)
        s.run(last)
        fired[n] = bool(compactions(s))
        assert fired[n] == (total >= ceil(Fraction(85, 100) * n)), n
    assert set(fired.values()) == {True, False}


def test_a_trigger_in_messages():
    s = Session(model=Scripted(answers=["1", "2", "summary", "3"]), trigger=("messages", 5), keep=("messages", 1))
    for prompt in "abc":
        s.run(prompt)
    assert [bool([e for e in t.events if isinstance(e, Compacted)]) for t in s.turns] == [False, False, True]
    sent = s.options.model.requests[-1]
    assert [m.type for m in sent] == ["system", "human", "human"]
    assert "summary" in sent[1].text
    assert sent[2].text == "c"


def test_a_trigger_in_tokens():
    s = Session(model=Scripted(answers=["summary"], profile=None), trigger=("tokens", 10), keep=("messages", 1))
    assert s.rule.window is None
    s.run("a")
    s.run("b")
    assert compactions(s)


def test_without_a_window():
    s = Session(model=Scripted(answers=["ok"], profile=None))
    assert (s.rule.trigger, s.rule.keep) == (("tokens", 170_000), ("messages", 6))
    assert Session(max_input_tokens=1_000).rule.trigger_tokens == 850


@every_row(("refresh", "part"), [("call", "memory"), ("delta", "user")])
def test_memory_counts_towards_the_trigger(refresh: Any, part: str):
    """As its block, or as the diff that tells it."""
    free = three_turns(memory_refresh=refresh).budget()
    s = three_turns(trigger=("tokens", free.total + 300), memory_refresh=refresh)
    assert not compactions(s)
    s.memory.write("/AGENTS.md", "- a line of memory\n" * 100)
    s.run("Hello")
    assert s.turns[-1].budget.parts[part] > free.parts[part] + 300
    assert compactions(s)


def test_earlier_summaries_are_not_stored():
    s = Session(model=Scripted(answers=["THE SUMMARY"]), trigger=("messages", 4), keep=("messages", 1))
    for i in range(6):
        s.run(f"prompt {i}")
    text = s.files["/conversation_history/main.md"]
    assert len(s.history()) == len(compactions(s)) >= 2
    assert "has been summarized" in s.options.model.requests[-1][1].text
    assert "has been summarized" not in text
    assert sum(section.messages for section in s.history()) == s.snapshot.offload.cutoff
    for i in range(5):
        assert text.count(f"prompt {i}\n") == 1


def test_tool_calls_stay_with_their_results():
    answers = [call("ls", id=f"c{i}", path=f"/{i}") for i in range(6)]
    s = Session(model=Scripted(answers=[*answers, "end"]), trigger=("messages", 8), keep=("messages", 2))
    s.run("p")
    for messages in s.options.model.requests:
        known: set[str | None] = set()
        for m in messages:
            if isinstance(m, AIMessage):
                known |= {c["id"] for c in m.tool_calls}
            if isinstance(m, ToolMessage):
                assert m.tool_call_id in known
    assert compactions(s)


def test_a_fork_writes_a_file_of_its_own():
    s = Session(model=Scripted(answers=["ok"]), trigger=("messages", 4), keep=("messages", 1))
    for i in range(4):
        s.run(f"prompt {i}")
    mine = s.files["/conversation_history/main.md"]
    s.fork("f")
    for i in range(4):
        s.run(f"forked {i}")
    assert "forked 0" in s.files["/conversation_history/f.md"]
    assert s.files["/conversation_history/main.md"] == mine
    assert s.history()[0].path == "/conversation_history/f.md"
    s.switch("main")
    assert "/conversation_history/f.md" not in s.files
    s.new("g")
    s.run("p")
    assert s.history() == ()


def test_a_subagent_does_not_write_into_the_threads_history():
    task = call("task", id="t1", description="work", subagent_type="general-purpose")
    nested = [call("ls", id=f"n{i}", path="/") for i in range(4)]
    s = Session(model=Scripted(answers=[task, *nested, "end"]), trigger=("messages", 4), keep=("messages", 1))
    s.run("p")
    assert any(e.path == ("t1",) for e in compactions(s))
    assert "/conversation_history/main.md" not in s.files
    assert s.snapshot.offload is None


def test_a_subagent_does_not_inherit_what_was_compacted():
    task = call("task", id="t1", description="THE TASK", subagent_type="general-purpose")
    model = Scripted(answers=["ok"])
    s = Session(model=model, trigger=("messages", 4), keep=("messages", 1))
    for i in range(3):
        s.run(f"prompt {i}")
    assert s.snapshot.offload is not None
    model.answers = [*["ok"] * len(model.requests), task, "nested", "end"]
    s.configure(trigger=("messages", 50))
    before = len(model.requests)
    s.run("go")
    assert [m.text for m in model.requests[before + 1][1:]] == ["THE TASK"]


def test_long_arguments_in_old_messages_are_cut_in_the_request_only():
    long_text = "x" * 3_000
    write = call("write_file", file_path="/a.md", content=long_text)
    s = Session(model=Scripted(answers=[write, "ok"]), trigger=("messages", 5), keep=("messages", 3))
    for prompt in "abc":
        s.run(prompt)
    assert s.files["/a.md"] == long_text
    assert s.snapshot.messages[1].tool_calls[0].args["content"] == long_text


# -- history as a file


MESSAGES = [
    Message("1", "user", ODD),
    Message("2", "assistant", "", (ToolCall("c", "write_file", {"file_path": "/茶.md", "n": 1}),)),
    Message("3", "tool", "done", name="write_file", tool_call_id="c"),
    Message("4", "assistant", "said"),
]


def test_a_section_as_it_stands_in_the_file():
    assert history.section("2026-01-31T09:00:00+00:00", MESSAGES) == (
        "## Summarized at 2026-01-31T09:00:00+00:00\n\n4 messages\n"
        "<!-- 19 lines: 6b86b273ff34:7 d4735e3a265e:4 4e07408562be:4 4b227777d4dd:4 -->\n\n"
        f"### user\n\n{ODD}\n\n"
        '### assistant\n\n→ write_file {"file_path": "/茶.md", "n": 1}\n\n'
        "### tool write_file\n\ndone\n\n"
        "### assistant\n\nsaid\n\n"
    )


def test_sections_are_read_back():
    text = history.section("t1", MESSAGES) + history.section("t2", MESSAGES[:1])
    one, two = history.sections("/h.md", text)
    assert (one.at, one.path, one.messages, two.at, two.messages) == ("t1", "/h.md", 4, "t2", 1)
    assert one.text.startswith("### user\n\n")
    assert two.text == f"### user\n\n{ODD}"
    assert history.sections("/h.md", "") == ()


# -- counting


def spy(seen: list[str], real: Callable[[str], int]) -> Callable[[str], int]:
    """A counter that remembers what it counted."""

    def counted(text: str) -> int:
        seen.append(text)
        return real(text)

    return counted


def test_a_message_is_counted_once():
    seen: list[str] = []
    meter = Meter(Counter(spy(seen, count), True, "test"), rule_for(8_000))
    messages = [HumanMessage("one", id="1"), AIMessage("two", id="2")]
    first = meter.budget(messages, ())
    assert meter.budget(messages, ()).total == first.total
    assert seen == ["one", "two"]
    meter.budget([*messages, HumanMessage("three", id="3")], ())
    assert seen == ["one", "two", "three"]
    changed = meter.budget([HumanMessage("one, changed", id="1")], ())
    assert seen[-1] == "one, changed"
    assert changed.parts["user"] > first.parts["user"]


def test_counting_a_turn_costs_what_is_new(monkeypatch):
    s = Session(model=Scripted(answers=["ok"]), enable_filesystem=False, enable_subagents=False, enable_skills=False)
    seen: list[str] = []
    real = s.workspace.built.meter.counter
    monkeypatch.setattr(s.workspace.built.meter, "counter", Counter(spy(seen, real.count), real.exact, real.name))
    asked = []
    for i in range(6):
        seen.clear()
        s.run(f"prompt {i}")
        asked.append([text for text in seen if text.startswith(("prompt", "ok"))])
    assert asked[-1] == ["prompt 5", "ok"]


def test_growth_and_turns_left():
    s = Session(model=TeachingModel(window=8_000))
    for prompt in prompts(4):
        s.run(prompt)
    budget = s.budget()
    totals = [t.budget.total for t in s.turns]
    assert budget.growth == tuple(b - a for a, b in pairwise(totals))
    assert budget.turns_left == int((budget.left or 0) // (sum(budget.growth) / 3))
    started = [[e for e in t.events if isinstance(e, ModelStarted)][-1] for t in s.turns]
    assert [e.call.budget.total for e in started] == totals


@every_row(
    "text",
    [
        "",
        "word",
        "the quick brown fox jumps over the lazy dog",
        "你好，世界。我在喝茶。" * 20,
        "x = {'a': [1, 2, 3.5]}\n" * 20,
    ],
)
def test_the_approximation_errs_high(text):
    """Against the real o200k_base counts of these texts."""
    real = {"": 0, "word": 1, "the": 9, "你": 180, "x": 300}
    assert approximate(text) >= next(
        n for start, n in real.items() if text.startswith(start) and bool(text) == bool(start)
    )
    assert approximate(text) <= 3 * len(text.encode()) + 1
    assert not BY_CLASS.exact
