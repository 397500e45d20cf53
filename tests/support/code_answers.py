"""What the code that a model writes gives, compared with what is expected of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pandas as pd
from langchain_core.tools import StructuredTool

from deepnb import Session
from deepnb.core.values import ToolStarted, Turn
from deepnb.models.teaching.conversation import Step
from deepnb.models.teaching.moves import Use
from deepnb.workshop.kernel import PlainKernel
from deepnb.workshop.namespace import namespace_tools
from deepnb.workshop.python import run_code
from tests.support.code_questions import Cell, Expected, NoCode, Plot, Query, Value, Variable, tables
from tests.support.teaching import TOOLS, move

CODE_TOOLS = ("run_python", "propose_cell")


def played(question: str, approve: bool = True, **variables: Any) -> tuple[Session, Turn]:
    """A turn of the teaching model over the tables, each call approved as it comes, or rejected."""
    session = Session(namespace=variables or tables())
    session.run(question)
    while session.asked:
        call = session.asked[0]
        list(session.resume(call.approve() if approve else call.reject("not now")))
    assert session.last is not None
    return session, session.last


def walked(question: str) -> tuple[tuple[Step, ...], str]:
    """The steps of a turn and its answer, each call approved: the real tools, without the graph around them."""
    import matplotlib.pyplot as plt

    kernel = PlainKernel(tables())
    tools = {tool.name: tool for tool in map(StructuredTool.from_function, namespace_tools(kernel.namespace))}
    steps: tuple[Step, ...] = ()
    while isinstance(use := move(question, *steps, tools=TOOLS | set(tools) | set(CODE_TOOLS)), Use):
        failed = False
        if use.tool == "run_python":
            plt.close("all")
            ran = run_code(str(use.args["code"]), kernel, lambda output: None)
            result, failed = ran.text, ran.failed
        elif use.tool in tools:
            result = tools[use.tool].invoke(dict(use.args))
            failed = result.startswith("Error")
        else:
            result = "The code is in the next cell, not run." if use.tool == "propose_cell" else "(not here)"
        steps += (Step(use.tool, use.args, result, failed),)
    return steps, use.text


def calls(turn: Any, *names: str) -> list[ToolStarted]:
    return [event for event in turn.events if isinstance(event, ToolStarted) and event.name in names]


def fault(question: str, expected: Expected) -> str:
    """What is wrong with the answer to a question; empty where it is right."""
    steps, text = walked(question)
    code = [step for step in steps if step.tool in CODE_TOOLS]
    if isinstance(expected, NoCode):
        return "wrote code" if code else ""
    if isinstance(expected, Query):
        missing = [part for part in expected.says if part not in text]
        asked = any(step.tool == "query_table" for step in steps) and not code
        return "" if asked and not missing else f"does not say {missing} by query_table: {text[:200]}"
    tool = "propose_cell" if isinstance(expected, Cell) else "run_python"
    if [step.tool for step in code] not in ([tool], [tool, tool]):
        return f"called {[step.tool for step in code]}: {text[:120]}"
    if code[-1].failed:
        return f"failed: {code[-1].result[:200]}"
    return _result_fault(str(code[-1].args["code"]), expected.gives if isinstance(expected, Cell) else expected)


def _result_fault(code: str, wanted: Expected) -> str:
    import matplotlib.pyplot as plt

    plt.close("all")
    try:
        namespace = tables()
        value = evaluated(code, namespace)
        if isinstance(wanted, Plot):
            seen: Any = marks(wanted.kind)
            right = seen == _rounded(wanted.marks)
        elif isinstance(wanted, Variable):
            seen = namespace.get(wanted.name)
            right = fits(seen, wanted.value)
        else:
            assert isinstance(wanted, Value)
            seen = value
            right = fits(seen, wanted.value)
    except Exception as error:
        return f"{type(error).__name__}: {error} of\n{code}"
    finally:
        plt.close("all")
    return "" if right else f"gives {seen!r} by\n{code}"


def evaluated(code: str, namespace: dict[str, Any]) -> Any:
    """Run code; the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), namespace)
    return (
        eval(compile(ast.Expression(last.value), "<code>", "eval"), namespace) if isinstance(last, ast.Expr) else None
    )


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is the one that is expected: a shape, rows in order or (a set) without, a number, a first row."""
    if isinstance(wanted, tuple) and all(isinstance(part, int) for part in wanted):
        return bool(getattr(value, "shape", None) == wanted)
    if not isinstance(value, pd.DataFrame | pd.Series):
        return bool(_rounded(value) == _rounded(wanted))
    rows = _rounded(list(_rows(value)))
    if isinstance(wanted, frozenset):
        return len(rows) == len(wanted) and set(rows) == _rounded(wanted)
    return bool(rows == _rounded(wanted) if isinstance(wanted, list) else rows[:1] == [_rounded(wanted)])


def _rows(value: Any) -> Iterator[tuple[Any, ...]]:
    frame = value.to_frame("value") if isinstance(value, pd.Series) else value
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if {"month", "region", "product"} <= set(frame.columns) or "date" in frame.columns:
        frame = frame.drop(columns=["month", "revenue", "date"], errors="ignore")
    return iter(frame.itertuples(index=False, name=None))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return type(value)(_rounded(part) for part in value)
    return round(float(value), 6) if isinstance(value, int | float) or hasattr(value, "dtype") else value


def marks(kind: str) -> Any:
    """What the current figure shows, read from its first axes."""
    import matplotlib.pyplot as plt

    axes: Any = plt.gcf().axes[0]
    if kind == "line":
        lines = (line.get_ydata() for line in axes.lines)
        return frozenset(tuple(float(y) for y in heights if y == y) for heights in lines)
    if kind == "scatter":
        return frozenset((float(x), float(y)) for points in axes.collections for x, y in points.get_offsets())
    if kind == "hist":
        return sum(bar.get_height() for bar in axes.patches) if len(axes.patches) > 3 else None
    across = [label.get_text() for label in axes.get_yticklabels()]
    sizes = [bar.get_height() for bar in axes.patches]
    if len(set(sizes)) == 1 and len(across) == len(sizes):  # horizontal bars are equally thick
        return {label: float(bar.get_width()) for label, bar in zip(across, axes.patches, strict=True)}
    labels = [label.get_text() for label in axes.get_xticklabels()]
    return {label: float(size) for label, size in zip(labels, sizes, strict=True)}
