"""Threads whose compacted messages and long texts were taken out of their state: nobody sees a difference."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage

from deepnb import Session
from deepnb.engine import checkpoints, keys, state_backend
from deepnb.memory.guarding import GuardMiddleware
from deepnb.values.turn import Compacted
from tests.support.scripted import Scripted, walked

WORDS = "The gauge at the mill reads fourteen. " * 20
_OWN = re.compile(r"20\d\d-\d\d-\S+|<!--.*-->")
"""Times, and marks of messages, in a history file."""


class Talker(Scripted):
    """Says as much as it is told, and nothing of what it is asked to keep."""

    answers: list[Any] = []  # noqa: RUF012
    profile: ModelProfile | None = ModelProfile(max_input_tokens=6_000)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        return AIMessage("NO_REPLY" if "<leaving>" in messages[-1].text else f"{len(messages)} so far. {WORDS}")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "FAR", 10)
    monkeypatch.setattr(state_backend, "LONG", 3_000)


def _stored(session: Session) -> dict[str, Any]:
    values: dict[str, Any] = session.graph.get_state(session.config).values
    return values


def _seen(session: Session) -> dict[str, Any]:
    guard = next(one for one in session.workspace.built.stack if isinstance(one, GuardMiddleware))
    events = [event for turn in session.turns for event in turn.events]
    compactions = [replace(event.offload, at="") for event in events if isinstance(event, Compacted)]
    last = session.snapshot.offload
    told = [line for line in session.workspace.transcripts.keep(session.thread).read()[0] if line.type == "message"]
    return {
        "messages": [(m.role, m.text) for m in session.snapshot.messages],
        "turns": [(t.prompt, t.text, len(t.before.messages), len(t.after.messages)) for t in session.turns],
        "files": {path: _OWN.sub("", text) for path, text in session.files.items()},
        "history": [(one.messages, one.text) for one in session.history()],
        "compactions": compactions,
        "last": last and replace(last, at=""),
        "budget": session.budget(),
        "heard": guard.heard(_stored(session)),
        "transcript": list(dict.fromkeys((line.data["role"], line.data["text"]) for line in told)),
    }


def _say(sessions: list[Session], *prompts: str) -> None:
    for session in sessions:
        for prompt in prompts:
            session.run(f"{prompt}: {WORDS}")


@pytest.mark.slow
def test_all_that_is_seen_of_a_kept_thread_is_what_is_seen_of_one_in_memory(tmp_path: Path) -> None:
    kept, held = Session(Talker(), persist=tmp_path / "k.db"), Session(Talker())

    def same(where: str) -> None:
        ours, theirs = _seen(kept), _seen(held)
        assert {k: v for k, v in ours.items() if v != theirs[k]} == {}, where

    _say([kept, held], *(f"question {n}" for n in range(24)))
    assert sum(turn.compacted for turn in kept.turns) >= 2
    stored = _stored(kept)
    assert len(stored[keys.MESSAGES]) < len(kept.snapshot.messages) / 2
    assert any(keys.TAKEN in data for data in stored[keys.FILES].values())
    same("after 24 turns")
    kept.close()
    kept = Session(Talker(), persist=tmp_path / "k.db")
    same("opened again")
    _say([kept, held], "one more", "and one")
    same("gone on with")
    for session in (kept, held):
        session.compact(lambda event: None)
    same("compacted by hand")
    for session in (kept, held):
        session.fork("end")
    same("forked at the end")
    _say([kept, held], *(f"in the fork {n}" for n in range(8)))
    same("gone on with in the fork")
    for session in (kept, held):
        walked(session, "switch main", "rewind 9")
    same("rewound to between two compactions")
    _say([kept, held], *(f"another {n}" for n in range(8)))
    same("gone on with from there")
    for session in (kept, held):
        session.undo()
    same("and back")
    for session in (kept, held):
        session.fork("early", at=2)
    same("forked from before the first compaction")
