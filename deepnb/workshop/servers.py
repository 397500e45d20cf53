"""An MCP server and the one session with it, which is open as long as the server is wanted.

The session is opened and closed in one task on deepnb's loop, as the client's cancel scopes need it. A server is given
nothing but calls of its tools: what it asks for itself (sampling, elicitation, roots) is refused, and what it announces
is not listened to. Each call lists its tools anew, and one that has changed since the user added it is not called.
"""

import asyncio
import atexit
import json
import logging
import os
import threading
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from tempfile import TemporaryFile
from typing import Any

import anyio
import httpx
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from deepnb.engine import coroutines
from deepnb.engine.fit_tools import fit_tool
from deepnb.gate import redact
from deepnb.values.errors import DeepnbError, LimitError, RefusedError, RunError
from deepnb.values.image import LARGEST, bare_image, image_type
from deepnb.workshop.server_facts import Address, Listed, Offer, environment, fingerprint, offers

OPENING = 60.0  # seconds in which a server has to answer for the first time: `npx` and `uvx` may install it first
PING = 5.0  # seconds of waiting after which a server behind a URL is asked whether it is still there
ENDING = 6.0
"""Seconds that the end of a process is waited for: the client closes its input, then ends it, then kills it."""

_GONE = "Session terminated"  # what the client makes of HTTP 404
_CUT = "Connection closed"  # what it makes of an end while an answer is awaited

_CLOSED_IT = "it closed the connection"
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)

LIVE: set["Server"] = set()  # the servers that have not ended

