"""`%agent explain` and `%agent fix`: the last error as a prompt, and the corrected cell below it."""

from collections.abc import Sequence

from deepnb.core.diff import FileDiff
from deepnb.core.errors import LimitError, NotFoundError
from deepnb.core.own_words import Filled
from deepnb.core.secrets import redact
from deepnb.core.values import Turn
from deepnb.magics.code_cells import proposed_code, python_blocks
from deepnb.magics.last_error import CellCode, correction, with_credentials
from deepnb.magics.scene import Scene
from deepnb.views.diff import diff_view
from deepnb.views.notice import notice_view
from deepnb.views.view import View

EXPLAIN = "Explain this error: which line fails, which variable is wrong and why, and how to correct it."
FIX = (
    "Correct the cell that fails: answer with the whole cell in one fenced block, changed only where the error needs"
    " it. If the error does not say how to correct it, say what is missing, without a block."
)
NOTE = "the prompt is the last error, with the lines and variables of your code: %agent xray shows it"
OFFER = "%agent explain explains this error, %agent fix corrects the cell"

_LONGEST = 12_000
"""Characters of the cells that a prompt holds."""


def explain_prompt(text: str | None) -> str:
    """The prompt of `%agent explain`, from the text of the last error."""
    return Filled(f"{EXPLAIN}\n\n{_known(text)}", "")


def fix_prompt(text: str | None, cells: Sequence[CellCode]) -> str:
    """The prompt of `%agent fix`: the error, and whole the cells it went through."""
    known = _known(text)
    if not cells:
        raise NotFoundError("the last error came from no cell", "%agent explain says where it is from")
    if sum(len(cell.code) for cell in cells) > _LONGEST:
        raise LimitError("the cell is too long to be corrected as a whole", "%agent explain names the line")
    whole = [f"{_name(cell)}:\n```python\n{redact(cell.code).rstrip()}\n```" for cell in cells]
    return Filled("\n\n".join([FIX, known, *whole]), "")


def corrected(scene: Scene, cells: Sequence[CellCode], turn: Turn) -> list[View]:
    """Put the corrected cell of an answer into the next cell, never run; gives the diff to show."""
    proposed = proposed_code(turn)
    blocks = python_blocks(turn.text) or ([proposed] if proposed else [])
    found = correction([with_credentials(block, cell) for block in blocks for cell in cells], cells)
    if found is None:
        return [notice_view("the answer has no corrected cell, so there is no next cell")]
    code, cell = found
    if code.strip() == cell.code.strip():
        return [notice_view("the cell in the answer is the same as yours, so there is no next cell")]
    before, after = (redact(text).rstrip("\n") + "\n" for text in (cell.code, code))
    shown: list[View] = [diff_view([FileDiff(_name(cell), before, after)], "corrected cell")]
    put = scene.put_code(code, "the corrected cell is below; nothing was run")
    return [*shown, *([put] if put else [])]


def _name(cell: CellCode) -> str:
    return f"Cell {cell.name}".strip()


def _known(text: str | None) -> str:
    if text is None:
        raise NotFoundError("there is no error to explain", "run the cell that fails, then %agent explain")
    return text
