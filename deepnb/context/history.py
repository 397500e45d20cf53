"""The offloaded history file: written one section per compaction, read back as sections."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from deepnb.core.gate import redact
from deepnb.core.messages import Message
from deepnb.core.values import HistorySection

PREFIX = "/conversation_history/"

_HEAD = re.compile(r"^## Summarized at (\S+)\n\n(\d+) messages?\n\n", re.MULTILINE)


def section(at: str, messages: Sequence[Message]) -> str:
    """One compaction as it is appended: its time, how many messages, then each word for word, less credentials."""
    count = f"{len(messages)} message{'' if len(messages) == 1 else 's'}"
    return f"## Summarized at {at}\n\n{count}\n\n" + redact("".join(map(_message, messages)))


def sections(path: str, text: str) -> tuple[HistorySection, ...]:
    """The sections of a history file, in order of time."""
    heads = list(_HEAD.finditer(text))
    ends = [*(h.start() for h in heads[1:]), len(text)][: len(heads)]
    return tuple(
        HistorySection(h[1], path, text[h.end() : end].rstrip("\n"), int(h[2]))
        for h, end in zip(heads, ends, strict=True)
    )


def _message(message: Message) -> str:
    who = f"tool {message.name}" if message.role == "tool" and message.name else message.role
    lines = [f"### {who}\n\n"]
    if message.text:
        lines.append(f"{message.text}\n\n")
    lines += (f"→ {c.name} {json.dumps(dict(c.args), ensure_ascii=False, default=str)}\n\n" for c in message.tool_calls)
    return "".join(lines)
