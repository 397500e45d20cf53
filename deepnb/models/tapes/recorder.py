"""Recording a tape: requests, answers and failures of a provider as a tape has them, and back, as they happen.

Left out is what only a provider needs (marks for a cache, signatures of thoughts, parameters of tools in its own form),
and ids that tie a result to its call: the results stand behind it in the order of the calls.
"""

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from langchain_core import exceptions
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.exceptions import ModelError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import LLMResult

from deepnb.engine import keys
from deepnb.engine.request import message_text, reserve_of, tool_name
from deepnb.models.keys import guard_environment
from deepnb.models.tapes import tape
from deepnb.values.errors import DeepnbError, RefusedError
from deepnb.values.failures import body_of, causes, host_of, status_of
from deepnb.values.files import make_folder
from deepnb.values.text import as_word, short_repr

_LOG = logging.getLogger("deepnb")
_ROLES = {"human": "user", "ai": "assistant"}
_MEDIA = ("image", "image_url", "audio", "input_audio", "video", "file")


def messages_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the messages as JSON: role, text, calls as (name, arguments), and images and other media by digest."""
    found = []
    for message in messages:
        made: dict[str, Any] = {"role": _ROLES.get(message.type, message.type), "text": message_text(message)}
        if isinstance(message, AIMessage):
            calls = [[call["name"], call["args"]] for call in message.tool_calls]
            calls += [[call["name"] or "", call["args"] or ""] for call in message.invalid_tool_calls]
            made |= {"calls": calls} if calls else {}
        blocks = message.content if isinstance(message.content, list) else ()
        media = [_digest(one) for one in blocks if isinstance(one, Mapping) and one.get("type") in _MEDIA]
        found.append({**made, **({"images": media} if media else {})})
    return found


def _digest(block: Mapping[str, Any]) -> str:
    """Return the digest of an image or other medium, in whichever form: a callback is given images in OpenAI's."""
    inner = block.get(str(block["type"]))
    fields = {**block, **inner} if isinstance(inner, Mapping) else block
    data = str(next((fields[key] for key in ("base64", "data", "url", "file_id") if fields.get(key)), ""))
    return blake2b((data.partition(";base64,")[2] or data).encode(), digest_size=9).hexdigest()


def tools_of(tools: Sequence[Any]) -> list[tuple[str, str]]:
    """Return (name, description) of the tools that are bound."""
    found = []
    for entry in tools:
        declared = entry.get("function_declarations") if isinstance(entry, Mapping) else None
        for tool in declared if isinstance(declared, list) else [entry]:  # Google's entry holds several
            if isinstance(tool, Mapping):
                inner = tool.get("function", tool)
                said = inner.get("description") if isinstance(inner, Mapping) else None
            else:
                said = getattr(tool, "description", None) or getattr(tool, "__doc__", None)
            found.append((tool_name(tool), str(said or "")))
    return found


def form_of(tool: Any) -> str:
    """Name the provider whose form a tool's schema is in."""
    return "anthropic" if isinstance(tool, Mapping) and "input_schema" in tool else "openai"


def in_form(tool: Mapping[str, Any], form: str) -> Mapping[str, Any]:
    """Return a tool in OpenAI's form, in another."""
    if form != "anthropic":
        return tool
    function = tool["function"]
    return {
        "name": function["name"],
        "input_schema": function.get("parameters", {}),
        "description": function.get("description", ""),
    }


# -- The pieces of an answer as JSON: from LangChain's chunks and back, and without a credential that goes over several

_METADATA = ("finish_reason", "stop_reason", "stop_sequence", "model_name", "model_provider", "status")
"""What is kept of `response_metadata`: a provider may put headers there."""
_MORE = ("reasoning_content",)  # what is kept of `additional_kwargs`
_CALL = ("name", "args", "id", "index")


