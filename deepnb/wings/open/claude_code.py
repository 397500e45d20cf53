"""Lines of Claude Code's session files (1.x and 2.x): what each says by itself. The tree they make is in `claude_tree`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deepnb.values.turn import Usage
from deepnb.wings.open.items import (
    HEAD,
    Command,
    Compaction,
    Context,
    Entry,
    Fact,
    Interruption,
    Item,
    Note,
    Other,
    Prompt,
    Reply,
    Result,
    Summary,
    Text,
    Thought,
    Tool,
)
from deepnb.wings.open.json_values import array, blocks, content_text, count, iso, mapping, size, text
from deepnb.wings.open.memory_files import memory_files
from deepnb.wings.open.values import HIDDEN

_TYPES = ("user", "assistant", "system", "summary", "progress", "attachment")
_SILENT = frozenset(
    (
        *("file-history-snapshot", "queue-operation", "agent-name", "last-prompt", "mode", "pr-link"),
        *("permission-mode", "tag", "task-summary"),
    )
)
"""Types of lines that say nothing about turns."""
_PROGRESS = frozenset(
    ("bash_progress", "hook_progress", "agent_progress", "mcp_progress", "query_update", "search_results_received")
)
_ONLY: dict[str, dict[str, Any]] = {kind: {"type": kind} for kind in _TYPES}
_QUIET = frozenset(("turn_duration", "stop_hook_summary"))
_NOTICES = frozenset(("local_command", "api_error", "informational", "away_summary"))
_TITLES = ("customTitle", "aiTitle", "title")
_TASKS = ("Task", "Agent")
_WRAPPER = re.compile(r"<(system-reminder|ide_[a-z_]+)>.*?</\1>", re.DOTALL)
_TAG = re.compile(r"</?(?:local-command|command|bash)-[a-z]+>")
_PART = re.compile(r"<(command-(?:name|message|args)|bash-input)>(.*?)</\1>", re.DOTALL)


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are lines of Claude Code."""
    return any(
        ("parentUuid" in value and "uuid" in value and value.get("type") in _TYPES)
        or (value.get("type") == "summary" and "leafUuid" in value)
        or ("sessionId" in value and (text(value.get("type")) in _SILENT or value.get("type") in ("user", "assistant")))
        or (value.get("type") == "file-history-snapshot" and "snapshot" in value)
        for value in objects
    )


def parse(value: dict[str, Any]) -> Entry:
    """What one line says."""
    kind = text(value.get("type"))
    facts = _facts(kind, value)
    parent = text(value.get("parentUuid")) or None
    items = list(_items(kind, value))
    if kind == "system" or (kind == "user" and "toolUseResult" not in value):
        items += _about(value)
    if kind == "progress" and mapping(value.get("data")).get("type") == "agent_progress":
        facts = {**facts, **_mirror(value)}
    return Entry(items, iso(value.get("timestamp")), text(value.get("uuid")), parent, facts)


