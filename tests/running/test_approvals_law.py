"""Under no policy but allow does a call that asks run unapproved, and never another one than the call that was shown."""

import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

import deepnb
from deepnb import DeepnbError, Session
from deepnb.engine.approvals import answers
from deepnb.values.approvals import Decision, PendingCall, digest
from tests.support.compactions import AT_LENGTH
from tests.support.scripted import Scripted, walked

TOOLS = ("boom", "other", "look")
VALUES = st.integers(0, 3)


class World:
    """A session whose tools tell what they did, and what the user was shown and said."""

    def __init__(self, answers: list[AIMessage | str], policy: Any) -> None:
        self.ran: list[tuple[str, int]] = []

        def boom(x: int) -> str:
            """Go off."""
            self.ran.append(("boom", x))
            return f"boom {x}"

        def other(x: int) -> str:
            """Do something else."""
            self.ran.append(("other", x))
            return f"other {x}"

        @deepnb.reads
        def look(x: int) -> str:
            """Look."""
            return f"look {x}"

        self.session = Session(model=Scripted(answers=answers), tools=[boom, other, look], approve=policy)
        self.approved: Counter[tuple[str, int]] = Counter()
        """(tool, argument) -> how often the user said that it may run just so."""
        self.shown: dict[str, PendingCall] = {}
        self.free: set[str] = set()
        """Tools that were allowed at some time: by a rule, or in the thread."""
        self._policy(policy)

    def _policy(self, policy: Any) -> None:
        rules = policy if isinstance(policy, dict) else {}
        self.free |= {name for name, rule in rules.items() if rule == "allow"}

    def configure(self, policy: Any) -> None:
        self.session.configure(approve=policy)
        self._policy(policy)

    def check(self) -> None:
        for call in self.session.asked:
            assert digest(call.name, dict(call.args)) == call.digest, "the card shows what the digest is of"
        ran = Counter(one for one in self.ran if one[0] not in self.free)
        assert not ran - self.approved, f"ran unapproved: {ran - self.approved}"

    def decide(self, choose: Callable[[PendingCall], Decision]) -> None:
        """Show every call that waits and say a word on it; then the turn goes on, until it ends or others wait."""
        words = [choose(call) for call in self.session.asked]
        for word in words:
            args = word.args if word.kind == "edit" and word.args else word.call.args
            if word.kind != "reject":
                self.approved[word.call.name, int(str(args["x"]))] += 1
            if word.remember:
                self.free.add(word.call.name)
        list(self.session.resume(words))


def message(step: Any, n: int) -> AIMessage:
    if isinstance(step, int):
        task = {"description": "d", "subagent_type": "general-purpose"}
        return AIMessage("", tool_calls=[{"name": "task", "args": task, "id": f"t{n}{i}"} for i in range(step)])
    if isinstance(step, str):
        broken = {"name": "run_python", "args": step, "id": f"b{n}", "error": None, "type": "invalid_tool_call"}
        return AIMessage("", invalid_tool_calls=[broken])
    made = [{"name": name, "args": args, "id": f"c{n}{i}"} for i, (name, args) in enumerate(step)]
    return AIMessage("", tool_calls=made)


MADE = st.lists(st.tuples(st.sampled_from(TOOLS), VALUES.map(lambda x: {"x": x})), min_size=1, max_size=3)
STEPS = st.lists(MADE | st.integers(1, 2), min_size=1, max_size=4)
"""Each a list of calls side by side, or how many subagents are handed a task side by side."""

POLICIES = st.sampled_from(["outside", "writes", "read-only"]) | st.dictionaries(
    st.sampled_from(TOOLS), st.sampled_from(["ask", "allow", "deny"]), max_size=2
)
WORDS = st.lists(st.sampled_from(["approve", "approve", "reject", "edit", "remember"]), min_size=4, max_size=4)
MEANWHILE: dict[str, Callable[[Any, World, Any, Any], object]] = {
    "memory": lambda s, *_: s.memory.add("likes tea"), "file": lambda s, *_: s.files.__setitem__("/notes.txt", "x"),
    "switch": lambda s, *_: walked(s, "new", "run a turn elsewhere", f"switch {s.thread}"),
    "panel": lambda s, *_: (s.budget(), s.snapshot, s.approvals.asked(), [s.approvals.change(c) for c in s.asked]),
    "policy": lambda s, world, policy, last: world.configure(policy),
    "forget": lambda s, *_: walked(s, "memory.add a secret", "memory.forget a secret"),
    "bare": lambda s, *_: s.graph.update_state(s.config, {"files": {}}),  # this program drops what waits
    "stale": lambda s, world, policy, last: last and list(s.resume(last)), "prompt": lambda s, *_: s.run("go on"),
    "compact": lambda s, *_: s.compact(), "fork": lambda s, *_: s.fork(), "undo": lambda s, *_: s.undo(),
}  # fmt: skip
BETWEEN = st.lists(st.sampled_from([*MEANWHILE]), max_size=3)


