"""What was said before: summaries by rule, and recall out of what the prompt says or the search of all notes."""

import html
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from deepnb.gate import redact
from deepnb.gate.own_words import forbids
from deepnb.models.teaching import conversation
from deepnb.models.teaching.code import ask
from deepnb.models.teaching.conversation import Conversation, coverage, fact_text, first_match, short, words
from deepnb.models.teaching.memory import FORGET, SHOWN, bullet, is_meant, wants_remember
from deepnb.models.teaching.tables import listed_tables, mentioned
from deepnb.models.teaching.talk import QUESTION, Script, Use, asks, says
from deepnb.values.messages import BROUGHT_BACK, SUMMARY, Message, Role, ToolCall
from deepnb.values.offload import CLOSE, OPEN
from deepnb.values.tokenizer import count, tokens

LIMIT = 240  # tokens of a summary
SIZES = ((12, 8, 90), (6, 8, 90), (3, 8, 90), (3, 4, 90), (3, 4, 50), (3, 4, 20))
"""How many requests and facts a summary has, each of how many characters: the first that fits."""
SAID_OF_THEMSELVES = r"^\s*(?:I|I'm|my|we|our)\b[^?]*$|^\s*我[^？?吗]*$"  # my name is Ida
_DECIDED = (
    r"\b(?:we|I) (?:have )?(?:decided|agreed|chose|settled)\b|\bthe (?:decision|deadline|plan|goal|reason) (?:is|was)\b"  # We decided to
    r"|\bdue (?:on|by)\b|决定|约定|截止|计划是|目标是|原因是"  # due by Friday
)
_MESSAGE = re.compile(r"<message type=\"(\w+)\"[^>]*>(.*?)</message>", re.DOTALL)
_CALL = re.compile(r"<tool_call id=\"([^\"]*)\" name=\"([^\"]*)\">(.*?)</tool_call>", re.DOTALL)
_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant"}
_WRITTEN, _READ = "Files written: ", "Files read: "


@dataclass(frozen=True)
class Digest:
    """What a conversation comes down to. Summing up a summary and what came after loses no count."""

    count: int = 0
    pending: str = ""  # the request that was not yet answered
    facts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


def wants_compaction(c: Conversation) -> list[Message] | None:
    """Return the messages of a summarization prompt, as LangChain, deepagents or deepnb words it."""
    text = c.request
    start, end = text.rfind("\n<messages>"), text.rfind("</messages>")
    if not 0 <= start < end or not first_match(text[:start], r"\bextract|\bsummar|\bcompact|\bcondens|摘要|总结"):
        return None
    return messages_of(text[start:end]) or [m for m in c.earlier if (m.source or "") in ("", SUMMARY)]


def digest(messages: Sequence[Message], also: str = "") -> Digest:
    """Return the digest of messages; an earlier summary is taken up. Facts are what is to be remembered, rules, and what `also` finds."""
    d = Digest()
    for message in messages:
        if message.role == "user" and (number := re.search(rf"{conversation.COUNT}(\d+)", message.text)):
            lines = message.text.splitlines()
            d = Digest(
                d.count + int(number[1]),
                "".join(_after(lines, conversation.IN_PROGRESS)),
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
    """Return the digest as text of at most LIMIT tokens: what is shortened first are the oldest requests."""
    text = ""
    for asked, facts, width in SIZES:
        lines = [f"{conversation.COUNT}{d.count}"]
        lines += [conversation.IN_PROGRESS + short(d.pending, 2 * width)] if d.pending else []
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
    return [line.removeprefix(label) for line in lines if line.startswith(label)]


def _added(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *filter(None, new)]))


def messages_of(text: str) -> list[Message]:
    """Return the messages of `get_buffer_string(..., format="xml")`."""
    found = []
    for kind, body in _MESSAGE.findall(text):
        calls = []
        for call, name, written in _CALL.findall(body):
            args: Any = {}
            with suppress(ValueError):
                args = json.loads(html.unescape(written))
            calls.append(ToolCall(call, name, args if isinstance(args, dict) else {}))
        said = html.unescape(_CALL.sub("", body)).strip()
        found.append(Message("", _ROLES.get(kind, "tool"), said, tuple(calls)))
    return found


