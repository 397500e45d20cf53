"""Counting a request by part, each message once, with the best counter there is, and as high as its provider reports."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langchain_core.messages import BaseMessage

from deepnb.context.estimate import HIGH, HIGHEST, Rates, Reports, by_class, estimated
from deepnb.engine.request import IMAGE, message_pieces, thinking_text, tool_name, tool_text
from deepnb.values.budget import PARTS, Budget, Rule
from deepnb.values.request import Request, Sent, Tokens


@dataclass(frozen=True)
class Counter:
    """How tokens are counted; `exact` is False where they are those of another tokenizer than the model's, or of none."""

    count: Callable[[str], int]
    exact: bool
    name: str

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, before anything is known of the model."""
        count = self.count(text)
        return Tokens(count) if self.exact else estimated(text, count)


BY_CLASS = Counter(by_class, exact=False, name="by class")

_TEXTS = 4_000_000
"""Characters of tool schemas and system prompts that are remembered."""
_SPARE = 2_048
"""Messages that are remembered beyond twice those of the longest request."""


class Meter:
    """Counts requests by part; what was counted once is not counted again.

    `better` gives another counter once there is one. From then on all is counted with it, what was counted before
    included. What a counter that is not exact gives goes by `reports`, those of the model: counts change as soon as one
    proves that they were too low, or much too high. The tasks of an agent, and whoever shows a session, count at once.
    """

    def __init__(
        self,
        counter: Counter,
        rule: Rule,
        better: Callable[[], Counter | None] | None = None,
        reports: Callable[[Counter], Reports | None] = lambda counter: None,
    ) -> None:
        """`reports` gives those that are kept of a counter; without them the estimate stays as high as it is at first."""
        self.rule = rule
        self.unseen = ""
        """What of each request can't be seen, in one line."""
        self._better = better
        self._reports = reports
        self._lock = threading.RLock()
        self.counter = counter

    @property
    def counter(self) -> Counter:
        """The counter in use."""
        with self._lock:
            return self._current().counter

    @counter.setter
    def counter(self, counter: Counter) -> None:
        self._memo = _Memo(counter, self._reports(counter))

    def count(self, *texts: str) -> int:
        """Tokens of these texts, by the counter in use."""
        with self._lock:
            memo = self._current()
            return sum(memo.text("", "", text, 0).tokens for text in texts)

    def answer(self, message: BaseMessage) -> int:
        """Return tokens of what a model answered: its text, its calls and what it thought."""
        thought = thinking_text(message)
        told = self.count(thought) if thought else 0
        with self._lock:
            return sum(piece.tokens for piece in self._current().body((message,))[0]) + told

    def report(self, request: Request, tokens: int) -> None:
        """Learn from what a provider reported of a request that was measured here."""
        if (reports := self._memo.reports) is not None and not self._memo.counter.exact:
            reports.add(self._estimate(request), tokens)

    def is_cut(self, messages: Sequence[BaseMessage], tools: Sequence[Any], reported: int) -> bool:
        """Return whether a provider reported so little of a request that it can't have read all of it."""
        return reported * HIGHEST < self._estimate(self.measured(messages, tools)[1]).sure

    def _estimate(self, request: Request) -> Tokens:
        found = (piece.counted or self._memo.counter.tokens(piece.text) for piece in request)
        return Tokens(*map(sum, zip(Tokens(), *found, strict=True)))

    def budget(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> Budget:
        """Return what a request costs, by part."""
        return self.measured(messages, tools)[0]

    def measured(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any], last: Request | None = None
    ) -> tuple[Budget, Request]:
        """Return what a request costs, and its pieces, shared with those of the request before it."""
        with self._lock:
            memo = self._current()
            body = memo.body([m for m in messages if m.type != "system"])
            head = (*memo.tools(tools), *memo.system([m for m in messages if m.type == "system"]))
            memo.trim(len(messages))
        last = last or Request()
        kept = 0
        for old, new in zip(last.body, body, strict=False):
            if old is not new and old != new:
                break
            kept += 1
        request = Request(last.head if head == last.head else head, last.body.replace_from(kept, body[kept:]))
        parts = dict.fromkeys(PARTS, 0)
        exact = memo.counter.exact
        for piece in request:
            parts[piece.part] += piece.tokens
            exact = exact and piece.label != IMAGE
        return Budget(parts, self.rule, len(body), exact, unseen=self.unseen), request

    def _current(self) -> _Memo:
        used = self._memo.counter
        better = None if self._better is None or used.exact else self._better()
        if better is not None and better.name != used.name:
            self.counter = better
        self._memo.keep_up()
        return self._memo


@dataclass
class _Memo:
    """What one counter has counted. Messages go by id and what they hold, all else by its text."""

    counter: Counter
    reports: Reports | None = None
    rates: Rates = HIGH
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

    def keep_up(self) -> None:
        """Go by the rates that the reports prove by now: what was counted is not counted again, but weighed anew."""
        if self.reports is None or self.counter.exact or self.rates == (rates := self.reports.rates):
            return
        self.rates = rates

        def weighed(pieces: tuple[Sent, ...]) -> tuple[Sent, ...]:
            return tuple(replace(p, tokens=rates.of(p.counted)) if p.counted else p for p in pieces)

        self.messages = {id_: (*known[:2], weighed(known[2])) for id_, known in self.messages.items()}
        self.offers = deque(((given, weighed(pieces)) for given, pieces in self.offers), self.offers.maxlen)
        self.prompts = deque(((given, weighed(pieces)) for given, pieces in self.prompts), self.prompts.maxlen)
        self.schemas = {key: (*known[:2], *weighed(known[2:])) for key, known in self.schemas.items()}
        self.texts = {key: weighed((piece,))[0] for key, piece in self.texts.items()}

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
        if (known := self.schemas.get((name, type(tool)))) is None or known[0] != same:
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
        key = (part, label, text, extra)
        if (known := self.texts.get(key)) is None:
            self.room -= len(text)
            if self.room < 0:
                self.texts.clear()
                self.room = _TEXTS - len(text)
            known = self.texts[key] = self._sent(*key)
        return known

    def _sent(self, part: str, label: str, text: str, extra: int) -> Sent:
        counted = self.counter.tokens(text)
        if self.counter.exact:
            return Sent(part, label, text, int(counted.sure) + extra)
        counted = counted._replace(sure=counted.sure + extra)
        return Sent(part, label, text, self.rates.of(counted), counted)


