"""The IPython shell as the place where the agent's code runs."""

import ast
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from deepnb.values.image import IN_A_TERMINAL
from deepnb.workshop.kernel import Display, PlainKernel, Take
from deepnb.workshop.notebooks import below, notebook_path

_PUT: WeakKeyDictionary[Any, dict[tuple[str, str], float]] = WeakKeyDictionary()
"""What was put below which cell, and when, for each shell: the cells are there, too, when the extension is loaded again."""


class ShellKernel(PlainKernel):
    """Code runs as in a cell: magics and shell commands, rich outputs, figures at the end."""

    def __init__(self, ip: Any, is_running: Callable[[], bool], cell: Callable[[], str | None]) -> None:
        """`is_running` says whether a cell is running: only then can one be put below it; `cell` is its id."""
        self._ip = ip
        self._is_running = is_running
        self._cell = cell
        self._put = _PUT.setdefault(ip, {})
        self._real = ip.display_pub
        self._proposed: list[str] = []
        self._figures = set[int]()

    @property
    def namespace(self) -> dict[str, Any]:
        namespace: dict[str, Any] = self._ip.user_ns
        return namespace

    def parsed(self, code: str) -> tuple[ast.Module, str]:
        ip = self._ip
        cell = ip.transform_cell(code)
        name = ip.compile.cache(cell, 0, raw_code=code)
        tree: ast.Module = ip.transform_ast(ip.compile.ast_parse(cell, filename=name))
        return tree, name

    @contextmanager
    def displaying(self, take: Take) -> Iterator[None]:
        ip = self._ip
        real, leave = ip.display_pub, getattr(ip, "ask_exit", None)
        self._real = real
        ip.display_pub = _Taker(real, take)
        ip.ask_exit = sys.exit
        try:
            yield
        finally:
            ip.display_pub, ip.ask_exit = real, leave

    @contextmanager
    def aside(self) -> Iterator[None]:
        ip = self._ip
        taker, ip.display_pub = ip.display_pub, self._real
        try:
            yield
        finally:
            ip.display_pub = taker

    def display(self, value: object, take: Take) -> None:
        data, metadata = self._ip.display_formatter.format(value)
        if data:
            take(Display(data, metadata))

    def settle(self) -> None:
        inline, pyplot = map(sys.modules.get, ("matplotlib_inline.backend_inline", "matplotlib.pyplot"))
        if inline is not None and pyplot is not None:
            inline.flush_figures()
        elif pyplot is not None and not pyplot.isinteractive() and not hasattr(self._ip, "kernel"):
            before, self._figures = self._figures, {*pyplot.get_fignums()}
            if self._figures - before:
                self._ip.display_pub.publish({"text/plain": IN_A_TERMINAL})

    def propose(self, code: str) -> bool:
        if not self._is_running():
            return False
        self._proposed.append(code.rstrip("\n"))
        self.put_cell("\n\n".join(self._proposed))
        return True

    def put_cell(self, text: str) -> None:
        """Put a text into the next cell (in a terminal: the next prompt), unless the running cell has put it there before."""
        if (cell := self._cell()) is not None:
            file, key = notebook_path(self.namespace), (cell, text)
            if file is not None and f"{below(file, cell)}\n\n".startswith(f"{text.rstrip()}\n\n"):
                return
            # Whether it is still there, the file says once it is saved.
            if self._put.get(key, 0.0) > (file.stat().st_mtime if file is not None and file.exists() else 0.0):
                return
            self._put[key] = time.time()
        self._ip.set_next_input(text)

    def begin_cell(self) -> None:
        """A cell begins: what was proposed before is in a cell of its own."""
        self._proposed.clear()


class _Taker:
    """Takes what the thread that made it displays; what other threads display goes on."""

    def __init__(self, real: Any, take: Take) -> None:
        self._real, self._take = real, take
        self._owner = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def publish(self, data: Mapping[str, Any], metadata: Any = None, *args: Any, **kwargs: Any) -> None:
        if threading.get_ident() != self._owner:
            self._real.publish(data, metadata, *args, **kwargs)
        elif not kwargs.get("update"):  # the first of an output that is updated stays
            self._take(Display(dict(data), dict(metadata or {})))

    def clear_output(self, wait: bool = False) -> None:
        """What was shown stays: it is part of the turn."""
