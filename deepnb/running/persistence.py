"""A session in a database: what of its threads the checkpoints do not hold, who plays in one, and what is back."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.engine.checkpoints import call_results
from deepnb.gate import redact
from deepnb.persistence.codec import Reader, Writer, dumps
from deepnb.persistence.database import Database
from deepnb.persistence.erasure import Erasure
from deepnb.persistence.records import Records, ThreadRow, signer
from deepnb.persistence.savers import readable
from deepnb.running.current import Current
from deepnb.running.stored_turns import ENDED, FilesAt, KeptTurns, told
from deepnb.running.thread import Thread
from deepnb.values.approvals import policy_of
from deepnb.values.errors import BusyError
from deepnb.values.text import excerpt
from deepnb.values.turn import CodeOutput, ToolEnded, Turn, Usage

_SHOWN = 12

_LINES = 5


@dataclass(frozen=True)
class Restored:
    """What a database gave back to a session."""

    where: str
    lines: tuple[str, ...]
    """What is said of it: what is back, and what is gone with the kernel."""
    asked: int = 0
    names: tuple[str, ...] = ()
    """Variables that the agent's code made in earlier turns, and that this kernel does not have."""


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


_RIGHTS = ("granted", "offered", "decided")
"""Facts of a thread that say what may run unasked: they count where this user's kernels signed them."""

_FACTS = (*_RIGHTS, "rewound", "pins", "held", "brought", "rebases")


