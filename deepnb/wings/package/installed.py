"""What another process can import as well: modules of Python and of installed packages."""

import builtins
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from types import ModuleType
from typing import Any

from deepnb.wings.package.literals import CantWriteError

_distributions = cache(packages_distributions)
"""Module -> the installed packages that it comes from."""


def distribution(module: str) -> str | None:
    """Return the installed package that a module comes from; empty for Python itself, None where it comes from none."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
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


def is_builtin(name: str) -> bool:
    """Return whether every Python has this name; a shell adds `display` and others, and takes the place of `input`."""
    value = getattr(builtins, name, None)
    return name in ("Ellipsis", "NotImplemented") or getattr(value, "__module__", "") in ("builtins", "_io", "io")
