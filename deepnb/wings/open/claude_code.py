"""Claude Code's session files (1.x and 2.x): what each line says by itself, and the tree that the lines are.

The tree holds the conversation as it stands, what was taken back, and nested agents.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepnb.values.offload import Cause
from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.file import BadLines, json_lines, object_of, open_file
from deepnb.wings.open.json_values import blocks, content_text, count, is_memory_file, iso, mapping, text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.values import OTHER_BRANCHES

_SPOKEN = ("user", "assistant")
_FACTS: dict[str, dict[str, Any]] = {kind: {"type": kind} for kind in (*_SPOKEN, "system", "progress", "attachment")}
"""What the tree needs to know of most lines of a type: one object for all."""
_NOTICES = frozenset(("local_command", "api_error", "informational", "away_summary"))
_TITLES = ("customTitle", "aiTitle", "title")
# <system-reminder>Be brief.</system-reminder> | <ide_selection>lines 1 to 3</ide_selection>
_WRAPPER = re.compile(r"<(system-reminder|ide_[a-z_]+)>.*?</\1>", re.DOTALL)
# <local-command-stdout> | <command-name> | </bash-input>
_TAG = re.compile(r"</?(?:local-command|command|bash)-[a-z]+>")
# <command-name>/model</command-name> | <bash-input>ls</bash-input>
_PART = re.compile(r"<(command-(?:name|message|args)|bash-input)>(.*?)</\1>", re.DOTALL)


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    names = ("sessionId", "parentUuid", "leafUuid")
    return any(isinstance(value.get("type"), str) and any(name in value for name in names) for value in objects)


def parse(value: dict[str, Any]) -> it.Entry:
    kind = text(value.get("type"))
    facts = _FACTS.get(kind) or {"type": kind}
    if value.get("isSidechain"):
        facts = {**facts, "side": True, "agent": text(value.get("agentId"))}
    if kind == "system":
        about = mapping(value.get("compactMetadata"))
        keeps = bool(about.get("preservedSegment") or about.get("preservedMessages"))
        facts = {**facts, "logical": text(value.get("logicalParentUuid")), "keeps": keeps}
    data = mapping(value.get("data")) if "data" in value else {}
    if data.get("type") == "agent_progress" and mapping(data.get("message")).get("type") in _SPOKEN:
        mirror = parse({"timestamp": value.get("timestamp"), **mapping(data["message"])})
        agent, call = text(data.get("agentId")) or text(value.get("toolUseID")), text(value.get("parentToolUseID"))
        facts = {**facts, "mirror": mirror, "agent": agent, "call": call}
    items = _assistant(value) if kind == "assistant" else list(_user(value) if kind == "user" else _items(kind, value))
    if kind == "system" or (kind == "user" and "toolUseResult" not in value):
        names = (("id", "sessionId"), ("cwd", "cwd"), ("version", "version"))
        items += (it.Fact(text(value.get(key)), 0, name) for name, key in names if text(value.get(key)))
    parent = text(value.get("parentUuid")) or None
    return it.Entry(items, iso(value.get("timestamp")), text(value.get("uuid")), parent, facts)


def _items(kind: str, value: Mapping[str, Any]) -> Iterator[it.Item]:
    match kind:
        case "system" if value.get("subtype") == "compact_boundary":
            about = mapping(value.get("compactMetadata"))
            cause: Cause = "by hand" if about.get("trigger") == "manual" else "trigger"
            yield it.Compaction("", 0, count(about.get("preTokens")), count(about.get("postTokens")), cause)
        case "system" if value.get("subtype") == "microcompact_boundary":
            saved = count(mapping(value.get("microcompactMetadata")).get("tokensSaved"))
            yield it.Compaction(f"old results of tools were cleared from the context ({saved:,} tokens)", cleared=True)
        case "system" if (subtype := text(value.get("subtype"))) in _NOTICES:
            said = text(value.get("content")) or text(mapping(value.get("error")).get("message"))
            yield it.Note(_TAG.sub("", said).strip() or subtype.replace("_", " "))
        case "attachment" if (about := mapping(value.get("attachment"))).get("type") == "queued_command":
            said = content_text(about.get("prompt"))
            yield it.Note(f"typed while it ran: {said}")
            yield it.Context(said, len(said), "queued prompt")
        case "summary":
            yield it.Fact(text(value.get("summary")), 0, "summary")
        case "custom-title" | "ai-title":
            yield it.Fact(next((text(value[k]) for k in _TITLES if value.get(k)), ""), 0, "title")


def _user(value: Mapping[str, Any]) -> Iterator[it.Item]:
    content = mapping(value.get("message")).get("content")
    results = [b for b in blocks(content) if b.get("type") == "tool_result"]
    if not results:
        yield from _said(content_text(content), value)
        return
    for block in blocks(content):
        if block.get("type") == "tool_result":
            result = it.Result.of(block)
            if len(results) == 1:
                more = mapping(value.get("toolUseResult"))
                result.agent, original = text(more.get("agentId")), more.get("originalFile")
                if isinstance(original, str) and is_memory_file(text(more.get("filePath"))):
                    result.original = text(original)
            yield result
        elif said := content_text([block]):
            stopped = said.startswith("[Request interrupted")
            yield it.Interruption(said, len(said)) if stopped else it.Context(said, len(said))


def _said(said: str, value: Mapping[str, Any]) -> Iterator[it.Item]:
    start, size = said.lstrip(), len(said)
    if value.get("isCompactSummary"):
        yield it.Summary(said, size)
    elif start.startswith("[Request interrupted"):
        yield it.Interruption(said.strip(), size)
    elif value.get("isMeta") or start.startswith("<task-notification>"):
        yield it.Context(said, size)
    elif start.startswith(("<local-command-", "<bash-stdout>", "<bash-stderr>")):
        yield it.Note(_TAG.sub("", said).strip(), 0)
    elif start.startswith(("<command-name>", "<command-message>", "<bash-input>")):
        parts = {name: found.strip() for name, found in _PART.findall(start)}
        name = parts.get("command-name") or parts.get("command-message") or "command"
        typed = f"/{name.lstrip('/')} {parts.get('command-args', '')}".strip()
        yield it.Command(f"!{parts['bash-input']}" if "bash-input" in parts else typed, size)
    elif typed := _WRAPPER.sub("", said).strip():
        yield it.Prompt(typed, size)
    elif said:
        yield it.Context(said, size)


def _assistant(value: Mapping[str, Any]) -> list[it.Item]:
    message = mapping(value.get("message"))
    if (model := text(message.get("model"))) == "<synthetic>" or value.get("isApiErrorMessage"):
        return [it.Note(content_text(message.get("content")))]
    key = text(message.get("id")) or text(value.get("requestId")) or text(value.get("uuid"))
    told = mapping(message.get("usage"))
    cached, out = count(told.get("cache_read_input_tokens")), count(told.get("output_tokens"))
    given = count(told.get("input_tokens")) + cached + count(told.get("cache_creation_input_tokens"))
    usage = Usage(given, out, cached) if given or out else None
    return [it.Reply("", 0, key, model, usage), *it.reply_items(message.get("content"), key)]


_META = 1 << 20
_MOST_AGENTS = 2_000


def arrange(entries: list[it.Entry], nested: dict[Path, list[it.Entry]]) -> it.Arrangement:
    """Return the conversation as it stands, in the order of the file, and its nested agents."""
    entries, again = _once(entries)
    spoken = [e for e in entries if e.facts["type"] in _SPOKEN]
    only_side = all(e.facts.get("side") for e in spoken)
    known = (e for e in entries if e.id or e.facts["type"] in _SPOKEN)
    lines = [e for e in known if only_side or not e.facts.get("side")]
    above, absent = _parents(lines)
    out = _taken_back(lines, above)
    main, told, roots, begun = list[it.Entry](), set[str](), list[int](), set[int]()
    for n, entry in enumerate(lines):
        up = above[n]
        roots.append(n if up is None or up >= n else roots[up])
        if n not in out and not (entry.id and entry.id in told):  # a compaction writes what it kept again
            told.add(entry.id)
            main.append(entry)
            if roots[n] not in begun and entry.has(it.Prompt, it.Reply):
                begun.add(roots[n])
    counts = {
        OTHER_BRANCHES: len({lines[n].id for n in out if lines[n].has(it.Prompt)} - told),
        "commands": sum(e.facts["type"] == "user" and e.has(it.Command) for e in main),
        "queued prompts": sum(e.facts["type"] == "attachment" and e.has(it.Context) for e in main),
    }
    notices = []
    if absent:
        many = f"{absent} line{'s' if absent > 1 else ''} of it"
        notices.append(f"the parent of {many} is not in the file: read as if it were the line before")
    if again:
        many = f"{again} lines are" if again > 1 else "1 line is"
        notices.append(f"{many} in the file again: each is read once, where it was first")
    if len(begun) > 1 and any(up is not None for up in above):
        times = "once" if len(begun) == 2 else f"{len(begun) - 1} times"
        notices.append(f"the context was cleared {times}: what was said before is shown, and was not sent any more")
    return it.Arrangement(main, [] if only_side else _agents(entries, nested), counts, notices)


def _once(entries: list[it.Entry]) -> tuple[list[it.Entry], int]:
    """Return the lines, one that is in the file again at its first place, in its last words; and how many those are.
    What a compaction keeps is written again, too, but below another line: that stays."""
    first: dict[str, int] = {}
    moved: set[str] = set()
    compacted, again = -1, 0
    out: list[it.Entry] = []
    for entry in entries:
        at = first.get(entry.id) if entry.id else None
        if at is not None:
            parents = out[at].parent, entry.parent
            if entry.parent not in moved and (parents[0] == parents[1] or at > compacted):
                out[at] = replace(entry, parent=parents[0])
                again += 1
                continue
            moved.add(entry.id)
        elif entry.id:
            first[entry.id] = len(out)
        if _is_boundary(entry):
            compacted = len(out)
        out.append(entry)
    return out, again


def _parents(lines: list[it.Entry]) -> tuple[list[int | None], int]:
    """Return the line above each, and of how many it is not in the file: they follow the line before. Above a
    compaction is the last line before it; an early version wrote only its summary."""
    places: dict[str, list[int]] = defaultdict(list)
    for n, entry in enumerate(lines):
        places[entry.id].append(n)
    above, absent = list[int | None](), 0
    for n, entry in enumerate(lines):
        name, up = entry.parent or entry.facts.get("logical"), None
        for m in places.get(name, ()) if name else ():  # the last one before it, or else the first one after it
            if m < n or (up is None and m > n):
                up = m
        if up is None and n and (entry.parent or entry.has(it.Summary) or _is_boundary(entry)):
            up, absent = n - 1, absent + bool(entry.parent)
        above.append(up)
    return above, absent


def _taken_back(lines: list[it.Entry], above: list[int | None]) -> set[int]:
    """Return the lines that are not in the conversation: of branches beside the newest one, if a prompt makes the
    difference. Parallel calls, hooks and notices make branches, too, which all count."""
    below: dict[int, list[int]] = defaultdict(list)
    for n, up in enumerate(above):
        if up is not None:
            below[up].append(n)
    newest: dict[int, int] = {}
    for last in reversed(range(len(lines))):
        n = last
        while lines[last].facts["type"] in _SPOKEN and (up := above[n]) is not None and up not in newest:
            newest[up] = n
            n = up
    out: set[int] = set()
    for up, child in newest.items():
        others = [n for n in below[up] if n != child]
        asks = bool(others) and _asks(lines, below, child)
        for other in others:
            branch, open_ = set[int](), [other]
            while open_:
                if (n := open_.pop()) not in branch:
                    branch.add(n)
                    open_ += below[n]
            if asks or any(lines[n].has(it.Prompt) or _is_boundary(lines[n]) for n in branch):
                out |= branch
    for n in [n for n in out if lines[n].facts.get("keeps")]:  # its kept messages hang above it
        out -= {n, *(m for m in below[n] if lines[m].has(it.Summary))}
    if out:  # other blocks of replies that are in the conversation belong to it, and the results of their calls
        kept = [item for n, entry in enumerate(lines) if n not in out for item in entry.items]
        keys = {item.key for item in kept if isinstance(item, it.Reply)}
        blocks = {n for n in out if any(isinstance(i, it.Reply) and i.key in keys for i in lines[n].items)}
        kept += (item for n in blocks for item in lines[n].items)
        calls = {item.id for item in kept if isinstance(item, it.Tool)}
        out -= {n for n in out if any(isinstance(i, it.Result) and i.id in calls for i in lines[n].items)} | blocks
    return out


def _asks(lines: list[it.Entry], below: Mapping[int, list[int]], n: int) -> bool:
    """Return whether a branch begins with a prompt, behind notices and the like."""
    for _ in range(50):
        if lines[n].has(it.Prompt):
            return True
        if lines[n].facts["type"] in _SPOKEN or len(below.get(n, ())) != 1:
            return False
        n = below[n][0]
    return False


def _is_boundary(entry: it.Entry) -> bool:
    return entry.facts["type"] == "system" and any(isinstance(i, it.Compaction) and not i.cleared for i in entry.items)


def _agents(entries: Iterable[it.Entry], nested: Mapping[Path, list[it.Entry]]) -> list[it.Agent]:
    """Return nested agents: of files of their own, of side chains, by agent or else by the chain's first line, or of progress lines."""
    roots: dict[str, str] = {}
    found: dict[str, it.Agent] = {}
    for entry in entries:
        if mirror := entry.facts.get("mirror"):
            mirror.line = entry.line
            id_ = entry.facts["agent"]
            found.setdefault(id_, it.Agent(id_, call=entry.facts["call"])).entries.append(mirror)
        if entry.facts.get("side"):
            root = entry.facts.get("agent") or roots.get(entry.parent or "") or entry.id
            roots[entry.id] = root
            found.setdefault(root, it.Agent(root)).entries.append(entry)
    for path, own in nested.items():
        id_, about = path.stem.removeprefix("agent-"), dict[str, object]()
        meta = path.with_name(f"{path.stem}.meta.json")
        if meta.is_file() and not meta.is_symlink() and meta.stat().st_size <= _META:
            with open_file(meta) as file:
                about = object_of(file.read().strip()) or {}
        call = text(about.get("toolUseId")) or (found[id_].call if id_ in found else "")
        found[id_] = it.Agent(id_, text(about.get("agentType")), call, _once(own)[0])
    return list(found.values())


def companions(path: Path) -> Iterator[Path]:
    """Yield files of nested agents: below the folder named as the session, or beside it if they name the session."""
    folders = ((path.parent / path.stem / "subagents", False), (path.parent, True))
    found = 0
    for folder, mixed in folders:
        if folder.is_symlink() or not folder.is_dir():
            continue
        for file in sorted(folder.glob("agent-*.jsonl")):
            if file == path or file.is_symlink() or not file.is_file() or found >= _MOST_AGENTS:
                continue
            if mixed:
                with open_file(file) as opened:
                    first = next(json_lines(opened, BadLines()), None)
                if first is None or text(first[1].get("sessionId")) != path.stem:
                    continue
            found += 1
            yield file


CLAUDE_CODE = JsonlFormat("claude-code", "Claude Code", fits, parse, arrange, companions)
