"""Legs made one: reciprocal ranks, or weighted scores; hits of any leg are joined, none is cut off.

Reciprocal rank fusion: Cormack, Clarke and Buettcher, 2009; their constant 60 is for lists of a thousand
documents, ours is 10, since the first few are what a prompt has room for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepnb.search.keys import Keys, Scores
from deepnb.search.scoring import unique

RANK = 10
COARSE = 1.0
"""The say of a leg's coarse score beside its fine one."""
EXACT = 8.0
"""The say of an exact identifier: more than all the others, so that none hides it."""
DATED = 4.0
"""What a unit of the very day that is asked about gains, as a part of its score."""


@dataclass(frozen=True)
class Leg:
    """What one leg found: units in the order of their keys, scores above 0 for those it found."""

    keys: Keys
    scores: Scores
    weight: float = 1.0


def by_rank(legs: Mapping[str, Leg]) -> tuple[Keys, Scores]:
    """The sum of weight / (RANK + rank), rank 1 being the best, and ties having the same."""
    keys = _union(legs)
    total = np.zeros(len(keys))
    for leg in legs.values():
        scores = _on(keys, leg)
        ordered = np.sort(-scores[scores > 0])
        ranks = np.searchsorted(ordered, -scores, side="left") + 1
        total += np.where(scores > 0, leg.weight / (RANK + ranks), 0.0)
    return keys, total


def by_weight(legs: Mapping[str, Leg], vector_weight: float, text_weight: float) -> tuple[Keys, Scores]:
    """vector_weight x cosine + text_weight x text score + an exact identifier, the text's best being 1."""
    keys = _union(legs)
    text, vector, exact = np.zeros(len(keys)), np.zeros(len(keys)), np.zeros(len(keys))
    for name, leg in legs.items():
        scores = _on(keys, leg)
        if name == "vector":
            vector = np.clip(scores, 0.0, 1.0)
        elif name == "exact":
            exact = scores / (scores.max() if len(scores) and scores.max() > 0 else 1.0)
        else:
            text += leg.weight * scores / (scores.max() if len(scores) and scores.max() > 0 else 1.0)
    text /= text.max() if len(text) and text.max() > 0 else 1.0
    return keys, vector_weight * vector + text_weight * text + (vector_weight + text_weight) * exact


def dated(near: Scores, keys: Keys, exact: Leg | None) -> Scores:
    """What the score of each unit is multiplied by, given how near it is to the day that is asked about.

    A unit with an identifier of the query stays above all those without: it is raised by as much as they can be.
    """
    raised = 1 + DATED * near
    if exact is not None:
        raised = raised * np.where(_on(keys, exact) > 0, 1 + DATED, 1.0)
    return np.asarray(raised, np.float64)


def _union(legs: Mapping[str, Leg]) -> Keys:
    every = [leg.keys for leg in legs.values()]
    return unique(np.concatenate(every)) if every else np.empty(0, np.int64)


def _on(keys: Keys, leg: Leg) -> Scores:
    scores = np.zeros(len(keys))
    scores[np.searchsorted(keys, leg.keys)] = leg.scores
    return scores
