"""Conversations as `{"messages": [...]}`."""

import json

import pytest

from deepnb.values.errors import NotFoundError
from deepnb.values.turn import ToolEnded, ToolStarted
from deepnb.wings.open.opening import list_sessions, open_session
from tests.support.tables import every_row
from tests.wings.open.session_files import jsonl, of_kind, turns

CALL = {"id": "c1", "type": "function", "function": {"name": "calc", "arguments": '{"x":"2+2"}'}}
MESSAGES = [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "4"}, {"role": "assistant", "content": "4"},
]  # fmt: skip
OLD = [
    *MESSAGES[:2],
    {"role": "assistant", "content": None, "function_call": CALL["function"]},
    {"role": "function", "name": "calc", "content": "4"},
    MESSAGES[-1],
]


def check(session):
    index, content = session.index, session.content(1)
    assert (turns(index), index.turns[0].tools) == ([("2+2?", 2)], {"calc": 1})
    assert (index.context, index.system_prompt) == (None, "Be brief.")
    assert (content.prompt, content.text) == ("2+2?", "4")
    assert of_kind(session, ToolStarted, "name", "args") == [("calc", {"x": "2+2"})]
    assert of_kind(session, ToolEnded, "result") == ["4"]
    assert index.turns[0].calls[0].budget.parts["system"] == 3


@every_row("value", [{"messages": MESSAGES}, MESSAGES, {"messages": OLD}])
@every_row("indent", [None, 2])
def test_one_value_in_a_file(tmp_path, value, indent):
    (tmp_path / "a.json").write_text(json.dumps(value, indent=indent))
    check(open_session(tmp_path / "a.json"))


def test_several_conversations(tmp_path):
    other = {"messages": [{"role": "user", "content": "Another"}, {"role": "assistant", "content": "Yes."}]}
    file = jsonl(tmp_path / "a.jsonl", {"messages": MESSAGES}, b"broken", other)
    first = open_session(file)
    check(first)
    assert (first.index.bad, first.index.notices[-1]) == (1, "the file has 2 conversations: this is 1")
    assert [(row.id, row.prompt) for row in list_sessions(file)] == [("1", "2+2?"), ("2", "Another")]
    assert open_session(file, "2").index.turns[0].prompt == "Another"
    with pytest.raises(NotFoundError, match="conversations 1 to 2"):
        open_session(file, "3")


def test_arguments_that_are_no_json(tmp_path):
    call = {"id": "c1", "function": {"name": "calc", "arguments": "2+2"}}
    asked = {"role": "assistant", "content": "x", "tool_calls": [call]}
    session = open_session(jsonl(tmp_path / "a.jsonl", {"messages": [MESSAGES[1], asked]}))
    assert of_kind(session, ToolStarted, "args") == [{"arguments": "2+2"}]
