"""The code of a turn as a cell; and `%agent explain` and `%agent fix`: the last error as a prompt, the corrected cell."""

import re
from collections.abc import Sequence

from deepnb.gate import redact
from deepnb.gate.own_words import Filled
from deepnb.magics.last_error import CellCode, correction, with_credentials
from deepnb.magics.scene import Args, Result, Scene
from deepnb.values.code import CODE_TOOLS, PROPOSAL_TOOLS
from deepnb.values.errors import InvalidError, LimitError, NotFoundError
from deepnb.values.files import FileDiff
from deepnb.values.turn import ToolStarted, Turn
from deepnb.views.diff import diff_view
from deepnb.views.text import counted
from deepnb.views.view import TextView, View, notice_view

AFTER_A_BUTTON = "%agent code puts the code into the next cell"

_TOOLS = {**CODE_TOOLS, **PROPOSAL_TOOLS}
# ```python | ~~~
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_PYTHON = ("", "py", "python", "python3", "ipython")
EXPLAIN = "Explain this error: which line fails, which variable is wrong and why, and how to correct it."
FIX = (
    "Correct the cell that fails: answer with the whole cell in one fenced block, changed only where the error needs"
    " it. If the error does not say how to correct it, say what is missing, without a block."
)
NOTE = "the prompt is the last error, with the lines and variables of your code: %agent xray shows it"
OFFER = "%agent explain explains this error, %agent fix corrects the cell"

_LONGEST = 12_000
"""Characters of the cells that a prompt holds."""


def agent_code(scene: Scene, args: Args) -> Result:
    """Put the last block of the last answer, else the code of its last call, or number N of all, into the next cell."""
    if not scene.session.turns:
        raise NotFoundError("this thread has no answer yet", "%agent PROMPT starts one")
    turn = scene.session.turns[-1]
    blocks, calls = code_blocks(turn.text), called_code(turn)
    code = [*blocks, *calls]
    if not code:
        raise NotFoundError("the last turn has no code", "ask for a block of code")
    number = (len(blocks) or len(code)) if args["number"] is None else args["number"]
    if not 0 < number <= len(code):
        raise InvalidError(f"the last turn has no code {number}", f"type %agent code N with N from 1 to {len(code)}")
    what = f"block {number} of {len(blocks)}" if number <= len(blocks) else f"the code of call {number - len(blocks)}"
    others = f"; %agent code N takes another of the {counted(len(code), 'piece')} of code" if len(code) > 1 else ""
    done = f"{what if len(code) > 1 else 'the code'} is in the next cell{others}"
    return scene.put_code(code[number - 1], done) or TextView("", code[number - 1])


def code_blocks(text: str) -> list[str]:
    return [match[3].rstrip("\n") for match in _FENCE.finditer(text)]


def called_code(turn: Turn) -> list[str]:
    """Return the code of the main agent's calls, those that wait for approval included."""
    calls = [(e.name, e.args) for e in turn.events if isinstance(e, ToolStarted) and not e.path]
    calls += [(call.name, call.args) for call in turn.asked if not call.path]
    code = (args.get(_TOOLS.get(name, "")) for name, args in calls)
    return [text for text in code if isinstance(text, str) and text.strip()]


def explain_prompt(text: str | None) -> str:
    """Return the prompt of `%agent explain`, from the text of the last error."""
    return Filled(f"{EXPLAIN}\n\n{_known(text)}", "")


def fix_prompt(text: str | None, cells: Sequence[CellCode]) -> str:
    """Return the prompt of `%agent fix`: the error, and whole the cells it went through."""
    known = _known(text)
    if not cells:
        raise NotFoundError("the last error came from no cell", "%agent explain says where it is from")
    if sum(len(cell.code) for cell in cells) > _LONGEST:
        raise LimitError("the cell is too long to be corrected as a whole", "%agent explain names the line")
    whole = [f"{_name(cell)}:\n```python\n{redact(cell.code).rstrip()}\n```" for cell in cells]
    return Filled("\n\n".join([FIX, known, *whole]), "")


def corrected(scene: Scene, cells: Sequence[CellCode], turn: Turn) -> list[View]:
    """Put the corrected cell of an answer into the next cell, never run; gives the diff to show."""
    blocks = [match[3].rstrip("\n") for match in _FENCE.finditer(turn.text) if match[2].lower() in _PYTHON]
    calls = [e.args for e in turn.events if isinstance(e, ToolStarted) and e.name in PROPOSAL_TOOLS and not e.path]
    if not blocks and calls and isinstance(proposed := calls[-1].get("code"), str):
        blocks = list(filter(None, [proposed.rstrip("\n")]))
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
