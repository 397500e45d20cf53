"""Functions of a notebook as a module: their source, what they use, and where that comes from; or why they can't be."""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from types import ModuleType
from typing import Any

from deepnb.wings.package.literals import CantWriteError, in_texts, in_value, is_plain, literal
from deepnb.wings.package.source import Source, function_source
from deepnb.wings.package.values import Code, LeftOut

NAME = "notebook_tools"
"""What the module is imported by."""

LIST = "TOOLS"
"""What it calls the list of them all."""


@dataclass
class _Draft:
    imports: set[str] = field(default_factory=set)
    blocks: dict[str, str] = field(default_factory=dict)
    """Name -> its definition, in the order in which they are needed."""
    meaning: dict[str, Any] = field(default_factory=lambda: {LIST: object()})
    """Name -> what it stands for."""
    requirements: set[str] = field(default_factory=set)
    future: bool = False

    def copy(self) -> _Draft:
        return _Draft(set(self.imports), dict(self.blocks), dict(self.meaning), set(self.requirements), self.future)


def module_of(tools: Sequence[Any], listed: int | None = None) -> Code:
    """Return the module of these tools; `TOOLS` in it has the first `listed` of them, all if not given."""
    draft, names, left_out = _Draft(), dict[int, str](), list[LeftOut]()
    for tool in tools:
        trial = draft.copy()
        try:
            names[id(tool)] = _add_tool(trial, tool)
        except CantWriteError as why:
            named = tool.get("name") or tool.get("type") if isinstance(tool, Mapping) else getattr(tool, "name", None)
            left_out.append(LeftOut(str(named or getattr(tool, "__name__", "tool")), str(why)))
        else:
            draft = trial
    mine = [names[id(tool)] for tool in tools[:listed] if id(tool) in names]
    imports = sorted(draft.imports, key=lambda line: (line.startswith("from "), line))
    future = "from __future__ import annotations" if draft.future else ""
    head = '"""Tools of the agent, with what they use, as they are in the notebook."""', future, "\n".join(imports)
    blocks = ("\n\n".join(filter(None, head)), *draft.blocks.values(), f"{LIST} = [{', '.join(mine)}]")
    return Code("\n\n\n".join(blocks) + "\n", frozenset(draft.requirements), tuple(left_out), names)


def _add_tool(draft: _Draft, tool: Any) -> str:
    if getattr(tool, "server", None) is not None:
        raise CantWriteError(f"belongs to the MCP server {tool.server.name}, which this kernel runs")
    if isinstance(tool, Mapping):
        name = f"tool_{len(draft.blocks) + 1}"
        _add_value(draft, name, dict(tool))
        return name
    if inspect.isroutine(tool):
        return _add_definition(draft, tool)
    if (function := getattr(tool, "func", None) or getattr(tool, "coroutine", None)) is None:
        raise CantWriteError(f"is a {type(tool).__name__} object: write it as a function with a docstring")
    source = function_source(function)
    if not any(one.rpartition(".")[2] == "tool" for one in source.decorators):
        raise CantWriteError(f"is a {type(tool).__name__}: write it as a function with a docstring, or with @tool")
    return _add_source(draft, source, tool)


def _add_definition(draft: _Draft, value: Any) -> str:
    """Add a function, as an import or as its source, or a class as an import; return its name."""
    if (found := place(value)) is not None:
        module, name = found
        _mean(draft, name, value)
        _require(draft, module)
        draft.imports.add(f"from {module} import {name}")
        return name
    if isinstance(value, type):
        raise CantWriteError("is a class of the notebook: import it from an installed package")
    return _add_source(draft, function_source(value), value)


def _add_source(draft: _Draft, source: Source, value: Any) -> str:
    if not _mean(draft, source.name, value):
        return source.name
    _check(in_texts((source.text, *source.texts)), "its source")
    for module in source.imports:
        if module.startswith(".") or importlib.util.find_spec(module.partition(".")[0]) is None:
            raise CantWriteError(f"imports {module}, which is not installed")
        _require(draft, module)
    for name in source.names:
        if name in source.values and name.startswith("__"):
            raise CantWriteError(f"uses {name}, which is another in a file")
        if name in source.values:
            _add_name(draft, name, source.values[name], source)
        elif name not in ("Ellipsis", "NotImplemented"):  # a shell adds `display` and others, and replaces `input`
            home = getattr(getattr(builtins, name, None), "__module__", "")
            if home not in ("builtins", "_io", "io"):
                what = "is only in this kernel" if hasattr(builtins, name) else "is not defined"
                raise CantWriteError(f"uses {name}, which {what}")
    draft.blocks[source.name] = source.text
    draft.future = draft.future or source.future
    return source.name