def wants_flush(c: Conversation) -> list[Message] | None:
    """Return the messages that leave, where the prompt says that some do."""
    start, end = c.request.find("\n<leaving>\n"), c.request.rfind("\n</leaving>")
    if not 0 <= start < end:
        return None
    return messages_of(c.request[start:end]) or [m for m in c.earlier if not m.source]


def put_down(_: Conversation, messages: Sequence[Message]) -> str:
    """A fact a line; `NO_REPLY` where all is written down already, or is just being done, or nothing lasts."""
    written = " ".join(str(a) for m in messages for call in m.tool_calls for a in call.args.values())
    found = digest(messages, _DECIDED)
    facts = dict.fromkeys(bullet(fact) for fact in found.facts if fact != wants_remember(Conversation(found.pending)))
    return "\n".join(line for line in facts if fact_text(line) not in written) or "NO_REPLY"


# -- Recall: out of what the prompt says, memory, messages brought back and key facts, or by the search of all notes

SEARCH = (
    r"\b(?:search|look (?:through|in)|check|go through)\s+(?:your |my |our |the |all )?(?:long-term )?(?:memory|daily notes|notes)\s*(?:for|about|on)\b\s*[:,]?\s*(?P<x>.+)",
    r"\bwhat do (?:your|my|our|the) (?:daily |old(?:er)? )?notes say (?:about|on)\s+(?P<x>.+)",
    r"(?:搜索|查找|搜一下|查一下)(?:你的|我的|我们的)?(?:记忆|笔记|日记)(?:里|中)?(?:的|关于|有关)?\s*[:：,，]?\s*(?P<x>.+)",
    r"(?:在|从)(?:你的|我的|我们的)?(?:记忆|笔记|日记)(?:里|中)?(?:搜索|查找|搜一下|查一下|找一下|搜|查|找)\s*[:：,，]?\s*(?P<x>.+)",
    r"(?:笔记|日记)(?:里|中)(?:关于|对)(?P<x>.+?)(?:写了什么|说了什么|有什么|怎么说)",
)
RECALL = (
    r"\b(?:what|which|anything|everything|all|how much)\b.{0,40}\b(?:you|we)\b.{0,12}\b(?:know|remember|recall|remembered|noted)\b",
    r"\bdo you (?:still )?(?:remember|recall|know (?:what|which|who|how|my|about me))\b",
    r"\b(?:what|which|who|how|tell me)\b.{0,30}\bmy (?:preferences?|name|favou?rites?|habits?|settings?)\b",
    r"\b(?:what(?:'s| is)|show(?: me)?)\b.{0,15}\byour memory\b|\bwhat did i (?:tell|say|ask)\b",
    r"你(?:还)?(?:记得|记住了?|知道).{0,12}(?:什么|哪些|吗|我)|我的(?:偏好|喜好|习惯|名字|设置)|我喜欢.{0,12}(?:什么|吗|哪|还是)|我叫什么|我是谁",
)
OF_THE_USER = (
    r"\b(?:do|did|am|have) i\b.{0,200}\?",
    r"\b(?:what|which|where|when|who)(?:'s\b|\b.{0,40}\b(?:do|did|am|is|are|was|were)\b).{0,20}\b(?:i|my)\b",
    r"我.{0,20}(?:什么|哪|吗|呢|谁|多少|还是)",
)
_GENERIC = words(
    "preferences memory remembered told favourite favorite settings habits conversation recall 偏好 喜好 记忆 知道 喜欢"
)
_EARLIER = re.compile(r"<earlier>\n(.*)\n</earlier>", re.DOTALL)
_HIT = re.compile(r"(?P<path>\S.*?):(?P<line>\d+)(?:-\d+)? \([\w+]*, \d+\.\d\d\)(?: .*)?")
_MOST_OF_IT = 0.5  # which share of the words asked for a line of memory has that answers them
MOST = 3  # passages that are asked for, and lines quoted of them, of history and of key facts


