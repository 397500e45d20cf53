"""Servers of chat models on loopback with scripted answers, by the protocols of OpenAI and Anthropic; they keep requests."""

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

    def body(self, answer: list[Any], request: dict[str, Any]) -> Iterator[bytes]:
        raise NotImplementedError

    def failure(self, answer: Fail) -> dict[str, Any]:
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
        elif isinstance(answer, Raw):
            yield answer.body
        elif isinstance(answer, Fail):
            yield json.dumps(self.failure(answer)).encode()
        else:
            yield from self.body(answer if isinstance(answer, list) else [answer], request)

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


_KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


@dataclass
class OpenAIServer(ChatServer):
    cache: PrefixCache | None = None
    reports: int = 100
    details: bool = True

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def opening(self, request: dict[str, Any]) -> int:
        return 3 if "input" in request else 1

    def failure(self, answer: Fail) -> dict[str, Any]:
        kind = answer.kind or _KINDS.get(answer.status, "server_error")
        return {"error": {"message": answer.message, "type": kind, "code": kind, **answer.more}}

    def body(self, answer: list[Any], request: dict[str, Any]) -> Iterator[bytes]:
        sent = request["messages"] if "messages" in request else request["input"]
        prompt = [json.dumps(request.get("tools")), *map(json.dumps, sent)]
        seen = self.cache.by_prefix("".join(prompt)) if self.cache is not None else None
        cached = seen or Cached(self.reports, max((getattr(one, "cached", 0) for one in answer), default=0))
        if "input" in request:
            yield from responses(answer, cached, len(self.requests))
            return
        for chunk in _chunks(answer, cached):
            if not self.details and "usage" in chunk:
                del chunk["usage"]["prompt_tokens_details"]
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"


def _chunks(answer: list[Any], seen: Cached) -> Iterator[dict[str, Any]]:
    yield _chunk({"role": "assistant", "content": ""})
    calls = 0
    for one in answer:
        if isinstance(one, Say):
            yield from (_chunk({"content": piece}) for piece in words(one.text))
        elif isinstance(one, Use):
            yield from _call(calls, one)
            calls += 1
    yield _chunk({}, finish="tool_calls" if calls else "stop")
    usage = {
        "prompt_tokens": seen.input, "completion_tokens": 20, "total_tokens": seen.input + 20,
        "prompt_tokens_details": {"cached_tokens": seen.read},
    }  # fmt: skip
    yield {**_chunk({}), "choices": [], "usage": usage}


def _call(index: int, call: Use) -> Iterator[dict[str, Any]]:
    head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield _chunk({"tool_calls": [head]})
    for part in fragments(call):
        yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "some-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }  # fmt: skip


_HEAD = {"id": "resp_1", "object": "response", "created_at": 0, "model": "some-model", "error": None}
_MORE = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None}


def responses(answer: list[Any], seen: Cached, number: int) -> Iterator[bytes]:
    items: list[dict[str, Any]] = []
    for at, event in enumerate(_events(answer, seen, items, number)):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': at})}\n\n".encode()


