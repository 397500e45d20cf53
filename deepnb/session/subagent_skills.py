"""Which of the skills a subagent names are not there, each with its place and what to write."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

from deepnb.core.skills import Finding, Skill
from deepnb.core.subagents import Listed
from deepnb.skills.names import normal

Directory = Callable[[str], Sequence[Skill]]
"""A directory of the files -> the skills below it."""


def with_skills(listed: Listed, skills: Iterable[Skill], below: Directory) -> Listed:
    """The subagent, with a note for each skill or directory it names in vain: it can be used without.

    `skills` are those of the session and of the directories it names.
    """
    if not listed.agent.skills:
        return listed
    found = tuple(_missing(listed, tuple(skills), below))
    return replace(listed, notes=(*listed.notes, *found)) if found else listed


def _missing(listed: Listed, skills: Sequence[Skill], below: Directory) -> Iterator[str]:
    usable = {s.name for s in skills if s.usable}
    for name in listed.agent.skills:
        if name.startswith("/"):
            if not below(name):
                yield _note(listed, f"no skill below {name[:80]!r}", f"give a directory of skills, {_some(usable)}")
        elif (known := normal(name)) not in usable:
            yield _note(listed, *_why(known, skills, usable))


def _why(name: str, skills: Sequence[Skill], usable: set[str]) -> tuple[str, str]:
    """(what is wrong with a skill that can't be disclosed, what to do)."""
    same = [s for s in skills if name in (s.name, s.directory)]
    if any(s.problem is None for s in same):
        return f"the skill {name[:80]!r} is disabled", f"%skills enable {name[:80]}"
    if same:
        return f"the skill {name[:80]!r} can't be used", f"%skills show {name[:80]} shows why"
    if close := get_close_matches(name, sorted(usable), 1):
        return f"no skill {name[:80]!r}", f"write {close[0]}"
    return f"no skill {name[:80]!r}", f"remove it, {_some(usable)}"


def _some(usable: set[str]) -> str:
    names = sorted(usable)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"or use one of {', '.join(names[:5])}{more}" if names else "or create one: %skills new NAME"


def _note(listed: Listed, what: str, do: str) -> str:
    if listed.source == "file":
        return str(Finding(listed.path, listed.lines.get("skills", 0), what, do, broken=False))
    return f"{what}: {do} (in subagents=[...])"
