"""Conversations as `{"messages": [...]}`: one in a file of JSON, or one a line; also a bare list of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deepnb.core.errors import NotFoundError
from deepnb.core.session_file import SessionRow
from deepnb.core.short_repr import excerpt
from deepnb.formats.chat_messages import message, message_items
from deepnb.formats.head import Head
from deepnb.formats.indexing import HeldSession
from deepnb.formats.items import HEAD, Arrangement, Entry, Prompt
from deepnb.formats.json_values import array, text
from deepnb.formats.jsonl import changed
from deepnb.formats.lines import BadLines, json_lines, open_file

_ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
_MOST_ROWS = 200


class ChatFormat:
    """Messages by role, as chat models take them. There is no usage in them: token figures are estimates."""

    name = "chat"
    kind = "chat messages"

    def matches(self, head: Head) -> bool:
        values = head.objects or ((head.whole,) if isinstance(head.whole, dict) else ())
        return bool(values and _messages(values[0])) or bool(_messages(head.whole))

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        rows = []
        for id_, value in _conversations(head, BadLines()):
            prompts = (i.text for entry in _entries(value) for i in entry.items if isinstance(i, Prompt))
            size = len(str(_messages(value)))
            rows.append(
                SessionRow(str(head.path), id_, self.kind, changed(head.path), excerpt(next(prompts, ""), HEAD), size)
            )
            if len(rows) == _MOST_ROWS:
                break
        return tuple(rows)

    def open(self, head: Head, session: str | None) -> HeldSession:
        bad = BadLines()
        found = dict(_conversations(head, bad))
        id_ = session or next(iter(found), "")
        if id_ not in found:
            many = f"it has conversations 1 to {len(found)}" if found else "choose another file"
            raise NotFoundError(f"{head.path} has no conversation {id_}", many)
        value = found[id_]
        entries = _entries(value)
        system = next((i.text for e in entries for i in e.items if getattr(i, "name", "") == "system_prompt"), None)
        notices = ["it has no usage: all token figures are estimates"]
        if len(found) > 1:
            notices.append(f"the file has {len(found):,} conversations: this is {id_}")
        facts = {
            "format": self.name, "kind": self.kind, "path": str(head.path), "id": id_, "bytes": head.size,
            "system_prompt": system, "bad_lines": tuple(bad.numbers), "bad": bad.count,
        }  # fmt: skip
        return HeldSession(Arrangement(entries, notices=notices), facts)


def _messages(value: Any) -> list[Any]:
    """The messages of a conversation, or none."""
    given = value if isinstance(value, list) else array(value.get("messages")) if isinstance(value, dict) else []
    first = given[0] if given else None
    return given if isinstance(first, dict) and text(first.get("role")) in _ROLES and "parts" not in first else []


def _conversations(head: Head, bad: BadLines) -> Iterator[tuple[str, Any]]:
    """(number, conversation) of each in a file."""
    if not head.objects or not _messages(head.objects[0]):
        yield "1", head.whole
        return
    with open_file(head.path) as file:
        for n, line in enumerate(json_lines(file, bad), 1):
            yield text(line.value.get("id")) or str(n), line.value


def _entries(value: Any) -> list[Entry]:
    found: Sequence[Mapping[str, Any] | None] = [
        message(one) if isinstance(one, dict) else None for one in _messages(value)
    ]
    out = []
    for n, one in enumerate(found):
        items = list(message_items(one, f"message-{n}", system="prompt")) if one else []
        out.append(Entry(items, "", f"message-{n}", line=n + 1, place=(n, n + 1)))
    return out


CHAT = ChatFormat()
