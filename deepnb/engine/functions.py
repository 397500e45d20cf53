"""Functions of the notebook as tools: called as Python calls them, in the thread of its cells.

LangChain's own tools take `config`, `run_manager`, `callbacks` and `runtime` for themselves, drop names with `_` in front,
and pass all by name. Here a parameter has a field of its own in a pydantic model, under its name as the alias.
"""

import inspect
import json
from collections.abc import Callable
from contextvars import copy_context
from functools import partial, wraps
from itertools import islice
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES, _is_injected_arg_type
from langgraph.types import Command
from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, create_model

from deepnb.engine import coroutines
from deepnb.engine.run import current_run
from deepnb.values.errors import InvalidError

_ITEMS = 1000
"""Items that are taken of a generator."""
_DO = "annotate them with str, int, float, bool, list or dict"


class FunctionTool(BaseTool):
    """Calls a function whatever its parameters are called, and however they are passed."""

    function: Any
    signature: Any
    arguments: Any  # a pydantic model

    def _run(self, /, **given: Any) -> Any:
        call = self._bound(given)
        if inspect.iscoroutinefunction(self.function):
            return as_content(coroutines.run(call()))
        return _in_cell(lambda: as_content(call()))

    async def _arun(self, /, **given: Any) -> Any:
        if inspect.iscoroutinefunction(self.function):
            return as_content(await self._bound(given)())
        return await coroutines.in_thread(self._run, **given)

    def _bound(self, given: Any) -> Callable[[], Any]:
        made = self.arguments.model_validate(given)
        names = {field: info.alias for field, info in self.arguments.model_fields.items()}
        values = {names[field]: getattr(made, field) for field in made.model_fields_set if field in names}
        last = next(reversed(self.signature.parameters.values()), None)
        if last is not None and last.kind is last.VAR_KEYWORD:
            values[last.name] = {**(made.model_extra or {}), **values.get(last.name, {})}
        bound = inspect.BoundArguments(self.signature, values)  # type: ignore[arg-type]
        bound.apply_defaults()
        return partial(self.function, *bound.args, **bound.kwargs)


def function_tool(function: Any, description: str) -> FunctionTool | None:
    """Return a function as a tool, None if it asks LangChain for something; raise InvalidError if no model can call it."""
    name = function.__name__
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        do = f"write a function that calls it: def {name}_of(...): return {name}(...)"
        raise InvalidError(f"{name} can't be a tool: Python does not know its parameters", do) from None
    try:
        notes = getattr(function, "__annotations__", {})
        said = {key: notes[key] for key in signature.parameters if key in notes}
        names = getattr(inspect.unwrap(function), "__globals__", {})
        hints = get_type_hints(SimpleNamespace(__annotations__=said), names, include_extras=True)
    except Exception as error:
        what = f"{name} can't be a tool: its parameters have no JSON schema ({type(error).__name__}: {error})"
        raise InvalidError(what, _DO) from None
    asked = [one for one in signature.parameters if one in hints and _is_injected(hints[one])]
    parameters = signature.parameters.values()
    if asked:
        odd = next((p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY)), None)
        if odd is not None:
            do = f"take a list in the place of {odd}, and no /" if odd.kind is odd.VAR_POSITIONAL else "leave out the /"
            raise InvalidError(f"{name} can't be a tool: with {asked[0]} of LangChain's, {odd} is not passed", do)
        return None
    fields = {f"field_{i}": _field(name, p, hints.get(p.name, Any)) for i, p in enumerate(parameters)}
    extra = any(p.kind is p.VAR_KEYWORD for p in parameters)
    made: Any = create_model(name, __config__=ConfigDict(extra="allow" if extra else "ignore"), **fields)
    parts = {"args_schema": made.model_json_schema(by_alias=True), "function": function}
    return FunctionTool(name=name, description=description, signature=signature, arguments=made, **parts)


