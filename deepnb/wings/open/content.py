"""Items of a turn -> the turn: events in the order in which they are shown, messages, and edits of memory files."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from deepnb.values import turn as values
from deepnb.values.budget import NOT_RECORDED, Budget, Rule
from deepnb.values.messages import SUMMARY, Message, ToolCall
from deepnb.values.offload import Offload
from deepnb.wings.open import items as it
from deepnb.wings.open.json_values import memory_changes
from deepnb.wings.open.values import FileEdit, FileTurn, seconds_between

Told = list[tuple[it.Entry, list[it.Item]]]
"""Entries, each with those of its items that are meant."""
Tools = dict[str, tuple[it.Tool, str]]
"""Id -> the call of it that came last, and when."""
INTERRUPTED = "stopped by the user"
_CHARS = 4
"""Characters of a token, where a part of a request is estimated."""
_DEPTH = 20
"""Agents in agents that are followed."""


@dataclass
class Visible:
    """Characters of what a request of the main agent holds, as far as the file shows it, by part of a budget."""

    parts: Counter[str] = field(default_factory=Counter)
    messages: int = 0

    def compact(self) -> None:
        """Messages so far are no longer sent; a system prompt is."""
        self.parts, self.messages = Counter(system=self.parts["system"]), 0

    def budget(self, usage: values.Usage | None, window: int | None) -> Budget:
        """A request of so many tokens by part: the parts that are seen are estimated, the rest was not recorded."""
        parts = {part: -(-size // _CHARS) for part, size in self.parts.items() if size}
        if usage is not None:
            parts[NOT_RECORDED] = max(0, usage.input - sum(parts.values()))
        rule = replace(_NO_RULE, window=window) if window else _NO_RULE
        return Budget(parts, rule, self.messages, exact=False, reported=usage.input if usage else None)


_NO_RULE = Rule(("messages", 0), ("messages", 0), None, known=False)
"""Nothing is said about a trigger: no file does."""


@dataclass
class _Reply:
    at: str
    model: str = ""
    usage: values.Usage | None = None
    said: list[it.Text | it.Thought] = field(default_factory=list)
    tools: list[it.Tool] = field(default_factory=list)
    told: bool = False
    summary: bool = False


class Builder:
    """Makes the turns of a session, one after another."""

    def __init__(self, main: Sequence[it.Entry], agents: Mapping[str, it.Agent], window: int | None) -> None:
        """`agents` are the nested ones, by the tool call that started them."""
        self._agents = agents
        self._window = window
        self._visible = Visible()
        self._known: set[str] = set()
        """Keys of the replies that were told: a prompt may be typed into one."""
        self._tools: Tools = {}
        self._results = _results(entry.items for entry in main)

    def build(self, number: int, told: Told) -> FileTurn:
        """Return the next turn, which these entries tell."""
        self._number, self._calls = number, 0
        self._events: list[values.Event] = []
        self._messages: list[Message] = []
        self._edits: list[FileEdit] = []
        self._interrupted: str | None = None
        self._run(told, (), self._tools, self._results)
        prompt = next((i.text for _, items in told for i in items if isinstance(i, it.Prompt | it.Command)), "")
        answer = next((m.text for m in reversed(self._messages) if m.role == "assistant" and m.text), "")
        times = [entry.at for entry, _ in told if entry.at] or [""]
        asked = (entry.at for entry, _ in told if entry.has(it.Prompt) and entry.at)
        return FileTurn(
            number, prompt, answer, next(asked, times[0]), times[-1],
            tuple(self._events), tuple(self._messages), tuple(self._edits), self._interrupted,
        )  # fmt: skip

    def _run(self, told: Told, path: values.Path, tools: Tools, results: Collection[str], agent: str = "") -> None:
        """Tell entries of one agent; `tools` are its calls so far, `results` the calls of which a result is told somewhere."""
        replies = _replies(told)
        started: dict[str, str] = {}
        answered: set[str] = set()
        for entry, items in told:
            for item in items:
                if isinstance(item, it.REPLIED):
                    reply = replies[item.key]
                    if not reply.told:
                        reply.told = True
                        self._reply(item.key, reply, path, agent)
                        for tool in reply.tools:  # some models use an id again
                            tools[tool.id], started[tool.id] = (tool, reply.at), tool.name
                            answered.discard(tool.id)
                elif isinstance(item, it.Result) and item.id not in answered:
                    answered.add(item.id)
                    self._result(item, tools.get(item.id), entry, path)
                else:
                    self._other(item, entry, path)
        for id_, name in started.items():
            if id_ not in results:
                self._nested(id_, path)
                self._events.append(values.ToolEnded(id_, name, "interrupted", "cut", 0.0, path))

    def _reply(self, key: str, reply: _Reply, path: values.Path, agent: str) -> None:
        again = key in self._known and not path
        self._known |= set() if path else {key}
        self._calls += not again
        seen = Visible() if path else self._visible
        call = values.Call(
            self._calls, "summary" if reply.summary else "answer", path, seen.budget(reply.usage, None if path else self._window), reply.usage,
            model=reply.model, agent=agent,
        )  # fmt: skip
        if not again:
            self._events.append(values.ModelStarted(call, path))
        for item in reply.said:
            if item.text:
                kind = values.TextDelta if isinstance(item, it.Text) else values.ThinkingDelta
                self._events.append(kind(item.text, self._calls, path))
        if not again:
            self._events.append(values.ModelEnded(call, path))
        self._events += [values.ToolStarted(tool.id, tool.name, tool.args, path) for tool in reply.tools]
        if not path:
            text = "".join([item.text for item in reply.said if isinstance(item, it.Text)])
            asked = tuple([ToolCall(tool.id, tool.name, tool.args) for tool in reply.tools])
            size = sum([item.size for item in (*reply.said, *reply.tools)])
            self._say(Message(key, "assistant", text, asked), "assistant", size)

    def _result(self, item: it.Result, asked: tuple[it.Tool, str] | None, entry: it.Entry, path: values.Path) -> None:
        name = asked[0].name if asked else item.name
        self._nested(item.id, path)
        took = seconds_between(asked[1], entry.at) if asked else 0.0
        status: Literal["ok", "error"] = "error" if item.error else "ok"
        self._events.append(values.ToolEnded(item.id, name, item.text, status, took, path))
        if not path:
            said = Message(f"result-{item.id}", "tool", item.text, (), name or None, item.id, status)
            self._say(said, "tool results", item.size)
        if asked and not item.error:
            tool = asked[0]
            edits = list(memory_changes(tool.name, tool.args))
            before = item.original if len(edits) == 1 else None
            self._edits += (FileEdit(file, tool.id, self._number, before, text, hunks) for file, text, hunks in edits)

    def _nested(self, call: str, path: values.Path) -> None:
        if (agent := self._agents.get(call)) is not None and len(path) < _DEPTH and call not in path:
            told = [(entry, entry.items) for entry in agent.entries]
            self._run(told, (*path, call), {}, _results(items for _, items in told), agent.name)

    def _other(self, item: it.Item, entry: it.Entry, path: values.Path) -> None:
        match item:
            case it.Prompt() | it.Context() if not path:
                source = item.source if isinstance(item, it.Context) else None
                self._say(Message(entry.name, "user", item.text, source=source), "user", item.size)
            case it.Command() | it.Note() if item.text:
                self._events.append(values.Notice(item.text, path))
            case it.Interruption():
                self._interrupted = item.text or INTERRUPTED
            case it.Compaction(cleared=True):
                self._events.append(values.Notice(item.text, path))
            case it.Compaction():
                offload = Offload(None, item.text, 0, entry.at, item.cause, item.before, item.after, foreign=True)
                self._events.append(values.Compacted(offload, path))
                if not path:
                    self._visible.compact()
                    if item.text:
                        self._sum_up(item, entry)
            case it.Summary():  # of the compaction before it, if that has none; else it tells of one itself
                told = [n for n, e in enumerate(self._events) if isinstance(e, values.Compacted) and e.path == path]
                known = self._events[told[-1]] if told else None
                if isinstance(known, values.Compacted) and not known.offload.summary:
                    self._events[told[-1]] = values.Compacted(replace(known.offload, summary=item.text), path)
                elif not path and (self._messages or self._number > 1):  # else the session goes on from another file's
                    self._events.append(values.Compacted(Offload(None, item.text, 0, entry.at, foreign=True), path))
                    self._visible.compact()
                if not path:
                    self._sum_up(item, entry)
            case it.Fact(name="system_prompt") if not path:
                self._visible.parts["system"] = item.size

    def _say(self, message: Message, part: str, size: int) -> None:
        self._messages.append(message)
        self._visible.messages += 1
        self._visible.parts[part] += size

    def _sum_up(self, item: it.Item, entry: it.Entry) -> None:
        self._say(Message(entry.name, "user", item.text, source=SUMMARY), "summary", item.size)


def _results(told: Iterable[Iterable[it.Item]]) -> frozenset[str]:
    return frozenset(item.id for items in told for item in items if isinstance(item, it.Result))


def _replies(told: Told) -> dict[str, _Reply]:
    """Return key -> reply. Usage that is told several times counts once, with the most output: earlier lines hold a stub."""
    replies: dict[str, _Reply] = {}
    for entry, items in told:
        for item in items:
            if not isinstance(item, it.REPLIED):
                continue
            if (reply := replies.get(item.key)) is None:
                reply = replies[item.key] = _Reply(entry.at)
            if isinstance(item, it.Tool):
                reply.tools += [item] if all(tool.id != item.id for tool in reply.tools) else []
            elif not isinstance(item, it.Reply):
                reply.said.append(item)
            else:
                reply.model = item.model or reply.model
                reply.summary |= item.summary
                if (one := reply.usage) and (two := item.usage) and one != two:
                    given, out = max(one.input, two.input), max(one.output, two.output)
                    cost = one.cost if two.cost is None else two.cost
                    reply.usage = values.Usage(given, out, max(one.cached or 0, two.cached or 0), cost)
                else:
                    reply.usage = one or item.usage
    return replies
