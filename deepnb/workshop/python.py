"""Running a piece of code of the agent in the user's namespace: what it put out, how it ended, which names it changed."""

import ast
import builtins
import getpass
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import CO_COROUTINE
from itertools import count
from traceback import extract_tb
from types import ModuleType
from typing import Any, TextIO

from deepnb.gate import redact
from deepnb.values.failures import failure_text
from deepnb.values.image import PICTURES, bare_images
from deepnb.values.text import terminal_text
from deepnb.values.turn import CodeOutput
from deepnb.workshop.kernel import Display, PlainKernel

# -- what code writes to a text stream


HEAD, TAIL = 20_000, 4_000  # characters that are kept of a stream
_PIECE = 4_000  # characters after which a piece without a line feed is handed on


class Capture(io.TextIOBase):
    """A text stream in the place of `real`; what is written once it has ended goes there, as a thread may write late."""

    encoding = "utf-8"  # type: ignore[misc]

    def __init__(self, real: TextIO | None, hand_on: Callable[[str], None]) -> None:
        self._real, self._hand_on = real, hand_on
        self._head: list[str] = []
        self._length = 0
        self._tail = ""
        self._pending: list[str] = []
        self._lock = threading.Lock()
        self._over = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """That of the real stream: what a process writes there is not seen here."""
        if self._real is None:
            raise io.UnsupportedOperation("fileno")
        return self._real.fileno()

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._over:
            return self._real.write(text) if self._real is not None else len(text)
        with self._lock:
            room = HEAD - self._length
            self._length += len(text)
            if room > 0:
                self._head.append(text[:room])
                self._pending.append(text[:room])
            if len(text) > room:
                self._tail = (self._tail + text[max(room, 0) :])[-TAIL:]
        return len(text)

    def hand_on(self, *, whole: bool = False) -> None:
        """Hand on the lines that are complete; with `whole`, what there is: something else is shown below it."""
        with self._lock:
            text = "".join(self._pending)
            cut = len(text) if whole or len(text) > _PIECE else text.rfind("\n") + 1
            self._pending = [text[cut:]] if cut < len(text) else []
        if cut:
            self._hand_on(text[:cut])

    def end(self) -> None:
        """Nothing more is captured; the end of what is too long to keep whole is handed on."""
        self._over = True
        self.hand_on(whole=True)
        if self._length > HEAD:
            self._hand_on(self.text[HEAD:])

    @property
    def text(self) -> str:
        """All of it; of a long one the beginning and the end, with a line between them."""
        head, left = "".join(self._head), self._length - HEAD
        if left <= 0:
            return head
        tail = self._tail[-min(TAIL, left) :]
        between = left - len(tail)
        return f"{head}\n… {between:,} characters left out …\n{tail}" if between else head + tail


def no_input(*_: Any, **__: Any) -> str:
    """Stands for `input` and `getpass`: there is nobody to answer."""
    raise RuntimeError("input() can't be used in run_python: ask the user in your answer")


class NoInput(io.TextIOBase):
    """Stands for `sys.stdin`."""

    read = readline = no_input  # type: ignore[assignment]


# -- running a piece of code of the agent in the user's namespace


_OFTEN = 0.25
"""Seconds between two pieces of what is printed, at first; later a twentieth of the time that the code has run."""
RICH = 8  # rich outputs that are shown of one turn
BYTES = 1_500_000  # bytes of them, encoded as they are sent
_WORDS = 2_000  # characters of one rich output that the model reads
_TEXT = 4_000  # characters of each text stream that it reads
_PICTURES = 4  # images of one call that a model is given
_FRAMES = 5  # lines of the code that a traceback names
_NAMES = 12

Show = Callable[[CodeOutput], None]


