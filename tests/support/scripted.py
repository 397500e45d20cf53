"""The scripted model of `deepnb.testing`, tools for it to call, and steps that a session, a shell or a kernel is led through."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from deepnb import Session
from deepnb.testing import ScriptedModel as Scripted
from deepnb.testing import call
from deepnb.values.turn import ToolEnded

__all__ = [
    "TASK", "Paid", "Scripted", "Slow", "call", "calls", "enter", "gives", "pay", "prompt", "results", "says", "sent",
    "session", "unasked", "walked",
]  # fmt: skip


def session(*answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


TASK = call("task", "t1", description="work", subagent_type="general-purpose")


def calls(*messages: AIMessage) -> AIMessage:
    """One answer with the calls of all of these."""
    return AIMessage("", tool_calls=[one for message in messages for one in message.tool_calls])


def says(s: Session, *answers: Any) -> None:
    s.options.model.answers[:] = [*["-"] * len(s.options.model.requests), *answers]


def prompt(s: Session) -> str:
    return str(s.options.model.requests[-1][0].text)


def sent(s: Session, request: int = -1) -> str:
    return "\n".join(str(m.content) for m in s.options.model.requests[request])


def results(s: Session) -> list[str]:
    return [event.result for event in s.last.events if isinstance(event, ToolEnded)] if s.last else []


def unasked(*tools: Any) -> dict[str, Any]:
    return {"tools": list(tools), "approve": {getattr(t, "name", None) or t.__name__: "allow" for t in tools}}


class Paid(Scripted):
    """Reports usage, as providers do, in the last chunk."""

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield from super()._stream(*args, **kwargs)
        details = {"cache_read": 4}
        usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": details}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


Place = TypeVar("Place")


def walked(s: Place, *steps: str) -> Place:
    """The session, or shell, after methods that are named with what they are given: `run a prompt`, `memory.add tea`, `rewind 1`."""
    for step in steps:
        name, _, given = step.partition(" ")
        attrgetter(name)(s)(*([int(given) if name == "rewind" else given] if given else []))
    return s


def enter(place: Any, *cells: str) -> None:
    """Run cells in a shell or a kernel; each goes well."""
    for cell in cells:
        place.ok(cell)


def gives(name: str, result: Any) -> Callable[[], Any]:
    """A function without parameters that gives this; an exception is raised."""

    def made() -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    made.__name__, made.__doc__ = name, f"{name.title()}."
    return made


def pay(amount: int, to: str = "Ada") -> str:
    """Pay an amount."""
    return f"paid {amount} to {to}"


class Slow:
    """A tool that is not done before it may go on."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def wait(self) -> str:
        """Wait."""
        self.begun.set()
        self.go.wait(60)
        return "done"

    @contextmanager
    def held(self, run: Callable[[], object]) -> Iterator[None]:
        """While a turn that calls it is played in another thread, and waits."""
        with ThreadPoolExecutor(1) as pool:
            played = pool.submit(run)
            try:
                assert self.begun.wait(60)
                yield
            finally:
                self.go.set()
        played.result()
