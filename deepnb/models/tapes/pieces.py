"""Requests, pieces of answers and failures of a provider as a tape has them, and back.

Left out is what only a provider needs (marks for a cache, signatures of thoughts, parameters of tools in its own form),
and ids that tie a result to its call: the results stand behind it in the order of the calls.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any

from langchain_core import exceptions
from langchain_core.exceptions import ModelError
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from deepnb.engine.request import message_text, tool_name
from deepnb.models.keys import PROVIDERS
from deepnb.models.tapes.tape import keys_of
from deepnb.values.failures import causes

_ROLES = {"human": "user", "ai": "assistant"}
_MEDIA = ("image", "image_url", "audio", "input_audio", "video", "file")


def messages_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The messages as JSON: role, text, calls as (name, arguments), and images and other media by digest."""
    return [_message(message) for message in messages]


def tools_of(tools: Sequence[Any]) -> list[tuple[str, str]]:
    """(name, description) of the tools that are bound."""
    flat = [one for tool in tools for one in _declared(tool)]
    return [(tool_name(tool), _description(tool)) for tool in flat]


def provider_keys() -> frozenset[str]:
    """The keys of providers, and others, that the environment holds now."""
    return keys_of(one.key for one in PROVIDERS.values() if one.key is not None)


def form_of(tool: Any) -> str:
    """Name the provider whose form a tool's schema is in."""
    return "anthropic" if isinstance(tool, Mapping) and "input_schema" in tool else "openai"


def in_form(tool: Mapping[str, Any], form: str) -> Mapping[str, Any]:
    """A tool in OpenAI's form, in another."""
    if form != "anthropic":
        return tool
    function = tool["function"]
    return {
        "name": function["name"],
        "input_schema": function.get("parameters", {}),
        "description": function.get("description", ""),
    }


def _message(message: BaseMessage) -> dict[str, Any]:
    made: dict[str, Any] = {"role": _ROLES.get(message.type, message.type), "text": message_text(message)}
    if isinstance(message, AIMessage):
        calls = [[call["name"], call["args"]] for call in message.tool_calls]
        calls += [[call["name"] or "", call["args"] or ""] for call in message.invalid_tool_calls]
        made |= {"calls": calls} if calls else {}
    media = list(_media(message))
    return {**made, **({"images": media} if media else {})}


def _media(message: BaseMessage) -> Iterator[str]:
    """The digest of each image or other medium, in whichever form: a callback is given images in OpenAI's."""
    if isinstance(message.content, str):
        return
    for block in message.content:
        if isinstance(block, Mapping) and block.get("type") in _MEDIA:
            inner = block.get(str(block["type"]))
            fields = {**block, **inner} if isinstance(inner, Mapping) else block
            found = next((fields[k] for k in ("base64", "data", "url", "file_id") if fields.get(k)), "")
            data = str(found).partition(";base64,")[2] or str(found)
            yield blake2b(data.encode(), digest_size=9).hexdigest()


def _declared(tool: Any) -> Sequence[Any]:
    """The tools in one entry of the list that is sent: Google's holds several."""
    declared = tool.get("function_declarations") if isinstance(tool, Mapping) else None
    return declared if isinstance(declared, list) else [tool]


def _description(tool: Any) -> str:
    if isinstance(tool, Mapping):
        inner = tool.get("function", tool)
        return str(inner.get("description") or "") if isinstance(inner, Mapping) else ""
    return str(getattr(tool, "description", None) or getattr(tool, "__doc__", None) or "")


# -- The pieces of an answer as JSON: from LangChain's chunks and back, and without a credential that goes over several

_METADATA = ("finish_reason", "stop_reason", "stop_sequence", "model_name", "model_provider", "status")
"""What is kept of `response_metadata`: a provider may put headers there."""
_MORE = ("reasoning_content",)
"""What is kept of `additional_kwargs`."""
_CALL = ("name", "args", "id", "index")


def piece_of(message: AIMessage) -> dict[str, Any]:
    """A chunk of an answer, or a whole one, without its ids; empty where nothing is in it."""
    made: dict[str, Any] = {}
    if message.content:
        made["text" if isinstance(message.content, str) else "content"] = message.content
    if calls := _calls(message):
        made["calls"] = calls
    if message.usage_metadata:
        made["usage"] = dict(message.usage_metadata)
    for name, fields, kept in (
        ("metadata", message.response_metadata, _METADATA),
        ("more", message.additional_kwargs, _MORE),
    ):
        if found := {key: fields[key] for key in kept if fields.get(key)}:
            made[name] = found
    return made


def chunk_of(piece: Mapping[str, Any]) -> AIMessageChunk:
    """The chunk that a piece was made of; its lists and mappings are its own, since LangChain writes into them."""
    own = json.loads(json.dumps(piece))
    calls = [{**dict.fromkeys(_CALL), "type": "tool_call_chunk", **call} for call in own.get("calls", ())]
    return AIMessageChunk(
        content=own.get("content", own.get("text", "")),
        tool_call_chunks=calls,  # type: ignore[arg-type]
        usage_metadata=own.get("usage"),
        response_metadata=own.get("metadata", {}),
        additional_kwargs=own.get("more", {}),
    )