class Persistence:
    """Writes what changed whenever something has changed; reads a thread when it is first looked at."""

    def __init__(self, database: Database, current: Current) -> None:
        self.database = database
        self.records = Records(database)
        self.sign = signer(self.records.id)
        self._current = current
        self._turns = KeptTurns(self.records, current)
        self._rows: dict[str, ThreadRow] = {}
        self._claims: dict[str, tuple[int, Callable[[], None]]] = {}
        """Thread -> how often it is claimed here, and what gives it free."""
        self._begun: set[str] = set()

    @contextmanager
    def claimed(self, thread: str) -> Iterator[None]:
        """Within the block no other kernel writes to a thread; an error where one does."""
        count, release = self._claims.get(thread) or (0, self.database.claim(thread))
        self._claims[thread] = count + 1, release
        try:
            yield
        finally:
            count, release = self._claims.pop(thread)
            if count > 1:
                self._claims[thread] = count - 1, release
            else:
                release()

    def is_busy(self, thread: str) -> bool:
        """Return whether another kernel plays a turn in a thread."""
        if thread in self._claims:
            return False
        if (release := self.database.hold(thread)) is not None:
            release()
        return release is None

    def begin(self, turn: Turn) -> None:
        """A turn begins, or goes on: should the kernel end before it, it is known what was asked."""
        named = {name: getattr(turn, name) for name in ("number", "prompt", "model", "started", "cell")}
        self._begun.add(turn.thread)
        self.database.plays = True
        with self._whole():  # one at a time: a job begins in a thread of its own
            begun = {**named, "before": self._turns.state(turn.before)}
            self.records.set_begun(turn.thread, Writer(self.records.put).plain(begun))

    def end(self, thread: Thread) -> None:
        """The turn of a thread has ended, and is in its list of turns."""
        with self._whole():
            self._begun.discard(thread.name)
            self.database.plays = bool(self._begun)
            self._save(thread)
            self.records.set_begun(thread.name, None)
        self.database.make_whole()

    def save(self, threads: Iterable[Thread], names: Iterable[str]) -> None:
        """Keep what has changed of the threads that were read; those of other `names` than these are no more."""
        with self._whole():
            for thread in threads:
                self._save(thread)
            for gone in self._rows.keys() - set(names):
                self.records.remove_thread(gone)
                del self._rows[gone]
            policy = dumps(policy_of(self._current.options.approve).option)
            for name, value in (("thread", self._current.thread.name), ("policy", policy), ("model", self._model)):
                if self._session.get(name) != value:
                    self.records.set_fact(name, value)
                    self._session[name] = value
                    if name == "policy":
                        self.records.set_fact("policy signature", self.sign(policy))
        if self._current.is_idle:
            self.database.make_whole()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            with self.database.transaction():
                yield
        except BaseException:
            self.records.forget()
            self._turns.forget()
            raise

    def _save(self, thread: Thread) -> None:
        if thread.name in self._begun:
            return
        known = self._rows.get(thread.name)
        row = ThreadRow(thread.name, self._turns.write(thread.name, thread.turns), self._facts(thread))
        if known is None or known.facts != row.facts:
            self.records.set_facts(row.name, row.facts)
        before = known.head if known else None
        if row.head != before and not self.records.set_head(row.name, row.head, before):
            raise BusyError(f"another kernel continued thread {thread.name} meanwhile", "do it again")
        self._rows[thread.name] = row

    def _facts(self, thread: Thread) -> dict[str, Any]:
        made = {"scope": thread.scope.words, "parent": thread.parent, "pool": thread.home}
        held = {name: getattr(thread, name) for name in _FACTS}
        held |= {name: tuple(sorted(getattr(thread, name))) for name in ("granted", "offered")}
        plain = Writer(self.records.put).plain({**made, **{k: v for k, v in held.items() if v}})
        facts = {k: v for k, v in plain.items() if v}
        rights = {k: v for k, v in facts.items() if k in _RIGHTS}
        return {**facts, "signature": self.sign([thread.name, rights])} if rights else facts

    @property
    def _model(self) -> str:
        """The model as `%agent use` takes it; empty for one that has no name."""
        options = self._current.options
        server = f" --base-url {options.base_url}" if options.base_url else ""
        settings = (f" --{name.replace('_', '-')} {value:g}" for name, value in (options.model_settings or {}).items())
        return redact(f"{options.model}{server}{''.join(settings)}") if isinstance(options.model, str) else ""

    @cached_property
    def _session(self) -> dict[str, str]:
        found = ((name, self.records.fact(name)) for name in ("thread", "policy", "model"))
        return {name: value for name, value in found if value is not None}

    @property
    def policy(self) -> Any:
        """The policy that was kept, as an option; None where this user's kernels did not write it."""
        kept = self.records.fact("policy")
        if kept is None or self.records.fact("policy signature") != self.sign(kept):
            return None
        return json.loads(kept)

    def metadata(self, name: str) -> dict[str, Any] | None:
        """Return how a thread was made, as its checkpoints tell it; None for one that is not kept."""
        if (row := self.records.thread(name)) is None:
            return None
        return {f"deepnb_{fact}": row.facts[fact] for fact in ("scope", "parent", "pool") if row.facts.get(fact)}

    @contextmanager
    def reading(self, thread: Thread) -> Iterator[None]:
        """Within the block a thread is read, which has what was kept of it beside its state and its turns."""
        with readable(f"thread {thread.name} in {self.database.where}", (Exception,)):
            if (row := self.records.thread(thread.name)) is not None:
                rights = {k: v for k, v in row.facts.items() if k in _RIGHTS}
                trusted = row.facts.get("signature") == self.sign([thread.name, rights])
                facts = {k: v for k, v in row.facts.items() if k in _FACTS and (trusted or k not in _RIGHTS)}
                for name, value in Reader(self.records.get).value(facts).items():
                    setattr(thread, name, frozenset(value) if name in ("granted", "offered") else value)
                self._rows[thread.name] = ThreadRow(thread.name, row.head, self._facts(thread))
            yield

    def turns(self, thread: Thread, messages: Sequence[BaseMessage], files_at: FilesAt) -> list[Turn] | None:
        """Return the turns of a thread that was just read, a cut one as its messages tell; None for another program's."""
        if (row := self.records.thread(thread.name)) is None:
            source, _, number = (thread.parent or "").rpartition("@")  # of a fork whose kernel ended as it made it
            above = self.records.thread(source) if source else None
            line = self.records.turns(above.head) if above else []
            if not 0 < int(number or 0) <= len(line):
                return None
            return self._turns.read(thread.name, line[int(number) - 1].id, thread.snapshot.messages, files_at)
        self._rows[thread.name] = ThreadRow(thread.name, row.head, self._facts(thread))
        turns = self._turns.read(thread.name, row.head, thread.snapshot.messages, files_at)
        begun = row.begun
        if begun is None or thread.name in self._begun or self.is_busy(thread.name):
            return turns
        last = turns[-1] if turns and turns[-1].number == begun["number"] else None
        base = last
        if base is None:
            before = replace(self._turns.states(thread.snapshot.messages, files_at)(begun["before"]), next=())
            facts = {name: begun[name] for name in ("model", "started", "cell")}
            number, prompt = begun["number"], begun["prompt"]
            base = Turn(number, thread.name, prompt, "", (), before, before, Usage(), None, **facts)
        went_on = all(call.key in thread.decided for call in thread.asked)
        if len(messages) <= len(base.after.messages) and (last is None or not went_on):  # it had not begun
            return turns
        return [*turns[: base.number - 1], _cut(thread, base, messages)]

    def unfinished(self) -> tuple[str, ...]:
        """Return the threads whose last turn waits for the user, or had not ended when its kernel did."""
        return tuple(name for name in self.records.unfinished() if not self.is_busy(name))

    @property
    def here(self) -> Restored:
        """Where the session is kept, of which nothing had to be read."""
        return Restored(self.database.where, (f"this session is kept in {self.database.where}",))

    def restored(self, thread: Thread, others: Iterable[Thread], namespace: Mapping[str, Any]) -> Restored:
        """Return what is back in a kernel with these variables; `others` are the threads that are `unfinished`."""
        count, where = len(self.records.threads()), self.database.where
        if not count:
            return self.here
        left = [call for call in thread.asked if call.key not in thread.decided]
        parts = [_counted(count, "thread"), f"{_counted(len(thread.turns), 'turn')} in thread {thread.name}"]
        if files := len(thread.snapshot.files) + len(thread.snapshot.binary):
            parts.append(_counted(files, "file"))
        if left:
            parts.append(f"{_counted(len(left), 'call')} that {'needs' if len(left) == 1 else 'need'} your approval")
        here = "" if left else self._need(thread)
        needs = [here, *(self._need(other, f"%agent switch {other.name}, then ") for other in others)]
        unfinished = [line for line in needs if line]
        lines = [f"back from {where}: {', '.join(parts)}", *unfinished[:_LINES]]
        if (more := len(unfinished) - _LINES) > 0:
            lines.append(f"{_counted(more, 'more thread')} with an unfinished turn: %agent threads lists all threads")
        outputs = (e for turn in thread.turns for e in turn.events if isinstance(e, CodeOutput))
        said = (part for e in outputs if e.kind == "variables" for part in _NAMES.findall(e.text))
        made = dict.fromkeys(name.strip() for line in said for name in line.split(","))
        if gone := tuple(name for name in made if name.isidentifier() and name not in namespace):
            shown = f"{', '.join(gone[:_SHOWN])}{' and more' if len(gone) > _SHOWN else ''}"
            s, it = ("", "it") if len(gone) == 1 else ("s", "them")
            made_by = f"run the cell{s} that made {it}"
            lines.append(f"gone with the kernel: the variable{s} {shown} of earlier turns; {made_by}")
        if (model := self._session.get("model", "")) and model != self._model:
            lines.append(f"the model was {model.partition(' ')[0]}: %agent use {model}")
        return Restored(where, tuple(lines), len(left), gone)

    def _need(self, thread: Thread, first: str = "") -> str:
        """Return what a thread needs to go on, and what to type, after `first`; empty where its last turn has ended."""
        where = f"thread {thread.name}: " if first else ""
        if thread.pending:
            what, _, do = thread.pending.partition(": ")
            return f"{where}{what}: {first}{do}"
        row = self.records.thread(thread.name)
        if row is None or row.begun is None or row.begun["number"] <= len(thread.turns):
            return ""
        return f"{where}its kernel ended before {excerpt(row.begun['prompt'])!r} was sent: {first}send it again"

    def count(self, words: str, is_memory: Callable[[str], bool]) -> int:
        """Return how many records of earlier states hold some words, beside the messages of conversations."""
        return Erasure(self.database, words, is_memory).count()

    def erase(self, words: str, is_memory: Callable[[str], bool]) -> str:
        """Take the words out of these, of which nothing is known then; return one line on where they may be still."""
        try:
            Erasure(self.database, words, is_memory).erase()
        finally:
            self.records.forget()
            self._turns.forget()
        return self.database.vacuum()

    def close(self) -> None:
        for _, release in self._claims.values():
            release()
        self._claims.clear()
        self.database.close()


def _cut(thread: Thread, base: Turn, messages: Sequence[BaseMessage]) -> Turn:
    decided = {key for key, one in thread.decided.items() if one.kind != "reject"}  # on their way as the kernel ended
    asked = {call.id for call in thread.asked if call.key not in decided}
    new = told(messages[len(base.after.messages) :], asked)
    stopped = thread.unfinished and not thread.asked
    since, before = messages[len(base.before.messages) :], len(base.after.messages) - len(base.before.messages)
    approved = since[:before] if thread.unfinished and not thread.unsigned else ()
    calls = [call for message in approved for call in getattr(message, "tool_calls", ())]
    cut = [  # those whose result is missing may have been run
        ToolEnded(call["id"] or "", call["name"], "interrupted", "cut", 0.0)
        for call, result in zip(calls, call_results(since), strict=False)
        if result is None and call["id"] not in asked
    ]
    base = replace(base, text=new["text"] or base.text, events=(*base.events, *new["events"], *cut))
    spent, why = base.usage + new["usage"], ENDED if stopped else None
    return replace(base, after=thread.snapshot, usage=spent, asked=thread.asked, interrupted=why)


_NAMES = re.compile(r"(?:new|changed): ([^;]+)")  # of `new: totals; changed: df, x; removed: y`
