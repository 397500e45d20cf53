"""What an agent is made of: one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from deepnb.core.budget import Size

SYSTEM_PROMPT = """\
You are a deep agent in a Jupyter notebook, working for the person who runs its cells. Your files live in \
the notebook's kernel under /, and your file tools read and write them. Look before you answer: the \
notebook's variables with list_variables and inspect_variable, files with ls and read_file. Be brief, and \
say so when you do not know."""


@dataclass(frozen=True)
class Options:
    """The agent's parts. A part that is switched off adds no middleware and no tokens."""

    model: Any = "offline"
    """A name (`offline`, or any of `init_chat_model`), or a LangChain chat model."""
    base_url: str | None = None
    """Of an OpenAI-compatible server."""
    system_prompt: str = SYSTEM_PROMPT
    tools: tuple[Any, ...] = ()
    middleware: tuple[Any, ...] = ()
    subagents: tuple[Mapping[str, Any], ...] = ()
    backend: Any = None
    """A deepagents backend; None for the state held in the kernel."""
    checkpointer: Any = None
    store: Any = None
    max_input_tokens: int | None = None
    """The context window in tokens; None for what the model's profile says."""
    trigger: Size | None = None
    keep: Size | None = None
    eviction_threshold: int | None = 20_000
    """A tool result of more tokens is put in a file, its beginning left in the thread."""
    memory: tuple[str, ...] = ("/AGENTS.md",)
    """Paths of the memory files, in order; the first is where the agent writes."""
    memory_refresh: Literal["thread", "call"] = "call"
    skills: tuple[str, ...] = ("/skills/",)
    """Directories of skills; a later one overrides an earlier one's skill of the same name."""
    enable_memory: bool = True
    enable_skills: bool = True
    enable_filesystem: bool = True
    enable_subagents: bool = True
    max_steps: int | None = 50
    """Model calls of the main agent in one turn."""
    max_tokens: int | None = None
    """Tokens of all model calls in one turn."""
    namespace: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The user's variables."""


def same(a: Options, b: Options) -> bool:
    """Whether two options make the same agent: objects count as the same only where they are one."""

    def one(x: Any, y: Any) -> bool:
        if isinstance(x, tuple) and isinstance(y, tuple):
            return len(x) == len(y) and all(map(one, x, y))
        return x is y or (isinstance(x, str | int | float) and type(x) is type(y) and bool(x == y))

    return all(one(getattr(a, f.name), getattr(b, f.name)) for f in fields(Options))
