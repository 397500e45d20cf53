"""Counting a request by part, each message once, with the best counter there is: tiktoken as soon as it is loaded."""

from __future__ import annotations

import base64
import os
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any
from urllib.parse import urlsplit

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
        """Return tokens of what a model answered: its text, its calls and what it thought."""
        memo = self._current()
        thought = thinking_text(message)
        return sum(piece.tokens for piece in memo.message(message)) + (memo.counter.count(thought) if thought else 0)

    def budget(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> Budget:
        """Return what a request costs, by part."""
        return self.measured(messages, tools)[0]

    def measured(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any], last: Request | None = None
    ) -> tuple[Budget, Request]:
        """Return what a request costs, and its pieces, shared with those of the request before it."""
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
        """Return one message in pieces."""
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
        """Return the bound tools of a request; while they are the same as in one before it, none is looked at."""
        for given, pieces in tuple(self.offers):
            if len(given) == len(tools) and all(
                a is b or (type(a) is type(b) is dict and a == b) for a, b in zip(given, tools, strict=True)
            ):
                return pieces
        pieces = tuple(map(self._tool, tools))
        self.offers.appendleft((tuple(tools), pieces))
        return pieces

    def _tool(self, tool: Any) -> Sent:
        """Return one bound tool. Its schema is written once, though upstream copies tools, and providers' dicts, at each call."""
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


# -- tiktoken's encodings, loaded behind the scenes: counting asks whether one is there and never waits
# Exact is said only of OpenAI's own chat models, by the name tiktoken knows them under: every other
# provider has a tokenizer of its own, and o200k_base would count too little for some. Those are
# counted by script.
#
# An encoding already in tiktoken's cache directory is loaded from there. It is fetched only where its
# model is a remote one, by a download of our own: tiktoken's has no time-out and is made while it
# holds a lock, so that a silent network would hang whoever else counts with tiktoken, for ever.

Download = Callable[[str], bytes]

_OPENAI = ("openai-chat", "azure-openai-chat")
"""LangChain's `_llm_type` of the models whose encodings tiktoken has."""
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
_LARGEST = 50_000_000
"""Bytes; the largest encoding has some 4 million."""


class NotAtHandError(LookupError):
    """The encoding is not in the cache, and was not to be fetched."""


def download(url: str, pause: float = 10.0, limit: float = 120.0) -> bytes:
    """Return the bytes at `url`; a TimeoutError after `pause` seconds of silence, or `limit` seconds in all."""
    import ssl
    from urllib.request import urlopen

    context = ssl.create_default_context()
    with suppress(ImportError):
        import certifi

        context.load_verify_locations(certifi.where())
    until, got = time.monotonic() + limit, bytearray()
    with urlopen(url, timeout=pause, context=context) as response:
        while block := response.read1(1 << 16):
            got += block
            if time.monotonic() > until or len(got) > _LARGEST:
                raise TimeoutError(f"{len(got):,} bytes were all that came")
    return bytes(got)


class Encodings:
    """The encodings of a process, each loaded once, in a thread that nobody waits for."""

    def __init__(self, fetch: Download | None = None) -> None:
        """`fetch` takes the place of `download`."""
        self._fetch = fetch
        self._lock = threading.Lock()
        self._ready: dict[str, Any] = {}
        self._begun: dict[tuple[str, bool], threading.Thread] = {}

    def begin(self, model: str, *, fetch: bool) -> None:
        """Start loading the encoding of an OpenAI model, if that was not begun before; returns at once."""
        with self._lock:
            if (model, fetch) in self._begun or model in self._ready:
                return
            thread = threading.Thread(target=self._load, args=(model, fetch), daemon=True, name="deepnb-encoding")
            self._begun[model, fetch] = thread
            thread.start()

    def counter(self, model: str) -> Callable[[str], int] | None:
        """Return how to count for a model, once its encoding is there."""
        return self._ready.get(model)

    def settled(self, seconds: float = 60.0) -> bool:
        """Wait for what was begun; whether all of it has ended. For tests and tools: counting never does."""
        for thread in tuple(self._begun.values()):
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._begun.values())

    def _load(self, model: str, fetch: bool) -> None:
        with suppress(Exception):  # without it, counts stay approximate, and say so
            from tiktoken.model import encoding_name_for_model

            encoding = load(encoding_name_for_model(model), (self._fetch or download) if fetch else None)
            self._ready[model] = lambda text: len(encoding.encode_ordinary(text))


ENCODINGS = Encodings()


def encoding_of(model: Any, encodings: Encodings | None = None) -> Callable[[], Callable[[str], int] | None] | None:
    """Begin to load the encoding of a chat model; gives what asks whether it is there, None if it has none."""
    known = encodings or ENCODINGS
    name = getattr(model, "model_name", None)
    if getattr(model, "_llm_type", "") not in _OPENAI or not isinstance(name, str):
        return None
    base = getattr(model, "openai_api_base", None) or os.environ.get("OPENAI_BASE_URL") or ""
    known.begin(name, fetch=urlsplit(str(base)).hostname not in _LOCAL)
    return lambda: known.counter(name)


def load(name: str, fetch: Download | None = None) -> Any:
    """Return a `tiktoken.Encoding` made from the cached file, or from a fetched one; NotAtHandError where there is neither.

    tiktoken's own recipe for the encoding is run, with our reading of the file in the place of its.
    """
    import tiktoken

    recipes = import_module("tiktoken_ext.openai_public")
    if (made := tiktoken.registry.ENCODINGS.get(name)) is not None:
        return made

    def ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        lines = _file(url, expected_hash, fetch).splitlines()
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, filter(None, lines))}

    def no_ranks(*_: Any, **__: Any) -> Any:
        raise NotAtHandError("encodings of GPT-2's time are not loaded")

    ours: dict[str, Any] = {**vars(recipes), "load_tiktoken_bpe": ranks, "data_gym_to_mergeable_bpe_ranks": no_ranks}
    for recipe in recipes.ENCODING_CONSTRUCTORS.values():
        ours[recipe.__name__] = FunctionType(recipe.__code__, ours)
    return tiktoken.Encoding(**ours[recipes.ENCODING_CONSTRUCTORS[name].__name__]())


def cached_at(url: str) -> Path | None:
    """Return where tiktoken keeps a file it has fetched; None where it is told to keep none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if (place := os.environ.get(variable)) is not None:
            return Path(place) / sha1(url.encode()).hexdigest() if place else None
    return Path(tempfile.gettempdir()) / "data-gym-cache" / sha1(url.encode()).hexdigest()


def _file(url: str, expected: str | None, fetch: Download | None) -> bytes:
    """Return the file at `url`, from the cache or fetched into it; only ever one with the right hash."""
    place = cached_at(url)
    with suppress(OSError):
        if place is not None and _is_right(data := place.read_bytes(), expected):
            return data
    if fetch is None:
        raise NotAtHandError(url)
    data = fetch(url)
    if not _is_right(data, expected):
        raise ValueError(f"what came from {url} is not what tiktoken expects")
    with suppress(OSError):
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            written = place.with_name(f"{place.name}.{uuid.uuid4()}.tmp")
            written.write_bytes(data)
            written.replace(place)
    return data


def _is_right(data: bytes, expected: str | None) -> bool:
    return expected is None or sha256(data).hexdigest() == expected
