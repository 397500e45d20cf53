"""The code of a turn, and how it becomes a cell: the blocks of its answer first, then the code of its calls."""

import re
from collections.abc import Iterator

from deepnb.core.code import CODE_TOOLS, PROPOSAL_TOOLS
from deepnb.core.errors import InvalidError, NotFoundError
from deepnb.core.values import ToolStarted, Turn
from deepnb.magics.scene import Args, Result, Scene
from deepnb.views.numbers import counted
from deepnb.views.text_file import text_view

AFTER_A_BUTTON = "%agent code puts the code into the next cell"

_TOOLS = {**CODE_TOOLS, **PROPOSAL_TOOLS}
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_PYTHON = ("", "py", "python", "python3", "ipython")


def agent_code(scene: Scene, args: Args) -> Result:
    """`%agent code [N]`: the last block of the last answer, else the code of its last call, or number N of all."""
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
    return scene.put_code(code[number - 1], done) or text_view("", code[number - 1])


def turn_code(turn: Turn) -> list[str]:
    """All code of a turn, in the order of its numbers."""
    return [*code_blocks(turn.text), *called_code(turn)]


def code_blocks(text: str) -> list[str]:
    """The fenced blocks of an answer."""
    return [match[3].rstrip("\n") for match in _FENCE.finditer(text)]


def python_blocks(text: str) -> list[str]:
    """The fenced blocks of an answer that are Python, or do not say."""
    return [match[3].rstrip("\n") for match in _FENCE.finditer(text) if match[2].lower() in _PYTHON]


def first_code(text: str) -> str:
    """The first fenced block of an answer; an error if it has no block."""
    blocks = code_blocks(text)
    if not blocks:
        raise InvalidError("the answer has no code block", "ask for code, or leave out --format code")
    return blocks[0]


def called_code(turn: Turn) -> list[str]:
    """The code of the main agent's calls, those that wait for approval included."""
    return [text for text in _called(turn) if text.strip()]


def proposed_code(turn: Turn) -> str | None:
    """The cell that the agent proposed last."""
    calls = [e.args for e in turn.events if isinstance(e, ToolStarted) and e.name in PROPOSAL_TOOLS and not e.path]
    code = calls[-1].get("code") if calls else None
    return code.rstrip("\n") if isinstance(code, str) else None


def _called(turn: Turn) -> Iterator[str]:
    started = [(e.name, e.args) for e in turn.events if isinstance(e, ToolStarted) and not e.path]
    for name, args in (*started, *((call.name, call.args) for call in turn.asked if not call.path)):
        text = args.get(_TOOLS.get(name, ""))
        if isinstance(text, str):
            yield text
