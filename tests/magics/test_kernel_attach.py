"""A graph of one's own in a real kernel: its question as a card with a field, and Stop while a coroutine waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.kernels import Cell, Kernel

pytestmark = pytest.mark.kernel

GRAPHS = """
import asyncio
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

async def ask(state):
    return {"messages": [("ai", f"You said {interrupt({'question': 'Which hall?'})!r}.")]}

def work(state):
    print("waits")
    while True:
        sum(range(1000))

async def wait(state):
    print("waits")
    await asyncio.sleep(600)

halls = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END).compile()
works = StateGraph(MessagesState).add_node("wait", work).add_edge(START, "wait").add_edge("wait", END).compile()
waits = StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").add_edge("wait", END).compile()
"""


@pytest.fixture
def graphs(kernel: Kernel) -> Kernel:
    kernel.ok(IMPORT_TESTS + GRAPHS)
    return kernel


def test_a_question_has_a_card_with_a_field(graphs: Kernel) -> None:
    graphs.ok("%agent use halls")
    cell = Cell(graphs, "%%agent\nBook a hall")
    assert cell.ran.asks and "answer above" in cell.ran.reply["evalue"]
    assert "Which hall?" in cell.texts[0] and "[buttons]" in cell.texts
    fields = [c["data"]["state"].get("placeholder") for c in cell.ran.of("comm_open")]
    assert 'JSON, such as {"answer": "yes"}' in fields
    assert "You said {'hall': 4}." in graphs.ok('%agent resume {"hall": 4}').text
    assert "[buttons]" not in Cell(graphs, "%agent").texts


def test_stop_ends_a_node_that_waits_or_works(graphs: Kernel) -> None:
    for name in ("waits", "works"):
        stopped(graphs, name)


def stopped(graphs: Kernel, name: str) -> None:
    """Stop a turn of this graph; the message of an assertion names it."""
    graphs.ok(f"%agent use {name}")
    done: list[bool] = []

    def when(kernel: Kernel, message: dict[str, Any]) -> None:
        if not done and "waits" in str(message["content"].get("text", "")):
            done.append(True)
            kernel.interrupt()

    ran = graphs.wait(graphs.send("%%agent\nWait"), when)
    assert ran.status == "error", name
    assert "interrupted" in ran.printed + ran.text + str(ran.reply)
    assert "still running" not in ran.printed + ran.text + str(ran.reply)
    assert "interrupted before wait" in graphs.ok("%agent").text
