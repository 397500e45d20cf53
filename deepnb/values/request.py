"""One request to a model: the pieces that were sent, the parts of its system prompt, and its items."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from operator import attrgetter
from typing import NamedTuple

from deepnb.gate import redact
from deepnb.values.messages import GrowingList
from deepnb.values.text import short_repr


class Tokens(NamedTuple):
    """Tokens of a text: those that about every tokenizer takes, and by class of character what some take beyond them."""

    sure: float = 0
    digits: float = 0
    wide: float = 0
    """For Chinese, Japanese and Korean."""
    other: float = 0
    """For what is neither ASCII nor wide."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A stretch of a request: a tool's schema, a part of the system prompt, a message's text, one tool call."""

    part: str
    """One of `values.budget.PARTS`."""
    label: str
    """What it is, in a word or two: `tool ls`, `system prompt`, `user`."""
    text: str
    tokens: int
    """As counted, with what a message costs beside its text."""
    counted: Tokens | None = field(default=None, repr=False, compare=False)
    """What an estimate is made of; None for an exact count, and for a piece that was read from a file."""


@dataclass(frozen=True)
class Request:
    """Tools, system prompt and messages, in the order in which providers cache a prefix.

    Head and body are shared by the requests of a session: n calls take the room of n messages, not of their square.
    """

    head: tuple[Sent, ...] = ()
    body: GrowingList[tuple[Sent, ...]] = field(default_factory=GrowingList)
    """A tuple of pieces for each message."""

    def __repr__(self) -> str:
        return short_repr(self, f"messages={len(self.body)} tokens={self.tokens}")

    def __iter__(self) -> Iterator[Sent]:
        return chain(self.head, *self.body)

    @property
    def tokens(self) -> int:
        """As counted when it was sent."""
        return sum(piece.tokens for piece in self)


# -- The agent's own instructions; the tags that mark the parts of a system prompt, and how to tell the parts apart by them


def default_prompt(*, files: bool = True) -> str:
    """Return the agent's instructions; without file tools they name none."""
    live = "Your files live in the notebook's kernel under /, and your file tools read and write them. " * files
    look = ", files with ls and read_file" if files else ""
    return (
        "You are a deep agent in a Jupyter notebook, working for the person who runs its cells. "
        f"{live}Look before you answer: the notebook's variables with list_variables and inspect_variable{look}. "
        "Be brief, and say so when you do not know."
    )


MORE_TOOLS = "more_tools"
"""The tool by which a model that is offered only a few gets another one."""


def lean_prompt(*, files: bool = True) -> str:
    """Return the instructions for a small window, with an example of a call for a model that knows no form of its own."""
    return (
        "You work in a Jupyter notebook. Look at variables with list_variables and inspect_variable"
        f"{', at files (paths begin with /) with read_file' if files else ''} before you answer. Say what you do not know. "
        'Call tools to act, as in {"name": "inspect_variable", "arguments": {"name": "NAME"}}; never say that you did what no'
        " tool did."
    )


SYSTEM_PROMPT = default_prompt()

MEMORY_OPEN, MEMORY_CLOSE = "<agent_memory>", "</agent_memory>"
GUIDELINES_OPEN, GUIDELINES_CLOSE = "<memory_guidelines>", "</memory_guidelines>"
SKILLS_OPEN, SKILLS_CLOSE = "<agent_skills>", "</agent_skills>"

_SPANS = {"memory": (MEMORY_OPEN, GUIDELINES_CLOSE), "skills": (SKILLS_OPEN, SKILLS_CLOSE)}


def system_parts(text: str) -> list[tuple[str, str]]:
    """Return (part, text) pieces of a system prompt, in order; joined they are `text` again.

    A span reaches to its last closing tag before the next one, so a memory file that holds a closing tag does not end it.
    """
    out: list[tuple[str, str]] = []
    at, left = 0, dict(_SPANS)
    while found := sorted(
        (start, part) for part, (opening, _) in left.items() if (start := text.find(opening, at)) >= 0
    ):
        start, part = found[0]
        closing = left.pop(part)[1]
        limit = found[1][0] if len(found) > 1 else len(text)
        end = text.rfind(closing, start, limit)
        if end < 0 and (end := text.rfind(closing, start)) < 0:
            continue
        end += len(closing)
        out += [("system", text[at:start])] if start > at else []
        out.append((part, text[start:end]))
        at = end
    return out + ([("system", text[at:])] if at < len(text) else [])


_FILE = re.compile(rf"(?:(?<=\n\n)|(?<={MEMORY_OPEN}\n))/[^\n]*\.md(?=\n\n)")
_SKILL = re.compile(r"^- \*\*([^*\n]+)\*\*: ", re.MULTILINE)


