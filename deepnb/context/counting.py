"""Counting tokens: exactly where a tokenizer is at hand, else by script, erring high."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.core.budget import PARTS, Budget, Rule
from deepnb.engine.request import Piece, message_pieces, tool_text


@dataclass(frozen=True)
class Counter:
    """How tokens are counted; `exact` is False for an approximation."""

    count: Callable[[str], int]
    exact: bool
    name: str


_WORD = re.compile(r"[A-Za-z]+|[0-9]+|[^\W\d_A-Za-z]+|\n+|[^\w\s]|_| {2,}")


@lru_cache(maxsize=4096)
def approximate(text: str) -> int:
    """About how many tokens `text` has, by script: errs high, as a budget should."""
    total = 0.0
    for word in _WORD.findall(text):
        first = word[0]
        if first.isascii():
            total += -(-len(word) // 5) if first.isalpha() else -(-len(word) // 3) if first.isdigit() else 1
        else:
            total += 1.1 * len(word)
    return int(total) + 1 if text else 0


BY_SCRIPT = Counter(approximate, exact=False, name="by script")


class Meter:
    """Counts requests by part; a message counted once is not counted again."""

    def __init__(self, counter: Counter, rule: Rule) -> None:
        self.counter = counter
        self.rule = rule
        self._messages: dict[str, tuple[tuple[Any, ...], tuple[tuple[str, int], ...]]] = {}
        self._tools: dict[int, tuple[Any, int]] = {}

    def budget(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> Budget:
        """What a request costs, by part."""
        parts = dict.fromkeys(PARTS, 0)
        for message in messages:
            for part, tokens in self._message(message):
                parts[part] += tokens
        parts["tools"] += sum(map(self._tool, tools))
        return Budget(parts, self.rule, sum(m.type != "system" for m in messages), self.counter.exact)

    def total(self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        """Tokens of messages and tools: a token counter as LangChain's middleware takes it."""
        return self.budget(messages, tools or ()).total

    def _message(self, message: BaseMessage) -> tuple[tuple[str, int], ...]:
        if not message.id:
            return self._counted(message)
        print_ = (message.content, getattr(message, "tool_calls", None))
        known = self._messages.get(message.id)
        if known is None or known[0] != print_:
            known = self._messages[message.id] = (print_, self._counted(message))
        return known[1]

    def _counted(self, message: BaseMessage) -> tuple[tuple[str, int], ...]:
        return tuple((p.part, self._piece(p)) for p in message_pieces(message))

    def _piece(self, piece: Piece) -> int:
        return self.counter.count(piece.text) + piece.extra

    def _tool(self, tool: Any) -> int:
        known = self._tools.get(id(tool))
        if known is None or known[0] is not tool:
            if len(self._tools) > 512:
                self._tools.clear()
            known = self._tools[id(tool)] = (tool, self.counter.count(tool_text(tool)))
        return known[1]
