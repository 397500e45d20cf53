"""Sessions that compact, models that summarize as they are told to, and what to ask of them."""

from collections import Counter
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from deepnb import Session
from deepnb.values.turn import Compacted, Notice
from tests.support.scripted import Scripted

HISTORY = "/conversation_history/main.md"
AT_LENGTH = "words\n" * 200
"""Makes a turn longer than the message that takes its place: a prompt, or an answer to one, which is streamed at once."""


class Phased(Scripted):
    answers: list[Any] = Field(default_factory=lambda: ["ok"])
    summary: Any = "ok"
    summaries: list[list[BaseMessage]] = Field(default_factory=list)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        if "<messages>" in str(messages[-1].content) and "<leaving>" not in str(messages[-1].content):
            self.summaries.append(messages)
            if isinstance(self.summary, BaseException):
                raise self.summary
            return AIMessage(self.summary)
        return super()._next(messages)


class Refusing(Phased):
    most: int = 3
    failure: Any = None
    refused: list[list[BaseMessage]] = Field(default_factory=list)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        asks = "<messages>" in messages[-1].text or "<leaving>" in messages[-1].text
        if asks and len(messages) > self.most:
            self.refused.append(messages)
            raise self.failure
        return super()._next(messages)


def compactions(s: Session) -> list[Compacted]:
    return [e for t in s.turns for e in t.events if isinstance(e, Compacted) and not e.path]


def notices(s: Session) -> list[str]:
    return [e.text for e in s.last.events if isinstance(e, Notice)]


def prompt_text(model: Scripted) -> str:
    return "\n".join(m.text for m in model.requests[-1])


def session(model: Any = None, **options: Any) -> Session:
    return Session(model=model or Phased(), **{"trigger": ("messages", 4), "keep": ("messages", 1), **options})


def stored_once(s: Session, texts: list[str]) -> None:
    lines = Counter(s.files[HISTORY].splitlines())
    assert {t: lines[t] for t in texts} == dict.fromkeys(texts, 1)
