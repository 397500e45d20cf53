"""Google's generateContent and Ollama's chat on loopback, which refuse what these refuse (see `strict`).

Google's rules are those of its reference (Content, FunctionDeclaration, Schema) and its refusals as users report them;
Ollama's are the types that its server reads a request into.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from tests.support.chat_server import ChatServer, Fail, Say, Think, Use, arguments, words
from tests.support.strict import Body, Strict


def _args(call: Use) -> dict[str, Any]:
    """What either can say of a call: the arguments are no text there, but an object."""
    try:
        found = json.loads(arguments(call))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _signed(think: Think) -> str:
    return base64.b64encode(think.signature.encode()).decode()


class GoogleServer(ChatServer):
    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        if isinstance(answer, Fail):
            error = {"code": answer.status, "message": answer.message, "status": "INVALID_ARGUMENT"}
            yield json.dumps({"error": error}).encode()
            return
        parts: list[dict[str, Any]] = []
        for one in answer if isinstance(answer, list) else [answer]:
            if isinstance(one, Think):
                parts += [{"text": one.text, "thought": True}, {"text": "", "thoughtSignature": _signed(one)}]
            elif isinstance(one, Use):
                parts.append({"functionCall": {"name": one.name, "args": _args(one)}})
            else:
                parts += [{"text": piece} for piece in words(one.text)]
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
        for at, part in enumerate(parts, 1):
            end = {"finishReason": "STOP"} if at == len(parts) else {}
            content = {"role": "model", "parts": [part]}
            event = {"candidates": [{"index": 0, "content": content, **end}], "usageMetadata": usage}
            yield f"data: {json.dumps(event)}\r\n\r\n".encode()


class OllamaChat(ChatServer):
    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        if isinstance(answer, Fail):
            yield json.dumps({"error": answer.message}).encode()
            return
        for one in answer if isinstance(answer, list) else [answer]:
            if isinstance(one, Use):
                yield self._line(tool_calls=[{"function": {"name": one.name, "arguments": _args(one)}}])
            elif isinstance(one, Say):
                yield from (self._line(content=piece) for piece in words(one.text))
        yield self._line(done={"done_reason": "stop", "prompt_eval_count": 100, "eval_count": 20})

    def _line(self, done: Any = None, **said: Any) -> bytes:
        message = {"role": "assistant", "content": "", **said}
        line = {"model": "some-model", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": bool(done)}
        return json.dumps({**line, **(done or {})}).encode() + b"\n"


# -- Google

_DATA = {"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"}
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
_SCHEMA = {
    *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"),
    *("minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering"),
    *("default", "items", "minimum", "maximum"),
}


@dataclass
class StrictGoogle(Strict, GoogleServer):
    def problems(self, body: Body) -> Iterator[str]:
        declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())]
        names = [one.get("name") for one in declared]
        yield from (f"Duplicate function declaration found: {n}" for n in names if names.count(n) > 1)
        for at, one in enumerate(declared):
            where = f"tools[0].function_declarations[{at}]"
            if not _NAME.fullmatch(str(one.get("name"))):
                yield f"{where}.name: Invalid function name. Must start with a letter or an underscore."
            if one.get("parameters"):
                yield from _google_schema(f"{where}.parameters", one["parameters"])
        if "systemInstruction" in body:
            yield from _google_parts("system_instruction", body["systemInstruction"].get("parts"))
        yield from self._contents(body.get("contents") or [])

    def _contents(self, contents: list[Any]) -> Iterator[str]:
        if not contents or contents[-1].get("role") == "model":
            yield "Please ensure that multiturn requests end with a user role or a function response."
        issued = {_signed(one) for answer in self.answers for one in (answer if isinstance(answer, list) else [answer]) if isinstance(one, Think)}  # fmt: skip
        waiting: list[str] = []
        for at, content in enumerate(contents):
            where, parts = f"contents[{at}]", content.get("parts") or []
            if content.get("role") not in ("user", "model"):
                yield f"Please use a valid role: user, model ({where})."
            yield from _google_parts(where, parts)
            results = [part["functionResponse"].get("name") for part in parts if "functionResponse" in part]
            calls = [part["functionCall"].get("name") for part in parts if "functionCall" in part]
            if results != waiting:
                yield f"{where}: the number of function response parts is not that of the function call parts: {waiting}"
            if calls and (content["role"] != "model" or at == 0 or contents[at - 1]["role"] != "user"):
                yield f"{where}: a function call turn comes immediately after a user turn or a function response turn."
            if any(part.get("thoughtSignature") not in (None, *issued) for part in parts):
                yield f"{where}: Thought signature is not valid"
            waiting = calls
        if waiting:
            yield f"the number of function response parts is not that of the function call parts: {waiting}"


def _google_parts(where: str, parts: Any) -> Iterator[str]:
    if not parts:
        yield f"{where}.parts: contents.parts must not be empty."
    for at, part in enumerate(parts or ()):
        if len(_DATA & set(part)) != 1 or part.get("text") == "":
            yield f"{where}.parts[{at}].data: required oneof field 'data' must have one initialized field"
        for key, held in (("functionCall", "args"), ("functionResponse", "response")):
            if key in part and not (
                _NAME.fullmatch(str(part[key].get("name"))) and isinstance(part[key].get(held, {}), dict)
            ):
                yield f"{where}.parts[{at}].{key}: Invalid value"


def _google_schema(where: str, schema: Any) -> Iterator[str]:
    unknown = set(schema) - _SCHEMA if isinstance(schema, dict) else {schema}
    if unknown:
        yield f"Invalid JSON payload received. Unknown name {min(unknown)!r} at '{where}': Cannot find field."
        return
    kind, inner, values = str(schema.get("type")).upper(), schema.get("properties") or {}, schema.get("enum")
    if kind not in _TYPES and not schema.get("anyOf"):
        yield f"{where}.type: must be specified, and one of {sorted(_TYPES)}, not {kind!r}"
    if kind == "ARRAY" and "items" not in schema:
        yield f"{where}.items: missing field."
    if values is not None and (kind != "STRING" or not all(isinstance(value, str) and value for value in values)):
        yield f"{where}.enum: only allowed for STRING type"
    if kind == "STRING" and schema.get("format", "enum") not in ("enum", "date-time"):
        yield f"{where}.format: only 'enum' and 'date-time' are supported for STRING type"
    if missing := set(schema.get("required") or ()) - set(inner):
        yield f"{where}.required: property is not defined: {min(missing)}"
    below = [*inner.values(), *(schema.get("anyOf") or ()), *([schema["items"]] if "items" in schema else [])]
    yield from (problem for one in below for problem in _google_schema(f"{where}...", one))


# -- Ollama

_TEXT: Any = {"type": ["string", "null"]}
_TEXTS: Any = {"type": ["array", "null"], "items": {"type": "string"}}
_MAP: Any = {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/ToolProperty"}}
_PROPERTY = {
    "type": ["object", "null"],
    "properties": {
        "anyOf": {"type": ["array", "null"], "items": {"$ref": "#/$defs/ToolProperty"}},
        "type": {"anyOf": [_TEXT, _TEXTS]},
        "description": _TEXT,
        "enum": {"type": ["array", "null"]},
        "properties": _MAP,
    },
}
_CALL = {"name": _TEXT, "arguments": {"type": ["object", "null"]}}
_MESSAGE = {
    "role": {"enum": ["system", "user", "assistant", "tool"]},
    "content": _TEXT,
    "images": _TEXTS,
    "tool_calls": {"type": ["array", "null"], "items": {"properties": {"function": {"properties": _CALL}}}},
}
_TOOL = {"parameters": {"properties": {"type": _TEXT, "required": _TEXTS, "properties": _MAP}}}
_CHAT = Draft202012Validator(
    {
        "$defs": {"ToolProperty": _PROPERTY},
        "properties": {
            "messages": {"items": {"properties": _MESSAGE}},
            "tools": {"items": {"properties": {"function": {"properties": _TOOL}}}},
        },
    }
)
"""The fields of the server's own types; it leaves out what it does not know."""


@dataclass
class StrictOllama(Strict, OllamaChat):
    def problems(self, body: Body) -> Iterator[str]:
        for error in _CHAT.iter_errors(body):
            yield f"json: cannot unmarshal {error.instance!r} into {error.json_path}"
        for image in (image for message in body["messages"] for image in message.get("images") or ()):
            try:
                base64.b64decode(image, validate=True)
            except ValueError:
                yield "illegal base64 data"
