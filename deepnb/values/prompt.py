"""The agent's own instructions; the tags that mark the parts of a system prompt, and how to tell the parts apart by them."""

import re
from collections.abc import Sequence
from itertools import pairwise


def default_prompt(*, files: bool = True) -> str:
    """The agent's instructions; without file tools they name none."""
    live = (
        "Your files live in the notebook's kernel under /, and your file tools read and write them. " if files else ""
    )
    look = ", files with ls and read_file" if files else ""
    return (
        "You are a deep agent in a Jupyter notebook, working for the person who runs its cells. "
        f"{live}Look before you answer: the notebook's variables with list_variables and inspect_variable{look}. "
        "Be brief, and say so when you do not know."
    )


MORE_TOOLS = "more_tools"
"""The tool by which a model that is offered only a few gets another one."""


def lean_prompt(*, files: bool = True) -> str:
    """The instructions for a small window, with an example of a call for a model that knows no form of its own."""
    return (
        "You work in a Jupyter notebook. Look at variables with list_variables and inspect_variable"
        f"{', at files (paths begin with /) with read_file' if files else ''} before you answer. Say what you do not know. "
        'Call tools to act, as in {"name": "inspect_variable", "arguments": {"name": "NAME"}}; never say that you did what no'
        " tool did."
    )


SYSTEM_PROMPT = default_prompt()

MEMORY_OPEN, MEMORY_CLOSE = "<agent_memory>", "</agent_memory>"
GUIDELINES_OPEN, GUIDELINES_CLOSE = "<memory_guidelines>", "</memory_guidelines>"
SKILLS_OPEN, SKILLS_CLOSE = "<agent_skills>", "</agent_skills>"

_SPANS = {"memory": (MEMORY_OPEN, GUIDELINES_CLOSE), "skills": (SKILLS_OPEN, SKILLS_CLOSE)}


def system_parts(text: str) -> list[tuple[str, str]]:
    """(part, text) pieces of a system prompt, in order; joined they are `text` again.

    A span reaches from its first opening tag to its last closing one before the next span, so a memory file that
    holds a closing tag does not end the block early.
    """
    out: list[tuple[str, str]] = []
    at, left = 0, dict(_SPANS)
    while found := sorted(
        (start, part) for part, (opening, _) in left.items() if (start := text.find(opening, at)) >= 0
    ):
        start, part = found[0]
        closing = left.pop(part)[1]
        limit = found[1][0] if len(found) > 1 else len(text)
        end = text.rfind(closing, start, limit)
        if end < 0 and (end := text.rfind(closing, start)) < 0:
            continue
        end += len(closing)
        out += [("system", text[at:start])] if start > at else []
        out.append((part, text[start:end]))
        at = end
    return out + ([("system", text[at:])] if at < len(text) else [])


_FILE = re.compile(rf"(?:(?<=\n\n)|(?<={MEMORY_OPEN}\n))/[^\n]*\.md(?=\n\n)")
_SKILL = re.compile(r"^- \*\*([^*\n]+)\*\*: ", re.MULTILINE)


def system_pieces(text: str) -> list[tuple[str, str, str]]:
    """(part, name, text) of a system prompt, in order: each memory file and each skill by itself; joined they are `text` again.

    A line of a memory file that is the path of one, between blank lines, begins a piece as well.
    """
    out: list[tuple[str, str, str]] = []
    for part, stretch in system_parts(text):
        if part == "memory":
            close = stretch.rfind(f"{MEMORY_CLOSE}\n{GUIDELINES_OPEN}")
            files = [(m.start(), m[0]) for m in _FILE.finditer(stretch, 0, max(close, 0))]
            out += _cut(part, stretch, [*files, (close, "guidelines")] if close > 0 else files)
        elif part == "skills":
            out += _cut(part, stretch, [(m.start(), m[1]) for m in _SKILL.finditer(stretch)])
        else:
            out.append((part, "system prompt", stretch))
    return out


def _cut(part: str, text: str, starts: Sequence[tuple[int, str]]) -> list[tuple[str, str, str]]:
    """A text cut where something with a name begins; what stands before that has the name of its part."""
    marks = [(0, part), *starts, (len(text), "")]
    return [(part, name, text[at:end]) for (at, name), (end, _) in pairwise(marks) if end > at]
