"""Anchors as text, in a bound of tokens."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import get_args

from deepnb.values.anchors.values import Anchor, AnchorBlock, Kind

Count = Callable[[str], int]

_LABELS: dict[Kind, str] = {
    "prohibition": "The user said",
    "statement": "The user said",
    "path": "Paths",
    "identifier": "Identifiers",
    "number": "Numbers",
    "date": "Dates",
    "name": "Names",
}
SAID: tuple[Kind, ...] = ("prohibition", "statement")
"""Kinds that are sentences of the user's."""
OPEN, CLOSE = "<anchors>", "</anchors>"
_LEAD = "Word for word from the part that was summarized:"
_BETWEEN = " | "


def anchor_block(anchors: Sequence[Anchor], room: int, count: Count, path: str | None, more: int = 0) -> AnchorBlock:
    """The anchors as text of at most `room` tokens: what the user said first, then kinds in turn, the newest first.

    What stands in a sentence of the user's is not said again. What has no room is named by number, with the file that
    holds it; `path` is that file, and `more` how many others it holds.
    """
    if not anchors:
        return AnchorBlock()
    said = [a.text for a in anchors if a.kind in SAID]
    anchors = [a for a in anchors if a.kind in SAID or not any(a.text in sentence for sentence in said)]
    whole = AnchorBlock(_text(anchors, more, path, phrases=True), tuple(anchors))
    if count(whole.text) <= room:
        return whole
    labels = {kind: count(f"\n{label}:") for kind, label in _LABELS.items()}
    costs = {a: count(f"\n{_LABELS[a.kind]}: {a.text}" if a.kind in SAID else _BETWEEN + a.text) for a in anchors}
    shown, hidden, new = list[Anchor](), list(_by_rank(anchors)), {*anchors}
    while new:  # parts cost more than the whole, so that there is some room again
        left, new, begun = (
            room - count(_text(shown, len(hidden) + more, path)),
            set(),
            {*SAID, *(a.kind for a in shown)},
        )
        for one in hidden:
            if (cost := costs[one] + (0 if one.kind in begun else labels[one.kind])) <= left:
                new.add(one)
                begun.add(one.kind)
                left -= cost
        shown += [one for one in hidden if one in new]
        hidden = [one for one in hidden if one not in new]
    while shown and count(_text(shown, len(hidden) + more, path)) > room:
        hidden.insert(0, shown.pop())
    return AnchorBlock(_text(shown, len(hidden) + more, path), tuple(shown), tuple(hidden))


def _text(anchors: Sequence[Anchor], hidden: int, path: str | None, *, phrases: bool = False) -> str:
    lines = [OPEN, _LEAD]
    for kind in get_args(Kind):
        texts = [(a.phrase or a.text) if phrases else a.text for a in anchors if a.kind == kind]
        if kind in SAID:
            lines += [f"{_LABELS[kind]}: {t}" for t in texts]
        elif texts:
            lines.append(f"{_LABELS[kind]}: {_BETWEEN.join(texts)}")
    if hidden:
        lines.append(f"({hidden} more {'are' if hidden > 1 else 'is'} {f'in {path}' if path else 'left out'})")
    return "\n".join([*lines, CLOSE])


def _by_rank(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Prohibitions, statements, then one of each kind in turn; within a kind the newest first."""
    by_kind = {kind: [a for a in reversed(anchors) if a.kind == kind] for kind in get_args(Kind)}
    turns = zip_longest(*(by_kind[k] for k in by_kind if k not in SAID))
    return [*(a for kind in SAID for a in by_kind[kind]), *(a for turn in turns for a in turn if a is not None)]
