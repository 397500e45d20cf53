"""A script of twenty steps on the graph of `server_app`, and what it leaves: the same here and on a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import deepnb
from deepnb.values.turn import ModelEnded, Notice, Snapshot, ToolEnded, ToolStarted, Turn

STEPS = 20


def play(s: deepnb.Session) -> Iterator[dict[str, Any]]:
    def run(prompt: str) -> None:
        try:
            s.run(prompt)
        except deepnb.DeepnbError as error:
            assert "the model is down" in str(error)

    def decide(word: Any) -> None:
        list(s.resume(word))

    steps: list[Any] = [
        lambda: run("say hi"),
        lambda: run("look b"),
        lambda: run("write /a.md alpha"),
        lambda: s.memory.add("Be brief."),
        lambda: run("say more"),
        lambda: s.backend.edit("/a.md", "alpha", "gamma"),
        lambda: run("look c"),
        lambda: run("task look inner"),
        lambda: run("pay 3"),
        lambda: decide(s.asked[0].approve()),
        lambda: run("pay 4"),
        lambda: decide(s.asked[0].reject("too much")),
        lambda: run("fail"),
        lambda: run("learn - Be brief.>- Be kind."),
        lambda: s.fork("side", at=2),
        lambda: run("say aside"),
        lambda: s.switch("main"),
        lambda: s.rewind(4),
        lambda: s.undo(),
        lambda: run("nap 2"),
    ]
    assert len(steps) == STEPS
    for step in steps:
        step()
        yield left(s)


def left(s: deepnb.Session) -> dict[str, Any]:
    """All that can be seen of a session, less times and made up ids."""
    return {
        "thread": s.thread,
        "turns": [turn(t) for t in s.turns],
        "state": state(s.snapshot),
        "pending": s.pending,
        "asked": [(call.name, call.args) for call in s.asked],
    }


def turn(t: Turn) -> dict[str, Any]:
    return {
        "number": t.number,
        "prompt": t.prompt,
        "text": t.text,
        "failed": t.error is not None,
        "interrupted": t.interrupted,
        "notices": [e.text for e in t.events if isinstance(e, Notice)],
        "models": sum(isinstance(e, ModelEnded) for e in t.events),
        "spent": t.usage.input - t.budget.parts["tools"] if t.budget and t.number == 1 else None,
        "calls": [(e.id, e.name, e.args, bool(e.path)) for e in t.events if isinstance(e, ToolStarted)],
        "results": [(e.id, e.result, e.status, bool(e.path)) for e in t.events if isinstance(e, ToolEnded)],
        "before": state(t.before),
        "after": state(t.after),
    }


def state(s: Snapshot) -> dict[str, Any]:
    messages = [(m.role, m.text, [(c.name, c.args) for c in m.tool_calls], m.status) for m in s.messages]
    return {"files": dict(s.files), "memory": dict(s.memory), "messages": messages, "next": s.next}
