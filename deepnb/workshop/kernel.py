"""Where code of the agent runs: the user's namespace, and what a shell adds to plain Python."""

import ast
import itertools
import linecache
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from deepnb.workshop.exact import class_name


@dataclass(frozen=True)
class Display:
    """A rich output."""

    data: Mapping[str, Any]  # MIME type -> what is shown
    metadata: Mapping[str, Any] = field(default_factory=dict)


Take = Callable[[Display], None]


class PlainKernel:
    """What runs code: here a namespace without a shell, whose values are shown by their repr. A shell overrides the rest."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables: the globals of the code."""
        return self._namespace

    def parsed(self, code: str) -> tuple[ast.Module, str]:
        """Return the syntax tree of code, `!` and `%` lines translated, and the name of its file in tracebacks."""
        name = f"<run_python {next(_NUMBER)}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        return ast.parse(code, name), name

    def displaying(self, take: Take) -> AbstractContextManager[None]:
        """Within the block all that is displayed goes to `take`."""
        return nullcontext()

    def aside(self) -> AbstractContextManager[None]:
        """Within the block what is displayed goes where it went before: what deepnb itself shows meanwhile."""
        return nullcontext()

    def display(self, value: object, take: Take) -> None:
        """Show the value of a last expression."""
        try:
            take(Display({"text/plain": repr(value)}))
        except Exception:
            take(Display({"text/plain": f"<{class_name(value)}>"}))

    def settle(self) -> None:
        """Show what is shown at the end of a cell: figures that are open."""

    def propose(self, code: str) -> bool:
        """Put code into the next cell; False where no cell is running, so that none can be made."""
        return False


_NUMBER = itertools.count(1)