def without_credentials(pieces: Sequence[dict[str, Any]], clean: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """The pieces, where `clean` takes a credential out of a text that goes over several: the first has all of it then."""
    made: list[dict[str, Any]] = json.loads(json.dumps(pieces, default=str))
    texts: dict[tuple[Any, ...], list[tuple[dict[str, Any], str]]] = {}
    for number, piece in enumerate(made):
        for key, place, name in _places(number, piece):
            texts.setdefault(key, []).append((place, name))
    for key, places in texts.items():
        whole = "".join(str(place[name]) for place, name in places)
        new = _arguments(whole, clean) if key[0] == "args" else clean(whole)
        if new != whole:
            for i, (place, name) in enumerate(places):
                place[name] = "" if i else new
    return [clean(piece) for piece in made]


def _calls(message: AIMessage) -> list[dict[str, Any]]:
    chunks: Sequence[Mapping[str, Any]] = getattr(message, "tool_call_chunks", ())
    if not isinstance(message, AIMessageChunk):
        whole = [(call, json.dumps(call["args"])) for call in message.tool_calls]
        invalid = [(call, call["args"] or "") for call in message.invalid_tool_calls]
        chunks = [{**call, "args": args, "index": i} for i, (call, args) in enumerate([*whole, *invalid])]
    return [{key: call[key] for key in _CALL if call.get(key) is not None} for call in chunks]


def _places(number: int, piece: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str]]:
    if "text" in piece:
        yield ("text",), piece, "text"
    for at, call in enumerate(piece.get("calls", ())):
        if "args" in call:
            yield ("args", call.get("index", (number, at))), call, "args"
    for at, block in enumerate(piece.get("content", ())):
        if isinstance(block, dict):
            for name in (name for name, text in block.items() if isinstance(text, str) and name not in ("type", "id")):
                yield (
                    ("args" if name in ("partial_json", "arguments") else "block", block.get("index", at), name),
                    block,
                    name,
                )
    for name in piece.get("more", ()):
        yield ("more", name), piece["more"], name


def _arguments(text: str, clean: Callable[[Any], Any]) -> str:
    """The arguments of a call without credentials: by the names they are given to, where they are JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return str(clean(text))
    new = clean(value)
    return text if new == value else json.dumps(new, ensure_ascii=False)


# -- A failed request on a tape: what else asks an exception for, as JSON, and an exception that answers the same
# Kept are names of classes, the status, the provider's own words and how long it asks to wait; of headers nothing else.

_MESSAGE = 2_000
"""Characters of a text that are kept."""
_WAITS = ("retry-after", "retry-after-ms")
_BODY = ("message", "type", "code")


class RecordedError(Exception):
    """An error that was recorded; its class has the name of the one it was."""

    is_played = True
    """Whether the next try need not wait: it is on the tape."""


def error_of(error: BaseException) -> dict[str, Any]:
    """What is kept of an error."""
    chain = list(causes(error))
    made: dict[str, Any] = {"type": type(error).__name__, "message": str(error)[:_MESSAGE]}
    kinds = [kind for one in chain for kind in type(one).__mro__ if kind.__module__ != "builtins"]
    known = (kind.__name__ for kind in kinds if issubclass(kind, ModelError) and hasattr(exceptions, kind.__name__))
    if kind := next(known, None):
        made["kind"] = kind
    if names := [name for name in dict.fromkeys(k.__name__ for k in kinds) if name not in (kind, made["type"])]:
        made["names"] = names
    found = (("status", _status), ("body", _body), ("wait", _wait), ("at", _host))
    return made | {name: value for name, of in found if (value := next(filter(None, map(of, chain)), None))}


def recorded(error: Mapping[str, Any]) -> Exception:
    """The error of a request that failed when it was recorded."""
    kind = getattr(exceptions, str(error.get("kind")), None)
    known = (kind,) if isinstance(kind, type) and issubclass(kind, ModelError) else ()
    others = tuple(_class(name) for name in error.get("names", ()) if not hasattr(exceptions, str(name)))
    made: Any = _class(error.get("type"), RecordedError, *known, *others)(error.get("message", ""))
    if status := error.get("status"):
        made.status_code = status
    if body := error.get("body"):
        made.body = {"error": dict(body)}
    if wait := error.get("wait"):
        made.response = SimpleNamespace(headers=dict(wait), status_code=error.get("status"))
    if at := error.get("at"):
        host, _, port = str(at).rpartition(":")
        made.request = SimpleNamespace(url=SimpleNamespace(host=host, port=int(port) if port.isdigit() else None))
    failed: Exception = made
    return failed


def _class(name: Any, *bases: type) -> type:
    return type(str(name) if str(name).isidentifier() else "RecordedError", bases or (Exception,), {})


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _body(error: BaseException) -> dict[str, str] | None:
    """The provider's description of the error."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        return None
    return {key: text[:_MESSAGE] for key in _BODY if isinstance(text := inner.get(key), str)}


def _wait(error: BaseException) -> dict[str, str] | None:
    """The headers that say how long to wait, where they hold a number."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    found = {}
    for name in _WAITS:
        with suppress(KeyError, TypeError, ValueError):
            found[name] = str(float(headers[name]))
    return found


def _host(error: BaseException) -> str | None:
    """Host and port that the request went to; httpx raises where it was never made."""
    with suppress(Exception):
        url = error.request.url  # type: ignore[attr-defined]
        return f"{url.host}:{url.port or ''}"
    return None
