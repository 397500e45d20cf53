"""The turns of an opened session as `Turn`s, so that what shows a session's own shows these: read when looked at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

from deepnb.values.lazy import LazyMapping
from deepnb.values.messages import Messages
from deepnb.values.turn import Call, Snapshot, Turn
from deepnb.wings.open.content import seconds_between
from deepnb.wings.open.opening import SessionFile
from deepnb.wings.open.values import FileEdit, FileTurn

T = TypeVar("T")
_KEPT = 8
"""Turns whose content is kept once it was read."""


class FileSnapshot(Snapshot):
    """The state of a session after some of its turns; its messages are read when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name != "messages" or "read" not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__["read"]()


class LazyTurn(Turn):
    """A turn of a session file: prompt, text, events and the states before and after are read when they are asked for.

    `calls` and `compacted` are known from the index. What `dataclasses.replace` makes of it is read whole.
    """

    def __getattr__(self, name: str) -> Any:
        of: SessionTurns | None = self.__dict__.get("of")
        if of is not None and name in ("prompt", "text", "events"):
            return getattr(of.content(self.number), name)
        if of is not None and name in ("before", "after"):
            return of.snapshot(self.thread, self.number - (name == "before"))
        raise AttributeError(name)

    @property
    def figures(self) -> FileTurn | None:
        return self.__dict__.get("index")

    @property
    def first_words(self) -> str:
        return self.figures.prompt if self.figures else super().first_words

    @property
    def calls(self) -> tuple[Call, ...]:
        """The turn's rows of the ledger."""
        return self.figures.calls if self.figures else super().calls

    @property
    def requested(self) -> tuple[Call, ...]:
        """Return the calls whose request is known: of a turn in a file none."""
        return () if self.figures else super().requested

    @property
    def compacted(self) -> bool:
        """Whether the context of the main agent was compacted in it."""
        return bool(self.figures.compactions) if self.figures else super().compacted


def _lazy(made: type[T], facts: Mapping[str, Any]) -> T:
    """Return a frozen value that has these fields alone; the others are for its `__getattr__`."""
    value = object.__new__(made)
    value.__dict__.update(facts)
    return value


def _lazy_turn(of: SessionTurns, figures: FileTurn, thread: str) -> LazyTurn:
    own = [call for call in figures.calls if not call.path and call.purpose == "answer"]
    facts: dict[str, Any] = {
        "number": figures.number, "thread": thread, "usage": figures.usage, "budget": own[-1].budget if own else None,
        "model": figures.models[-1] if figures.models else "", "started": figures.started,
        "seconds": seconds_between(figures.started, figures.ended), "of": of, "index": figures,
    }  # fmt: skip
    return _lazy(LazyTurn, facts)


class SessionTurns:
    """All turns of an opened session, as one thread."""

    def __init__(self, session: SessionFile) -> None:
        self._session = session
        self._messages: list[Messages] = [Messages()]
        """The thread's messages after so many turns, as far as it was read."""
        self.content = lru_cache(maxsize=_KEPT)(session.content)

    def turns(self, thread: str) -> tuple[LazyTurn, ...]:
        """Return the turns, under the name of a thread."""
        return tuple(_lazy_turn(self, figures, thread) for figures in self._session.index.turns)

    def snapshot(self, thread: str, number: int) -> Snapshot:
        """Return the thread after so many turns: its messages, and its memory files as far as edits tell them."""
        offloads = [c.offload for turn in self._session.index.turns[:number] for c in turn.compactions]
        files = LazyMapping(partial(self.memory, number))
        facts: dict[str, Any] = {"thread": thread, "files": files, "binary": {}, "memory": files, "skills": ()}
        facts |= {"offload": offloads[-1] if offloads else None, "read": partial(self.messages, number)}
        return _lazy(FileSnapshot, facts)

    def messages(self, number: int) -> Messages:
        """Return all messages of the first turns, read once."""
        while len(self._messages) <= number:
            last = self._messages[-1]
            self._messages.append(last.replace_from(len(last), self.content(len(self._messages)).messages))
        return self._messages[number]

    def memory(self, number: int) -> Mapping[str, str]:
        """Return the memory files after so many turns, as far as the session's edits tell them.

        Of a file that is changed only later, it is what it was before that change; of one that is never told whole,
        the passages that were changed.
        """
        files: dict[str, str] = {}
        created: set[str] = set()
        for edit in self._edits:
            if edit.path not in files and edit.path not in created:
                if edit.before is not None or edit.hunks:
                    passages = "\n".join(old for old, _ in edit.hunks if old)
                    files[edit.path] = passages if edit.before is None else edit.before
                else:
                    created.add(edit.path)
            if edit.turn <= number:
                text = files.get(edit.path, "") if edit.before is None else edit.before
                files[edit.path] = _edited(text, edit)
        return files

    @cached_property
    def _edits(self) -> tuple[FileEdit, ...]:
        """All edits of memory files."""
        return tuple(edit for turn in self._session.index.turns for edit in turn.edits)


def _edited(text: str, edit: FileEdit) -> str:
    if edit.after is not None:
        return edit.after
    for old, new in edit.hunks:
        if old and old in text:
            text = text.replace(old, new)  # there once, unless the call said that all are meant
        elif new not in text:
            text = f"{text.rstrip()}\n{new}" if text.strip() else new
    return text
