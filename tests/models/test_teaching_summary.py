"""Summaries by rule, asked for with the engine's own prompts."""

from __future__ import annotations

from deepagents.middleware.summarization import DEEPAGENTS_DEFAULT_SUMMARY_PROMPT
from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, get_buffer_string

from deepnb.models.teaching.conversation import conversation
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import Use, plan
from deepnb.values.tokenizer import count
from tests.support.tables import every_row

PATH = "/AGENTS.md"


def said(request: str) -> str:
    done = plan(conversation([HumanMessage(request)]), INTENTS)
    assert isinstance(done, str), done
    return done


def summary_of(messages: list[BaseMessage], prompt: str = DEFAULT_SUMMARY_PROMPT) -> str:
    return said(prompt.format(messages=get_buffer_string(messages, format="xml")).rstrip())


TALK = [
    HumanMessage("Remember that I prefer tabs over spaces & <b>"),
    AIMessage("", tool_calls=[{"name": "write_file", "args": {"file_path": PATH, "content": "x"}, "id": "c1"}]),
    ToolMessage("Updated file /AGENTS.md", tool_call_id="c1"),
    AIMessage("Done."),
    HumanMessage("Never delete /data.csv"),
    AIMessage("", tool_calls=[{"name": "read_file", "args": {"file_path": "/data.csv"}, "id": "c2"}]),
    ToolMessage("1,2", tool_call_id="c2"),
]


@every_row("prompt", [DEFAULT_SUMMARY_PROMPT, DEEPAGENTS_DEFAULT_SUMMARY_PROMPT])
def test_the_engines_summary_prompt_is_recognised(prompt: str) -> None:
    assert summary_of(TALK, prompt) == (
        "Requests so far: 2\n"
        "Request in progress: Never delete /data.csv\n"
        "Asked to remember, and rules:\n- I prefer tabs over spaces & <b>\n- Never delete /data.csv\n"
        "Last requests:\n* Remember that I prefer tabs over spaces & <b>\n* Never delete /data.csv\n"
        "Files written: /AGENTS.md\nFiles read: /data.csv"
    )


def test_summing_up_a_summary_loses_no_count_and_no_fact() -> None:
    first = summary_of(TALK)
    again = [HumanMessage(f"Here is a summary:\n\n{first}"), AIMessage("ok"), HumanMessage("hello")]
    second = summary_of(again)
    assert "Requests so far: 3" in second
    assert "I prefer tabs over spaces & <b>" in second
    assert "Files read: /data.csv" in second


def test_a_long_thread_gives_a_short_summary() -> None:
    talk: list[BaseMessage] = [HumanMessage(f"Remember that number {i} is {'very ' * 40}important") for i in range(200)]
    text = summary_of(talk)
    assert count(text) < 250
    assert "Requests so far: 200" in text


def test_a_long_chinese_thread_does_too() -> None:
    talk: list[BaseMessage] = [HumanMessage(f"记住第{i}条：" + "很长的一句话" * 40) for i in range(50)]
    assert count(summary_of(talk)) <= 250


def test_a_credential_does_not_enter_a_summary() -> None:
    talk: list[BaseMessage] = [HumanMessage("my password is hunter2")]
    assert "hunter2" not in summary_of(talk)


def test_a_request_that_was_summarized_away_goes_on() -> None:
    note = HumanMessage(
        "<summary>\nRequests so far: 1\nRequest in progress: list files\n</summary>",
        additional_kwargs={"lc_source": "summarization"},
    )
    assert plan(conversation([note], ["ls"]), INTENTS) == Use("ls", {"path": "/"})