def piece_of(message: AIMessage) -> dict[str, Any]:
    """Return a chunk of an answer, or a whole one, without its ids; empty where nothing is in it."""
    made: dict[str, Any] = {}
    if message.content:
        made["text" if isinstance(message.content, str) else "content"] = message.content
    chunks: Sequence[Mapping[str, Any]] = getattr(message, "tool_call_chunks", ())
    if not isinstance(message, AIMessageChunk):
        written = [(call, json.dumps(call["args"])) for call in message.tool_calls]
        written += [(call, call["args"] or "") for call in message.invalid_tool_calls]  # type: ignore[misc]
        chunks = [{**call, "args": args, "index": i} for i, (call, args) in enumerate(written)]
    if calls := [{key: call[key] for key in _CALL if call.get(key) is not None} for call in chunks]:
        made["calls"] = calls
    if message.usage_metadata:
        made["usage"] = dict(message.usage_metadata)
    about = {"metadata": (message.response_metadata, _METADATA), "more": (message.additional_kwargs, _MORE)}
    for name, (fields, kept) in about.items():
        if found := {key: fields[key] for key in kept if fields.get(key)}:
            made[name] = found
    return made


def chunk_of(piece: Mapping[str, Any]) -> AIMessageChunk:
    """Return the chunk that a piece was made of; its lists and mappings are its own, since LangChain writes into them."""
    own = json.loads(json.dumps(piece))
    calls = [{**dict.fromkeys(_CALL), "type": "tool_call_chunk", **call} for call in own.get("calls", ())]
    return AIMessageChunk(
        content=own.get("content", own.get("text", "")),
        tool_call_chunks=calls,  # type: ignore[arg-type]
        usage_metadata=own.get("usage"),
        response_metadata=own.get("metadata", {}),
        additional_kwargs=own.get("more", {}),
    )


