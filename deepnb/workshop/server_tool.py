"""A tool of an MCP server as LangChain takes it."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.engine import coroutines
from deepnb.gate import redact
from deepnb.values.errors import DeepnbError
from deepnb.workshop.server_tools import Offer
from deepnb.workshop.servers import Server

LONGEST_RESULT = 100_000
"""Characters of a result."""


class ServerTool(BaseTool):
    """Calls a server with the arguments as the model gave them; an error of the server is a result that says so.

    The adapter's own tool loses arguments called `config`, `run_manager` and `runtime`, and its metadata is what the
    server claims of itself.
    """

    server: Any
    offer: Any
    handle_tool_error: Any = True

    def _run(self, /, **arguments: Any) -> str:
        return coroutines.run(self._answer(arguments))

    async def _arun(self, /, **arguments: Any) -> str:
        return await asyncio.wrap_future(coroutines.start(self._answer(arguments)))

    async def _answer(self, arguments: Mapping[str, Any]) -> str:
        try:
            return result_text(await self.server.call(self.offer, arguments))
        except DeepnbError as error:
            raise ToolException(f"Error: {error.typed}") from None
        except ToolException as error:
            raise ToolException(f"Error: {_capped(str(error))}") from None


def server_tools(server: Server, taken: Collection[str]) -> tuple[tuple[ServerTool, ...], tuple[str, ...]]:
    """The tools of a server that has been opened, and a line for each that can't be used: `taken` are names of others."""
    made, left_out = [], list(server.left_out)
    for offer in server.offers:
        if offer.name in taken:
            left_out.append(f"{offer.name!r}: the agent has another tool of this name")
            continue
        tool = _tool(server, offer)
        try:
            convert_to_openai_tool(tool)
        except Exception as error:  # a schema that no model could be sent: it would fail every turn
            left_out.append(f"{offer.name!r}: its parameters can't be sent to a model ({type(error).__name__})")
        else:
            made.append(tool)
    return tuple(made), tuple(left_out)


def result_text(blocks: Iterable[Mapping[str, Any]]) -> str:
    """A result as text, without credentials, cut where it is too long; images and files are named."""
    return _capped("\n".join(map(_block_text, blocks))) or "(an empty result)"


def _tool(server: Server, offer: Offer) -> ServerTool:
    schema: Any = dict(offer.schema)
    return ServerTool(name=offer.name, description=offer.description, args_schema=schema, server=server, offer=offer)


def _block_text(block: Mapping[str, Any]) -> str:
    if block["type"] == "text":
        return str(block["text"])
    where = block.get("url") or f"{len(block.get('base64') or '') * 3 // 4:,} bytes"
    return f"[{block['type']} {block.get('mime_type') or 'of unknown type'}, {where}, not passed on]"


def _capped(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return redact(text)
    rest = len(text) - LONGEST_RESULT
    return f"{redact(text[: 2 * LONGEST_RESULT])[:LONGEST_RESULT]}\n[{rest:,} more characters were cut off]"
