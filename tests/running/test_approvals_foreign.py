"""What asks by LangGraph's own `interrupt` and is no approval: one line says so, and the thread can be left."""

from __future__ import annotations

import pytest
from langgraph.types import interrupt

import deepnb
from deepnb.values.errors import DeepnbError
from tests.support.scripted import Scripted, call, unasked


def ask_user(question: str) -> str:
    """Ask the user a question."""
    return str(interrupt({"question": question}))


def asking(*after: object) -> deepnb.Session:
    answers = [call("ask_user", question="which hall?"), *after]
    return deepnb.Session(model=Scripted(answers=answers), **unasked(ask_user))


def test_a_tool_that_interrupts_ends_the_turn_in_one_line():
    session = asking("done")
    with pytest.raises(DeepnbError) as told:
        session.run("go")
    line = str(told.value)
    assert "interrupt({'question': 'which hall?'}), and a session can't answer it" in line
    assert "session.run(PROMPT) continues without it" in line and "\n" not in line
    assert session.last is not None and "can't answer it" in (session.last.error or "")
    assert session.asked == ()


def test_the_next_prompt_goes_on_without_it():
    session = asking("well then")
    with pytest.raises(DeepnbError):
        session.run("go")
    assert session.run("never mind").text == "well then"
    assert session.pending is None


def test_to_resume_says_the_same_and_rewind_takes_it_back():
    session = asking("done")
    with pytest.raises(DeepnbError):
        session.run("go")
    with pytest.raises(DeepnbError, match="can't answer it"):
        list(session.resume())
    session.rewind(0)
    assert session.turns == () or list(session.turns) == []
    assert session.run("anew").text == "done"


def test_what_a_question_holds_is_one_short_line_without_credentials():
    key = "sk-proj-" + "a1B2" * 12
    session = deepnb.Session(
        model=Scripted(answers=[call("ask_user", question=f"line\nwith {key} " + "x" * 500)]), **unasked(ask_user)
    )
    with pytest.raises(DeepnbError) as told:
        session.run("go")
    assert "\n" not in str(told.value) and key not in str(told.value) and len(str(told.value)) < 400


def test_a_subagent_with_interrupt_on_is_refused_with_what_to_give_instead():
    critic = {
        "name": "critic",
        "description": "Finds faults",
        "system_prompt": "Be strict.",
        "interrupt_on": {"ls": True},
    }
    with pytest.raises(DeepnbError, match=r"interrupt_on, which a session can't answer: .*approve="):
        deepnb.Session(model=Scripted(answers=["hi"]), subagents=[critic]).run("go")