@dataclass
class Room:
    """How much of rich outputs can still be shown in a turn."""

    outputs: int = RICH
    bytes: int = BYTES

    def take(self, data: Mapping[str, Any]) -> bool:
        """Return whether there was room for one more."""
        size = sum(len(part) if isinstance(part, str | bytes) else len(repr(part)) for part in data.values())
        if not self.outputs or size > self.bytes:
            return False
        self.outputs, self.bytes = self.outputs - 1, self.bytes - size
        return True


@dataclass(frozen=True)
class CodeResult:
    """How a piece of code ended."""

    text: str  # for the model: what was put out, the error, the names; without credentials
    pictures: tuple[tuple[str, str], ...] = ()
    """(MIME type, base64) of the first images that were shown, for a model that sees."""
    failed: bool = False
    stopped: KeyboardInterrupt | None = None  # the interrupt that ended it


@dataclass
class _Running:
    id: str
    show: Show
    room: Room
    parts: list[str] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)
    hidden: int = 0
    lock: Any = field(default_factory=threading.RLock)
    """Numbers are shown in order, whichever thread hands a piece on."""
    number: Iterator[int] = field(default_factory=partial(count, 1))
    streams: dict[str, Capture] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.streams = {kind: Capture(getattr(sys, kind), partial(self.put_out, kind)) for kind in ("stdout", "stderr")}

    def put_out(self, kind: Any, text: str = "", display: Display | None = None) -> None:
        data, metadata = (display.data, display.metadata) if display else ({}, {})
        with self.lock:
            self.show(CodeOutput(self.id, next(self.number), kind, redact(text), dict(data), dict(metadata)))

    @contextmanager
    def shown_as_it_grows(self) -> Iterator[None]:
        """Within the block what is printed is handed on now and then: ever more seldom, so that it is not sent too often."""
        over, began = threading.Event(), time.monotonic()

        def pulse() -> None:
            while not over.wait(max(_OFTEN, (time.monotonic() - began) / 20)):
                for stream in self.streams.values():
                    stream.hand_on()

        thread = threading.Thread(target=copy_context().run, args=(pulse,), daemon=True, name="deepnb-output")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(_OFTEN)

    def rich(self, display: Display) -> None:
        """One rich output: shown where there is room, and in words for the model."""
        for stream in self.streams.values():
            stream.hand_on(whole=True)
        shown = {kind: bare_images(part) if kind.startswith("image/") else part for kind, part in display.data.items()}
        display = replace(display, data=shown)
        pictures = [f"[{kind}, shown to the user]" for kind in display.data if kind.startswith("image/")]
        text, kinds = display.data.get("text/plain"), ", ".join(display.data) or "nothing"
        plain = _cut(text, _WORDS) if isinstance(text, str) and text.strip() else f"[{kinds}, shown to the user]"
        words = redact(pictures[0] if pictures else plain)
        if self.room.take(display.data):
            self.put_out("rich", words, display)
            kind = next((kind for kind in PICTURES if isinstance(display.data.get(kind), str)), None)
            if kind is not None and len(self.pictures) < _PICTURES:
                self.pictures.append((kind, "".join(display.data[kind].split())))
            self.parts.append(words)
        else:
            self.hidden += 1
            if self.hidden <= RICH:
                self.parts.append(f"{words}\n(not shown to the user: too many or too large outputs)")

    def end(self) -> None:
        """All has been put out: the streams come before what is rich, as the model reads it."""
        for stream in self.streams.values():
            stream.end()
        texts = [(kind, _cut(redact(terminal_text(stream.text)), _TEXT)) for kind, stream in self.streams.items()]
        self.parts[:0] = [text if kind == "stdout" else f"{kind}:\n{text}" for kind, text in texts if text]
        if self.hidden > RICH:
            self.parts.append(f"{self.hidden - RICH} more outputs were not shown")
        self.put_out("end")