# -- tiktoken's encodings, loaded behind the scenes: counting asks whether one is there and never waits
# Exact is said only of OpenAI's own chat models, by the name tiktoken knows them under. Every other provider has a
# tokenizer of its own, and o200k_base is then what an estimate begins with.
#
# A file of tiktoken's is fetched only for those models where they are remote, into tiktoken's cache, by a download of our
# own: tiktoken's has no time-out and is made while it holds a lock, so that a silent network would hang whoever else
# counts with tiktoken, for ever.

Download = Callable[[str], bytes]

_OPENAI = ("openai-chat", "azure-openai-chat")
"""LangChain's `_llm_type` of the models whose encodings tiktoken has."""
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
_AT = "https://openaipublic.blob.core.windows.net/encodings/"
FILES = {
    "o200k_base": (f"{_AT}o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "o200k_harmony": (f"{_AT}o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "cl100k_base": (f"{_AT}cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
}
"""Encoding -> where tiktoken has its file from, and the file's SHA-256."""


class NotAtHandError(LookupError):
    """The encoding is not in the cache, and was not to be fetched."""


def download(url: str, pause: float = 10.0) -> bytes:
    """Return the bytes at `url`; raise an error after `pause` seconds of silence."""
    import requests  # type: ignore[import-untyped]  # tiktoken brings it

    response = requests.get(url, timeout=pause)
    response.raise_for_status()
    return bytes(response.content)


class Encodings:
    """The encodings of a process, each loaded once, in a thread that nobody waits for."""

    def __init__(self, fetch: Download | None = None) -> None:
        """`fetch` takes the place of `download`."""
        self._fetch = fetch
        self._lock = threading.Lock()
        self._ready: dict[str, Any] = {}
        self._begun: dict[tuple[str, bool], threading.Thread] = {}

    def begin(self, model: str, *, fetch: bool) -> None:
        """Start loading the encoding of an OpenAI model, or with no name o200k_base; returns at once, and loads each once."""
        with self._lock:
            if (model, fetch) in self._begun or model in self._ready:
                return
            thread = threading.Thread(target=self._load, args=(model, fetch), daemon=True, name="deepnb-encoding")
            self._begun[model, fetch] = thread
            thread.start()

    def counter(self, model: str) -> Counter | None:
        """Return how to count for a model, once its encoding is there."""
        return self._ready.get(model)

    def _load(self, model: str, fetch: bool) -> None:
        with suppress(Exception):  # without it, counts stay those by class, and say that they are estimates
            from tiktoken.model import encoding_name_for_model

            name, exact = "o200k_base", False
            with suppress(KeyError):  # behind a name of its own another provider's model can stand
                name, exact = encoding_name_for_model(model), True
            encoding = load(name, (self._fetch or download) if fetch and exact else None)
            shown = "tiktoken" if exact else name
            self._ready[model] = Counter(lambda text: len(encoding.encode_ordinary(text)), exact, shown)


ENCODINGS = Encodings()


def encoding_of(model: Any, encodings: Encodings | None = None) -> Callable[[], Counter | None]:
    """Begin to load the encoding that a chat model is counted with; gives what asks whether it is there."""
    known = encodings or ENCODINGS
    name = getattr(model, "model_name", None)
    if getattr(model, "_llm_type", "") not in _OPENAI or not isinstance(name, str):
        name = ""
    base = getattr(model, "openai_api_base", None) or os.environ.get("OPENAI_BASE_URL") or ""
    known.begin(name, fetch=urlsplit(str(base)).hostname not in _LOCAL)
    return lambda: known.counter(name)


def load(name: str, fetch: Download | None = None) -> Any:
    """Return a `tiktoken.Encoding`, its file cached or fetched into the cache; NotAtHandError where there is neither."""
    import tiktoken

    url, expected = FILES.get(name, ("", ""))
    place = cached_at(url)
    if not url or place is None:
        raise NotAtHandError(name)
    if not _is_right(place, expected):
        if fetch is None:
            raise NotAtHandError(url)
        written = place.with_name(f"{place.name}.{uuid.uuid4()}.tmp")
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(fetch(url))
        if not _is_right(written, expected):
            written.unlink()
            raise ValueError(f"what came from {url} is not what tiktoken expects")
        written.replace(place)
    return tiktoken.get_encoding(name)


def cached_at(url: str) -> Path | None:
    """Return where tiktoken keeps a file it has fetched; None where it is told to keep none."""
    usual = os.environ.get("DATA_GYM_CACHE_DIR", os.path.join(tempfile.gettempdir(), "data-gym-cache"))
    place = os.environ.get("TIKTOKEN_CACHE_DIR", usual)
    return Path(place) / sha1(url.encode()).hexdigest() if place else None


def _is_right(place: Path, expected: str) -> bool:
    with suppress(OSError):
        return sha256(place.read_bytes()).hexdigest() == expected
    return False
