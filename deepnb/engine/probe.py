"""The state of a graph -> a Snapshot, converting only what is new since the last one."""

import base64
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from deepnb.engine import keys
from deepnb.engine.request import message_text, shown_text, typed_text
from deepnb.values.agent import Skill
from deepnb.values.lazy import Memo
from deepnb.values.messages import Message, Messages, Role, ToolCall
from deepnb.values.offload import Anchor, Flush, Offload
from deepnb.values.turn import Snapshot

OWN = "/.deepnb/"
"""Where deepnb keeps its journal."""

_ROLE: dict[str, Role] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def stored_results(tasks: Iterable[Any]) -> frozenset[str]:
    """Return the ids of the tool calls that the steps of an unfinished state have results of."""

    def ids(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            yield from [str(value["tool_call_id"])] if value.get("tool_call_id") else ()
            yield from (one for part in value.values() for one in ids(part))
        elif isinstance(value, list | tuple):
            yield from (one for part in value for one in ids(part))
        elif isinstance(value, ToolMessage):
            yield value.tool_call_id

    return frozenset(one for task in tasks for one in ids(getattr(task, "result", None)))


def snapshot(
    thread: str,
    values: Mapping[str, Any],
    *,
    next: tuple[str, ...] = (),  # noqa: A002
    checkpoint: str | None = None,
    last: Snapshot | None = None,
    sure: int = 0,
) -> Snapshot:
    """Return the Snapshot of a graph's values; of the messages of `last` the first `sure` can't have changed."""
    texts, binary = texts_of(values.get(keys.FILES) or {})
    return Snapshot(
        thread=thread,
        files=texts,
        binary=binary,
        memory=dict(values.get(keys.TOLD) or values.get(keys.MEMORY) or {}),
        skills=_skills_of(values.get(keys.SKILLS), values.get(keys.SKILL_ERRORS)),
        messages=messages_after(last.messages if last else Messages(), values.get(keys.MESSAGES) or (), sure),
        offload=offload(values.get(keys.OFFLOAD)),
        next=next,
        checkpoint=checkpoint,
    )


def file_texts(files: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, int]]:
    """Return (path -> text, path -> bytes of what is not text) of a `files` channel; deepnb's own files are left out."""
    texts: dict[str, str] = {}
    binary: dict[str, int] = {}
    for path, data in files.items():
        if path.startswith(OWN):
            continue
        content = data["content"]
        if data.get("encoding", "utf-8") != "utf-8":
            binary[path] = len(base64.standard_b64decode(content))
        else:
            texts[path] = content if isinstance(content, str) else "\n".join(content)
    return texts, binary


def messages_after(last: Messages, state: Sequence[BaseMessage], sure: int = 0) -> Messages:
    """Return `state` as Messages that share with `last` what has not changed; the first `sure` have not."""
    kept = sure
    for old, new in zip(islice(last, sure, None), islice(state, sure, None), strict=False):
        if isinstance(new.content, str):  # every look compares all messages: of plain text nothing is called
            source, status = new.additional_kwargs.get("lc_source"), getattr(new, "status", None)
            now = (new.id or "", new.content, _ROLE.get(new.type, "user"), new.name, source, status == "error")
            was = (old.id, old.text, old.role, old.name, old.source, old.status == "error")
            asks = [(c["id"] or "", c["name"], c["args"]) for c in getattr(new, "tool_calls", ())]
            asked = [(c.id, c.name, c.args) for c in old.tool_calls]
            same = was == now and asked == asks and old.tool_call_id == getattr(new, "tool_call_id", None)
        else:
            same = old == to_message(new)
        if not same:
            break
        kept += 1
    if kept == len(last) == len(state):
        return last
    return last.replace_from(kept, [to_message(m) for m in state[kept:]])


def new_messages(chunk: Mapping[str, Any]) -> list[Message]:
    found: list[Message] = []
    for updates in chunk.values():
        for update in updates if isinstance(updates, list) else [updates]:
            messages = update.get(keys.MESSAGES) if isinstance(update, Mapping) else None
            listed = messages if isinstance(messages, list) else [messages]
            found += (to_message(m) for m in listed if isinstance(m, BaseMessage) and m.id and m.type in _ROLE)
    return found


def to_message(message: BaseMessage) -> Message:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return Message(
        id=message.id or "",
        role=_ROLE.get(message.type, "user"),
        text=shown_text(message),
        tool_calls=tuple(ToolCall(c["id"] or "", c["name"], dict(c["args"])) for c in calls),
        name=message.name,
        tool_call_id=getattr(message, "tool_call_id", None),
        status="error" if getattr(message, "status", None) == "error" else "ok",
        source=message.additional_kwargs.get("lc_source"),
        typed=typed_text(message) if message.type == "human" else None,
    )


def _skills(metadata: Sequence[Mapping[str, Any]] | None, errors: Sequence[str] | None) -> tuple[Skill, ...]:
    good = [Skill(s["name"], s["description"], s["path"]) for s in metadata or ()]
    return (*good, *[Skill("", "", "", problem=error) for error in errors or ()])


texts_of, _skills_of = Memo(file_texts), Memo(_skills)


def offload(event: Mapping[str, Any] | None) -> Offload | None:
    """Return the last compaction, as its summary message records it."""
    if not event:
        return None
    message = event["summary_message"]
    held = message.additional_kwargs
    before, after = held.get("tokens") or (0, 0)
    flush = held.get("flush")
    summary = message_text(message).partition((held.get("pinned") or ["\0"])[0])[0]
    start, end = summary.find("<summary>"), summary.rfind("</summary>")
    if 0 <= start < end:  # without the words that upstream puts around it
        summary = summary[start + len("<summary>") : end].strip()
    return Offload(
        path=event.get("file_path"),
        summary=summary,
        cutoff=event["cutoff_index"],
        at=held.get("summarized_at", ""),
        cause=held.get("cause", "trigger"),
        before=before,
        after=after,
        anchors=tuple(Anchor(*a) for a in held.get("anchors") or ()),
        hidden=tuple(Anchor(*a) for a in held.get("hidden") or ()),
        more=int(held.get("more") or 0),
        flush=Flush(flush["file"], tuple(flush["lines"]), flush["how"]) if flush else None,
        messages=int(held.get("messages") or 0),
    )


# -- skills in the shapes the engine keeps them in: the catalog of its state, and one put before a prompt


PINNED = "pinned_skill"
"""`lc_source` of a message that holds a skill's body."""


def metadata(skill: Skill) -> dict[str, Any]:
    """Return a skill as upstream's `skills_metadata` holds it, without unused fields: every turn decodes it."""
    fields = {"path": skill.path, "name": skill.name, "description": skill.description}
    return {**fields, "metadata": dict(skill.metadata)} if skill.metadata else fields


def pinned_message(skill: Skill, body: str, message_id: str) -> HumanMessage:
    """Return a skill's body as a message that is nobody's request, in the shape upstream pins one."""
    name, path = html.escape(skill.name), html.escape(skill.path)
    marker = {"name": skill.name, "path": skill.path, "description": skill.description}
    return HumanMessage(
        f'<skill name="{name}" path="{path}">\n{body}\n</skill>',
        id=message_id,
        additional_kwargs={"lc_source": PINNED, "skill": marker},
    )


def pinned_name(text: str) -> str:
    return html.unescape(text.removeprefix('<skill name="').partition('"')[0])


def is_pinned(source: str | None, text: str, path: str) -> bool:
    return source == PINNED and f'path="{html.escape(path)}">' in text.partition("\n")[0]
