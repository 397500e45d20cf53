"""Tools of a session: the user's functions, of any signature and with any result; and the one that edits notebooks."""

import asyncio
import datetime as dt
import enum
import functools
import inspect
import json
import math
import re
import sqlite3
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.types import Command
from nbformat import v4
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

import deepnb
from deepnb import DeepnbError, Session, ToolEnded
from deepnb.engine.functions import in_cells
from deepnb.views.approval import ApprovalView, CallCard
from deepnb.workshop.notebook_plan import CellDiff, NotebookDiff
from deepnb.workshop.notebooks import version_of
from tests import DATA
from tests.support import scripted
from tests.support.mcp_servers import session as session  # a fixture
from tests.support.scripted import TASK, Scripted, call, gives
from tests.support.tables import every_row, refused

# -- functions as notebooks have them, with the arguments that a model sends and what the call gives; and odd results

Case = tuple[Callable[..., Any], dict[str, Any], str | None]


@dataclass
class Point:
    x: int
    y: int = 0


class Order(BaseModel):
    id: int
    lines: list[str] = []


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Query(TypedDict):
    text: str


def said(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    function.__doc__ = function.__doc__ or "Say what came."
    function.__name__ = name or function.__name__
    return function


IMPORTS = """
from decimal import Decimal
from typing import Annotated, Literal
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId
from pydantic import Field
"""

_ROW = re.compile(r"(.*?)  # (\{.*\}) -> (.*)")  # def f(a: int): return a  # {"a": 1} -> 1


def sources() -> Iterator[tuple[str, dict[str, Any], str | None]]:
    for line in (DATA / "signatures.txt").read_text(encoding="utf-8").splitlines():
        found = _ROW.fullmatch(line)
        assert found, line
        yield found[1], json.loads(found[2]), None if found[3] == "-" else found[3]


class Desk:
    def hold(self, runtime: int, /) -> int:
        "Hold it."
        return runtime + 1

    @staticmethod
    def keep(config: str) -> str:
        "Keep it."
        return config

    @classmethod
    def count(cls, _n: int) -> int:
        "Count."
        return _n


def signatures() -> Iterator[Case]:
    for source, sent, result in sources():
        names: dict[str, Any] = {**globals()}
        exec(IMPORTS + source, names)
        yield said(names["f"]), sent, result
    yield Desk().hold, {"runtime": 1}, "2"
    yield Desk.keep, {"config": "a"}, "a"
    yield Desk.count, {"_n": 4}, "4"
    yield functools.lru_cache(said(lambda config: config, "cached")), {"config": "c"}, "c"
    yield functools.wraps(Desk.keep)(lambda *a, **k: Desk.keep(*a, **k)), {"config": "w"}, "w"
    yield math.gcd, {"integers": [4, 6]}, "2"
    yield max, {"args": [1, 2]}, None


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def endless() -> Iterator[int]:
    n = 0
    while True:
        yield n
        n += 1


async def later() -> str:
    return "later"


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


RESULTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: None, "null"), (lambda: True, "true"), (lambda: 10**5000, "int"), (lambda: float("nan"), "NaN"),
    (lambda: ["a", "b"], '["a", "b"]'), (lambda: [*()], "[]"), (lambda: {"a": 1, (1, 2): 3}, "(1, 2)"),
    (lambda: {1, 2}, "{1, 2}"), (lambda: b"\xff", "xff"), (lambda: pd.DataFrame({"a": [1.5]}), "1.5"),
    (lambda: np.float32(0.5), "0.5"), (lambda: dt.date(2026, 3, 1), "2026-03-01"),
    (lambda: Point(1), "Point(x=1, y=0)"), (lambda: Order(id=7), "7"), (Broken, "Broken"), (endless, "[0, 1, 2"),
    (lambda: (n for n in "ab"), '["a", "b"]'), (later, "later"), (ring, "["), (deep, "list"),
    (lambda: ValueError("odd"), "odd"), (lambda: inspect, "module"), (lambda: "", ""),
]  # fmt: skip


def results() -> Iterator[tuple[Callable[..., Any], str]]:
    for i, (make, words) in enumerate(RESULTS):
        yield said(giving(make), f"give_{i}"), words


