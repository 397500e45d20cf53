"""Calls that wait for the user's word: the policy in force, the decisions taken so far, what a call would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deepnb.core.approvals import Decision, Mode, PendingCall, Policy, Rule, decide, policy_of
from deepnb.core.diff import FileDiff
from deepnb.core.errors import DeepnbError
from deepnb.core.gate import redact
from deepnb.core.values import Decided
from deepnb.workshop.approvals import NOTES, READS, WRITES, Effects, marked

if TYPE_CHECKING:
    from deepnb.agent.options import Options
    from deepnb.agent.places import Places
    from deepnb.agent.session import Session
    from deepnb.agent.thread import Thread
    from deepnb.agent.threads import Threads
    from deepnb.core.approvals import Effect
    from deepnb.core.subagents import Subagent


class SessionApprovals:
    """What of a session's calls needs the user's word, and what may be done unasked."""

    def __init__(
        self,
        session: Session,
        threads: Threads,
        places: Places,
        meant: Callable[[], Thread],
        tell: Callable[[], None],
    ) -> None:
        """`meant` gives the thread whose turn is running, else the current one; `tell` is called after a decision."""
        self._session = session
        self._threads = threads
        self._places = places
        self._meant = meant
        self._tell = tell

    @property
    def policy(self) -> Policy:
        """The policy in force in the thread whose turn is running, else in the current one."""
        return replace(policy_of(self._session.options.approve), granted=self._meant().granted)

    @property
    def known(self) -> tuple[str, ...]:
        """Names of tools: the file tools, and the user's own; asks nothing that would start the engine."""
        own = (getattr(t, "name", None) or getattr(t, "__name__", "") for t in self._session.options.tools)
        return (*sorted({*READS, *WRITES, *NOTES}), *map(str, own))

    def offer(self, name: str) -> dict[str, tuple[str, ...]]:
        """Tool -> skills in use in a thread that ask to have it approved beforehand; empty where that was asked before.

        Only where one of the calls that wait is of such a tool: then one question answers for all of them.
        """
        thread = self._threads[name]
        if thread is not self._threads.current:
            return {}
        wanted = {t: by for t, by in self._session.skills.preapproved().items() if t not in thread.offered}
        new = {t: by for t, by in wanted.items() if t not in self.policy.granted}
        return new if any(call.name in new for call in thread.asked) else {}

    def rule(self, name: str, rule: Rule) -> None:
        """Set what happens to calls of a tool, in all threads; what was allowed in a thread before is so no more."""
        known = [tool for tool, _ in self._session.built.tools]
        if name not in known:
            raise DeepnbError(f"no tool {name!r}", f"there is {', '.join(known)}")
        self._session.configure(approve=policy_of(self._session.options.approve).ruled(name, rule).option)
        if rule != "allow":
            for thread in self._threads:
                thread.granted -= {name}

    def mode(self, mode: Mode) -> None:
        """Set what happens to calls of tools without a rule of their own."""
        self._session.configure(approve=replace(policy_of(self._session.options.approve), mode=mode).option)

    def take(self, decisions: Sequence[Decision]) -> bool:
        """Keep the user's word on calls that wait in one thread; whether its turn can go on (`session.resume`)."""
        if self._threads.busy():
            raise DeepnbError("a turn is running", "interrupt it, or wait until it has ended")
        thread = self._threads[decisions[0].call.thread]
        offered = frozenset(self.offer(thread.name))
        try:
            done = take(thread, decisions)
            thread.offered |= offered
            return done
        finally:
            self._tell()

    def asked(self) -> tuple[PendingCall, ...]:
        """The calls that wait for the user's word, in whichever thread."""
        return tuple(c for thread in self._threads for c in thread.asked if c.key not in thread.decided)

    def number(self, call: PendingCall) -> int:
        """Counted from 1 among the calls that its thread waited for together: what `%agent approve N` takes."""
        return [one.key for one in self._threads[call.thread].asked].index(call.key) + 1

    def decided(self) -> dict[str, Decision]:
        """Key of a call -> the user's word on it, where its turn waits for another word, or was the last to run."""
        last = self._session.last
        followed = [e.decision for e in (last.events if last else ()) if isinstance(e, Decided)]
        kept = [d for thread in self._threads for d in thread.decided.values()]
        return {d.call.key: d for d in (*followed, *kept)}

    def words(self, name: str) -> str:
        """What happens to calls of a tool, in a few words."""
        policy = self.policy
        rules = [decide(policy, name, effect) for effect in self._session.built.effects.possible(name)]
        if len(set(rules)) > 1:
            return f"{rules[0]}; {rules[-1]} where it can't be taken back"
        return f"{rules[0]} in this thread" if name in policy.granted and rules[0] == "allow" else rules[0]

    def change(self, call: PendingCall) -> FileDiff | None:
        """What a call would do to a file as it is now; None where it is no write, or can't be told."""
        path = call.args.get("file_path")
        if call.name not in WRITES or not isinstance(path, str):
            return None
        with self._places.on(self._threads[call.thread]):
            content = self._session.backend.download_files([path])[0].content
        try:
            before = None if content is None else content.decode("utf-8")
        except UnicodeDecodeError:
            return None
        after = _after(call, before or "")
        if after is None and call.name != "delete":
            return None
        return FileDiff(path, None if before is None else redact(before), None if after is None else redact(after))


