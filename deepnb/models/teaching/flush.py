"""Before a compaction: put down in the daily note what was said that should outlast it."""

from __future__ import annotations

from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.facts import bullet, looks_secret
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.prompt import fact_text
from deepnb.models.teaching.summary import digest, messages_of
from deepnb.models.teaching.words import first_match

_OPENING, _CLOSING = "\n<leaving>\n", "\n</leaving>"
_DECIDED = (
    r"\b(?:we|I) (?:have )?(?:decided|agreed|chose|settled)\b|\bthe (?:decision|deadline|plan|goal|reason) (?:is|was)\b|\bdue (?:on|by)\b"
    r"|决定|约定|截止|计划是|目标是|原因是"
)


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
