"""Calls and thinking in the text of an answer."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.answers import SpokenText, calls_in, split_thinking, stands_in
from tests.data import table, texts
from tests.support.tables import every_row

NOTE = {"text": "likes tea"}
OFFERED: dict[str, Any] = {
    "note": lambda: {"text": "string"},
    "list_variables": dict,
    "read_file": lambda: {"file_path": "string", "offset": "integer"},
}
OBJECT = '{"name": "note", "arguments": {"text": "likes tea"}}'
WRITTEN = dict(table("answers")["calls"])


@every_row("text", WRITTEN.values(), ids=WRITTEN)
def test_a_text_that_is_nothing_but_a_call_is_read_in_each_form(text):
    assert calls_in(text, OFFERED) == [("note", NOTE)]
    for size in (1, 3, 7):
        spoken = SpokenText(OFFERED)
        assert [*streamed(spoken, text, size)] == [], "a part of it is shown"
        assert spoken.end() == text


def test_several_calls_and_arguments_in_tags_are_read():
    two = f'<tool_call>{OBJECT}</tool_call>\n<tool_call>{{"name": "list_variables", "arguments": {{}}}}</tool_call>'
    assert calls_in(two, OFFERED) == [("note", NOTE), ("list_variables", {})]
    tags = "<function=read_file><parameter=file_path>5</parameter><parameter=offset>5</parameter></function>"
    assert calls_in(tags, OFFERED) == [("read_file", {"file_path": "5", "offset": 5})]


@every_row("text", [*texts("answers")["texts"], ""])
def test_any_other_text_is_the_answer_and_is_shown_whole(text):
    assert calls_in(text, OFFERED) == calls_in(OBJECT, {}) == []
    spoken = SpokenText(OFFERED)
    assert "".join(piece for _, piece in streamed(spoken, text, 1)) + spoken.end() == text


@every_row("text", ['{"b', "[1", "```python\n", "The", "| a", "<b>", '{"name": "Bo', "note that", "listen", "`x"])
def test_what_can_be_no_call_is_shown_as_it_comes(text):
    assert [*streamed(SpokenText(OFFERED), text, 1)]


@given(st.text(alphabet="<>/think{}[]`\n \"':nameote(arg)|", max_size=60), st.integers(1, 9))
def test_streaming_loses_and_changes_nothing(text, size):
    spoken = SpokenText(OFFERED)
    pieces = [*streamed(spoken, text, size)]
    shown = "".join(piece for thought, piece in pieces if not thought) + spoken.end()
    if not text.lstrip().startswith("<think>"):
        assert shown == text
    for _ in calls_in(text, OFFERED):
        assert not any(not thought for thought, _ in pieces)


@every_row("text, thought, rest", [
    ("<think>hm</think>\n\nHi", "hm", "Hi"), ("<thinking>\nhm\n</thinking>Hi", "hm", "Hi"),
    ("hm\nso\n</think>\n\nHi", "hm\nso", "Hi"), ("<think>hm", "hm", ""),
    ("Close it with </think>.", "", "Close it with </think>."), ("Hi <think>hm</think>", "", "Hi <think>hm</think>"),
])  # fmt: skip
def test_thinking_in_tags_is_told_apart(text, thought, rest):
    assert split_thinking(text) == (thought, rest)


def test_thinking_is_streamed_as_thinking():
    spoken = SpokenText(OFFERED)
    pieces = [*streamed(spoken, f"<think>a </th b</think>\n\n{OBJECT}", 1)]
    assert ("".join(piece for _, piece in pieces), {thought for thought, _ in pieces}) == ("a </th b", {True})
    assert spoken.end() == OBJECT


@every_row("text", [text for form, text in WRITTEN.items() if "position" not in form])
def test_a_call_that_is_written_down_is_found_in_each_form(text):
    assert stands_in(("note", NOTE), ["other", text])


def test_a_call_is_found_inside_of_json_and_not_in_prose():
    assert stands_in(("note", NOTE), [json.dumps({"stdout": OBJECT})])
    assert stands_in(("list_variables", {}), ["call list_variables() now"])
    assert not stands_in(("note", NOTE), ["Please note that she likes tea", "text: likes tea", "Use note."])
    assert not stands_in(("list_variables", {}), ["Look with list_variables."])


def streamed(spoken, text, size):
    for at in range(0, len(text), size):
        yield from spoken.add(text[at : at + size])
