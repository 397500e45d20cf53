"""A teaching model that talks until it is interrupted, so that an interrupt always meets it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

from deepnb.models.teaching import TeachingModel


class Endless(TeachingModel):
    """Its first answer has no end."""

    words: int = 8
    """After so many words of the answer the same word follows for ever."""
    _is_over: bool = PrivateAttr(False)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        is_endless, self._is_over = not self._is_over, True
        for n, chunk in enumerate(super()._stream(*args, **kwargs)):
            while is_endless and n >= self.words:
                time.sleep(0.02)
                yield ChatGenerationChunk(message=AIMessageChunk(content=" more"))
            yield chunk
