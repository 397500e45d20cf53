"""The context of a session: trigger and keep, the count, the compaction, and offloaded messages brought back."""

from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field

from deepnb import DeepnbError, Session
from deepnb.engine.request import is_request
from deepnb.middleware import CompactionMiddleware
from deepnb.values.budget import Rule, rule_for
from deepnb.values.turn import Compacted
from tests.support.compactions import (
    AT_LENGTH,
    HISTORY,
    Phased,
    Refusing,
    compactions,
    notices,
    prompt_text,
    session,
    stored_once,
)
from tests.support.scripted import Scripted, call, says, walked
from tests.support.tables import every_row, refused


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
    walked(s, "new g", "run p")
    assert s.history() == ()


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
    walked(s, "run a", "run b", "run c")
    assert s.files["/a.md"] == long_text and s.snapshot.messages[1].tool_calls[0].args["content"] == long_text


# -- what keeps as much as sets a compaction off is refused, or does not come to be


TOO_MUCH: list[dict[str, Any]] = [
    {"keep": ("fraction", 0.9)}, {"trigger": ("fraction", 0.5), "keep": ("fraction", 0.5)},
    {"trigger": ("tokens", 2_000), "keep": ("tokens", 2_000)}, {"trigger": ("messages", 6), "keep": ("messages", 8)},
    {"trigger": ("fraction", 0.5), "keep": ("tokens", 5_000)},
    {"trigger": ("tokens", 500), "keep": ("fraction", 0.1)}, {"max_input_tokens": 1_000, "keep": ("tokens", 900)},
]  # fmt: skip
ENOUGH: list[dict[str, Any]] = [
    {"trigger": ("fraction", 0.5), "keep": ("fraction", 0.49)},
    {"trigger": ("fraction", 0.5), "keep": ("tokens", 4_999)}, {"trigger": ("tokens", 10), "keep": ("messages", 50)},
    {"max_input_tokens": 1_000, "keep": ("tokens", 800)},
]  # fmt: skip


def scripted(window: int = 10_000) -> Scripted:
    return Scripted(answers=["word " * 100], profile={"max_input_tokens": window})


@every_row("sizes", TOO_MUCH)
def test_keep_at_or_above_the_trigger_is_refused_in_one_line(sizes: dict[str, Any]) -> None:
    s = Session(model=scripted())
    options = s.options
    for make in (lambda: Session(model=scripted(), **sizes), lambda: s.configure(**sizes)):
        refused(r"^keep=\(.*\) is not less than trigger=.*give a smaller keep", make)
    assert s.options is options


@every_row("sizes", ENOUGH)
def test_keep_below_the_trigger_is_taken(sizes: dict[str, Any]) -> None:
    assert Session(model=scripted(), **sizes).rule.keep == sizes["keep"]


def test_keep_is_checked_against_the_trigger_in_force() -> None:
    refused("of a window of 8,000 tokens", Session, trigger=("fraction", 0.5), keep=("tokens", 4_000))
    refused("is not less than", lambda: CompactionMiddleware(scripted(), trigger=("messages", 3), keep=("messages", 3)))
    s = Session(model=scripted(), keep=("fraction", 0.4))
    line = r"keep=\('fraction', 0.4\) is not less than trigger=\('fraction', 0.3\)"
    refused(line, s.configure, trigger=("fraction", 0.3))
    s.configure(trigger=("fraction", 0.3), keep=None)
    assert s.rule.keep == ("fraction", 0.10)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["model", "window"])
def test_a_smaller_window_keeps_the_default(by: str) -> None:
    s = Session(model=scripted(40_000), keep=("tokens", 15_000))
    s.run("a")
    s.configure(**({"model": scripted(16_000)} if by == "model" else {"max_input_tokens": 16_000}))
    assert s.rule == Rule(("fraction", 0.85), ("fraction", 0.10), 16_000)
    for _ in range(30):  # no dead end
        s.run("word " * 500)
    assert any(isinstance(e, Compacted) for t in s.turns for e in t.events)
    s.configure(model=scripted(40_000), max_input_tokens=None)
    assert s.rule.keep == ("tokens", 15_000)


@every_row(("window", "trigger", "keep"), [
    (10_000, ("tokens", 900), ("tokens", 105)), (10_000, ("fraction", 0.05), ("tokens", 58)),
    (None, ("messages", 5), ("messages", 1)), (None, ("messages", 17), ("messages", 6)),
    (10_000, ("tokens", 5_000), ("fraction", 0.10)),
])  # fmt: skip
def test_the_default_keep_is_below_any_trigger(window: int | None, trigger: Any, keep: Any) -> None:
    assert rule_for(window, trigger) == Rule(trigger, keep, window)


# -- what a provider reports of a request goes into all that is counted of the next ones


