"""Claude Code's session files (1.x and 2.x): what each line says by itself, and the tree that the lines are.

The tree holds the conversation as it stands, what was taken back, and nested agents.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.file import BadLines, json_lines, object_of, open_file
from deepnb.wings.open.json_values import blocks, content_text, count, iso, mapping, text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.values import OTHER_BRANCHES

_TYPES = ("user", "assistant", "system", "summary", "progress", "attachment")
_ONLY: dict[str, dict[str, Any]] = {kind: {"type": kind} for kind in _TYPES}
_NOTICES = frozenset(("local_command", "api_error", "informational", "away_summary"))
_TITLES = ("customTitle", "aiTitle", "title")
# <system-reminder>Be brief.</system-reminder> | <ide_selection>lines 1 to 3</ide_selection>
_WRAPPER = re.compile(r"<(system-reminder|ide_[a-z_]+)>.*?</\1>", re.DOTALL)
_TAG = re.compile(
    r"</?(?:local-command|command|bash)-[a-z]+>"
)  # <local-command-stdout> | <command-name> | </bash-input>
# <command-name>/model</command-name> | <bash-input>ls</bash-input>
_PART = re.compile(r"<(command-(?:name|message|args)|bash-input)>(.*?)</\1>", re.DOTALL)


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    names = ("sessionId", "parentUuid", "leafUuid")
    return any(isinstance(value.get("type"), str) and any(name in value for name in names) for value in objects)


def parse(value: dict[str, Any]) -> it.Entry:
    kind = text(value.get("type"))
    facts = _facts(kind, value)
    parent = text(value.get("parentUuid")) or None
    items = list(_items(kind, value))
    if kind == "system" or (kind == "user" and "toolUseResult" not in value):
        names = (("id", "sessionId"), ("cwd", "cwd"), ("version", "version"))
        items += (it.Fact(text(value.get(key)), 0, name) for name, key in names if text(value.get(key)))
    return it.Entry(items, iso(value.get("timestamp")), text(value.get("uuid")), parent, facts)


def _facts(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what only the tree needs to know of a line; of most lines that is their type, and one object for all."""
    facts: dict[str, Any] = {}
    if value.get("isSidechain"):
        facts = {"side": True, "agent": text(value.get("agentId"))}
    if kind == "system":
        about = mapping(value.get("compactMetadata"))
        facts["logical"] = text(value.get("logicalParentUuid"))
        facts["keeps"] = bool(about.get("preservedSegment") or about.get("preservedMessages"))
    return {"type": kind, **facts} if facts or kind not in _ONLY else _ONLY[kind]


def _items(kind: str, value: Mapping[str, Any]) -> Iterator[it.Item]:
    match kind:
        case "user":
            yield from _user(value)
        case "assistant":
            yield from _assistant(value)
        case "system":
            yield from _system(value)
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
                result.original = text(original) if isinstance(original, str) else None
            yield result
        elif said := content_text([block]):
            stopped = said.startswith("[Request interrupted")
            yield it.Interruption(said, len(said)) if stopped else it.Context(said, len(said))


def _said(said: str, value: Mapping[str, Any]) -> Iterator[it.Item]:
    """Yield what a text that travels as the user's really is."""
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
        yield it.Command(_command(start), size)
    elif typed := _WRAPPER.sub("", said).strip():
        yield it.Prompt(typed, size)
    elif said:
        yield it.Context(said, size)


def _command(said: str) -> str:
    parts = {name: found.strip() for name, found in _PART.findall(said)}
    if "bash-input" in parts:
        return f"!{parts['bash-input']}"
    name = parts.get("command-name") or parts.get("command-message") or "command"
    return f"/{name.lstrip('/')} {parts.get('command-args', '')}".strip()


def _assistant(value: Mapping[str, Any]) -> Iterator[it.Item]:
    message = mapping(value.get("message"))
    model = text(message.get("model"))
    if model == "<synthetic>" or value.get("isApiErrorMessage"):
        yield it.Note(content_text(message.get("content")))
        return
    key = text(message.get("id")) or text(value.get("requestId")) or text(value.get("uuid"))
    yield it.Reply(key=key, model=model, usage=usage(mapping(message.get("usage"))))
    yield from it.reply_items(message.get("content"), key)


def usage(told: Mapping[str, Any]) -> Usage | None:
    """Return tokens of one call, the cached part of the input included; None if all are zero."""
    read, written = count(told.get("cache_read_input_tokens")), count(told.get("cache_creation_input_tokens"))
    made = Usage(count(told.get("input_tokens")) + read + written, count(told.get("output_tokens")), read)
    return made if made.input or made.output else None


