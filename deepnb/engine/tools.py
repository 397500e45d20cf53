"""The tools that an agent is offered: what each says of itself, the file tools, and only a few for a small window."""

import inspect
import time
from asyncio import CancelledError
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from deepagents.middleware.filesystem import FilesystemMiddleware
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphBubbleUp, is_invalid_resume

from deepnb.engine import keys
from deepnb.engine.functions import check, function_tool, in_cells, is_async
from deepnb.engine.listen import tell, tell_notice
from deepnb.engine.request import IMAGES, LONGEST, bounded, tool_name
from deepnb.values.failures import NotOnTapeError, failure_text, own_traceback
from deepnb.values.request import MORE_TOOLS
from deepnb.values.text import whole, whole_value
from deepnb.values.turn import TextDelta, ToolEnded

_SCHEMAS: dict[CodeType | None, Any] = {}
"""The arguments of deepnb's own functions by their code: each graph binds them anew, over a namespace of its own."""
_PARAMETERS: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
"""The shorter JSON schemas, by the class that describes the arguments: making one takes milliseconds."""


def described(tools: Sequence[Any]) -> list[Any]:
    """Return the tools as they are bound: functions as tools, and no description indented as its code is."""
    return [_described(one) for one in tools]


def _described(given: Any) -> Any:
    if inspect.isroutine(given) and given.__doc__:
        description = inspect.cleandoc(given.__doc__)
        if isinstance(given, FunctionType) and given.__module__.startswith("deepnb."):
            ours = tool(description=description, args_schema=_SCHEMAS.get(given.__code__))(given)
            _SCHEMAS[given.__code__] = ours.args_schema
            return ours
        if (made := function_tool(given, description)) is not None:
            return made
        given = tool(description=description)(given)
    if isinstance(given, BaseTool):
        if not is_async(given) and not getattr(getattr(given, "func", None), "__module__", "").startswith("deepnb."):
            check(given)
            given = in_cells(given)
        if (clean := inspect.cleandoc(given.description)) != given.description:
            return given.model_copy(update={"description": clean})
    return given


class ShortTool(StructuredTool):
    """A tool that shows a model a shorter schema; its arguments are checked against its own, as before."""

    shown: dict[str, Any]
    """The JSON schema of its parameters, with its description, as a model sees it: made once, asked for at each call."""

    tool_call_schema = property(attrgetter("shown"))


def shortened(tools: Sequence[Any], texts: Mapping[str, str]) -> list[Any]:
    """Return the tools, those named in `texts` with that description, which has to say what each parameter is."""
    made = []
    for one in tools:
        if isinstance(one, StructuredTool) and (text := texts.get(one.name)) is not None:
            held = {name: getattr(one, name) for name in type(one).model_fields}
            one = ShortTool(**{**held, "description": text, "shown": {**_parameters(one), "description": text}})
        made.append(one)
    return made


_SAID = ("description", "default", "additionalProperties")
"""Keys of a parameter's schema in whose place the tool's description stands."""


def _parameters(tool: StructuredTool) -> dict[str, Any]:
    kind = tool.args_schema if isinstance(tool.args_schema, type) else None
    if kind is not None and (known := _PARAMETERS.get(kind)) is not None:
        return known
    schema = convert_to_openai_tool(tool)["function"].get("parameters", {})
    properties = {}
    for name, parameter in schema.get("properties", {}).items():
        choices = [one for one in parameter.get("anyOf", ()) if one.get("type") != "null"]
        found = choices[0] if len(choices) == 1 else parameter
        properties[name] = {key: value for key, value in found.items() if key not in _SAID}
    made = {**schema, "properties": properties}
    if kind is not None:
        _PARAMETERS[kind] = made
    return made


class FileToolsMiddleware(FilesystemMiddleware):
    """The file tools. Upstream drops `execute` and the words on it at each model call, a fifth of a short turn; here once."""

    name = "FilesystemMiddleware"

    def __init__(
        self, backend: Any, longest: int | None, names: Sequence[str] | None = None, kept: Collection[str] = frozenset()
    ) -> None:
        """`names` are the tools there are, None for all; a result of more than `longest` tokens goes into a file.
        `kept` are tools whose results go into none: they bound them themselves, and nested agents can read a file."""
        chosen: Any = None if names is None else list(names)
        super().__init__(backend=backend, tool_token_limit_before_evict=longest, tools=chosen)
        tools = [tool for tool in self.tools if tool.name != "execute"]
        self.tools = self._with_filtered_grep_description(list(tools), include_execution=False)  # type: ignore[assignment]
        self._conversation_history_prefix += "/prompts"  # beside the history of a thread, not in its place
        self._kept = frozenset(kept)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request) if request.tool_call["name"] in self._kept else super().wrap_tool_call(request, handler)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] in self._kept:
            return await handler(request)
        return await super().awrap_tool_call(request, handler)


_HOOKS = ("wrap_model_call", "awrap_model_call", "wrap_tool_call", "awrap_tool_call")


def know_signatures(stack: Iterable[Any]) -> None:
    """Have the signatures of deepnb's own hooks at hand: LangSmith's wrapper of each asks for it at each call, traced or
    not, and to make it anew is half of what a hook costs."""
    for kind in {*map(type, stack)}:
        for name in _HOOKS:
            hook = getattr(kind, name)
            if hook.__module__.startswith("deepnb.") and not hasattr(hook, "__signature__"):
                hook.__signature__ = inspect.signature(hook)


