"""Today's note and the search of memory: through the tools `note` and `memory_search`."""

import re

from deepnb.models.teaching.conversation import Conversation, fact_text
from deepnb.models.teaching.memory import POLITE, bullet, looks_secret, refusal
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.words import coverage, first_match, short, words

_NOTE = (
    POLITE + r"(?:can|could|would|will) you (?:please )?(?:make a |take a )?note\b(?: down)?(?: that\b|[:,])?\s*(?P<x>.+)",
    POLITE + r"(?:make a |take a )?note\b(?: down)?(?: that\b|\s*:)\s*(?P<x>.+)",
    POLITE + r"(?:add|put|write)(?: this)?(?: down)? (?:in(?:to)?|to) (?:today's|the daily|your daily) notes?\b(?: that\b)?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:在今天的(?:日记|笔记)(?:里|中)?(?:写下|记下|写|记)|记到今天的(?:日记|笔记)里?|记下来?|记一下|记录一下)\s*[:：,，]?\s*(?P<x>.+)",
)  # fmt: skip
_SEARCH = (
    r"\b(?:search|look (?:through|in)|check|go through)\s+(?:your |my |our |the |all )?(?:long-term )?(?:memory|daily notes|notes)\s*(?:for|about|on)\b\s*[:,]?\s*(?P<x>.+)",
    r"\bwhat do (?:your|my|our|the) (?:daily |old(?:er)? )?notes say (?:about|on)\s+(?P<x>.+)",
    r"(?:搜索|查找|搜一下|查一下)(?:你的|我的|我们的)?(?:记忆|笔记|日记)(?:里|中)?(?:的|关于|有关)?\s*[:：,，]?\s*(?P<x>.+)",
    r"(?:在|从)(?:你的|我的|我们的)?(?:记忆|笔记|日记)(?:里|中)?(?:搜索|查找|搜一下|查一下|找一下|搜|查|找)\s*[:：,，]?\s*(?P<x>.+)",
    r"(?:笔记|日记)(?:里|中)(?:关于|对)(?P<x>.+?)(?:写了什么|说了什么|有什么|怎么说)",
)  # fmt: skip
_HIT = re.compile(r"(?P<path>\S.*?):(?P<line>\d+)(?:-\d+)? \([\w+]*, \d+\.\d\d\)(?: .*)?")
SHOWN = 3
"""Passages that are asked for, and lines quoted of them."""


def wants_note(c: Conversation) -> str | None:
    """The fact to put in today's note, where there is a tool for that."""
    found = first_match(c.request, *_NOTE) if "note" in c.tools else None
    fact = found["x"].strip().rstrip("。.!！?？ \n") if found else ""
    return fact or None


def note(c: Conversation, fact: str) -> Script:
    if looks_secret(fact):
        return refusal(c)
    text = fact_text(bullet(fact))
    step = yield Use("note", {"text": text})
    found = re.search(r"/memory/\S+?\.md", step.result)
    path = found[0] if found else "/memory"
    if "already" in step.result:
        return c.tell(f"That is already in today's note, {path}: {text}", f"今天的笔记 {path} 里已经有：{text}")
    return c.tell(f"I noted that in today's note, {path}: {text}", f"已记入今天的笔记 {path}：{text}")


def wants_search(c: Conversation) -> str | None:
    """What to look for in memory."""
    found = first_match(c.request, *_SEARCH)
    return found["x"].strip().rstrip("。.!！?？ \n").strip("\"'“”") or None if found else None


def search(c: Conversation, query: str) -> Script:
    """Ask the index, and answer with the line of each passage that fits best, and where it stands."""
    step = yield Use("memory_search", {"query": query, "k": SHOWN})
    lines = _lines(step.result, query)
    if not lines:
        return c.tell(
            f'I searched my memory for "{short(query, 60)}" and found nothing.',
            f"我搜索了记忆，没有找到“{short(query, 60)}”。",
        )
    quoted = "\n".join(f'- "{short(text, 160)}" ({place})' for place, text in lines[:SHOWN])
    return c.tell(f"`memory_search` found:\n{quoted}", f"`memory_search` 找到：\n{quoted}")


def _lines(result: str, query: str) -> list[tuple[str, str]]:
    """(path:line, text) of the best line of each passage; none of a result that holds no passage."""
    asked = words(query)
    out: list[tuple[str, str]] = []
    path, number, best = "", 0, -1.0
    for line in result.splitlines():
        if head := _HIT.fullmatch(line):
            path, number, best = head["path"], int(head["line"]) - 1, -1.0
            out.append((path, ""))
            continue
        number += 1
        score = coverage(asked, line)
        if path and line.strip() and not line.startswith("#") and score > best:
            out[-1], best = (f"{path}:{number}", fact_text(re.sub(r"\s*<!--.*?-->", "", line))), score
    return [(place, text) for place, text in out if text]
