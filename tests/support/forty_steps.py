"""A script of forty steps through all that a session keeps, and what it leaves: the same wherever it is kept."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage

from deepnb import Session, Subagent
from deepnb.values.turn import ModelEnded, ModelStarted, Snapshot, ToolEnded, Turn
from tests.support.clock import Clock
from tests.support.scripted import Paid, call

SKILL = "---\nname: tidy-up\ndescription: Use when files are to be tidied up.\n---\n\nPut each file in its place.\n"


def send(text: str) -> str:
    """Send it."""
    return f"sent {text}"


def broken() -> str:
    """Fails."""
    raise ValueError("out of paper")


def options() -> dict[str, Any]:
    helper = Subagent(name="helper", description="Looks things up.", system_prompt="Look it up.")
    return {
        "tools": [send, broken], "subagents": [helper], "approve": {"broken": "allow"},
        "clock": Clock("2026-03-02T09:00"),
    }  # fmt: skip


def steps(s: Session) -> Iterator[Callable[[], object]]:
    def answer(*answers: Any) -> None:
        s.options.model.answers = list(answers)
        s.options.model.requests.clear()

    def run(prompt: str, *answers: Any, **how: Any) -> Callable[[], object]:
        def act() -> object:
            answer(*answers or [f"answer to {prompt}"])
            return s.run(prompt, **how)

        return act

    def decide(choose: Callable[[Any], Any], *answers: Any) -> Callable[[], object]:
        def act() -> object:
            answer(*answers)
            return list(s.resume(choose(s.asked[0])))

        return act

    edit = call("edit_file", file_path="/AGENTS.md", old_string="tea", new_string="coffee")
    yield lambda: s.memory.add("likes tea")
    yield run("hello")
    yield run("change it", edit, "changed")
    yield lambda: s.files.update({"/work/a.txt": "A\n"})
    yield run("write", call("write_file", file_path="/work/b.txt", content="B\n"), "written", cell="c1")
    yield lambda: s.skills.write("tidy-up", SKILL)
    yield lambda: s.skills.pin("tidy-up")
    yield run("tidy up")
    yield run("send it", call("send", text="one"))
    yield decide(lambda c: c.approve(), "It is sent.")
    yield run("send more", call("send", text="two"))
    yield decide(lambda c: c.reject("not today"), "Then not.")
    yield run("send that", call("send", text="three"))
    yield decide(lambda c: c.edit({"text": "other"}), "Changed and sent.")
    yield run("print", call("broken"), "It failed.")
    yield lambda: s.fork("side", at=2)
    yield run("aside")
    yield lambda: s.memory.add("has a cat")
    yield lambda: s.switch("main")
    yield run("back again")
    yield lambda: s.rewind(3)
    yield run("another way")
    yield lambda: s.undo()
    yield lambda: s.rewind(2, memory=True)
    yield lambda: s.undo()
    yield lambda: s.new("apart", empty=True)
    yield lambda: s.memory.add("alone")
    yield run("in apart", call("write_file", file_path="/work/c.txt", content="C\n"), "ok")
    yield lambda: s.new("open", shared=True)
    yield run("in open")
    yield lambda: s.switch("main")
    task = call("task", description="look", subagent_type="helper")
    yield run("ask the helper", task, "found", "The helper found it.")
    yield lambda: s.memory.write("/AGENTS.md", "- likes coffee\n- has two cats\n")
    yield lambda: s.memory.revert(s.memory.log_entries()[-1].id)
    yield lambda: s.approvals.rule("ls", "deny")
    yield run("look", call("ls", path="/"), "I may not.")
    yield lambda: s.memory.daily("met the printer's maker")
    answer("the summary")
    yield lambda: s.compact()
    yield run("on")
    yield run("last", AIMessage("done"))


def model() -> Paid:
    return Paid(answers=["ok"])


def left(s: Session) -> dict[str, Any]:
    """What a script left, without ids that are drawn by chance and times that were measured."""
    out: dict[str, Any] = {"threads": s.threads, "approve": s.options.approve, "asked": s.asked}
    here = s.thread
    for info in s.threads:
        s.switch(info.name)
        ledger = s.ledger().drop(columns=["seconds"], errors="ignore")
        out[info.name] = {
            "turns": [_turn(turn) for turn in s.turns], "files": _files(s.files), "journal": s.memory.log_entries(),
            "ledger": ledger.to_dict("records"),
            "transcript": s.transcript()[["turn", "what", "agent", "text"]].astype(str).to_dict("records"),
        }  # fmt: skip
    s.switch(here)
    return out


def _turn(turn: Turn) -> dict[str, Any]:
    names = ("number", "thread", "prompt", "text", "usage", "model", "started", "cell", "interrupted", "error")
    states = {"before": _state(turn.before), "after": _state(turn.after)}
    return {**{name: getattr(turn, name) for name in names}, **states, "events": [_event(e) for e in turn.events]}


def _files(files: Mapping[str, str]) -> dict[str, str]:
    """path -> text; a history file names its messages by hashes of their ids."""
    return {path: re.sub(r"\b[0-9a-f]{12}:", "ID:", text) for path, text in files.items()}


def _state(state: Snapshot) -> dict[str, Any]:
    messages = [(m.role, m.text, m.name, m.status, m.source) for m in state.messages]
    parts = {"files": _files(state.files), "memory": dict(state.memory), "messages": messages}
    return {**parts, "skills": state.skills, "offload": state.offload, "next": state.next}


def _event(event: Any) -> Any:
    if isinstance(event, ToolEnded):
        return "ToolEnded", event.name, event.result, event.status
    if isinstance(event, ModelStarted | ModelEnded):
        one = event.call
        return type(event).__name__, one.number, one.purpose, dict(one.budget.parts), one.usage, one.agent
    if hasattr(event, "call") and hasattr(event.call, "args"):
        return type(event).__name__, event.call.name, event.call.args
    if hasattr(event, "decision"):
        return type(event).__name__, event.decision.kind, event.decision.reason
    return repr(event) if not hasattr(event, "id") else (type(event).__name__, getattr(event, "name", ""))
