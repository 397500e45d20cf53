"""The offloaded history of the current thread: its sections, and bringing messages of them back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import uuid4

from deepnb.context import history, upstream_history
from deepnb.running.thread import brought_text
from deepnb.running.workspace import Workspace
from deepnb.session.context import SessionContext
from deepnb.session.files import BackendFiles
from deepnb.values.clock import moment
from deepnb.values.errors import InvalidError, LimitError, NotFoundError
from deepnb.values.offload import BroughtBack, HistoryMessage, HistorySection, HistorySections, Offload
from deepnb.values.turn import Compacted

SYNTAX = "%agent history --bring SECTION[:MESSAGES], e.g. --bring 1 or --bring 1:2,5-7"

_ROOM = 500
"""Tokens that are left for the prompt and its answer."""


class SessionHistory:
    """What left the prompt of the current thread, word for word."""

    def __init__(self, workspace: Workspace, context: SessionContext) -> None:
        self._workspace = workspace
        self._context = context

    def sections(self) -> HistorySections:
        """What was offloaded, by time, each with the compaction it came of."""
        work = self._workspace
        made = [e.offload for t in work.turns for e in t.events if isinstance(e, Compacted) and not e.path]
        last = work.snapshot.offload
        if last is not None and all((one.cutoff, one.summary) != (last.cutoff, last.summary) for one in made):
            made.append(last)
        path = (last and last.path) or f"{history.PREFIX}{work.thread.name}.md"
        text = BackendFiles(work.backend).get(path, "")
        found = sorted(
            history.sections(path, text) or upstream_history.sections(path, text), key=lambda one: moment(one.at)
        )
        return HistorySections(_joined(found, made))

    @property
    def brought_back(self) -> BroughtBack | None:
        """What is added to the next prompt."""
        return self._workspace.thread.added

    def bring_back(self, section: int | None, messages: Iterable[int] | None = None) -> BroughtBack | None:
        """Put messages of a section before the next prompt, beside those that wait there; None takes all away."""
        work = self._workspace
        work.current.idle()
        work.threads.bring(work.thread, None if section is None else self._brought(section, messages))
        work.current.tell()
        return self.brought_back

    def _brought(self, section: int, numbers: Iterable[int] | None) -> BroughtBack:
        from deepnb.engine.request import MESSAGE_TOKENS

        there, meter = self.brought_back, self._workspace.built.meter
        chosen = dict.fromkeys([*(there.messages if there else ()), *_chosen(self.sections(), section, numbers)])
        messages = tuple(sorted(chosen, key=lambda pair: (pair[0], pair[1].number)))
        tokens = meter.count(brought_text(messages)) + MESSAGE_TOKENS
        brought = BroughtBack(str(uuid4()), messages, tokens, meter.counter.exact)
        room = self._room()
        if room is not None and tokens > room:
            raise LimitError(
                f"{brought.line} does not fit: {room:,} token{'s are' if room != 1 else ' is'} left below the trigger",
                f"choose fewer: {SYNTAX}",
            )
        return brought

    def _room(self) -> int | None:
        """Tokens between what every request holds and the trigger; None where no window is known."""
        limit = self._workspace.built.rule.trigger_tokens
        return None if limit is None else max(0, limit - self._context.fixed() - _ROOM)


def _chosen(
    sections: Sequence[HistorySection], section: int, numbers: Iterable[int] | None
) -> list[tuple[int, HistoryMessage]]:
    if not sections:
        raise NotFoundError("nothing is offloaded yet", "%agent history")
    if not 1 <= section <= len(sections):
        raise NotFoundError(f"no section {section}: choose from 1 to {len(sections)}", "%agent history lists them")
    items = {item.number: item for item in sections[section - 1].items}
    wanted = list(items) if numbers is None else list(numbers)
    if not wanted:
        raise InvalidError(f"choose at least one message of section {section}", SYNTAX)
    for missing in (n for n in wanted if n not in items):
        raise NotFoundError(f"section {section} has no message {missing}: choose from 1 to {len(items)}", SYNTAX)
    return [(section, items[n]) for n in wanted]


def _joined(found: Sequence[HistorySection], made: list[Offload]) -> list[HistorySection]:
    """Each section with its compaction: that of its time, or one that does not say its time; of several the newest to the newest."""
    out = []
    for one in reversed(found):
        at = next((i for i in range(len(made))[::-1] if made[i].at in (one.at, "")), None)
        out.append(one if at is None else replace(one, offload=made.pop(at)))
    return out[::-1]
