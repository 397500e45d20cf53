"""The one model of all that are compared: it answers by rules, uses the tools that it is offered, and keeps requests."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.chat_server import Fail, OpenAIServer, Say, Use

FACT = "metric units"
NAME = "gpt-4.1-mini"
ASK, REMEMBER, ABOUT = "What can you do?", f"Remember that I prefer {FACT}", "What do you know about me?"
WRITE, EDIT, FRAME = "Write hello to the file report.md", "Change the cell to print(42)", "Which columns has planets?"
HELLO, LONG, AGAIN = "Hello", "Tell me a long story", "Go on: what did I say first?"
STORY = " ".join(f"Sentence {n} of the story says a little more than the one before it." for n in range(30))
PACE = 70  # words a second
USES: dict[str, dict[str, dict[str, Any]]] = {
    "Remember that": {"write_file": {"file_path": "/AGENTS.md", "content": f"- Prefers {FACT}\n"},
                      "write": {"filePath": "AGENTS.md", "content": f"- Prefers {FACT}\n"}},
    "report.md": {"write_file": {"file_path": "/work/report.md", "content": "hello"},
                  "write": {"filePath": "report.md", "content": "hello"}},
    "Change the cell": {"propose_cell": {"code": "print(42)"},
                        "edit_notebook_tool": {"edit": {"type": "add_cell", "code": "print(42)",
                                                        "position": {"type": "notebook_end"}}},
                        "Jupyter_MCP_Server_add_cell": {"file_path": "nb.ipynb", "content": "print(42)"}},
    "Which columns": {"inspect_variable": {"name": "planets"},
                      "get_tables_and_variables": {"session_id": "", "variable_names": ["planets"]},
                      "Jupyter_MCP_Server_add_cell": {"file_path": "nb.ipynb", "content": "planets.dtypes"}},
}  # fmt: skip
"""What a prompt has -> tool -> the arguments it is called with, where it is offered: the first one that is."""
_BOOK = "Jupyter_MCP_Server_"
THEN = {
    ("Which columns", f"{_BOOK}add_cell"): [
        (f"{_BOOK}run_all_cells", {"file_path": "nb.ipynb"}),
        (f"{_BOOK}read_notebook", {"file_path": "nb.ipynb", "include_outputs": True}),
    ]
}
"""The same, and the first tool -> what is called after it."""


RESTART, STOPPED = "restart", "stopped: "
"""Steps: all processes are restarted, what sets up included; an answer to what stands behind it is interrupted."""
PATIENCE = 1.0  # seconds from a request to an interrupt
FRAMED = 'import pandas as pd; planets = pd.DataFrame({"moons_" + "count": [0, 1, 2]})'


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a tool is used: what is installed, typed to set up, and how something is said to the model."""

    packages: Sequence[str]
    first: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], str] = str
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)  # task -> its steps, where saying is not all

    @property
    def steps(self) -> dict[str, Sequence[str]]:
        say = self.say
        said = {
            "ask": [say(ASK)], "remember": [say(REMEMBER), RESTART, say(ABOUT)], "request": [say(ASK)],
            "approve": [say(WRITE)], "revert": [say(REMEMBER), say(ABOUT)], "edit": [say(EDIT)], "frame": [say(FRAME)],
            "interrupt": [STOPPED + say(LONG), say(AGAIN)], "restart": [say(ASK), RESTART, say(AGAIN)],
            "compare": [say(ABOUT)],
        }  # fmt: skip
        return {**said, **self.own}

    def lines(self, steps: Sequence[str]) -> int:
        """Lines typed and clicks; each of the first steps is taken again by one."""
        again = 1 + len(self.first)
        return sum(again if one == RESTART else len(one.splitlines()) + one.startswith(STOPPED) for one in steps)

    def setup(self) -> int:
        return self.lines([*self.first, *self.files.values()])


def text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def messages(request: dict[str, Any]) -> list[dict[str, Any]]:
    """All that is said in a request, of either of OpenAI's protocols, its instructions first."""
    given: list[dict[str, Any]] = request.get("messages") or request["input"]
    return [{"role": "system", "content": request["instructions"]}, *given] if "instructions" in request else given


def tools(request: dict[str, Any]) -> list[str]:
    return [one.get("function", one).get("name", "") for one in request.get("tools") or ()]


def reply(request: dict[str, Any]) -> Any:
    said = messages(request)
    asked = max((at for at, one in enumerate(said) if one.get("role") == "user"), default=0)
    prompt, used = text(said[asked].get("content")), len(said[asked:]) // 2  # a call and what it gave, each
    for words, uses in USES.items():
        for name, args in uses.items() if words in prompt else ():
            if name in tools(request):
                steps = [(name, args), *THEN.get((words, name), ())]
                known = re.search(r"session ID: (\w+)", text(said[0]["content"]))
                more = {"session_id": known[1]} if "session_id" in args and known else {}
                return (
                    Say("Done.") if used >= len(steps) else Use(steps[used][0], {**steps[used][1], **more}, f"c{used}")
                )
    if ABOUT in prompt:
        return Say(f"You prefer {FACT}." if FACT in json.dumps(said) else "I know nothing about you.")
    if "Which columns" in prompt:
        return Say("It has moons_count." if "moons_count" in json.dumps(said) else "I can't see it.")
    if "Change the cell" in prompt:
        return Say("```python\nprint(42)\n```")
    if AGAIN in prompt:
        first = next((known for known in (ASK, LONG) if known in json.dumps(said[:asked])), "")
        return Say(f"You said: {first}" if first else "You have said nothing before.")
    return Say(STORY if ASK in prompt or LONG in prompt else "Fine.")


class Model(OpenAIServer):
    def __init__(self) -> None:
        super().__init__([lambda request: reply(request) if request.get("stream") else Fail(200, reply(request).text)])

    def failure(self, answer: Fail) -> dict[str, Any]:
        """The answer in one piece, for who asks for none in a stream: no failure, whatever its name."""
        time.sleep(len(answer.message.split()) / PACE)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer.message}}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": NAME, "choices": [choice]}
        return {**whole, "usage": usage}

    def body(self, answer: list[Any], request: dict[str, Any]) -> Iterator[bytes]:
        for event in super().body(answer, request):
            yield event
            time.sleep(1 / PACE if answer == [Say(STORY)] else 0)
