"""What a file that no reader knows seems to be, in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepnb.formats.checkpoint_database import opened
from deepnb.formats.head import Head

_MAGIC = (
    (b"%PDF", "a PDF"), (b"PK\x03\x04", "a ZIP archive"), (b"\x89PNG", "an image"), (b"\xff\xd8\xff", "an image"),
    (b"\x1f\x8b", "a gzip archive"), (b"PAR1", "a Parquet file"), (b"\x7fELF", "a program"), (b"\x80\x04\x95", "a pickle"),
    (b"\x80\x05\x95", "a pickle"), (b"\xff\xfe", "text in UTF-16"), (b"\xfe\xff", "text in UTF-16"),
)  # fmt: skip
_JSONL = 'open a session as JSON Lines, a LangGraph database, or {"messages": [...]}'


def seems(head: Head) -> tuple[str, str]:
    """(what it seems to be, what to do)."""
    start = head.start
    if not start.strip():
        return "is empty", "choose another file"
    if head.is_sqlite:
        return _database(head), "open a database of LangGraph checkpoints"
    for magic, name in _MAGIC:
        if start.startswith(magic):
            return f"seems to be {name}", _JSONL
    if b"\x00" in start[:4096]:
        return "seems to be a binary file", _JSONL
    for value in (*head.objects[:3], *([head.whole] if isinstance(head.whole, dict) else ())):
        if found := _object(value):
            return found
    if start.lstrip()[:1] == b"<":
        return "seems to be a page of HTML or XML", "%agent export NAME.jsonl writes a thread that can be opened"
    if head.objects or head.whole is not None:
        return "is JSON of no kind that is known here", _JSONL
    first = start.split(b"\n", 1)[0]
    if first.count(b",") >= 2 or first.count(b"\t") >= 2:
        return "seems to be a table (CSV)", _JSONL
    return "seems to be plain text", _JSONL


def _object(value: Mapping[str, Any]) -> tuple[str, str] | None:
    keys = set(value)
    if {"nbformat", "cells"} <= keys:
        return "is a notebook", "%agent export NAME.jsonl writes a thread that can be opened"
    if {"projectHash", "messages"} <= keys:
        return "is a session of Gemini CLI, which is not read", "open a session of another program"
    if {"run_type", "trace_id"} <= keys or {"run_type", "dotted_order"} <= keys:
        return "holds runs of LangSmith, which are not read", "open the LangGraph database of the same threads"
    if "info" in keys and isinstance(value.get("messages"), list):
        return "is an export of OpenCode, which is not read", "open a session of another program"
    kind = value.get("type")
    if isinstance(kind, str) and kind.startswith(("thread.", "turn.", "item.")) and "payload" not in keys:
        return "is the output of codex exec --json", "open the rollout in the sessions folder of Codex"
    return None


def _database(head: Head) -> str:
    with opened(head.path) as connection:
        names = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if {"session", "message", "part"} <= names:
        return "is a database of OpenCode, which is not read"
    return f"is an SQLite database with {'the tables ' + ', '.join(sorted(names)[:5]) if names else 'no tables'}"
