"""Bringing offloaded messages back: what the model is sent, how often, and what becomes of it."""

from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError

from deepnb import Session
from deepnb.engine.request import is_request
from deepnb.values.errors import DeepnbError
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
from tests.support.refusals import refused
from tests.support.scripted import call
from tests.support.tables import every_row
from tests.support.walks import walked


def compacted(model: Phased, **options: Any) -> Session:
    """A session whose first section holds: alpha, an answer at length, beta, ok."""
    model.answers = [AT_LENGTH, *model.answers]
    s = Session(model=model, **options)
    walked(s, "run alpha /a/b.py", "run beta", "run gamma")
    s.compact()
    return s


def sent(model: Phased) -> list[str]:
    return [m.text for m in model.requests[-1][2:]]


def held(texts: list[str]) -> list[str]:
    return [t for t in texts if t.startswith("From earlier")]


def test_chosen_messages_stand_before_the_next_prompt_word_for_word_once():
    model = Phased()
    s = compacted(model)
    brought = s.bring_back(1, [3, 1])
    expected = [(1, "user", "alpha /a/b.py"), (3, "user", "beta")]
    assert [(m.number, m.role, m.text) for _, m in brought.messages] == expected
    s.run("now?")
    text = "From earlier in this conversation, word for word:\n\n<earlier>\n### user\n\nalpha /a/b.py\n\n### user\n\nbeta\n</earlier>"
    assert sent(model) == ["gamma", "ok", text, "now?"]
    message = model.requests[-1][-2]
    assert message.additional_kwargs == {"lc_source": "brought_back"} and not is_request(message)
    assert s.brought_back is None
    assert notices(s) == [f"added to this prompt: messages 1, 3 of section 1 (~{brought.tokens} tokens)"]
    (counted,) = [piece.tokens for piece in s.xray().request if piece.text == text]
    assert counted == brought.tokens
    s.run("and now?")
    assert held(sent(model)) == [text], "it stays where it stood, and is not sent twice"
    assert notices(s) == []


def test_what_is_chosen_piece_by_piece_is_one_message_in_order_in_its_own_thread():
    model = Phased()
    s = compacted(model)
    s.bring_back(1, [3])
    s.bring_back(1, [1, 3])
    assert s.brought_back.line.startswith("messages 1, 3 of section 1 (")
    s.bring_back(1)
    assert s.brought_back.line.startswith("messages 1-4 of section 1 (")
    walked(s, "new other", "run hello")
    assert not held([m.text for m in model.requests[-1]])
    walked(s, "switch main", "run now?")
    (text,) = held(sent(model))
    assert text.count("### ") == 4
    lines = [line.data for line in s.workspace.transcripts["main"].read()[0] if line.type == "message"]
    brought, prompt = lines[-3:-1]
    assert (brought["source"], prompt["text"], prompt["parent"]) == ("brought_back", "now?", brought["id"])


@every_row(("section", "numbers", "words"), [
    (2, None, "no section 2: choose from 1 to 1"), (0, None, "no section 0"),
    (1, [5], "section 1 has no message 5: choose from 1 to 4"), (1, [0], "section 1 has no message 0"),
    (1, [], "choose at least one message of section 1"),
])  # fmt: skip
def test_what_is_not_there_is_one_line(section: int, numbers: Any, words: str):
    model = Phased()
    s = compacted(model)
    s.bring_back(1, [1])
    refused(words, s.bring_back, section, numbers)
    assert len(s.brought_back.messages) == 1, "what waits already is kept"
    assert s.bring_back(None) is None, "and can be taken away"
    s.run("now?")
    assert sent(model) == ["gamma", "ok", "now?"]
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
    assert not held(sent(model))


@every_row("again", [lambda s: s.run("again?"), lambda s: (s.rewind(3), s.run("again?"))], ids=["a prompt", "rewound"])
def test_it_survives_a_turn_that_failed(again: Any):
    model = Phased()
    s = compacted(model)
    s.bring_back(1, [1])
    model.answers = [*["ok"] * len(model.requests), RuntimeError("down"), "ok"]
    refused("down", s.run, "now?")
    again(s)
    assert len(held(sent(model))) == 1 and sent(model)[-1] == "again?" and s.brought_back is None


def test_it_stays_through_an_interrupt_and_through_calls_of_tools():
    model = Phased()
    s = compacted(model)
    s.bring_back(1, [1])
    model.answers = [*["ok"] * len(model.requests), KeyboardInterrupt(), "ok"]
    with pytest.raises(KeyboardInterrupt):
        s.run("now?")
    list(s.resume())
    assert len(held(sent(model))) == 1 and s.brought_back is None
    model = Phased()
    s = compacted(model)
    model.answers = [*["ok"] * len(model.requests), call("ls", path="/"), "done"]
    s.bring_back(1, [1])
    s.run("now?")
    assert [m.type for m in model.requests[-1][-4:]] == ["human", "human", "ai", "tool"]
    assert held([m.text for m in model.requests[-1][-4:]])


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
    model = Phased(summary="in short")
    s = session(model, trigger=("messages", 6), keep=("messages", 1))
    walked(s, "run alpha", "run beta", "run gamma")
    s.run("delta")
    assert len(compactions(s)) == 1
    s.run("epsilon")
    s.bring_back(1, [1])
    s.run("now?")
    assert len(compactions(s)) == 2, "the turn it was sent in compacted"
    assert [t.startswith("From earlier") for t in sent(model)] == [True, False] and "alpha" in prompt_text(model)