def _system(value: Mapping[str, Any]) -> Iterator[it.Item]:
    kind = text(value.get("subtype"))
    if kind == "compact_boundary":
        about = mapping(value.get("compactMetadata"))
        cause = "by hand" if about.get("trigger") == "manual" else "trigger"
        yield it.Compaction("", 0, count(about.get("preTokens")), count(about.get("postTokens")), cause)  # type: ignore[arg-type]
    elif kind == "microcompact_boundary":
        about = mapping(value.get("microcompactMetadata"))
        saved = count(about.get("tokensSaved"))
        yield it.Compaction(f"old results of tools were cleared from the context ({saved:,} tokens)", cleared=True)
    elif kind in _NOTICES:
        said = text(value.get("content")) or text(mapping(value.get("error")).get("message"))
        yield it.Note(_TAG.sub("", said).strip() or kind.replace("_", " "))


# -- the lines as the tree they are


_META = 1 << 20
_MOST_AGENTS = 2_000


def arrange(entries: list[it.Entry], nested: dict[Path, list[it.Entry]]) -> it.Arrangement:
    """Return the conversation as it stands, in the order of the file, and its nested agents."""
    entries, again = _once(entries)
    nested = {path: _once(own)[0] for path, own in nested.items()}
    only_side = not any(e.facts["type"] in ("user", "assistant") and not e.facts.get("side") for e in entries)
    tree = Tree([e for e in entries if only_side or not e.facts.get("side")])
    main = tree.conversation()
    agents = [] if only_side else _agents(entries, nested)
    on_path = set(map(id, main))
    left = [e for e in tree.entries if e.has(it.Prompt) and id(e) not in on_path and e.id not in tree.told]
    counts = {
        OTHER_BRANCHES: len({e.id or str(e.line) for e in left}),
        "commands": sum(e.has(it.Command) for e in main),
        "queued prompts": sum(isinstance(i, it.Context) and i.source == "queued prompt" for e in main for i in e.items),
    }
    many = f"{tree.absent} line{'s' if tree.absent > 1 else ''} of it"
    absent = f"the parent of {many} is not in the file: read as if it were the line before"
    notices = [absent] if tree.absent else []
    if again:
        lines = f"{again} lines are" if again > 1 else "1 line is"
        notices.append(f"{lines} in the file again: each is read once, where it was first")
    if tree.cleared:
        times = "once" if tree.cleared == 1 else f"{tree.cleared} times"
        notices.append(f"the context was cleared {times}: what was said before is shown, and was not sent any more")
    if tree.flat:
        notices.append("no line of it names its parent: read in the order of the file")
    return it.Arrangement(main, agents, counts, notices)


def _once(entries: list[it.Entry]) -> tuple[list[it.Entry], int]:
    """Return the lines, one that is in the file again at its first place, in its last words; and how many those are.

    What a compaction keeps is written again, too, but below another line: that stays, and the tree sees to it.
    """
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
        compacted = len(out) if _is_boundary(entry) else compacted
        out.append(entry)
    return out, again


