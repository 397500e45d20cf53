"""Under the default policy no code runs that the user was not shown and did not approve, whatever shape its call has."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from deepnb import DeepnbError, Session
from deepnb.values.approvals import Decision, PendingCall, digest
from tests.support.scripted import Scripted

GREEDY = (
    "s.approvals.rule('run_python', 'allow')",
    "s.approvals.mode('outside')",
    "s.configure(approve={'run_python': 'allow'})",
    "s.configure(tools=[ran.append])",
    "list(s.resume([c.approve(remember=True) for c in s.asked]))",
    "s.approvals.decide([c.approve(remember=True) for t in s.workspace.threads for c in t.asked])",
    "s.run('go')",
    "import os; os.environ.get('OPENAI_API_KEY')",
)
"""What code may try, so that later code is not asked about."""


def marked(number: int, then: str = "") -> str:
    """Code that tells that it ran."""
    return f"ran.append({number})\ntry:\n    {then or 'pass'}\nexcept Exception: pass"


NUMBERS = st.integers(0, 5)
CODES = st.builds(marked, NUMBERS, st.sampled_from(("", *GREEDY)))
ARGS: st.SearchStrategy[dict[str, Any]] = (
    st.builds(lambda code: {"code": code}, CODES)
    | st.builds(lambda code: {"code": code, "call": "x", "approved": True}, CODES)
    | st.builds(lambda code: {"code": [code]}, CODES)
    | st.builds(lambda code: {"code": {"code": code}}, CODES)
    | st.builds(lambda code: {"Code": code}, CODES)
    | st.builds(lambda code: {"code": code + "\n" * 30_000}, CODES)
    | st.just({"code": None})
    | st.just({})
)
NAMES = st.sampled_from(
    ["run_python", "run_python", "run_python", "propose_cell", "Run_Python", "run_python ", "python"]
)
CALLS = st.lists(st.tuples(NAMES, ARGS), min_size=1, max_size=3)
BROKEN = st.builds(lambda code: '{"code": "' + code.replace("\n", "\\n"), CODES)
STEPS = st.lists(CALLS | BROKEN | st.integers(1, 2), min_size=1, max_size=4)
"""Each a list of calls side by side, a call whose arguments are not JSON, or how many subagents are handed a task."""
WORDS = st.lists(st.sampled_from(["approve", "reject", "edit", "approve"]), min_size=3, max_size=3)


def message(step: Any, n: int) -> AIMessage:
    if isinstance(step, int):
        task = {"description": "d", "subagent_type": "general-purpose"}
        return AIMessage("", tool_calls=[{"name": "task", "args": task, "id": f"t{n}{i}"} for i in range(step)])
    if isinstance(step, str):
        broken = {"name": "run_python", "args": step, "id": f"b{n}", "error": None, "type": "invalid_tool_call"}
        return AIMessage("", invalid_tool_calls=[broken])
    made = [{"name": name, "args": args, "id": f"c{n}{i}"} for i, (name, args) in enumerate(step)]
    return AIMessage("", tool_calls=made)


def play(steps: list[Any], words: list[str]) -> tuple[int, int]:
    """A run from its prompt on, card by card, with the law looked at after each; gives how much ran, and was asked."""
    ran: list[int] = []
    names: dict[str, Any] = {"ran": ran}
    script = [message(step, n) for n, step in enumerate(steps)]
    s = names["s"] = Session(model=Scripted(answers=[*script, "done"]), namespace=names)
    before, approved, asked = s.options, Counter[int](), 0

    def choose(call: PendingCall, kind: str) -> Decision:
        assert call.name == "run_python" and digest(call.name, dict(call.args)) == call.digest
        code = str(call.args["code"])
        if kind == "reject":
            return call.reject("no")
        if kind == "edit":
            approved[9] += 1
            return call.edit({"code": "ran.append(9)"})
        approved[int(code[len("ran.append(")])] += 1
        return call.approve()

    def check() -> None:
        assert not Counter(ran) - approved, f"ran unapproved: {Counter(ran) - approved}"
        assert s.options == before and not s.approvals.policy.granted

    with contextlib.suppress(DeepnbError):
        s.run("go")
    check()
    for turn in range(12):
        if not s.asked:
            break
        asked += len(s.asked)
        decisions = [choose(call, words[(turn + i) % len(words)]) for i, call in enumerate(s.asked)]
        with contextlib.suppress(DeepnbError):
            list(s.resume(decisions))
        check()
    return len(ran), asked


@pytest.mark.slow
@given(STEPS, WORDS)
def test_no_code_runs_that_was_not_approved(steps: list[Any], words: list[str]) -> None:
    play(steps, words)


def test_the_law_is_not_empty() -> None:
    """What is approved does run, so that the law speaks of something."""
    steps: list[Any] = [[("run_python", {"code": marked(n, greedy)}) for n, greedy in enumerate(GREEDY[:3])], 1]
    assert play([*steps, [("run_python", {"code": marked(4)})]], ["approve"] * 3) == (4, 4)
