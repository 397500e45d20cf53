"""Summaries by rule: what was asked, what was to be remembered, which files were touched; and the note before one."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deepnb.gate import redact
from deepnb.gate.own_words import forbids
from deepnb.models.teaching.conversation import COUNT, IN_PROGRESS, Conversation, fact_text
from deepnb.models.teaching.memory import FORGET, bullet, is_meant, wants_remember
from deepnb.models.teaching.moves import Script, Use, asks
from deepnb.models.teaching.words import first_match, short
from deepnb.values.messages import Message, Role, ToolCall
from deepnb.values.tokenizer import count, tokens

LIMIT = 240
"""Tokens of a summary."""
SIZES = ((12, 8, 90), (6, 8, 90), (3, 8, 90), (3, 4, 90), (3, 4, 50), (3, 4, 20))
"""How many requests and facts a summary has, each of how many characters: the first that fits."""
SAID_OF_THEMSELVES = r"^\s*(?:I|I'm|my|we|our)\b[^?]*$|^\s*我[^？?吗]*$"  # my name is Ida
_DECIDED = (
    r"\b(?:we|I) (?:have )?(?:decided|agreed|chose|settled)\b|\bthe (?:decision|deadline|plan|goal|reason) (?:is|was)\b"
    r"|\bdue (?:on|by)\b|决定|约定|截止|计划是|目标是|原因是"
)
_MESSAGE = re.compile(r"<message type=\"(\w+)\"[^>]*>(.*?)</message>", re.DOTALL)
_CALL = re.compile(r"<tool_call id=\"([^\"]*)\" name=\"([^\"]*)\">(.*?)</tool_call>", re.DOTALL)
_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant"}
_WRITTEN, _READ = "Files written: ", "Files read: "


@dataclass(frozen=True)
class Digest:
    """What a conversation comes down to. Summing up a summary and what came after loses no count."""

    count: int = 0
    pending: str = ""
    """The request that was not yet answered."""
    facts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


def wants_compaction(c: Conversation) -> list[Message] | None:
    """The messages of a summarization prompt, as LangChain, deepagents or deepnb words it."""
    text = c.request
    start, end = text.rfind("\n<messages>"), text.rfind("</messages>")
    asks_for_it = first_match(text[: max(start, 0)], r"\bextract|\bsummar|\bcompact|\bcondens|摘要|总结")
    return messages_of(text[start:end]) if 0 <= start < end and asks_for_it else None


def digest(messages: Sequence[Message], also: str = "") -> Digest:
    """The digest of messages; an earlier summary is taken up. Facts are what is to be remembered, rules, and what `also` finds."""
    d = Digest()
    for message in messages:
        if message.role == "user" and (number := re.search(rf"{COUNT}(\d+)", message.text)):
            lines = message.text.splitlines()
            d = Digest(
                d.count + int(number[1]),
                "".join(_after(lines, IN_PROGRESS)),
                _added(d.facts, _after(lines, "- ")),
                tuple(_after(lines, "* ")),
                _added(d.written, ", ".join(_after(lines, _WRITTEN)).split(", ")),
                _added(d.read, ", ".join(_after(lines, _READ)).split(", ")),
            )
        elif message.role == "user" and not message.source:
            text = " ".join(redact(message.text).split())
            lasts = forbids(text) or (also and first_match(text, also))
            fact = wants_remember(Conversation(text)) or (text if lasts else "")
            facts = _added(d.facts, [fact] if "[redacted" not in fact else [])
            if gone := asks(*FORGET)(Conversation(text)):
                facts = tuple(fact for fact in facts if not is_meant(fact, gone))
            d = replace(d, count=d.count + 1, pending=text, facts=facts, requests=(*d.requests, text))
        elif message.role == "assistant":
            paths = [(call.name, str(call.args.get("file_path"))) for call in message.tool_calls]
            written = _added(d.written, (path for name, path in paths if name in ("write_file", "edit_file")))
            read = _added(d.read, (path for name, path in paths if name == "read_file"))
            d = replace(d, written=written, read=read, pending=d.pending if paths else "")
    return d


def summary(d: Digest) -> str:
    """The digest as text of at most LIMIT tokens: what is shortened first are the oldest requests."""
    text = ""
    for asked, facts, width in SIZES:
        lines = [f"{COUNT}{d.count}"]
        lines += [IN_PROGRESS + short(d.pending, 2 * width)] if d.pending else []
        lines += ["Asked to remember, and rules:"] if d.facts else []
        lines += [f"- {short(fact, 2 * width)}" for fact in d.facts[-facts:]]
        lines += ["Last requests:"] if d.requests else []
        lines += [f"* {short(request, width)}" for request in d.requests[-asked:]]
        for label, paths in ((_WRITTEN, d.written), (_READ, d.read)):
            lines += [label + ", ".join(short(path, 60) for path in paths[-5:])] if paths else []
        text = "\n".join(lines)
        if count(text) <= LIMIT:
            return text
    return "".join(tokens(text)[: LIMIT - 1]) + "…"


def _after(lines: Sequence[str], label: str) -> list[str]:
    """What follows a label on the lines that begin with it."""
    return [line.removeprefix(label) for line in lines if line.startswith(label)]


def _added(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *filter(None, new)]))


def messages_of(text: str) -> list[Message]:
    """The messages of `get_buffer_string(..., format="xml")`."""
    return [
        Message("", _ROLES.get(kind, "tool"), html.unescape(_CALL.sub("", body)).strip(), tuple(_calls(body)))
        for kind, body in _MESSAGE.findall(text)
    ]


def _calls(body: str) -> Iterator[ToolCall]:
    for call, name, text in _CALL.findall(body):
        try:
            args = json.loads(html.unescape(text))
        except ValueError:
            args = {}
        yield ToolCall(call, name, args if isinstance(args, dict) else {})


def wants_flush(c: Conversation) -> list[Message] | None:
    """The messages that leave, where the prompt says that some do and the note can be written."""
    start, end = c.request.find("\n<leaving>\n"), c.request.rfind("\n</leaving>")
    return messages_of(c.request[start:end]) if "note" in c.tools and 0 <= start < end else None


def put_down(_: Conversation, messages: Sequence[Message]) -> Script:
    """One call with a fact a line; `NO_REPLY` where all is written down already, or nothing lasts."""
    written = " ".join(str(a) for m in messages for call in m.tool_calls for a in call.args.values())
    facts = dict.fromkeys(bullet(fact) for fact in digest(messages, _DECIDED).facts)
    new = [line for line in facts if fact_text(line) not in written]
    if new:
        yield Use("note", {"text": "\n".join(new)})
    return "NO_REPLY"
