"""All that the teaching model sees when it is asked, as one frozen value, its system prompt taken apart."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.core.messages import BROUGHT_BACK, MEMORY_UPDATE, SUMMARY, Message
from deepnb.core.prompt import GUIDELINES_OPEN, MEMORY_CLOSE, MEMORY_OPEN, system_parts
from deepnb.core.values import Skill
from deepnb.engine.probe import to_message
from deepnb.models.teaching.words import chinese

DEFAULT_PATH = "/AGENTS.md"

_PATH_LINE = re.compile(r"[~/]\S*\.\w+")
_PATH_IN_TEXT = re.compile(r"(?<![\w<.~/])[~/][\w.~/-]*\.\w+")
_SKILL = re.compile(r"^- \*\*(?P<name>[^*\n]+)\*\*: (?P<text>.*?)(?: ?-> ?read_file)? `(?P<path>[^`\n]+)`\s*$", re.M)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


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


# -- the system prompt


@dataclass(frozen=True)
class SystemPrompt:
    """A system prompt taken apart."""

    base: str
    memory: tuple[MemoryFile, ...]
    memory_path: str
    """The file in which a new fact goes."""
    skills: tuple[Skill, ...]


def fact_text(line: str) -> str:
    """A line of memory without its bullet."""
    return re.sub(r"^[-*+] +", "", line.strip())


def read_prompt(text: str) -> SystemPrompt:
    """The parts of a system prompt; what is not there is empty."""
    parts = system_parts(text)
    memory = "".join(t for part, t in parts if part == "memory")
    return SystemPrompt(
        base="".join(t for part, t in parts if part == "system"),
        memory=_files(_body(memory)),
        memory_path=_new_fact_path(memory),
        skills=tuple(
            Skill(m["name"].strip(), m["text"].strip(), m["path"])
            for part, t in parts
            if part == "skills"
            for m in _SKILL.finditer(t)
        ),
    )


def updated(files: Iterable[MemoryFile], diff: str) -> tuple[MemoryFile, ...]:
    """Memory after a message with a unified diff: its lines taken out and put in by text, not by place."""
    known = {f.path: list(f.lines) for f in files}
    for path, sign, line in _changes(diff):
        lines = known.setdefault(path, [])
        if sign == "+":
            lines.append(line)
        elif line in lines:
            lines.remove(line)
    return tuple(MemoryFile(path, tuple(lines)) for path, lines in known.items() if any(lines))


def _changes(diff: str) -> Iterable[tuple[str, str, str]]:
    """(path, sign, line) of each line that a unified diff takes out or puts in."""
    old = path = DEFAULT_PATH
    minus = plus = 0
    for line in diff.splitlines():
        sign, rest = line[:1], line[1:]
        if minus <= 0 and plus <= 0:
            if line.startswith("--- "):
                old = path = _diff_path(line, old)
            elif line.startswith("+++ "):
                path = _diff_path(line, old)
            elif hunk := _HUNK.match(line):
                minus, plus = (int(n) if n else 1 for n in hunk.groups())
            continue
        minus -= sign in ("-", " ", "")
        plus -= sign in ("+", " ", "")
        if sign in ("-", "+"):
            yield path, sign, rest


def _diff_path(line: str, default: str) -> str:
    name = line[4:].split("\t")[0].strip()
    return default if name == "/dev/null" else "/" + re.sub(r"^[ab]/", "", name).lstrip("/")


def _body(memory: str) -> str:
    start, end = memory.find(MEMORY_OPEN), memory.find(MEMORY_CLOSE + "\n" + GUIDELINES_OPEN)
    if start < 0:
        return ""
    end = end if end >= 0 else memory.rfind(MEMORY_CLOSE)
    return memory[start + len(MEMORY_OPEN) : end if end >= 0 else len(memory)]


def _files(body: str) -> tuple[MemoryFile, ...]:
    """Files under their paths; a path stands alone on its line, after a blank one."""
    sections: list[tuple[str, list[str]]] = []
    blank = True
    for line in body.strip("\n").split("\n"):
        if blank and _PATH_LINE.fullmatch(line.strip()):
            sections.append((line.strip(), []))
        elif sections:
            sections[-1][1].append(line)
        elif line.strip():
            sections.append((DEFAULT_PATH, [line]))
        blank = not line.strip()
    files = (MemoryFile(path, tuple("\n".join(lines).strip("\n").split("\n"))) for path, lines in sections)
    return tuple(f for f in files if f.facts)


def _new_fact_path(memory: str) -> str:
    """The path the prompt names for new facts, else that of the first file, else the default."""
    body = _body(memory)
    guidelines = memory[memory.rfind(GUIDELINES_OPEN) :] if GUIDELINES_OPEN in memory else ""
    files = _files(body)
    for text in (guidelines, files[0].path if files else body):
        if found := _PATH_IN_TEXT.search(text):
            return found.group()
    return DEFAULT_PATH
