"""Sessions of pi-coding-agent, versions 1 to 3, and of OpenClaw, which embeds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnb.values.turn import Usage
from deepnb.wings.open.items import (
    HEAD,
    Arrangement,
    Command,
    Compaction,
    Context,
    Entry,
    Fact,
    Item,
    Note,
    Other,
    Prompt,
    Reply,
    Result,
    Text,
    Thought,
    Tool,
)
from deepnb.wings.open.json_values import blocks, content_text, count, dollars, iso, mapping, memory_files, size, text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.values import HIDDEN, OTHER_BRANCHES

_SILENT = frozenset(("model_change", "thinking_level_change", "label", "reset", "leaf", "custom"))
_FAILED = ("aborted", "error")
_LEAVES = ("leafId", "targetId", "entryId")


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether these are lines of pi: a header, and messages in it."""
    first = objects[0] if objects else {}
    return first.get("type") == "session" and "id" in first and "cwd" in first and "session" not in first


def parse(value: dict[str, Any]) -> Entry:
    """Return what one line says."""
    kind = text(value.get("type"))
    message = mapping(value.get("message"))
    facts: dict[str, Any] = {"type": kind}
    if kind == "leaf":
        facts["leaf"] = next((text(value[k]) for k in _LEAVES if value.get(k)), "")
    at = iso(value.get("timestamp")) or iso(message.get("timestamp"))
    items = list(_items(kind, value, message))
    return Entry(
        items, at, "" if kind == "session" else text(value.get("id")), text(value.get("parentId")) or None, facts
    )


def _items(kind: str, value: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Item]:
    match kind:
        case "session":
            version = value.get("version") if isinstance(value.get("version"), int) else 1
            about = (("id", text(value.get("id"))), ("cwd", text(value.get("cwd"))), ("version", str(version)))
            yield from (Fact(found, 0, name) for name, found in about)
        case "message":
            yield from _message(message, text(value.get("id")))
        case "compaction":
            summary = text(value.get("summary"))
            yield Compaction(summary, len(summary), count(value.get("tokensBefore")))
        case "branch_summary":
            said = text(value.get("summary"))
            yield Context(said, len(said), "branch summary")
        case "custom_message":
            said = content_text(value.get("content"))
            yield Context(said, len(said), text(value.get("customType"))[:HEAD] or "custom")
        case "session_info":
            yield Fact(text(value.get("name")), 0, "title")
        case "custom" if value.get("customType") == "openclaw:prompt-error":
            yield Note(text(mapping(value.get("data")).get("error")) or "a prompt failed")
        case _ if kind not in _SILENT:
            yield Other(f"line {kind or '(no type)'}"[:HEAD])


def _message(message: Mapping[str, Any], key: str) -> Iterator[Item]:
    role = message.get("role")
    content = message.get("content")
    said = content_text(content)
    match role:
        case "user":
            yield Prompt(said, len(said))
        case "assistant":
            yield from _answer(message, key)
        case "toolResult" | "tool":
            id_ = text(message.get("toolCallId")) or text(message.get("tool_call_id"))
            yield Result(said, len(said), id_, text(message.get("toolName")), bool(message.get("isError")))
        case "bashExecution":
            output = text(message.get("output"))
            yield Command(f"!{text(message.get('command'))}")
            yield Note(output)
            if not message.get("excludeFromContext"):
                ran = f"!{text(message.get('command'))}\n{output}"
                yield Context(ran, len(ran), "bash")
        case "custom" | "hookMessage" | "branchSummary" | "compactionSummary" | "system":
            yield Context(said, len(said), text(message.get("customType"))[:HEAD] or text(role))
        case _:
            yield Other(f"line message/{text(role) or '(no role)'}"[:HEAD])


def _answer(message: Mapping[str, Any], key: str) -> Iterator[Item]:
    failed = message.get("stopReason") in _FAILED
    yield Reply(key=key, model=text(message.get("model")), usage=None if failed else _usage(message))
    for block in blocks(message.get("content")):
        kind = block.get("type")
        if kind == "text":
            yield Text(text(block.get("text")), len(text(block.get("text"))), key)
        elif kind in ("thinking", "redacted_thinking"):
            yield Thought(text(block.get("thinking")) or HIDDEN, 0, key)
        elif kind in ("toolCall", "tool_use", "toolUse"):
            args, name = mapping(block.get("arguments")) or mapping(block.get("input")), text(block.get("name"))
            yield Tool("", size(args), key, text(block.get("id")), name, args, memory_files(name, args))
        else:
            yield Other(f"block {text(kind) or '(no type)'}"[:HEAD])
    if failed:
        yield Note(text(message.get("errorMessage")) or f"the reply was {message['stopReason']}")


def _usage(message: Mapping[str, Any]) -> Usage | None:
    told = mapping(message.get("usage"))
    read = count(told.get("cacheRead"))
    given = count(told.get("input")) + read + count(told.get("cacheWrite"))
    cost = dollars(mapping(told.get("cost")).get("total"))
    return Usage(given, count(told.get("output")), read, cost) if given or count(told.get("output")) else None


def arrange(entries: list[Entry], beside: dict[Path, list[Entry]]) -> Arrangement:
    """Return the way from the last entry to the root; version 1 has no tree, and all its entries."""
    for entry in entries:
        for item in entry.items:
            if isinstance(item, Reply | Text | Thought | Tool) and not item.key:
                item.key = f"line-{entry.line}"
    by_id = {entry.id: entry for entry in entries if entry.id}
    last = next((entry for entry in reversed(entries) if entry.id and entry.facts["type"] != "leaf"), None)
    if last is None:
        return Arrangement(entries)
    leaf = next((by_id[e.facts["leaf"]] for e in reversed(entries) if e.facts.get("leaf") in by_id), None)
    at: Entry | None = leaf if leaf is not None and not _later(entries, leaf, last) else last
    path: dict[int, Entry] = {}
    while at is not None and id(at) not in path:
        path[id(at)] = at
        at = by_id.get(at.parent or "")
    main = list(reversed(path.values()))
    left = sum(entry.has(Prompt) for entry in entries if entry.id and id(entry) not in path)
    return Arrangement(main, counts={OTHER_BRANCHES: left} if left else {})


def _later(entries: Sequence[Entry], leaf: Entry, last: Entry) -> bool:
    """Return whether messages were written after the line that names the leaf: then these say where it stands."""
    told = max(n for n, e in enumerate(entries) if e.facts.get("leaf") == leaf.id)
    return any(e is last for e in entries[told + 1 :])


PI = JsonlFormat("pi", "pi", fits, parse, arrange)
