"""A model's answer: whether it is whole, what it cost, and how the agent takes it.

A call that no tool can take is told to the model at once; nobody is asked about it. LangChain ends the run at one whose
arguments are not JSON, and of a streamed one takes what it can read of them; here such a call gets its result. A context
variable has what the model was offered, so that whoever listens to the streamed answer shows the same.
"""

import difflib
import json
import socket
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from langchain.agents.middleware.types import ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from pydantic import ValidationError

from deepnb.engine.fit_tools import form_of
from deepnb.engine.request import message_text
from deepnb.gate import redact
from deepnb.values.answers import FROM_TEXT, Offered, calls_in, split_thinking, stands_in
from deepnb.values.code import CODE_TOOLS, LONGEST
from deepnb.values.failures import PROBLEMS, misfits
from deepnb.values.lazy import set_in_block
from deepnb.values.text import rebuilt, whole_value
from deepnb.values.turn import Usage

_REASONS: Mapping[str, tuple[str, ...]] = {"openai": ("finish_reason", "status"), "anthropic": ("stop_reason",)}
"""Provider -> the metadata of an answer that say why it ended; its protocol demands one of them."""
_TRANSPORTS = ("httpcore", "httpcore2", "socket")
"""Packages whose objects read a connection: of the clients of OpenAI, Anthropic and Ollama, and of `http.client`."""
_CUT = ("length", "max_tokens", "incomplete")


def hang_up(thread: int) -> None:
    """End the connection that a thread is waiting on: closing it would not end the wait, and tell nobody until then."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        held = frame.f_locals.get("self")
        connection = getattr(held, "_sock", None)
        if type(held).__module__.partition(".")[0] in _TRANSPORTS and isinstance(connection, socket.socket):
            with suppress(OSError):  # it has ended
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not that of TLS, which the thread is inside of
            return
        frame = frame.f_back


def cut_short(metadata: Mapping[str, Any], provider: str) -> str:
    """Return why an answer may not be all of it, in one line, by its metadata; empty where it came to its end."""
    if (names := _REASONS.get(provider)) is None:
        return ""
    reasons = [metadata[name] for name in names if metadata.get(name)]
    if not reasons:
        return "the stream ended without a reason: the answer may be cut off"
    cut = any(reason in _CUT for reason in reasons)
    return "the answer is cut off: it reached the model's limit of output tokens" if cut else ""


def usage(message: BaseMessage | None) -> Usage | None:
    """Return the tokens as the provider reported them with its answer; None where it did not."""
    if not isinstance(message, AIMessage) or not (spent := message.usage_metadata) or not spent["input_tokens"]:
        return None
    none = 0 if message.response_metadata.get("model_name") == "offline" else None  # of others nobody knows
    cached = (spent.get("input_token_details") or {}).get("cache_read", none)
    return Usage(spent["input_tokens"], spent["output_tokens"], cached)


def with_messages(response: Any, change: Callable[[BaseMessage], BaseMessage]) -> Any:
    """Return a model's response with each of its messages changed; the same object where none is."""
    result = rebuilt(response.result, change) if isinstance(response, ModelResponse) else None
    return response if result is None or result is response.result else replace(response, result=result)


