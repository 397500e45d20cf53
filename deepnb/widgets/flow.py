"""Outputs that grow at their end: few, and whatever comes, little of them is sent again.

Each output holds a run of things. A new run gets a new output while there are some left, and else
two runs that stand beside each other become one, and those after them move up by one. Which two: the
last ones that together stay under a limit, which doubles with each place before the end. So a thing
is sent again as often as the logarithm of all there is, and an output is never empty.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.views.pieces import Piece
from deepnb.views.view import View
from deepnb.widgets.screen import Output, Screen

_NEAR = 2
"""Runs of one kind are joined this near the end, though there are outputs left."""
_LIGHT, _MORE = 3.0, 0.45
"""Units that two runs together may have to be joined, and how many more for each output that there is: chosen by
the bytes of `tests/stream_bench.py`."""
_DRAFTS, _DRAFT = 1, "..."
"""So many runs at the end still grow much: the text of an answer in them is sent in the end, and this till then."""


@dataclass(frozen=True)
class Shown:
    """What an output holds, drawn."""

    drawn: str
    words: str

    def text(self) -> str:
        return self.words

    def html(self) -> str:
        return self.drawn

    @property
    def size(self) -> int:
        """Bytes that a message with this takes, without its frame."""
        return len(json.dumps([self.drawn, self.words], ensure_ascii=False).encode(errors="replace"))


class Flow:
    """Things shown one below the other in at most `most` outputs; `unit` characters are a short run."""

    def __init__(self, screen: Screen, most: int, unit: int) -> None:
        self._screen, self._most, self._unit = screen, most, unit
        self._runs: list[list[View]] = []
        self._weights: list[int] = []
        self._outputs: list[Output] = []
        self._shown: list[Shown | None] = []
        self._dirty: set[int] = set()
        self._drafts = _DRAFTS

    @property
    def last(self) -> list[View]:
        """The things in the last output."""
        return self._runs[-1] if self._runs else []

    @property
    def changed(self) -> bool:
        """Whether there is something to send."""
        return bool(self._dirty)

    @property
    def light(self) -> bool:
        """Whether the last run is still short."""
        return bool(self._runs) and sum(map(_weight, self._runs[-1])) <= _LIGHT * self._unit

    def begin(self, thing: View) -> None:
        """A new run, which begins with `thing`."""
        if self._runs:
            self._weights[-1] = sum(map(_weight, self._runs[-1]))
        if (at := self._pair()) is not None:
            self._merge(at)
        self._runs.append([thing])
        self._weights.append(0)
        self._dirty |= {len(self._runs) - 1, max(len(self._runs) - 1 - _DRAFTS, 0)}

    def join(self, thing: View) -> None:
        """`thing` below the others of the last run."""
        self._runs[-1].append(thing)
        self._dirty.add(len(self._runs) - 1)

    def replace(self, old: View, new: View) -> None:
        """`new` where `old` stands."""
        at = self._find(old)
        self._runs[at] = [new if thing is old else thing for thing in self._runs[at]]
        self._dirty.add(at)

    def changed_at(self, thing: View) -> int:
        """`thing` looks otherwise now; gives how large its output was when it was last sent, in bytes."""
        at = self._find(thing)
        self._dirty.add(at)
        before = self._shown[at] if at < len(self._shown) else None
        return before.size if before else 0

    def shrink(self, most: int) -> list[Output]:
        """Keep to so many outputs from now on; gives those after them, which hold nothing of it any more."""
        self._most = most
        while len(self._runs) > most:
            self._merge(self._pair() or 0)
        self._dirty &= set(range(len(self._runs)))
        self.send()
        freed = self._outputs[len(self._runs) :]
        del self._outputs[len(self._runs) :], self._shown[len(self._runs) :]
        return freed

    def end(self) -> None:
        """Nothing more comes: everything is looked at once more, and what has not changed is not sent."""
        self._drafts = 0
        self._dirty = set(range(len(self._runs)))

    def send(self) -> int:
        """Show what has changed; gives how many bytes that took."""
        sent = 0
        for at in sorted(self._dirty):
            view = _drawn(self._runs[at], draft=at >= len(self._runs) - self._drafts)
            if at < len(self._outputs):
                if view == self._shown[at]:
                    continue
                self._outputs[at].update(view)
                self._shown[at] = view
            else:
                self._outputs.append(self._screen.show(view))
                self._shown.append(view)
            sent += view.size
        self._dirty.clear()
        return sent

    def _merge(self, at: int) -> None:
        self._runs[at : at + 2] = [_joined(self._runs[at], self._runs[at + 1])]
        self._weights[at : at + 2] = [self._weights[at] + self._weights[at + 1]]
        self._dirty |= set(range(at, len(self._runs)))

    def _find(self, thing: View) -> int:
        return next(at for at in reversed(range(len(self._runs))) if any(other is thing for other in self._runs[at]))

    def _pair(self) -> int | None:
        """The first of the two runs that become one, so that there is room for another; None where there is room."""
        count, full = len(self._runs), len(self._runs) >= self._most
        for before_end in range(1, count):
            at = count - 1 - before_end
            near = before_end <= _NEAR and _alike(self._runs[at][-1], self._runs[at + 1][0])
            light = self._weights[at] + self._weights[at + 1] <= self._unit * _limit(before_end, count)
            if light and (near or full):
                return at
        return max(count - 2, 0) if full and count > 1 else None


def _limit(before_end: int, count: int) -> float:
    """Units that the run this far before the end and the one after it may have together."""
    return _LIGHT if before_end == 1 else (_LIGHT + _MORE * count) * 2 ** (before_end - 2)


def _alike(one: View, other: View) -> bool:
    """Whether two things are pieces of the same answer, or both none of one."""
    if isinstance(one, Piece) and isinstance(other, Piece):
        return one.below is not None and one.below is other.above
    return not isinstance(one, Piece) and not isinstance(other, Piece)


def _joined(one: Sequence[View], other: Sequence[View]) -> list[View]:
    """Two runs as one; pieces of one answer that meet become one piece."""
    last, first = one[-1], other[0]
    if isinstance(last, Piece) and isinstance(first, Piece) and _alike(last, first):
        return [*one[:-1], last.joined(first), *other[1:]]
    return [*one, *other]


def _weight(thing: View) -> int:
    return len(thing.markdown) if isinstance(thing, Piece) else (len(thing.html()) + len(thing.text())) // 2


def _drawn(run: Sequence[View], draft: bool) -> Shown:
    texts = [_DRAFT if draft and isinstance(thing, Piece) else thing.text() for thing in run]
    return Shown("".join(thing.html() for thing in run), "\n".join(text for text in texts if text))
