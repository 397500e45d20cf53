"""What a system prompt says of memory and skills, read back out of its text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from deepnb.core.prompt import GUIDELINES_OPEN, MEMORY_CLOSE, MEMORY_OPEN, system_parts
from deepnb.core.values import Skill

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
