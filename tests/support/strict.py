"""Loopback servers that refuse what the providers refuse; a request that they take gets its scripted answer.

The rules are those that OpenAI's and Anthropic's references state, and their refusals as users report them; nothing of
deepnb is used to check them. Each names what it says, in the words of the provider as far as they are known.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from tests import DATA
from tests.support.chat_server import AnthropicServer, ChatServer, Fail, OpenAIServer, Say, Think, Use, arguments, words

Body = Mapping[str, Any]
_WORD = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass
class Strict(ChatServer):
    refused: list[str] = field(default_factory=list)

    def problems(self, body: Body) -> Iterator[str]:
        raise NotImplementedError

    def _take(self, request: dict[str, Any], handler: Any) -> Any:
        answer = super()._take(request, handler)
        if problem := next(self.problems(request), None):
            self.refused.append(problem)
            return Fail(400, problem)
        return answer


@dataclass
class StrictOpenAI(Strict, OpenAIServer):
    def problems(self, body: Body) -> Iterator[str]:
        tools = body.get("tools") or ()
        yield from _openai_tools([one.get("function", one) for one in tools])
        yield from _responses(body["input"], self.issued()) if "input" in body else _chat(body["messages"])

    def issued(self) -> set[str]:
        return _issued(self.answers)


@dataclass
class StrictAnthropic(Strict, AnthropicServer):
    """Messages, of a model that takes no prefilled answer, as all do from Claude 4.6 on."""

    def problems(self, body: Body) -> Iterator[str]:
        yield from _anthropic_tools(body.get("tools") or ())
        system = body.get("system") or []
        for block in system if isinstance(system, list) else [{"type": "text", "text": system}]:
            yield from _anthropic_block("system", block, set())
        yield from _anthropic(body["messages"], _issued(self.answers))


def _issued(answers: Iterable[Any]) -> set[str]:
    blocks = [one for answer in answers for one in (answer if isinstance(answer, list) else [answer])]
    return {str(getattr(one, "signature", "") or getattr(one, "block", {}).get("data")) for one in blocks} - {"None"}


# -- OpenAI

_PARTS = {
    "system": {"text"}, "developer": {"text"}, "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"}, "tool": {"text"},
}  # fmt: skip


def _chat(messages: list[Any]) -> Iterator[str]:
    waiting: list[str] = []
    if not messages:
        yield "Invalid 'messages': empty array."
    for at, message in enumerate(messages):
        where, role = f"messages[{at}]", message.get("role")
        if role not in _PARTS:
            yield f"Invalid value: {role!r}. Supported values are: {sorted(_PARTS)} ({where}.role)"
            continue
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"{where}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                continue
            waiting.remove(message["tool_call_id"])
        elif waiting:
            yield f"{where}: an assistant message with 'tool_calls' must be followed by tool messages, not for {waiting}"
        yield from _chat_content(where, role, message.get("content"), bool(message.get("tool_calls")))
        if not re.fullmatch(r"[^\s<|\\/>]{1,64}", str(message.get("name", "a"))):
            yield f"Invalid '{where}.name': string does not match pattern."
        if "tool_calls" in message:
            waiting = [call.get("id") for call in message["tool_calls"]]
            yield from _chat_calls(where, message["tool_calls"])
    if waiting:
        yield f"an assistant message with 'tool_calls' must be followed by tool messages, not for {waiting}"


def _chat_content(where: str, role: str, content: Any, calls: bool) -> Iterator[str]:
    if content is None and not (role == "assistant" and calls):
        yield f"Invalid value for '{where}.content': expected a string, got null."
    if isinstance(content, list) and not content:
        yield f"Invalid '{where}.content': empty array. Expected an array with minimum length 1"
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _PARTS[role]:
            yield f"Invalid value: {kind!r}. Supported values are: {sorted(_PARTS[role])} ({where}.content)"
        elif kind == "text" and (set(part) - {"type", "text"} or not isinstance(part.get("text"), str)):
            yield f"Unknown parameter in {where}.content: {sorted(part)}"


def _chat_calls(where: str, calls: list[Any]) -> Iterator[str]:
    if not calls:
        yield f"{where}.tool_calls: [] is too short"
    if len({call.get("id") for call in calls}) < len(calls):
        yield f"{where}: Duplicate value for 'tool_call_id'"
    for call in calls:
        id_, function = call.get("id"), call["function"]
        if not isinstance(id_, str) or not 1 <= len(id_) <= 40:
            yield f"Invalid '{where}.tool_calls[0].id': {id_!r}. Expected a string with maximum length 40"
        yield from _openai_name(f"{where}.tool_calls[0].function.name", function.get("name"))
        if not isinstance(function.get("arguments"), str):
            yield f"Invalid '{where}.tool_calls[0].function.arguments': expected a string"
        else:
            yield from _object(where, function["arguments"])


def _object(where: str, text: str) -> Iterator[str]:
    """OpenAI takes any text; vLLM and llama.cpp, which speak the same protocol, read it for their templates."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        yield f"{where}: the arguments of a call are not a JSON object"


