"""All that the teaching model sees when it is asked, as one frozen value, its system prompt taken apart."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.engine.probe import to_message
from deepnb.models.teaching.words import chinese
from deepnb.values.messages import BROUGHT_BACK, MEMORY_UPDATE, SUMMARY, Message
from deepnb.values.prompt import GUIDELINES_OPEN, MEMORY_CLOSE, MEMORY_OPEN, system_parts
from deepnb.values.turn import Skill

DEFAULT_PATH = "/AGENTS.md"
COUNT = "Requests so far: "
"""How a summary of the teaching model's own begins."""
IN_PROGRESS = "Request in progress: "
"""How it hands on a request that was not yet answered."""

_FILE = re.compile(r"\n[ \t]*\n[ \t]*([~/]\S*\.\w+)[ \t]*(?=\n)")
_FILE_DIFF = re.compile(r"^--- (?:a/)?([^\t\n]+)[^\n]*\n\+\+\+ (?:b/)?([^\t\n]+)[^\n]*\n(?=@@ -)", re.M)
_PATH_IN_TEXT = re.compile(r"(?<![\w<.~/])[~/][\w.~/-]*\.\w+")
_SKILL = re.compile(r"^- \*\*(?P<name>[^*\n]+)\*\*: (?P<text>.*?)(?: ?-> ?read_file)? `(?P<path>[^`\n]+)`\s*$", re.M)


@dataclass(frozen=True)
class MemoryFile:
    """A memory file as far as the model was told of it."""

    path: str
    lines: tuple[str, ...]

    @property
    def facts(self) -> tuple[str, ...]:
        """Lines that say something: no blanks, headings or remarks in parentheses; bullets taken off."""
        kept = (line.strip() for line in self.lines)
        return tuple(fact_text(k) for k in kept if k and not k.startswith("#") and not (k[0] == "(" and k[-1] == ")"))


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
    """The file in which a new fact goes."""
    skills: tuple[Skill, ...] = ()
    earlier: tuple[Message, ...] = ()
    """Messages before the request, as far as they are still sent; a summary stands in for the rest."""
    base: str = ""
    """The system prompt without memory and skills."""

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
    parts = system_parts("\n".join(m.text for m in seen if m.role == "system"))
    prompt = {name: "".join(text for part, text in parts if part == name) for name in ("system", "memory", "skills")}
    memory, memory_path = read_memory(prompt["memory"])
    talk = [m for m in seen if m.role != "system"]
    own = [i for i, m in enumerate(talk) if m.role == "user" and m.source not in (MEMORY_UPDATE, SUMMARY, BROUGHT_BACK)]
    begin = max(own or (i for i, m in enumerate(talk) if m.source == SUMMARY), default=-1)
    request = talk[begin].text if begin >= 0 else ""
    if not own:  # the request is in the summary, as one that was not yet answered
        request = request.partition(IN_PROGRESS)[2].partition("\n")[0]
    for message in talk:
        if message.source == MEMORY_UPDATE:
            memory = updated(memory, message.text)
    return Conversation(
        request=request.strip(),
        turn=_steps(talk[begin + 1 :]),
        tools=frozenset(tools),
        agents=tuple(agents),
        parameters=parameters or {},
        memory=memory,
        memory_path=memory_path,
        skills=tuple(Skill(m["name"].strip(), m["text"].strip(), m["path"]) for m in _SKILL.finditer(prompt["skills"])),
        earlier=tuple(talk[: begin if own else begin + 1]),
        base=prompt["system"],
    )


def _steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    missing = Message("", "tool", "Error: no result was recorded")
    results = {m.tool_call_id: m for m in messages if m.role == "tool"}
    calls = ((call, results.get(call.id, missing)) for m in messages for call in m.tool_calls)
    return tuple(
        Step(call.name, call.args, m.text, m.status == "error" or m.text.lstrip().startswith("Error"))
        for call, m in calls
    )


def fact_text(line: str) -> str:
    """A line of memory without its bullet."""
    return re.sub(r"^[-*+] +", "", line.strip())


def read_memory(block: str) -> tuple[tuple[MemoryFile, ...], str]:
    """(files, the file for new facts) of the memory in a prompt: that which the guidelines name, else the first."""
    start, end = block.find(MEMORY_OPEN), block.find(MEMORY_CLOSE + "\n" + GUIDELINES_OPEN)
    end = end if end >= 0 else block.rfind(MEMORY_CLOSE)
    body = block[start + len(MEMORY_OPEN) : end if end >= 0 else None] if start >= 0 else ""
    lead, *rest = _FILE.split(f"\n\n{body.strip()}\n")  # a path has its line for itself, after a blank one
    named = [(DEFAULT_PATH, lead), *zip(rest[::2], rest[1::2], strict=True)]
    files = [MemoryFile(path, tuple(text.strip("\n").split("\n"))) for path, text in named]
    files = [file for file in files if file.facts]
    guidelines = block[block.rfind(GUIDELINES_OPEN) :] if GUIDELINES_OPEN in block else ""
    found = (_PATH_IN_TEXT.search(text) for text in (guidelines, files[0].path if files else body))
    return tuple(files), next((m[0] for m in found if m), DEFAULT_PATH)


def updated(files: Iterable[MemoryFile], diffs: str) -> tuple[MemoryFile, ...]:
    """Memory after a message with unified diffs: its lines taken out and put in by text, not by place."""
    known = {f.path: list(f.lines) for f in files}
    _, *parts = _FILE_DIFF.split(diffs)
    for old, new, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        lines = known.setdefault("/" + (old if new == "/dev/null" else new).lstrip("/"), [])
        for line in body.splitlines():
            if line.startswith("+"):
                lines.append(line[1:])
            elif line.startswith("-") and line[1:] in lines:
                lines.remove(line[1:])
    return tuple(MemoryFile(path, tuple(lines)) for path, lines in known.items() if any(lines))
