"""A chat model's server on loopback with scripted answers, whatever the protocol; keeps requests."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

_PATIENCE = 30.0  # seconds after which an answer that is held goes on, so that no test hangs


@dataclass(frozen=True)
class Say:
    text: str
    cached: int = 0


@dataclass(frozen=True)
class Think:
    """What a model thinks before it answers, with what the provider wants back word for word."""

    text: str
    signature: str = "signed"


@dataclass(frozen=True)
class Use:
    """A tool call whose arguments come in fragments of `size` characters; a text is sent as it is."""

    name: str
    args: dict[str, Any] | str
    id: str = "call_1"
    size: int = 7


@dataclass(frozen=True)
class Block:
    """A block of an answer (Anthropic), or an item of one (Responses), as it stands."""

    block: dict[str, Any]


@dataclass(frozen=True)
class Fail:
    status: int
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""  # what the provider calls the error; empty for what goes with the status
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    body: bytes


@dataclass(frozen=True)
class Cut:
    """An answer whose connection breaks off after some of its events, or words; with no event, before its status is sent."""

    answer: Any
    events: int = 0
    words: int = 0


@dataclass(frozen=True)
class Hold:
    """An answer that stops after some of its events, or words, until the gate is opened."""

    answer: Any
    events: int = 0
    words: int = 0
    gate: threading.Event = field(default_factory=threading.Event)


def free_port() -> int:
    """A port of loopback that nothing listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Quiet(BaseHTTPRequestHandler):
    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A client that has gone away is nothing to report."""


@contextmanager
def serving(handler: type[Quiet]) -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class ChatServer:
    """Use it as a context manager; answers are given in order, the last one is repeated.

    An answer that is a function is given the request, and gives the answer; a list is one answer of several blocks.
    """

    answers: list[Any]
    requests: list[dict[str, Any]] = field(default_factory=list)
    pages: dict[str, Any] = field(default_factory=dict)  # path -> what a GET of it gives; a number is a status
    asked: list[str] = field(default_factory=list)
    address: str = field(default="", init=False)

    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        raise NotImplementedError

    def opening(self, request: dict[str, Any]) -> int:
        """Events before the first word of an answer in text."""
        raise NotImplementedError

    def _count(self, answer: Cut | Hold, request: dict[str, Any]) -> int:
        return answer.events or (self.opening(request) + answer.words if answer.words else 0)

    def _take(self, request: dict[str, Any], handler: BaseHTTPRequestHandler) -> Any:
        key = handler.headers.get("authorization") or handler.headers.get("x-api-key") or ""
        self.requests.append({**request, "path": handler.path, "key": key})
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return answer(request) if callable(answer) else answer

    def _pieces(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes | None]:
        """The events of a response; None is where it breaks off."""
        if isinstance(answer, Cut):
            yield from islice(self._pieces(answer.answer, request), self._count(answer, request))
            yield None
        elif isinstance(answer, Hold):
            pieces = self._pieces(answer.answer, request)
            yield from islice(pieces, self._count(answer, request))
            answer.gate.wait(_PATIENCE)
            yield from pieces
        else:
            yield from self.body(answer, request)

    def __enter__(self) -> Any:
        outer = self

        class Handler(Quiet):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.asked.append(self.path)
                page = outer.pages.get(self.path, 404)
                body = json.dumps(page).encode()
                self.send_response_only(page if isinstance(page, int) else 200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.close_connection = True
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = outer._take(body, self)
                if isinstance(answer, Cut) and not outer._count(answer, body):
                    return
                self._begin(answer)
                for piece in outer._pieces(answer, body):
                    if piece is None:
                        return
                    self.chunk(piece)
                self.wfile.write(b"0\r\n\r\n")

            def _begin(self, answer: Any) -> None:
                failed = isinstance(answer, Fail)
                self.send_response_only(answer.status if failed else 200)
                for name, value in (answer.headers if failed else {}).items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json" if failed else "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.send_header("connection", "close")
                self.end_headers()

        self._serving = serving(Handler)
        self.address = self._serving.__enter__()
        return self

    def __exit__(self, *how: Any) -> None:
        self._serving.__exit__(*how)


def words(text: str) -> Iterator[str]:
    for i, word in enumerate(text.split(" ")):
        yield word if i == 0 else f" {word}"


def fragments(call: Use) -> Iterator[str]:
    args = arguments(call)
    for i in range(0, len(args), call.size):
        yield args[i : i + call.size]


def arguments(call: Use) -> str:
    return call.args if isinstance(call.args, str) else json.dumps(call.args)


LEAST, STEP, LOOKBACK, MOST_MARKS = 1_024, 128, 20, 4


@dataclass(frozen=True)
class Cached:
    input: int
    read: int
    written: int = 0


class TooManyMarksError(ValueError):
    pass


def tokens(text: str) -> int:
    """Four characters each: a figure that both sides of a share are counted by."""
    return len(text) // 4


@dataclass
class PrefixCache:
    prompts: list[str] = field(default_factory=list)
    prefixes: dict[tuple[str, ...], int] = field(default_factory=dict)

    def by_prefix(self, prompt: str) -> Cached:
        alike = max((tokens(_common(prompt, old)) for old in self.prompts), default=0)
        self.prompts.append(prompt)
        return Cached(tokens(prompt), alike // STEP * STEP if alike >= LEAST else 0)

    def by_marks(self, blocks: Sequence[tuple[str, bool]]) -> Cached:
        """`blocks` are (content, whether it has a mark), tools first."""
        contents = tuple(text for text, _ in blocks)
        marks = [i + 1 for i, (_, marked) in enumerate(blocks) if marked]
        if len(marks) > MOST_MARKS:
            raise TooManyMarksError(
                f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
            )
        size = [sum(map(tokens, contents[:end])) for end in range(len(contents) + 1)]
        found = [
            size[end]
            for mark in marks
            for end in range(mark, max(mark - LOOKBACK, 0), -1)
            if contents[:end] in self.prefixes
        ]
        read = max(found, default=0)
        for mark in marks:
            if size[mark] >= LEAST:
                self.prefixes[contents[:mark]] = size[mark]
        written = max([size[mark] for mark in marks if size[mark] >= LEAST], default=0)
        return Cached(size[-1], read, max(written - read, 0))


def _common(a: str, b: str) -> str:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return a[:low]
