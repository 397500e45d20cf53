"""Questions about tables as data workers type them, with the true answers by pandas: what judges the offline model.

`python -m tests.support.table_questions COUNT SEED` asks them, and prints each wrong answer and how many were right.

A template is a text with slots; what stands in brackets names the table, and is left out where the table is the only
one in the kernel, or the one spoken of before. `GROUPS` is a truth with the texts that ask for it; of those in `REFUSE`
only a refusal is right.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pandas as pd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from deepnb.models.resolve import resolve
from deepnb.values.turn import CodeOutput
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.kernel import PlainKernel
from deepnb.workshop.namespace import namespace_tools
from tests.support.question_tables import tables
from tests.support.table_questions_unseen import GROUPS, REFUSE
from tests.support.table_slots import Slots, UnfitError
from tests.support.table_verdicts import Truth, Verdict, verdict


@dataclass(frozen=True)
class Pair:
    question: str
    table: str
    kernel: tuple[str, ...]
    truth: Truth
    template: str
    earlier: str = ""


def pairs(count: int, seed: int) -> list[Pair]:
    """Questions of all templates in turn, over tables that fit them; the same for the same seed."""
    rng = random.Random(seed)
    flat = [(truth, text) for truth, texts in GROUPS for text in texts]
    made: list[Pair] = []
    order: list[int] = []
    while len(made) < count:
        order = order or rng.sample(range(len(flat)), len(flat))
        truth, text = flat[order.pop()]
        made.append(_drawn(text, truth, rng, text in REFUSE))
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

_CALLS = 12


def ask(pair: Pair) -> str:
    """What the user reads: what approved code put out, then the answer."""
    kernel = _kernel()
    kernel.restart(pair)
    messages: list[BaseMessage] = [SystemMessage("You are an agent in the user's notebook.")]
    for prompt in filter(None, (pair.earlier, pair.question)):
        messages.append(HumanMessage(prompt))
        said = kernel.answer(messages)
    return said


def _namespace(pair: Pair) -> dict[str, Any]:
    """The variables of a kernel: tables of its own, which code may change."""
    values = {name: tables()[name].value for name in pair.kernel}
    return {"pd": pd} | {name: one.copy() if isinstance(one, pd.DataFrame) else one for name, one in values.items()}


class _Kernel:
    """One kernel, and the model with its tools, which are made once; its variables are made for each question."""

    def __init__(self) -> None:
        self.kernel = PlainKernel({})
        self.shown: list[str] = []
        made = [*namespace_tools(self.kernel.namespace), *code_tools(self)]
        self.tools = {one.name: one for one in map(tool, made)}
        self.model = resolve("offline").model.bind_tools(list(self.tools.values()))
        self.seen: dict[str, str] = {}

    def restart(self, pair: Pair) -> None:
        self.kernel.namespace.clear()
        self.kernel.namespace.update(_namespace(pair))

    def live(self, output: CodeOutput) -> None:
        self.shown.append(output.text or str(output.data.get("text/plain", "")))

    def code_ran(self, names: object) -> None:
        """Keep nothing: there is no undo."""

    def answer(self, messages: list[BaseMessage]) -> str:
        self.shown.clear()
        for _ in range(_CALLS):
            said = self.model.invoke(messages)
            messages.append(said)
            assert isinstance(said, AIMessage)
            if not said.tool_calls:
                return "\n".join([*self.shown, str(said.text)])
            messages.extend(self._called(call) for call in said.tool_calls)
        return "(no end of calls)"

    def _called(self, call: Any) -> ToolMessage:
        """The result of a call; what a tool said about one table is kept, as it would say it again."""
        key = json.dumps([call["name"], call["args"]], sort_keys=True, default=str)
        if key in self.seen:
            return ToolMessage(self.seen[key], name=call["name"], tool_call_id=call["id"])
        result: ToolMessage = self.tools[call["name"]].invoke({**call, "type": "tool_call"})
        alone = call["name"] == "inspect_variable" or (call["name"] == "query_table" and "join" not in call["args"])
        if alone and not str(result.content).startswith("Error"):
            self.seen[key] = str(result.content)
        return result


@cache
def _kernel() -> _Kernel:
    return _Kernel()


def play_all(asked: Sequence[Pair]) -> list[tuple[Pair, str, Verdict]]:
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
