"""Questions about tables as data workers type them, with the true answers by pandas: what judges the offline model.

`python -m tests.support.table_questions COUNT SEED` asks them, and prints each wrong answer and how many were right.

A template is a text with slots; what stands in brackets names the table, and is left out where the table is the only
one in the kernel, or the one spoken of before. `GROUPS` is a truth with the texts that ask for it.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.support.question_tables import tables
from tests.support.table_slots import Slots, UnfitError
from tests.support.table_templates import GROUPS
from tests.support.table_verdicts import Truth, Verdict, verdict


@dataclass(frozen=True)
class Pair:
    question: str
    table: str
    kernel: tuple[str, ...]
    truth: Truth
    template: str
    earlier: str = ""


Group = tuple[Callable[[Slots], Truth], Sequence[str]]


def pairs(count: int, seed: int, written: Sequence[Group] = GROUPS, refuse: Sequence[str] = ()) -> list[Pair]:
    """Questions of all templates in turn, over tables that fit them; the same for the same seed."""
    rng = random.Random(seed)
    flat = [(truth, text) for truth, texts in written for text in texts]
    made: list[Pair] = []
    order: list[int] = []
    while len(made) < count:
        order = order or rng.sample(range(len(flat)), len(flat))
        truth, text = flat[order.pop()]
        made.append(_drawn(text, truth, rng, text in refuse))
    return made


def _drawn(text: str, truth: Callable[[Slots], Truth], rng: random.Random, refuse: bool) -> Pair:
    known = list(tables().values())
    for _ in range(400):
        table = rng.choice(known)
        s = Slots(table, rng)
        place = rng.choice(("named", "named", "named", "only", "last")) if "[" in text else "named"
        named = re.sub(r"\[(.*?)\]", r"\1" if place == "named" else "", text)
        try:
            question = re.sub(r"\{(\w+)\}", lambda one, s=s: s[one[1]], named)  # type: ignore[misc]
            true = replace(truth(s), refuse=refuse)
        except UnfitError:
            continue
        others = rng.sample([one for one in tables() if one != table.name], 0 if place == "only" else rng.randint(1, 2))
        kernel = tuple(rng.sample([table.name, *others], len(others) + 1))
        earlier = (
            rng.choice(("describe {}", "how many rows does {} have?")).format(table.name) if place == "last" else ""
        )
        return Pair(question, table.name, kernel, true, text, earlier)
    raise AssertionError(f"no table fits {text!r}")


# -- asking


def play_all(asked: Sequence[Pair]) -> list[tuple[Pair, str, Verdict]]:
    """Ask all; each pair with its answer and the verdict."""
    from tests.support.table_player import ask

    answers = [(pair, ask(pair)) for pair in asked]
    return [(pair, answer, verdict(pair.truth, answer)) for pair, answer in answers]


if __name__ == "__main__":
    count, seed = map(int, sys.argv[1:])
    played = play_all(pairs(count, seed))
    for pair, answer, judged in played:
        if judged == "wrong":
            print(f"WRONG {pair.question}  ({pair.table} of {', '.join(pair.kernel)}, after {pair.earlier!r})")
            print(f"  said: {answer[:400]!r}\n  true: {pair.truth}")
    print(Counter(judged for *_, judged in played))