class Reporting(Scripted):
    """Reports `times` as many tokens as the estimate begins with."""

    times: float = 1.0
    held: dict[str, Any] = Field(default_factory=dict)
    """The meter of its session; copies of the model have it, too."""

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        yield from super()._stream(messages, *args, **kwargs)
        meter = self.held["meter"]
        memo = type(meter._memo)(meter.counter)
        pieces = [*memo.tools(kwargs.get("tools") or ()), *(piece for one in memo.body(messages) for piece in one)]
        told = round(self.times * sum(piece.tokens for piece in pieces))
        usage: Any = {"input_tokens": told, "output_tokens": 2, "total_tokens": told + 2}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def reporting(model: Reporting, **options: Any) -> Session:
    s = Session(model=model, **options)
    model.held["meter"] = s.workspace.built.meter
    return s


def test_the_next_request_counts_as_much_as_the_last_was_reported_to_have():
    model = Reporting(answers=["ok"], times=1.5)
    s = reporting(model)
    s.run("one")
    before = s.turns[0].requested[0]
    assert before.usage.input == round(1.5 * before.budget.total)
    budget = s.budget()
    assert budget.total >= before.usage.input and budget.reported == before.usage.input
    s.run("two")
    after = s.turns[1].requested[0]
    assert 1.5 <= after.budget.total / (before.budget.total + 30) <= 1.6
    assert after.budget.total >= after.usage.input
    assert s.xray().request.tokens == after.budget.total == sum(s.xray().call.budget.parts.values())
    assert s.xray().changes and all(change.piece.part in ("user", "assistant") for change in s.xray().changes)
    assert s.count("a text of some words") >= 1.5 * 5


def test_what_was_learned_belongs_to_the_model():
    model = Reporting(answers=["ok"], times=2.0)
    reporting(model).run("one")
    again, other = reporting(model), reporting(Reporting(answers=["ok"]))
    again.run("one")
    other.run("one")
    assert 2 <= again.turns[0].requested[0].budget.total / other.turns[0].requested[0].budget.total <= 2.1


def test_a_recorded_session_counts_as_if_nothing_was_reported(tmp_path):
    """On the machine where the tape is played nothing may have been."""
    model = Reporting(answers=["ok"], times=2.0)
    reporting(model).run("one")
    s = reporting(model)
    s.record(tmp_path / "a.jsonl")
    model.held["meter"] = s.workspace.built.meter
    walked(s, "run one", "run two")
    assert s.turns[1].requested[0].usage.input >= 1.9 * s.turns[1].requested[0].budget.total


def compacted(model: Phased | None = None, **options: Any) -> Session:
    """A session whose first section holds: alpha, an answer at length, beta, ok."""
    model = model or Phased()
    model.answers = [AT_LENGTH, *model.answers]
    s = Session(model=model, **options)
    walked(s, "run alpha /a/b.py", "run beta", "run gamma")
    s.compact()
    return s


def sent(s: Session) -> list[str]:
    return [m.text for m in s.options.model.requests[-1][2:]]


def held(s: Session) -> list[str]:
    return [m.text for m in s.options.model.requests[-1] if m.text.startswith("From earlier")]


def test_chosen_messages_stand_before_the_next_prompt_once_word_for_word_in_order_in_their_thread():
    s = compacted()
    brought = s.bring_back(1, [3, 1])
    expected = [(1, "user", "alpha /a/b.py"), (3, "user", "beta")]
    assert [(m.number, m.role, m.text) for _, m in brought.messages] == expected
    s.run("now?")
    text = "From earlier in this conversation, word for word:\n\n<earlier>\n### user\n\nalpha /a/b.py\n\n### user\n\nbeta\n</earlier>"
    assert sent(s) == ["gamma", "ok", text, "now?"]
    message = s.options.model.requests[-1][-2]
    assert message.additional_kwargs == {"lc_source": "brought_back"} and not is_request(message)
    assert s.brought_back is None
    assert notices(s) == [f"added to this prompt: messages 1, 3 of section 1 (~{brought.tokens} tokens)"]
    (counted,) = [piece.tokens for piece in s.xray().request if piece.text == text]
    assert counted == brought.tokens
    s.run("and now?")
    assert held(s) == [text], "it stays where it stood, and is not sent twice"
    assert notices(s) == []
    s = compacted()
    s.bring_back(1, [3])
    s.bring_back(1, [1, 3])
    assert s.brought_back.line.startswith("messages 1, 3 of section 1 (")
    s.bring_back(1)
    assert s.brought_back.line.startswith("messages 1-4 of section 1 (")
    walked(s, "new other", "run hello")
    assert not held(s)
    walked(s, "switch main", "run now?")
    (text,) = held(s)
    assert text.count("### ") == 4
    lines = [line.data for line in s.workspace.transcripts["main"].read()[0] if line.type == "message"]
    again, prompt = lines[-3:-1]
    assert (again["source"], prompt["text"], prompt["parent"]) == ("brought_back", "now?", again["id"])


