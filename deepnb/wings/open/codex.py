"""OpenAI Codex's rollouts: JSON lines with a payload."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.file import object_of
from deepnb.wings.open.json_values import array, content_text, count, iso, mapping, text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.values import HIDDEN, OTHER_BRANCHES

_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_COMPACTED = frozenset(("compaction", "context_compaction", "compaction_summary"))
_INJECTED = (
    "<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>", "<skill", "# AGENTS.md",
    "<user_shell_command>", "<collaboration_mode>", "<subagent_notification>", "<INSTRUCTIONS>",
)  # fmt: skip
_FIGURES = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    return any(isinstance(value.get("payload"), dict) and value.get("type") in _LINES for value in objects)


def parse(value: dict[str, Any]) -> it.Entry:
    kind, payload = text(value.get("type")), mapping(value.get("payload"))
    facts: dict[str, Any] = {"type": kind}
    inner = text(payload.get("type"))
    if kind == "turn_context":
        facts["model"] = text(payload.get("model"))
    elif kind == "session_meta" and (payload.get("forked_from_id") or "subagent" in mapping(payload.get("source"))):
        facts["copied"] = True
    elif kind == "event_msg" and inner == "thread_rolled_back":
        facts["rollback"] = count(payload.get("num_turns"))
    elif kind == "event_msg" and inner == "token_count":
        info = mapping(payload.get("info"))
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        state = tuple(count((total or last).get(name)) for name in _FIGURES)
        facts |= {"tokens": state if total or last else None, "sum": count(last.get("total_tokens"))}
    elif kind == "response_item" and payload.get("role") == "user":
        facts["user"] = True
    items = list(_items(kind, inner, payload))
    return it.Entry(items, iso(value.get("timestamp")), text(payload.get("id")), None, facts)


def _items(kind: str, inner: str, payload: Mapping[str, Any]) -> Iterator[it.Item]:
    match kind:
        case "session_meta":
            names = (("id", "id"), ("cwd", "cwd"), ("version", "cli_version"))
            yield from (it.Fact(text(payload[key]), 0, name) for name, key in names if text(payload.get(key)))
            if system := text(mapping(payload.get("base_instructions")).get("text")):
                yield it.Fact(system, len(system), "system_prompt")
        case "response_item":
            yield from _item(inner, payload)
        case "event_msg":
            yield from _event(inner, payload)
        case "compacted":
            summary = text(payload.get("message"))
            encrypted = any(mapping(i).get("encrypted_content") for i in array(payload.get("replacement_history")))
            summary = summary or (HIDDEN if encrypted else "")
            yield it.Compaction(summary, 0 if summary == HIDDEN else len(summary))


def _item(kind: str, item: Mapping[str, Any]) -> Iterator[it.Item]:
    if kind == "message":
        said = content_text(item.get("content"))
        if (role := item.get("role")) == "assistant":
            yield it.Reply()
            yield it.Text(said, len(said))
        else:
            yield it.Context(said, len(said), "context" if role == "user" else text(role) or "context")
    elif kind == "reasoning":
        told = [*array(item.get("summary")), *array(item.get("content"))]
        thought = "\n\n".join(filter(None, (text(mapping(one).get("text")) for one in told)))
        yield it.Reply()
        yield it.Thought(thought or HIDDEN, 0)
    elif kind.endswith("_call"):
        name = text(item.get("name")) or {"local_shell_call": "shell"}.get(kind, kind.removesuffix("_call"))
        given = {"input": text(item.get("input"))} if kind == "custom_tool_call" else item.get("arguments")
        yield it.Reply()
        yield it.Tool.of(text(item.get("call_id")) or text(item.get("id")), name, given or item.get("action"))
        if kind == "web_search_call":
            yield it.Result(text(item.get("status")), 0, text(item.get("call_id")) or text(item.get("id")))
    elif kind.endswith("_output"):
        output = item.get("output", item.get("tools"))
        structured = (object_of(output.encode(errors="replace")) or {}) if isinstance(output, str) else mapping(output)
        code = mapping(structured.get("metadata")).get("exit_code")
        failed = structured.get("success") is False or (isinstance(code, int) and code != 0)
        if isinstance(structured.get("output"), str):
            said = text(structured["output"])
        else:
            said = content_text(structured.get("content") if isinstance(output, dict) else output)
        yield it.Result(said, len(said), text(item.get("call_id")), error=failed)
    elif kind in _COMPACTED:
        yield it.Compaction(HIDDEN if item.get("encrypted_content") else content_text(item.get("content")))


def _event(kind: str, payload: Mapping[str, Any]) -> Iterator[it.Item]:
    match kind:
        case "user_message":
            said = text(payload.get("message"))
            kinds = ("user_instructions", "environment_context")
            if said.lstrip().startswith(_INJECTED) or payload.get("kind") in kinds:
                return
            pictures = len(array(payload.get("images"))) + len(array(payload.get("local_images")))
            yield it.Prompt(said or "\n".join(["[image]"] * pictures), len(said))
        case "token_count":
            if info := mapping(payload.get("info")):
                last = mapping(info.get("last_token_usage"))
                cached = count(last.get("cached_input_tokens"))
                spent = Usage(count(last.get("input_tokens")), count(last.get("output_tokens")), cached)
                yield it.Reply(usage=spent if spent.input else None)
                yield it.Fact(str(count(info.get("model_context_window")) or ""), 0, "window")
        case "task_started" | "turn_started":
            yield it.Fact(str(count(payload.get("model_context_window")) or ""), 0, "window")
        case "turn_aborted":
            yield it.Interruption(f"stopped: {text(payload.get('reason')) or 'interrupted'}")
        case "context_compacted":
            yield it.Compaction()
        case "error" | "stream_error" | "warning":
            yield it.Note(text(payload.get("message")))


def arrange(entries: list[it.Entry], nested: dict[Path, list[it.Entry]]) -> it.Arrangement:
    """Return the thread as it stands: each thing once, calls counted, without the turns that were taken back."""
    rollout = _Rollout(entries)
    for entry in entries:
        rollout.add(entry)
    notices = []
    if any(e.facts.get("copied") for e in entries) or sum(e.facts["type"] == "session_meta" for e in entries) > 1:
        notices.append("it begins with a copy of another session's lines: their turns and tokens are counted here, too")
    return it.Arrangement(rollout.main, counts={OTHER_BRANCHES: rollout.undone}, notices=notices)


class _Rollout:
    """Reads the lines in order, and keeps what the lines themselves do not say: the call, the model, the last totals."""

    def __init__(self, entries: Sequence[it.Entry]) -> None:
        self.main: list[it.Entry] = []
        self.undone = 0
        self._typed = any(entry.has(it.Prompt) for entry in entries)
        self._counted = any(entry.facts.get("tokens") for entry in entries)
        self._model = ""
        self._calls = 0
        self._open = False
        """Whether more may come of the last reply."""
        self._totals: object = None
        self._last: Usage | None = None
        self._compaction: it.Entry | None = None
        """The last thing of the thread, where that is a compaction."""

    def add(self, entry: it.Entry) -> None:
        self._model = entry.facts.get("model") or self._model
        if "tokens" in entry.facts:
            self._tokens(entry)
        elif turns := entry.facts.get("rollback"):
            starts = [n for n, one in enumerate(self.main) if one.has(it.Prompt)][-turns:]
            self.undone += len(starts)
            del self.main[starts[0] if starts else len(self.main) :]
            self._open, self._compaction = False, None
        elif entry.has(it.Compaction):  # up to three lines tell of one
            if (known := self._compaction) is None:
                _compaction(entry).before = self._last.input if self._last else 0
                self._open, self._compaction = False, entry
                self.main.append(entry)
            elif entry.facts["type"] == "compacted" != known.facts["type"]:
                _compaction(entry).before = _compaction(known).before
                self.main[self.main.index(known)] = self._compaction = entry
        elif entry.items:
            self._item(entry)

    def _item(self, entry: it.Entry) -> None:
        said = entry.items[0]
        if entry.facts.get("user") and not said.text.lstrip().startswith(_INJECTED):
            if self._typed:  # events tell prompts, if a file has them
                return
            entry.items = [it.Prompt(said.text, said.size)] if said.text else entry.items
        if entry.has(it.Prompt, it.Interruption):
            self._open, self._compaction = False, None
        for item in entry.items:
            if isinstance(item, it.Reply):
                self._calls += not self._open
                self._open, self._compaction = True, None
                item.key, item.model = f"call-{self._calls}", self._model
            elif isinstance(item, it.Text | it.Thought | it.Tool):
                item.key = f"call-{self._calls}"
            elif isinstance(item, it.Result) and not self._counted:
                self._open = False
        self.main.append(entry)

    def _tokens(self, entry: it.Entry) -> None:
        """Take the tokens of a call, told after it; often again, unchanged."""
        reply = next((item for item in entry.items if isinstance(item, it.Reply)), None)
        if reply is None or entry.facts["tokens"] == self._totals:
            return
        self._totals = entry.facts["tokens"]
        if reply.usage is None:  # an estimate of what is left after a compaction
            if self._compaction is not None:
                _compaction(self._compaction).after = entry.facts["sum"]
            return
        if not self._open:
            self._calls += 1
            reply.summary = self._compaction is not None
        reply.key, reply.model, self._open, self._last = f"call-{self._calls}", self._model, False, reply.usage
        self.main.append(entry)


def _compaction(entry: it.Entry) -> it.Compaction:
    return next(item for item in entry.items if isinstance(item, it.Compaction))


CODEX = JsonlFormat("codex", "Codex", fits, parse, arrange)