def _events(answer: list[Any], seen: Cached, items: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    head = {**_HEAD, "id": f"resp_{number}"}
    begun = {**head, **_MORE, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": begun}
    for index, one in enumerate(answer):
        yield from _item(index, one, items, number)
    usage = {
        "input_tokens": seen.input, "input_tokens_details": {"cached_tokens": seen.read}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": seen.input + 20,
    }  # fmt: skip
    done = {**head, **_MORE, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _item(index: int, one: Any, items: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    if isinstance(one, Say):
        empty, deltas, whole = _message(index, one)
    elif isinstance(one, Block):
        empty, deltas, whole = one.block, [], one.block
    else:
        empty, deltas, whole = _function_call(index, one) if isinstance(one, Use) else _reasoning(index, one)
    whole = {**whole, "id": f"{whole['id']}_{number}"}
    empty = {**empty, "id": whole["id"]}
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    yield from ({**delta, "item_id": whole["id"], "output_index": index} for delta in deltas)
    yield {"type": "response.output_item.done", "output_index": index, "item": whole}
    items.append(whole)


Item = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]


def _message(index: int, say: Say) -> Item:
    part = {"type": "output_text", "text": "", "annotations": []}
    whole = {**part, "text": say.text}
    head = {"id": f"msg_{index}", "type": "message", "role": "assistant"}
    deltas: list[dict[str, Any]] = [{"type": "response.content_part.added", "content_index": 0, "part": part}]
    deltas += [
        {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": []}
        for piece in words(say.text)
    ]
    deltas.append({"type": "response.content_part.done", "content_index": 0, "part": whole})
    return ({**head, "status": "in_progress", "content": []}, deltas, {
        **head, "status": "completed", "content": [whole],
    })  # fmt: skip


def _function_call(index: int, use: Use) -> Item:
    head = {"id": f"fc_{index}", "type": "function_call", "name": use.name, "call_id": use.id}
    deltas = [{"type": "response.function_call_arguments.delta", "delta": part} for part in fragments(use)]
    whole = {**head, "status": "completed", "arguments": arguments(use)}
    return {**head, "status": "in_progress", "arguments": ""}, deltas, whole


def _reasoning(index: int, think: Think) -> Item:
    head = {"id": f"rs_{index}", "type": "reasoning"}
    part = {"type": "summary_text", "text": ""}
    deltas: list[dict[str, Any]] = [
        {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": part},
        *({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece}
          for piece in words(think.text)),
    ]  # fmt: skip
    summary = [{**part, "text": think.text}]
    whole = {**head, "summary": summary, "encrypted_content": think.signature}
    return {**head, "summary": []}, deltas, whole


@dataclass
class AnthropicServer(ChatServer):
    """Speaks Anthropic's messages, streamed; without a `cache` the answers say what was cached."""

    cache: PrefixCache | None = field(default_factory=PrefixCache)

    @property
    def url(self) -> str:
        return self.address

    def opening(self, request: dict[str, Any]) -> int:
        return 2

    def failure(self, answer: Fail) -> dict[str, Any]:
        kind = answer.kind or {**_KINDS, 529: "overloaded_error"}.get(answer.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": answer.message}}

    def body(self, answer: list[Any], request: dict[str, Any]) -> Iterator[bytes]:
        try:
            told = Cached(100, max(getattr(one, "cached", 0) for one in answer))
            seen = self.cache.by_marks(blocks(request)) if self.cache is not None else told
        except TooManyMarksError as error:
            failure = {"type": "invalid_request_error", "message": str(error)}
            yield _event({"type": "error", "error": failure})
            return
        yield from map(_event, _of_messages(answer, seen, len(self.requests)))


def blocks(request: dict[str, Any]) -> list[tuple[str, bool]]:
    """(content, whether it has a mark) in the order in which they are cached; a mark on the request is on its last block."""
    found = [*(request.get("tools") or ())]
    system = request.get("system") or []
    found += [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in request["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            inner = block.get("content")
            if isinstance(inner, str):  # text is short for one block of text
                block = {**block, "content": [{"type": "text", "text": inner}]}
            found.append({"role": message["role"], **block})
    marks = ["cache_control" in block for block in found]
    if "cache_control" in request and marks:
        marks[-1] = True
    bare = [{key: value for key, value in block.items() if key != "cache_control"} for block in found]
    return [(json.dumps(block, ensure_ascii=False), mark) for block, mark in zip(bare, marks, strict=True)]


def _of_messages(answer: list[Any], seen: Cached, number: int) -> Iterator[dict[str, Any]]:
    usage = {
        "input_tokens": seen.input - seen.read - seen.written, "cache_read_input_tokens": seen.read,
        "cache_creation_input_tokens": seen.written, "output_tokens": 1,
    }  # fmt: skip
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "some-model", "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    for i, one in enumerate(answer):
        yield from _block(i, one)
    stop = "tool_use" if any(isinstance(one, Use) for one in answer) else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {**usage, "output_tokens": 20}}
    yield {"type": "message_stop"}


def _block(index: int, answer: Say | Use | Think | Block) -> Iterator[dict[str, Any]]:
    if isinstance(answer, Say):
        start: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in words(answer.text)]
    elif isinstance(answer, Think):
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in words(answer.text)]
        deltas.append({"type": "signature_delta", "signature": answer.signature})
    elif isinstance(answer, Block):
        start, deltas = answer.block, []
    else:
        start = {"type": "tool_use", "id": answer.id, "name": answer.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in fragments(answer)]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
