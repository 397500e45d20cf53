"""Claude Code's lines as the tree they are: the conversation as it stands, what was taken back, nested agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from deepnb.wings.open.claude_code import fits, parse
from deepnb.wings.open.indexing import link
from deepnb.wings.open.items import (
    Agent,
    Arrangement,
    Command,
    Compaction,
    Context,
    Entry,
    Prompt,
    Reply,
    Result,
    Summary,
    Tool,
)
from deepnb.wings.open.json_values import text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.lines import BadLines, json_lines, object_of, open_file
from deepnb.wings.open.values import OTHER_BRANCHES

_META = 1 << 20
_MOST_AGENTS = 2_000


def arrange(entries: list[Entry], beside: dict[Path, list[Entry]]) -> Arrangement:
    """The conversation as it stands, in the order of the file, and its nested agents."""
    entries, again = _once(entries)
    beside = {path: _once(own)[0] for path, own in beside.items()}
    only_side = not any(e.facts["type"] in ("user", "assistant") and not e.facts.get("side") for e in entries)
    tree = Tree([e for e in entries if only_side or not e.facts.get("side")])
    main = tree.conversation()
    agents = [] if only_side else _agents(entries, beside)
    on_path = set(map(id, main))
    left = [e for e in tree.entries if e.has(Prompt) and id(e) not in on_path and e.id not in tree.told]
    counts = {
        OTHER_BRANCHES: len({e.id or str(e.line) for e in left}),
        "commands": sum(e.has(Command) for e in main),
        "queued prompts": sum(isinstance(i, Context) and i.source == "queued prompt" for e in main for i in e.items),
        "subagents": len(agents),
    }
    many = f"{tree.absent} line{'s' if tree.absent > 1 else ''} of it"
    absent = f"the parent of {many} is not in the file: read as if it were the line before"
    notices = [absent] if tree.absent else []
    if again:
        notices.append(
            f"{again} line{'s are' if again > 1 else ' is'} in the file again: each is read once, where it was first"
        )
    if tree.cleared:
        times = "once" if tree.cleared == 1 else f"{tree.cleared} times"
        notices.append(f"the context was cleared {times}: what was said before is shown, and was not sent any more")
    if tree.flat:
        notices.append("no line of it names its parent: read in the order of the file")
    return Arrangement(main, agents, {name: n for name, n in counts.items() if n}, notices)


def _once(entries: list[Entry]) -> tuple[list[Entry], int]:
    """The lines with each that is in the file again at its first place, in its later words; and how many those were.

    What a compaction keeps is written again, too, but below another line: that stays, and the tree sees to it.
    """
    first: dict[str, int] = {}
    moved: set[str] = set()
    compacted, again = -1, 0
    out: list[Entry] = []
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

    def __init__(self, entries: list[Entry]) -> None:
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
                if isinstance(item, Reply):
                    self._replies[item.key].append(n)
                elif isinstance(item, Result):
                    self._results[item.id].append(n)
                elif isinstance(item, Compaction) and not item.cleared:
                    self._boundaries.append(n)
        self._parent = [self._parent_of(n) for n in range(len(entries))]
        self._children: dict[int, list[int]] = defaultdict(list)
        for n, parent in enumerate(self._parent):
            if parent is not None:
                self._children[parent].append(n)

    def conversation(self) -> list[Entry]:
        """All on the way from the last message to the root, and what belongs to it though it hangs beside."""
        path = self._path()
        self._passed_by(path)
        self._beside(path)
        self._same_replies(path)
        out = []
        for n in sorted(path):
            entry = self.entries[n]
            if entry.id and entry.id in self.told:
                continue  # a compaction kept it word for word: it is there twice
            self.told.add(entry.id)
            out.append(entry)
        return out

    def _parent_of(self, n: int) -> int | None:
        """The line above: of a boundary, the last one before the compaction; where it is not in the file, the one before."""
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
        return self._before(n) if entry.has(Summary) else None  # an early version wrote no boundary before it

    def _find(self, id_: str, below: int) -> int | None:
        """The last line of this id above another one, or else the first."""
        found = self._at.get(id_)
        if not found:
            return None
        above = [n for n in found if n < below]
        return above[-1] if above else next((n for n in found if n != below), None)

    def _before(self, n: int) -> int | None:
        return next((m for m in range(n - 1, -1, -1) if self.entries[m].id), None)

    def _path(self) -> set[int]:
        """The way from the last message to its root; and where that began anew, the way from the last one before it."""
        spoken = [n for n, e in enumerate(self.entries) if e.facts["type"] in ("user", "assistant")]
        path: set[int] = set()
        while spoken:
            at: int | None = spoken[-1]
            root, later, said = spoken[-1], bool(path), False
            while at is not None and at not in path:
                path.add(at)
                said = said or self.entries[at].has(Prompt, Reply)
                root, at = min(root, at), self._parent[at]
            self.cleared += later and said
            if at is not None:  # its links go round
                break
            while spoken and spoken[-1] >= root:
                spoken.pop()
        return path

    def _passed_by(self, path: set[int]) -> None:
        """Compactions whose kept messages hang above them, so that the way from below passes them by."""
        last = max(path, default=-1)
        for n in self._boundaries:
            if n in path or self._parent[n] not in path:
                continue
            if n < last and not self.entries[n].facts.get("keeps"):
                continue  # it was taken back
            path.add(n)
            path.update(m for m in self._children[n] if self.entries[m].has(Summary))

    def _beside(self, path: set[int]) -> None:
        """Branches without a prompt: parallel calls, hooks and notices, but nothing that was taken back."""
        for n in list(path):
            hanging = [m for m in self._children[n] if m not in path]
            if hanging and not any(self._asks(m) for m in self._children[n] if m in path):
                for branch in hanging:
                    below = self._below(branch)
                    if not any(self.entries[m].has(Prompt) or _is_boundary(self.entries[m]) for m in below):
                        path.update(below)

    def _asks(self, n: int) -> bool:
        """Whether what goes on here is a prompt, behind notices and the like."""
        seen = 0
        while seen < 50:
            entry = self.entries[n]
            if entry.has(Prompt):
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

    def _same_replies(self, path: set[int]) -> None:
        """The other blocks of replies that are on the path, and the results of their calls."""
        for key in {item.key for n in path for item in self.entries[n].items if isinstance(item, Reply)}:
            path.update(self._replies[key])
        for call in {item.id for n in path for item in self.entries[n].items if isinstance(item, Tool)}:
            path.update(self._results[call])


def _is_boundary(entry: Entry) -> bool:
    return any(isinstance(item, Compaction) and not item.cleared for item in entry.items)


def _agents(entries: list[Entry], beside: dict[Path, list[Entry]]) -> list[Agent]:
    """Nested agents: of files of their own, of side chains, and where there is neither of progress lines."""
    found: dict[str, Agent] = {}
    for path, own in beside.items():
        id_ = path.stem.removeprefix("agent-")
        about = _meta(path)
        found[id_] = Agent(id_, text(about.get("agentType")), text(about.get("toolUseId")), own)
    for id_, chain in _chains(entries).items():
        if id_ not in found:
            found[id_] = Agent(id_, entries=chain)
    for entry in entries:
        mirror = entry.facts.get("mirror")
        if mirror is None:
            continue
        id_ = mirror.facts["agent"]
        agent = found.setdefault(id_, Agent(id_, call=mirror.facts["call"], entries=[]))
        agent.call = agent.call or mirror.facts["call"]
        if all(e.facts.get("inner") for e in agent.entries):
            agent.entries.append(mirror)
    agents = list(found.values())
    link(agents, [*entries, *(e for agent in agents for e in agent.entries)])
    return agents


def _chains(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Side chains in the session's own file: by agent, or else by the chain's first line."""
    roots: dict[str, str] = {}
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.facts.get("side"):
            root = entry.facts.get("agent") or roots.get(entry.parent or "") or entry.id
            roots[entry.id] = root
            found[root].append(entry)
    return found