def _field(name: str, parameter: inspect.Parameter, hint: Any) -> Any:
    """Return type and field of a parameter; `*xs` is a list, `**options` an object."""
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    said = next((one for one in notes if isinstance(one, str)), None)
    default: dict[str, Any] = {} if parameter.default is parameter.empty else {"default": parameter.default}
    if parameter.kind is parameter.VAR_POSITIONAL:
        hint, default = list[hint], {"default_factory": list}  # type: ignore[valid-type]
    elif parameter.kind is parameter.VAR_KEYWORD:
        hint, default = dict[str, hint], {"default_factory": dict}  # type: ignore[valid-type]
    try:
        TypeAdapter(hint).json_schema()
    except (PydanticUserError, TypeError, ValueError) as error:
        what = f"its parameters have no JSON schema ({parameter.name}: {type(error).__name__})"
        raise InvalidError(f"{name} can't be a tool: {what}", _DO) from None
    if "default" in default:
        try:
            json.dumps(default["default"], allow_nan=False)
        except (TypeError, ValueError):
            default = {"default_factory": partial(lambda value: value, default["default"])}
    return hint, Field(alias=parameter.name, description=said, **default)


def _is_injected(hint: Any) -> bool:
    rooms = (str(getattr(kind, "__module__", "")) for kind in (hint, *get_args(hint)))
    return _is_injected_arg_type(hint) or any(room.startswith(("langchain", "langgraph")) for room in rooms)


def as_content(value: Any) -> Any:
    """Return a result as a tool message has it; one that can't be written is named by its type."""
    if inspect.isawaitable(value):
        value = coroutines.run(value)
    if isinstance(value, str | ToolMessage | Command):
        return value
    if isinstance(value, list) and value and all(isinstance(one, ToolMessage | Command) for one in value):
        return value
    if inspect.isgenerator(value):
        value = list(islice(value, _ITEMS))
    blocks = isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    if blocks and all(one.get("type") in TOOL_MESSAGE_BLOCK_TYPES for one in value):
        return value
    for write in (partial(json.dumps, ensure_ascii=False), str):
        try:
            return write(value)
        except Exception:
            continue
    return f"a value of type {type(value).__name__}, which can't be shown"


def is_async(tool: Any) -> bool:
    """Return whether a tool, or a function that will be one, has a coroutine and may have nothing else."""
    if isinstance(tool, FunctionTool):  # which runs either
        return False
    if isinstance(tool, StructuredTool | Tool):
        return tool.func is None and tool.coroutine is not None
    if isinstance(tool, BaseTool):
        return type(tool)._arun is not BaseTool._arun
    return inspect.iscoroutinefunction(tool)


def in_cells(tool: BaseTool) -> BaseTool:
    """Return a LangChain tool that runs in the thread of the cells, as plain functions do; a coroutine on the loop."""
    simple = isinstance(tool, StructuredTool | Tool)
    original: Any = (tool.func or tool.coroutine) if simple else tool._run  # type: ignore[attr-defined]

    @wraps(original)
    def call(*args: Any, **named: Any) -> Any:
        work = partial(original, *args, **named)
        if not is_async(tool):
            return _in_cell(work)
        if simple:
            return coroutines.run(work())
        try:
            return work()
        except NotImplementedError:
            named.pop("run_manager", None)  # that of a synchronous run
            return coroutines.run(tool._arun(*args, **named))

    made = tool.model_copy(update={"func": call} if simple else {})
    if not simple:
        object.__setattr__(made, "_run", call)
    return made


def _in_cell(work: Callable[[], Any]) -> Any:
    """Do work in the thread that reads the run, in a notebook that of its cells; here, if an event loop reads it."""
    run = current_run()
    return work() if run is None or run.notify else run.on_reader(partial(copy_context().run, work))


def check(tool: BaseTool) -> None:
    """Raise InvalidError for a LangChain tool that LangChain could not call with what its schema asks for."""
    if not isinstance(tool, StructuredTool) or tool.func is None or isinstance(tool.args_schema, dict):
        return
    signature = inspect.signature(tool.func)
    hints = get_type_hints(tool.func, include_extras=True)
    own = [one for one in ("run_manager", "callbacks", "config") if one in signature.parameters]
    schema: Any = tool.get_input_schema()
    names = {*schema.model_fields, *own}
    taken = "config" if "config" in own and not _is_injected(hints.get("config", Any)) else ""
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        taken = taken or str(error)
    if taken:
        what = f"{tool.name} can't be a tool: LangChain does not pass its parameters as they are ({taken})"
        raise InvalidError(what, "pass the function itself, without @tool")
