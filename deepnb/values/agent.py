"""What an agent is made of, as it is listed: skills, subagents, models, and the features of a graph somebody else made."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deepnb.values.errors import RefusedError
from deepnb.values.request import SKILLS_CLOSE, SKILLS_OPEN
from deepnb.values.text import Listing, short_repr

LONGEST = 64
"""Characters of the name of a skill or a subagent (agentskills.io)."""


def normal(name: str) -> str:
    """Return the name as it is compared: NFKC, no white space around it."""
    return unicodedata.normalize("NFKC", name).strip()


def wrong_name(name: str) -> str | None:
    """Return what is wrong with a normal name; None for a good one. Letters without a case (Chinese, say) are good."""
    if not name:
        return "the name is empty"
    if len(name) > LONGEST:
        return f"the name has {len(name):,} characters; the limit is {LONGEST}"
    if strange := next((c for c in name if not c.isalnum() and c != "-"), None):
        plain = strange.isprintable() and not unicodedata.combining(strange)
        shown = repr(strange) if plain else f"U+{ord(strange):04X}"
        return f"the name can't contain {shown}: use lowercase letters, digits and single hyphens"
    if name != name.lower():
        return "the name is not all lowercase"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        return "the name begins or ends with a hyphen, or has two in a row"
    return None


def near(name: str, otherwise: str = "my-skill") -> str:
    """Return a good name made of what is good in another."""
    kept = "".join(c if c.isalnum() else "-" for c in normal(name).lower())
    made = "-".join(filter(None, kept.split("-")))[:LONGEST].strip("-")
    return made if wrong_name(made) is None else otherwise


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to fix in a SKILL.md; `broken` where the skill can't be used until then."""

    path: str
    line: int
    """Counted from 1; 0 where it is no line that is wrong."""
    what: str
    do: str
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
    overrides: tuple[str, ...] = ()
    """Paths of skills of the same name in earlier sources, that it replaces."""
    notes: tuple[str, ...] = ()
    """What to fix, though it can be used."""
    enabled: bool = True

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
    """Return what of a skill is in every request: one line, whatever its description holds."""
    line = " ".join(description.split()).replace(SKILLS_CLOSE, "(agent_skills)").replace(SKILLS_OPEN, "(agent_skills)")
    return f"- **{name}**: {line} -> read_file `{path}`"


def skills_listed(skills: Sequence[tuple[str, str, str]], budget: int | None, count: Callable[[str], int]) -> list[str]:
    """Return the lines of skills (name, description, path) that `budget` tokens have room for; the last counts the others."""
    lines = [skill_line(*skill) for skill in skills]
    left, fits = budget or 0, len(lines) if budget is None else 0
    while fits < len(lines) and (left := left - count(lines[fits]) - 1) >= 0:
        fits += 1
    if fits == len(lines):
        return lines
    places = dict.fromkeys(path.rsplit("/", 2)[0] for _, _, path in skills[fits:])
    found = f"glob {next(iter(places))}/*WORD*/SKILL.md finds one by its name, grep by what it is for"
    return [*lines[:fits], f"({len(lines) - fits:,} more skills are not listed here: {found})"]


# -- A subagent: what it is made of, as it is given, and as it is listed

FOLDER = "/agents/"
"""Where subagents stand as files, `NAME.md`."""

TASK = "task"
"""The tool by which an agent hands a task on; its arguments are `description` and `subagent_type`, the name."""