def search(c: Conversation, query: str) -> Script:
    """Ask the index, and answer with the line of each passage that fits best, and where it is."""
    step = yield Use("memory_search", {"query": query, "k": MOST})
    asked = words(query)
    found: dict[str, tuple[float, str]] = {}
    path, number, head = "", 0, ""
    for line in step.result.splitlines():
        if hit := _HIT.fullmatch(line):
            head, path, number = line, hit["path"], int(hit["line"]) - 1
            continue
        number += 1
        plain = fact_text(re.sub(r"\s*<!--.*?-->", "", line))
        best = (coverage(asked, line), f'- "{short(plain, 160)}" ({path}:{number})')
        if path and line.strip() and not line.startswith("#") and best[0] > found.get(head, (-1.0,))[0]:
            found[head] = best
    quoted = "\n".join(shown for _, shown in list(found.values())[:MOST])
    return says(c, "found" if quoted else "not found", k=quoted or short(query, 60))


def wants_matching(c: Conversation) -> str | None:
    """Any question that shares words with a line of memory, or with what is left of earlier messages."""
    asked = words(c.request) - _GENERIC
    question = first_match(c.request, *QUESTION)
    return c.request if question and (_known(c, asked) or _quoted(c, asked)[1]) else None


def recall_matching(c: Conversation, request: str) -> Script:
    """Recall it, unless only key facts beside a summary speak of it, and it is about a table."""
    asked = words(request) - _GENERIC
    known = _known(c, asked) or _quoted(c, asked)[0] == "from history"
    if not known and "list_variables" in c.tools and re.search(r"\b(?:in|of|from) (?:the )?\w|里|中", request):
        step = yield Use("list_variables", {})
        if mentioned(request, listed_tables(step.result)):
            return (yield from ask(c, request))
    return recall(c, request)


def recall(c: Conversation, request: str) -> str:
    """Answer out of the memory in the prompt and the conversation that is sent, and nothing else."""
    asked = words(request) - _GENERIC
    best = _known(c, asked)
    sure = not asked or best >= _MOST_OF_IT
    facts = {fact: f'- "{fact}" ({m.path})' for m in c.memory for fact in m.facts}
    key, beside = _quoted(c, asked)
    near = [shown for fact, shown in facts.items() if coverage(asked, fact) >= best / 2 and (best or not beside)]
    more = [says(c, "more lines", n=len(near) - SHOWN)] if len(near) > SHOWN else []
    own = digest(c.earlier, SAID_OF_THEMSELVES).facts
    said = [s for s in own if fact_text(bullet(s)) not in facts and (not asked or coverage(asked, s))]
    parts = (
        (key, beside),
        ("from memory" if sure else "not exactly", near[:SHOWN] + more),
        ("you said", [f'- "{short(s, 120)}"' for s in said[-5:] if not any(s in line for line in beside)]),
    )
    return "\n".join(line for lead, lines in parts if lines for line in (says(c, lead), *lines)) or says(c, "no memory")


def _known(c: Conversation, asked: frozenset[str]) -> float:
    return max((coverage(asked, fact) for m in c.memory for fact in m.facts), default=0.0)


def _quoted(c: Conversation, asked: frozenset[str]) -> tuple[str, list[str]]:
    """Return the lines of messages brought back that have most of what is asked; else those of the key facts beside a summary."""
    back: list[tuple[str, str]] = []  # (line, who said it); no questions
    facts: list[tuple[str, str]] = []
    for message in c.earlier:
        found, who = _EARLIER.search(message.text) if message.source == BROUGHT_BACK else None, ""
        for line in found[1].splitlines() if found else ():
            if line.startswith("### "):
                who = f" ({line[4:]})"
            elif line.strip() and not line.rstrip().endswith(("?", "？")):
                back.append((line.strip(), who))
        beside = message.text.partition(OPEN)[2].partition(CLOSE)[0] if message.source == SUMMARY else ""
        for label, _, said in (line.partition(": ") for line in beside.splitlines()):
            if label not in ("Identifiers", "Names"):  # a word alone answers nothing
                facts += [(f"{label}: {fact}", "") for fact in said.split(" | ") if said]
    for key, lines in (("from history", back), ("from anchors", facts)):
        scored = [(coverage(asked, line), line, who) for line, who in lines]
        if best := max((score for score, _, _ in scored), default=0.0):
            shown = []
            for line, who in ((line, who) for score, line, who in scored if score == best):
                sentences = re.split(r"(?<=[.!?。！？])\s*", line) if len(line) > 200 else [line]
                fitting = max(sentences, key=partial(coverage, asked))
                shown.append(f'- "{short(redact(fitting), 300)}"{who}')
            return key, list(dict.fromkeys(shown))[:MOST]
    return "", []
