"""Summaries by rule: what was asked, what was to be remembered, which files were touched; and the note before one."""

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from deepnb.core.messages import Message, ToolCall
from deepnb.core.tokenizer import count, tokens
from deepnb.models.teaching.conversation import (
    COUNT,
    IN_PROGRESS,
    Conversation,
    fact_text,
    is_summary,
    summarized_facts,
)
from deepnb.models.teaching.memory import bullet, looks_secret, says, wants_forget, wants_remember
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.words import chinese, first_match, short

LIMIT = 240
"""Tokens of a summary."""

_MESSAGE = re.compile(r"<message type=\"(\w+)\"[^>]*>(.*?)</message>", re.DOTALL)
_CALL = re.compile(r"<tool_call id=\"([^\"]*)\" name=\"([^\"]*)\">(.*?)</tool_call>", re.DOTALL)
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}
_PROHIBITION = (
    r"(?:^|[.!?,;:]\s{1,3}|\bplease )(?:don't|do not|never|avoid)\b|\b(?:must|may|should) (?:not|never)\b"
    r"|不要|禁止|不得|不能|(?<![特分区级类个性])别(?![的人处])"
)

FACTS = ("Asked to remember, and rules:", "要记住的和规则：")
ASKED = ("Last requests:", "最近的请求：")
WRITTEN = ("Files written: ", "写过的文件：")
READ = ("Files read: ", "读过的文件：")
_OWN = (
    r"\b(?:summari[sz]e|recap|sum up)\b.{0,25}\b(?:conversation|chat|thread|discussion|we\b|so far)|\bsummary of (?:our|the|this) (?:conversation|chat|thread)",
    r"(?:总结|概括|回顾).{0,8}(?:对话|聊天|谈话|会话)",
)
_OPENING, _CLOSING = "\n<leaving>\n", "\n</leaving>"
_DECIDED = (
    r"\b(?:we|I) (?:have )?(?:decided|agreed|chose|settled)\b|\bthe (?:decision|deadline|plan|goal|reason) (?:is|was)\b|\bdue (?:on|by)\b"
    r"|决定|约定|截止|计划是|目标是|原因是"
)


@dataclass(frozen=True)
class Digest:
    """What a conversation comes down to. Summing up a summary and what came after loses no count."""

    requests: tuple[str, ...] = ()
    count: int = 0
    facts: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    pending: str = ""
    """The request that was not yet answered."""


def wants_compaction(c: Conversation) -> str | None:
    """The messages of a summarization prompt, as LangChain, deepagents or deepnb words it."""
    text = c.request
    start, end = text.rfind("\n<messages>"), text.rfind("</messages>")
    asks = first_match(text[: max(start, 0)], r"\bextract|\bsummar|\bcompact|\bcondens|摘要|总结")
    return text[start + len("\n<messages>") : end] if 0 <= start < end and asks else None


def compact(_: Conversation, text: str) -> str:
    return summary(digest(messages_of(text)))


def wants_recap(c: Conversation) -> bool | None:
    return True if first_match(c.request, *_OWN) else None


def recap(c: Conversation, _: bool) -> str:
    if not c.earlier:
        return c.tell(
            "There is nothing before this in the conversation I was sent.", "我收到的对话里，在这之前什么都没有。"
        )
    return c.tell("By rule, not by understanding:\n", "按规则而不是按理解：\n") + summary(digest(c.earlier), c.chinese)


def digest(messages: Sequence[Message]) -> Digest:
    """The digest of messages; an earlier summary among them is taken up."""
    d = Digest()
    for message in messages:
        if message.role == "user" and is_summary(message.text):
            d = _with_summary(d, message.text)
        elif message.role == "user" and not message.source:
            d = _with_request(d, message.text)
        elif message.role == "assistant":
            d = _with_calls(d, message)
    return d


def summary(d: Digest, in_chinese: bool | None = None) -> str:
    """The digest as text of at most LIMIT tokens: what is shortened first are the oldest requests."""
    zh = chinese(d.requests[-1] if d.requests else "") if in_chinese is None else in_chinese
    facts, width = d.facts[-8:], 90
    asked, text = d.requests[-12:], ""
    while True:
        text = _text(replace(d, requests=asked, facts=facts), zh, width)
        if count(text) <= LIMIT:
            return text
        if len(asked) > 3:
            asked = asked[1:]
        elif len(facts) > 4:
            facts = facts[1:]
        elif width > 20:
            width -= 10
        else:
            return "".join(tokens(text)[: LIMIT - 1]) + "…"


