"""Events of a turn as the protocol's updates: text, thoughts, tool calls with what they show, plan."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from acp import helpers, schema

from deepnb.gate import redact, redact_value
from deepnb.values.approvals import PendingCall
from deepnb.values.code import CODE_TOOLS
from deepnb.values.files import FileDiff
from deepnb.values.image import PICTURES
from deepnb.values.text import excerpt, whole, whole_value
from deepnb.values.turn import CodeOutput, Compacted, Event, Notice, Retry, TextDelta, ThinkingDelta, ToolEnded, ToolStarted  # fmt: skip
from deepnb.workshop.approvals import EDITS, READS, WRITES
from deepnb.workshop.notebook_plan import NotebookDiff

_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(READS, "read"),
    **dict.fromkeys(("glob", "grep", "memory_search"), "search"),
    **dict.fromkeys((*WRITES, *EDITS, "note"), "edit"),
    **dict.fromkeys(CODE_TOOLS, "execute"),
    **{"delete": "delete", "propose_cell": "other"},
}
_NAMING = ("file_path", "path", "query", "pattern", "name", "description", "code")
"""Arguments that say what a call is about, the first that there is."""
_LONGEST = 20_000
"""Characters of a result that are shown."""

ONCE, ALWAYS, REJECT = "once", "session", "reject"
_OPTIONS: Mapping[str, tuple[str, str, Any]] = {
    "approve": (ONCE, "Allow once", "allow_once"),
    "remember": (ALWAYS, "Allow in this session", "allow_always"),
    "reject": (REJECT, "Reject", "reject_once"),
}


class Updates:
    """Makes the updates of one session; it knows which calls its client was told of."""

    def __init__(self, place: Callable[[str], str]) -> None:
        """`place` gives the file of the disk that a path of the agent stands for."""
        self._place = place
        self._told: set[str] = set()
        self._pictures: dict[str, list[Any]] = {}

    def of(self, event: Event) -> Iterator[Any]:
        """Yield what a client is told of an event; what nested agents say is in the result of their call."""
        match event:
            case TextDelta(path=()):
                yield helpers.update_agent_message_text(whole(event.text))
            case ThinkingDelta(path=()):
                yield helpers.update_agent_thought_text(whole(event.text))
            case Notice():
                yield helpers.update_agent_message_text(f"\n\n> {whole(event.text)}\n\n")
            case Retry():
                yield helpers.update_agent_thought_text(f"{event.line}\n")
            case Compacted(path=()):
                yield helpers.update_agent_thought_text("Older messages left the prompt, with a summary of them.\n")
            case ToolStarted():
                yield self.begin(event.id, event.name, event.args, "in_progress")
                if event.name == "write_todos" and (plan := _plan(event.args.get("todos"))):
                    yield helpers.update_plan(plan)
            case CodeOutput(kind="rich"):
                for kind in [one for one in PICTURES if one in event.data][:1]:
                    data = event.data[kind]
                    text = b64encode(data).decode() if isinstance(data, bytes) else "".join(str(data).split())
                    shown = helpers.tool_content(helpers.image_block(text, kind))
                    self._pictures.setdefault(event.id, []).append(shown)
            case ToolEnded():
                if event.id not in self._told:
                    yield self.begin(event.id, event.name, {}, "in_progress")
                content = [_text(redact(whole(event.result))[:_LONGEST]), *self._pictures.pop(event.id, ())]
                status: Any = "completed" if event.status == "ok" else "failed"
                yield helpers.update_tool_call(event.id, status=status, content=content)

    def begin(self, id_: str, name: str, args: Mapping[str, Any], status: Any, change: object = None) -> Any:
        """Return the update that a call begins, or, where the client knows it, that it goes on."""
        if id_ in self._told:
            return helpers.update_tool_call(id_, status=status)
        self._told.add(id_)
        return helpers.start_tool_call(id_, status=status, **self._shown(name, args, change))

    def card(self, call: PendingCall, change: object) -> tuple[Any, list[Any]]:
        """Return a call as the user is asked about it, all of it with what it would change, and what may be decided."""
        made = schema.ToolCallUpdate(
            tool_call_id=call.id, status="pending", **self._shown(call.name, call.args, change)
        )
        found = [_OPTIONS[one] for one in _OPTIONS if one in call.allowed]
        return made, [schema.PermissionOption(option_id=id_, name=name, kind=kind) for id_, name, kind in found]

    def _shown(self, name: str, args: Mapping[str, Any], change: object) -> dict[str, Any]:
        args = whole_value(redact_value(dict(args)))
        word = next((args[key] for key in _NAMING if isinstance(args.get(key), str)), "")
        path = args.get("file_path", args.get("path"))
        at = [schema.ToolCallLocation(path=self._place(path))] if isinstance(path, str) else None
        title = f"{name}: {excerpt(word, 80)}" if word else name
        content = list(self._content(name, args, change)) or None
        return {"title": title, "kind": _KINDS.get(name, "other"), "content": content, "locations": at, "raw_input": args}  # fmt: skip

    def _content(self, name: str, args: Mapping[str, Any], change: object) -> Iterator[Any]:
        path, code = args.get("file_path"), args.get(CODE_TOOLS.get(name, ""))
        if isinstance(change, FileDiff):
            yield helpers.tool_diff_content(self._place(change.path), change.after or "", change.before)
        elif isinstance(change, NotebookDiff):
            for cell in change.cells:
                yield helpers.tool_diff_content(f"{change.path}#{cell.number}", cell.after or "", cell.before)
        elif name in WRITES and isinstance(path, str):
            new, old = args.get("new_string", args.get("content")), args.get("old_string")
            if isinstance(new, str):
                yield helpers.tool_diff_content(self._place(path), new, old if isinstance(old, str) else None)
        elif isinstance(code, str):
            yield _text(f"```python\n{code}\n```")


def _text(text: str) -> Any:
    return helpers.tool_content(helpers.text_block(text))


def _plan(todos: object) -> list[Any]:
    found = [one for one in todos if isinstance(one, Mapping)] if isinstance(todos, list) else []
    states = ("pending", "in_progress", "completed")
    good = [one for one in found if one.get("status") in states]
    return [helpers.plan_entry(whole(str(one.get("content", ""))), status=one["status"]) for one in good]
