"""The scripted model of `deepnb.testing`, and what only our own tests need of it."""

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from deepnb import Session
from deepnb.testing import ScriptedModel as Scripted
from deepnb.testing import call
from deepnb.values.turn import ToolEnded

__all__ = ["TASK", "Paid", "Scripted", "call", "calls", "prompt", "results", "says", "sent", "session", "unasked"]


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