class Reader:
    """Reads the answer to one request of an agent."""

    def __init__(self, request: Any, tools: Mapping[str, Any]) -> None:
        self._request = request
        self._only = None if request.response_format is None else tools
        """The tools whose calls are taken though they are broken; None for those of any tool."""
        offered = tools if request.response_format is None else {}  # that answer is JSON as well
        self.offered: Offered = {name: partial(_types, tool) for name, tool in offered.items()}
        self.broken: dict[str, str] = {}
        """Id of a call -> its arguments, of the calls of the answer whose arguments are not JSON."""
        self.offered_as: Mapping[str, tuple[str, Mapping[str, str]]] = {}
        """Name of a tool as it is sent -> its own, and the own names of its arguments, where they differ."""

    def read(self, message: AIMessage) -> AIMessage:
        """Return the answer without its thinking, and as the calls that it is, where it is nothing else; its texts are whole."""
        said = {name: getattr(message, name) for name in ("content", "tool_calls", "additional_kwargs")}
        if (clean := whole_value(said)) is not said:
            message = message.model_copy(update=clean)
        if any(call["name"] in self.offered_as for call in message.tool_calls):
            own = list[Any]()
            for call in message.tool_calls:  # in the words of its tool
                name, names = self.offered_as.get(call["name"], (call["name"], {}))
                own.append({**call, "name": name, "args": {names.get(k, k): v for k, v in call["args"].items()}})
            message = message.model_copy(update={"tool_calls": own})
        if not isinstance(message.content, str):
            return message
        _, text = split_thinking(message.content)
        calls = [] if message.tool_calls or message.invalid_tool_calls else calls_in(text, self.offered)
        if calls:
            others = [m for m in (self._request.system_message, *self._request.messages) if m and m.type != "ai"]
            texts = [message_text(m) for m in others]
            calls = [] if any(stands_in(call, texts) for call in calls) else calls
        if not calls and text == message.content:
            return message
        key = sha256(f"{message.id} {text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        made: list[Any] = [
            {"name": name, "args": args, "id": f"{FROM_TEXT}{key}{at}", "type": "tool_call"}
            for at, (name, args) in enumerate(calls)
        ]
        return message.model_copy(update={"content": "" if made else text, "tool_calls": made or message.tool_calls})

    def of(self, response: Any) -> Any:
        """Return a model's response with its answers read, in which the broken calls are calls, too."""
        return with_messages(
            response, lambda one: self.read(self._with_all_calls(one)) if isinstance(one, AIMessage) else one
        )

    def _with_all_calls(self, message: AIMessage) -> AIMessage:
        def is_ours(call: Mapping[str, Any]) -> bool:
            return self._only is None or call["name"] in self._only

        wrong = [call for call in message.invalid_tool_calls if is_ours(call)]
        calls: list[Any] = [*message.tool_calls]
        for at, call in enumerate(calls):
            if (text := self.broken.get(str(call["id"]))) is not None and is_ours(call):
                calls[at] = {**call, "args": {NOT_JSON: text}}
        if not wrong and calls == message.tool_calls:
            return message
        for one in wrong:
            made = {"name": one["name"] or "", "id": one["id"] or f"call_{uuid4().hex}", "type": "tool_call"}
            calls.append({**made, "args": {NOT_JSON: one["args"] or ""}})
        rest = [call for call in message.invalid_tool_calls if call not in wrong]
        return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": rest})


_READER: ContextVar[Reader | None] = ContextVar("reader", default=None)


@contextmanager
def reading(request: Any, tools: Mapping[str, Any], *, listen: bool) -> Iterator[Reader]:
    """Give what reads the answer to a request sent in the block; `listen` where nobody else hears what is streamed of it."""
    config = var_child_runnable_config.get()
    config = merge_configs(ensure_config(), {"callbacks": [_Listener()]}) if listen else config
    with set_in_block(_READER, Reader(request, tools)) as reader, set_in_block(var_child_runnable_config, config):
        yield reader


def reader() -> Reader | None:
    return _READER.get()


def _types(tool: Any) -> Mapping[str, str]:
    form, _ = form_of(tool, "")
    properties = form.get("function", form).get("parameters", {}).get("properties", {})
    return {name: str(one.get("type", "")) if isinstance(one, Mapping) else "" for name, one in properties.items()}


NOT_JSON = "__not_json__"
"""The one argument of a call whose arguments are not JSON: their text."""

_NAME = 80
"""Characters of an unknown name that are repeated to the model."""


