"""A teaching model that talks until it is interrupted, so that an interrupt always meets it."""

import time
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

from deepnb.models.teaching import TeachingModel


class Endless(TeachingModel):
    words: int = 8  # after so many words of the answer the same word follows for ever
    first: int = 1  # which of its answers has no end
    _answers: int = PrivateAttr(0)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self._answers += 1
        is_endless = self._answers == self.first
        for n, chunk in enumerate(super()._stream(*args, **kwargs)):
            while is_endless and n >= self.words:
                time.sleep(0.02)
                yield ChatGenerationChunk(message=AIMessageChunk(content=" more"))
            yield chunk
