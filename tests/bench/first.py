"""Tokens of a fresh session's first request in a notebook, with all tools, at a window of 8,000 tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import deepnb
from deepnb.core.request import Sent
from tests.bench.row import Row, below
from tests.support.shells import Shell

QUICK = True
WINDOW = 8_000
BEFORE = 4_381
"""The same request at 7844702, when tools were described in full whatever the window."""
MOST, HALF = 0.60, 0.50


def rows() -> Iterator[Row]:
    """Counted as it is sent, by the teaching model's tokenizer."""
    shell = Shell()
    shell.ok("%load_ext deepnb")
    short, full = (first_request(deepnb.current(), text) for text in (None, "full"))
    shell.close()
    yield below("tokens of the first request", _sum(short), BEFORE, "", MOST * BEFORE)
    yield Row("  with full descriptions", _sum(full), "", BEFORE, _sum(full) / BEFORE, detail=True)
    mine, theirs = ({piece.label: piece for piece in sent if piece.part == "tools"} for sent in (short, full))
    yield below(
        "tokens of the tools in it", _sum(mine.values()), _sum(theirs.values()), "", HALF * _sum(theirs.values())
    )
    for name, piece in mine.items():
        yield Row(f"  {name}", piece.tokens, "", theirs[name].tokens, piece.tokens / theirs[name].tokens, detail=True)


def first_request(session: deepnb.Session, tool_text: Any) -> tuple[Sent, ...]:
    """What is sent first in a new thread."""
    session.configure(max_input_tokens=WINDOW, tool_text=tool_text)
    session.new()
    session.run("hello")
    return tuple(session.xray().request)


def _sum(pieces: Any) -> int:
    return sum(piece.tokens for piece in pieces)
