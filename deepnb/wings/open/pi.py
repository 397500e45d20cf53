"""Sessions of pi-coding-agent, versions 1 to 3, and of OpenClaw, which embeds it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.json_values import content_text, count, dollars, iso, mapping, text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.values import OTHER_BRANCHES

_FAILED = ("aborted", "error")
_LEAVES = ("leafId", "targetId", "entryId")


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    first = objects[0] if objects else {}
    return first.get("type") == "session" and "id" in first and "cwd" in first and "session" not in first


def parse(value: dict[str, Any]) -> it.Entry:
    kind = text(value.get("type"))
    message = mapping(value.get("message"))
    facts: dict[str, Any] = {"type": kind}
    if kind == "leaf":
        facts["leaf"] = next((text(value[k]) for k in _LEAVES if value.get(k)), "")
    at = iso(value.get("timestamp")) or iso(message.get("timestamp"))
    items = list(_items(kind, value, message))
    id_ = "" if kind == "session" else text(value.get("id"))
    return it.Entry(items, at, id_, text(value.get("parentId")) or None, facts)


def _items(kind: str, value: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[it.Item]:
    match kind:
        case "session":
            version = value.get("version") if isinstance(value.get("version"), int) else 1
            about = (("id", text(value.get("id"))), ("cwd", text(value.get("cwd"))), ("version", str(version)))
            yield from (it.Fact(found, 0, name) for name, found in about)
        case "message":
            yield from _message(message, text(value.get("id")))
        case "compaction":
            summary = text(value.get("summary"))
            yield it.Compaction(summary, len(summary), count(value.get("tokensBefore")))
        case "branch_summary":
            said = text(value.get("summary"))
            yield it.Context(said, len(said), "branch summary")
        case "custom_message":
            said = content_text(value.get("content"))
            yield it.Context(said, len(said), text(value.get("customType"))[: it.HEAD] or "custom")
        case "session_info":
            yield it.Fact(text(value.get("name")), 0, "title")
        case "custom" if value.get("customType") == "openclaw:prompt-error":
            yield it.Note(text(mapping(value.get("data")).get("error")) or "a prompt failed")


def _message(message: Mapping[str, Any], key: str) -> Iterator[it.Item]:
    role = message.get("role")
    content = message.get("content")
    said = content_text(content)
    match role:
        case "user":
            yield it.Prompt(said, len(said))
        case "assistant":
            failed, told = message.get("stopReason") in _FAILED, mapping(message.get("usage"))
            cached, out = count(told.get("cacheRead")), count(told.get("output"))
            given = count(told.get("input")) + cached + count(told.get("cacheWrite"))
            paid = dollars(mapping(told.get("cost")).get("total"))
            usage = Usage(given, out, cached, paid) if (given or out) and not failed else None
            yield it.Reply(key=key, model=text(message.get("model")), usage=usage)
            yield from it.reply_items(content, key)
            if failed:
                yield it.Note(text(message.get("errorMessage")) or f"the reply was {message['stopReason']}")
        case "toolResult" | "tool":
            id_ = text(message.get("toolCallId")) or text(message.get("tool_call_id"))
            yield it.Result(said, len(said), id_, text(message.get("toolName")), bool(message.get("isError")))
        case "bashExecution":
            output = text(message.get("output"))
            yield it.Command(f"!{text(message.get('command'))}")
            yield it.Note(output)
            if not message.get("excludeFromContext"):
                ran = f"!{text(message.get('command'))}\n{output}"
                yield it.Context(ran, len(ran), "bash")
        case "custom" | "hookMessage" | "branchSummary" | "compactionSummary" | "system":
            yield it.Context(said, len(said), text(message.get("customType"))[: it.HEAD] or text(role))


def arrange(entries: list[it.Entry], nested: dict[Path, list[it.Entry]]) -> it.Arrangement:
    """Return the way from the last entry to the root; version 1 has no tree, and all its entries."""
    for entry in entries:
        for item in entry.items:
            if isinstance(item, it.Reply | it.Text | it.Thought | it.Tool) and not item.key:
                item.key = f"line-{entry.line}"
    by_id = {entry.id: entry for entry in entries if entry.id}
    at: it.Entry | None = None
    for entry in entries:
        if entry.facts["type"] == "leaf":  # it names where the session stands, until more is written
            at = by_id.get(entry.facts["leaf"], at)
        elif entry.id:
            at = entry
    if at is None:
        return it.Arrangement(entries)
    path: dict[int, it.Entry] = {}
    while at is not None and id(at) not in path:
        path[id(at)] = at
        at = by_id.get(at.parent or "")
    main = list(reversed(path.values()))
    left = sum(entry.has(it.Prompt) for entry in entries if entry.id and id(entry) not in path)
    return it.Arrangement(main, counts={OTHER_BRANCHES: left})


PI = JsonlFormat("pi", "pi", fits, parse, arrange)
