"""A skill as it is listed and disclosed, and what can be wrong with its file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepnb.values.prompt import SKILLS_CLOSE, SKILLS_OPEN


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to fix in a SKILL.md; `broken` where the skill can't be used until then."""

    path: str
    line: int
    """Counted from 1; 0 where it is no line that is wrong."""
    what: str
    do: str
    """What to write instead."""
    broken: bool = True

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.what}: {self.do}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: what it is for and where to read it, never its body."""

    name: str
    """Empty where its file gives none that holds."""
    description: str
    path: str
    """Of its SKILL.md."""
    problem: str | None = None
    """Why it can't be used, in one line; None for a good one."""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    """Tools it asks to have approved beforehand."""
    source: str = ""
    """The label of the source it comes from."""
    overrides: tuple[str, ...] = ()
    """Paths of skills of the same name in earlier sources, that it replaces."""
    notes: tuple[str, ...] = ()
    """What to fix, though it can be used."""
    enabled: bool = True
    """Whether the agent sees it."""

    @property
    def usable(self) -> bool:
        """Whether the agent sees it: it has no problem and is enabled."""
        return self.problem is None and self.enabled

    @property
    def directory(self) -> str:
        """The name of its directory, which a good one has for a name."""
        return self.path.rpartition("/")[0].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class SkillRead:
    """That the agent read a skill's file in a thread."""

    turns: tuple[int, ...]
    """Counted from 1."""
    lines: int
    """How many different lines of it the agent was shown."""
    total: int
    """How many the file had then."""
    changed: bool = False
    """Whether the file is another one now."""
    pinned: bool = False
    """Whether it was put before a prompt, whole."""

    @property
    def whole(self) -> bool:
        return self.pinned or 0 < self.total <= self.lines


def skill_line(name: str, description: str, path: str) -> str:
    """What of a skill is in every request: one line, whatever its description holds."""
    line = " ".join(description.split()).replace(SKILLS_CLOSE, "(agent_skills)").replace(SKILLS_OPEN, "(agent_skills)")
    return f"- **{name}**: {line} -> read_file `{path}`"
