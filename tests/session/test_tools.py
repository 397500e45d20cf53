"""Functions of the user's as tools: added, replaced, removed; any signature, any result, in the thread of the cells."""

import asyncio
import functools
import sqlite3
import threading
import traceback
from typing import Any

import pandas as pd
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict

import deepnb
from deepnb import DeepnbError, Session, ToolEnded
from deepnb.engine.functions import in_cells
from tests.support.functions import gives
from tests.support.mcp_servers import session as session  # a fixture
from tests.support.odd_functions import results, signatures
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row


def double(x: int) -> int:
    """Double a number."""
    return 2 * x


look = deepnb.reads(gives("look", "seen"))


async def halve(x: int) -> float:
    """Halve a number."""
    await asyncio.sleep(0)
    return x / 2


def gave(session: Session, *answers: Any) -> list[str]:
    session.configure(model=Scripted(answers=[*answers, "done"]))
    return [event.result for event in session.run("go").events if isinstance(event, deepnb.ToolEnded)]


def test_functions_are_called_from_the_next_turn_on_and_what_is_not_marked_needs_approval(session: Session):
    added = session.tools.add(double, look, halve)
    assert added.names == session.tools.names == ("double", "look", "halve") and not added.left_out
    table = session.tools.list().set_index("name")
    assert table.loc["double", "calls"] == "ask" and table.loc["look", "calls"] == "allow"
    assert session.approvals.words("write_file") == "allow; ask where it can't be undone"
    assert table.loc["ls", "server"] == "" and table.loc["double", "description"] == "Double a number."
    assert gave(session, call("look"), call("double", x=1)) == ["seen"]
    assert [one.name for one in session.asked] == ["double"]
    list(session.resume(session.asked[0].approve()))
    session.configure(approve={"double": "allow", "halve": "allow"})
    assert gave(session, call("double", x=4), call("look"), call("halve", x=3)) == ["8", "seen", "1.5"]


def test_a_subagent_has_them(session: Session):
    session.tools.add(look)
    task = call("task", "t", description="look", subagent_type="general-purpose")
    assert "seen" in gave(session, task, call("look", "l"), "I looked")


def test_the_same_name_again_replaces_it_and_any_is_removed():
    with Session(tools=[look, double]) as session:
        session.tools.add(deepnb.reads(gives("look", "seen again")), StructuredTool.from_function(double, name="twice"))
        assert session.tools.names == ("double", "look", "twice")
        assert gave(session, call("look")) == ["seen again"]
        assert session.tools.remove("double", "twice") == ("double", "twice") and session.tools.names == ("look",)
        assert "look" in dict(session.workspace.built.tools) and "double" not in dict(session.workspace.built.tools)


OWN = ("write_file", "task", "memory_search", "run_python")


def without() -> None: ...


def untyped(x: asyncio.Task) -> None:  # type: ignore[type-arg]
    """Take what no model can send."""


