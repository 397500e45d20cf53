"""The history file as deepagents' own summarization writes it, read as sections.

## Summarized at 2026-01-02T03:04:05+00:00

<message type="human">What was said.</message>

<message type="ai">And answered.</message>
"""

import re
from collections.abc import Iterator
from html import unescape

from deepnb.values.offload import HistoryMessage, HistorySection

_BEGIN = re.compile(r"^## Summarized at (\S+)\n\n", re.MULTILINE)
_MESSAGE = re.compile(r'^<message type="(\w+)"[^>]*>(.*?)</message>$', re.MULTILINE | re.DOTALL)
_ROLES = {"human": "user", "ai": "assistant"}


def sections(path: str, text: str) -> tuple[HistorySection, ...]:
    """The sections of a history file, in their order."""
    heads = list(_BEGIN.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return tuple(
        _section(path, head[1], text[head.end() : end].strip("\n")) for head, end in zip(heads, ends, strict=False)
    )


def _section(path: str, at: str, body: str) -> HistorySection:
    items = tuple(_messages(body))
    return HistorySection(at, path, body, len(items), items)


def _messages(body: str) -> Iterator[HistoryMessage]:
    for number, found in enumerate(_MESSAGE.finditer(body), 1):
        yield HistoryMessage(number, _ROLES.get(found[1], found[1]), unescape(found[2]))
