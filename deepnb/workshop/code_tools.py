"""The tools that run code in the user's kernel, or put it before the user."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Protocol
from weakref import WeakKeyDictionary

from langchain_core.messages import ToolMessage
from langchain_core.messages.content import create_image_block
from langchain_core.tools import InjectedToolCallId

from deepnb.backends.writer import writer, writing
from deepnb.engine.request import IMAGES
from deepnb.engine.run import current_run
from deepnb.values.turn import CodeOutput
from deepnb.workshop.kernel import PlainKernel
from deepnb.workshop.python import Room, run_code

_NOT_HERE = (
    "Error: code runs in the main thread alone, and this kernel reads the click in another. Nothing was run: the user"
    " can ask again and type %agent approve in a cell."
)
_NO_CELL = (
    "Not run. No cell is running, so none can be added below: the code is kept with this call, and the user types"
    " %agent code to get it as a cell."
)


class Desk(Protocol):
    """Where the tools run: the kernel, and who is told of what they do. All is asked at each call."""

    @property
    def kernel(self) -> PlainKernel | None:
        """What runs code; None where there is no namespace to run it in."""

    def live(self, output: CodeOutput) -> None:
        """Show an output while the code runs."""


def code_tools(desk: Desk, *, sees: bool = False) -> list[Callable[..., Any]]:
    """`run_python` and `propose_cell`; none where there is no namespace. A model that `sees` is given plots as images."""
    if desk.kernel is None:
        return []
    rooms: WeakKeyDictionary[Any, Room] = WeakKeyDictionary()

    def run_python(code: str, call: Annotated[str, InjectedToolCallId]) -> Any:
        """Run Python code in the user's notebook, with its variables; what it assigns stays there.

        The user reads and approves the code first. Prints, plots and the value of the last line are shown to the user.
        """
        run, path = current_run(), writer().agent

        def show(output: CodeOutput) -> None:
            placed = replace(output, path=path)
            desk.live(placed)
            if run is not None:
                run.tell(placed)

        room = rooms.setdefault(run, Room()) if run is not None else Room()

        def run_here() -> Any:
            if threading.current_thread() is not threading.main_thread() or (kernel := desk.kernel) is None:
                return _NOT_HERE
            with writing(origin="agent", agent=path, tool=True):
                result = run_code(code, kernel, show, call, room)
            if result.stopped is not None:
                raise result.stopped
            status: Any = "error" if result.failed else "success"
            made = ToolMessage(result.text, name="run_python", tool_call_id=call, status=status)
            if sees and result.pictures:
                images = [create_image_block(base64=data, mime_type=kind) for kind, data in result.pictures]
                made.content = [{"type": "text", "text": result.text}, *map(dict, images)]
                made.additional_kwargs[IMAGES] = [""] * len(result.pictures)
            return made

        return run_here() if run is None else run.on_reader(run_here)  # between two events, in the thread of the cells

    def propose_cell(code: str) -> str:
        """Put code into the user's next cell without running it: for code that the user should keep or run alone."""
        kernel = desk.kernel
        return "The code is in the next cell, not run." if kernel and kernel.propose(code) else _NO_CELL

    return [run_python, propose_cell]