class RequestMiddleware(AgentMiddleware):
    """Changes a model's request in one way, whether it is sent by a coroutine or not."""

    def changed(self, request: Any) -> Any:
        raise NotImplementedError

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self.changed(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self.changed(request))


class LeanToolsMiddleware(RequestMiddleware):
    """Leaves tools out of the requests of a thread until the model asks for them; a call of one is taken all the same."""

    def __init__(self, others: Mapping[str, BaseTool], whole: Callable[[Any], Any], *, offered: bool) -> None:
        """`others` are the tools that are left out, by name; `offered` says whether the model can ask for them."""
        self._whole = whole
        self._others = dict(others)
        text = f"Get one more tool, from your next step on: {', '.join(self._others)}."
        self.tools = [StructuredTool.from_function(self._told, name=MORE_TOOLS, description=text)] if offered else []

    def changed(self, request: Any) -> Any:
        return request.override(tools=self.bound(request.tools, self._whole(request.state)[keys.MESSAGES]))

    def bound(self, tools: Sequence[Any], messages: Sequence[BaseMessage]) -> list[Any]:
        calls = [call for message in messages for call in getattr(message, "tool_calls", ())]
        asked = {str(call["args"].get("name")) for call in calls if call["name"] == MORE_TOOLS}
        return [tool for tool in tools if (name := tool_name(tool)) not in self._others or name in asked]

    def _told(self, name: str) -> str:
        if (tool := self._others.get(name)) is None:
            return f"Error: there is no tool {name[:80]!r}. There are: {', '.join(self._others)}."
        return f"{name} is there from your next step on. {tool.description}"


# -- how a tool call runs: coroutines on the loop, an exception as the result, results of a length that can be kept


_STOPS = (GraphBubbleUp, NotOnTapeError, KeyboardInterrupt, SystemExit, GeneratorExit)


class ToolErrorsMiddleware(AgentMiddleware):
    """Gives the model a result where a tool raised, or the user's own middleware, which is inside of it.

    A tool that is only a coroutine is run on the loop, where the run is none itself.
    """

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool is not None and is_async(request.tool):
            request = request.override(tool=in_cells(request.tool))
        began = time.perf_counter()
        try:
            return _finished(request, handler(request))
        except _STOPS:
            raise
        except BaseException as error:
            return _result(request.tool_call, error, began)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        began = time.perf_counter()
        try:
            return _finished(request, await handler(request))
        except (*_STOPS, CancelledError):
            raise
        except BaseException as error:
            return _result(request.tool_call, error, began)


def _finished(request: Any, result: Any) -> Any:
    """Return a result that can be stored; one that a tool returns directly is told as the answer."""
    if isinstance(result, ToolMessage) and result.artifact is not None and not _is_stored(result.artifact):
        kind = type(result.artifact).__name__
        tell_notice(f"the artifact of {result.name} ({kind}) can't be stored and is left out")
        result = result.model_copy(update={"artifact": None})
    elif not isinstance(result, ToolMessage) and not _is_stored(result):
        raise TypeError(f"the update of {request.tool_call['name']} can't be stored: return plain values")
    if not isinstance(result, ToolMessage):
        return result
    result = _bounded(result)
    if getattr(request.tool, "return_direct", False):
        tell(TextDelta(result.text, 0))
    return result


def _is_stored(value: Any) -> bool:
    try:
        JsonPlusSerializer().dumps_typed(value)
    except Exception:
        return False
    return True


def _bounded(result: ToolMessage) -> ToolMessage:
    """Return a result whose texts are whole and not too long to be kept, and tell the user if something is left out."""
    if (content := whole_value(result.content)) is not result.content:
        result = result.model_copy(update={"content": content})
    if isinstance(content, str):
        made: Any = bounded(content)
    else:
        made = [
            bounded(b) if isinstance(b, str) else {**b, "text": bounded(b["text"])} if b.get("type") == "text" else b
            for b in content
        ]
    images = [b for b in made if isinstance(b, dict) and b.get("type") == "image" and b.get("base64")]
    if images and not {IMAGES, "read_file_path"} & {*result.additional_kwargs}:
        words = [f"[image {b.get('mime_type')}, {len(b['base64']) * 3 // 4:,} bytes, not passed on]" for b in images]
        result = result.model_copy(update={"additional_kwargs": {**result.additional_kwargs, IMAGES: words}})
    if made == content:
        return result
    tell_notice(f"the result of {result.name} is longer than {LONGEST:,} characters: its middle is left out")
    return result.model_copy(update={"content": made})


def _result(call: Any, error: BaseException, began: float) -> ToolMessage:
    if is_invalid_resume(error):  # nothing the model could put right
        raise error
    text = whole(failure_text(error))
    if not isinstance(error, Exception):  # of these the Listener hears from some versions of LangChain only
        id_, name, took = call["id"] or "", call["name"], time.perf_counter() - began
        tell(ToolEnded(id_, name, text, "error", took, traceback=own_traceback(error)))
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")
