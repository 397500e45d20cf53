"""What a tool says of itself does not depend on the interpreter: 3.13 takes the indentation out of docstrings."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.tools import StructuredTool, tool

from deepnb import Session
from deepnb.testing import ScriptedModel, call

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


@pytest.fixture(params=["function", "coroutine", "decorated", "StructuredTool"])
def given(request):
    function = add_later if request.param == "coroutine" else add
    function.__doc__ = INDENTED
    if request.param == "decorated":
        return tool(function)
    return StructuredTool.from_function(function) if request.param == "StructuredTool" else function


def sent(s: Session, name: str) -> str:
    (piece,) = (p for p in s.xray().request if p.label == name)
    return str(json.loads(piece.text)["function"]["description"])


def test_a_docstring_is_sent_without_its_indentation(given):
    s = Session(model=ScriptedModel(answers=["ok"]), tools=[given])
    s.run("go")
    assert sent(s, getattr(given, "name", None) or given.__name__) == CLEAN


def test_so_is_that_of_a_tool_of_a_subagent(given):
    helper = {"name": "helper", "description": "adds", "system_prompt": "Add.", "tools": [given]}
    task = call("task", description="add", subagent_type="helper")
    s = Session(model=ScriptedModel(answers=[task, "inside", "done"]), subagents=[helper])
    s.run("go")
    (request,) = (c.request for c in s.turns[-1].calls if c.agent == "helper")
    (text,) = (p.text for p in request if p.label in ("add", "add_later"))
    assert json.loads(text)["function"]["description"] == CLEAN


def test_no_tool_of_a_plain_session_has_indented_lines_as_its_code_has():
    s = Session(model=ScriptedModel(answers=["ok"]), namespace={"x": 1})
    s.run("go")
    for piece in s.xray().request:
        if piece.part == "tools":
            lines = json.loads(piece.text)["function"]["description"].split("\n")[1:]
            assert not [line for line in lines if line.strip()] or any(line[:1].strip() for line in lines), piece.label
