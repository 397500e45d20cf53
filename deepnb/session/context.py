"""What fills the context of the current thread: counted, shown, flushed and compacted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

from deepnb.context.history import PREFIX, sections, upstream_sections
from deepnb.gate import redact
from deepnb.memory.layers import note_path
from deepnb.running.runner import recorder
from deepnb.running.thread import Thread, brought_messages, brought_text
from deepnb.running.workspace import Workspace
from deepnb.session.part import BackendFiles
from deepnb.values.budget import Budget, growth
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.offload import BroughtBack, Flush, HistorySection, HistorySections, Offload
from deepnb.values.text import excerpt, moment
from deepnb.values.turn import Compacted, Event, Flushed
from deepnb.values.xray import Stack, Xray, nodes

T = TypeVar("T")

NO_REQUESTS = "the requests of this session were not recorded"
FIXED = ("system", "memory", "skills", "tools")
"""The parts of a request that no compaction shortens."""
SYNTAX = "%agent history --bring SECTION[:MESSAGES], e.g. --bring 1 or --bring 1:2,5-7"
_TURNS = 8
_ROOM = 500
"""Tokens that are left for the prompt and its answer, beside what is brought back."""


class SessionContext:
    """What a session does with the context of its current thread, and with what left it, word for word."""

    _workspace: Workspace

    def budget(self) -> Budget | None:
        """What the next request holds before its prompt; None before the first model call."""
        from deepnb.session.tools import name_of

        work = self._workspace
        budgets = [t.budget for t in work.thread.turns if t.budget is not None]
        if not budgets:
            return None
        own, grown = tuple(map(name_of, work.options.tools)), growth([b.total for b in budgets])
        last, there = budgets[-1], self._upcoming()
        found = replace(last if there is None else there, reported=last.reported, sent=last.total)
        return replace(found, growth=grown, rule=work.built.rule, own_tools=own)

    def _upcoming(self, update: Mapping[str, Any] | None = None) -> Budget | None:
        """The next request of the thread as it stands, or with an `update`; None where nobody can say."""
        from deepnb.wiring.requests import upcoming

        work = self._workspace
        thread, options, turn = work.thread, work.options, work.thread.turns[-1]
        if turn.budget is None or turn.budget.request is None or work.current.is_served or work.current.plays(thread):
            return None
        before = [*brought_messages(thread.added), *work.catalogs.before_prompt(work.catalogs.pinned(thread))]
        values = {**work.state.last_values(thread), **(update or {})}
        try:
            return upcoming(work.built, values, before, turn.budget.request, own=options.graph is None)
        except DeepnbError:  # a memory file that can't be read, which the next turn will say
            return None

    def xray(self, turn: int | None = None, call: int | None = None) -> Xray:
        """What a model call was sent, piece by piece, and what changed since the one before it.

        The last call for an answer, that of turn `turn`, or call `call` of it, both counted from 1.
        """
        turns = self._workspace.turns
        sent = [(t.number, c) for t in turns for c in t.requested]
        if not sent and (self._workspace.current.read_only or any(t.calls for t in turns)):
            raise NotFoundError(NO_REQUESTS, "%agent budget shows an estimate by part")
        if not sent:
            raise NotFoundError("no model calls yet", "%agent PROMPT makes one")
        at = turn if turn is not None else sent[-1][0]
        if not (there := [c for number, c in sent if number == at]):
            what = f"no model call in turn {at}: choose a turn from 1 to {sent[-1][0]}"
            raise NotFoundError(what, "%agent turns lists them")
        answers = [c for c in there if c.purpose == "answer" and not c.path] or there
        chosen = answers[-1] if call is None else next((c for c in there if c.number == call), None)
        if chosen is None:
            numbers = ", ".join(str(c.number) for c in there)
            raise NotFoundError(f"no call {call} in turn {at}: its calls are {numbers}", "%agent budget lists them")
        assert chosen.request is not None
        place = next(i for i, (number, c) in enumerate(sent) if number == at and c is chosen)
        same_kind = ((n, c) for n, c in reversed(sent[:place]) if (c.path, c.purpose) == (chosen.path, chosen.purpose))
        if (earlier := next(same_kind, None)) is None:
            return Xray(at, chosen, chosen.request)
        number, before = earlier
        since = f"call {before.number}" if number == at else f"turn {number}, call {before.number}"
        caching = self._workspace.built.caching if before.model == chosen.model else None
        return Xray(at, chosen, chosen.request, before.request, since, caching)

    def requests(self) -> list[tuple[int, int]]:
        """The calls of the thread whose request was kept, oldest first: turn and call, as `xray` takes them."""
        return [(turn.number, call.number) for turn in self._workspace.turns for call in turn.requested]

    def stack(self) -> Stack:
        """The layers of the main agent in the order a request passes them, with what each added to the last one."""
        from deepnb.wiring.requests import stack

        sent, work = self.xray() if self.requests() else None, self._workspace
        built, graph = work.built, work.options.graph
        found = stack(built.stack, [name for name, _ in built.tools], built.model, sent, own=not graph)
        if graph is None:
            return found
        from deepnb.engine import keys

        # What each of the last turns changed in the state, beside what is shown elsewhere.
        shown = {keys.MESSAGES, keys.FILES, *keys.OF_MEMORY, keys.SKILLS, keys.SKILL_ERRORS, keys.OFFLOAD}
        turns, before, channels = work.thread.turns[-_TURNS:], dict[str, str](), list[tuple[str, int, str]]()
        for number, state in ((0, turns[0].before), *((turn.number, turn.after) for turn in turns)) if turns else ():
            values = work.state.values_at(state) if state.checkpoint else {}
            texts = {name: redact(repr(value)) for name, value in values.items() if name not in shown}
            changed = [name for name, text in texts.items() if number and text != before.get(name)]
            channels += ((name, number, excerpt(texts[name])) for name in changed)
            before = texts
        return replace(found, nodes=nodes(*graph.shape, work.thread.snapshot.next), channels=tuple(channels))

    def compact(self, tell: Callable[[Event], None] = lambda event: None) -> Offload:
        """Compact the current thread now, all but its last turn: flush, offload, summary, as at the trigger.

        Where that would not make the next request smaller, an error says so and the thread is as it was; what the flush
        noted stays. `tell` is given each event as it happens.
        """
        work, thread = self._workspace, self._finished("compact", "%agent compact")
        work.need("compaction by hand")
        built, events = work.built, list[Event]()
        compaction = built.compaction
        assert compaction is not None

        def happened(event: Event) -> None:
            events.append(event)
            tell(event)

        def total(update: Mapping[str, Any]) -> int | None:
            budget = self._upcoming(update)
            return budget.total if budget else None

        try:
            graph = built.graph.compiled
            done = self._apart(thread, lambda v: compaction.compact(graph, v, thread.name, total, happened), happened)
            if done is None:
                do = "%agent budget shows what fills the context"
                raise NotFoundError("nothing to compact before the last turn", do)
            update, made = done
            work.state.write_values(thread, update)
            self._keep(thread, events)
            return made
        finally:
            work.current.tell()

    def flush(self) -> Flush:
        """Add what is worth keeping from the current thread to today's note; its context stays the same."""
        work, thread = self._workspace, self._finished("flush", "%memory flush")
        work.need("flush")
        built, compaction = work.built, work.built.compaction
        if compaction is None or not work.options.enable_memory:
            raise RefusedError("memory is switched off", "deepnb.Session(enable_memory=True)")
        events = list[Event]()
        try:
            graph, at = built.graph.compiled, work.current.now()
            made = self._apart(thread, lambda values: compaction.flush(graph, values, at), events.append)
            if made is None:
                return Flush(note_path(work.current.now()))
            work.state.read_checkpoint(thread)
            self._keep(thread, [*events, Flushed(made)])
            return made
        finally:
            work.current.tell()

    def _finished(self, what: str, typed: str) -> Thread:
        self._workspace.current.idle()
        thread = self._workspace.thread
        if thread.unfinished:
            raise BusyError("the last turn is not finished", f"%agent resume, then {typed}")
        if not thread.turns:
            raise NotFoundError(f"nothing to {what}: the thread has no turns yet", "%agent PROMPT starts one")
        return thread

    def _apart(self, thread: Thread, act: Callable[[Mapping[str, Any]], T], tell: Callable[[Event], None]) -> T:
        """Return what is done with a thread's values outside its graph; calls of models are told of all the same."""
        from langchain_core.runnables import RunnableLambda

        from deepnb.engine.listen import Listener

        work = self._workspace
        values = work.state.values(thread)
        work.backend.begin()
        runnable: RunnableLambda[object, T] = RunnableLambda(lambda _: act(values))
        return runnable.invoke(None, {"callbacks": [Listener(tell, recorder(work, thread, work.built))]})

    def _keep(self, thread: Thread, events: Sequence[Event]) -> None:
        from deepnb.running.play import joined, usage

        happened = tuple(joined(events))
        self._workspace.transcripts.outside(thread.name, thread.snapshot.messages, happened)
        self._workspace.threads.add(thread, happened, usage(happened))

    # -- the offloaded history: its sections, and bringing messages of them back

    def history(self) -> tuple[HistorySection, ...]:
        """What was offloaded from the current thread, by time."""
        work = self._workspace
        made = [e.offload for t in work.turns for e in t.events if isinstance(e, Compacted) and not e.path]
        last = work.snapshot.offload
        if last is not None and all((one.cutoff, one.summary) != (last.cutoff, last.summary) for one in made):
            made.append(last)
        path = (last and last.path) or f"{PREFIX}{work.thread.name}.md"
        text = BackendFiles(work.backend).get(path, "")
        found = sorted(sections(path, text) or upstream_sections(path, text), key=lambda one: moment(one.at))
        out = []  # each with its compaction: that of its time, or one that does not say its time; the newest to the newest
        for one in reversed(found):
            at = next((i for i in range(len(made))[::-1] if made[i].at in (one.at, "")), None)
            out.append(one if at is None else replace(one, offload=made.pop(at)))
        return HistorySections(out[::-1])

    @property
    def brought_back(self) -> BroughtBack | None:
        """What is added to the next prompt of the current thread."""
        return self._workspace.thread.added

    def bring_back(self, section: int | None, messages: Iterable[int] | None = None) -> BroughtBack | None:
        """Add messages of a section of the history to the next prompt, verbatim.

        Sections and messages count from 1; without `messages` all of them, beside those that wait there
        already. None in the place of a section takes them all away again.
        """
        work = self._workspace
        work.current.idle()
        work.thread.brought = None if section is None else self._brought(section, messages)
        work.current.tell()
        return self.brought_back

    def _brought(self, section: int, numbers: Iterable[int] | None) -> BroughtBack:
        from deepnb.engine.request import MESSAGE_TOKENS

        there, meter = self.brought_back, self._workspace.built.meter
        if not (sections := self.history()):
            raise NotFoundError("nothing is offloaded yet", "%agent history")
        if not 1 <= section <= len(sections):
            raise NotFoundError(f"no section {section}: choose from 1 to {len(sections)}", "%agent history lists them")
        items = {item.number: item for item in sections[section - 1].items}
        wanted = list(items) if numbers is None else list(numbers)
        if not wanted:
            raise InvalidError(f"choose at least one message of section {section}", SYNTAX)
        for missing in (n for n in wanted if n not in items):
            raise NotFoundError(f"section {section} has no message {missing}: choose from 1 to {len(items)}", SYNTAX)
        chosen = dict.fromkeys([*(there.messages if there else ()), *((section, items[n]) for n in wanted)])
        messages = tuple(sorted(chosen, key=lambda pair: (pair[0], pair[1].number)))
        tokens = meter.count(brought_text(messages)) + MESSAGE_TOKENS
        brought = BroughtBack(str(uuid4()), messages, tokens, meter.counter.exact)
        limit, budget = self._workspace.built.rule.trigger_tokens, self.budget()
        fixed = sum(budget.parts.get(part, 0) for part in FIXED) if budget else 0
        room = None if limit is None else max(0, limit - fixed - _ROOM)
        if room is not None and tokens > room:
            left = f"{room:,} token{'s are' if room != 1 else ' is'} left below the trigger"
            raise LimitError(f"{brought.line} does not fit: {left}", f"choose fewer: {SYNTAX}")
        return brought