def _openai_name(where: str, name: Any) -> Iterator[str]:
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        yield f"Invalid '{where}': {name!r} does not match pattern '^[a-zA-Z0-9_-]+$'"
    elif len(name) > 64:
        yield f"Invalid '{where}': string too long. Expected a string with maximum length 64"


def _openai_tools(functions: list[Any]) -> Iterator[str]:
    if len({one["name"] for one in functions}) < len(functions):
        yield "Invalid 'tools': two functions of one name"
    for at, one in enumerate(functions):
        yield from _openai_name(f"tools[{at}].function.name", one["name"])
        head, schema = f"Invalid schema for function '{one['name']}': ", one.get("parameters") or {}
        if schema.get("type") != "object" or {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema):
            yield f"{head}schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
        elif not isinstance(schema.get("properties"), dict):
            yield f"{head}In context=(), object schema missing properties."
        yield from (f"{head}{problem}" for problem in _schema(schema, schema, strict=True))


def _schema(one: Any, root: Any, *, strict: bool) -> Iterator[str]:
    if isinstance(one, list):
        yield from (problem for item in one for problem in _schema(item, root, strict=strict))
    if not isinstance(one, dict):
        return
    kind = one.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if strict and "array" in kinds and not isinstance(one.get("items"), dict):
        yield "array schema missing items."
    if not set(kinds) <= {"object", "array", "string", "number", "integer", "boolean", "null", None}:
        yield f"{kind!r} is not valid under any of the given schemas."
    if isinstance(ref := one.get("$ref"), str) and not _leads(ref, root):
        yield f"reference can only point to definitions defined at the top level of the schema: {ref}"
    for key, value in one.items():
        if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, dict):
            yield from (problem for inner in value.values() for problem in _schema(inner, root, strict=strict))
        elif key not in ("default", "enum", "const", "examples"):
            yield from _schema(value, root, strict=strict)


def _leads(ref: str, root: Any) -> bool:
    if not ref.startswith("#"):
        return False
    for step in filter(None, ref[1:].split("/")):
        if not isinstance(root, dict) or step not in root:
            return False
        root = root[step]
    return True


def _responses(items: list[Any], issued: set[str]) -> Iterator[str]:
    calls: set[str] = set()
    waiting: set[str] = set()
    for at, item in enumerate(items):
        where, kind = f"input[{at}]", item.get("type", "message")
        if kind == "function_call":
            id_ = item.get("call_id")
            if not isinstance(id_, str) or not 1 <= len(id_) <= 64 or id_ in calls:
                yield f"Invalid '{where}.call_id': {id_!r} is too long, empty, or there twice"
            yield from _openai_name(f"{where}.name", item.get("name"))
            yield from _object(where, item.get("arguments"))
            calls.add(str(id_))
            waiting.add(str(id_))
        elif kind == "function_call_output":
            if item.get("call_id") not in waiting:
                yield f"No tool call found for function call output with call_id {item.get('call_id')}."
            waiting.discard(item.get("call_id"))
        elif kind == "reasoning":
            after = items[at + 1] if at + 1 < len(items) else {}
            if item.get("encrypted_content") not in issued:
                yield "The encrypted content could not be verified."
            if after.get("role", "assistant") != "assistant" or after.get("type") == "function_call_output":
                yield f"Item {item.get('id')} of type 'reasoning' was provided without its required following item."
        elif kind == "message":
            if waiting:
                yield f"No tool output found for function call {sorted(waiting)}."
            allowed = ({"output_text", "refusal"} if item["role"] == "assistant" else {
                "input_text", "input_image", "input_file",
            })  # fmt: skip
            content = item["content"]
            kinds = {part["type"] for part in content} if isinstance(content, list) else set()
            if not kinds <= allowed or content == []:
                yield f"Invalid value in {where}.content: {sorted(kinds)}. Supported values are: {sorted(allowed)}"
        elif not str(item.get("id", "")).startswith("ws_"):
            yield f"Invalid value: {kind!r} ({where})"
    if waiting:
        yield f"No tool output found for function call {sorted(waiting)}."


# -- Anthropic