@every_row(("section", "numbers", "words"), [
    (2, None, "no section 2: choose from 1 to 1"), (0, None, "no section 0"),
    (1, [5], "section 1 has no message 5: choose from 1 to 4"), (1, [0], "section 1 has no message 0"),
    (1, [], "choose at least one message of section 1"),
])  # fmt: skip
def test_what_is_not_there_is_one_line(section: int, numbers: Any, words: str):
    s = compacted()
    s.bring_back(1, [1])
    refused(words, s.bring_back, section, numbers)
    assert len(s.brought_back.messages) == 1, "what waits already is kept"
    assert s.bring_back(None) is None, "and can be taken away"
    s.run("now?")
    assert sent(s) == ["gamma", "ok", "now?"]
    s.new()
    refused("nothing is offloaded yet", s.bring_back, 1)


def test_what_has_no_room_is_refused():
    model = Phased(profile={"max_input_tokens": 13_000})
    s = Session(model=model, tool_text="full")
    for prompt in ("words " * 4_000, "words " * 4_000, "c", "words " * 4_000, "d"):
        s.run(prompt)
    assert len(s.history()) >= 2
    s.bring_back(1, [2])
    with pytest.raises(DeepnbError, match=r"does not fit: [\d,]+ tokens are left below the trigger: choose fewer"):
        for section in range(1, len(s.history()) + 1):
            s.bring_back(section)
    assert s.brought_back is not None, "what fitted still waits"
    s.run("e")
    assert s.text == "ok"


def test_what_does_not_fit_in_the_end_is_said():
    first = Session(model=Phased()).run("a").budget
    assert first is not None
    model = Phased(profile={"max_input_tokens": int((first.total + 6_000) / 0.85)})
    s = Session(model=model)
    for prompt in ("words " * 4_500, "b", "c"):
        s.run(prompt)
    if not compactions(s):
        s.compact()
    s.bring_back(1, [1])
    s.run("words " * 3_000)
    assert any("the messages added from the history did not fit" in n for n in notices(s))
    assert not held(s)


@every_row("again", [lambda s: s.run("again?"), lambda s: (s.rewind(3), s.run("again?"))], ids=["a prompt", "rewound"])
def test_it_survives_a_turn_that_failed(again: Any):
    s = compacted()
    s.bring_back(1, [1])
    says(s, RuntimeError("down"), "ok")
    refused("down", s.run, "now?")
    again(s)
    assert len(held(s)) == 1 and sent(s)[-1] == "again?" and s.brought_back is None


def test_it_stays_through_an_interrupt_and_through_calls_of_tools():
    s = compacted()
    s.bring_back(1, [1])
    says(s, KeyboardInterrupt(), "ok")
    with pytest.raises(KeyboardInterrupt):
        s.run("now?")
    list(s.resume())
    assert len(held(s)) == 1 and s.brought_back is None
    s = compacted()
    says(s, call("ls", path="/"), "done")
    s.bring_back(1, [1])
    s.run("now?")
    assert [m.type for m in s.options.model.requests[-1][-4:]] == ["human", "human", "ai", "tool"]
    assert sent(s)[-4].startswith("From earlier")


def test_it_is_neither_offloaded_nor_summed_up_again_nor_searched_for_facts():
    model = Refusing(summary="in short", failure=ContextOverflowError("too long"))
    s = compacted(model)
    s.bring_back(1)
    walked(s, "run delta", "run epsilon", "compact")
    assert len(s.history()) == 2
    stored_once(s, ["alpha /a/b.py", "beta", "gamma", "delta"])
    assert "From earlier" not in s.files[HISTORY]
    assert [m.text for m in s.history()[1].items if m.role == "user"] == ["gamma", "delta"]
    assert "From earlier" not in "\n".join(m.text for m in model.summaries[-1])
    assert "From earlier" not in "\n".join(m.text for m in model.flushes[-1])
    assert s.history()[1].offload.messages == 4


def test_a_compaction_in_the_same_turn_leaves_it():
    s = session(Phased(summary="in short"), trigger=("messages", 6), keep=("messages", 1))
    walked(s, "run alpha", "run beta", "run gamma", "run delta")
    assert len(compactions(s)) == 1
    s.run("epsilon")
    s.bring_back(1, [1])
    s.run("now?")
    assert len(compactions(s)) == 2, "the turn it was sent in compacted"
    assert [t.startswith("From earlier") for t in sent(s)] == [True, False] and "alpha" in prompt_text(s.options.model)
