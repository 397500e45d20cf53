"""The five lines of the topic `middleware`, run as they are there, and the example of `deepnb.testing`."""

from __future__ import annotations

import doctest
import re
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import deepnb.testing
from deepnb.testing import ScriptedModel, call
from tests.support.entries import FOLDER

TOPIC = FOLDER / "middleware.md"


def lines() -> str:
    found = re.search(r"```python\n(.*?)```", TOPIC.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_lines_of_the_topic_make_an_agent_with_all_five_parts() -> None:
    def pay(amount: int) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    remember = call("write_file", file_path="/AGENTS.md", content="- tabs\n")
    model = ScriptedModel(answers=[remember, call("pay", amount=3), "done"])
    names: dict[str, Any] = {"model": model, "tools": [pay], "checkpointer": InMemorySaver()}
    code = lines()
    assert len(list(filter(None, code.splitlines()))) == 5
    exec(code, names)
    config = {"configurable": {"thread_id": "t"}}
    asked = names["agent"].invoke({"messages": "I like tabs. Pay 3."}, config)["__interrupt__"]
    assert [i.value["name"] for i in asked] == ["pay"]
    assert "+- tabs" in model.requests[1][-1].text
    result = names["agent"].invoke(Command(resume={"type": "approve"}), config)
    assert [m.text for m in result["messages"][-2:]] == ["paid 3", "done"]


def test_the_example_of_the_docstring_is_true() -> None:
    failed, tried = doctest.testmod(deepnb.testing)
    assert (failed, tried > 5) == (0, True)
