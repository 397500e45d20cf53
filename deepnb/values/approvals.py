"""Approvals as values: a call that needs the user's approval, the decision, and the policy that says which calls need one."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from deepnb.gate import credentials
from deepnb.values.errors import InvalidError
from deepnb.values.text import Listing, excerpt, short_repr, whole, whole_value

Rule = Literal["ask", "allow", "deny"]
"""What happens to a call of a tool: the user is asked, it runs, it is refused."""

Mode = Literal["outside", "writes", "read-only", "allow"]
"""What happens to calls of tools without a rule: ask for what can't be undone, ask for all that changes
anything, refuse all that changes anything, or let all run, where a rule asks about another tool."""

Effect = Literal["reads", "undoable", "outside"]
"""What a call does: it changes nothing; what can be undone (the agent's own files); or anything else."""

Kind = Literal["approve", "edit", "reject", "answer"]

Allowed = Kind | Literal["remember"]
"""What may be decided of a call; `remember` allows later calls of its tool in the thread."""

CALL: tuple[Allowed, ...] = ("approve", "edit", "reject", "remember")
QUESTION: tuple[Allowed, ...] = ("answer",)
"""Of something that a graph asks with LangGraph's `interrupt` and that is no call of a tool."""

UNREADABLE: tuple[Allowed, ...] = ("reject",)
"""Of a call with a part that no card can show."""

EVERY = "*"
"""Stands for the mode in a policy written as a mapping: no tool is called that."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class PendingCall:
    """A call that needs the user's approval."""

    id: str
    """The model's id of the call."""
    name: str
    args: Mapping[str, object]
    """The arguments as the model gave them, with credentials masked."""
    digest: str
    """A hash of the name and the arguments as they were given: a decision is for these alone."""
    key: str
    """Names the place in the run at which the call waits."""
    thread: str = ""
    agent: str = ""
    """The name of the subagent that makes it; empty for the main agent."""
    path: Path = ()
    """Ids of the `task` calls round it, outermost first."""
    effect: Effect = "outside"
    parameters: Mapping[str, str] = field(default_factory=dict)
    """name -> JSON type of what the tool takes; empty where that is not known."""
    required: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = CALL
    """What may be decided of it."""
    before: str = ""
    """Of what it would change, as that was when the call was asked about; empty where it changes no file."""

    def is_same(self, other: PendingCall) -> bool:
        """Whether it is the same call, asked about while what it would change was the same."""
        return (self.id, self.digest, self.before) == (other.id, other.digest, other.before)

    @property
    def is_unreadable(self) -> bool:
        """Whether a part of it is masked that may be more than a credential: nobody can approve what nobody can read."""
        return self.allowed == UNREADABLE

    @property
    def is_question(self) -> bool:
        """Whether it is no call of a tool, but a question of the graph: any JSON value answers it."""
        return self.allowed == QUESTION

    def __repr__(self) -> str:
        args = ", ".join(f"{name}={excerpt(repr(value), 40)}" for name, value in self.args.items())
        return short_repr(self, f"{self.name}({args})")

    def approve(self, *, remember: bool = False, also: Iterable[str] = ()) -> Decision:
        """Let it run as it is; with `remember`, calls of its tool run unasked in this thread, as do those of `also`."""
        self._check_allowed("approve")
        if remember or also:
            self._check_allowed("remember")
        return Decision(self, "approve", remember=remember, also=tuple(also))

    def reject(self, reason: str = "") -> Decision:
        """Do not let it run, and tell the agent why."""
        self._check_allowed("reject")
        return Decision(self, "reject", reason=whole(" ".join(reason.split())))

    def edit(self, args: Mapping[str, Any], *, remember: bool = False, also: Iterable[str] = ()) -> Decision:
        """Let it run with other arguments; those that do not fit the tool are an error. The rest is as of `approve`."""
        self._check_allowed("edit")
        what, takes = f"an edit of {self.name}", f"the arguments are {', '.join(self.parameters)}"
        if not isinstance(args, Mapping):
            do = '%agent edit {"name": VALUE}'
            raise InvalidError(f"{what} must be a JSON object, not a {type(args).__name__}", do)
        if unknown := [name for name in args if self.parameters and name not in self.parameters]:
            raise InvalidError(f"{what} has no {unknown[0]!r}", takes)
        if missing := [name for name in self.required if self.parameters and name not in args]:
            raise InvalidError(f"{what} lacks {missing[0]!r}", takes)
        for name, value in args.items() if self.parameters else ():
            wanted = self.parameters[name]
            types = _TYPES.get(wanted)
            if types and (not isinstance(value, types) or (isinstance(value, bool) and wanted != "boolean")):
                raise InvalidError(f"{what}: {name} must be of type {wanted}, not {type(value).__name__}", takes)
        if remember or also:
            self._check_allowed("remember")
        return Decision(self, "edit", args=whole_value(dict(args)), remember=remember, also=tuple(also))

    def answer(self, value: object) -> Decision:
        """Answer a question of the graph: `interrupt` gives the value, anything that JSON has."""
        self._check_allowed("answer")
        return Decision(self, "answer", value=whole_value(value))

    def _check_allowed(self, what: Allowed) -> None:
        if what in self.allowed:
            return
        if self.is_question:
            raise InvalidError("the graph asks a question, which takes an answer", "%agent resume JSON")
        if what == "answer":
            raise InvalidError(f"{self.name} is a call that needs approval, and takes no answer", "%agent approve")
        if self.is_unreadable:
            why = "is masked as a credential, and what nobody can read can't be approved"
            raise InvalidError(f"a part of this call of {self.name} {why}", "%agent reject WHY")
        if what == "remember":
            raise InvalidError("which calls need approval is decided by the graph, call by call", "%agent approve")
        kinds = ", ".join(f"%agent {kind}" for kind in self.allowed if kind != "remember")
        raise InvalidError(f"the graph does not let you {what} calls of {self.name}", f"use {kinds}")


class PendingCalls(Listing[PendingCall]):
    """The calls that a turn waits with."""


@dataclass(frozen=True)
class Decision:
    """The user's decision on one call, and on no other."""

    call: PendingCall
    kind: Kind
    args: Mapping[str, object] | None = None
    """The arguments to run it with instead, of an `edit`."""
    reason: str = ""
    """Why it was rejected."""
    remember: bool = False
    """Whether calls of the same tool in this thread run unasked from now on."""
    also: tuple[str, ...] = ()
    """Tools whose calls do, too."""
    value: Any = None
    """The answer to a question."""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.kind}: {self.call!r}{f' ({excerpt(self.reason)})' if self.reason else ''}")