class ArgumentTexts:
    """The arguments of an answer's calls as they are streamed."""

    def __init__(self) -> None:
        self._calls: dict[object, tuple[list[str], list[str]]] = {}

    def add(self, chunks: Iterable[Mapping[str, Any]]) -> None:
        for chunk in chunks:
            key = object() if chunk.get("index") is None else chunk["index"]  # one without is whole
            ids, parts = self._calls.setdefault(key, ([], []))
            ids += [chunk["id"]] if chunk.get("id") else []
            parts += [chunk["args"]] if chunk.get("args") else []

    def end(self) -> None:
        """Tell whoever reads the answer, which is whole, which of its calls are broken."""
        if (reads := reader()) is None:
            return
        for id_, text in ((ids[0], "".join(parts)) for ids, parts in self._calls.values() if ids):
            try:
                is_whole = not text.strip() or isinstance(json.loads(text, strict=False), dict)
            except ValueError:
                is_whole = False
            if not is_whole:
                reads.broken[id_] = text


class _Listener(BaseCallbackHandler):
    """Hears the arguments of streamed calls, in a graph that nobody of ours listens to."""

    run_inline = True

    def __init__(self) -> None:
        self._answers: dict[UUID, ArgumentTexts] = {}

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:
        if pieces := getattr(getattr(chunk, "message", None), "tool_call_chunks", None):
            self._answers.setdefault(run_id, ArgumentTexts()).add(pieces)

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        if arguments := self._answers.pop(run_id, None):
            arguments.end()


def impossible(request: Any, offered: Collection[str]) -> str | None:
    """Return why a call can't be made at all, as the model is told; `offered` are tools that only other middleware knows."""
    name, args = request.tool_call["name"], request.tool_call["args"]
    if set(args) == {NOT_JSON}:
        return (
            "Error: the arguments of this call are not JSON, or were cut off. Nothing was run. Call it again with one"
            " whole JSON object, in smaller pieces if it is long."
        )
    if request.tool is not None or name in offered:
        return None
    names = sorted(str(tool.name) for tool in getattr(request.runtime, "tools", None) or ())
    near = difflib.get_close_matches(name, names, 1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"Error: there is no tool {name[:_NAME]!r}.{meant} Nothing was run. The tools are: {', '.join(names) or 'none'}."


def misfit(request: Any) -> str | None:
    """Return why the arguments of a call don't fit its tool, as the model is told."""
    tool, args = request.tool, request.tool_call["args"]
    schema, problems = getattr(tool, "arguments", None) or getattr(tool, "tool_call_schema", None), list[str]()
    try:
        if isinstance(schema, dict):  # as MCP servers give it; what is inside of it the server checks
            problems = [f"{name}: missing" for name in schema.get("required", ()) if name not in args]
        elif schema is not None and hasattr(schema, "model_validate"):
            schema.model_validate(dict(args))
    except ValidationError as error:
        problems = misfits(error)
    except Exception:  # a schema of the user's that can't be used for that: the tool itself checks what it is given
        return None
    if not problems:
        return None
    more = f"; and {len(problems) - PROBLEMS} more" if len(problems) > PROBLEMS else ""
    return f"Error: the arguments do not fit {tool.name}: {'; '.join(problems[:PROBLEMS])}{more}. Nothing was run."


def unreadable(call: Mapping[str, Any]) -> str | None:
    """Return why the user can't be asked to read the code of a call: what is shown must be what would run, and all of it."""
    code = call["args"].get(CODE_TOOLS[call["name"]]) if call["name"] in CODE_TOOLS else None
    if not isinstance(code, str):
        return None
    if len(code) > LONGEST:
        what = f"has {len(code):,} characters, and the user is asked to read {LONGEST:,} at most"
        do = "Run it in smaller steps"
    elif redact(code) != code:
        what = "holds a credential"
        do = "Read it from an environment variable, or ask the user to put it into a variable"
    else:
        return None
    return f"Error: the code {what}. Nothing was run. {do}."
