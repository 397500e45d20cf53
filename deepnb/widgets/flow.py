"""Outputs that grow at their end: few, and whatever comes, little of them is sent again.

Each output holds a run of things, a new run gets a new output. When all outputs are taken, the runs from
some place to the end become one, and those after it are free again: from there where this costs the fewest
bytes for each output it frees. So a thing is sent again about as often as the logarithm of all there is. In
the end the runs are spread over the outputs there are, so that none stays empty that need not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deepnb.views.growing_markdown import Piece
from deepnb.views.view import HasBundle, View
from deepnb.widgets.screen import NOTHING, Output, Screen

_LIGHT = 3.0
"""Units up to which a run is short."""
_FRAME, _FREED = 100, 1.75
"""Characters that an output costs beside what it holds, and how much several free outputs are worth more than one:
chosen by the bytes of `tests/bench/stream.py`."""
_APART = 50_000
"""Characters that a rich output counts for: it is the last to be put together with others."""
_DRAFT = "..."
"""The last run still grows much: the text of an answer in it is sent in the end, and this till then."""


@dataclass(frozen=True)
class Shown:
    """What an output holds, drawn."""

    drawn: str
    words: str
    rich: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    """As an output of its own."""

    @property
    def bundle(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """(MIME type -> data, metadata)."""
        return self.rich or ({"text/html": self.drawn, "text/plain": self.words}, {})

    def text(self) -> str:
        return self.words

    def html(self) -> str:
        return self.drawn

    @cached_property
    def size(self) -> int:
        """Bytes that a message with this takes, without its frame."""
        shown: Sequence[Any] = [self.drawn, self.words] if self.rich is None else self.rich
        return len(json.dumps(shown, ensure_ascii=False, default=str).encode(errors="replace"))


_NOTHING = Shown("", "", NOTHING.bundle)


class Flow:
    """Things shown one below the other in at most `most` outputs; `unit` characters are a short run."""

    def __init__(self, screen: Screen, most: int, unit: int) -> None:
        self._screen, self._most, self._unit = screen, most, unit
        self._runs: list[list[View]] = []
        self._weights: list[int] = []
        self._outputs: list[Output] = []
        self._shown: list[Shown] = []
        self._dirty: set[int] = set()
        self._ended = False

    @property
    def last(self) -> list[View]:
        return self._runs[-1] if self._runs else []

    def is_light(self, run: Sequence[View]) -> bool:
        return sum(map(_weight, run)) <= _LIGHT * self._unit

    def begin(self, thing: View) -> None:
        """A new run, which begins with `thing`."""
        if self._runs:
            self._weights[-1] = sum(map(_weight, self._runs[-1]))
            self._dirty.add(len(self._runs) - 1)
        if len(self._runs) >= self._most:
            self._gather()
        self._runs.append([thing])
        self._weights.append(0)
        self._dirty.add(len(self._runs) - 1)

    def close_block(self) -> None:
        """The last block has ended: its pieces, in outputs of their own while it grew, are one."""
        at = len(self._runs) - 1
        while at > 0:
            above, whole = self._runs[at - 1][-1], self._runs[at][0]
            if not isinstance(above, Piece) or not isinstance(whole, Piece) or above.below is not whole.above:
                return
            if whole.above is None or not whole.above.open:
                return
            whole.markdown, whole.above = above.markdown + whole.markdown, above.above
            self._runs[at - 1 :] = [[*self._runs[at - 1][:-1], whole, *self._runs[at][1:]], *self._runs[at + 1 :]]
            self._weights[at - 1 :] = [sum(map(_weight, self._runs[at - 1])), *self._weights[at + 1 :]]
            at -= 1
            self._dirty |= set(range(at, len(self._outputs)))

    def join(self, thing: View) -> None:
        """`thing` below the others of the last run."""
        self._runs[-1].append(thing)
        self._dirty.add(len(self._runs) - 1)

    def join_above(self, thing: View) -> bool:
        """Put `thing` at the end of the run above the last one, if that is short and can hold it; return whether it is."""
        above = self._runs[-2] if len(self._runs) > 1 else []
        if not above or isinstance(above[-1], Piece | HasBundle) or not self.is_light(above):
            return False
        above.append(thing)
        self._weights[-2] += _weight(thing)
        self._dirty.add(len(self._runs) - 2)
        return True

    def insert(self, thing: View, below: View) -> None:
        """`thing` right above `below`, in the same output."""
        at = self._find(below)
        run = self._runs[at]
        run.insert(next(i for i, one in enumerate(run) if one is below), thing)
        self._weights[at] += _weight(thing)
        self._dirty.add(at)

    def replace(self, old: View, new: View) -> None:
        """`new` where `old` stands."""
        at = self._find(old)
        self._runs[at] = [new if thing is old else thing for thing in self._runs[at]]
        self._dirty.add(at)

    def drop(self) -> None:
        """Take away the last run: what follows stands in its place."""
        self._runs.pop()
        self._weights.pop()
        self._dirty.add(len(self._runs))

    def changed_at(self, thing: View) -> int:
        """Note that `thing` looks otherwise now; return the bytes of its output, 0 where it is to be sent anyway."""
        at = self._find(thing)
        if at in self._dirty:
            return 0
        self._dirty.add(at)
        return self._shown[at].size

    def shrink(self, most: int) -> list[Output]:
        """Keep to so many outputs from now on; gives those after them, which hold nothing of it any more."""
        self._most = most
        while len(self._runs) > most:
            self._gather()
        self._spread(min(most, len(self._outputs)))
        freed = self._outputs[len(self._runs) :]
        del self._outputs[len(self._runs) :], self._shown[len(self._runs) :]
        self._dirty &= set(range(len(self._runs)))
        self.send()
        return freed

    def end(self, more: int = 0) -> None:
        """Nothing more comes: look at everything once more. `more` are outputs that the screen has, which nobody else wants."""
        self._ended = True
        self.close_block()
        self._runs = [_joined(run, blocks=True) for run in self._runs]
        self._spread(len(self._outputs) + more)
        self._dirty = set(range(max(len(self._runs), len(self._outputs))))

    def send(self) -> int:
        """Show what has changed; gives how many bytes that took."""
        sent = 0
        for at in sorted(self._dirty):
            view = self._view(at)
            if at >= len(self._outputs):
                self._outputs.append(self._screen.show(view))
                self._shown.append(view)
            elif view == self._shown[at]:
                continue
            else:
                self._outputs[at].update(view)
                self._shown[at] = view
            sent += view.size
        self._dirty.clear()
        return sent

    def _view(self, at: int) -> Shown:
        if at >= len(self._runs):
            return _NOTHING
        return _drawn(self._runs[at], draft=at == len(self._runs) - 1 and not self._ended)

    def _gather(self) -> None:
        """Make one run of those at the end, from where it costs least for what it frees."""
        count = len(self._runs)
        if count < 2:
            return
        at, least, cost = count - 2, float("inf"), self._weights[-1] + _FRAME
        for start in reversed(range(count - 1)):
            cost += self._weights[start] + _FRAME
            price = cost / (count - 1 - start) ** _FREED
            if price < least:
                at, least = start, price
        self._runs[at:] = [[thing for run in self._runs[at:] for thing in run]]
        self._weights[at:] = [sum(self._weights[at:])]
        self._dirty |= set(range(at, max(count, len(self._outputs))))

    def _spread(self, count: int) -> None:
        """Let `count` outputs hold something, where there are as many things: as few as can be are sent again."""
        at, things = len(self._runs), list[View]()
        while at and len(things) < count - at:
            at -= 1
            things = [*self._runs[at], *things]
        rest = min(count - at, len(things))
        if rest > len(self._runs) - at:
            first, singles = things[: len(things) - rest + 1], things[len(things) - rest + 1 :]
            self._runs[at:] = [first, *([thing] for thing in singles)]
            self._weights[at:] = [sum(map(_weight, run)) for run in self._runs[at:]]
            self._dirty |= set(range(at, len(self._runs)))

    def _find(self, thing: View) -> int:
        return next(at for at in reversed(range(len(self._runs))) if any(other is thing for other in self._runs[at]))


def _joined(run: Sequence[View], blocks: bool = False) -> list[View]:
    """Return the things of a run; pieces of one answer that meet are one piece, or with `blocks` those of one block."""
    out: list[View] = []
    for thing in run:
        last = out[-1] if out else None
        if (
            isinstance(last, Piece)
            and isinstance(thing, Piece)
            and last.below is not None
            and last.below is thing.above
            and (last.below.open or not blocks)
        ):
            out[-1] = last.joined(thing)
        else:
            out.append(thing)
    return out


def _weight(thing: View) -> int:
    if isinstance(thing, HasBundle):  # in a run of its own while that can be
        return _APART
    return len(thing.markdown) if isinstance(thing, Piece) else (len(thing.html()) + len(thing.text())) // 2


def _drawn(run: Sequence[View], draft: bool) -> Shown:
    things = _joined(run)
    if len(things) == 1 and isinstance(things[0], HasBundle):
        return Shown("", things[0].text(), things[0].bundle)
    texts = [_DRAFT if draft and isinstance(thing, Piece) else thing.text() for thing in things]
    return Shown("".join(thing.html() for thing in things), "\n".join(text for text in texts if text))