class Tree:
    """The lines that have a place in the conversation, by their parents."""

    def __init__(self, entries: list[it.Entry]) -> None:
        self.entries = entries
        self.absent = 0
        """Lines whose parent is not in the file."""
        self.cleared = 0
        """How often the conversation went on from nothing, in the same file."""
        self.flat = len(entries) > 1 and not any(e.parent for e in entries)
        """Whether no line names its parent."""
        self.told: set[str] = set()
        """Ids of what is in the conversation."""
        self._at: dict[str, list[int]] = defaultdict(list)
        self._replies: dict[str, list[int]] = defaultdict(list)
        self._results: dict[str, list[int]] = defaultdict(list)
        self._boundaries: list[int] = []
        for n, entry in enumerate(entries):
            if entry.id:
                self._at[entry.id].append(n)
            for item in entry.items:
                if isinstance(item, it.Reply):
                    self._replies[item.key].append(n)
                elif isinstance(item, it.Result):
                    self._results[item.id].append(n)
                elif isinstance(item, it.Compaction) and not item.cleared:
                    self._boundaries.append(n)
        self._parent = [self._parent_of(n) for n in range(len(entries))]
        self._children: dict[int, list[int]] = defaultdict(list)
        for n, parent in enumerate(self._parent):
            if parent is not None:
                self._children[parent].append(n)

    def conversation(self) -> list[it.Entry]:
        """Return all on the way from the last message to the root, and what belongs to it though it is no ancestor."""
        path = self._path()
        self._add_compactions(path)
        self._add_branches(path)
        self._add_replies(path)
        out = []
        for n in sorted(path):
            entry = self.entries[n]
            if entry.id and entry.id in self.told:
                continue  # a compaction kept it word for word: it is there twice
            self.told.add(entry.id)
            out.append(entry)
        return out

    def _parent_of(self, n: int) -> int | None:
        """Return the line above: of a boundary, the last one before the compaction; the line before if that is not here."""
        entry = self.entries[n]
        if self.flat:
            return n - 1 if n else None
        if entry.parent:
            named = self._find(entry.parent, n)
            if named is None and (before := self._before(n)) is not None:
                self.absent += 1
                return before
            return named
        if _is_boundary(entry):
            named = self._find(str(entry.facts.get("logical", "")), n)
            return self._before(n) if named is None else named
        return self._before(n) if entry.has(it.Summary) else None  # an early version wrote no boundary before it

    def _find(self, id_: str, below: int) -> int | None:
        """Return the last line of this id above another one, or else the first."""
        found = self._at.get(id_)
        if not found:
            return None
        above = [n for n in found if n < below]
        return above[-1] if above else next((n for n in found if n != below), None)

    def _before(self, n: int) -> int | None:
        return next((m for m in range(n - 1, -1, -1) if self.entries[m].id), None)

    def _path(self) -> set[int]:
        """Return the way from the last message to its root; if that began anew, also the way from the last one before it."""
        spoken = [n for n, e in enumerate(self.entries) if e.facts["type"] in ("user", "assistant")]
        path: set[int] = set()
        while spoken:
            at: int | None = spoken[-1]
            root, later, said = spoken[-1], bool(path), False
            while at is not None and at not in path:
                path.add(at)
                said = said or self.entries[at].has(it.Prompt, it.Reply)
                root, at = min(root, at), self._parent[at]
            self.cleared += later and said
            if at is not None:  # its links go round
                break
            while spoken and spoken[-1] >= root:
                spoken.pop()
        return path

    def _add_compactions(self, path: set[int]) -> None:
        """Add compactions whose kept messages hang above them, so that the way from below passes them by."""
        last = max(path, default=-1)
        for n in self._boundaries:
            if n in path or self._parent[n] not in path:
                continue
            if n < last and not self.entries[n].facts.get("keeps"):
                continue  # it was taken back
            path.add(n)
            path.update(m for m in self._children[n] if self.entries[m].has(it.Summary))

    def _add_branches(self, path: set[int]) -> None:
        """Add branches without a prompt: parallel calls, hooks and notices, but nothing that was taken back."""
        for n in list(path):
            hanging = [m for m in self._children[n] if m not in path]
            if hanging and not any(self._asks(m) for m in self._children[n] if m in path):
                for branch in hanging:
                    below = self._below(branch)
                    if not any(self.entries[m].has(it.Prompt) or _is_boundary(self.entries[m]) for m in below):
                        path.update(below)

    def _asks(self, n: int) -> bool:
        """Return whether what goes on here is a prompt, behind notices and the like."""
        seen = 0
        while seen < 50:
            entry = self.entries[n]
            if entry.has(it.Prompt):
                return True
            if entry.facts["type"] in ("user", "assistant") or len(self._children[n]) != 1:
                return False
            n, seen = self._children[n][0], seen + 1
        return False

    def _below(self, n: int) -> set[int]:
        found, open_ = set[int](), [n]
        while open_:
            at = open_.pop()
            if at not in found:
                found.add(at)
                open_ += self._children[at]
        return found

    def _add_replies(self, path: set[int]) -> None:
        """Add the other blocks of replies that are on the path, and the results of their calls."""
        for key in {item.key for n in path for item in self.entries[n].items if isinstance(item, it.Reply)}:
            path.update(self._replies[key])
        for call in {item.id for n in path for item in self.entries[n].items if isinstance(item, it.Tool)}:
            path.update(self._results[call])


def _is_boundary(entry: it.Entry) -> bool:
    return any(isinstance(item, it.Compaction) and not item.cleared for item in entry.items)


def _agents(entries: list[it.Entry], nested: dict[Path, list[it.Entry]]) -> list[it.Agent]:
    """Return nested agents: of files of their own, and of side chains."""
    found: dict[str, it.Agent] = {}
    for path, own in nested.items():
        id_ = path.stem.removeprefix("agent-")
        about = _meta(path)
        found[id_] = it.Agent(id_, text(about.get("agentType")), text(about.get("toolUseId")), own)
    for id_, chain in _chains(entries).items():
        if id_ not in found:
            found[id_] = it.Agent(id_, entries=chain)
    return list(found.values())


def _chains(entries: Iterable[it.Entry]) -> dict[str, list[it.Entry]]:
    """Return side chains in the session's own file: by agent, or else by the chain's first line."""
    roots: dict[str, str] = {}
    found: dict[str, list[it.Entry]] = defaultdict(list)
    for entry in entries:
        if entry.facts.get("side"):
            root = entry.facts.get("agent") or roots.get(entry.parent or "") or entry.id
            roots[entry.id] = root
            found[root].append(entry)
    return found


def _meta(path: Path) -> dict[str, object]:
    """Return what the file beside an agent's own says of it."""
    meta = path.with_name(f"{path.stem}.meta.json")
    if not meta.is_file() or meta.is_symlink() or meta.stat().st_size > _META:
        return {}
    with open_file(meta) as file:
        about = object_of(file.read().strip()) or {}
    names = {"agentType": ("agentType", "agent_type", "type"), "toolUseId": ("toolUseId", "toolUseID", "tool_use_id")}
    return {name: next((about[k] for k in keys if about.get(k)), "") for name, keys in names.items()}


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
                if first is None or text(first[2].get("sessionId")) != path.stem:
                    continue
            found += 1
            yield file


CLAUDE_CODE = JsonlFormat("claude-code", "Claude Code", fits, parse, arrange, companions)
