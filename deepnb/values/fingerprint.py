"""Whether a tool is still the one it was: by the code that it runs and what that code holds, not by its name."""

import dis
import hashlib
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))
_OF_A_TOOL = ("func", "coroutine", "_run", "_arun")
"""Where LangChain's tools have the functions that they run."""


def fingerprint(tools: Iterable[Any]) -> str:
    """Return a hash of functions and tools: the same for the same code made again, another for any other code.

    Objects that code holds are told apart, not looked into: another one is another function, also after a restart.
    """
    facts = sorted(repr(_tool(tool)) for tool in tools)
    return hashlib.sha256("\n".join(facts).encode("utf-8", "replace")).hexdigest()


def _tool(tool: Any) -> Any:
    if isinstance(tool, FunctionType | MethodType | partial | type):
        return _fact(tool, ())
    if said := getattr(getattr(tool, "offer", None), "fingerprint", None):  # of an MCP server, which can be made anew
        return str(said)
    functions = [getattr(tool, name, None) for name in _OF_A_TOOL]
    if callable(functions[0]) or callable(functions[1]):
        return [type(tool).__qualname__, *(_fact(one, ()) for one in functions[:2])]
    held = getattr(tool, "__dict__", {})
    given = getattr(tool, "model_fields_set", held)  # pydantic's: the others are as the class has them
    held = {name: _fact(value, ()) for name, value in sorted(held.items()) if name in given and name != "args_schema"}
    names = ("__call__", *_OF_A_TOOL[2:])
    called = [next((vars(kind)[name] for kind in type(tool).__mro__ if name in vars(kind)), None) for name in names]
    return [type(tool).__qualname__, [_fact(one, ()) for one in called], held]


def _fact(value: Any, above: tuple[int, ...]) -> Any:
    """Return what a value is, as far as it is told apart; `above` are the functions that it is part of."""
    if type(value) in _PLAIN:
        return value
    if type(value) in (tuple, frozenset):
        parts = [repr(_fact(one, above)) for one in value]
        return [type(value).__name__, *(parts if type(value) is tuple else sorted(parts))]
    if id(value) in above:
        return "itself"
    above = (*above, id(value))
    if isinstance(value, CodeType):
        counts = value.co_argcount, value.co_kwonlyargcount, value.co_flags
        facts = value.co_names, value.co_varnames, value.co_freevars, *counts
        return [value.co_code, facts, *(_fact(one, ()) for one in value.co_consts)]
    if isinstance(value, FunctionType):
        return list(_of_function(value, above))
    if isinstance(value, MethodType):
        return ["method", _fact(value.__func__, above), _fact(value.__self__, above)]
    if isinstance(value, partial):
        named = sorted((name, repr(_fact(one, above))) for name, one in value.keywords.items())
        return ["partial", _fact(value.func, above), [_fact(one, above) for one in value.args], named]
    if isinstance(value, type):
        own = sorted((name, one) for name, one in vars(value).items() if isinstance(one, FunctionType))
        return [value.__module__, value.__qualname__, [_fact(one, above) for _, one in own]]
    return [type(value).__qualname__, id(value)]


def _of_function(function: FunctionType, above: tuple[int, ...]) -> Iterator[Any]:
    code = function.__code__
    yield _fact(code, ())
    yield _fact(function.__defaults__, above)
    yield [(name, repr(_fact(one, above))) for name, one in sorted((function.__kwdefaults__ or {}).items())]
    counted = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_DEREF"}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield None if name in counted else _fact(cell.cell_contents, above)
        except ValueError:  # nothing is in it yet
            yield "empty"
    beside = (function.__globals__.get(name) for name in _names(code))
    functions = (one for one in beside if isinstance(one, FunctionType))
    yield from (_fact(one, above) for one in functions if one.__globals__ is function.__globals__)


def _names(code: CodeType) -> list[str]:
    inner = (one for const in code.co_consts if isinstance(const, CodeType) for one in _names(const))
    return sorted({*code.co_names, *inner})
