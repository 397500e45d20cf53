"""The teaching model answers from what was brought back, and from anchors beside a summary."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from deepnb.models.teaching.conversation import conversation

EARLIER = "From earlier in this conversation, word for word:\n\n<earlier>\n{}\n</earlier>"
SUMMARY = "Requests so far: 2\n\n<anchors>\nWord for word from the part that was summarized:\n{}\n</anchors>"


def said(request: str, source: str, text: str) -> str:
    before = HumanMessage(text, additional_kwargs={"lc_source": source})
    return str(TeachingModel().invoke([before, AIMessage("ok"), HumanMessage(request)]).content)


def test_brought_back_is_nobodys_request():
    before = HumanMessage(
        EARLIER.format("### user\n\nRemember the milk"), additional_kwargs={"lc_source": "brought_back"}
    )
    assert conversation([HumanMessage("hello"), AIMessage("hi"), before]).request == "hello"


def test_it_answers_from_what_was_brought_back_with_who_said_it():
    text = EARLIER.format(
        "### user\n\nWhat is the deadline of heron?\n\n### assistant\n\nThe heron deadline is 2026-12-15.\nNo more."
    )
    answer = said("When was the deadline of heron?", "brought_back", text)
    assert answer == 'The messages added from the history say:\n- "The heron deadline is 2026-12-15." (assistant)'
    assert "Nothing in my prompt" in said("What is the capital of Peru?", "brought_back", text)


def test_it_answers_from_anchors():
    text = SUMMARY.format(
        "The user said: Never use inches.\nNumbers: timeout 37 ms | disk 9 GB\nPaths: /data/heron.csv"
    )
    answer = said("What is the timeout?", "summarization", text)
    assert answer == 'Beside the summary of the earlier messages it says:\n- "Numbers: timeout 37 ms"'
    assert "Never use inches." in said("Should I use inches?", "summarization", text)


def test_an_old_message_reappears_and_is_answered_from():
    """The whole way: said, compacted until the summary has it no more, not known, brought back, known."""
    s = Session(model="offline", max_input_tokens=20_000)
    s.run("The pump in hall seven hums like Berta.")
    for _ in range(14):
        s.run("thanks")
    s.compact()
    question = "Which pump hums like Berta?"
    assert "hall seven hums" not in s.run(question).text
    s.rewind(15)
    s.bring_back(1, [1])
    assert '"The pump in hall seven hums like Berta." (user)' in s.run(question).text
