"""The reference, read from `notebooks/REFERENCE.md`: what there is to look up, an entry each.

`python -m tests.support.reference` makes the file of parsers, settings, docstrings and topics.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from deepnb.wings.course.lab import notebooks

TOPICS = (
    *("prompts", "python", "models", "threads", "memory", "layers", "compaction", "skills", "subagents", "approvals"),
    *("code", "tools", "background", "compare", "tapes", "persistence", "privacy", "acp", "sessions", "own-graph"),
    *("server", "middleware", "package", "search", "front-ends"),
)
"""The names that `%agent help` takes beside the subcommands, in the order in which a newcomer reads them."""
KINDS = {"Topics": "topic", "Settings": "setting", "Options of Session": "option", "Files": "file", "Errors": "error"}
"""Heading of a section -> the kind of its entries, if that is not the heading itself."""

_ITEM = re.compile(r"^- `(.+?)`: (.*(?:\n(?:  .*)?)*)", re.MULTILINE)  # - `deepnb.RunError`: A model failed.
_NAMES = {
    "setting": re.compile(r"%config DeepNB\.(\w+)"),
    "option": re.compile(r"Session\((\w+)"),
    "error": re.compile(r"deepnb\.(\w+)"),
    "Python": re.compile(r"(?:await )?([\w.]+)"),
}
# %agent [--raw] PROMPT, %memory add TEXT | %agent PROMPT
_TYPED = re.compile(r"%\w+ (?:\[(?=--))?(--[a-z-]+|[a-z][a-z-]*)|(\S+)")
"""What comes after a magic, or the magic where that is no name."""


@dataclass(frozen=True)
class Entry:
    """A subcommand, a setting, an option, a Python name, a file, an error or a topic."""

    name: str
    """What it is called: `fork`, `window`, `Session.fork`, `compaction`."""
    usage: str
    """What is typed for it, with the magic before it; of a topic its title."""
    text: str
    """What it does, in Markdown."""
    kind: str
    """`%agent`, `%memory`, `%skills`, `setting`, `option`, `Python`, `error`, `file` or `topic`."""


@cache
def entries() -> tuple[Entry, ...]:
    """Return every entry, in the order of the reference."""
    return tuple(parsed((notebooks() / "REFERENCE.md").read_text(encoding="utf-8")))


def parsed(reference: str) -> Iterator[Entry]:
    topics = iter(TOPICS)
    for section in re.split(r"^## ", reference, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        kind = KINDS.get(title, title)
        first, *headed = re.split(r"^### ", body, flags=re.MULTILINE)
        yield from _items(first, kind)
        for block in headed:
            heading, _, text = block.partition("\n")
            if kind == "topic":
                yield Entry(next(topics), heading, text.strip("\n"), kind)
                continue
            owner = "session" if heading == "Session" else heading
            members = re.search(rf"^- `(?:await )?{re.escape(owner)}\.", text, re.MULTILINE)
            at = members.start() if members else len(text)
            own = text[:at].strip("\n")
            usage = re.match(r"`(.+)`(?:\n\n|\Z)", own)
            yield Entry(heading, usage[1] if usage else heading, own[usage.end() if usage else 0 :], kind)
            yield from _items(text[at:], kind)


def _items(text: str, kind: str) -> Iterator[Entry]:
    for usage, said in _ITEM.findall(text):
        if name := _NAMES.get(kind, _TYPED).match(usage):
            yield Entry(next(filter(None, name.groups())), usage, said.replace("\n  ", "\n").strip("\n"), kind)
