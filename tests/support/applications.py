"""A packaged application as a graph in this process, with a store and a checkpointer as a server gives them."""

import runpy
import sys
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore


def served(directory: Path, store: Any = None) -> Any:
    sys.modules.pop("notebook_tools", None)
    sys.path.insert(0, str(directory))
    try:
        graph = runpy.run_path(str(directory / "agent.py"))["graph"]
    finally:
        sys.path.remove(str(directory))
    return with_store(graph, store)


def with_store(graph: Any, store: Any = None) -> Any:
    graph.checkpointer, graph.store = InMemorySaver(), store or InMemoryStore()
    return graph


def say(graph: Any, prompt: Any, thread: str = "1") -> Any:
    given = {"messages": [("user", prompt)]} if isinstance(prompt, str) else prompt
    last: Any = {}
    config: Any = {"configurable": {"thread_id": thread}}
    for mode, part in graph.stream(given, config, stream_mode=["values", "messages"]):
        last = part if mode == "values" else last
    return last


def files_in(store: Any) -> dict[str, str]:
    items = store.search(("deepnb",), limit=1000)
    return {item.key: item.value["content"] for item in items if item.namespace[-1] == "files"}
