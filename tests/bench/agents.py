"""A session and a bare deepagents graph with the same model, memory, skill and kind of checkpointer, turn by turn."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from deepagents.backends.utils import create_file_data
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from deepnb import Session
from tests.support.scripted import Scripted, call

PROMPT = "What files are there?"
MESSAGES = 4  # of one turn: the prompt, a call of `ls`, its result, the answer
FACT = "likes green tea"
_ABOUT = "---\nname: tidy-up\ndescription: Use when files are to be tidied up.\n---\n"
_SKILL = f"{_ABOUT}\nPut each file where it belongs.\n"
_SKILL_PATH = "/skills/tidy-up/SKILL.md"

Turn = Callable[[], object]


class Looker(Scripted):
    """Calls `ls` once, then answers; keeps no requests, so that a long thread costs it nothing."""

    answers: list[Any] = []  # noqa: RUF012
    profile: ModelProfile | None = ModelProfile(max_input_tokens=1_000_000)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("There are two directories, and nothing else.")
        return call("ls", id=f"call-{len(messages)}", path="/")


def fill(session: Session) -> None:
    session.memory.add(FACT)
    session.skills.write("tidy-up", _SKILL)


def session_turn(checkpointer: Any) -> Turn:
    session = Session(model=Looker(), checkpointer=checkpointer)
    fill(session)
    return lambda: session.run(PROMPT)


def bare_turn(checkpointer: Any, model: Any = None, prompts: Iterator[str] | None = None) -> Turn:
    """The turns of a new bare graph, which gets its files with the first."""
    graph = bare_graph(checkpointer, model)
    files = {"/AGENTS.md": create_file_data(f"- {FACT}\n"), _SKILL_PATH: create_file_data(_SKILL)}
    first = [{"files": files}]

    def turn() -> None:
        given: Any = {"messages": [("user", next(prompts) if prompts else PROMPT)], **(first.pop() if first else {})}
        graph.invoke(given, {"configurable": {"thread_id": "main"}})

    return turn


def bare_graph(checkpointer: Any, model: Any = None) -> Any:
    parts: dict[str, Any] = {"memory": ["/AGENTS.md"], "skills": ["/skills/"], "backend": StateBackend()}
    return create_deep_agent(model or Looker(), checkpointer=checkpointer, **parts)


def on_disk(path: Path) -> SqliteSaver:
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


@dataclass
class Pair:
    """Ours and the bare graph's turns, taken in alternation so that what slows the machine slows both."""

    ours: Turn
    bare: Turn
    turns: int = 0

    def time(self) -> tuple[float, float]:
        self.turns += 1
        if self.turns % 2:
            return _seconds(self.ours), _seconds(self.bare)
        bare = _seconds(self.bare)
        return _seconds(self.ours), bare

    def grow(self, messages: int) -> Iterator[tuple[float, float]]:
        while self.turns * MESSAGES < messages:
            yield self.time()


def _seconds(turn: Turn) -> float:
    begin = perf_counter()
    turn()
    return perf_counter() - begin
