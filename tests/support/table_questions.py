"""Questions about tables as data workers type them, with the true answers by pandas: what judges the offline model.

`python -m tests.support.table_questions [--count 2000] [--seed 1] [--templates main|unseen] [--session]` asks them and
prints how many answers were right, refused and wrong, by template, and each wrong one.

A template is a text with slots; what stands in brackets names the table, and is left out where the table is the only
one in the kernel, or the one spoken of before. `GROUPS` is a truth with the texts that ask for it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tests.support.question_tables import tables
from tests.support.table_slots import Slots, UnfitError
from tests.support.table_templates import GROUPS
from tests.support.table_verdicts import Truth, Verdict


@dataclass(frozen=True)
class Pair:
    """A question about the tables of a kernel, and what is true."""

    question: str
    table: str
    kernel: tuple[str, ...]
    """The variables that are there."""
    truth: Truth
    template: str
    earlier: str = ""
    """What was asked before it, in the same thread."""


Group = tuple[Callable[[Slots], Truth], Sequence[str]]


def pairs(count: int, seed: int, written: Sequence[Group] = GROUPS, refuse: Sequence[str] = ()) -> list[Pair]:
    """Questions of all templates in turn, over tables that fit them; the same for the same seed.

    Of templates in `refuse` only a refusal is right.
    """
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


def play_all(
    asked: Sequence[Pair], is_refusal: Any = None, *, session: bool = False
) -> list[tuple[Pair, str, Verdict]]:
    """Ask all; each pair with its answer and the verdict."""
    from tests.support.table_player import ask
    from tests.support.table_verdicts import is_refusal as usual
    from tests.support.table_verdicts import verdict

    played = []
    for pair in asked:
        answer = ask(pair, session=session)
        played.append((pair, answer, verdict(pair.truth, answer, is_refusal or usual)))
    return played


def main(given: Mapping[str, Any]) -> None:
    refuse: Sequence[str] = ()
    written = GROUPS
    if given["templates"] == "unseen":
        from tests.support import table_questions_unseen as unseen  # type: ignore[attr-defined]

        written, refuse = unseen.GROUPS, unseen.REFUSE
    played = play_all(pairs(given["count"], given["seed"], written, refuse), session=given["session"])
    frame = pd.DataFrame([(pair.template, verdict) for pair, _, verdict in played], columns=["template", "verdict"])
    order = ["right", "refused", "wrong"]
    by = frame.value_counts().unstack(fill_value=0).reindex(columns=order, fill_value=0)
    for pair, answer, verdict in played:
        if verdict == "wrong":
            before = f"\n  after: {pair.earlier}" if pair.earlier else ""
            print(f"WRONG {pair.question}  ({pair.table} of {', '.join(pair.kernel)}){before}")
            print(f"  said: {answer[:400]!r}\n  true: {pair.truth}")
    for text, (right, refused, wrong) in sorted(by.iterrows(), key=lambda one: tuple(one[1])):
        print(f"{right:4} right {refused:4} refused {wrong:4} wrong  {text}")
    print(", ".join(f"{int(by[one].sum())} {one}" for one in order), "of", len(played))


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description="Ask the offline model about tables.")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--templates", choices=("main", "unseen"), default="main")
    parser.add_argument("--session", action="store_true", help="ask a whole session: slower, and the same answers")
    main(vars(parser.parse_args()))
