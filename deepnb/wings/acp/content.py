"""What passes between client and agent: a prompt with what is attached, and the events of a turn as updates."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import helpers, schema

from deepnb.gate import redact, redact_value
from deepnb.gate.own_words import add_words
from deepnb.values import turn
from deepnb.values.approvals import PendingCall
from deepnb.values.errors import InvalidError
from deepnb.values.files import FileDiff
from deepnb.values.text import excerpt, whole, whole_value
from deepnb.workshop.approvals import EDITS, READS, WRITES
from deepnb.workshop.images import SUFFIXES, prompt_images
from deepnb.workshop.notebook_plan import NotebookDiff

_FILE, _RESULT = 40_000, 20_000
"""Characters of an attached file that are sent, and of a result that are shown."""


def read_prompt(blocks: Iterable[Any]) -> tuple[str, list[Any]]:
    """Return what a client's blocks ask: the text, with files below it whose words are not the user's, and the images."""
    typed: list[str] = []
    below: list[str] = []
    images: list[object] = []
    for block in blocks:
        given = getattr(block, "resource", block)
        if block.type == "text":
            typed.append(block.text)
        elif block.type == "image":
            images.append(b64decode(block.data))
        elif block.type == "resource_link":
            parts = urlsplit(block.uri)
            path = Path(unquote(parts.path)) if parts.scheme in ("", "file") else None
            if path is not None and path.suffix.lower() in SUFFIXES:
                images.append(path)
            elif path is None or path.suffix == ".ipynb":
                below.append(f"Attached: {block.uri if path is None else f'{path} (read_notebook reads it)'}")
            else:
                try:
                    with path.open(encoding="utf-8") as file:
                        below.append(_quoted(str(path), file.read(_FILE + 1)))
                except (OSError, UnicodeDecodeError) as error:
                    below.append(f"Attached: {path}, which can't be read as text ({type(error).__name__})")
        elif hasattr(given, "text"):
            below.append(_quoted(given.uri, given.text))
        else:
            raise InvalidError(f"a prompt can't have {block.type}", "send text, images, and files that are text")
    prompt = "\n\n".join(typed)
    sent = add_words(prompt, "".join(f"\n\n{one}" for one in below)) if below else prompt
    return sent, list(prompt_images(images))


def _quoted(name: str, text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    cut = "" if len(text) <= _FILE else f"\n(the first {_FILE:,} characters)"
    return f"Attached: {name}\n{fence}\n{text[:_FILE]}\n{fence}{cut}"


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(READS, "read"),
    **dict.fromkeys(("glob", "grep", "memory_search"), "search"),
    **dict.fromkeys((*WRITES, *EDITS, "note"), "edit"),
    "delete": "delete",
    "run_python": "execute",
}
_NAMING = ("file_path", "path", "query", "pattern", "name", "description", "code")
"""Arguments that say what a call is about, the first that there is."""
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

    def of(self, event: turn.Event) -> Iterator[Any]:
        """Yield what a client is told of an event; what nested agents say is in the result of their call."""
        match event:
            case turn.TextDelta(path=()):
                yield helpers.update_agent_message_text(whole(event.text))
            case turn.ThinkingDelta(path=()):
                yield helpers.update_agent_thought_text(whole(event.text))
            case turn.Notice():
                yield helpers.update_agent_message_text(f"\n\n> {whole(event.text)}\n\n")
            case turn.Retry():
                yield helpers.update_agent_thought_text(f"{event.line}\n")
            case turn.Compacted(path=()):
                yield helpers.update_agent_thought_text("Older messages left the prompt, with a summary of them.\n")
            case turn.ToolStarted():
                yield self.begin(event.id, event.name, event.args, "in_progress")
                todos = event.args.get("todos") if event.name == "write_todos" else None
                known = [one for one in todos if isinstance(one, Mapping)] if isinstance(todos, list) else []
                if good := [one for one in known if one.get("status") in ("pending", "in_progress", "completed")]:
                    plan = (helpers.plan_entry(whole(str(o.get("content", ""))), status=o["status"]) for o in good)
                    yield helpers.update_plan([*plan])
            case turn.Decided() if event.decision.kind == "reject":
                yield helpers.update_tool_call(event.decision.call.id, status="failed")
            case turn.ToolEnded():
                if event.id not in self._told:
                    yield self.begin(event.id, event.name, {}, "in_progress")
                result = helpers.text_block(redact(whole(event.result))[:_RESULT])
                status: Any = "completed" if event.status == "ok" else "failed"
                yield helpers.update_tool_call(event.id, status=status, content=[helpers.tool_content(result)])

    def begin(self, id_: str, name: str, args: Mapping[str, Any], status: Any, change: object = None) -> Any:
        """Return the update that a call begins, or, where the client knows it, that it goes on."""
        if id_ in self._told:
            return helpers.update_tool_call(id_, status=status)
        self._told.add(id_)
        return helpers.start_tool_call(id_, status=status, **self._shown(name, args, change))

    def card(self, call: PendingCall, change: object) -> tuple[Any, list[Any]]:
        """Return a call as the user is asked about it, all of it with what it would change, and what may be decided."""
        shown = self._shown(call.name, call.args, change)
        found = [_OPTIONS[one] for one in _OPTIONS if one in call.allowed]
        options = [schema.PermissionOption(option_id=id_, name=name, kind=kind) for id_, name, kind in found]
        return schema.ToolCallUpdate(tool_call_id=call.id, status="pending", **shown), options

    def _shown(self, name: str, args: Mapping[str, Any], change: object) -> dict[str, Any]:
        args = whole_value(redact_value(dict(args)))
        word = next((args[key] for key in _NAMING if isinstance(args.get(key), str)), "")
        path = args.get("file_path", args.get("path"))
        at = [schema.ToolCallLocation(path=self._place(path))] if isinstance(path, str) else None
        title = f"{name}: {excerpt(word, 80)}" if word else name
        content, file = list[Any](), args.get("file_path")
        new, old = args.get("new_string", args.get("content")), args.get("old_string")
        if isinstance(change, FileDiff):
            content = [helpers.tool_diff_content(self._place(change.path), change.after or "", change.before)]
        elif isinstance(change, NotebookDiff):
            cells = ((f"{change.path}#{cell.number}", cell.after or "", cell.before) for cell in change.cells)
            content = [helpers.tool_diff_content(*cell) for cell in cells]
        elif name in WRITES and isinstance(file, str) and isinstance(new, str):
            content = [helpers.tool_diff_content(self._place(file), new, old if isinstance(old, str) else None)]
        return {"title": title, "kind": _KINDS.get(name, "other"), "content": content or None, "locations": at, "raw_input": args}  # fmt: skip
