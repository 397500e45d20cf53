"""Tokens of a fresh session's first request in a notebook, by o200k_base: all tools in full, in short, and lean."""

from collections.abc import Iterator

import deepnb
from deepnb.context.counting import load
from deepnb.testing import ScriptedModel
from tests.bench.row import Row, below
from tests.support.shells import Shell

QUICK = True
MOST = {"full": (200_000, 2_800), "short": (30_000, 2_300), "lean": (8_000, 1_000)}
"""Profile -> (the window that it is the default of, the most tokens)."""


def rows() -> Iterator[Row]:
    for name, (window, most) in MOST.items():
        pieces = first_request(window)
        total = sum(tokens for _, tokens in pieces)
        yield below(f"tokens of the first request, {name} (window {window:,})", total, most, "", most)
        for label, tokens in pieces:
            yield Row(f"  {label}", tokens, "", total, tokens / total, detail=True)


def first_request(window: int) -> list[tuple[str, int]]:
    shell, count = Shell(), load("o200k_base").encode_ordinary
    shell.ok("%load_ext deepnb")
    session = deepnb.current()
    session.configure(model=ScriptedModel(answers=["ok"]), max_input_tokens=window)
    session.run("hello")
    pieces = [(piece.label, len(count(piece.text))) for piece in session.xray().request]
    shell.close()
    return pieces
