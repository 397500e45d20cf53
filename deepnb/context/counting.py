"""Counting a request by part: each message once, with the best counter there is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.context.approximate import approximate
from deepnb.engine.request import IMAGE, message_pieces, thinking_text, tool_name, tool_text
from deepnb.values.budget import PARTS, Budget, Rule
from deepnb.values.request import Request, Sent


@dataclass(frozen=True)
class Counter:
    """How tokens are counted; `exact` is False for an approximation."""

    count: Callable[[str], int]
    exact: bool
    name: str


BY_SCRIPT = Counter(approximate, exact=False, name="by script")

_TEXTS = 4_000_000
"""Characters of tool schemas and system prompts that are remembered."""
_SPARE = 2_048
"""Messages that are remembered beyond twice those of the longest request."""


class Meter:
    """Counts requests by part; what was counted once is not counted again.

    `better` gives another counter once there is one. From then on all is counted with it, what was
    counted before included.
    """

    def __init__(self, counter: Counter, rule: Rule, better: Callable[[], Counter | None] | None = None) -> None:
        self.rule = rule
        self.unseen = ""
        """What of each request can't be seen, in one line."""
        self._better = better
        self._memo = _Memo(counter)

    @property
    def counter(self) -> Counter:
        """The counter in use."""
        return self._current().counter

    @counter.setter
    def counter(self, counter: Counter) -> None:
        self._memo = _Memo(counter)

    def count(self, text: str) -> int:
        """Tokens of a text, by the counter in use."""
        return self._current().text("", "", text, 0).tokens

    def answer(self, message: BaseMessage) -> int:
        """Tokens of what a model answered: its text, its calls and what it thought."""
        memo = self._current()
        thought = thinking_text(message)
        return sum(piece.tokens for piece in memo.message(message)) + (memo.counter.count(thought) if thought else 0)

    def budget(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> Budget:
        """What a request costs, by part."""
        return self.measured(messages, tools)[0]

    def measured(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any], last: Request | None = None
    ) -> tuple[Budget, Request]:
        """What a request costs, and its pieces, shared with those of the request before it."""
        memo = self._current()
        body = memo.body([m for m in messages if m.type != "system"])
        head = (*memo.tools(tools), *memo.system([m for m in messages if m.type == "system"]))
        request = _shared(head, body, last or Request())
        memo.trim(len(messages))
        parts = dict.fromkeys(PARTS, 0)
        exact = memo.counter.exact
        for piece in request:
            parts[piece.part] += piece.tokens
            exact = exact and piece.label != IMAGE
        return Budget(parts, self.rule, len(body), exact, unseen=self.unseen), request

    def _current(self) -> _Memo:
        memo = self._memo
        if self._better is not None and not memo.counter.exact and (better := self._better()) is not None:
            memo = self._memo = _Memo(better)
        return memo


@dataclass
class _Memo:
    """What one counter has counted. Messages go by id and what they hold, all else by its text."""

    counter: Counter
    messages: dict[str, tuple[BaseMessage, tuple[Any, ...], tuple[Sent, ...]]] = field(default_factory=dict)
    """Id -> the message, what of it is counted, its pieces."""
    offers: deque[tuple[tuple[Any, ...], tuple[Sent, ...]]] = field(default_factory=lambda: deque(maxlen=4))
    """The tools of the last requests, as objects and as providers are sent them, and their pieces."""
    prompts: deque[tuple[list[Any], tuple[Sent, ...]]] = field(default_factory=lambda: deque(maxlen=4))
    """The system prompts of the last requests, which have no ids: what they hold, and their pieces."""
    schemas: dict[tuple[str, type], tuple[Any, Any, Sent]] = field(default_factory=dict)
    """(name, type) of a tool -> what tells that it is the same one, the tool, its piece."""
    texts: dict[tuple[str, str, str, int], Sent] = field(default_factory=dict)
    room: int = _TEXTS
    longest: int = 0

    def message(self, message: BaseMessage) -> tuple[Sent, ...]:
        """One message in pieces."""
        return self.body((message,))[0]

    def body(self, messages: Sequence[BaseMessage]) -> list[tuple[Sent, ...]]:
        """Messages in pieces; each count asks for all of a thread: of one that was met before nothing is called."""
        found = []
        for message in messages:
            known = self.messages.get(message.id or "")
            if known is None or known[0] is not message:  # a turn decodes its messages once, and they are new objects
                source, calls = message.additional_kwargs.get("lc_source"), getattr(message, "tool_calls", None)
                facts = (message.content, message.type, message.name, source, calls)
                if known is not None and known[1] == facts:
                    pieces = known[2]
                else:
                    make = self._sent if message.id else self.text
                    pieces = tuple(make(p.part, p.label, p.text, p.extra) for p in message_pieces(message))
                known = (message, facts, pieces)
                if message.id:
                    self.messages[message.id] = known
            found.append(known[2])
        return found

    def system(self, messages: Sequence[BaseMessage]) -> tuple[Sent, ...]:
        """The system prompt of a request in pieces; while it is the same as in one before it, it is not cut again."""
        contents = [message.content for message in messages]
        for given, pieces in tuple(self.prompts):
            if given == contents:
                return pieces
        pieces = tuple(piece for message in self.body(messages) for piece in message)
        self.prompts.appendleft((contents, pieces))
        return pieces

    def tools(self, tools: Sequence[Any]) -> tuple[Sent, ...]:
        """The bound tools of a request; while they are the same as in one before it, none is looked at."""
        for given, pieces in tuple(self.offers):
            if len(given) == len(tools) and all(
                a is b or (type(a) is type(b) is dict and a == b) for a, b in zip(given, tools, strict=True)
            ):
                return pieces
        pieces = tuple(map(self._tool, tools))
        self.offers.appendleft((tuple(tools), pieces))
        return pieces

    def _tool(self, tool: Any) -> Sent:
        """One bound tool. Its schema is written once, though upstream copies tools, and providers' dicts, at each call."""
        name, arguments = tool_name(tool), getattr(tool, "args_schema", None)
        same = tool if isinstance(tool, Mapping) else (tool.description, id(arguments)) if arguments else id(tool)
        known = self.schemas.get((name, type(tool)))
        if known is None or known[0] != same:
            sent = self.text("tools", name, tool_text(tool), 0)
            known = self.schemas[name, type(tool)] = (same, tool, sent)
        return known[2]

    def trim(self, length: int) -> None:
        """Forget the oldest once there are more messages than any thread in use can hold."""
        self.longest = max(self.longest, length)
        if len(self.messages) > (most := 2 * self.longest + _SPARE):
            for id_ in list(self.messages)[: len(self.messages) - most // 2]:
                self.messages.pop(id_, None)

    def text(self, part: str, label: str, text: str, extra: int) -> Sent:
        """A stretch of text with its tokens, which are remembered."""
        key = (part, label, text, extra)
        if (known := self.texts.get(key)) is None:
            self.room -= len(text)
            if self.room < 0:
                self.texts.clear()
                self.room = _TEXTS - len(text)
            known = self.texts[key] = self._sent(*key)
        return known

    def _sent(self, part: str, label: str, text: str, extra: int) -> Sent:
        return Sent(part, label, text, self.counter.count(text) + extra)


def _shared(head: tuple[Sent, ...], body: Sequence[tuple[Sent, ...]], last: Request) -> Request:
    kept = 0
    for old, new in zip(last.body, body, strict=False):
        if old is not new and old != new:
            break
        kept += 1
    return Request(last.head if head == last.head else head, last.body.replace_from(kept, body[kept:]))
