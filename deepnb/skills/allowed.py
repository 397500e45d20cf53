"""The tools that skills ask to have approved: the values of `allowed-tools`, taken apart.

The specification (https://agentskills.io/specification) separates them by spaces, and shows `Bash(git:*)` for a tool
under a condition. The names are those of whoever runs the skill; deepnb's own stand beside the common ones.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from deepnb.values.skills import Skill

OTHERS = {
    "Bash": "execute",
    "Edit": "edit_file",
    "Glob": "glob",
    "Grep": "grep",
    "LS": "ls",
    "Read": "read_file",
    "Task": "task",
    "Write": "write_file",
}
"""Name in other programs -> name here."""

_TOOL = re.compile(r"([^\s()]+)(?:\((.*)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One tool, by its name here, and its condition in parentheses, if it has one."""

    name: str
    condition: str = ""


def words(value: str) -> list[str]:
    """The tools of an `allowed-tools` as they are written: separated by spaces or commas, parentheses kept together.

    One that is left open takes all that follows: else a tool under a condition would look like one without.
    """
    found, depth = [""], 0
    for char in value:
        depth = max(0, depth + (char == "(") - (char == ")"))
        if (char.isspace() or char == ",") and not depth:
            found.append("")
        else:
            found[-1] += char
    return [word for word in found if word]


def allowed(tools: str | Iterable[str]) -> tuple[Allowed, ...]:
    """The tools of an `allowed-tools`, each once; what is no name of a tool is left out."""
    listed = words(tools) if isinstance(tools, str) else tools
    found = (m for word in listed if (m := _TOOL.fullmatch(word.strip(","))) and (m[2] is None or m[2].strip()))
    return tuple(dict.fromkeys(Allowed(OTHERS.get(m[1], m[1]), (m[2] or "").strip()) for m in found))


def preapproved(skills: Iterable[Skill]) -> dict[str, tuple[str, ...]]:
    """Tool -> the names of the skills that would have all its calls approved.

    One under a condition is not among them: what a command line does can't be told by how it begins.
    """
    found: dict[str, list[str]] = {}
    for skill in skills:
        for one in allowed(skill.allowed_tools):
            if not one.condition and skill.name not in found.setdefault(one.name, []):
                found[one.name].append(skill.name)
    return {tool: tuple(names) for tool, names in found.items() if names}
