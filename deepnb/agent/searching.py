"""Searching memory from outside a run: in what the current thread may know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deepnb.context.transcript import said
from deepnb.core.errors import DeepnbError
from deepnb.core.messages import MEMORY_UPDATE
from deepnb.memory.scoped import ScopedBackend
from deepnb.memory.searching import TRANSCRIPTS, texts_of

if TYPE_CHECKING:
    from deepnb.agent.session import Session
    from deepnb.search import Hit

PASSAGE = 800
"""Characters of one passage, so that some fit on a screen."""


def hits(session: Session, query: str, k: int, *, transcripts: bool, **how: Any) -> tuple[Hit, ...]:
    """The best `k` passages of memory and, where asked, of the transcripts."""
    if not query.strip():
        raise DeepnbError("there is nothing to look for", "%memory search QUERY")
    if k < 1:
        raise DeepnbError(f"k can't be {k}", "give a whole number above 0")
    backend = ScopedBackend(session.backend, lambda: session.scope)
    told = {f"{TRANSCRIPTS}{name}": _text(session, name) for name in session.readable_threads} if transcripts else {}
    how = {"passage": PASSAGE, **how}
    found = session.storage.search.search(
        texts_of(backend), query, k, session.now(), transcripts=told, may_read=backend.may_read, **how
    )
    return tuple(_spoken(hit) if hit.path in told else hit for hit in found)


def _spoken(hit: Hit) -> Hit:
    """A passage of a transcript without the lines between its messages."""
    return replace(hit, text="\n".join(line for line in hit.text.split("\n") if line))


def _text(session: Session, thread: str) -> str:
    """A transcript in which each message is a line, at the number it has in the file; memory's updates are none."""
    lines = session.transcripts.keep(thread).read()[0]
    spoken = (line.type == "message" and line.data.get("source") != MEMORY_UPDATE for line in lines)
    return "\n".join(" ".join(said(line).split()) if is_ else "" for line, is_ in zip(lines, spoken, strict=True))
