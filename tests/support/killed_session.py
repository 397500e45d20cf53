"""A session that is kept, killed again and again: run by persistence/test_killed in a process of its own.

`python -m tests.support.killed_session WHERE FOLDER SEED ROUNDS [memory]`: in each round a child does what chance says until it
kills itself at the n-th call that reads or writes the database; a second one opens what is there, compares it with
what the first was told is done, and finishes what was left. Prints how many were killed, and the first thing wrong.
"""

import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.store.base import PutOp

from deepnb import Session, Subagent
from deepnb.backends.journal import replay
from deepnb.persistence import savers  # noqa: F401  # the engine is imported once, for all children
from deepnb.persistence.database import Database
from tests.support.compactions import AT_LENGTH
from tests.support.scripted import Scripted, call

OPS = ("plain", "write", "note", "send", "ask", "add", "file", "fork", "switch", "rewind", "compact", "new")
MEMORY_OPS = ("jot", "edit", "note", "add")
"""Operations that write to memory alone: a step of theirs that was cut is run again, others are skipped."""
BEGUN = {"file_path": "/MEMORY.md", "old_string": "- begun"}
MOST = 40  # operations of one child
POINTS = 900  # a child kills itself at one of the first of these calls


class Story(Scripted):
    answers: list[Any] = []  # noqa: RUF012
    sent: Path = Path()  # what was sent: a call whose result a compaction took out of sight is not made again

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        asked = next((str(m.content) for m in reversed(messages) if m.type == "human" and not m.additional_kwargs), "")
        kind, _, key = asked.partition(" ")
        if "<messages>" in asked or "<leaving>" in asked:
            return AIMessage("- in short")
        last = next(m for m in reversed(messages) if not m.additional_kwargs.get("lc_source"))  # no update of memory
        if isinstance(last, ToolMessage) or (kind == "send" and key in _lines(self.sent)):
            return AIMessage(f"done {key}")
        calls = {
            "write": ("write_file", {"file_path": f"/work/{key}.txt", "content": key}),
            "note": ("write_file", {"file_path": f"/memory/{key}.md", "content": f"- {key}\n"}),
            "send": ("send", {"text": key}),
            "jot": ("note", {"text": f"jotted {key}"}),
            "edit": ("edit_file", {**BEGUN, "new_string": f"- begun\n- edited {key}"}),
            "ask": ("task", {"description": f"plain {key}", "subagent_type": "helper"}),
        }
        if kind in calls:
            name, args = calls[kind]
            return call(name, id=f"{kind}-{key}", **args)
        return AIMessage(f"answer {key}\n{AT_LENGTH}")


class Life:
    def __init__(self, where: str, folder: Path) -> None:
        self.log, self.sent = folder / "log.jsonl", folder / "sent"

        def send(text: str) -> str:
            """Send it."""
            _append(self.sent, text)
            return f"sent {text}"

        helper = Subagent(name="helper", description="Looks things up.", system_prompt="Look it up.")
        options: dict[str, Any] = {"trigger": ("messages", 14), "keep": ("messages", 4), "subagents": [helper]}
        self.s = Session(Story(sent=self.sent), tools=[send], persist=where, **options)
        if "/MEMORY.md" not in self.s.files:
            self.s.memory.write("/MEMORY.md", "- begun\n")

    def state(self) -> dict[str, Any]:
        here = self.s.thread
        threads = {}
        for info in self.s.threads:
            self.s.switch(info.name)
            threads[info.name] = [turn.prompt for turn in self.s.turns]
        self.s.switch(here)
        facts = sorted(self.s.files.get("/AGENTS.md", "").splitlines())
        return {"threads": threads, "thread": here, "facts": facts}

    def finish(self) -> None:
        for info in self.s.threads:
            self.s.switch(info.name)
            for _ in range(9):
                if cut := self.s.workspace.thread.cut:
                    list(self.s.resume("again" if {*cut} <= {"note", "edit_file", "write_file"} else "skip"))
                elif self.s.asked:
                    list(self.s.resume([one.approve() for one in self.s.asked]))
                elif self.s.pending:
                    list(self.s.resume())
                else:
                    break
            assert self.s.pending is None, self.s.pending

    def do(self, op: str, key: str, chance: random.Random) -> dict[str, Any]:
        s = self.s
        match op:
            case "add":
                return {"fact": f"- fact {key}", "act": lambda: s.memory.add(f"fact {key}")}
            case "file":
                return {"act": lambda: s.files.update({f"/work/{key}.txt": key})}
            case "fork":
                return {"fork": f"f{key}", "act": lambda: s.fork(f"f{key}")}
            case "new":
                return {"new": f"n{key}", "act": lambda: s.new(f"n{key}")}
            case "switch":
                to = chance.choice(s.threads).name
                return {"switch": to, "act": lambda: s.switch(to)}
            case "rewind" if s.turns:
                number = chance.randint(max(1, len(s.turns) - 3), len(s.turns))
                return {"rewind": number, "act": lambda: s.rewind(number)}
            case "compact" if len(s.turns) > 3:
                return {"act": lambda: _compact(s)}
            case "compact" | "rewind":
                return {"act": lambda: None}
        return {"prompt": f"{op} {key}", "act": lambda: s.run(f"{op} {key}")}


