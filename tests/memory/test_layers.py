"""Layers: which files are injected in which thread on which day, how they share the budget, and the words around them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from deepnb import Session
from deepnb.context.estimate import approximate
from deepnb.engine.request import message_text
from deepnb.memory.budget import Fitted, fitted, plain, shares
from deepnb.memory.guarding import memory_block
from deepnb.memory.layers import layer_of, layers, note_day, note_paths
from deepnb.values import tokenizer
from deepnb.values.messages import MEMORY_UPDATE
from tests import DATA
from tests.support.clock import Clock, session
from tests.support.scripted import call, unasked, walked
from tests.support.tables import every_row


def system(request: list[BaseMessage]) -> str:
    return message_text(request[0])


def shown(request: list[BaseMessage]) -> list[str]:
    block = system(request).split("<agent_memory>")[1].split("</agent_memory>")[0]
    return [line for line in block.split("\n") if line.startswith("/") and line.endswith(".md")]


def test_layers_stand_in_order_and_only_if_their_file_is_there():
    s = session(memory=("/AGENTS.md", "/team.md"))
    for path in ("/memory/2026-03-01.md", "/memory/2026-03-02.md", "/MEMORY.md", "/TOOLS.md", "/SOUL.md", "/team.md"):
        s.memory.write(path, f"- about {path[1:4]}\n")
    s.memory.write("/memory/2026-02-28.md", "- too old\n")
    s.run("a")
    (request,) = s.options.model.requests
    expected = ["/team.md", "/SOUL.md", "/TOOLS.md", "/MEMORY.md", "/memory/2026-03-02.md", "/memory/2026-03-01.md"]
    assert shown(request) == expected == list(s.snapshot.memory) and "too old" not in str(request)


def test_the_day_is_that_of_the_users_time_zone_or_of_this_machines(monkeypatch: pytest.MonkeyPatch):
    clock = Clock("2026-03-02T00:30")  # still March 1st in UTC
    s = session(clock=clock)
    s.memory.write("/memory/2026-03-02.md", "- today there\n")
    s.memory.write("/memory/2026-02-28.md", "- two days ago there\n")
    s.run("a")
    assert shown(s.options.model.requests[0]) == ["/memory/2026-03-02.md"]
    import time

    monkeypatch.setenv("TZ", "Pacific/Kiritimati")  # UTC+14
    time.tzset()
    try:
        assert Session().workspace.current.now().endswith("+14:00")
    finally:
        monkeypatch.undo()
        time.tzset()


@every_row(("refresh", "first"), [("delta", True), ("call", True), ("delta", False)])
def test_over_midnight_the_oldest_note_goes_and_the_new_one_comes(refresh: str, first: bool):
    """Where there was none to go, the prefix stays as it is."""
    clock = Clock("2026-03-02T23:50")
    s = session(clock=clock, memory_refresh=refresh)
    if first:
        s.memory.write("/memory/2026-03-01.md", "- of the first\n")
    s.memory.write("/memory/2026-03-02.md", "- of the second\n")
    s.run("a")
    clock.to("2026-03-03T00:10")
    s.run("b")
    s.memory.write("/memory/2026-03-03.md", "- of the third\n")
    s.run("c")
    one, two, three = s.options.model.requests
    assert ("of the first" in str(one)) == first and "of the second" in str(one)
    assert "of the first" not in str(two) and "of the second" in str(two)
    assert "of the third" in str(three) and "of the first" not in str(three)
    if not first:
        assert system(one) == system(two) == system(three) and "of the third" in three[-2].text
        assert [m.type for m in two[: len(one)]] == [m.type for m in one]


def test_a_turn_that_runs_over_midnight_keeps_its_day():
    clock = Clock("2026-03-02T23:59")

    def later() -> str:
        """Let it be tomorrow."""
        clock.to("2026-03-03T00:01")
        return "done"

    s = session(call("later"), "one", "two", clock=clock, **unasked(later))
    s.memory.write("/memory/2026-03-01.md", "- of the first\n")
    walked(s, "run a", "run b")
    before, after, next_turn = s.options.model.requests
    assert system(before) == system(after) and "of the first" in system(after)
    assert "of the first" not in str(next_turn)


def test_a_rebase_on_a_new_day_and_days_that_are_read_once_in_a_thread():
    clock = Clock("2026-03-02T12:00")
    s = session(clock=clock)
    s.memory.write("/memory/2026-03-01.md", "- of the first\n")
    walked(s, "run a", "memory.add likes tea", "run b")
    assert any(m.additional_kwargs.get("lc_source") == MEMORY_UPDATE for m in s.options.model.requests[1])
    clock.to("2026-03-03T12:00")
    s.run("c")
    last = s.options.model.requests[2]
    assert not any(m.additional_kwargs.get("lc_source") == MEMORY_UPDATE for m in last)
    assert "likes tea" in system(last)
    clock = Clock("2026-03-02T12:00")
    s = session(clock=clock, memory_refresh="thread")
    s.memory.write("/memory/2026-03-01.md", "- of the first\n")
    s.run("a")
    clock.to("2026-03-05T12:00")
    s.run("b")
    assert system(s.options.model.requests[0]) == system(s.options.model.requests[1])
    walked(s, "new", "run c")
    assert "of the first" not in str(s.options.model.requests[2])


def test_where_a_line_comes_from_is_told_to_no_model():
    s = walked(session(), "memory.add likes tea", "run a")
    s.memory.add("drinks it cold <!-- from memory/2026-03-02.md:2 -->", "/MEMORY.md")
    s.run("b")
    s.memory.write("/AGENTS.md", "- likes tea <!-- of old -->\n")
    s.run("c")
    two, three = s.options.model.requests[1:]
    assert "+- drinks it cold" in str(two) and "<!--" not in str(two)
    told = [m for m in three if m.additional_kwargs.get("lc_source") == MEMORY_UPDATE]
    assert len(told) == 1 and "<!--" not in str(three), "a comment alone is nothing to tell"


LONG = {"/AGENTS.md": "agents", "/SOUL.md": "soul", "/USER.md": "user", "/MEMORY.md": "long"}
LONG |= {"/memory/2026-03-02.md": "today"}


def text(word: str, lines: int) -> str:
    return "\n\n".join(f"## {word} {i}\n\n- {word} says {i}" for i in range(lines))


def test_each_layer_has_its_share_and_passes_on_what_it_does_not_need():
    contents = {path: text(word, 200) for path, word in LONG.items()}
    found = fitted(contents, list(LONG), 1_000, tokenizer.count)
    assert [f.path for f in found] == list(LONG)
    for one in found:
        assert one.left_out and one.text.startswith("## "), "each is there in part"
        assert f"{one.left_out} sections" in one.shown and f"read_file {one.path}" in one.shown
    sizes = {f.path: tokenizer.count(f.text) for f in found}
    assert sizes["/AGENTS.md"] > sizes["/memory/2026-03-02.md"] > sizes["/SOUL.md"]
    short = {**{p: f"- {w}" for p, w in LONG.items()}, "/memory/2026-03-02.md": text("today", 200)}
    by_path = {f.path: f for f in fitted(short, list(LONG), 1_000, tokenizer.count)}
    assert not any(f.left_out for p, f in by_path.items() if p != "/memory/2026-03-02.md")
    assert tokenizer.count(by_path["/memory/2026-03-02.md"].text) > 700


@given(
    st.dictionaries(st.sampled_from([*LONG, "/a.md", "/memory/2026-03-01.md"]), st.integers(0, 60), min_size=1),
    st.integers(50, 1_500),
)
def test_the_budget_is_kept_and_nothing_is_left_out_unsaid(lines: dict[str, int], budget: int):
    contents = {path: text("w" + path[1:3], n) for path, n in lines.items()}
    found = fitted(contents, list(contents), budget, tokenizer.count)
    for one in found:
        whole = plain(contents[one.path])
        assert one.text == whole or one.left_out
        assert all(section in whole for section in one.text.split("\n\n"))
    heads = sum(tokenizer.count(f"{f.path}\n\n\n\n") + 1 for f in found)
    least = heads + sum(tokenizer.count(Fitted(f.path, "", 9999, 999_999).shown) + 1 for f in found)
    assert sum(tokenizer.count(f"{f.path}\n\n{f.shown}\n\n") for f in found) <= max(budget, least) + 2


@given(
    st.dictionaries(st.sampled_from(["", "/SOUL.md", "/USER.md", "/MEMORY.md"]), st.integers(0, 900)),
    st.integers(0, 900),
)
def test_shares_give_no_more_than_is_needed_or_there(needs: dict[str, int], room: int):
    given_ = shares(needs, room)
    assert given_.keys() == needs.keys() and sum(min(given_[k], needs[k]) for k in needs) <= room
    if sum(needs.values()) <= room:
        assert all(given_[k] >= needs[k] for k in needs)


# -- names


@every_row(
    ("path", "day"),
    [("/memory/2026-03-02.md", "2026-03-02"), ("//memory/2026-03-02.md", "2026-03-02"), ("/Memory/2026-03-02.MD", "2026-03-02"),
     ("/x/../memory/2026-03-02.md", "2026-03-02"), ("/memory/topics.md", None), ("/memory/a/2026-03-02.md", None), ("/2026-03-02.md", None)],
)  # fmt: skip
def test_what_is_a_daily_note(path: str, day: str | None):
    assert note_day(path) == day


def test_names_of_layers_and_comments_of_lines():
    assert note_paths("2026-03-01") == ("/memory/2026-03-01.md", "/memory/2026-02-28.md")
    assert layers(("/USER.md",), "2026-03-01")[:2] == ("/USER.md", "/AGENTS.md")
    names = [layer_of(path) for path in ("/AGENTS.md", "/project/AGENTS.md", "/memory/2026-03-01.md")]
    assert names == ["", "", "/memory/"]
    assert plain("- a <!-- memory/2026-03-02.md:3 -->\n- b\n<!-- gone -->\n- c\n") == "- a\n- b\n- c"


GOLDEN = DATA / "guidelines.txt"
MOST = 600
"""Tokens, the tags round it and the line for an empty memory included."""


def block() -> str:
    return memory_block([], "/AGENTS.md") + "\n"


def test_the_words_are_those_of_the_golden_file_and_our_own():
    assert block() == GOLDEN.read_text()
    from deepagents.middleware import memory

    theirs = _runs(str(vars(memory).get("MEMORY_SYSTEM_PROMPT") or Path(memory.__file__).read_text()), 6)
    assert len(theirs) > 100 and not _runs(block(), 6) & theirs


@every_row("count", [approximate, tokenizer.count], ids=["by class", "teaching"])
def test_they_are_short_by_the_counters_that_are_always_there(count):
    assert 100 < count(block()) < MOST


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z']+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}
