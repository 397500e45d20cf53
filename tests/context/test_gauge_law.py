"""Law: what the gauge draws is where the compaction comes, and each answer has the room that the window has left."""

from collections.abc import Callable
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import Field

from deepnb import Session
from deepnb.context.counting import Counter
from deepnb.values.budget import Rule, headroom
from deepnb.values.turn import Compacted, Turn
from deepnb.views.budget import NO_CALL, BudgetView
from tests.support.scripted import Scripted
from tests.support.tables import every_row

RESERVES = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@cache
def heard(client: Any) -> Any:
    """A client as it is, up to the bytes it would send: what each request reserves is kept with what it asks for."""

    class Heard(client):  # type: ignore[misc]
        sent: list[tuple[str, int | None]] = Field(default_factory=list)

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            text, payload = str(messages[-1].content), self._get_request_payload(messages, stop=stop, **kwargs)
            what = "flush" if "<leaving>" in text else "summary" if "<messages>" in text else "answer"
            self.sent.append((what, next((payload[name] for name in RESERVES if name in payload), None)))
            said = AIMessage("NO_REPLY" if what == "flush" else "fine")
            return ChatResult(generations=[ChatGeneration(message=said)])

    return Heard


class Other(Scripted):
    """A client of neither provider, whose reserve has another name."""

    max_output_tokens: int | None = None

    def _get_request_payload(self, messages: Any, **kwargs: Any) -> dict[str, Any]:
        return {"max_output_tokens": self.max_output_tokens, **kwargs}


def anthropic(**more: Any) -> Any:
    from langchain_anthropic import ChatAnthropic  # late, since it has 3,000 modules

    return heard(ChatAnthropic)(model_name="claude-some", **SAME, **more)


def openai(**more: Any) -> Any:
    return heard(ChatOpenAI)(model="some-model", **SAME, **more)


SAME: dict[str, Any] = {"api_key": "x", "disable_streaming": True}
CLIENTS: dict[str, Callable[[int | None], Any]] = {
    "anthropic": lambda n: anthropic(**reserving("max_tokens", n)),
    "openai": lambda n: openai(**reserving("max_tokens", n)),
    "responses": lambda n: openai(use_responses_api=True, **reserving("max_tokens", n)),
    "bound": lambda n: openai(model_kwargs=reserving("max_completion_tokens", n)),
    "other": lambda n: heard(Other)(answers=["fine"], disable_streaming=True, max_output_tokens=n),
}


def reserving(name: str, tokens: int | None) -> dict[str, Any]:
    return {name: tokens} if tokens else {}


def bare(model: Any, window: int, **options: Any) -> Session:
    off: dict[str, Any] = {f"enable_{part}": False for part in ("filesystem", "memory", "subagents", "skills")}
    return Session(model=model, max_input_tokens=window, system_prompt="Be brief.", tool_text="short", **off, **options)


def compacted(turn: Turn) -> list[int]:
    return [e.offload.before for e in turn.events if isinstance(e, Compacted)]


WINDOWS = st.one_of(
    st.integers(4_096, 12_000), st.integers(12_000, 250_000), st.integers(250_000, 1_000_000),
    st.sampled_from([200_000, 1_000_000]),
)  # fmt: skip
TRIGGERS = st.one_of(
    st.none(), st.tuples(st.just("fraction"), st.sampled_from([0.5, 0.85, 0.97, 1.0])),
    st.tuples(st.just("share"), st.floats(0.3, 1.1)), st.tuples(st.just("messages"), st.integers(4, 9)),
)  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, int, int | None, Any, list[float]]:
    """(client, window, reserve, trigger, shares of the window that the prompts take)"""
    window = draw(WINDOWS)
    reserve = draw(st.one_of(st.none(), st.integers(1, window), st.just(window)))
    trigger = draw(TRIGGERS)
    if trigger and trigger[0] == "share":
        trigger = ("tokens", int(trigger[1] * window))
    shares = draw(st.lists(st.floats(0.1, 0.4), min_size=4, max_size=5))
    return draw(st.sampled_from(sorted(CLIENTS))), window, reserve, trigger, shares


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameters")
@given(cases())
def test_the_first_request_that_passes_the_mark_is_the_first_that_is_compacted(case):
    client, window, reserve, trigger, shares = case
    model, weight = CLIENTS[client](reserve), max(1, window // 10_000)
    with patch("deepnb.wiring.model.BY_CLASS", Counter(lambda text: weight * -(-len(text) // 5), False, "heavy")):
        s = bare(model, window, trigger=trigger, keep=("messages", 1))
        rule: Rule = s.rule
    assume(s.rule.trigger_tokens is None or s.rule.trigger_tokens > 1_500)
    mark, least = rule.drawn, window - (rule.limit or window)
    assert mark is not None and least >= headroom(window)
    for share in shares:
        s.run("word " * int(share * window / weight))
        turn = s.turns[-1]
        passed = compacted(turn)
        answers = [c for c in turn.requested if c.purpose == "answer"]
        by_messages = rule.trigger_tokens is None
        for total in passed:
            if not by_messages:
                assert total >= mark, "compacted before the mark"
        for call in answers:
            late = call.budget.total > mark if by_messages else call.budget.total >= mark
            assert passed or not late or len(s.turns) == 1, "passed the mark, and was sent whole"
            if call.budget.total <= window - least:
                sent = [n for what, n in model.sent if what == "answer"][-1]
                room = 0 if sent is None or (reserve is None and client == "other") else sent
                assert call.budget.total + room <= window, "no room for the answer that is asked for"
                assert reserve is None or room >= min(reserve, 1_024), "no answer can be so short"
        if turn.error:
            return
        if passed:
            event("compacted")
            assert answers[-1].budget.total <= window - least
    event("ended")


@every_row(("client", "window", "reserve", "says"), [
    ("anthropic", 200_000, 64_000, "64,000 tokens are reserved for the answer, fewer as the window fills: 20,000 at"),
    ("openai", 128_000, 1_000, "1,000 tokens are reserved for the answer\n"),
    ("other", 4_096, 4_096, "compacts at 3,072 tokens, the window of 4,096 less 1,024 for the answer, keeps"),
])  # fmt: skip
def test_the_gauge_names_what_is_reserved_and_draws_where_it_compacts(client, window, reserve, says):
    s = bare(CLIENTS[client](reserve), window)
    s.run("Hello.")
    text = BudgetView(s.budget() or NO_CALL).text()
    assert says in text and f"{s.rule.drawn:,} compacts" in text


def test_room_for_thinking_is_not_lowered_and_a_summary_and_a_flush_have_room_too():
    model = anthropic(max_tokens=20_000, thinking={"type": "enabled", "budget_tokens": 8_000})
    s = bare(model, 40_000)
    assert s.rule.trigger_tokens == s.rule.limit == 40_000 - 10_000
    while not any(map(compacted, s.turns)):
        s.run("word " * 4_000)
    assert min(n for what, n in model.sent if n and what == "answer") > 8_000
    model = anthropic(max_tokens=20_000)
    s = Session(model=model, max_input_tokens=40_000)
    while not s.history():
        s.run("word " * 4_000)
    asked = {what: n or 0 for what, n in model.sent}
    assert asked["flush"] < 20_000 and asked["summary"] < 20_000
