"""All that the teaching model sees when it is asked, as one frozen value, and the words by which texts are compared."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.engine.probe import to_message
from deepnb.gate.spans import word_set
from deepnb.values.agent import Skill
from deepnb.values.messages import BROUGHT_BACK, MEMORY_UPDATE, SUMMARY, Message
from deepnb.values.request import GUIDELINES_OPEN, MEMORY_CLOSE, MEMORY_OPEN, system_parts

_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")
HAN_RUN = re.compile(r"[㐀-䶿一-鿿豈-﫿]+")
_ASCII = re.compile(r"[a-z][a-z0-9']*")
_SUFFIX = re.compile(r"(?<=...)(?:ences?|ings?|ies|ed|es|s|ly|e|y)$")  # preferences and prefers are `prefer`

_STOP_WORDS = word_set("""
a about all also am an and any are as at be been being but by can could did do does don't doing for from
give going had has have having he her here him his how i i'd i'll i'm i've if in into is it it's its just
know let like make many me mine more much my no not now of off ok okay on one only or our out over please
put remember s said say says shall she should show so some t tell than that that's the their them then
there these they thing things think this those to too told us use user user's uses using very want was
we were what what's when where which who whose why will with would you you're your
""")
_HAN_STOP = re.compile(
    r"请问|用户|什么|哪些|哪个|多少|有没有|关于|记得|记住|[我你您他她它的了是吗呢吧啊用在把请和与就都也有这那]"
)


def chinese(text: str) -> bool:
    """Return whether the text holds a Chinese character."""
    return _HAN.search(text) is not None


def words(text: str) -> frozenset[str]:
    """Return what a text speaks of: stems of English words, pairs of Chinese characters; no stop words."""
    low = text.lower().replace("’", "'")
    found = {_SUFFIX.sub("", w.removesuffix("'s")) for w in _ASCII.findall(low) if w not in _STOP_WORDS}
    for run in HAN_RUN.findall(_HAN_STOP.sub(" ", low)):
        found.update(run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else found.add(run)
    return frozenset(found)


def coverage(asked: frozenset[str], text: str) -> float:
    """Return which share of the words asked for is in a text; 0 for no words."""
    return len(asked & words(text)) / len(asked) if asked else 0.0


def short(text: str, limit: int = 80) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def first_match(text: str, *patterns: str) -> re.Match[str] | None:
    """Return the match of the first pattern that is found; case does not matter, `.` takes line feeds too."""
    for pattern in patterns:
        if found := re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return found
    return None


# -- All that the teaching model sees when it is asked, as one frozen value, its system prompt taken apart

DEFAULT_PATH = "/AGENTS.md"
COUNT = "Requests so far: "  # how a summary of the teaching model's own begins
IN_PROGRESS = "Request in progress: "  # how it hands on a request that was not yet answered

_FILE = re.compile(r"\n[ \t]*\n[ \t]*([~/]\S*\.\w+)[ \t]*(?=\n)")  # /AGENTS.md
_FILE_DIFF = re.compile(r"^--- (?:a/)?([^\t\n]+)[^\n]*\n\+\+\+ (?:b/)?([^\t\n]+)[^\n]*\n(?=@@ -)", re.M)
_PATH_IN_TEXT = re.compile(r"(?<![\w<.~/])[~/][\w.~/-]*\.\w+")  # ~/notes.md
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
    agents: tuple[str, ...] = ()  # the subagents that the tool `task` names
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # tool -> parameter -> its schema
    memory: tuple[MemoryFile, ...] = ()
    """Memory as the prompt and the updates in the thread tell it: may be older than the files."""
    memory_path: str = DEFAULT_PATH  # the file in which a new fact goes
    skills: tuple[Skill, ...] = ()
    earlier: tuple[Message, ...] = ()
    """Messages before the request, as far as they are still sent; a summary stands in for the rest."""
    base: str = ""  # the system prompt without memory and skills

    @property
    def chinese(self) -> bool:
        return chinese(self.request)

    def tell(self, english: str, in_chinese: str) -> str:
        """Return the sentence in the language of the request."""
        return in_chinese if self.chinese else english


def conversation(
    messages: Sequence[BaseMessage], tools: Mapping[str, Mapping[str, Any]] | None = None, agents: Iterable[str] = ()
) -> Conversation:
    """Return what can be read out of a model's input; `tools` are the parameters of each, by its name."""
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
    missing = Message("", "tool", "Error: no result was recorded")
    results = {m.tool_call_id: m for m in talk[begin + 1 :] if m.role == "tool"}
    calls = [(call, results.get(call.id, missing)) for m in talk[begin + 1 :] for call in m.tool_calls]
    failed = [m.status == "error" or m.text.lstrip().startswith("Error") for _, m in calls]
    steps = (Step(call.name, call.args, m.text, bad) for (call, m), bad in zip(calls, failed, strict=True))
    return Conversation(
        request=request.strip(),
        turn=tuple(steps),
        tools=frozenset(tools or ()),
        agents=tuple(agents),
        parameters=tools or {},
        memory=memory,
        memory_path=memory_path,
        skills=tuple(Skill(m["name"].strip(), m["text"].strip(), m["path"]) for m in _SKILL.finditer(prompt["skills"])),
        earlier=tuple(talk[: begin if own else begin + 1]),
        base=prompt["system"],
    )


def fact_text(line: str) -> str:
    return re.sub(r"^[-*+] +", "", line.strip())


def read_memory(block: str) -> tuple[tuple[MemoryFile, ...], str]:
    """Return (files, the file for new facts) of the memory in a prompt: that which the guidelines name, else the first."""
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