def run_code(code: str, kernel: PlainKernel, show: Show, id: str = "", room: Room | None = None) -> CodeResult:  # noqa: A002
    """Run code as a cell would, in this thread; `show` is given its outputs as they come.

    An exception of the code is part of the result, SystemExit included; so is an interrupt, which the caller raises again.
    """

    here = threading.get_ident()

    def aside(output: CodeOutput) -> None:
        with kernel.aside() if threading.get_ident() == here else nullcontext():
            show(output)

    running = _Running(id, aside, room or Room())
    before = _user_names(kernel.namespace)
    error: BaseException | None = None
    with _in_place(kernel, running), running.shown_as_it_grows():
        try:
            tree, name = kernel.parsed(code)
            body, last = tree.body, tree.body[-1] if tree.body else None
            value_of = last.value if isinstance(last, ast.Expr) and not code.rstrip().endswith(";") else None
            statements = ast.Module(body[:-1] if value_of else body, tree.type_ignores)
            _evaluate(statements, name, "exec", kernel.namespace)
            value = _evaluate(ast.Expression(value_of), name, "eval", kernel.namespace) if value_of else None
            if value is not None:
                kernel.display(value, running.rich)
        except BaseException as raised:
            error = raised
        try:
            kernel.settle()
        except Exception as raised:
            error = error or raised
        running.end()
    if error is not None:
        running.parts.append(_error_text(error))
    text = "\n".join(running.parts) or "(no output)"
    if line := _changed_names(before, _user_names(kernel.namespace)):
        running.put_out("variables", line)
        text = f"{text}\n[variables: {line}]"
    stop = error if isinstance(error, KeyboardInterrupt) else None
    return CodeResult(text, tuple(running.pictures), error is not None, stop)


def _evaluate(tree: Any, name: str, mode: str, namespace: dict[str, Any]) -> Any:
    """Run a compiled tree; one that awaits runs on deepnb's event loop."""
    made = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    value = eval(made, namespace)  # what the user has approved
    if made.co_flags & CO_COROUTINE:
        from deepnb.engine import coroutines

        return coroutines.run(value)
    return value


@contextmanager
def _in_place(kernel: PlainKernel, running: _Running) -> Iterator[None]:
    """Within the block what is printed and displayed is taken, and nobody is asked for input."""
    with ExitStack() as stack:
        for module, attribute, value in (
            (sys, "stdout", running.streams["stdout"]),
            (sys, "stderr", running.streams["stderr"]),
            (sys, "stdin", NoInput()),
            (builtins, "input", no_input),
            (getpass, "getpass", no_input),
        ):
            stack.callback(setattr, module, attribute, getattr(module, attribute))
            setattr(module, attribute, value)
        stack.enter_context(kernel.displaying(running.rich))
        yield


def _user_names(namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tuple(namespace.items()) if not name.startswith("_")}


def _changed_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """`new: totals; changed: df; removed: x`."""
    new = (name for name, value in after.items() if name not in before and not issubclass(type(value), ModuleType))
    changed = (name for name, value in after.items() if name in before and before[name] is not value)
    lines = []
    for kind, given in (("new", new), ("changed", changed), ("removed", (one for one in before if one not in after))):
        names = list(given)
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        lines += [f"{kind}: {', '.join(names[:_NAMES])}{more}"] if names else []
    return "; ".join(lines)


def _cut(text: str, limit: int) -> str:
    text = text.rstrip("\n")
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]}\n… {len(text) - limit:,} characters left out …\n{text[head - limit :]}"


def _error_text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        line = f" (line {error.lineno}: {(error.text or '').strip()})" if error.lineno else ""
        return redact(f"{failure_text(error)}{line}")
    if isinstance(error, SystemExit):
        return f"Error: the code called exit ({error.code}): it was stopped, and the kernel goes on"
    if isinstance(error, KeyboardInterrupt):
        return "Error: interrupted by the user"
    frames = extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename.startswith(("<run_python", "<ipython-input")) or "ipykernel_" in f.filename]
    lines = [f"  line {frame.lineno}, in {frame.name}: {frame.line}" for frame in own[-_FRAMES:]]
    return redact("\n".join([failure_text(error), *lines]))
