"""A subagent: what it is made of, as it is given, and as it is listed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
        names = tuple(tool for tool in self.tools or () if isinstance(tool, str))
        return names or None


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
"""The one that is there by default."""

WITHOUT_MEMORY = GENERAL_PURPOSE.description.replace(" but those of memory", "")
"""Its description where the main agent has no memory."""


@dataclass(frozen=True)
class Listed:
    """A subagent as it is listed, one that can't be used too."""

    agent: Subagent
    source: Literal["built in", "Python", "file"]
    path: str = ""
    """Of its file."""
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
    """Model calls it made."""
    input: int = 0
    """Tokens, as the provider reported them, or as they were counted where it did not."""
    output: int = 0
    exact: bool = True
    """Whether all of them were reported."""
