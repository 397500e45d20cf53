"""The policy: which calls ask, run or are refused, and what a decision is bound to."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import tool

import deepnb
from deepnb.values.approvals import EVERY, PendingCall, Policy, decide, digest, policy_of
from deepnb.workshop.approvals import Effects, marked, reads
from tests.support.refusals import refused
from tests.support.tables import every_row

EFFECTS = st.sampled_from(["reads", "undoable", "outside"])
NAMES = st.sampled_from(["write_file", "look", "boom"])
POLICIES = st.builds(
    Policy,
    st.sampled_from(["outside", "writes", "read-only"]),
    st.dictionaries(NAMES, st.sampled_from(["ask", "allow", "deny"])),
    st.frozensets(NAMES),
)


@given(POLICIES, NAMES, EFFECTS)
def test_laws(policy, name, effect):
    rule = decide(policy, name, effect)
    forbidden = policy.mode == "read-only" and effect != "reads"
    if policy.rules.get(name) == "deny" or forbidden:
        assert rule == "deny", "read-only stands above what was allowed"
    if rule == "allow" and effect == "outside":
        named = policy.rules.get(name) == "allow" or name in policy.granted
        others = policy.mode == "allow" and name not in policy.rules
        assert named or others, "nothing else lets it run unasked"
    if rule == "deny":
        assert policy.mode == "read-only" or policy.rules.get(name) == "deny"


@every_row(("mode", "expected"), [
    ("outside", ["allow", "allow", "ask"]), ("writes", ["allow", "ask", "ask"]),
    ("read-only", ["allow", "deny", "deny"]), ("allow", ["allow", "allow", "allow"]),
])  # fmt: skip
def test_modes(mode, expected):
    assert [decide(Policy(mode), "x", effect) for effect in ("reads", "undoable", "outside")] == expected


@given(POLICIES)
def test_a_policy_is_read_back_as_it_is_written(policy):
    read = policy_of(policy.option)
    assert (read.mode, dict(read.rules)) == (policy.mode, dict(policy.rules))


@every_row(("given", "says"), [
    ("never", "approve can't be 'never': use one of outside, writes, read-only"),
    (None, "approve can't be a NoneType"), ({EVERY: "allow"}, "approve can't be 'allow'"),
    ({"boom": "maybe"}, "the rule of boom can't be 'maybe'"),
])  # fmt: skip
def test_a_mistake_is_one_line(given, says):
    refused(says, policy_of, given)


def test_there_is_no_policy_that_silently_allows_everything():
    for mode in ("outside", "writes", "read-only"):
        assert decide(policy_of(mode), "anything", "outside") != "allow"
    for rules in ({}, {"pay": "allow"}):
        refused("approve can't be 'allow' for everything", policy_of, {EVERY: "allow", **rules})
    some = policy_of({EVERY: "allow", "pay": "ask"})
    assert [decide(some, name, "outside") for name in ("pay", "mail")] == ["ask", "allow"]
    assert decide(some.without_allowed, "mail", "outside") == "ask", "in a fork, a package"


ARGS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3)


@given(ARGS, ARGS)
def test_a_digest_is_of_the_arguments_whatever_their_order(a, b):
    assert digest("x", a) == digest("x", dict(reversed(a.items())))
    assert (digest("x", a) == digest("x", b)) == (a == b) and digest("x", a) != digest("y", a)


def test_effects_and_how_a_tool_is_marked():
    theirs: Any = {"mine": "outside", "look": "reads", "grep": "outside", "edit_file": "outside"}
    effects = Effects(lambda path: not path.startswith("/work"), theirs, frozenset({"g"}))
    found: list[tuple[str, Any, str]] = [
        ("write_file", {"file_path": "/a"}, "undoable"),
        ("write_file", {"file_path": "/work/a"}, "outside"),
        ("write_file", {"file_path": ["/a"]}, "outside"),
        ("delete", {"file_path": "/work"}, "outside"),
        ("execute", {"command": "ls"}, "outside"),
        ("nobody knows", {}, "outside"),
        ("read_file", {}, "reads"),
        ("note", {}, "undoable"),
        ("mine", {}, "outside"),
        ("look", {}, "reads"),
        ("grep", {}, "outside"),  # a tool of the user's that is called like one of deepnb's
        ("edit_file", {"file_path": "/a"}, "outside"),
        ("task", {"subagent_type": "general-purpose"}, "reads"),
        ("task", {"subagent_type": "g"}, "outside"),  # the calls of a graph of the user's can't be asked about
    ]
    assert [(name, args, effects.of(name, args)) for name, args, _ in found] == found

    @deepnb.reads
    def look() -> str:
        """Look."""
        return ""

    @tool
    def glance() -> str:
        """Glance."""
        return ""

    assert marked(look) == marked(reads(glance)) == "reads" and marked(print) == "outside"


CALL = PendingCall("c1", "write_file", {}, "d", "k", parameters={"path": "string", "n": "integer"}, required=("path",))


@every_row(("args", "says"), [
    ({"path": "/a", "pth": 1}, "has no 'pth': the arguments are path, n"), ({"n": 1}, "lacks 'path'"),
    ({"path": 3}, "path must be of type string, not int"),
    ({"path": "/a", "n": True}, "n must be of type integer, not bool"), ([1], "must be a JSON object, not a list"),
])  # fmt: skip
def test_an_edit_that_does_not_fit_is_refused(args, says):
    refused(says, CALL.edit, args)
    assert CALL.edit({"path": "/a"}).args == {"path": "/a"}
