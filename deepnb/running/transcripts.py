"""Where transcripts go: in this process, and on a disk from when memory is kept there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from deepnb.backends.tree import AppendFile
from deepnb.context.transcript import COST, VERSION, Chain, Line, Told, read, safe_id, to_json
from deepnb.running.current import Current
from deepnb.running.home import Home
from deepnb.running.threads import Threads
from deepnb.values.files import blot_out, pattern
from deepnb.values.messages import Added, Message
from deepnb.values.text import rebuilt
from deepnb.values.turn import Event, Notice, Turn

if TYPE_CHECKING:
    from deepnb.persistence.records import TranscriptLines

FOLDER = (".deepnb", "transcripts")


class Transcript:
    """One thread's: its lines wait here until they are in their place; without one they stay."""

    def __init__(self, thread: str, session: str) -> None:
        self.thread = thread
        self.session = session
        self.chain = Chain()
        self.kept: AppendFile | TranscriptLines | None = None
        self.problem: str | None = None
        """Why the last lines are not there yet."""
        self.mended = False
        """Whether a line that was cut short was found at the file's end."""
        self._n = 0
        self._waiting: list[Line] = []

    @property
    def place(self) -> str | None:
        return self.kept.name if self.kept else None

    @property
    def begun(self) -> bool:
        return self._n > 0

    def write(self, told: Iterable[Told], at: str, turn: int | None) -> None:
        """Append lines; those that a disk does not take are kept, and tried again with the next."""
        for type_, data, path in told:
            self._n += 1
            self._waiting.append(Line(type_, at, self.session, self._n, data, turn, path))
        self._flush()

    def keep(self, place: AppendFile | TranscriptLines | None) -> None:
        """Keep it in a place from now on, what this session wrote until now included."""
        if place is None or (self.kept is not None and place.name == self.kept.name):
            return
        self.kept, self._waiting = place, [line for line in self.read()[0] if line.session == self.session]
        self._flush()

    def read(self) -> tuple[tuple[Line, ...], int]:
        """Return (its lines, those of other sessions in the same file included; how many were cut short)."""
        there = b""
        if self.kept is not None:
            try:
                there = self.kept.read()
            except OSError as error:
                self.problem = error.strerror or type(error).__name__
        return read(b"\n".join((there, *map(to_json, self._waiting))))

    def count(self, words: str) -> int:
        sought = pattern(words)
        return sum(len(sought.findall(text)) for line in self.read()[0] for text in _texts(line.data))

    def blot(self, words: str) -> None:
        """Take some words out of it, in the lines of other sessions too; a cut line goes."""
        lines = [replace(line, data=_blotted(words, line.data)) for line in self.read()[0]]
        if self.kept is None:
            self._waiting = lines
        else:
            self.kept.replace(b"".join(map(to_json, lines)))
            self._waiting.clear()

    def notices(self) -> Iterator[str]:
        """Yield what is to be said of it, in a line each; that a line was cut short is said once."""
        if self.problem is not None:
            yield f"the transcript can't be written to {self.place} ({self.problem}): it is kept in this process until it can be"
        if self.mended:
            self.mended = False
            yield f"the last line of {self.place} was incomplete and is left out"

    def _flush(self) -> None:
        if self.kept is None or not self._waiting:
            return
        try:
            self.mended |= self.kept.append(b"".join(map(to_json, self._waiting)))
        except OSError as error:
            self.problem = error.strerror or type(error).__name__
        else:
            self._waiting.clear()
            self.problem = None


