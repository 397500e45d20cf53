"""The answer that a model gives to one request: whether it has begun, whether it came to its end, what it cost."""

import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from deepnb.core.values import Usage

_REASONS: Mapping[str, tuple[str, ...]] = {"openai": ("finish_reason", "status"), "anthropic": ("stop_reason",)}
"""Provider -> the metadata of an answer that say why it ended; its protocol demands one of them."""
_TRANSPORTS = ("httpcore", "httpcore2", "socket")
"""Packages whose objects read a connection: of the clients of OpenAI, Anthropic and Ollama, and of `http.client`."""
_CUT = ("length", "max_tokens", "incomplete")


class Answer:
    """`begun` is True from the first piece on, of whatever kind."""

    begun = False


_ANSWER: ContextVar[Answer | None] = ContextVar("answer", default=None)


@contextmanager
def awaited_answer() -> Iterator[Answer]:
    """The answer to the request that is sent in the block."""
    answer = Answer()
    token = _ANSWER.set(answer)
    try:
        yield answer
    finally:
        _ANSWER.reset(token)


def answer_begun() -> None:
    """The model whose answer is read here has sent a piece of it."""
    if (answer := _ANSWER.get()) is not None:
        answer.begun = True


def hang_up(thread: int) -> None:
    """End the connection that a thread is waiting on: closing it would not end the wait, and tell nobody until then."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        held = frame.f_locals.get("self")
        connection = getattr(held, "_sock", None)
        if type(held).__module__.partition(".")[0] in _TRANSPORTS and isinstance(connection, socket.socket):
            with suppress(OSError):  # it has ended
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not that of TLS, which the thread is inside of
            return
        frame = frame.f_back


def cut_short(metadata: Mapping[str, Any], provider: str) -> str:
    """Why an answer may not be all of it, in one line, by its metadata; empty where it came to its end."""
    if (names := _REASONS.get(provider)) is None:
        return ""
    reasons = [metadata[name] for name in names if metadata.get(name)]
    if not reasons:
        return "the stream ended without a reason: the answer may be cut off"
    cut = any(reason in _CUT for reason in reasons)
    return "the answer is cut off: it reached the model's limit of output tokens" if cut else ""


def usage(message: BaseMessage | None) -> Usage | None:
    """Tokens as the provider reported them with its answer; None where it did not: no request is of no tokens."""
    if not isinstance(message, AIMessage) or not (spent := message.usage_metadata) or not spent["input_tokens"]:
        return None
    none = 0 if message.response_metadata.get("model_name") == "offline" else None  # of others nobody knows
    cached = (spent.get("input_token_details") or {}).get("cache_read", none)
    return Usage(spent["input_tokens"], spent["output_tokens"], cached)
