"""Tools as MCP servers of the world have them, on a real server of the `mcp` package: `python odd_mcp_tools.py`.

Each is odd in one way: its name, its parameters, its result or its error. One that has no result of its own says the
arguments that reached it.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError
from mcp.types import CallToolResult, ErrorData, TextContent, Tool
from pydantic import AnyUrl

LONG = "count_the_words_of_" + "every_page_and_" * 5
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
BIG = "line of a log\n" * 20_000
ARGUMENTS = "said: "


@dataclass(frozen=True)
class Odd:
    name: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    args: Mapping[str, Any] = field(default_factory=dict)
    gives: CallToolResult | ErrorData | None = None
    says: str = ""
    output: dict[str, Any] | None = None
    description: str = "Does it."
    fails: bool = False


def takes(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def text(*texts: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=one) for one in texts], **more)


def resource(**facts: Any) -> CallToolResult:
    kind: Any = types.BlobResourceContents if "blob" in facts else types.TextResourceContents
    inner = kind(uri=AnyUrl("file:///w/notes"), **facts)
    return CallToolResult(content=[types.EmbeddedResource(type="resource", resource=inner)])


def texts(names: Sequence[str]) -> dict[str, Any]:
    return takes(**{name: {"type": "string"} for name in names})


TAKEN = (
    *("self", "config", "runtime", "run_manager", "callbacks", "args", "kwargs", "state", "store"),
    *("tool_call_id", "v__args"),
)
WORDS = ("$ref", "type", "properties", "required", "items", "enum", "description")
DRAFT_4 = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "id": "http://localhost/order.json",
    **takes(n={"type": "integer", "minimum": 0, "exclusiveMinimum": True, "required": True}),
}
NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
}
DEEP: Any = {"type": "string"}
for _ in range(20):
    DEEP = {"type": "object", "properties": {"in": DEEP}}
EITHER = {"oneOf": [takes(path={"type": "string"}), takes(url={"type": "string"})], "type": "object"}

ODD: Mapping[str, Odd] = {
    # names
    "a dot and a slash": Odd("notes.find/v2"),
    "the same but for the dot": Odd("notes_find_v2"),
    "blanks and brackets": Odd("run query (read only)"),
    "letters of Greek": Odd("αναζήτηση"),
    "94 letters": Odd(LONG),
    "94 letters, the last another": Odd(f"{LONG[:-1]}2"),
    "a tool of the agent's": Odd("read_file", takes(file_path={"type": "string"}), {"file_path": "/a.md"}),
    "a hyphen and a digit first": Odd("-7z"),
    # parameters
    "no description, no properties": Odd("ping", {"type": "object"}, description=""),
    "an empty schema": Odd("pong", {}),
    "an array of anything": Odd("tags", takes(xs={"type": "array"}), {"xs": ["a", 1]}),
    "an array by position": Odd("box", takes(xy={"type": "array", "items": [{"type": "number"}, {"type": "string"}]}), {"xy": [1, "m"]}),
    "alternatives at the top": Odd("fetch", EITHER, {"url": "http://localhost/a"}),
    "conditions at the top": Odd(
        "book",
        {**takes(kind={"enum": ["day", "hour"]}), "if": {"properties": {"kind": {"const": "day"}}}, "then": {"required": ["kind"]}, "allOf": [{"not": {"required": ["gone"]}}]},
        {"kind": "day"},
    ),
    "draft 4": Odd("order", DRAFT_4, {"n": 2}),
    "a tree": Odd("tree", {**takes(root={"$ref": "#/$defs/Node"}), "$defs": {"Node": NODE}}, {"root": {"name": "a", "below": [{"name": "b"}]}}),
    "references to nowhere": Odd(
        "gone", takes(a={"$ref": "#/definitions/Gone"}, b={"type": "array", "items": {"$ref": "#/$defs/Gone"}}), {"a": "1", "b": ["2"]}
    ),
    "references with escaped names": Odd(
        "escaped", {**takes(a={"$ref": "#/$defs/A~1B"}, b={"$ref": "#/$defs/C%20D"}), "$defs": {"A/B": {"type": "integer"}, "C D": {"type": "integer"}}}, {"a": 1, "b": 2}
    ),
    "types that there are not": Odd("types", takes(a={"type": "file"}, b={"type": "int"}, c={"type": ["datetime", "null"]}), {"a": "x", "b": 1, "c": None}),
    "names of parameters that are in use": Odd(
        "taken",
        texts(TAKEN),
        dict.fromkeys(TAKEN, "x"),
    ),
    "names of parameters that schemas use": Odd(
        "words", texts(WORDS),
        dict.fromkeys(WORDS, "x"),
    ),
    "names of parameters with odd letters": Odd(
        "filter", takes(**{"filter[name]": {"type": "string"}, "filter(name)": {"type": "string"}, "größe": {"type": "number"}}), {"filter[name]": "a", "filter(name)": "b", "größe": 3}
    ),
    "values of all kinds": Odd("values", takes(a={"enum": [1, "two", None, True]}, b={"const": 7}, c={"type": "string", "default": None, "nullable": True}), {"a": None, "b": 7, "c": "x"}),
    "anything for a parameter": Odd("any", takes(a=True, b={}, c={"description": "What you like."}), {"a": [1], "b": {"x": 1}, "c": "d"}),
    "twenty levels": Odd("deep", takes(a=DEEP), {"a": {"in": {"in": {}}}}),
    "invisible words": Odd("words_of_it", takes(a={"type": "string", "description": "\u200b\u202e" + "long " * 2_000}), {"a": "b"}, description="\x00\x1b[31m" + "A long story. " * 1_000),
    # results
    "nothing": Odd("none", gives=text(), says="(an empty result)"),
    "blanks": Odd("blank", gives=text(" \n", "")),
    "structured alone": Odd("stock", gives=text(structuredContent={"left": {"tea": 7}}), says='{"left": {"tea": 7}}'),
    "structured, no number": Odd("nan", gives=text(structuredContent={"mean": float("nan")}), says='"mean": '),
    "not what its schema says": Odd("liar", gives=text(structuredContent={"n": "many"}), output=takes(n={"type": "integer"}), says="n", fails=True),
    "nothing structured, as its schema says": Odd("silent", gives=text("seven"), output=takes(n={"type": "integer"}), says="silent", fails=True),
    "a schema of the result that leads nowhere": Odd("lost", gives=text("7", structuredContent={"n": 7}), output=takes(n={"$ref": "#/$defs/Gone"}), says="lost", fails=True),
    "an image": Odd("draw", gives=CallToolResult(content=[types.ImageContent(type="image", data=PIXEL, mimeType="image/png")])),
    "an image that is none": Odd("scribble", gives=CallToolResult(content=[types.ImageContent(type="image", data="?no?", mimeType="image/png")]), says="[image image/png"),
    "a drawing in SVG": Odd("vector", gives=CallToolResult(content=[types.ImageContent(type="image", data=base64.b64encode(b"<svg/>").decode(), mimeType="image/svg+xml")]), says="[image image/svg+xml"),
    "sound": Odd("hear", gives=CallToolResult(content=[types.AudioContent(type="audio", data="AAAA", mimeType="audio/wav")]), says="[audio audio/wav, not passed on]"),
    "a link": Odd("link", gives=CallToolResult(content=[types.ResourceLink(type="resource_link", name="a", uri=AnyUrl("file:///w/a.csv"))]), says="file:///w/a.csv"),
    "a text file": Odd("open", gives=resource(text="the notes", mimeType="text/markdown"), says="the notes"),
    "a file of bytes": Odd("load", gives=resource(blob="AAAA", mimeType="application/pdf"), says="[file application/pdf"),
    "control characters": Odd("tty", gives=text("\x00\x07 red \x1b[31m \ufffe"), says=" red "),
    # errors
    "an error of two texts": Odd("fail", gives=text("no such table:", "tea", isError=True), says="Error: no such table:\ntea", fails=True),
    "an error without words": Odd("fail_silently", gives=text(isError=True), says="Error", fails=True),
    "an error with a picture": Odd("fail_well", gives=CallToolResult(content=[types.ImageContent(type="image", data=PIXEL, mimeType="image/png")], isError=True), says="Error", fails=True),
    "an error of the protocol": Odd("refuse", gives=ErrorData(code=-32602, message="unknown cursor"), says="unknown cursor", fails=True),
    "an error of the protocol without words": Odd("refuse_silently", gives=ErrorData(code=-1, message=""), says="Error", fails=True),
    "280,000 characters": Odd("log", gives=text(BIG), says="line of a log"),
}  # fmt: skip


def serve() -> None:
    server: Any = Server("odd")
    by_name = {odd.name: odd for odd in ODD.values()}

    @server.list_tools()  # type: ignore[untyped-decorator]
    async def tools() -> list[Tool]:
        return [
            Tool(name=odd.name, description=odd.description, inputSchema=dict(odd.schema), outputSchema=odd.output)
            for odd in by_name.values()
        ]  # fmt: skip

    async def call(request: types.CallToolRequest) -> types.ServerResult:
        gives = by_name[request.params.name].gives
        if isinstance(gives, ErrorData):
            raise McpError(gives)
        said = json.dumps(request.params.arguments, sort_keys=True, ensure_ascii=False)
        return types.ServerResult(text(f"{ARGUMENTS}{said}") if gives is None else gives)

    server.request_handlers[types.CallToolRequest] = call

    async def main() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)


if __name__ == "__main__":
    serve()
