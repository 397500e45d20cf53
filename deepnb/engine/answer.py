"""The answer that a model gives to one request, for those who have to know whether it has begun."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


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