def _facts(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """What only the tree needs to know of a line; of most lines that is their type, and one object for all."""
    facts: dict[str, Any] = {}
    if value.get("isSidechain"):
        facts = {"side": True, "agent": text(value.get("agentId"))}
    if kind == "system":
        about = mapping(value.get("compactMetadata"))
        facts["logical"] = text(value.get("logicalParentUuid"))
        facts["keeps"] = bool(about.get("preservedSegment") or about.get("preservedMessages"))
    return {"type": kind, **facts} if facts or kind not in _ONLY else _ONLY[kind]


def _about(value: Mapping[str, Any]) -> Iterator[Fact]:
    for name, key in (("id", "sessionId"), ("cwd", "cwd"), ("version", "version")):
        if found := text(value.get(key)):
            yield Fact(found, 0, name)


def _mirror(value: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a nested agent that a progress line repeats."""
    data = mapping(value.get("data"))
    inner = mapping(data.get("message"))
    if inner.get("type") not in ("user", "assistant"):
        return {}
    agent = text(data.get("agentId")) or text(value.get("toolUseID"))
    made = Entry(
        list(_items(inner["type"], inner)),
        iso(inner.get("timestamp")) or iso(value.get("timestamp")),
        text(inner.get("uuid")),
        facts={"inner": True, "side": True, "agent": agent, "call": text(value.get("parentToolUseID"))},
    )
    return {"mirror": made}


def _items(kind: str, value: Mapping[str, Any]) -> Iterator[Item]:
    match kind:
        case "user":
            yield from _user(value)
        case "assistant":
            yield from _assistant(value)
        case "system":
            yield from _system(value)
        case "progress":
            found = text(mapping(value.get("data")).get("type"))
            if found not in _PROGRESS:
                yield Other(f"line progress/{found}"[:HEAD])
        case "attachment":
            yield from _attachment(mapping(value.get("attachment")))
        case "summary":
            yield Fact(text(value.get("summary")), 0, "summary")
        case "custom-title" | "ai-title":
            yield Fact(next((text(value[k]) for k in _TITLES if value.get(k)), ""), 0, "title")
        case _ if kind not in _SILENT:
            yield Other(f"line {kind or '(no type)'}"[:HEAD])


def _user(value: Mapping[str, Any]) -> Iterator[Item]:
    content = mapping(value.get("message")).get("content")
    results = [b for b in blocks(content) if b.get("type") == "tool_result"]
    if not results:
        yield from _said(content_text(content), value)
        return
    for block in blocks(content):
        if block.get("type") == "tool_result":
            yield _result(block, value.get("toolUseResult") if len(results) == 1 else None)
        elif said := content_text([block]):
            stopped = said.startswith("[Request interrupted")
            yield Interruption(said, len(said)) if stopped else Context(said, len(said))


def _said(said: str, value: Mapping[str, Any]) -> Iterator[Item]:
    """What a text that travels as the user's really is."""
    start, size = said.lstrip(), len(said)
    if value.get("isCompactSummary"):
        yield Summary(said, size)
    elif start.startswith("[Request interrupted"):
        yield Interruption(said.strip(), size)
    elif value.get("isMeta") or start.startswith("<task-notification>"):
        yield Context(said, size)
    elif start.startswith(("<local-command-", "<bash-stdout>", "<bash-stderr>")):
        yield Note(_TAG.sub("", said).strip(), 0)
    elif start.startswith(("<command-name>", "<command-message>", "<bash-input>")):
        yield Command(_command(start), size)
    elif typed := _WRAPPER.sub("", said).strip():
        yield Prompt(typed, size)
    elif said:
        yield Context(said, size)


def _command(said: str) -> str:
    parts = {name: found.strip() for name, found in _PART.findall(said)}
    if "bash-input" in parts:
        return f"!{parts['bash-input']}"
    name = parts.get("command-name") or parts.get("command-message") or "command"
    return f"/{name.lstrip('/')} {parts.get('command-args', '')}".strip()


def _result(block: Mapping[str, Any], structured: object) -> Result:
    said = content_text(block.get("content"))
    more = mapping(structured)
    before, after = _whole_files(more)
    return Result(
        said, len(said), text(block.get("tool_use_id")), error=bool(block.get("is_error")),
        agent=text(more.get("agentId")), before=before, after=after,
    )  # fmt: skip


def _whole_files(more: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """(the file before, the file after) of the structured result of an edit."""
    original = more.get("originalFile")
    before = text(original) if isinstance(original, str) else None
    if more.get("type") in ("create", "update") and isinstance(more.get("content"), str):
        return before, text(more["content"])
    if before is None or not isinstance(more.get("filePath"), str):
        return before, None
    after = before
    edits = [mapping(edit) for edit in array(more.get("edits"))]
    for one in edits or [more]:
        names = ("oldString", "newString") if "oldString" in one else ("old_string", "new_string")
        old, new = (text(one.get(name)) for name in names)
        everywhere = one.get("replaceAll") or one.get("replace_all")
        if old and old not in after:
            return before, None
        after = (after.replace(old, new) if everywhere else after.replace(old, new, 1)) if old else after + new
    return before, None if more.get("userModified") else after


def _assistant(value: Mapping[str, Any]) -> Iterator[Item]:
    message = mapping(value.get("message"))
    model = text(message.get("model"))
    if model == "<synthetic>" or value.get("isApiErrorMessage"):
        yield Note(content_text(message.get("content")))
        return
    key = text(message.get("id")) or text(value.get("requestId")) or text(value.get("uuid"))
    yield Reply(key=key, model=model, usage=usage(mapping(message.get("usage"))))
    for block in blocks(message.get("content")):
        yield _block(block, key)


def _block(block: Mapping[str, Any], key: str) -> Item:
    match block.get("type"):
        case "text":
            said = text(block.get("text"))
            return Text(said, len(said), key)
        case "thinking":
            return Thought(text(block.get("thinking")) or HIDDEN, 0, key)
        case "redacted_thinking":
            return Thought(HIDDEN, 0, key)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            args, name = mapping(block.get("input")), text(block.get("name"))
            task = text(args.get("prompt"))[:HEAD] if name in _TASKS else ""
            agent = text(args.get("subagent_type")) if name in _TASKS else ""
            return Tool(agent, size(args), key, text(block.get("id")), name, args, memory_files(name, args), task)
        case str() as kind if kind.endswith("tool_result"):
            said = content_text(block.get("content"))
            return Result(said, len(said), text(block.get("tool_use_id")))
        case kind:
            return Other(f"block {text(kind) or '(no type)'}"[:HEAD])


def usage(told: Mapping[str, Any]) -> Usage | None:
    """Tokens of one call, the cached part of the input included; None where all are zero."""
    read, written = count(told.get("cache_read_input_tokens")), count(told.get("cache_creation_input_tokens"))
    made = Usage(count(told.get("input_tokens")) + read + written, count(told.get("output_tokens")), read)
    return made if made.input or made.output else None


def _system(value: Mapping[str, Any]) -> Iterator[Item]:
    kind = text(value.get("subtype"))
    if kind == "compact_boundary":
        about = mapping(value.get("compactMetadata"))
        cause = "by hand" if about.get("trigger") == "manual" else "trigger"
        yield Compaction("", 0, count(about.get("preTokens")), count(about.get("postTokens")), cause)  # type: ignore[arg-type]
    elif kind == "microcompact_boundary":
        about = mapping(value.get("microcompactMetadata"))
        saved = count(about.get("tokensSaved"))
        yield Compaction(f"old results of tools were cleared from the context ({saved:,} tokens)", cleared=True)
    elif kind in _NOTICES:
        said = text(value.get("content")) or text(mapping(value.get("error")).get("message"))
        yield Note(_TAG.sub("", said).strip() or kind.replace("_", " "))
    elif kind not in _QUIET:
        yield Other(f"line system/{kind}"[:HEAD])


def _attachment(about: Mapping[str, Any]) -> Iterator[Item]:
    kind = text(about.get("type"))
    if kind == "queued_command":
        said = content_text(about.get("prompt"))
        yield Note(f"typed while it ran: {said}")
        yield Context(said, len(said), "queued prompt")
    else:
        yield Other(f"line attachment/{kind}"[:HEAD])
