"""What fills a session's context: counted, shown, compacted, offloaded, brought back, and written down."""

# mypy: disable-error-code="misc"
# `self` is the session this is a part of, which mypy takes for no kind of it.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from deepnb.core.budget import Budget, Rule, growth
from deepnb.core.values import BroughtBack, Event, Flush, HistorySection, Offload

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.agent.build import Built
    from deepnb.agent.session import Session
    from deepnb.agent.thread import Thread
    from deepnb.agent.transcripts import Transcripts
    from deepnb.context.ledger import Recorder
    from deepnb.core.stack import Stack
    from deepnb.core.values import Turn
    from deepnb.core.xray import Xray


class SessionContext:
    """The part of a `Session` that is about its context."""

    @property
    def rule(self: Session) -> Rule:
        """The compaction rule in force."""
        return self.built.rule

    def count(self: Session, text: str) -> int:
        """Tokens of a text, by the counter in use."""
        return self.built.meter.count(text)

    def budget(self: Session) -> Budget | None:
        """What filled the context at the last model call; None before the first."""
        turns = self._threads.current.turns
        budgets = [t.budget for t in turns if t.budget is not None]
        return replace(budgets[-1], growth=growth([b.total for b in budgets])) if budgets else None

    def xray(self: Session, turn: int | None = None, call: int | None = None) -> Xray:
        """What a model call was sent, piece by piece, and what changed since the one before it.

        The last call for an answer, that of turn `turn`, or call `call` of it, both counted from 1.
        """
        from deepnb.agent.calls import xray

        return xray(self.turns, turn, call)

    def stack(self: Session) -> Stack:
        """The layers of the main agent in the order a request passes them, with what each added to the last one."""
        from deepnb.agent.stack import stack

        sent = self.xray() if self.requests() else None
        built = self.built
        return stack(built.stack, [name for name, _ in built.tools], built.model, sent)

    def requests(self: Session) -> list[tuple[str, tuple[int, int]]]:
        """The calls of the thread whose request was kept, oldest first: a name, and turn and call for `xray`."""
        from deepnb.agent.calls import calls

        return [
            (
                f"turn {turn.number}, call {c.number} · {c.purpose}{f' of {c.agent}' if c.agent else ''}",
                (turn.number, c.number),
            )
            for turn in self.turns
            for c in calls(turn)
            if c.request is not None
        ]

    def ledger(self: Session) -> pd.DataFrame:
        """One row per model call of the current thread. Figures are tokens."""
        from deepnb.agent.tables import ledger

        return ledger(self.turns)

    def recorder(self: Session, thread: Thread, built: Built, turn: Turn | None = None) -> Recorder:
        """What takes down the calls of a run: in `turn`, or after the last one."""
        from deepnb.context.ledger import Recorder, last_request

        before = next((r for t in reversed(thread.turns) if (r := last_request(t.events)) is not None), None)
        draft = turn or thread.turns[-1]
        own = {name: (one.meter, one.label) for name, one in built.nested.items()}
        return Recorder(built.meter, draft.events, before, self.options.prices, built.model, own)

    def history(self: Session) -> tuple[HistorySection, ...]:
        """What was offloaded from the current thread, by time."""
        from deepnb.agent.compaction import sections

        return sections(self)

    def compact(self: Session, tell: Callable[[Event], None] = lambda event: None) -> Offload:
        """Compact the current thread now, all but its last turn: flush, offload, summary, as at the trigger.

        `tell` is given each event as it happens.
        """
        from deepnb.agent.compaction import compact

        self._idle()
        try:
            return compact(self, self._threads.current, self._state, tell)
        finally:
            self._tell()

    def flush(self: Session) -> Flush:
        """Put down in today's note what is worth keeping of the current thread; nothing leaves its prompt."""
        from deepnb.agent.flushing import flush

        self._idle()
        try:
            return flush(self, self._threads.current, self._state)
        finally:
            self._tell()

    def bring_back(self: Session, section: int | None, messages: Iterable[int] | None = None) -> BroughtBack | None:
        """Put messages of a section of the history before the next prompt, word for word as in the file.

        Sections and messages count from 1; without `messages` all of them, beside those that wait there
        already. None in the place of a section takes them all away again.
        """
        from deepnb.agent.bringing import bring

        self._idle()
        thread = self._threads.current
        if section is None:
            thread.brought = None
        else:
            bring(self, thread, section, messages)
        self._tell()
        return self.brought_back

    @property
    def brought_back(self: Session) -> BroughtBack | None:
        """What stands before the next prompt of the current thread."""
        from deepnb.agent.bringing import waiting

        return waiting(self._threads.current)

    @cached_property
    def transcripts(self: Session) -> Transcripts:
        """All that happened, by thread, as it is written down."""
        from deepnb.agent.transcripts import Transcripts

        return Transcripts(self.now, lambda thread: self._threads[thread].pool.kept)

    def transcript(self: Session, thread: str | None = None) -> pd.DataFrame:
        """One row per line of a thread's transcript (the current one's, if not given), oldest first."""
        from deepnb.agent.tables import transcript

        one = self.transcripts.keep(self._threads[thread or self.thread].name)
        return transcript(one.read()[0], one.session)
