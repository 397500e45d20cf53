"""The tapes that come with the notebooks; and a session recorded and then replayed, and what of two runs has to be the same.

Two are one script, over OpenAI's protocol and over Anthropic's: the answers come from local servers, and no LLM is asked.
`python -m tests.support.tapes` makes them anew. The third is of a real model: `python -m tests.support.tapes URL` asks the
server at that address.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import TestCase
from unittest.mock import patch

from pydantic import SecretStr

from deepnb import Session
from deepnb.engine.retries import RETRIES
from deepnb.models.tapes.tape import Tape, days_near, masked, read_tape
from tests import ROOT
from tests.support.chat_server import PrefixCache, Say, Think, Use
from tests.support.contract import SERVED

HERE = ROOT / "notebooks" / "tapes"
NOTE = "scripted, no LLM"
WINDOW = 16_000
PACE = 40

PROMPTS = (
    "Remember: the report is due on 12 March. Write a dry opening in /a.md, a warm one in /b.md.",
    "Have a subagent compare the two openings.",
    "When is the report due?",
)
LOCAL_NOTE = "Qwen2.5-Coder 1.5B, Apache-2.0"
LOCAL = (
    "Remember that our counts begin at 6:30.", "When do our counts begin?",
    "Write a file /todo.txt with one line: call Ana on Monday", "Remember: I prefer weights in pounds.",
)  # fmt: skip
DRY = "This report covers the first quarter. Sales rose by 4 %.\n"
WARM = "Thank you for a good quarter: with your help, sales rose by 4 %.\n"
COMPARED = """| opening | tone | length |
|---|---|---|
| `/a.md` | dry | two short sentences |
| `/b.md` | warm | one longer sentence |

For a report to customers I would take `/b.md`."""
ANSWERS: list[Any] = [
    [Think("The date is worth remembering, so it goes into memory. The openings are files of their own."),
     Say("I will keep the date in memory and write both openings."),
     Use("write_file", {"file_path": "/AGENTS.md", "content": "- The report is due on 12 March\n"}, "call_memory"),
     Use("write_file", {"file_path": "/a.md", "content": DRY}, "call_dry"),
     Use("write_file", {"file_path": "/b.md", "content": WARM}, "call_warm")],
    Say("The date is in `/AGENTS.md`, and the openings are in `/a.md` and `/b.md`."),
    Use("task",
        {"description": "Read /a.md and /b.md and compare their tone.", "subagent_type": "general-purpose"},
        "call_compare"),
    [Use("read_file", {"file_path": "/a.md"}, "call_read_dry"),
     Use("read_file", {"file_path": "/b.md"}, "call_read_warm")],
    Say("/a.md is dry: two short sentences. /b.md is warm and thanks the reader in one longer sentence."),
    Say(COMPARED), Say("On **12 March**: it is in `/AGENTS.md`."),
]  # fmt: skip


MODELS = ("openai", "anthropic")


def make(name: str, file: Path) -> Session:
    profile = {"max_input_tokens": WINDOW, "reasoning_output": name == "anthropic"}
    settings = {"model": f"scripted-{name}", "api_key": "none", "max_retries": RETRIES, "profile": profile}
    with SERVED[name](ANSWERS, PrefixCache(), **settings) as (model, _):
        session = Session(model=model, namespace={}, clock=lambda: datetime(2026, 1, 15, 9, 30, tzinfo=UTC))
        recording = session.record(file, note=NOTE, overwrite=True)
        for prompt in PROMPTS:
            session.run(prompt)
        recording.stop()
    file.write_text("".join(map(_paced, file.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    return session


def make_local(url: str, file: Path) -> Session:
    from langchain_openai import ChatOpenAI

    told: dict[str, Any] = {"temperature": 0, "stream_usage": True, "profile": {"max_input_tokens": 8_192}}
    model = ChatOpenAI(model="qwen", base_url=url, api_key=SecretStr("none"), **told)
    session = Session(model=model, namespace={}, clock=lambda: datetime(2026, 6, 10, 9, tzinfo=UTC))
    recording = session.record(file, note=LOCAL_NOTE, overwrite=True)
    for prompt in LOCAL:
        session.run(prompt)
    recording.stop()
    return session


def _paced(line: str) -> str:
    """A line of a tape, its pieces at an even pace: how fast this machine was is no part of the script."""
    value = json.loads(line)
    if "answer" in value:
        value["answer"] = [[PACE * i, piece] for i, (_, piece) in enumerate(value["answer"])]
    return json.dumps(value, ensure_ascii=False) + "\n"


Script = Callable[[Session], None]

_OWN = ("id", "seconds", "started", "model", "checkpoint", "request", "digest", "key", "at", "usage_cost")
"""Fields that differ from run to run: ids, times, and the name of the model."""


def replayed(made: Callable[..., Session], model: Any, script: Script, file: Path) -> tuple[Session, Session]:
    """A session in which the script was recorded, and another of the same kind in which the tape answered."""
    with _marks():
        recorded = made(model=model)
        recorded.record(file)
        script(recorded)
    recorded.recording.stop()
    with _marks():
        again = made()
        again.replay(file)
        script(again)
    return recorded, again


def _marks() -> Any:
    marks: dict[bytes, str] = {}

    def numbered(data: bytes) -> Any:
        return SimpleNamespace(hexdigest=lambda: marks.setdefault(data, f"{len(marks):012x}"))

    return patch("deepnb.memory.flush.sha256", numbered)


_COMPARED = TestCase()  # its `assertEqual` shows where two values differ
_COMPARED.maxDiff = None


def same(a: Session, b: Session) -> None:
    days = days_near(a.workspace.current.now()) | days_near(b.workspace.current.now())
    for one, other in zip(a.turns, b.turns, strict=True):
        left, right = (without_run(turn, days) for turn in (one, other))
        _COMPARED.assertEqual(left, right)
    _COMPARED.assertEqual(without_run(dict(a.files), days), without_run(dict(b.files), days))
    _COMPARED.assertEqual(_rows(a, days), _rows(b, days))


def without_run(value: Any, days: frozenset[str]) -> Any:
    """A value as plain data, less what differs from run to run."""
    if isinstance(value, str):
        return re.sub(r"(<id>)-\d", r"\1", masked(value, days))
    if is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: without_run(getattr(value, f.name), days) for f in fields(value) if f.name not in _OWN}
        return {"": type(value).__name__, **kept}
    if isinstance(value, Mapping):
        return {without_run(k, days): without_run(v, days) for k, v in value.items() if k not in _OWN}
    if isinstance(value, str | int | float | bool | None):
        return value
    try:
        return [without_run(item, days) for item in value]
    except TypeError:
        return repr(value)


def _rows(session: Session, days: frozenset[str]) -> list[dict[str, Any]]:
    lines = session.workspace.transcripts.keep(session.thread).read()[0]
    return [{"type": line.type, "turn": line.turn, "data": without_run(line.data, days)} for line in lines]


def tape(file: Path) -> Tape:
    return read_tape(file.read_bytes(), file.name)


def untimed(tape: Tape) -> list[tuple[Any, ...]]:
    return [(e.purpose, e.tools, e.messages, tuple(p for _, p in e.pieces), e.error) for e in tape.exchanges]


if __name__ == "__main__":
    if sys.argv[1:]:
        make_local(sys.argv[1], HERE / "qwen.jsonl")
    for one in () if sys.argv[1:] else MODELS:
        made = make(one, HERE / f"{one}.jsonl")
        print(f"{HERE.name}/{one}.jsonl: {made.recording!r}")
