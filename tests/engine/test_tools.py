"""What a tool says of itself does not depend on the interpreter: 3.13 takes the indentation out of docstrings."""

import asyncio
import json
from typing import Any

from langchain_core.tools import StructuredTool, tool

from deepnb import Session, ToolEnded
from deepnb.testing import ScriptedModel, call
from deepnb.values import tokenizer
from deepnb.values.request import Sent
from deepnb.wiring.tool_text import SHORT
from tests.bench.first import MOST, first_request
from tests.support.tables import every_row
from tests.support.tokens import o200k

INDENTED = """Add two numbers.

        The sum is exact:
            also of large ones.
        """
CLEAN = "Add two numbers.\n\nThe sum is exact:\n    also of large ones."


def add(a: int, b: int) -> str:
    return str(a + b)


async def add_later(a: int, b: int) -> str:
    await asyncio.sleep(0)
    return str(a + b)


def tools_of(s: Session) -> dict[str, Sent]:
    return {piece.label: piece for piece in s.xray().request if piece.part == "tools"}


def described(piece: Sent) -> str:
    return str(json.loads(piece.text)["function"]["description"])


@every_row("kind", ["function", "coroutine", "decorated", "StructuredTool"])
@every_row("agent", ["", "helper"])
def test_a_docstring_is_sent_without_its_indentation(kind: str, agent: str):
    function: Any = add_later if kind == "coroutine" else add
    function.__doc__ = INDENTED
    made: dict[str, Any] = {"decorated": tool, "StructuredTool": StructuredTool.from_function}
    given = made[kind](function) if kind in made else function
    helper = {"name": "helper", "description": "adds", "system_prompt": "Add.", "tools": [given]}
    task = call("task", description="add", subagent_type="helper")
    s = Session(model=ScriptedModel(answers=[task, "inside", "done"]), subagents=[helper], tools=[given])
    s.run("go")
    request = next(c.request for c in s.turns[-1].calls if c.agent == agent)
    (piece,) = (p for p in request if p.label == function.__name__)
    assert described(piece) == CLEAN


def test_no_tool_of_a_plain_session_has_indented_lines_as_its_code_has():
    s = Session(model=ScriptedModel(answers=["ok"]), namespace={"x": 1})
    s.run("go")
    for piece in tools_of(s).values():
        lines = described(piece).split("\n")[1:]
        assert not [line for line in lines if line.strip()] or any(line[:1].strip() for line in lines), piece.label


WINDOWS: list[tuple[int | None, str | None, str]] = [
    (12_000, None, "short"), (31_999, None, "short"), (32_000, None, "full"), (None, None, "full"),
    (8_000, "full", "full"), (200_000, "short", "short"), (None, "short", "short"),
]  # fmt: skip


def asked(window: int | None, text: Any, **more: Any) -> Session:
    model = ScriptedModel(answers=["ok"], profile={"max_input_tokens": window} if window else None)
    s = Session(model=model, tool_text=text, namespace={"x": 1}, **more)
    s.run("hello")
    return s


@every_row(("window", "text", "expected"), WINDOWS)
def test_the_window_says_how_tools_are_described_unless_it_is_chosen(window, text, expected):
    s = asked(window, text)
    assert ("several files" in tools_of(s)["read_file"].text) == (expected == "full")
    system = "".join(piece.text for piece in s.xray().request if piece.part == "memory")
    assert ("How to write:" in system) == (expected == "full")
    assert "write_file" in system and "edit_file" in system and "password" in system


@every_row(("window", "most"), MOST.values(), ids=MOST)
def test_the_first_request_in_a_notebook_has_at_most_so_many_tokens(window, most):
    o200k("")  # skips where the encoding is not at hand
    assert sum(tokens for _, tokens in first_request(window)) <= most


def test_short_descriptions_have_the_same_parameters_and_arguments_are_checked_as_with_the_full_ones():
    short, full = (tools_of(asked(8_000, text)) for text in ("short", "full"))
    assert short.keys() == full.keys() == SHORT.keys() | {"task"}
    for name, piece in short.items():
        assert tokenizer.count(piece.text) <= tokenizer.count(full[name].text)
        mine, theirs = (json.loads(one.text)["function"]["parameters"] for one in (piece, full[name]))
        assert mine.get("required") == theirs.get("required"), name
        assert list(mine["properties"]) == list(theirs["properties"]), name
        for parameter, schema in theirs["properties"].items():
            kinds = {one.get("type") for one in schema.get("anyOf", [schema])} - {"null"}
            assert mine["properties"][parameter]["type"] in kinds, (name, parameter)
            assert mine["properties"][parameter].get("enum") == schema.get("enum"), (name, parameter)
    calls = [
        call("write_file", file_path="/a.txt", content="one\ntwo\n"),
        call("grep", pattern="two", output_mode="content", path=None),
        call("edit_file", file_path="/a.txt", old_string="two", new_string="three"),
        call("read_file", file_path="/a.txt"), call("grep", pattern="two", output_mode="lines"),
        call("memory_get", path="/AGENTS.md"), call("query_table", table="x"),
    ]  # fmt: skip
    results = []
    for text in ("short", "full"):
        s = Session(model=ScriptedModel(answers=[*calls, "done"]), tool_text=text, namespace={"x": 1})
        s.run("go")
        results.append([e.result for e in s.turns[-1].events if isinstance(e, ToolEnded)])
    assert len(results[0]) == len(calls) and results[0] == results[1]
    assert "2: two" in results[0][1] and "three" in results[0][3] and "output_mode" in results[0][4]


def test_your_own_tools_are_sent_as_you_wrote_them():
    def note_down(text: str) -> str:
        """Note it down.

        Args:
            text: What to note, in a sentence.
        """
        return text

    assert "in a sentence" in tools_of(asked(8_000, None, tools=[note_down]))["note_down"].text


def test_a_subagent_with_a_model_of_its_own_goes_by_its_window():
    large = ScriptedModel(answers=["inside"], profile={"max_input_tokens": 200_000})
    helper = {"name": "helper", "description": "helps", "system_prompt": "Help.", "model": large}
    task = call("task", description="help", subagent_type="helper")
    s = Session(model=ScriptedModel(answers=[task, "done"]), max_input_tokens=12_000, subagents=[helper], namespace={})
    s.run("go")
    mine, theirs = (
        {p.label: described(p) for c in s.turns[-1].calls if c.agent == agent for p in c.request if p.part == "tools"}
        for agent in ("", "helper")
    )
    assert mine["ls"] == SHORT["ls"] and "- helper: helps" in mine["task"]
    assert "List the files of a directory" in theirs["ls"] and "in full" not in theirs["list_variables"]
