"""All that the teaching model sees when it is asked, as one frozen value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.core.messages import BROUGHT_BACK, MEMORY_UPDATE, SUMMARY, Message
from deepnb.core.values import Skill
from deepnb.engine.probe import to_message
from deepnb.models.teaching.prompt import DEFAULT_PATH, MemoryFile, read_prompt, updated
from deepnb.models.teaching.words import chinese


@dataclass(frozen=True)
class Step:
    """A tool call of this turn and what came of it."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    failed: bool = False

    @property
    def path(self) -> str:
        return str(self.args.get("file_path") or self.args.get("path") or "")


@dataclass(frozen=True)
class Conversation:
    """The system prompt in parts, the user's last request, and the tool calls since."""

    request: str
    turn: tuple[Step, ...] = ()
    tools: frozenset[str] = frozenset()
    agents: tuple[str, ...] = ()
    """The subagents that the tool `task` names."""
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tool -> parameter -> its schema."""
    memory: tuple[MemoryFile, ...] = ()
    """Memory as the prompt and the updates in the thread tell it: may be older than the files."""
    memory_path: str = DEFAULT_PATH
    skills: tuple[Skill, ...] = ()
    earlier: tuple[Message, ...] = ()
    """Messages before the request, as far as they are still sent; a summary stands in for the rest."""
    base: str = ""
    """The system prompt without memory and skills."""
    stale: bool = False
    """Whether anything in the thread hints that memory files changed after the prompt was made."""

    @property
    def chinese(self) -> bool:
        return chinese(self.request)

    def tell(self, english: str, in_chinese: str) -> str:
        """The sentence in the language of the request."""
        return in_chinese if self.chinese else english


def conversation(
    messages: Sequence[BaseMessage],
    tools: Iterable[str] = (),
    agents: Iterable[str] = (),
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
) -> Conversation:
    """What can be read out of a model's input."""
    seen = [to_message(m) for m in messages]
    prompt = read_prompt("\n".join(m.text for m in seen if m.role == "system"))
    talk = [m for m in seen if m.role != "system"]
    asked = max((i for i, m in enumerate(talk) if _is_request(m)), default=None)
    summary = max((i for i, m in enumerate(talk) if m.source == SUMMARY), default=-1)
    if asked is None:
        request, begin = _in_progress(talk[summary].text if summary >= 0 else ""), summary + 1
    else:
        request, begin = talk[asked].text, asked + 1
    memory = prompt.memory
    for message in talk:
        if message.source == MEMORY_UPDATE:
            memory = updated(memory, message.text)
    earlier = tuple(talk[: begin if asked is None else asked])
    return Conversation(
        request=request.strip(),
        turn=_steps(talk[begin:]),
        tools=frozenset(tools),
        agents=tuple(agents),
        parameters=parameters or {},
        memory=memory,
        memory_path=prompt.memory_path,
        skills=prompt.skills,
        earlier=earlier,
        base=prompt.base,
        stale=any(m.source or _touches(m, prompt.memory_path) for m in earlier),
    )


COUNT = ("Requests so far: ", "至今的请求数：")
"""How a summary of the teaching model's own begins, in English and Chinese."""

IN_PROGRESS = "Request in progress: "
"""How it hands on a request that was not yet answered."""


def is_summary(text: str) -> bool:
    """Whether a message holds a summary made by the teaching model."""
    return any(label in text for label in COUNT)


def summarized_facts(text: str) -> list[str]:
    """The facts that such a summary hands on; none of any other text."""
    return [line[2:] for line in text.splitlines() if line.startswith("- ")] if is_summary(text) else []


def _in_progress(summary: str) -> str:
    return next((s.removeprefix(IN_PROGRESS) for s in summary.splitlines() if s.startswith(IN_PROGRESS)), "")


def _is_request(message: Message) -> bool:
    return message.role == "user" and message.source not in (MEMORY_UPDATE, SUMMARY, BROUGHT_BACK)


def _steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    results = {m.tool_call_id: m for m in messages if m.role == "tool"}
    return tuple(Step(call.name, call.args, *_outcome(results.get(call.id))) for m in messages for call in m.tool_calls)


def _outcome(message: Message | None) -> tuple[str, bool]:
    if message is None:
        return "no result was recorded", True
    return message.text, message.status == "error" or message.text.lstrip().startswith("Error")


def _touches(message: Message, path: str) -> bool:
    return any(c.name in ("write_file", "edit_file") and c.args.get("file_path") == path for c in message.tool_calls)