def _text(d: Digest, zh: bool, width: int) -> str:
    lines = [f"{COUNT[zh]}{d.count}"]
    if d.pending:
        lines.append(IN_PROGRESS + short(d.pending, 2 * width))
    if d.facts:
        lines += [FACTS[zh], *(f"- {short(f, 2 * width)}" for f in d.facts)]
    if d.requests:
        lines += [ASKED[zh], *(f"* {short(r, width)}" for r in d.requests)]
    for label, paths in ((WRITTEN, d.written), (READ, d.read)):
        if paths:
            lines.append(label[zh] + ", ".join(short(p, 60) for p in paths[-5:]))
    return "\n".join(lines)


def _with_request(d: Digest, text: str) -> Digest:
    text = "(a credential, left out)" if looks_secret(text) else " ".join(text.split())
    fact = wants_remember(Conversation(text)) or (text if first_match(text, _PROHIBITION) else None)
    facts = _added(d.facts, [" ".join(fact.split())]) if fact else d.facts
    if gone := wants_forget(Conversation(text)):
        facts = tuple(f for f in facts if not says(f, gone))
    return replace(d, requests=(*d.requests, text)[-12:], count=d.count + 1, facts=facts, pending=text)


def _with_calls(d: Digest, message: Message) -> Digest:
    """The files its calls touched; a message without calls answers the request."""
    written = [str(c.args.get("file_path")) for c in message.tool_calls if c.name in ("write_file", "edit_file")]
    read = [str(c.args.get("file_path")) for c in message.tool_calls if c.name == "read_file"]
    d = replace(d, written=_added(d.written, written), read=_added(d.read, read))
    return d if message.tool_calls else replace(d, pending="")


def _with_summary(d: Digest, text: str) -> Digest:
    """An earlier summary, read back out of its lines."""
    lines = text.splitlines()
    number = re.search(rf"(?:{'|'.join(COUNT)})(\d+)", text)
    return Digest(
        requests=tuple(line[2:] for line in lines if line.startswith("* "))[-12:],
        count=d.count + (int(number.group(1)) if number else 0),
        facts=_added(d.facts, summarized_facts(text)),
        written=_added(d.written, _listed(lines, WRITTEN)),
        read=_added(d.read, _listed(lines, READ)),
        pending=next((line.removeprefix(IN_PROGRESS) for line in lines if line.startswith(IN_PROGRESS)), ""),
    )


def _listed(lines: Iterable[str], labels: tuple[str, str]) -> list[str]:
    return [
        p for line in lines for label in labels if line.startswith(label) for p in line.removeprefix(label).split(", ")
    ]


def _added(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *new]))


def messages_of(text: str) -> list[Message]:
    """The messages of `get_buffer_string(..., format="xml")`; the lines of any other form as requests."""
    found = _MESSAGE.findall(text)
    if not found:
        lines = re.findall(r"^(?:Human|User|user|human): (.+)$", text, re.M)
        return [Message("", "user", line) for line in lines]
    return [_message(_ROLES.get(kind, "tool"), body) for kind, body in found]


def _message(role: str, body: str) -> Message:
    calls = tuple(ToolCall(i, name, _args(html.unescape(args))) for i, name, args in _CALL.findall(body))
    return Message("", role, html.unescape(_CALL.sub("", body)).strip(), calls)  # type: ignore[arg-type]


def _args(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def wants_flush(c: Conversation) -> str | None:
    """The messages that leave, where the prompt says that some do and the note can be written."""
    start, end = c.request.find(_OPENING), c.request.rfind(_CLOSING)
    return c.request[start + len(_OPENING) : end] if "note" in c.tools and 0 <= start < end else None


def put_down(c: Conversation, text: str) -> Script:
    """One call with a fact a line; `NO_REPLY` where all is written down already, or nothing lasts."""
    messages = messages_of(text)
    written = " ".join(str(a) for m in messages for call in m.tool_calls for a in call.args.values())
    decided = [
        " ".join(m.text.split())
        for m in messages
        if m.role == "user" and not m.source and first_match(m.text, _DECIDED)
    ]
    facts = dict.fromkeys(bullet(fact) for fact in (*digest(messages).facts, *decided) if not looks_secret(fact))
    new = [line for line in facts if fact_text(line) not in written]
    if new:
        yield Use("note", {"text": "\n".join(new)})
    return "NO_REPLY"