class Late(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    x: asyncio.Task  # type: ignore[type-arg]


@every_row(("given", "line"), [
    (without, "the tool without has no docstring: add one"),
    (untyped, "untyped can't be a tool: its parameters have no JSON schema"),
    (StructuredTool.from_function(coroutine=halve, name="late", args_schema=Late), "late can't be a tool: its param"),
    (7, "tools can't be 7: pass functions with a docstring"), ("double", "'double' is not a tool: pass a function"),
    *((tool(name, description="x")(double), f"{name} is one of the agent's own tools") for name in OWN),
    (tool("zählen", description="x")(double), "'zählen' can't be the name of a tool"),
])  # fmt: skip
def test_what_can_not_be_one_is_one_line_and_nothing_is_added(session: Session, given: Any, line: str):
    refused(line, session.tools.add, look, given)
    assert session.options.tools == ()


@every_row(("name", "line"), [
    ("nosuch", r"there is no tool or server 'nosuch' to remove \(there are: look\)"),
    ("read_file", "read_file is one of the agent's own tools"),
])  # fmt: skip
def test_what_can_not_be_removed(session: Session, name: str, line: str):
    session.tools.add(look)
    refused(line, session.tools.remove, "look", name)
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
    assert gave(session, call("sneak")) == ["tried"]
    assert said == ["a turn is running"] * 2 and session.tools.names == ("sneak",)


@every_row("options", [{"name": "x"}, {"timeout": 0}, {"timeout": float("inf")}, {"timeout": "1"}])
def test_options_of_servers_are_checked(session: Session, options: dict[str, Any]):
    refused(r"name is for one MCP server|timeout can't be", session.tools.add, double, **options)


def played(function: Any, name: str, /, **arguments: Any) -> tuple[str, Any]:
    model = Scripted(answers=[call(name, **arguments), "done"])
    with Session(model=model, tools=[function], approve={name: "allow"}) as session:
        turn = session.run("go")
        told = [m.text for m in model.requests[-1] if m.type == "tool"] if len(model.requests) > 1 else []
        ended = [event.result for event in turn.events if isinstance(event, ToolEnded)]
        return (told or ended)[-1], turn


@pytest.mark.slow
def test_every_signature_works_or_is_refused_when_it_is_added_with_what_to_write():
    wrong, works, cases = [], 0, list(signatures())
    for function, sent, expected in cases:
        name = function.__name__
        try:
            with Session() as session:
                session.tools.add(function)
            got, _ = played(function, name, **sent)
        except DeepnbError as error:
            if expected is not None or name not in error.what or not error.do:
                wrong.append(f"{function}: {error}")
        except Exception:
            wrong.append(f"{function}: {traceback.format_exc(limit=-2)}")
        else:
            works += got == expected
            if got != expected:
                wrong.append(f"{function}{sent}: {got!r} is not {expected!r}")
    assert len(cases) >= 40 and works >= 30 and not wrong, f"{works} of {len(cases)} work\n" + "\n".join(wrong)


def test_a_refusal_is_the_same_at_both_doors_and_names_the_parameter():
    def unknown(day: "Missing", n: int) -> int:  # type: ignore[name-defined]  # noqa: F821
        """Take a day."""
        return n

    def framed(n: int, frame: pd.DataFrame) -> int:
        """Take a table."""
        return n

    for function, words in ((unknown, "Missing"), (framed, "frame")):
        with pytest.raises(DeepnbError, match=words) as one, Session() as session:
            session.tools.add(function)
        with pytest.raises(DeepnbError, match=words) as other, Session(tools=[function]) as session:
            session.run("go")
        assert str(one.value) == str(other.value) and function.__name__ in str(one.value)


def test_a_result_of_any_type_reaches_the_model_and_the_turn_goes_on():
    wrong = []
    for function, words in results():
        try:
            got, turn = played(function, function.__name__)
        except BaseException:
            wrong.append(f"{function.__name__}: {traceback.format_exc(limit=-2)}")
            continue
        if words not in got or turn.text != "done" or len(got) > 40_000:
            wrong.append(f"{function.__name__}: {got[:200]!r} has no {words!r}; {turn.text!r}")
    assert not wrong, "\n".join(wrong)


class Rows(BaseTool):
    name: str = "rows"
    description: str = "Run SQL."
    connection: Any = None

    def _run(self, sql: str) -> str:
        return str(self.connection.execute(sql).fetchall())


def test_functions_run_in_the_thread_of_the_cells_however_they_were_made():
    connection = sqlite3.connect(":memory:")
    here = threading.get_ident()

    def query(sql: str) -> Any:
        """Run SQL."""
        assert threading.get_ident() == here
        return connection.execute(sql).fetchall()

    for made in (query, functools.lru_cache(query), tool(query), Rows(name="query", connection=connection)):
        assert "1" in played(made, "query", sql="select 1")[0], made

    async def elsewhere() -> bool:
        """Say where."""
        return threading.get_ident() != here

    assert played(elsewhere, "elsewhere")[0] == "true"


def test_a_function_may_call_another_tool_of_the_notebook():
    @tool
    def inner(n: int) -> int:
        """Add one."""
        return n + 1

    def outer(n: int) -> Any:
        """Add two."""
        return in_cells(inner).invoke({"n": n}) + 1

    assert played(outer, "outer", n=1)[0] == "3"


def test_what_a_langchain_tool_can_not_be_given_is_refused_when_it_is_added():
    @tool
    def load(config: str) -> str:
        """Load."""
        return config

    @tool
    def total(*xs: int) -> int:
        """Sum."""
        return sum(xs)

    for one in (load, total):
        with pytest.raises(DeepnbError, match=f"{one.name} .*pass the function"), Session() as session:
            session.tools.add(one)


@tool(response_format="content_and_artifact")
def table(n: int) -> tuple[str, Any]:
    """Rows."""
    return "one row", pd.DataFrame({"a": [n]})


def test_what_can_not_be_stored_is_left_out_or_an_error_of_the_tool():
    model = Scripted(answers=[call("table", n=1), "done"])
    with Session(model=model, tools=[table], approve={"table": "allow"}) as session:
        turn = session.run("go")
        assert turn.text == "done" and "one row" in str(model.requests[-1])
        (line,) = [event.text for event in turn.events if type(event).__name__ == "Notice"]
        assert "table" in line and "DataFrame" in line and "is left out" in line
        assert session.run("again").text == "done"

    def update(n: int) -> Any:
        """Change the state."""
        message = ToolMessage("updated", tool_call_id="c1")
        return Command(update={"messages": [message], "structured_response": pd.DataFrame()})

    told, turn = played(update, "update", n=1)
    assert turn.text == "done" and turn.error is None and "can't be stored" in told


def test_what_is_returned_directly_is_the_answer():
    @tool(return_direct=True)
    def direct(n: int) -> str:
        """Direct."""
        return "forty-two"

    told, turn = played(direct, "direct", n=1)
    assert told == turn.text == "forty-two"
