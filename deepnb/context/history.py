"""The offloaded history file: one section per compaction, appended, and read back as sections.

    ## Summarized at 2026-01-02T03:04:05+00:00

    2 messages
    <!-- 9 lines: 1f0c...:4 77ab...:4 -->

    ### user

    What was said, verbatim, without credentials.

    ### assistant

    → read_file {"file_path": "/a.md"}

The comment says how many lines the section has after it, so that a message which looks like a heading
does not end it; which messages it holds, so that none is stored twice; and after each how many lines it
has, so that each can be found. Older files, without these, are read as well.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import unescape
from itertools import islice
from typing import NamedTuple

from deepnb.gate import redact
from deepnb.values.files import lines_of
from deepnb.values.messages import Message
from deepnb.values.offload import HistoryMessage, HistorySection

PREFIX = "/conversation_history/"

_BEGIN = "## Summarized at "
_MESSAGE = re.compile(r"^### (user|assistant|system|tool(?: [^\n]+)?)\n\n", re.MULTILINE)
_HEAD = re.compile(rf"^{_BEGIN}(\S+)\n\n(\d+) messages?\n<!-- (\d+) lines: ([0-9a-f: ]*) -->\n\n", re.MULTILINE)


class Addition(NamedTuple):
    """What is to be done to a history file: `text` added at its end, after the first `keep` characters of it."""

    text: str
    keep: int | None = None
    """None keeps the whole file; a number where its end was cut short by a crash and is written anew."""


def section(at: str, messages: Sequence[Message]) -> str:
    """Return one compaction as it is appended: its time, how many messages, then each verbatim, without credentials."""
    body = _body(messages)
    count = f"{len(messages)} message{'' if len(messages) == 1 else 's'}"
    marks = list(map(mark, messages))
    lines = [_message(m).count("\n") for m in messages]
    if sum(lines) != body.count("\n"):  # a credential that was taken out was more than a line long
        parts = [redact(_message(m)) for m in messages]
        lines = [part.count("\n") for part in parts] if "".join(parts) == body else []  # else it joined two messages
    if lines:
        marks = [f"{m}:{n}" for m, n in zip(marks, lines, strict=True)]
    return f"## Summarized at {at}\n\n{count}\n<!-- {body.count(chr(10))} lines: {' '.join(marks)} -->\n\n{body}"


def addition(text: str, at: str, messages: Sequence[Message]) -> Addition:
    """Return what to add to a file so that it holds each of the messages once."""
    found = list(_sections(text))
    keep = None
    if found and not found[-1].whole:  # perhaps the beginning of what is now to be written, cut short
        wanted = [m for m in messages if mark(m) in set(found[-1].marks)]
        if len(wanted) == len(found[-1].marks) and _body(wanted).startswith(found[-1].body):
            keep = found.pop().head.start()
    stored = {m for one in found for m in one.marks}
    new = [m for m in messages if mark(m) not in stored]
    gap = "" if keep is not None or not text or text.endswith("\n") else "\n"
    return Addition(gap + section(at, new) if new else "", keep)


def sections(path: str, text: str) -> tuple[HistorySection, ...]:
    """Return the sections of a history file, in order of time."""
    return tuple(
        HistorySection(s.head[1], path, s.body.rstrip("\n"), int(s.head[2]), tuple(s.items)) for s in _sections(text)
    )


def mark(message: Message) -> str:
    """By what a message is known again in a file: 12 digits of a hash of its id, or of what it says."""
    known = message.id or f"{message.role}\n{message.text}\n{message.tool_calls}\n{message.tool_call_id}"
    return sha256(known.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True)
class _Section:
    head: re.Match[str]
    body: str
    whole: bool
    """Whether it has as many lines as its heading says, and nothing else after them."""

    @property
    def marks(self) -> list[str]:
        return [word.partition(":")[0] for word in self.head[4].split()]

    @property
    def items(self) -> Iterator[HistoryMessage]:
        """Its messages, told apart by their lines, or by their headings where those are as many as it has messages."""
        counts = [word.partition(":")[2] for word in self.head[4].split()]
        parts: list[str] = []
        if self.whole and all(counts) and sum(map(int, counts)) == self.body.count("\n"):
            lines = iter(lines_of(self.body))
            parts = ["".join(islice(lines, int(count))) for count in counts]
        if not parts or not all(map(_MESSAGE.match, parts)):
            starts = [found.start() for found in _MESSAGE.finditer(self.body)]
            parts = [self.body[a:b] for a, b in zip(starts, [*starts[1:], len(self.body)], strict=False)]
        if len(parts) != int(self.head[2]):
            if text := self.body.strip("\n"):
                yield HistoryMessage(1, "", text)
            return
        for number, part in enumerate(parts, 1):
            heading = _MESSAGE.match(part)
            assert heading
            yield HistoryMessage(number, heading[1], part[heading.end() :].removesuffix("\n\n"))


def _sections(text: str) -> Iterator[_Section]:
    at = 0
    while head := _HEAD.search(text, at):
        at = head.end()
        for _ in range(int(head[3])):
            at = text.find("\n", at) + 1 if at >= 0 else at
            at = at or -1  # there are fewer lines
        whole = at >= 0 and (at == len(text) or text.startswith(_BEGIN, at))
        if not whole:  # somebody edited it, or a crash cut it short: it goes on to the next heading
            following = _HEAD.search(text, head.end())
            at = following.start() if following else len(text)
        yield _Section(head, text[head.end() : at], whole)


def _body(messages: Sequence[Message]) -> str:
    return redact("".join(map(_message, messages)))


def _message(message: Message) -> str:
    who = f"tool {message.name}" if message.role == "tool" and message.name else message.role
    lines = [f"### {who}\n\n"]
    if message.text:
        lines.append(f"{message.text}\n\n")
    lines += (f"→ {c.name} {json.dumps(dict(c.args), ensure_ascii=False, default=str)}\n\n" for c in message.tool_calls)
    return "".join(lines)


# -- The history file as deepagents' own summarization writes it, read as sections
# ## Summarized at 2026-01-02T03:04:05+00:00
#
# <message type="human">What was said.</message>
#
# <message type="ai">And answered.</message>

_UPSTREAM_BEGIN = re.compile(r"^## Summarized at (\S+)\n\n", re.MULTILINE)
_UPSTREAM_MESSAGE = re.compile(r'^<message type="(\w+)"[^>]*>(.*?)</message>$', re.MULTILINE | re.DOTALL)
_ROLES = {"human": "user", "ai": "assistant"}


def upstream_sections(path: str, text: str) -> tuple[HistorySection, ...]:
    """Return the sections of a history file, in their order."""
    heads = list(_UPSTREAM_BEGIN.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    made = []
    for head, end in zip(heads, ends, strict=False):
        body = text[head.end() : end].strip("\n")
        found = enumerate(_UPSTREAM_MESSAGE.finditer(body), 1)
        items = tuple(HistoryMessage(n, _ROLES.get(m[1], m[1]), unescape(m[2])) for n, m in found)
        made.append(HistorySection(head[1], path, body, len(items), items))
    return tuple(made)
