"""Chat messages in the forms of LangChain and of OpenAI's interface: what each says, and files of `{"messages": [...]}`.

Such a file is one conversation in JSON, or one a line; or a bare list of messages.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from deepnb.values.errors import NotFoundError
from deepnb.values.text import excerpt
from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.file import BadLines, Head, json_lines, open_file
from deepnb.wings.open.indexing import indexed
from deepnb.wings.open.json_values import array, blocks, content_text, count, mapping, text
from deepnb.wings.open.jsonl import changed
from deepnb.wings.open.values import SessionFile, SessionRow

_ROLES = {
    "human": "human", "user": "human", "ai": "ai", "assistant": "ai", "tool": "tool", "function": "tool",
    "system": "system", "developer": "system", "remove": "remove", "chat": "human",
}  # fmt: skip


def message(value: Any) -> dict[str, Any] | None:
    """Return a message as a dict with LangChain's fields, `type` among them, or None where the value is no message."""
    if isinstance(value, str):
        return {"type": "human", "content": value}
    if is_pair(value):
        value = {"role": value[0], "content": value[1]}
    if not isinstance(value, dict):
        return None
    if "lc" in value and isinstance(value.get("id"), list):
        name = str(value["id"][-1:]).lower()
        kinds = ("human", "ai", "tool", "system", "remove", "function")
        value = {"type": next((kind for kind in kinds if kind in name), ""), **mapping(value.get("kwargs"))}
    elif isinstance(value.get("data"), dict) and "type" in value:
        value = {"type": value["type"], **value["data"]}
    kind = str(value.get("type") or value.get("role") or "").removesuffix("MessageChunk").lower()
    if "role" in value and kind not in _ROLES:
        kind = str(value["role"])
    return {**value, "type": _ROLES[kind]} if kind in _ROLES else None


def is_pair(value: Any) -> bool:
    """Return whether it is a message as (role, text); stored tuples come back as lists."""
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str) and value[0] in _ROLES


def message_items(message: Mapping[str, Any], key: str, *, system: str = "context") -> Iterator[it.Item]:
    """Yield what one message says; its `type` is human, ai, tool or system. `key` names the reply of a model."""
    content = message.get("content")
    said = content_text(content)
    source = text(mapping(message.get("additional_kwargs")).get("lc_source"))
    match message.get("type"):
        case "human" if source:
            yield it.Context(said, len(said), source)
        case "human":
            results = [b for b in blocks(content) if b.get("type") == "tool_result"]
            yield from map(it.Result.of, results)
            if said or not results:
                yield it.Prompt(said, len(said))
        case "ai":
            yield from _answer(message, key)
        case "tool":
            id_ = text(message.get("tool_call_id")) or text(message.get("name"))
            yield it.Result(said, len(said), id_, text(message.get("name")), message.get("status") == "error")
        case "system" if system == "prompt":
            yield it.Fact(said, len(said), "system_prompt")
        case "system":
            yield it.Context(said, len(said), "system")


def _answer(message: Mapping[str, Any], key: str) -> Iterator[it.Item]:
    about = mapping(message.get("response_metadata"))
    model = text(about.get("model_name")) or text(about.get("model"))
    usage, old = mapping(message.get("usage_metadata")), mapping(about.get("token_usage"))
    cached = count(mapping(usage.get("input_token_details")).get("cache_read"))
    given = count(usage.get("input_tokens")) or count(old.get("prompt_tokens"))
    out = count(usage.get("output_tokens")) or count(old.get("completion_tokens"))
    yield it.Reply(key=key, model=model, usage=Usage(given, out, cached) if given else None)
    if thought := text(mapping(message.get("additional_kwargs")).get("reasoning_content")):
        yield it.Thought(thought, 0, key)
    calls = array(message.get("tool_calls")) or array(mapping(message.get("additional_kwargs")).get("tool_calls"))
    if isinstance(only := message.get("function_call"), dict):
        calls = [{"id": text(only.get("name")), "function": only}]  # its result names the function, and no id
    tools = list[it.Tool]()
    for call in map(mapping, [*calls, *array(message.get("invalid_tool_calls"))]):
        function = mapping(call.get("function")) or call
        args = function["args"] if function.get("args") is not None else function.get("arguments")
        tools.append(it.Tool.of(text(call.get("id")), text(function.get("name")), args, key))
    told = {tool.id for tool in tools}  # the blocks of the content may tell of them, too
    said = it.reply_items(message.get("content"), key)
    yield from (item for item in said if not (isinstance(item, it.Tool) and item.id in told))
    yield from tools


_FILE_ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
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
            prompts = (i.text for entry in _entries(value) for i in entry.items if isinstance(i, it.Prompt))
            said, length = excerpt(next(prompts, ""), it.HEAD), len(str(_messages(value)))
            rows.append(SessionRow(str(head.path), id_, self.kind, changed(head.path), said, length))
            if len(rows) == _MOST_ROWS:
                break
        return tuple(rows)

    def open(self, head: Head, session: str | None) -> SessionFile:
        bad = BadLines()
        found = dict(_conversations(head, bad))
        if (id_ := session or next(iter(found), "")) not in found:
            many = f"it has conversations 1 to {len(found)}" if found else "choose another file"
            raise NotFoundError(f"{head.path} has no conversation {id_}", many)
        entries = _entries(found[id_])
        system = next((i.text for e in entries for i in e.items if getattr(i, "name", "") == "system_prompt"), None)
        notices = ["it has no usage: all token figures are estimates"]
        if len(found) > 1:
            notices.append(f"the file has {len(found):,} conversations: this is {id_}")
        facts = {
            "format": self.name, "kind": self.kind, "path": str(head.path), "id": id_, "bytes": head.size,
            "system_prompt": system, "bad": bad.count,
        }  # fmt: skip
        return indexed(it.Arrangement(entries, notices=notices), facts)


def _messages(value: Any) -> list[Any]:
    given = value if isinstance(value, list) else array(value.get("messages")) if isinstance(value, dict) else []
    first = given[0] if given else None
    return given if isinstance(first, dict) and text(first.get("role")) in _FILE_ROLES and "parts" not in first else []


def _conversations(head: Head, bad: BadLines) -> Iterator[tuple[str, Any]]:
    if not head.objects or not _messages(head.objects[0]):
        yield "1", head.whole
        return
    with open_file(head.path) as file:
        for n, (_, value) in enumerate(json_lines(file, bad), 1):
            yield text(value.get("id")) or str(n), value


def _entries(value: Any) -> list[it.Entry]:
    out = []
    for n, given in enumerate(_messages(value)):
        one = message(given) if isinstance(given, dict) else None
        items = list(message_items(one, f"message-{n}", system="prompt")) if one else []
        out.append(it.Entry(items, "", f"message-{n}", line=n + 1))
    return out


CHAT = ChatFormat()
