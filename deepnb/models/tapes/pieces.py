"""The pieces of an answer as JSON: from LangChain's chunks and back, and without a credential that goes over several."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

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
    for key, places in _texts(made).items():
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


def _texts(pieces: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], list[tuple[dict[str, Any], str]]]:
    """What the texts in the pieces are parts of -> where these are: (a mapping, its key)."""
    found: dict[tuple[Any, ...], list[tuple[dict[str, Any], str]]] = {}
    for number, piece in enumerate(pieces):
        for key, place, name in _places(number, piece):
            found.setdefault(key, []).append((place, name))
    return found


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