def giving(make: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: make()


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


def test_functions_are_called_from_the_next_turn_on_also_by_a_subagent_and_what_is_not_marked_needs_approval(
    session: Session,
):
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
    assert "seen" in gave(session, TASK, call("look", "l"), "I looked")


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


def test_functions_run_in_the_thread_of_the_cells_and_may_call_another_tool():
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


B = "y = <b>2</b>"
NEW = nbformat.writes(v4.new_notebook(cells=[v4.new_code_cell("x = 1"), v4.new_code_cell(B)])).encode()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    (tmp_path / "a.ipynb").write_bytes(NEW)
    return tmp_path / "a.ipynb"


def cells(file: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(file, 4).cells]


def edit(file: Path, id_: str = "c1", **edits: Any) -> AIMessage:
    version = version_of(file.resolve(), file.read_bytes())
    replace = [{"replace": 1, "source": "x = 2"}]
    return call("edit_notebook", id_, **{"path": "a.ipynb", "edits": replace, "version": version} | edits)


def ended(s: Session) -> list[tuple[str, str]]:
    return [(e.status, e.result) for turn in s.turns for e in turn.events if isinstance(e, ToolEnded)]


@every_row("word, left", [
    (lambda c: c.approve(), ["x = 2", B]), (lambda c: c.reject("no"), ["x = 1", B]),
    (lambda c: c.edit({**c.args, "edits": [{"delete": 2}]}), ["x = 1"]),
])  # fmt: skip
def test_it_asks_and_writes_what_was_approved(file: Path, word: Any, left: list[str]):
    file.write_bytes(NEW)
    s = scripted.session(edit(file), "done")
    (asked,) = s.run("change it").asked
    assert (asked.effect, file.read_bytes()) == ("outside", NEW)
    change = s.approvals.change(asked)
    assert isinstance(change, NotebookDiff)
    assert change.unified() == "cell 1 · code · changed\n@@ -1 +1 @@\n-x = 1\n+x = 2"
    list(s.resume(word(asked)))
    assert cells(file) == left and s.text == "done"
    assert left != ["x = 2", B] or "replaced cell 1" in ended(s)[0][1]


def test_a_file_that_changed_below_its_card_is_not_written(file: Path):
    s = scripted.session(edit(file), "done")
    (asked,) = s.run("change it").asked
    file.write_bytes(file.read_bytes().replace(b"x = 1", b"x = 7"))
    changed = file.read_bytes()
    change = s.approvals.change(asked)
    assert change is not None and change.kind.startswith("a.ipynb has changed since that version")
    card = ApprovalView([CallCard(1, asked, change)]).text()
    assert "  a.ipynb has changed since that version" in card and "edits:" in card
    list(s.resume(asked.approve()))
    assert file.read_bytes() == changed and "has changed since that version" in ended(s)[0][1]


@every_row("args", [
    {"path": "../a.ipynb"}, {"version": "0"}, {"edits": [{"delete": 9}]}, {"edits": "x"},
    {"edits": [{"insert": 1, "source": "k = 'ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3'"}]},
])  # fmt: skip
def test_nobody_is_asked_about_a_call_that_would_fail(file: Path, args: dict[str, Any]):
    s = scripted.session(edit(file, **args), "done")
    assert s.run("change it").asked == () and s.text == "done"
    ((status, result),) = ended(s)
    assert status == "error" and result.startswith("Error: ") and "ghp_" not in result
    assert file.read_bytes() == NEW


@every_row("approve", ["outside", {"edit_notebook": "allow"}])
def test_of_two_at_once_one_is_written_and_the_other_is_for_an_old_version(file: Path, approve: Any):
    file.write_bytes(NEW)
    both = scripted.calls(edit(file), edit(file, "c2", edits=[{"insert": 1, "source": "first"}]))
    s = scripted.session(both, "done", approve=approve)
    asked = s.run("change it").asked
    assert len(asked) == (2 if approve == "outside" else 0)
    if asked:
        list(s.resume([one.approve() for one in asked]))
    said = sorted(result for _, result in ended(s))
    assert said[0].startswith("Error: a.ipynb has changed") and said[1].startswith("a.ipynb: ")
    assert cells(file) in (["x = 2", B], ["first", "x = 1", B])


def test_the_card_shows_every_line_of_every_cell(file: Path):
    long = "\n".join(f"line {n}" for n in range(500))
    s = scripted.session(edit(file, edits=[{"replace": 2, "source": long}, {"delete": 1}]), "done")
    (asked,) = s.run("go").asked
    view = ApprovalView([CallCard(1, asked, s.approvals.change(asked))])
    text, html = view.text(), view.html()
    assert "cell 2 · code · changed" in text and "cell 1 · code · removed" in text and "  +line 499" in text
    assert "edits" not in text and "version: " in text
    hidden = NotebookDiff("a.ipynb", (CellDiff(1, "code", None, "x = 1  # \u202eevil\u200b"),))
    card = ApprovalView([CallCard(1, asked, hidden)])
    assert all("⟨U+202E⟩evil⟨U+200B⟩" in said and "\u202e" not in said for said in (card.text(), card.html()))
    assert "line 499" in html and "<b>2" not in html and "&lt;b&gt;2" in html
