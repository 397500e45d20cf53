"""Functions of the user's as tools: added, replaced and removed, in Python."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.tools import StructuredTool, tool

import deepnb
from deepnb import DeepnbError, Session
from deepnb.workshop.approvals import marked
from tests.support.mcp_servers import session as session  # a fixture
from tests.support.scripted import Scripted, call


def double(x: int) -> int:
    """Double a number."""
    return 2 * x


@deepnb.reads
def look() -> str:
    """Look at something."""
    return "seen"


async def halve(x: int) -> float:
    """Halve a number."""
    await asyncio.sleep(0)
    return x / 2


def results(session: Session, *answers: Any) -> list[str]:
    """What the calls of a turn gave."""
    session.configure(model=Scripted(answers=[*answers, "done"]))
    return [event.result for event in session.run("go").events if isinstance(event, deepnb.ToolEnded)]


def test_functions_are_called_from_the_next_turn_on(session: Session):
    added = session.tools.add(double, look, halve)
    assert added.names == session.tools.names == ("double", "look", "halve") and not added.left_out
    session.configure(approve={"double": "allow", "halve": "allow"})
    assert results(session, call("double", x=4), call("look"), call("halve", x=3)) == ["8", "seen", "1.5"]


def test_what_is_not_marked_needs_approval(session: Session):
    session.tools.add(double, look)
    assert results(session, call("look"), call("double", x=1)) == ["seen"]
    assert [one.name for one in session.asked] == ["double"]
    session.resume(session.asked[0].approve()).close()


def test_a_subagent_has_them(session: Session):
    session.tools.add(look)
    task = call("task", "t", description="look", subagent_type="general-purpose")
    assert "seen" in results(session, task, call("look", "l"), "I looked")


def test_the_same_name_again_replaces_it(session: Session):
    session.tools.add(look, double)

    def again() -> str:
        """Look again."""
        return "seen again"

    again.__name__ = "look"
    session.tools.add(deepnb.reads(again))
    assert session.tools.names == ("double", "look") and results(session, call("look")) == ["seen again"]


def test_langchain_tools(session: Session):
    made = StructuredTool.from_function(double, name="twice")
    assert session.tools.add(made).names == ("twice",)
    assert session.tools.remove("twice") == ("twice",) and session.options.tools == ()


def test_those_given_in_python_are_removed_too():
    with Session(tools=[double, look]) as session:
        session.tools.remove("double")
        assert session.tools.names == ("look",)
        assert "look" in dict(session.workspace.built.tools) and "double" not in dict(session.workspace.built.tools)


def test_the_list(session: Session):
    session.tools.add(double, look)
    table = session.tools.list().set_index("name")
    assert table.loc["double", "calls"] == "ask" and table.loc["look", "calls"] == "allow"
    assert table.loc["ls", "server"] == "" and table.loc["double", "description"] == "Double a number."


def without() -> None: ...


def untyped(x: asyncio.Task) -> None:  # type: ignore[type-arg]
    """Take what no model can send."""


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (without, "the tool without has no docstring: add one"),
        (untyped, "untyped can't be a tool: its parameters have no JSON schema"),
        (7, "tools can't be 7: pass functions with a docstring"),
        ("double", "'double' is not a tool: pass a function"),
        (tool("write_file", description="x")(double), "write_file is one of the agent's own tools"),
        (tool("task", description="x")(double), "task is one of the agent's own tools"),
        (tool("memory_search", description="x")(double), "memory_search is one of the agent's own tools"),
        (tool("run_python", description="x")(double), "run_python is one of the agent's own tools"),
        (tool("zählen", description="x")(double), "'zählen' can't be the name of a tool"),
    ],
)
def test_what_can_not_be_one_is_one_line_and_nothing_is_added(session: Session, given: Any, line: str):
    with pytest.raises(DeepnbError, match=line) as error:
        session.tools.add(look, given)
    assert session.options.tools == () and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nosuch", r"there is no tool or server 'nosuch' to remove \(there are: look\)"),
        ("read_file", "read_file is one of the agent's own tools"),
    ],
)
def test_what_can_not_be_removed(session: Session, name: str, line: str):
    session.tools.add(look)
    with pytest.raises(DeepnbError, match=line):
        session.tools.remove("look", name)
    assert session.tools.names == ("look",)


def test_not_while_a_turn_runs(session: Session):
    said = []

    @deepnb.reads
    def sneak() -> str:
        """Change the tools from inside a tool."""
        for change in (lambda: session.tools.add(double), lambda: session.tools.remove("sneak")):
            try:
                change()
            except DeepnbError as error:
                said.append(error.what)
        return "tried"

    session.tools.add(sneak)
    assert results(session, call("sneak")) == ["tried"]
    assert said == ["a turn is running"] * 2 and session.tools.names == ("sneak",)


@pytest.mark.parametrize("options", [{"name": "x"}, {"timeout": 0}, {"timeout": float("inf")}, {"timeout": "1"}])
def test_options_of_servers_are_checked(session: Session, options: dict[str, Any]):
    with pytest.raises(DeepnbError, match=r"name is for one MCP server|timeout can't be"):
        session.tools.add(double, **options)


def test_what_a_server_claims_is_no_mark():
    claimed = tool("x", description="x")(double)
    claimed.metadata = {"deepnb_effect": "reads", "readOnlyHint": True}
    assert marked(claimed) == "outside"
    assert marked(deepnb.reads(claimed)) == "reads" and marked(deepnb.reads(lambda: 1)) == "reads"


def test_functions_need_no_package_for_servers():
    code = (
        "import sys\nfor name in ('langchain_mcp_adapters', 'mcp'): sys.modules[name] = None\n"
        "from deepnb import DeepnbError, Session\n"
        "def free() -> str:\n    'Free.'\n    return ''\n"
        "s = Session()\ns.tools.add(free)\nprint([t for t, _ in s.workspace.built.tools if t == 'free'])\n"
        "s.tools.remove('free')\n"
        "try:\n    s.tools.add('mcp:true')\nexcept DeepnbError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    lines = ran.stdout.splitlines()
    assert lines[:1] == ["['free']"], ran.stderr
    assert "langchain-mcp-adapters" in lines[1] and "deepnb[mcp]" in lines[1]