def without_credentials(pieces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pieces; where a credential is in what they say together, that without it, and empty ones."""
    own: list[dict[str, Any]] = json.loads(json.dumps(pieces, default=str))
    if not own:
        return own
    said = "".join(piece.get("text", "") for piece in own)
    first, *rest = (chunk_of({**piece, "text": ""}) for piece in own)
    whole = piece_of(first + rest)
    parts = [{"text": said}, whole] if said and "content" in whole else [{"text": said} | whole if said else whole]
    made = json.loads(json.dumps(parts))
    blocks = (block for block in made[-1].get("content", ()) if isinstance(block, dict))
    for part in (*made[-1].get("calls", ()), *blocks):
        for name in ("args", "partial_json", "arguments"):
            if not isinstance(text := part.get(name), str):
                continue
            try:  # by the names that they are given to, where they are JSON
                value = json.loads(text)
            except ValueError:
                part[name] = str(tape.clean(text))
            else:
                new = tape.clean(value)
                part[name] = text if new == value else json.dumps(new, ensure_ascii=False)
    made = tape.clean(made)
    return own if made == parts else [*made, *({} for _ in own[len(made) :])]


# -- A failed request on a tape: what else asks an exception for, as JSON, and an exception that answers the same
# Kept are names of classes, the status, the provider's own words and how long it asks to wait; of headers nothing else.

_MESSAGE = 2_000  # characters of a text that are kept
_WAITS = ("retry-after", "retry-after-ms")
_BODY = ("message", "type", "code")


class RecordedError(Exception):
    """An error that was recorded; its class has the name of the one it was."""

    is_played = True  # whether the next try need not wait: it is on the tape


def error_of(error: BaseException) -> dict[str, Any]:
    """Return what is kept of an error, and of those that led to it."""
    chain = list(causes(error))
    made: dict[str, Any] = {"type": type(error).__name__, "message": str(error)[:_MESSAGE]}
    kinds = [kind for one in chain for kind in type(one).__mro__ if kind.__module__ != "builtins"]
    known = (kind.__name__ for kind in kinds if issubclass(kind, ModelError) and hasattr(exceptions, kind.__name__))
    if kind := next(known, None):
        made["kind"] = kind
    if names := [name for name in dict.fromkeys(k.__name__ for k in kinds) if name not in (kind, made["type"])]:
        made["names"] = names
    for one in chain:
        body, headers = body_of(one), getattr(getattr(one, "response", None), "headers", None) or {}
        waits = {name: str(headers.get(name, "")) for name in _WAITS}
        told = {
            "status": status_of(one),
            "body": {key: text[:_MESSAGE] for key in _BODY if isinstance(text := body.get(key), str)},
            "wait": {name: text for name, text in waits.items() if re.fullmatch(r"\d+(?:\.\d+)?", text)},
            "at": host_of(one),
        }
        made = {name: value for name, value in told.items() if value} | made
    return made


def recorded(error: Mapping[str, Any]) -> Exception:
    """Return the error of a request that failed when it was recorded."""
    kind = getattr(exceptions, str(error.get("kind")), None)
    known = (kind,) if isinstance(kind, type) and issubclass(kind, ModelError) else ()
    others = tuple(_class(name) for name in error.get("names", ()) if not hasattr(exceptions, str(name)))
    made: Any = _class(error.get("type"), RecordedError, *known, *others)(error.get("message", ""))
    made.status_code, made.body = error.get("status"), {"error": dict(error.get("body", {}))}
    made.response = SimpleNamespace(headers=dict(error.get("wait", {})), status_code=error.get("status"))
    if at := error.get("at"):
        host, _, port = str(at).partition(":")
        made.request = SimpleNamespace(url=SimpleNamespace(host=host, port=int(port) if port.isdecimal() else None))
    failed: Exception = made
    return failed


def _class(name: Any, *bases: type) -> type:
    return type(str(name) if str(name).isidentifier() else "RecordedError", bases or (Exception,), {})


# -- Recording: a model is given a callback, and stays what it is for its provider
# The callback sees the final request, after all middleware, of the main agent, its subagents, summaries and flushes alike.


class Recording:
    """A tape that is being recorded. Every exchange is in the file, mode 0600, as soon as it has ended."""

    def __init__(
        self, file: Path, now: Callable[[], str], note: str = "", *, overwrite: bool = False, name: str | Path = ""
    ) -> None:
        """`now` gives the time as an ISO timestamp; a file that exists is an error, unless `overwrite`. Lines call the
        file by its `name`, so that a saved notebook has no path of its machine."""
        self.file = file
        self.name = str(name or file)
        self.requests = 0
        """How many have been recorded."""
        self.active = True
        """Whether it goes on."""
        self.problem: str | None = None
        """Why it was stopped, where that was not asked for."""
        self.now = now
        self._lock = threading.Lock()
        self._models: list[tape.TapedModel] = []
        self._parts: set[str] = set()
        self._form: tuple[Any, tape.TapeForm] | None = None
        self.form()
        head = tape.head_line(now(), tape.clean(note))
        try:
            make_folder(file.parent)
            if overwrite:
                file.unlink(missing_ok=True)
            _write(file, head, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            do = f"%agent record --yes {as_word(self.name)} overwrites it"
            raise RefusedError(f"{self.name} exists already", do) from None
        except OSError as error:
            raise RefusedError(f"{self.name} can't be written ({error.strerror})", "choose another file") from None

    def __repr__(self) -> str:
        return short_repr(self, self.line)

    @property
    def line(self) -> str:
        """Says what the recorder is doing."""
        so_far = f"{self.requests} request{'s' if self.requests != 1 else ''}"
        if self.active:
            return f"recording to {self.name}, {so_far} so far"
        if self.problem:
            return f"the recording to {self.name} stopped after {so_far} ({self.problem})"
        return f"{so_far} recorded to {self.name}"

    def stop(self) -> None:
        """Record no more; the file is complete."""
        self.active = False

    def heard(self, model: BaseChatModel, label: str, counts: str, retries: int = 0) -> BaseChatModel:
        """Return the model, telling this recording of its calls."""
        given = dict(getattr(model, "profile", None) or {})
        profile = {k: v for k, v in given.items() if isinstance(v, bool | int) or (isinstance(v, str) and len(v) < 100)}
        reserved = zip(("max_tokens", "thinking_tokens"), reserve_of(model), strict=True)  # for an answer
        profile |= {name: tokens for name, tokens in reserved if tokens}
        taped = tape.TapedModel(tape.clean(label), tape.clean(profile), counts, retries=retries)
        before, listener = model.callbacks, _Listener(self, taped)
        if isinstance(before, BaseCallbackManager):
            callbacks: Any = before.copy()
            callbacks.add_handler(listener)
        else:
            callbacks = [*(before or ()), listener]
        return model.model_copy(update={"callbacks": callbacks})

    def form(self) -> tape.TapeForm:
        """Return what brings requests into the form of a tape, with the keys of the environment known that there are now."""
        state = (tape.days_near(self.now()), dict(os.environ))
        if self._form is None or self._form[0] != state:
            guard_environment()
            self._form = state, tape.TapeForm(state[0])
        return self._form[1]

    def add(self, model: tape.TapedModel, request: tape.Parts, one: tape.Exchange) -> None:
        """Append an exchange, with what of it the file does not have yet, in one write."""
        with self._lock:
            if not self.active:
                return
            new = [tape.model_line(model)] if model not in self._models else []
            new += [tape.part_line(name, request.texts[name]) for name in request.texts if name not in self._parts]
            try:
                _write(self.file, b"".join([*new, tape.exchange_line(one)]), 0)
            except OSError as error:
                self.active, self.problem = False, error.strerror or type(error).__name__
                _LOG.warning("%s", self.line)
                return
            self._models += [model] if model not in self._models else []
            self._parts.update(request.texts)
            self.requests += 1


@dataclass
class _Call:
    request: tape.Parts
    at: str
    purpose: str
    began: float = field(default_factory=time.perf_counter)
    pieces: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def add(self, message: AIMessage) -> None:
        if piece := piece_of(message):
            self.pieces.append((round(1000 * (time.perf_counter() - self.began)), piece))


class _Listener(BaseCallbackHandler):
    run_inline = True

    def __init__(self, recording: Recording, model: tape.TapedModel) -> None:
        self._recording = recording
        self._model = model
        self._calls: dict[UUID, _Call] = {}

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, metadata: Any = None, **given: Any
    ) -> None:
        if self._recording.active:
            if tools := (given.get("invocation_params") or {}).get("tools") or ():
                self._model = replace(self._model, schemas=form_of(tools[0]))
            request = self._recording.form().parts(messages_of(messages[0]), tools_of(tools))
            purposes = {keys.SUMMARY_SOURCE: "summary", keys.FLUSH_SOURCE: "flush"}
            purpose = purposes.get((metadata or {}).get("lc_source") or "", "answer")
            self._calls[run_id] = _Call(request, self._recording.now(), purpose)

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:
        if (call := self._calls.get(run_id)) is not None and hasattr(chunk, "message"):
            call.add(chunk.message)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        call = self._calls.get(run_id)
        if call is not None and not call.pieces and response.generations and response.generations[0]:
            message: Any = getattr(response.generations[0][0], "message", None)
            call.add(message)
        self._ended(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, DeepnbError):  # an interrupt is no answer
            self._ended(run_id, error_of(error))

    def _ended(self, run_id: UUID, error: dict[str, Any] | None) -> None:
        if (call := self._calls.pop(run_id, None)) is None:
            return
        self._recording.form()
        pieces = without_credentials([piece for _, piece in call.pieces])
        answer = tuple(zip((ms for ms, _ in call.pieces), pieces, strict=True))
        tools, messages = call.request.tools, call.request.messages
        made = tape.Exchange(call.at, self._model.name, call.purpose, tools, messages, answer, tape.clean(error))
        self._recording.add(self._model, call.request, made)


def _write(file: Path, data: bytes, flags: int) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_APPEND | flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.write(fd, data) < len(data):
            raise OSError(28, os.strerror(28))
    finally:
        os.close(fd)
