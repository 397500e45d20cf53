"""Functions of the notebook as tools: any signature, any result, in the thread of the cells; and what ends an allowance."""

from __future__ import annotations

import functools
import sqlite3
import threading
import traceback
from types import FunctionType
from typing import Any

import pandas as pd
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command

from deepnb import DeepnbError, Session, ToolEnded
from deepnb.engine.functions import in_cells
from tests.support.odd_functions import results, signatures
from tests.support.scripted import Scripted, call


def played(function: Any, name: str, /, **arguments: Any) -> tuple[str, Any]:
    """Return what a model is told of a call, and the turn."""
    model = Scripted(answers=[call(name, **arguments), "done"])
    with Session(model=model, tools=[function], approve={name: "allow"}) as session:
        turn = session.run("go")
        told = [m.text for m in model.requests[-1] if m.type == "tool"] if len(model.requests) > 1 else []
        ended = [event.result for event in turn.events if isinstance(event, ToolEnded)]
        return (told or ended)[-1], turn


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
            continue
        except Exception:
            wrong.append(f"{function}: {traceback.format_exc(limit=-2)}")
            continue
        works += got == expected
        if got != expected:
            wrong.append(f"{function}{sent}: {got!r} is not {expected!r}")
    assert len(cases) >= 40 and works >= 30 and not wrong, f"{works} of {len(cases)} work\n" + "\n".join(wrong)


def test_a_refusal_is_the_same_at_both_doors_and_names_the_parameter():
    def unknown(day: Missing, n: int) -> int:  # type: ignore[name-defined]  # noqa: F821
        """Take a day."""
        return n

    def table(n: int, frame: pd.DataFrame) -> int:
        """Take a table."""
        return n

    for function, words in ((unknown, "Missing"), (table, "frame")):
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
    """A tool as a class."""

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


def test_an_artifact_that_can_not_be_stored_is_kept_in_the_kernel_and_the_turn_goes_on():
    model = Scripted(answers=[call("table", n=1), "done"])
    with Session(model=model, tools=[table], approve={"table": "allow"}) as session:
        turn = session.run("go")
        assert turn.text == "done" and "one row" in str(model.requests[-1])
        (line,) = [event.text for event in turn.events if type(event).__name__ == "Notice"]
        assert "table" in line and "DataFrame" in line and "session.tools.artifacts" in line
        (kept,) = session.tools.artifacts.values()
        assert kept.equals(pd.DataFrame({"a": [1]}))
        assert session.run("again").text == "done"


def test_an_update_that_can_not_be_stored_is_an_error_of_the_tool():
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


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def other_pay(amount: int) -> str:
    """Pay."""
    return f"paid {2 * amount}"


other_pay.__name__ = "pay"


@pytest.mark.parametrize("how", ["redefined", "removed", "configured"])
@pytest.mark.parametrize("allowed", ["always", "in the thread"])
def test_an_allowance_ends_with_its_function(how: str, allowed: str):
    with Session(model=Scripted(answers=[call("pay", amount=1), "done"]), tools=[pay]) as session:
        if allowed == "always":
            session.configure(approve={"pay": "allow"})
        else:
            session.run("go")
            list(session.resume(session.asked[0].approve(remember=True)))
        if how == "redefined":
            session.tools.add(other_pay)
        elif how == "configured":
            session.configure(tools=[other_pay])
        else:
            session.tools.remove("pay")
            session.tools.add(pay if allowed == "always" else other_pay)
        session.configure(model=Scripted(answers=[call("pay", amount=1), "done"]))
        session.run("go")
        assert [one.name for one in session.asked] == ["pay"]


def test_an_allowance_stays_when_the_same_cell_is_run_again():
    with Session(model=Scripted(answers=[call("pay", amount=1), "done"]), tools=[pay]) as session:
        session.configure(approve={"pay": "allow"})
        again = FunctionType(pay.__code__, globals(), "pay")
        again.__doc__ = pay.__doc__
        session.tools.add(again)
        assert session.run("go").text == "done"
