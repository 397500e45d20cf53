"""What a thread costs in checkpoints: channels that grow are delta channels, and none is walked back far."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from deepnb import Session
from deepnb.engine import keys
from deepnb.engine.checkpoints import FAR
from deepnb.engine.state_backend import MessagesChannel
from deepnb.subagents.delegation import nested_graph
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

STEPS = 12
"""More than a turn with one tool call takes."""


@pytest.fixture(params=["memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        yield InMemorySaver() if request.param == "memory" else saver


@every_row("key", [keys.MESSAGES, keys.FILES])
def test_what_grows_with_a_thread_is_a_delta_channel(key):
    model = Scripted(answers=["ok"])
    nested = nested_graph({"name": "n", "description": "d", "system_prompt": "p", "model": model, "tools": []})
    for graph in (Session(model=model).graph, nested):
        found = graph.channels[key]
        assert isinstance(found, DeltaChannel), f"{key} is a {type(found).__name__}: every checkpoint holds all of it"


def test_files_that_rest_are_not_walked_back_to_their_first_write(checkpointer):
    s = Session(model=Scripted(answers=[call("ls", path="/"), "ok"] * 30), checkpointer=checkpointer)
    s.memory.add("likes tea")
    for n in range(20):
        s.run(f"look {n}")
        metadata = checkpointer.get_tuple({"configurable": {"thread_id": "main"}}).metadata
        _, steps = metadata["counters_since_delta_snapshot"].get(keys.FILES, (0, 0))
        assert steps <= FAR + STEPS and s.files["/AGENTS.md"] == "- likes tea\n"


def test_a_thread_goes_back_to_before_its_files_were_written_whole(checkpointer):
    s = Session(model=Scripted(answers=["ok"]), checkpointer=checkpointer)
    s.files["/a.txt"] = "first"
    s.run("one")
    s.files["/a.txt"] = "second"
    for n in range(30):
        s.run(f"turn {n}")
    s.rewind(1)
    assert s.files["/a.txt"] == "first"
    s.undo()
    assert s.files["/a.txt"] == "second"
    s.fork("other", at=1)
    assert s.files["/a.txt"] == "first"


def test_a_checkpoint_holds_no_whole_thread(tmp_path):
    file = tmp_path / "threads.db"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        s = Session(model=Scripted(answers=["x" * 3_000]), checkpointer=saver)
        for n in range(12):
            s.run(f"turn {n}")
        saver.conn.commit()
    with sqlite3.connect(file) as connection:
        (largest,) = connection.execute("SELECT max(length(checkpoint)) FROM checkpoints").fetchone()
    assert largest < 3 * 3_000, "a thread of 36,000 characters is in one checkpoint"


def test_snapshots_come_the_more_seldom_the_longer_the_thread_is():
    channel = MessagesChannel(lambda held, writes: [*held, *writes], list, snapshot_frequency=50)
    assert channel.snapshot_frequency == 50
    held = channel.from_checkpoint([HumanMessage("x")] * 1_000)
    assert held.snapshot_frequency == 250 and held.copy().snapshot_frequency == 250
    assert channel.from_checkpoint([]).snapshot_frequency == 50