FILE_TOOLS = ("ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "execute")


@dataclass(frozen=True)
class Subagent:
    """An agent that others hand tasks to: it begins with the task alone, and only its last words come back.

    It gets nothing of memory, and skills only where it names them.
    """

    name: str
    """Lowercase letters, digits and single hyphens, 64 characters at most."""
    description: str
    """What it is for, and when: by this the model chooses it."""
    system_prompt: str = ""
    tools: tuple[Any, ...] | None = None
    """Names: these tools and no others. Tools and functions: beside the file tools and `task`. None: those of the
    main agent, less memory's."""
    model: Any = None
    """A name, a variable or a chat model; None for the main agent's."""
    skills: tuple[str, ...] = ()
    """Directories of skills in the files (`/skills/`), or names of skills of the session."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else deepagents takes: `middleware`, `response_format`, `runnable`."""

    @property
    def named_tools(self) -> tuple[str, ...] | None:
        """The names its tools are limited to; None where they are not."""
        return tuple(tool for tool in self.tools or () if isinstance(tool, str)) or None


GENERAL_PURPOSE = Subagent(
    "general-purpose",
    "Does any task of several steps by itself, with all tools of the main agent but those of memory. For work whose"
    " steps need not be seen: searching many files, reading long ones, looking through data, trying something out. Use"
    " it also where you are not sure to find what you look for at the first tries. It knows nothing of the"
    " conversation.",
    """\
You are a subagent: another agent has handed you one task, and it sees nothing of your work but your last message.
Do the task with your tools, then answer in full: what your last message leaves out is lost.""",
)

WITHOUT_MEMORY = GENERAL_PURPOSE.description.replace(" but those of memory", "")


@dataclass(frozen=True)
class Listed:
    """A subagent as it is listed, one that can't be used too."""

    agent: Subagent
    source: Literal["built in", "Python", "file"]
    path: str = ""
    problem: str | None = None
    """Why it can't be used, in one line; None for a good one."""
    notes: tuple[str, ...] = ()
    """What to fix, though it can be used."""
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Field of its file -> its line, from 1."""


@dataclass(frozen=True)
class Spent:
    """What a subagent was used for in a thread."""

    runs: int = 0
    """Tasks it was handed."""
    calls: int = 0
    input: int = 0
    """Tokens, as the provider reported them, or as they were counted where it did not."""
    output: int = 0
    exact: bool = True
    """Whether all of them were reported."""


# -- A chat model as it is listed: whether it can be used here, and what is known of it


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model, or one provider whose models can't be used yet."""

    name: str
    """What `%agent use` takes; of a provider that can't be used, the provider."""
    usable: bool
    window: int | None = None
    """Tokens; None where it is unknown."""
    sees: bool | None = None
    caches: bool | None = None
    note: str = ""
    """`in use`, `no LLM`, where the key is from."""
    do: str = ""
    """What makes it usable, in one line; empty where it is."""

    def __repr__(self) -> str:
        window = f" window={self.window}" if self.window else ""
        return short_repr(self, f"{self.name}{window}" if self.usable else f"{self.name}: {self.do}")


class ModelInfos(Listing[ModelInfo]):
    """Models and providers, those that can be used first."""


# -- What an agent that somebody else made has of what deepnb shows and does, found once


def needed(command: str) -> str:
    """Return the feature that a command needs, `%memory add`; empty if it needs none."""
    return _NEEDS.get(command) or _NEEDS.get(command.partition(" ")[0], "")


_NEEDS = {
    "%memory": "memory",
    "%skills": "skills",
    "%agent history": "history",
    "%agent compact": "compaction by hand",
    "%agent subagents": "subagents",
    "%agent mount": "mounts",
}
"""What is typed -> the feature that it needs."""
_TYPED = re.compile(r"%(?:agent \w+|memory|skills)")
_OURS = re.compile(r"%agent tools \w|%config DeepNB\.tools|enable_\w+=|system_prompt=")
"""Hints that are for the agent that deepnb made alone: what is set where any other is made."""


@dataclass(frozen=True)
class Feature:
    """A feature, whether it is there, and what would give it where it is not."""

    name: str
    what: str
    """What the graph has of it, or why it lacks it, in a few words."""
    do: str = ""
    """What would give it; empty where it is there."""
    has: bool = True
    ours: bool = False
    """Whether only deepnb's own agent can have it."""


@dataclass(frozen=True)
class Features:
    """All of them, by name; an agent that deepnb made has every one and lists none."""

    agent: str = ""
    listed: tuple[Feature, ...] = ()

    def __repr__(self) -> str:
        has, lacks = (", ".join(one.name for one in self.listed if one.has is there) for there in (True, False))
        listed = f"of {self.agent}: has {has or 'none of them'}; lacks {lacks}"
        return short_repr(self, listed if self.listed else "all")

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.listed)

    @property
    def lacks(self) -> tuple[Feature, ...]:
        return tuple(one for one in self.listed if not one.has)

    def has(self, name: str) -> bool:
        return all(one.name != name for one in self.lacks)

    def allows(self, hint: str) -> bool:
        """Return whether the agent does what a hint says to type."""
        return all(self.has(needed(name)) for name in _TYPED.findall(hint)) and not (self.listed and _OURS.search(hint))

    def need(self, name: str) -> None:
        """Raise an error in one line where the feature is not there."""
        for one in self.lacks:
            if one.name == name:
                raise RefusedError(f"{self.agent} has no {one.name} ({one.what})", one.do)
