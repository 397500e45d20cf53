"""A packaged agent is asked something on a LangGraph server: `python -m tests.support.served_story APP PROGRAMS HOME`.

A program of its own, so that it can run where there is no network but loopback. It prints what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from langgraph_sdk import get_sync_client

from tests.support.chat_server import Say, Use
from tests.support.langgraph_server import langgraph_server
from tests.support.openai_server import OpenAIServer

EDIT = {"file_path": "/AGENTS.md", "old_string": "Use tabs.", "new_string": "Use spaces."}
TASK = {"subagent_type": "general-purpose", "description": "Look."}
ANSWERS = [
    *(Say("hello"), Use("edit_file", EDIT), Say("done")),
    Use("note", {"text": "The colour is red."}, "2"),
    Use("memory_search", {"query": "colour"}, "3"),
    *(Use("task", TASK, "4"), Say("found it"), Say("bye")),
]


def story(app: Path, programs: Path, home: Path) -> dict[str, Any]:
    with OpenAIServer(ANSWERS) as model:
        env = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
        env |= {name: os.environ[name] for name in ("TIKTOKEN_CACHE_DIR",) if name in os.environ}
        with langgraph_server(app, programs, home, env) as url:
            client = get_sync_client(url=url)
            first, second = (client.threads.create()["thread_id"] for _ in range(2))

            def run(thread: str, **given: Any) -> list[Any]:
                stream: Any = client.runs.stream(thread, "agent", stream_mode=["messages-tuple", "updates"], **given)
                return [part.data for part in stream if part.event in ("updates", "error")]

            def prompt(text: str) -> Any:
                return {"messages": [{"role": "user", "content": text}]}

            run(first, input=prompt("Hello?"))
            asked = run(first, input=prompt("Remember: Use spaces."))
            approved = run(first, command={"resume": {"type": "approve"}})
            last = run(second, input=prompt("Hello again?"))
            items: Any = client.store.search_items(("deepnb",), limit=100)
    files = {i["key"]: i["value"]["content"] for i in items["items"] if i["namespace"][-1] == "files"}
    return {"requests": model.requests, "asked": asked, "approved": approved, "last": last, "files": files}


if __name__ == "__main__":
    print(json.dumps(story(*map(Path, sys.argv[1:]))))