_USER = {"text", "image", "document", "search_result", "tool_result", "container_upload"}
_ASSISTANT = {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result"}
_FIELDS = {"text": {"type", "text", "cache_control", "citations"}}


def _anthropic(messages: list[Any], issued: set[str]) -> Iterator[str]:
    if not messages or messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
        return
    if messages[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    used: set[str] = set()
    waiting: list[str] = []
    for at, message in enumerate(_merged(messages)):
        blocks = message["content"]
        if not blocks:
            yield f"messages.{at}: all messages must have non-empty content"
        results = [b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"]
        if unknown := set(results) - set(waiting):
            yield f"messages.{at}.content: unexpected `tool_use_id` found in `tool_result` blocks: {sorted(unknown)}"
        if len(results) > len(set(results)):
            yield "each tool_use must have a single result. Found multiple `tool_result` blocks"
        first = {b.get("tool_use_id") for b in blocks[: len(results)]}
        if missing := set(waiting) - first:
            yield f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}"
        waiting = [b["id"] for b in blocks if b.get("type") == "tool_use"]
        for number, block in enumerate(blocks):
            where, kind = f"messages.{at}.content.{number}", block.get("type")
            if kind not in (_USER if message["role"] == "user" else _ASSISTANT):
                yield f"{where}: Input tag {kind!r} found using 'type' does not match any of the expected tags"
            elif kind == "server_tool_use" and block.get("id") not in {b.get("tool_use_id") for b in blocks}:
                yield f"{where}: `server_tool_use` without its result"
            elif kind == "tool_use":
                if block["id"] in used:
                    yield f"{where}: `tool_use` ids must be unique"
                used.add(block["id"])
            yield from _anthropic_block(where, block, issued)


def _merged(messages: list[Any]) -> Iterator[dict[str, Any]]:
    for role, some in groupby(messages, itemgetter("role")):
        contents = [message["content"] for message in some if message["content"]]
        blocks = ([{"type": "text", "text": one}] if isinstance(one, str) else one for one in contents)
        yield {"role": role, "content": [*chain.from_iterable(blocks)]}


def _anthropic_block(where: str, block: Body, issued: set[str]) -> Iterator[str]:
    kind = block.get("type")
    if kind == "text":
        if not str(block.get("text") or "").strip():
            yield f"{where}: text content blocks must contain non-whitespace text"
        if extra := set(block) - _FIELDS["text"]:
            yield f"{where}.text.{min(extra)}: Extra inputs are not permitted"
    elif kind == "thinking" and (block.get("signature") not in issued or "thinking" not in block):
        yield f"{where}: Invalid `signature` in `thinking` block"
    elif kind == "redacted_thinking" and block.get("data") not in issued:
        yield f"{where}: Invalid `data` in `redacted_thinking` block"
    elif kind == "tool_use":
        if not _WORD.fullmatch(str(block["id"])):
            yield f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", str(block["name"])):
            yield f"{where}.tool_use.name: {block['name']!r} should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if not isinstance(block["input"], dict):
            yield f"{where}.tool_use.input: Input should be a valid dictionary"
    elif kind == "tool_result":
        content = block.get("content") or []
        if not content and block.get("is_error"):
            yield f"{where}.tool_result: content cannot be empty if `is_error` is true"
        for inner in content if isinstance(content, list) else ():
            if inner.get("type") not in ("text", "image", "document", "search_result"):
                yield f"{where}.tool_result.content: Input tag {inner.get('type')!r} does not match"
            yield from _anthropic_block(f"{where}.tool_result.content", inner, issued)


def _anthropic_tools(tools: Iterable[Any]) -> Iterator[str]:
    names = [one.get("name") for one in tools]
    if len(names) > len(set(names)):
        yield "tools: Tool names must be unique."
    for at, one in enumerate(tools):
        where, schema = f"tools.{at}.custom", one.get("input_schema") or {}
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", str(one.get("name"))):
            yield f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if schema.get("type") != "object":
            yield f"{where}.input_schema.type: Field required"
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            yield f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        for name in schema.get("properties") or ():
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
                yield f"{where}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"
        if not _is_schema(json.dumps(schema)):
            yield f"{where}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
        yield from (f"{where}.input_schema: {problem}" for problem in _schema(schema, schema, strict=False))


@cache
def _is_schema(text: str) -> bool:
    """Each request describes the same tools."""
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError:
        return False
    return True


# -- Google and Ollama


def _args(call: Use) -> dict[str, Any]:
    try:
        found = json.loads(arguments(call))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _signed(think: Think) -> str:
    return base64.b64encode(think.signature.encode()).decode()


class GoogleServer(ChatServer):
    def failure(self, answer: Fail) -> dict[str, Any]:
        return {"error": {"code": answer.status, "message": answer.message, "status": "INVALID_ARGUMENT"}}

    def body(self, answer: list[Any], request: dict[str, Any]) -> Iterator[bytes]:
        parts: list[dict[str, Any]] = []
        for one in answer:
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
    def failure(self, answer: Fail) -> dict[str, Any]:
        return {"error": answer.message}

    def body(self, answer: list[Any], request: dict[str, Any]) -> Iterator[bytes]:
        for one in answer:
            if isinstance(one, Use):
                yield self._line(tool_calls=[{"function": {"name": one.name, "arguments": _args(one)}}])
            elif isinstance(one, Say):
                yield from (self._line(content=piece) for piece in words(one.text))
        yield self._line(done={"done_reason": "stop", "prompt_eval_count": 100, "eval_count": 20})

    def _line(self, done: Any = None, **said: Any) -> bytes:
        message = {"role": "assistant", "content": "", **said}
        line = {"model": "some-model", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": bool(done)}
        return json.dumps({**line, **(done or {})}).encode() + b"\n"


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


_CHAT = Draft202012Validator(json.loads((DATA / "ollama_chat.json").read_text(encoding="utf-8")))
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