def _add_name(draft: _Draft, name: str, value: Any, user: Source) -> None:
    if isinstance(value, ModuleType):
        known = value.__name__
        if sys.modules.get(known) is not value or distribution(known) is None:
            raise CantWriteError(f"uses {name}, a module that is not installed")
        _require(draft, known)
        if _mean(draft, name, value):
            draft.imports.add(f"import {known}" if name == known else f"import {known} as {name}")
            # Of `xml.etree.ElementTree.parse` it takes the import of the submodule.
            chains = (one for one in user.chains if name == known and one.startswith(f"{name}."))
            draft.imports.update(f"import {one}" for one in chains if isinstance(sys.modules.get(one), ModuleType))
    elif getattr(typing, name, None) is value:
        if _mean(draft, name, value):
            draft.imports.add(f"from typing import {name}")
    elif inspect.isroutine(value) or isinstance(value, type):
        made = _called(name, partial(_add_definition, draft, value))
        if made != name and _mean(draft, name, value):
            draft.blocks[name] = f"{name} = {made}"
    elif (function := getattr(value, "func", None)) is not None and hasattr(value, "args_schema"):
        _called(name, lambda: _add_source(draft, function_source(function), value))  # which may be what can't be done
    else:
        _add_value(draft, name, value)


def _called(name: str, add: Callable[[], str]) -> str:
    try:
        return add()
    except CantWriteError as why:
        raise CantWriteError(f"uses {name}, which {why}") from None


def _add_value(draft: _Draft, name: str, value: Any) -> None:
    if (text := literal(value)) is None:
        why = "is too long for code: read it from a file" if is_plain(value) else "is only in this kernel"
        raise CantWriteError(f"uses {name} ({type(value).__name__}), which {why}")
    _check(in_value(name, value), name)
    if _mean(draft, name, value, same=draft.blocks.get(name) == f"{name} = {text}"):
        draft.blocks[name] = f"{name} = {text}"


def _mean(draft: _Draft, name: str, value: Any, *, same: bool = False) -> bool:
    """Return whether a name is new to the module; one that stands for something else there is an error."""
    if name not in draft.meaning:
        draft.meaning[name] = value
        return True
    if draft.meaning[name] is not value and not same:
        raise CantWriteError(f"has another {name} than a tool before it: rename one of them")
    return False


def _require(draft: _Draft, module: str) -> None:
    if (found := distribution(module)) is None:
        raise CantWriteError(f"uses {module}, a module that is not installed")
    if found and found != "deepnb":
        draft.requirements.add(requirement(found))


def _check(found: str, what: str) -> None:
    if found:
        raise CantWriteError(f"holds {found} in {what}: read it from os.environ in the function")


# -- what another process can import as well: modules of Python and of installed packages


_distributions = cache(packages_distributions)
"""Module -> the installed packages that it comes from."""


def distribution(module: str) -> str | None:
    """Return the installed package that a module comes from; empty for Python itself, None where it comes from none."""
    if (top := module.partition(".")[0]) in sys.stdlib_module_names:
        return ""
    if top == "deepnb":
        return top
    found = _distributions().get(top)
    return found[0] if found else None


def requirement(name: str) -> str:
    """Return a line of `requirements.txt` for an installed package, in the version that is there."""
    if name == "deepnb":  # an editable install keeps the version it was made at
        return f"{name}=={sys.modules[name].__version__}"
    try:
        return f"{name}=={version(name)}"
    except PackageNotFoundError:
        raise CantWriteError(f"needs the package {name}, which is not installed") from None


def place(value: Any) -> tuple[str, str] | None:
    """Return (module, name) by which a function or class is imported; None for one of the notebook or a file beside it."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__" or "." in name:
        return None
    held = sys.modules.get(module)
    there = isinstance(held, ModuleType) and getattr(held, name, None) is value
    return (module, name) if there and distribution(module) is not None else None