def take(thread: Thread, decisions: Sequence[Decision]) -> bool:
    """Keep decisions on calls of a thread; whether none of its calls waits for one any more.

    A decision is for the very call that was shown: another one in its place is an error.
    """
    waiting = {call.key: call for call in thread.asked}
    for decision in decisions:
        call, now = decision.call, waiting.get(decision.call.key)
        if now is None or (now.id, now.digest) != (call.id, call.digest):
            raise DeepnbError(f"this call of {call.name} does not wait for your word any more", "%agent says what does")
    for decision in decisions:
        thread.decided[decision.call.key] = decision
        if allowed := {*decision.also, *((decision.call.name,) if decision.remember else ())}:
            thread.granted |= allowed
            same = [call for call in thread.asked if call.name in allowed]
            thread.decided = {**{call.key: call.approve() for call in same}, **thread.decided}
    left = [call for call in thread.asked if call.key not in thread.decided]
    if left and not decisions:
        raise waits(thread)
    return not left


def waits(thread: Thread, current: bool = True) -> DeepnbError:
    """That nothing else can be done in a thread before the user has decided."""
    names = ", ".join(dict.fromkeys(call.name for call in thread.asked))
    what = f"turn {len(thread.turns)} of thread {thread.name} waits for your word on {names}"
    return DeepnbError(what, f"{'' if current else f'%agent switch {thread.name}, then '}{todo(len(thread.asked))}")


def todo(calls: int) -> str:
    """What to type, where so many calls wait."""
    if calls == 1:
        return "%agent approve, or %agent reject WHY"
    return "%agent approve 1, %agent reject 1 WHY, or %agent approve all"


def effects(options: Options, agents: Sequence[Subagent], undoable: Callable[[str], bool]) -> Effects:
    """What calls of the tools of an agent and its nested ones do."""
    given: dict[str, Effect] = {}
    own = [tool for agent in agents for tool in agent.tools or () if not isinstance(tool, str)]
    layers = [*options.middleware, *(m for agent in agents for m in agent.more.get("middleware", ()))]
    for tool in [*options.tools, *own, *(t for m in layers for t in getattr(m, "tools", ()))]:
        name = str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool"))
        does = marked(tool)
        given[name] = does if given.get(name, does) == does else "outside"
    return Effects(undoable, given, frozenset(agent.name for agent in agents if "runnable" in agent.more))


def _after(call: PendingCall, before: str) -> str | None:
    """The text that a write would leave; None where there is none, or it would fail."""
    args: Mapping[str, Any] = call.args
    if call.name == "write_file":
        return args["content"] if isinstance(args.get("content"), str) else None
    old, new = args.get("old_string"), args.get("new_string")
    if call.name != "edit_file" or not isinstance(old, str) or not isinstance(new, str) or not old or old not in before:
        return None
    return before.replace(old, new) if args.get("replace_all") else before.replace(old, new, 1)
