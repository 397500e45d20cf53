"""What a line of a session file can say, in one vocabulary for all formats.

A reader makes items of each line; of the same items the index of a session is made, and the content of a turn.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from deepnb.values.offload import Cause
from deepnb.values.turn import Usage
from deepnb.wings.open.file import object_of
from deepnb.wings.open.json_values import array, blocks, content_text, mapping, size, text
from deepnb.wings.open.values import HIDDEN

HEAD = 200
"""Characters of a text that the index shows."""
_TASKS = ("task", "Task", "Agent")
"""Tools by which an agent hands a task to a nested one, in whichever program."""


@dataclass(slots=True)
class Item:
    """`size` is how many characters the whole text has; 0 where nothing of it is sent to the model."""

    text: str = ""
    size: int = 0


class Prompt(Item):
    """What a person asked: a turn begins."""


class Command(Item):
    """A slash command, as it was typed."""


@dataclass(slots=True)
class Context(Item):
    """Text that the model got as the user's, and that nobody typed as a prompt."""

    source: str = "context"


@dataclass(slots=True)
class Reply(Item):
    """That a model replied; several lines may tell of one reply, by its key."""

    key: str = ""
    model: str = ""
    usage: Usage | None = None
    summary: bool = False
    """Whether it was asked to sum up for a compaction."""


@dataclass(slots=True)
class Text(Item):
    key: str = ""


@dataclass(slots=True)
class Thought(Item):
    key: str = ""


@dataclass(slots=True)
class Tool(Item):
    key: str = ""
    id: str = ""
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    task: str = ""
    """First words of what a nested agent was asked."""

    @classmethod
    def of(cls, id_: str, name: str, args: object, key: str = "") -> "Tool":
        """Return a call, its arguments as an object or as JSON; the text of one of `_TASKS` is the nested agent's name."""
        if isinstance(args, str):
            found = object_of(args.encode(errors="replace"))
            args = {"arguments": text(args)} if found is None else found
        args = mapping(args)
        given = args if name in _TASKS else {}
        agent, task = text(given.get("subagent_type")), text(given.get("prompt") or given.get("description"))
        return cls(agent, size(args), key, id_, name, args, task[:HEAD])


@dataclass(slots=True)
class Result(Item):
    id: str = ""
    name: str = ""
    error: bool = False
    agent: str = ""
    """Id of the nested agent that did it."""
    original: str | None = None
    """The memory file before it was changed, whole, where the line holds it."""

    @classmethod
    def of(cls, block: Mapping[str, Any]) -> "Result":
        """Return what a block `tool_result` says."""
        said = content_text(block.get("content"))
        return cls(said, len(said), text(block.get("tool_use_id")), error=bool(block.get("is_error")))


@dataclass(slots=True)
class Compaction(Item):
    """The context was compacted; `text` is the summary, unless a Summary follows."""

    before: int = 0
    after: int = 0
    cause: Cause = "trigger"
    cleared: bool = False
    """Only results of tools were cleared; no summary follows."""


class Summary(Item):
    """The summary of the compaction before it."""


class Note(Item):
    """One line to show."""


class Interruption(Item):
    """The user stopped the turn."""


@dataclass(slots=True)
class Fact(Item):
    """Something about the session: `name` is `id`, `cwd`, `version`, `title`, `window`, `system_prompt` or `at`."""

    name: str = ""


REPLIED = (Reply, Text, Thought, Tool)
"""Items of a model's reply."""
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use", "toolCall", "toolUse")


def reply_items(content: object, key: str) -> Iterator[Item]:
    """Yield what the blocks of a model's reply say, by the names that any of the formats gives them."""
    for block in blocks(content):
        if (kind := text(block.get("type"))) in ("text", "output_text"):
            said = text(block.get("text"))
            yield Text(said, len(said), key)
        elif kind in ("thinking", "reasoning", "redacted_thinking"):
            told = "\n\n".join(filter(None, (text(mapping(one).get("text")) for one in array(block.get("summary")))))
            yield Thought(text(block.get("thinking")) or text(block.get("reasoning")) or told or HIDDEN, 0, key)
        elif kind in _CALLS:
            args = mapping(block.get("arguments")) or mapping(block.get("input"))
            yield Tool.of(text(block.get("id")), text(block.get("name")), args, key)
        elif kind.endswith("tool_result"):
            yield Result.of(block)


@dataclass(slots=True, eq=False)
class Entry:
    """One record of a file: where it is, and what it says."""

    items: list[Item]
    at: str = ""
    """ISO timestamp, or empty."""
    id: str = ""
    parent: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What only its own reader knows the use of; small."""
    line: int = 0
    """Number in the file, from 1."""

    @property
    def name(self) -> str:
        return self.id or f"line-{self.line}"

    def has(self, *kinds: type[Item]) -> bool:
        for item in self.items:  # noqa: SIM110 - a generator for each line of a file takes three times as long
            if isinstance(item, kinds):
                return True
        return False


@dataclass(slots=True)
class Agent:
    """A nested agent."""

    id: str
    name: str = ""
    call: str = ""
    """Id of the tool call that started it; empty where that is unknown."""
    entries: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Arrangement:
    """Which entries are the session as it stands, in order, and what else there is."""

    main: list[Entry]
    agents: list[Agent] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
