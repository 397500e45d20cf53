"""One story told to two agents that have the parts, by `python story.py KIND FOLDER`.

There, nothing of the tests is imported, and what the middleware does not need can't be.
"""

import asyncio
import json
import sys
import time
from functools import wraps
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    for name in ("IPython", "ipywidgets", "pandas", "jsonschema", "nbformat", "markdown_it", "nh3"):
        sys.modules[name] = None  # type: ignore[assignment]  # importing it raises

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend, StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from deepnb.middleware import (
    ApprovalMiddleware,
    CompactionMiddleware,
    GuardMiddleware,
    MemoryMiddleware,
    SkillsMiddleware,
)
from deepnb.testing import ScriptedModel, call

KEY = "sk-ant-api03-" + "Zq7Rw2Lm9Xc4Vb6Nt8Yp1Ks3Jd5Hf0Ga" * 2
SKILL = "---\nname: greeting\ndescription: How to greet.\n---\nSay hello.\n"
ANSWERS = [
    call("write_file", "1", file_path="/AGENTS.md", content="- tabs\n"), call("pay", "2", amount=3),
    call("edit_file", "3", file_path="/AGENTS.md", old_string="- tabs", new_string=f"- tabs\n- key {KEY}"),
    "all done", "the colour is red", "(the summary)", "the end",
]  # fmt: skip
PROMPTS = ("Remember that I like tabs, then pay 3.", "What is the colour?", "Go on.")


def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


class Written(ScriptedModel):
    file: str

    def _next(self, messages: list[BaseMessage]) -> Any:
        with open(self.file, "a") as out:
            out.write(json.dumps([[m.type, m.text] for m in messages]) + "\n")
        return super()._next(messages)


def off_loop(work: Any) -> Any:
    """The method, which must not be called where an event loop runs; a server's watch sees that, too."""

    @wraps(work)
    def checked(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.001)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return work(*args, **kwargs)
        raise BaseException(f"{work.__name__} holds up the event loop")

    return checked


METHODS = ("ls", "read", "write", "edit", "upload_files", "download_files")
Disk = type("Disk", (FilesystemBackend,), {name: off_loop(getattr(FilesystemBackend, name)) for name in METHODS})
State = type("State", (StateBackend,), {name: off_loop(getattr(StateBackend, name)) for name in METHODS})


def agent(kind: str, folder: Path, checkpointer: Any = None) -> Any:
    """`deep`: a deep agent whose files are the thread's. `plain`: `create_agent`, with files on the disk."""
    model = Written(answers=ANSWERS, file=str(folder / "requests.jsonl"))
    backend = State() if kind == "deep" else Disk(folder / "files", virtual_mode=True)
    parts: list[Any] = [
        MemoryMiddleware(backend), SkillsMiddleware(backend),
        CompactionMiddleware(model, backend, trigger=("messages", 12), keep=("messages", 2)),
        ApprovalMiddleware({"pay": "ask", "write_file": "allow", "edit_file": "allow"}, backend),
        GuardMiddleware(backend),
    ]  # fmt: skip
    if kind == "deep":
        options: Any = {"backend": backend, "checkpointer": checkpointer}
        return create_deep_agent(model, [pay], system_prompt="Be brief.", middleware=parts, **options)
    folder.joinpath("files", "skills", "greeting").mkdir(parents=True, exist_ok=True)
    folder.joinpath("files", "skills", "greeting", "SKILL.md").write_text(SKILL)
    parts.insert(0, FilesystemMiddleware(backend=backend))
    return create_agent(model, [pay], system_prompt="Be brief.", middleware=parts, checkpointer=checkpointer)


def first(kind: str) -> dict[str, Any]:
    files = {"/skills/greeting/SKILL.md": {"content": SKILL, "encoding": "utf-8"}}
    return {"messages": [("user", PROMPTS[0])], **({"files": files} if kind == "deep" else {})}


async def _stream(graph: Any, given: Any, config: Any) -> Any:
    last: Any = {}
    async for mode, chunk in graph.astream(given, config, stream_mode=["values", "updates", "messages", "custom"]):
        last = {**last, **chunk} if mode == "values" else last
        last = {**last, **chunk} if mode == "updates" and "__interrupt__" in chunk else last
    return last


def play(kind: str, how: str, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    graph, config = agent(kind, folder, InMemorySaver()), {"configurable": {"thread_id": f"t-{how}"}}

    def run(given: Any) -> Any:
        if how == "invoke":
            return graph.invoke(given, config)
        return asyncio.run(graph.ainvoke(given, config) if how == "ainvoke" else _stream(graph, given, config))

    asked = [i.value for i in run(first(kind))["__interrupt__"]]
    run(Command(resume={"type": "approve"}))
    for prompt in PROMPTS[1:]:
        run({"messages": [("user", prompt)]})
    return told(kind, folder, f"t-{how}", graph.get_state(config).values, asked)


def told(kind: str, folder: Path, thread: str, values: Any, asked: list[Any]) -> dict[str, Any]:
    def text(path: str) -> str:
        return str(values["files"][path]["content"]) if kind == "deep" else (folder / f"files{path}").read_text()

    return {
        "requests": [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()],
        "asked": asked,
        "state": repr(values),
        "history": text(f"/conversation_history/{thread}.md"),
        "memory": text("/AGENTS.md"),
    }


if __name__ == "__main__":
    _, KIND, FOLDER = sys.argv
    print(json.dumps({how: play(KIND, how, Path(FOLDER) / how) for how in ("invoke", "ainvoke", "astream")}))