def _compact(s: Session) -> None:
    from deepnb import DeepnbError

    try:
        s.compact()
    except DeepnbError as error:
        assert "nothing to compact" in str(error) or "not compacted: with" in str(error), error


def live(where: str, folder: Path, seed: str, ops: Sequence[str]) -> None:
    chance = random.Random(seed)
    life = Life(where, folder)
    _die_at(life.s, chance.randint(1, POINTS if ops is OPS else 40), only_after_memory=ops is not OPS)
    for n in range(MOST):
        op = chance.choice(ops)
        todo = life.do(op, f"{seed.replace(' ', '-')}-{n}", chance)
        act = todo.pop("act")
        _append(life.log, json.dumps({"begin": todo}))
        act()
        _append(life.log, json.dumps({"done": todo}))
        if life.s.asked and chance.random() < 0.7:
            _append(life.log, json.dumps({"begin": {}}))
            decided = life.s.asked[0].approve() if chance.random() < 0.7 else life.s.asked[0].reject("no")
            list(life.s.resume(decided))
            _append(life.log, json.dumps({"done": {}}))
        if life.s.asked:
            life.s.new(name := f"w{seed.replace(' ', '-')}-{n}")
            _append(life.log, json.dumps({"done": {"new": name}}))
    os.kill(os.getpid(), signal.SIGKILL)


