"""The teaching model as any chat model is used: streamed, invoked, counted."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from deepnb.models.teaching import TeachingModel
from deepnb.models.teaching.conversation import conversation
from deepnb.models.teaching.memory import edit, parse
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import Use, plan
from deepnb.values.tokenizer import count, tokens
from tests.support.tables import every_row


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"Updated file {file_path}"


@tool
def ls(path: str) -> str:
    """List a folder."""
    return "[]"


BOUND = [write_file, ls]
TALKS = [
    [HumanMessage("who are you?")],
    [SystemMessage("Be kind."), HumanMessage("记住我喜欢用制表符")],
    [HumanMessage("Remember that I use vim"), AIMessage("Sure."), HumanMessage("list files in /notes")],
    [HumanMessage("list files"), AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": "a"}]),
     ToolMessage("['/a.md']", tool_call_id="a")],
]  # fmt: skip


def plain(message: AIMessage) -> dict[str, Any]:
    kept = ("content", "tool_calls", "usage_metadata", "invalid_tool_calls")
    return {k: getattr(message, k) for k in kept}


@every_row("talk", TALKS)
def test_the_chunks_joined_are_the_message(talk: list[Any]) -> None:
    model = TeachingModel().bind_tools(BOUND)
    chunks = list(model.stream(talk))
    whole: Any = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert isinstance(whole, AIMessageChunk) and plain(whole) == plain(model.invoke(talk))
    assert len(chunks) > 3


def test_asked_in_a_loop_it_says_the_same_and_only_the_last_chunk_has_usage() -> None:
    talk = [HumanMessage("list files")]
    model = TeachingModel().bind_tools(BOUND)
    assert plain(asyncio.run(model.ainvoke(talk))) == plain(model.invoke(talk))
    chunks = list(TeachingModel().stream("hello"))
    assert len([c for c in chunks if c.usage_metadata]) == 1
    assert [c.content for c in chunks if c.content] == tokens("".join(str(c.content) for c in chunks))
    assert TeachingModel().profile == TeachingModel(window=8000).profile
    profile = TeachingModel(window=1234).profile
    assert profile is not None and (profile["max_input_tokens"], profile["tool_calling"]) == (1234, True)


def test_an_id_depends_on_the_calls_before_it() -> None:
    """Else a thread that comes back to the same text after a compaction would use an id twice."""

    def id_after(earlier: str) -> str:
        call = AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": earlier}])
        talk = [call, ToolMessage("[]", tool_call_id=earlier), HumanMessage("list files")]
        return str(TeachingModel().bind_tools(BOUND).invoke(talk).tool_calls[0]["id"])

    assert id_after("a") == id_after("a") != id_after("b")


def test_an_interrupt_while_streaming_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deepnb.models.teaching.model.time.sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        TeachingModel(delay=0.01).invoke("hello")


# -- laws: whatever is asked, there is an answer; tokens are the text; an edit leads where it should


TOOLS = (
    *("ls", "read_file", "write_file", "edit_file", "task"),
    *("list_variables", "inspect_variable", "query_table", "run_python", "propose_cell"),
)
WORDS_TEXT = """
remember that forget I prefer my tabs over spaces what do you know list files read write a file /x.md with: make to-do
list: , ; use the skill `planets` highest gravity dataframe columns summarize our conversation ask subagent to who are ?
! . 记住 忘记 我喜欢 制表符 列出文件 待办清单： 数据 最高 <messages> </messages> extract <agent_memory> </agent_memory>
<memory_guidelines> </memory_guidelines> - # ( ) password= plot units by regoin cell @@ --- +++
"""
TABLE = "t: DataFrame, 2 rows x 2 columns\ncolumn | type | non-null | summary\nregion | str | 2 | 2 distinct: a, b"
PHRASES = (
    *(
        "\n", "> 5", "between 3 and 4", "variable totals", "with pandas", "top 3", TABLE, "[variables: new: t]",
        "a    3",
    ),
    *("units | int64 | 2 | min 1 (a), mean 2, max 3 (b)", "first rows:\nregion,units\na,1", "dtype: int64"),
    "Error: KeyError: 'regoin'",
)  # fmt: skip
WORDS = [*WORDS_TEXT.split(), *PHRASES]
TEXT = st.text() | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
CALL = st.builds(
    lambda name, args, i: {"name": name, "args": args, "id": f"c{i}"},
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(("file_path", "path", "content", "name")), TEXT | st.integers() | st.none()),
    st.integers(0, 3),
)
SOURCE = st.sampled_from(({}, {}, {"lc_source": "memory_update"}, {"lc_source": "summarization"}))
MESSAGE = (
    st.builds(lambda t, s: HumanMessage(t, additional_kwargs=s), TEXT, SOURCE)
    | st.builds(lambda t, c: AIMessage(t, tool_calls=c), TEXT, st.lists(CALL, max_size=3))
    | st.builds(lambda t, i: ToolMessage(t, tool_call_id=f"c{i}"), TEXT, st.integers(0, 3))
    | st.builds(SystemMessage, TEXT)
)


@given(st.lists(MESSAGE, max_size=8), st.frozensets(st.sampled_from(TOOLS)))
def test_there_is_always_an_answer_or_a_bound_call(messages: list[BaseMessage], bound: frozenset[str]) -> None:
    move = plan(conversation(messages, {name: {} for name in bound}), INTENTS)
    if isinstance(move, Use):
        assert move.tool in bound
    else:
        assert isinstance(move, str) and move


@tool
def read_file(file_path: str, limit: int = 0, offset: int = 0) -> str:
    """Read."""
    return ""


@given(TEXT)
def test_any_text_is_answered_by_the_model_with_exact_output(text: str) -> None:
    answer = TeachingModel().bind_tools([read_file]).invoke([HumanMessage(text)])
    assert answer.content or answer.tool_calls
    if not answer.tool_calls:
        assert answer.usage_metadata["output_tokens"] == count(str(answer.content))  # type: ignore[index]


@given(st.text() | TEXT)
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text and count(text) == len(tokens(text))


LINES = st.lists(st.sampled_from(("- a", "- b", "- ab", "", "a", "- a - a")), max_size=7)


@given(LINES, LINES)
def test_an_edit_put_into_the_text_gives_the_other(before: list[str], after: list[str]) -> None:
    change = edit(before, after)
    text = "\n".join(before)
    if change is None:
        assert not text.strip("\n")
        return
    old, new = change
    assert text.find(old) == text.rfind(old) >= 0 and text.replace(old, new) == "\n".join(after)


@given(st.lists(st.text(alphabet="ab- \t@"), min_size=1, max_size=5))
def test_a_read_result_gives_back_the_lines_under_its_header(lines: list[str]) -> None:
    assert parse(f"@@ lines 1-{len(lines)} of 900 | next offset 77 @@\n" + "\n".join(lines)) == (lines, 77)
