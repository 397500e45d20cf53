"""The one model of all that are compared: it answers by rules, uses the tools that it is offered, and keeps requests."""

import json
import time
from collections.abc import Iterator
from typing import Any

from tests.support.chat_server import Fail, Say, Use
from tests.support.openai_server import OpenAIServer

FACT = "metric units"
NAME = "gpt-4.1-mini"
ASK, REMEMBER, ABOUT = "What can you do?", f"Remember that I prefer {FACT}", "What do you know about me?"
WRITE, EDIT, FRAME = "Write hello to the file report.md", "Change the cell to print(42)", "Which columns has planets?"
LONG, AGAIN = "Tell me a long story", "Go on: what did I say first?"
STORY = " ".join(f"Sentence {n} of the story says a little more than the one before it." for n in range(30))
PACE = 70  # words a second
USES: dict[str, dict[str, dict[str, Any]]] = {
    "Remember that": {
        "write_file": {"file_path": "/AGENTS.md", "content": f"- Prefers {FACT}\n"},
        "write": {"filePath": "AGENTS.md", "content": f"- Prefers {FACT}\n"},
    },
    "report.md": {
        "write_file": {"file_path": "/work/report.md", "content": "hello"},
        "write": {"filePath": "report.md", "content": "hello"},
    },
    "Change the cell": {"propose_cell": {"code": "print(42)"}},
    "Which columns": {"inspect_variable": {"name": "planets"}},
}
"""What a prompt has -> tool -> the arguments it is called with, where it is offered: the first one that is."""


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
    last = said[-1]
    if last.get("role") == "tool" or last.get("type") == "function_call_output":
        return Say("Done.")
    prompt = text(last.get("content"))
    for words, uses in USES.items():
        for name, args in uses.items() if words in prompt else ():
            if name in tools(request):
                return Use(name, args)
    if ABOUT in prompt:
        return Say(f"You prefer {FACT}." if FACT in json.dumps(said) else "I know nothing about you.")
    if "Which columns" in prompt:
        return Say("It has moons_count." if "moons_count" in json.dumps(said) else "I can't see it.")
    if "Change the cell" in prompt:
        return Say("```python\nprint(42)\n```")
    if AGAIN in prompt:
        first = next(text(one["content"]) for one in said if one.get("role") == "user")
        return Say(f"You said: {first}" if first != prompt else "You have said nothing before.")
    return Say(STORY if ASK in prompt or LONG in prompt else "Fine.")


class Whole(Fail):
    """An answer in one piece, for who asks for none in a stream."""


class Model(OpenAIServer):
    def __init__(self) -> None:
        super().__init__([lambda request: reply(request) if request.get("stream") else Whole(200, reply(request).text)])

    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        if isinstance(answer, Whole):
            time.sleep(len(answer.message.split()) / PACE)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer.message}}
            usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
            whole = {"id": "1", "object": "chat.completion", "created": 0, "model": NAME, "choices": [choice]}
            yield json.dumps({**whole, "usage": usage}).encode()
            return
        for event in super().body(answer, request):
            yield event
            time.sleep(1 / PACE if answer == Say(STORY) else 0)
