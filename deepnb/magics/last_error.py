"""The last error of the user's own code, for a prompt; and the error that ends a cell whose turn waits for the user."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepnb.values.approvals import PendingCall


ERR = "err"
"""The name that stands for the error in a prompt."""


@dataclass(frozen=True)
class CellCode:
    """A cell that an error went through, as it was typed."""

    name: str
    code: str


class LastError:
    """What a shell showed a traceback of, and nothing else: a mistake in a magic is one line and leaves it as it was."""

    def __init__(self, ip: Any) -> None:
        self._ip = ip
        self._error: BaseException | None = None
        self._typed = ""

    def note(self, result: Any) -> bool:
        """Keep the error of a cell that has run, if it is one with a traceback; return whether it is."""
        error = result.error_before_exec or result.error_in_exec
        if not _has_traceback(error):
            return False
        self._error, self._typed = error, str(getattr(result.info, "raw_cell", "") or "")
        return True

    @property
    def error(self) -> BaseException | None:
        """The error; before the first one, that of a cell that ran before deepnb was loaded."""
        if self._error is not None:
            return self._error
        shown = getattr(sys, "last_value", None)
        return shown if _has_traceback(shown) else None

    def text(self) -> str | None:
        """Return the traceback with the user's frames and variables, without credentials; None without an error."""
        from deepnb.workshop.error_text import error_text

        return None if self.error is None else error_text(self.error, self._label)

    def cells(self) -> tuple[CellCode, ...]:
        """Return the cells in the traceback, the innermost first, each once."""
        from deepnb.values.failures import is_cell
        from deepnb.workshop.frames import frames, lines_of

        if self.error is None:
            return ()
        files = [frame.file for frame in frames(self.error) if frame.own and is_cell(frame.file)]
        if isinstance(self.error, SyntaxError) and is_cell(str(self.error.filename)):
            files.append(str(self.error.filename))
        codes = {file: "\n".join(lines_of(file)) for file in reversed(files)}
        found = (CellCode(self._label(file) or "", self._as_typed(file, code)) for file, code in codes.items())
        return tuple(found) or ((CellCode("", self._typed),) if self._typed else ())

    def names(self, prompt: str, namespace: MutableMapping[str, Any]) -> Mapping[str, Any]:
        """Return the names that a prompt may ask for: the user's variables, and `err` if none of them has that name."""
        if f"{{{ERR}}}" not in prompt or ERR in namespace or (text := self.text()) is None:
            return namespace
        return ChainMap(namespace, {ERR: text})

    def _label(self, file: str) -> str | None:
        known = self._ip.compile.format_code_name(file)
        return known[1] if known and known[1] != "In[0]" else None  # which is no cell: code that the agent ran

    def _as_typed(self, file: str, code: str) -> str:
        """Return a cell with its magics as they were typed: the code that ran has calls in their place."""
        number = (self._label(file) or "").removeprefix("In[").rstrip("]")
        typed = self._ip.history_manager.input_hist_raw
        earlier = [typed[int(number)]] if number.isdecimal() and int(number) < len(typed) else []
        for cell in (self._typed, *earlier):
            if self._ip.transform_cell(cell).rstrip() == code.rstrip():
                return str(cell)
        return code


def correction(blocks: Sequence[str], cells: Sequence[CellCode]) -> tuple[str, CellCode] | None:
    """Return the block that is most like one of the cells, and that cell; a block that only quotes one comes last."""
    from difflib import SequenceMatcher  # loading the extension needs none

    def likeness(pair: tuple[str, CellCode]) -> float:
        block, cell = pair
        same = block.strip() == cell.code.strip()
        return -1.0 if same else SequenceMatcher(None, cell.code, block, autojunk=False).quick_ratio()

    return max(product(blocks, cells), key=likeness, default=None)


def with_credentials(code: str, cell: CellCode) -> str:
    """Return corrected code with the cell's own lines in place of those that a model got without their credentials."""
    from deepnb.gate import redact

    typed, shown = cell.code.split("\n"), redact(cell.code).split("\n")
    if len(typed) != len(shown):
        return code
    hidden = {after: before for before, after in zip(typed, shown, strict=True) if before != after}
    return "\n".join(hidden.get(line, line) for line in code.split("\n"))


def _has_traceback(error: object) -> bool:
    """Return whether the shell shows a traceback of an error: not of a mistake in a magic, or one that shows itself."""
    from IPython.core.error import UsageError

    if not isinstance(error, BaseException) or isinstance(error, UsageError | SystemExit):
        return False
    own = type(error).__module__.partition(".")[0] == "deepnb"
    return not (own and hasattr(type(error), "_render_traceback_"))


class ApprovalNeeded(Exception):
    """Ends a cell with an error, so that a front end runs no cell below it; shown as one line without a traceback."""

    shown = False
    """Whether the cell shows the line already, where it can go once the user has decided."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def approval_needed(calls: Sequence[PendingCall], *, buttons: bool) -> ApprovalNeeded:
    """Return the error that ends a cell with a card of these calls."""
    count = len(calls)
    if all(call.is_question for call in calls):
        what, how = "the graph needs your answer", "answer above" if buttons else "type %agent resume JSON"
        return ApprovalNeeded(f"{what}: {how}, then run the cells below")
    what = "a call needs" if count == 1 else f"{count} calls need"
    how = "decide above" if buttons else "type %agent approve or reject"
    return ApprovalNeeded(f"{what} your approval: {how}, then run the cells below")


def stop_at_cards(ip: Any) -> None:
    """Have a kernel say that a cell has failed without an error in its output, where the cell shows the line itself."""

    def stop(ip: Any, kind: type, error: ApprovalNeeded, trace: Any, tb_offset: int | None = None) -> list[str]:
        if error.shown:
            ip._last_traceback = [str(error)]
        else:
            ip._showtraceback(kind, error, [str(error)])
        return [str(error)]

    if hasattr(ip, "kernel") and not ip.custom_exceptions:  # those of the user's own come first
        ip.set_custom_exc((ApprovalNeeded,), stop)