# Without a handler of their own Python prints what these log of a chatty server into the cell.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Server:
    """One MCP server. Its methods that are coroutines run on `deepnb.engine.coroutines`."""

    def __init__(self, address: Address, timeout: float, headers: Mapping[str, str] | None = None) -> None:
        """A call has `timeout` seconds; `headers` go with each request to a URL."""
        self.address = address
        self.timeout = timeout
        self.offers: tuple[Offer, ...] = ()
        """The tools as they were when it was added."""
        self.left_out: tuple[str, ...] = ()
        """Why others can't be used."""
        self.changed: frozenset[str] = frozenset()
        """Names of tools that the server has changed since."""
        self.problem = ""
        """Why it has ended; empty while it is running."""
        self._headers = dict(headers or {})
        self._env = environment(address.env)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None
        self._tools: dict[str, StructuredTool] = {}
        self._opened = asyncio.Event()
        self._ended = threading.Event()
        self._stopping = False
        self._said = ""  # the last line that its process wrote to stderr, as an addition to why it has ended

    @property
    def name(self) -> str:
        """The prefix of its tools' names."""
        return self.address.name

    def __repr__(self) -> str:
        return f"<MCP server {self.name}: {self.problem or 'running'}>"

    async def open(self) -> None:
        """Start it and list its tools; an error in one line where it does not answer."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._serve())
        opened = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait({self._task, opened}, timeout=OPENING, return_when=asyncio.FIRST_COMPLETED)
            if not self._opened.is_set():
                why = self.problem or f"it did not answer within {OPENING:g} s"
                key = 'session.tools.add("mcp:URL", headers={"Authorization": ...}) sends a key'
                do = key if why.startswith(("HTTP 401", "HTTP 403")) else "check the command or the URL"
                raise RunError(f"the MCP server {self.name} can't be used: {why}", do)
        except BaseException:
            self.stop()
            await asyncio.wait({self._task})
            raise
        finally:
            opened.cancel()

    def stop(self) -> None:
        """Begin to end it; may be called in any thread, and again."""
        if self._loop is not None and self._task is not None and not self._stopping:
            self._stopping = True  # a second time would cut the end itself
            self._loop.call_soon_threadsafe(self._task.cancel)

    def close(self) -> None:
        """End it, and wait until its process has ended."""
        self.stop()
        if self._task is not None:
            self._ended.wait(ENDING)

    async def _serve(self) -> None:
        LIVE.add(self)
        broken: BaseException | None = None
        try:
            async with self._streams() as (read, write):
                inward, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
                relay = asyncio.create_task(self._relay(read, inward))
                try:
                    async with ClientSession(received, write) as session:
                        await session.initialize()
                        self._session = session
                        tools = await self._listed()
                        self._tools = {tool.name: tool for tool in reversed(tools)}
                        self.offers, self.left_out = offers(self.name, map(_facts, tools))
                        self._opened.set()
                        await relay
                finally:
                    relay.cancel()
                    broken = relay.exception() if relay.done() and not relay.cancelled() else None
            self.problem = f"{_CLOSED_IT}{self._said}"
        except asyncio.CancelledError:
            self.problem = "it was stopped"
        except BaseException as error:
            self.problem = _reason(broken or error, self.address, opened=self._opened.is_set())
            self.problem += self._said
        finally:
            self._session = None
            LIVE.discard(self)
            self._ended.set()

    async def _relay(self, read: Any, inward: Any) -> None:
        """Hand on what the server says until it ends; the session refuses what it asks for."""
        async with inward:
            async for message in read:
                if not isinstance(message, Exception):
                    await inward.send(message)
                elif self.address.url:  # no MCP; of a process it is a line printed between the messages
                    raise message

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[Any]:
        """Yield what is read from the server and written to it: over HTTP, or through the pipes of a process."""
        if self.address.url:
            timeout = httpx.Timeout(30.0, read=None)  # a call has its own
            async with (
                httpx.AsyncClient(headers=self._headers, timeout=timeout, follow_redirects=False) as client,
                streamable_http_client(self.address.url, http_client=client) as (read, write, _),
            ):
                yield read, write
            return
        command, *args = self.address.command
        given = StdioServerParameters(command=command, args=args, env=self._env)
        with TemporaryFile("a+", encoding="utf-8", errors="replace") as errors:
            try:
                async with stdio_client(given, errlog=errors) as streams:
                    yield streams
            finally:
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2_000))
                lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
                self._said = f" (it said: {redact(lines[-1])[:200]})" if lines else ""

    async def call(self, offer: Offer, arguments: Mapping[str, Any]) -> list[Any]:
        """What a tool gives, as LangChain's blocks of content; an error of the tool's own is a `ToolException`.

        A server that ends, or takes too long, or has changed the tool, is an error of deepnb's.
        """
        if self._session is None or self._task is None:
            raise self._over("has ended")
        work = asyncio.create_task(self._checked(offer, arguments))
        watch = asyncio.create_task(self._watch(self._session))
        try:
            tasks = {work, watch, self._task}
            done, _ = await asyncio.wait(tasks, timeout=self.timeout, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                what = f"{offer.name} took more than {self.timeout:g} s"
                raise LimitError(what, "add the server with a longer --timeout")
            if work not in done:
                raise self._over("ended in the call")
            return work.result()
        except McpError as error:
            if error.error.message in (_GONE, _CUT):
                raise self._over("ended in the call") from None
            raise RunError(f"{offer.name}: {redact(error.error.message)[:500]}") from None
        except _CLOSED:
            raise self._over("ended in the call") from None
        except RuntimeError as error:  # the result is not what the server's own schema says
            raise RunError(f"{offer.name}: {redact(str(error))[:500]}") from None
        finally:
            work.cancel()
            watch.cancel()

    async def _checked(self, offer: Offer, arguments: Mapping[str, Any]) -> list[Any]:
        now = [fingerprint(*_facts(tool)) for tool in await self._listed() if tool.name == offer.own]
        if offer.fingerprint not in now[:1]:
            self.changed |= {offer.name}
            what = f"the server {self.name} {'changed' if now else 'no longer has'} {offer.name}, which was not run"
            raise RefusedError(what, "%agent tools says how to look at it and add it again")
        call = self._tools[offer.own].coroutine
        assert call is not None
        content, _ = await call(runtime=arguments)  # as keywords, one called `runtime` would be lost
        return list(content)

    async def _listed(self) -> list[StructuredTool]:
        found = await load_mcp_tools(self._session, tool_interceptors=[self._sent])
        return [tool for tool in found if isinstance(tool, StructuredTool)]

    async def _sent(self, request: MCPToolCallRequest, handler: Any) -> types.CallToolResult:
        """The result of a call whose arguments are where `_checked` put them."""
        arguments: Any = request.runtime
        result: types.CallToolResult = await handler(request.override(args=dict(arguments)))
        content = list(result.content)
        for at, block in enumerate(content):
            if isinstance(block, types.AudioContent):  # which the adapter can't convert
                content[at] = types.TextContent(type="text", text=f"[audio {block.mimeType}, not passed on]")
        if result.structuredContent is not None and not _says(content, result.structuredContent):
            text = json.dumps(result.structuredContent, ensure_ascii=False)
            content.append(types.TextContent(type="text", text=text))
        return result.model_copy(update={"content": content})

    async def _watch(self, session: ClientSession) -> None:
        """Ends when a server behind a URL is gone: an answer that was cut off says nothing by itself."""
        while True:
            await asyncio.sleep(PING)
            if self.address.url:
                try:
                    await session.send_ping()
                except (McpError, *_CLOSED) as error:
                    if not isinstance(error, McpError) or error.error.message == _GONE:
                        return

    def _over(self, what: str) -> DeepnbError:
        return RunError(f"the MCP server {self.name} {what}", "%agent tools says how to start it again")


def _says(content: Sequence[types.ContentBlock], structured: Mapping[str, Any]) -> bool:
    """Whether the texts of a result say what its structured part does, whole or as the value of `result` in it."""
    texts = [block.text for block in content if isinstance(block, types.TextContent)]
    said = list[Any]()
    for text in texts:
        try:
            said.append(json.loads(text))
        except ValueError:
            said.append(text)
    wanted = [structured, *([structured["result"]] if structured.keys() == {"result"} else [])]
    return any(one in (*said, said, *texts) for one in wanted)


def _facts(tool: StructuredTool) -> Listed:
    return tool.name, tool.description, tool.args_schema


def _reason(error: BaseException, address: Address, *, opened: bool) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, httpx.HTTPStatusError):
        status, to = error.response.status_code, error.response.headers.get("location", "")
        return f"HTTP {status}" + (f", a redirect to {redact(to)[:200]} that is not followed" if to else "")
    if isinstance(error, httpx.HTTPError):
        return f"{redact(address.url)} can't be reached ({redact(str(error)) or type(error).__name__})"
    if isinstance(error, McpError):
        if address.url and error.error.message == _GONE:
            return "HTTP 404" if not opened else "it has forgotten the session"
        if error.error.message != _CUT:
            return redact(error.error.message)[:200]
    if isinstance(error, (McpError, *_CLOSED)):
        return _CLOSED_IT if opened else "it ended before it answered"
    if isinstance(error, FileNotFoundError):
        return f"there is no command {address.command[0]!r}"
    if isinstance(error, OSError):
        return f"{address.command[0] if address.command else address.url}: {error.strerror or error}"
    return "its answer is not MCP" if address.url else f"{type(error).__name__}: {redact(str(error))[:200]}"


@atexit.register
def _end_all() -> None:
    live = tuple(LIVE)
    for one in live:
        one.stop()
    for one in live:
        one.close()


def opened(address: Address, timeout: float, headers: Mapping[str, str] | None) -> Server:
    """A server that has been started, in a thread that waits for it; an interrupt ends both."""
    server = Server(address, timeout, headers)
    coroutines.run(server.open())
    return server


# -- A tool of an MCP server as LangChain takes it


LONGEST_RESULT = 100_000  # characters of a result
MOST_IMAGES = 5  # images of a result that a model which sees is sent


class ServerTool(BaseTool):
    """Calls a server with the arguments as the model gave them; an error of the server is a result that says so.

    The adapter's own tool loses arguments called `config`, `run_manager` and `runtime`, and its metadata is what the
    server claims of itself.
    """

    server: Any
    offer: Any
    handle_tool_error: Any = True

    def _run(self, /, **arguments: Any) -> Any:
        return coroutines.run(self._answer(arguments))

    async def _arun(self, /, **arguments: Any) -> Any:
        return await asyncio.wrap_future(coroutines.start(self._answer(arguments)))

    async def _answer(self, arguments: Mapping[str, Any]) -> Any:
        try:
            blocks = await self.server.call(self.offer, arguments)
            images = {at: one for at, block in enumerate(blocks) if (one := _image(block)) is not None}
            sent = dict([*images.items()][:MOST_IMAGES])
            rest = [block for at, block in enumerate(blocks) if at not in sent]
            text = result_text(rest) if rest or not sent else ""
            return [{"type": "text", "text": text}, *sent.values()] if sent else text
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
        schema: Any = dict(offer.schema)
        tool = ServerTool(
            name=offer.name, description=offer.description, args_schema=schema, server=server, offer=offer
        )
        try:
            fit_tool(tool, offer.name)
        except Exception as error:  # a schema that no model could be sent: it would fail every turn
            left_out.append(f"{offer.name!r}: its parameters can't be sent to a model ({type(error).__name__})")
        else:
            made.append(tool)
    return tuple(made), tuple(left_out)


def result_text(blocks: Iterable[Mapping[str, Any]]) -> str:
    """A result as text, without credentials, cut where it is too long; images and files are named."""
    texts = []
    for block in blocks:
        where = block.get("url") or f"{len(block.get('base64') or '') * 3 // 4:,} bytes"
        media = f"[{block['type']} {block.get('mime_type') or 'of unknown type'}, {where}, not passed on]"
        texts.append(str(block["text"]) if block["type"] == "text" else media)
    return _capped("\n".join(texts)) or "(an empty result)"


def _image(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """An image that models take, without its metadata; None for a block of another kind."""
    given = block.get("base64") if block["type"] == "image" else None
    if not given or len(given) * 3 // 4 > LARGEST:
        return None
    try:
        data = b64decode(given, validate=True)
    except ValueError:
        return None
    if (kind := image_type(data)) is None:
        return None
    return {"type": "image", "base64": b64encode(bare_image(data)).decode(), "mime_type": kind}


def _capped(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return redact(text)
    rest = len(text) - LONGEST_RESULT
    return f"{redact(text[: 2 * LONGEST_RESULT])[:LONGEST_RESULT]}\n[{rest:,} more characters were cut off]"