class Transcripts:
    def __init__(self, current: Current, home: Home, threads: Threads) -> None:
        self._now = current.now
        self._home = home
        self._known = threads
        self._session = uuid4().hex[:12]
        self._threads: dict[str, Transcript] = {}
        self._turn: tuple[Transcript, int] | None = None
        self.database: Callable[[str], TranscriptLines | None] = lambda thread: None
        """Where a database keeps the transcript of a thread; None for a session that is not kept."""

    def __getitem__(self, thread: str) -> Transcript:
        """Return the transcript of a thread; one that nothing was written to yet is empty."""
        if thread not in self._threads:
            self._threads[thread] = Transcript(thread, self._session)
        return self._threads[thread]

    def share(self, one: Transcript) -> None:
        """Write to a transcript of another workspace, whose thread was lent to this one."""
        self._threads[one.thread] = one

    def with_words(self, words: str, also: Collection[str] = ()) -> dict[str, int]:
        """Return thread -> how often some words stand in its transcript, of those that this session wrote, and of others `also`."""
        for name in also:
            self.keep(name)
        found = {name: one.count(words) for name, one in self._threads.items() if one.begun or name in also}
        return {name: n for name, n in found.items() if n}

    def keep(self, thread: str) -> Transcript:
        """Return the transcript of a thread, moved to where its memory is kept now."""
        one, directory = self[thread], self._home.kept(self._known[thread])
        one.keep(self.database(thread) if directory is None else AppendFile(directory, (*FOLDER, f"{thread}.jsonl")))
        return one

    def begin(self, turn: Turn, messages: Sequence[Message], given: Sequence[Message]) -> tuple[Notice, ...]:
        """Begin a turn in a thread of these messages, or go on with it; return what is to be said of its transcript."""
        one = self._opened(turn.thread, messages)
        self._turn = one, turn.number
        facts = {k: v for k, v in (("model", turn.model), ("cell", turn.cell), ("resumed", not given)) if v}
        self._write(one, [("turn", facts, ())], turn.number)
        for message in given:
            self._write(one, one.chain.message(message), turn.number)
        return tuple(map(Notice, one.notices()))

    def event(self, event: Event | Added) -> None:
        """Something happened in the turn; where its transcript is kept was looked up when it began."""
        if self._turn is not None:
            one, number = self._turn
            if lines := list(one.chain.event(event)):
                one.write(lines, self._now(), number)

    def outside(self, thread: str, messages: Sequence[Message], events: Iterable[Event]) -> None:
        """Something happened to a thread between its turns: a compaction by hand."""
        one = self._opened(thread, messages)
        for event in events:
            self._write(one, one.chain.event(event), None)

    def end(self, turn: Turn) -> None:
        one = self._opened(turn.thread, turn.after.messages, turn.number)
        self._write(one, [one.chain.end(turn)], turn.number)
        self._turn = None

    def moved(self, thread: str, messages: Sequence[Message], why: str, what: str) -> None:
        """A thread was taken to a state that holds these messages."""
        one = self[thread]
        if one.begun:
            self._write(one, one.chain.follow(messages, why, what=what), None)

    def forked(self, source: str, thread: str, messages: Sequence[Message], parent: str) -> None:
        """A thread begins as a copy of another: so does its transcript, with the turns and times of the messages."""
        copied = {line.data["id"]: line for line in self[source].read()[0] if line.type == "message" and not line.path}
        one = self._new(thread, forked=parent)
        for message in messages:
            if (line := copied.get(safe_id(message.id))) is not None:
                cost = {k: line.data[k] for k in COST if k in line.data}
                told = [(type_, {**data, **cost}, path) for type_, data, path in one.chain.message(message)]
                one.write(told, line.at, line.turn)
        self._write(one, one.chain.follow(messages), None)

    def gone(self, threads: Iterable[str], what: str) -> None:
        """All threads but these were taken back."""
        for name in set(self._threads) - set(threads):
            one = self._threads[name]
            if one.begun:
                one.write(one.chain.follow((), "undo", what=what), self._now(), None)

    def _opened(self, thread: str, messages: Sequence[Message], turn: int | None = None) -> Transcript:
        one = self[thread]
        if not one.begun:
            one = self._new(thread)
        self._write(one, one.chain.follow(messages), turn)
        return one

    def _new(self, thread: str, **facts: str) -> Transcript:
        one = self[thread]
        head = {"v": VERSION, "thread": thread, **facts, "head": None}
        self._write(one, [("session", head, ())], None)
        return one

    def _write(self, one: Transcript, told: Iterable[Told], turn: int | None) -> None:
        if lines := list(told):
            self.keep(one.thread).write(lines, self._now(), turn)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _blotted(words: str, value: Any) -> Any:
    return blot_out(words, value) if isinstance(value, str) else rebuilt(value, partial(_blotted, words))