def system_pieces(text: str) -> list[tuple[str, str, str]]:
    """Return (part, name, text) of a system prompt, each memory file and skill by itself; joined they are `text` again."""
    out: list[tuple[str, str, str]] = []
    for part, stretch in system_parts(text):
        if part == "memory":
            close = stretch.rfind(f"{MEMORY_CLOSE}\n{GUIDELINES_OPEN}")
            files = [(m.start(), m[0]) for m in _FILE.finditer(stretch, 0, max(close, 0))]
            out += _cut(part, stretch, [*files, (close, "guidelines")] if close > 0 else files)
        elif part == "skills":
            out += _cut(part, stretch, [(m.start(), m[1]) for m in _SKILL.finditer(stretch)])
        else:
            out.append((part, "system prompt", stretch))
    return out


def _cut(part: str, text: str, starts: Sequence[tuple[int, str]]) -> list[tuple[str, str, str]]:
    """Return a text cut where something with a name begins; what stands before that has the name of its part."""
    marks = [(0, part), *starts, (len(text), "")]
    return [(part, name, text[at:end]) for (at, name), (end, _) in pairwise(marks) if end > at]


# -- What a request is made of, item by item: each tool, memory file, skill and large message, and what takes it out

LARGE = 100
"""Tokens from which on a message is an item of its own."""
MOST = 5
"""Messages of one part that are items of their own, the largest."""
_START, _READ = 80, 8_000
"""Characters of a message that tell what it is; of those that are searched for credentials before it is cut."""
# /user/AGENTS.md: the user's file, which only leaves the prompt
_SOURCE = re.compile(r"/(?:user|project|sources)(?:-\d+)?/")
_FRAMES = {("memory", "memory"): "guidelines", ("skills", "skills"): "instructions"}
"""What stands round the files of memory and the skills, and what it is listed as."""


@dataclass(frozen=True)
class Item:
    """One thing in a request."""

    part: str
    """One of `values.budget.PARTS`."""
    name: str
    tokens: int
    out: str = ""
    """The magic or the option of `configure` that takes it out of later requests; empty where nothing does."""
    start: str = ""
    """The first characters of a message, credentials masked."""


def items(request: Request, own_tools: Collection[str] = ()) -> tuple[Item, ...]:
    """Return all of a request as items, by part in the order in which it was sent, the largest first; `own_tools` are the user's."""
    head: dict[tuple[str, str], int] = {}
    for piece in request.head:
        key = (piece.part, _FRAMES.get((piece.part, piece.label), piece.label))
        head[key] = head.get(key, 0) + piece.tokens
    found = [Item(*key, tokens) for key, tokens in head.items()]
    found += _messages(request.body)
    order = list(dict.fromkeys(item.part for item in found))
    found.sort(key=lambda item: (order.index(item.part), -item.tokens))
    return tuple(replace(item, out=_out(item, own_tools)) for item in found)


def _messages(messages: Iterable[tuple[Sent, ...]]) -> Iterator[Item]:
    by_part: dict[str, list[Item]] = {}
    for pieces in messages:
        for part in dict.fromkeys(piece.part for piece in pieces):
            mine = [piece for piece in pieces if piece.part == part]
            most = max(mine, key=attrgetter("tokens"))
            one = Item(part, most.label, sum(piece.tokens for piece in mine), start=most.text)
            by_part.setdefault(part, []).append(one)
    for part, found in by_part.items():
        large = sorted((one for one in found if one.tokens >= LARGE), key=attrgetter("tokens"), reverse=True)[:MOST]
        yield from (replace(one, start=" ".join(redact(one.start[:_READ]).split())[:_START]) for one in large)
        if rest := len(found) - len(large):
            tokens = sum(one.tokens for one in found) - sum(one.tokens for one in large)
            yield Item(part, f"{rest} {'other ' if large else ''}{'message' if rest == 1 else 'messages'}", tokens)


def _out(item: Item, own_tools: Collection[str]) -> str:
    part, name = item.part, item.name
    match part:
        case "tools":
            return f"%agent tools {'remove' if name in own_tools else 'off'} {name}"
        case "memory":
            if _SOURCE.match(name):
                return f"%memory sources remove {name}"
            return f"%memory rm {name}" if name.startswith("/") else "enable_memory=False"
        case "skills":
            return "enable_skills=False" if name == "instructions" else f"%skills disable {name}"
        case "system":
            return 'system_prompt=""'
        case "summary":
            return "%agent new"
    return "%agent history --bring none" if name == "brought back" else "%agent compact"
