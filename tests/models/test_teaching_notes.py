"""The teaching model notes for the day and searches, with the real tools."""

from __future__ import annotations

from deepnb import Session
from deepnb.models.teaching.talk import Use
from deepnb.values.turn import ToolEnded
from tests.support.clock import Clock
from tests.support.tables import every_row
from tests.support.teaching import TOOLS, move

NOTES = TOOLS | {"note", "memory_search", "memory_get"}


@every_row(
    ("request_", "text"),
    [
        ("Note that the deadline is Friday", "the deadline is Friday"),
        ("Please take a note: I prefer short meetings.", "The user prefers short meetings"),
        ("could you note down that Ana owns the data?", "Ana owns the data"),
        ("Add to today's note that the printer hums", "the printer hums"),
        ("请记一下：网关主机是 box-17。", "网关主机是 box-17"),
        ("在今天的笔记里写下：打印机坏了", "打印机坏了"),
    ],
)
def test_what_goes_into_todays_note(request_: str, text: str):
    assert move(request_, tools=NOTES) == Use("note", {"text": text})


@every_row(
    "request_", ["Remember that the deadline is Friday", "记住截止日期是周五", "don't forget that Ana owns the data"]
)
def test_what_is_to_be_remembered_goes_to_the_memory_file(request_: str):
    done = move(request_, tools=NOTES)
    assert isinstance(done, Use) and done.tool == "write_file" and done.args["file_path"] == "/AGENTS.md"


def test_without_the_tool_a_note_goes_to_the_memory_file():
    done = move("Note that the deadline is Friday")
    assert isinstance(done, Use) and done.args["file_path"] == "/AGENTS.md"


@every_row("request_", ["Note that the password is hunter2pass", "记一下：密码是 hunter2pass"])
def test_no_credential_is_noted(request_: str):
    assert isinstance(move(request_, tools=NOTES), str)


@every_row(
    ("request_", "query"),
    [
        ("Search your memory for the gateway host.", "the gateway host"),
        ("search all notes about Parquet", "Parquet"),
        ("What do my daily notes say about the printer?", "the printer"),
        ("搜索你的记忆：网关主机", "网关主机"),
        ("在笔记里找一下打印机", "打印机"),
        ("笔记里关于网关写了什么？", "网关"),
    ],
)
def test_what_is_looked_for(request_: str, query: str):
    assert move(request_, tools=NOTES) == Use("memory_search", {"query": query, "k": 3})


def test_three_days_of_notes_with_the_real_tools():
    clock = Clock("2026-03-02T09:05")
    s = Session(clock=clock)
    assert s.run("Note that the gateway host is box-17.").text == (
        "I noted that in today's note, /memory/2026-03-02.md: the gateway host is box-17"
    )
    assert "That is already in today" in s.run("Note that the gateway host is box-17.").text
    assert "2026-03-02.md：打印机" in s.run("记一下：打印机在三楼").text
    clock.to("2026-03-05T09:05")
    s.new()
    assert s.run("Search your memory for the gateway host").text == (
        '`memory_search` found:\n- "the gateway host is box-17" (/memory/2026-03-02.md:2)'
    )
    assert "/memory/2026-03-02.md:3" in s.run("搜索你的记忆：打印机").text
    assert s.run("Search your memory for zebras").text == 'I searched my memory for "zebras" and found nothing.'
    tools = [e.name for t in s.turns for e in t.events if isinstance(e, ToolEnded)]
    assert tools == ["memory_search"] * 3
