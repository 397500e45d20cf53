"""Legs made one: reciprocal ranks, or weighted scores; hits of any leg are joined, none is cut off.

Reciprocal rank fusion: Cormack, Clarke and Buettcher, 2009; their constant 60 is for lists of a thousand
documents, ours is 10, since the first few are what a prompt has room for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepnb.search.keys import Keys, Scores
from deepnb.search.scoring import unique

RANK = 10
FINE, COARSE = 0.2, 1.8
"""The weights of a leg's scores in documents, whose coarse score knows of the unit, too. In talks and notes each is 1."""
EXACT = 8.0
"""The weight of an exact identifier: more than all the others, so that none hides it."""
RARE = 5
"""In how many files an identifier may be to have all of that weight beside other words."""
FACT = 6
"""Words of a query that asks for one fact. In a longer one an identifier is a word beside others."""
DATED = 4.0
"""What a unit of the very day that is asked about gains, as a part of its score."""


@dataclass(frozen=True)
class Leg:
    """What one leg found: units in the order of their keys, scores above 0 for those it found."""

    keys: Keys
    scores: Scores
    weight: float | Scores = 1.0
    """Of the leg, or of each unit in it."""

    def where(self, kept: NDArray[np.bool_]) -> Leg:
        """The leg with some of its units."""
        weight = self.weight[kept] if isinstance(self.weight, np.ndarray) else self.weight
        return Leg(self.keys[kept], self.scores[kept], weight)

    def on(self, keys: Keys, values: float | Scores) -> Scores:
        """A value of each unit, 0 for the others of `keys`."""
        found = np.zeros(len(keys))
        found[np.searchsorted(keys, self.keys)] = values
        return found


def focus(words: int) -> float:
    """How far a query of so many words asks for one fact (1) and how far for a topic (towards 0)."""
    return min(1.0, FACT / max(words, 1)) ** 2


def rarity(files: int) -> float:
    """What an identifier in so many files counts: "I/O" and "X11" are words, though they look like one."""
    return min(1.0, RARE / max(files, 1)) ** 3


def by_rank(legs: Mapping[str, Leg]) -> tuple[Keys, Scores]:
    """The sum of weight / (RANK + rank), rank 1 being the best, and ties having the same.

    The exact leg counts by its score in place of its rank, so that the file's name alone is less than its path.
    """
    keys = _union(legs)
    total = np.zeros(len(keys))
    for name, leg in legs.items():
        scores = leg.on(keys, leg.scores)
        if name == "exact":
            total += leg.on(keys, leg.weight) * _of_best(scores) / (RANK + 1)
            continue
        ordered = np.sort(-scores[scores > 0])
        ranks = np.searchsorted(ordered, -scores, side="left") + 1
        total += np.where(scores > 0, leg.on(keys, leg.weight) / (RANK + ranks), 0.0)
    return keys, total


def by_weight(legs: Mapping[str, Leg], vector_weight: float, text_weight: float) -> tuple[Keys, Scores]:
    """vector_weight x cosine + text_weight x text score + an exact identifier, the text's best being 1."""
    keys = _union(legs)
    text, vector, exact = np.zeros(len(keys)), np.zeros(len(keys)), np.zeros(len(keys))
    for name, leg in legs.items():
        scores = leg.on(keys, leg.scores)
        if name == "vector":
            vector = np.clip(scores, 0.0, 1.0)
        elif name == "exact":
            exact = _of_best(scores)
        else:
            text += leg.on(keys, leg.weight) * _of_best(scores)
    return keys, vector_weight * vector + text_weight * _of_best(text) + (vector_weight + text_weight) * exact


def dated(near: Scores, keys: Keys, exact: Leg | None) -> Scores:
    """What the score of each unit is multiplied by, given how near it is to the day that is asked about.

    A unit with an identifier of the query stays above all those without: it is raised by as much as they can be.
    """
    raised = 1 + DATED * near
    if exact is not None:
        raised = raised * np.where(exact.on(keys, exact.scores) > 0, 1 + DATED, 1.0)
    return np.asarray(raised, np.float64)


def _of_best(scores: Scores) -> Scores:
    """Scores as parts of the best one."""
    return scores / scores.max() if len(scores) and scores.max() > 0 else scores


def _union(legs: Mapping[str, Leg]) -> Keys:
    every = [leg.keys for leg in legs.values()]
    return unique(np.concatenate(every)) if every else np.empty(0, np.int64)