def _die_at(s: Session, point: int, *, only_after_memory: bool) -> None:
    """Kill this process before or after the n-th call to the database; or of those
    between a write of memory and the next checkpoint.
    """
    count, counts = 0, not only_after_memory

    def step() -> None:
        nonlocal count
        count += counts
        if count == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def mortal(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            nonlocal counts
            step()
            found = real(*args, **kwargs)
            if only_after_memory and name in ("batch", "put"):
                counts = name == "batch" and (counts or any(isinstance(op, PutOp) for op in args[0]))
            step()
            return found

        return called

    kept = s.workspace.persistence
    database: Database = kept.database
    saver, store = database.saver, database.store
    for holder, name in ((database, "execute"), (saver, "put"), (saver, "put_writes"), (store, "batch")):
        setattr(holder, name, mortal(name, getattr(holder, name)))


def check(where: str, folder: Path) -> None:
    life = Life(where, folder)
    lines = [json.loads(line) for line in life.log.read_text().splitlines()] if life.log.exists() else []
    told = max((n for n, line in enumerate(lines) if "state" in line), default=-1)
    state = lines[told]["state"] if told >= 0 else {"threads": {"main": []}, "thread": "main", "facts": []}
    possible = [state]
    for line in lines[told + 1 :]:
        if "done" in line:
            state = _after(state, line["done"])
            possible = [state]
        else:
            possible = [state, _after(state, line["begin"])]
    found = life.state()
    plain = [_without_empty(one) for one in (*possible, found)]
    assert plain[-1] in plain[:-1], f"\nfound {plain[-1]}\nexpected one of {plain[:-1]}"
    life.finish()
    here = life.s.thread
    for info in life.s.threads:
        life.s.switch(info.name)
        assert [turn.number for turn in life.s.turns] == list(range(1, len(life.s.turns) + 1))
        for turn in life.s.turns:
            kind, _, key = turn.prompt.partition(" ")
            ran = any(m.tool_call_id == f"{kind}-{key}" and m.status == "ok" for m in turn.after.messages)
            if kind == "write" and ran:
                assert turn.after.files[f"/work/{key}.txt"] == key
            if kind == "note" and ran:
                assert life.s.files[f"/memory/{key}.md"] == f"- {key}\n"
            if kind in ("jot", "edit") and ran:
                assert _facts(life.s).count(f"- {kind}{'t' if kind == 'jot' else ''}ed {key}") == 1, turn.prompt
    life.s.switch(here)
    facts = _facts(life.s)
    assert len(facts) == len({*facts}), "a fact stands there twice"
    log = life.s.memory.log_entries()
    assert len({e.id for e in log}) == len(log)
    for path in {e.path for e in log}:
        assert replay(path, log) == life.s.files.get(path), path
    sent = _lines(life.sent)
    assert len(sent) == len(set(sent)), "something was sent twice"
    life.s.run(f"plain after-{len(lines)}")
    _append(life.log, json.dumps({"state": life.state()}))
    life.s.close()


def _after(state: dict[str, Any], done: dict[str, Any]) -> dict[str, Any]:
    threads, here = {k: list(v) for k, v in state["threads"].items()}, state["thread"]
    facts = list(state["facts"])
    if "prompt" in done:
        threads[here].append(done["prompt"])
    if "fact" in done:
        facts = sorted([*facts, done["fact"]])
    if "rewind" in done:
        del threads[here][done["rewind"] :]
    if made := done.get("fork") or done.get("new"):
        threads[made] = list(threads[here]) if "fork" in done else []
        here = made
    return {"threads": threads, "thread": done.get("switch", here), "facts": facts}


def _without_empty(state: dict[str, Any]) -> dict[str, Any]:
    """A state as it is compared: a thread that nothing happened in may be there or not."""
    return {"threads": {k: v for k, v in state["threads"].items() if v}, "facts": [f for f in state["facts"] if f]}


def _facts(s: Session) -> list[str]:
    texts = (text for path, text in s.files.items() if path == "/MEMORY.md" or path.startswith("/memory/2"))
    return [line for text in texts for line in text.splitlines() if line.startswith("- ")]


def _lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def _append(file: Path, line: str) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{line}\n".encode())
    os.close(fd)


def _child(work: Callable[[], None], problem: Path) -> int:
    if (pid := os.fork()) == 0:
        try:
            work()
        except BaseException:
            problem.write_text(traceback.format_exc())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(where: str, folder: Path, seed: str, rounds: int, ops: Sequence[str] = OPS) -> None:
    killed, problem = 0, folder / "problem"
    for n in range(rounds):
        ended = _child(lambda n=n: live(where, folder, f"{seed} {n}", ops), problem)  # type: ignore[misc]
        killed += ended == -signal.SIGKILL
        if ended != -signal.SIGKILL or _child(lambda: check(where, folder), problem):
            told = problem.read_text() if problem.exists() else ""
            json.dump({"killed": killed, "round": n, "problem": told}, sys.stdout)
            return
    json.dump({"killed": killed, "problem": ""}, sys.stdout)


if __name__ == "__main__":
    where, place, seed, rounds, *more = sys.argv[1:]
    main(where, Path(place), seed, int(rounds), MEMORY_OPS if more else OPS)