def _meta(path: Path) -> dict[str, object]:
    """What the file beside an agent's own says of it."""
    meta = path.with_name(f"{path.stem}.meta.json")
    if not meta.is_file() or meta.is_symlink() or meta.stat().st_size > _META:
        return {}
    with open_file(meta) as file:
        about = object_of(file.read().strip()) or {}
    names = {"agentType": ("agentType", "agent_type", "type"), "toolUseId": ("toolUseId", "toolUseID", "tool_use_id")}
    return {name: next((about[k] for k in keys if about.get(k)), "") for name, keys in names.items()}


def companions(path: Path) -> Iterator[Path]:
    """Files of nested agents: below the folder named as the session, or beside it where they name the session."""
    folders = ((path.parent / path.stem / "subagents", False), (path.parent, True))
    found = 0
    for folder, mixed in folders:
        if folder.is_symlink() or not folder.is_dir():
            continue
        for file in sorted(folder.glob("agent-*.jsonl")):
            if file == path or file.is_symlink() or not file.is_file() or found >= _MOST_AGENTS:
                continue
            if not mixed or _session_of(file) == path.stem:
                found += 1
                yield file


def _session_of(path: Path) -> str:
    with open_file(path) as file:
        first = next(json_lines(file, BadLines()), None)
    return text(first.value.get("sessionId")) if first else ""


CLAUDE_CODE = JsonlFormat("claude-code", "Claude Code", fits, parse, arrange, companions)