@dataclass(frozen=True)
class Policy:
    """Which calls need the user's approval."""

    mode: Mode = "outside"
    rules: Mapping[str, Rule] = field(default_factory=dict)
    """tool -> rule; stands above the mode, but a read-only one refuses all the same."""
    granted: frozenset[str] = frozenset()
    """Tools that the user has allowed in the thread, asked about one of their calls."""

    @property
    def option(self) -> str | dict[str, str]:
        """As it is given to `Session(approve=...)` and `DeepNB.approve`."""
        return {EVERY: self.mode, **self.rules} if self.rules else self.mode

    @property
    def without_allowed(self) -> Policy:
        mode: Mode = "outside" if self.mode == "allow" else self.mode
        return Policy(mode, {name: rule for name, rule in self.rules.items() if rule != "allow"})


def decide(policy: Policy, name: str, effect: Effect) -> Rule:
    """Return what happens to a call of the tool `name` that has this effect."""
    rule = policy.rules.get(name)
    if rule == "deny" or (policy.mode == "read-only" and effect != "reads"):
        return "deny"
    if rule == "allow" or name in policy.granted:
        return "allow"
    if rule == "ask":
        return "ask"
    asks = policy.mode != "allow" and (effect == "outside" or (policy.mode == "writes" and effect != "reads"))
    return "ask" if asks else "allow"


def policy_of(given: object) -> Policy:
    """Return the policy that is written as a mode, or as a mapping of tools to rules (`*` to a mode)."""
    rules: Mapping[Any, Any] = {EVERY: given} if isinstance(given, str) else given  # type: ignore[assignment]
    if not isinstance(given, str | Mapping):
        raise InvalidError(f"approve can't be a {type(given).__name__}", _EXAMPLE)
    if (mode := rules.get(EVERY, "outside")) not in get_args(Mode):
        raise InvalidError(f"approve can't be {mode!r}: use one of {', '.join(get_args(Mode))}", _EXAMPLE)
    for name, rule in rules.items():
        if name != EVERY and (not isinstance(name, str) or rule not in get_args(Rule)):
            raise InvalidError(f"the rule of {name} can't be {rule!r}: use ask, allow or deny", _EXAMPLE)
    if mode == "allow" and not {"ask", "deny"} & {rule for name, rule in rules.items() if name != EVERY}:
        raise InvalidError("approve can't be 'allow' for everything", 'approve={"pay": "ask", "*": "allow"}')
    return Policy(mode, {name: rule for name, rule in rules.items() if name != EVERY})


_EXAMPLE = 'approve="read-only", or approve={"write_file": "ask"}'


def digest(name: str, args: Mapping[str, Any], key: bytes = b"") -> str:
    """Return a hash of a call: of its name and its arguments, whatever their order."""
    written = json.dumps([name, args], sort_keys=True, ensure_ascii=True, default=repr)
    return hmac.new(key, written.encode(), "sha256").hexdigest()


_WORD = re.compile(r"""[^\s;|&$`<>(){}\[\]"'\\]+""")  # hunter2-of-1984


def is_unreadable(args: object, shown: object) -> bool:
    """Return whether more is masked in `shown` than words: a private key, or what may be a command, has room for anything."""
    if isinstance(args, str) and isinstance(shown, str) and args != shown:
        found = [(one.kind, args[one.start : one.end]) for one in credentials(args)] or [("", args)]
        return any(kind.startswith("private key") or not _WORD.fullmatch(text) for kind, text in found)
    if isinstance(args, Mapping) and isinstance(shown, Mapping):
        return any(is_unreadable(value, shown.get(key)) for key, value in args.items())
    if isinstance(args, list | tuple) and isinstance(shown, list | tuple):
        return any(map(is_unreadable, args, shown))
    return False


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list, tuple),
    "object": (Mapping,),
}  # fmt: skip
