"""Tools as MCP servers of the world have them, on a real server of the `mcp` package: `python odd_mcp_tools.py`.

Each is odd in one way: its name, its parameters, its result or its error. One that has no result of its own says the
arguments that reached it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError
from mcp.types import CallToolResult, ErrorData, TextContent, Tool

ARGUMENTS = "said: "
ROWS = Path(__file__).parents[1] / "data" / "odd_mcp_tools.jsonl"


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


def text(said: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said)])


def _read(gives: Any = None, **row: Any) -> Odd:
    kind = ErrorData if gives and "code" in gives else CallToolResult
    return Odd(**row, gives=gives and kind.model_validate(gives))


_WORD = {"type": "string", "description": "\u200b\u202e" + "long " * 2_000}
ODD: Mapping[str, Odd] = {
    **{row.pop("what"): _read(**row) for row in map(json.loads, ROWS.read_text(encoding="utf-8").splitlines())},
    "invisible words": Odd("words_of_it", {"type": "object", "properties": {"a": _WORD}, "required": ["a"]}, {"a": "b"},
                           description="\x00\x1b[31m" + "A long story. " * 1_000),
    "280,000 characters": Odd("log", gives=text("line of a log\n" * 20_000), says="line of a log"),
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
