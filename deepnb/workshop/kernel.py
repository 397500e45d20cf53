"""Where code of the agent runs: the user's namespace, and what a shell adds to plain Python."""

import ast
import itertools
import linecache
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from deepnb.workshop.exact import class_name


@dataclass(frozen=True)
class Display:
    """A rich output."""

    data: Mapping[str, Any]  # MIME type -> what is shown
    metadata: Mapping[str, Any] = field(default_factory=dict)


Take = Callable[[Display], None]


class Kernel(Protocol):
    """What runs code, as far as that differs from shell to shell."""

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables: the globals of the code."""

    def parsed(self, code: str) -> tuple[ast.Module, str]:
        """Return the syntax tree of code, `!` and `%` lines translated, and the name of its file in tracebacks."""

    def displaying(self, take: Take) -> AbstractContextManager[None]:
        """Within the block all that is displayed goes to `take`."""

    def aside(self) -> AbstractContextManager[None]:
        """Within the block what is displayed goes where it went before: what deepnb itself shows meanwhile."""

    def display(self, value: object, take: Take) -> None:
        """Show the value of a last expression."""

    def settle(self) -> None:
        """Show what is shown at the end of a cell: figures that are open."""

    def propose(self, code: str) -> bool:
        """Put code into the next cell; False where no cell is running, so that none can be made."""


class PlainKernel:
    """A namespace without a shell: values are shown by their repr."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace

    def parsed(self, code: str) -> tuple[ast.Module, str]:
        name = f"<run_python {next(_NUMBER)}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        return ast.parse(code, name), name

    def displaying(self, take: Take) -> AbstractContextManager[None]:
        return nullcontext()

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def display(self, value: object, take: Take) -> None:
        try:
            take(Display({"text/plain": repr(value)}))
        except Exception:
            take(Display({"text/plain": f"<{class_name(value)}>"}))

    def settle(self) -> None:
        """Nothing is open."""

    def propose(self, code: str) -> bool:
        return False


_NUMBER = itertools.count(1)