@pytest.mark.slow
@given(STEPS, POLICIES, POLICIES, WORDS, BETWEEN)
def test_nothing_runs_but_what_was_shown_and_approved(steps, policy, later, words, between):
    script = [message(step, n) for n, step in enumerate(steps)]
    world = World([*script, "done"], policy)
    with contextlib.suppress(DeepnbError):  # a step may be that of a nested agent: then the main one ends early
        world.session.run(f"go {AT_LENGTH}")
    world.check()
    last: Decision | None = None
    turn = 0
    while world.session.asked and turn < 12:
        for what in between:
            with contextlib.suppress(DeepnbError):
                MEANWHILE[what](world.session, world, later, last)
            world.check()
        if not world.session.asked:
            break

        def choose(call: PendingCall, at: int = turn) -> Decision:
            kind = words[(at + int(str(call.args["x"]))) % len(words)]
            if kind == "reject":
                return call.reject("no")
            if kind == "edit":
                return call.edit({"x": 9})
            return call.approve(remember=kind == "remember")

        last = choose(world.session.asked[0])
        with contextlib.suppress(DeepnbError):
            world.decide(choose)
        world.check()
        turn += 1


@pytest.mark.slow
@given(MADE, st.data())
def test_a_word_on_another_call_is_refused(made, data):
    world = World([message(made, 0), "done"], "outside")
    world.session.run("go")
    for call in world.session.asked:
        wrong: dict[str, Any] = {data.draw(st.sampled_from(["digest", "id", "key"])): "another"}
        try:
            list(world.session.resume(replace(call, **wrong).approve()))
        except DeepnbError as error:
            assert "no longer needs approval" in str(error)
        else:
            raise AssertionError("it was taken")
    assert not [one for one in world.ran if one[0] != "look"]


@pytest.mark.slow
@given(MADE, st.integers(4, 8))
def test_a_resumed_run_that_comes_with_another_call_asks_again(made, new):
    """The arguments in the state are changed behind our back: the word that was given does not hold for them."""
    world = World([message(made, 0), "done"], {"look": "ask"})
    s = world.session
    s.run("go")
    words = [call.approve() for call in s.asked]
    config = s.config
    last = s.graph.get_state(config).values["messages"][-1]
    changed = last.model_copy(update={"tool_calls": [{**c, "args": {"x": new}} for c in last.tool_calls]})
    s.graph.update_state(config, {"messages": [changed]}, as_node="model")
    with contextlib.suppress(DeepnbError):
        list(s.resume(words))
    assert world.ran == []
    assert s.pending is not None, "the step is still there"
    list(s.resume())
    assert {call.args["x"] for call in s.asked} == {new} and world.ran == []


@pytest.mark.slow
@given(MADE)
def test_an_answer_that_was_given_for_another_call_does_not_count(made):
    """Not even where a program gives it to the graph itself, in the place of the one that waits."""
    world = World([message(made, 0), "done"], {"look": "ask"})
    s = world.session
    s.run("go")
    before, config = s.asked, s.config
    s.graph.invoke(answers([replace(call, digest="another").approve() for call in before], lambda value: ""), config)
    assert world.ran == []
    s._workspace.state.read_checkpoint(s._workspace.thread)
    assert [call.digest for call in s.asked] == [call.digest for call in before], "they are asked about again"
    world.decide(lambda call: call.approve())
    world.check()
    assert len(world.ran) == sum(name != "look" for name, _ in made)


# -- under the default policy no code runs that the user was not shown and did not approve, whatever shape its call has


GREEDY = (
    "s.approvals.rule('run_python', 'allow')", "s.approvals.mode('outside')",
    "s.configure(approve={'run_python': 'allow'})", "s.configure(tools=[ran.append])",
    "list(s.resume([c.approve(remember=True) for c in s.asked]))",
    "s.approvals.decide([c.approve(remember=True) for t in s.workspace.threads for c in t.asked])", "s.run('go')",
    "import os; os.environ.get('OPENAI_API_KEY')",
)  # fmt: skip
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
CODE_NAMES = st.sampled_from(
    ["run_python", "run_python", "run_python", "propose_cell", "Run_Python", "run_python ", "python"]
)
CODE_CALLS = st.lists(st.tuples(CODE_NAMES, ARGS), min_size=1, max_size=3)
BROKEN = st.builds(lambda code: '{"code": "' + code.replace("\n", "\\n"), CODES)
CODE_STEPS = st.lists(CODE_CALLS | BROKEN | st.integers(1, 2), min_size=1, max_size=4)
"""Each a list of calls side by side, a call whose arguments are not JSON, or how many subagents are handed a task."""
CODE_WORDS = st.lists(st.sampled_from(["approve", "reject", "edit", "approve"]), min_size=3, max_size=3)


def play_code(steps: list[Any], words: list[str]) -> tuple[int, int]:
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
@given(CODE_STEPS, CODE_WORDS)
def test_no_code_runs_that_was_not_approved(steps: list[Any], words: list[str]) -> None:
    play_code(steps, words)


def test_the_law_is_not_empty() -> None:
    """What is approved does run, so that the law speaks of something."""
    steps: list[Any] = [[("run_python", {"code": marked(n, greedy)}) for n, greedy in enumerate(GREEDY[:3])], 1]
    assert play_code([*steps, [("run_python", {"code": marked(4)})]], ["approve"] * 3) == (4, 4)
