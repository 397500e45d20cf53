"""Calls that need approval: the policy in force, the decisions taken so far, what a call would change."""

from collections.abc import Sequence
from dataclasses import replace

from deepnb.gate import redact
from deepnb.running.runner import Runner
from deepnb.running.workspace import Workspace
from deepnb.session.part import Part
from deepnb.session.skills import SessionSkills
from deepnb.values.approvals import Decision, Mode, PendingCall, Policy, Rule, decide, policy_of
from deepnb.values.errors import NotFoundError
from deepnb.values.files import FileDiff, utf8
from deepnb.values.turn import Decided
from deepnb.workshop.approvals import EDITS, NOTES, READS, WRITES
from deepnb.workshop.notebook_plan import NotebookDiff


class SessionApprovals(Part):
    """What of a session's calls needs approval, and what may be done unasked."""

    def __init__(self, workspace: Workspace, runner: Runner) -> None:
        super().__init__(workspace)
        self._runner = runner

    @property
    def policy(self) -> Policy:
        """The policy in force in the thread whose turn is running, else in the current one."""
        return self._workspace.current.policy

    @property
    def known(self) -> tuple[str, ...]:
        """Names of tools: the file tools, and the user's own; asks nothing that would start the engine."""
        own = (getattr(t, "name", None) or getattr(t, "__name__", "") for t in self._workspace.options.tools)
        return (*sorted({*READS, *WRITES, *NOTES, *EDITS}), *map(str, own))

    @property
    def kept(self) -> bool:
        """Whether calls that wait outlive the kernel."""
        return self._workspace.persistence is not None

    def offer(self, name: str) -> dict[str, tuple[str, ...]]:
        """Tool -> skills in use in a thread that ask to have it approved beforehand; empty where that was asked before.

        Only where one of the calls that wait is of such a tool: then one question answers for all of them.
        """
        if (thread := self._workspace.threads[name]) is not self._workspace.current.thread:
            return {}
        wanted = {t: by for t, by in SessionSkills(self._workspace).preapproved().items() if t not in thread.offered}
        new = {t: by for t, by in wanted.items() if t not in self.policy.granted}
        return new if any(call.name in new for call in thread.asked) else {}

    def rule(self, name: str, rule: Rule) -> None:
        """Set what happens to calls of a tool, in all threads; what a thread had allowed before is reset."""
        known = [tool for tool, _ in self._workspace.built.tools]
        if name not in known:
            raise NotFoundError(f"no tool {name!r}", f"use one of {', '.join(known)}")
        policy = policy_of(self._workspace.options.approve)
        self._workspace.configure({"approve": replace(policy, rules={**policy.rules, name: rule}).option})
        if rule != "allow":
            self._workspace.threads.withdraw(name)

    def mode(self, mode: Mode) -> None:
        """Set what happens to calls of tools without a rule of their own."""
        self._workspace.configure({"approve": replace(policy_of(self._workspace.options.approve), mode=mode).option})

    def decide(self, decisions: Sequence[Decision]) -> bool:
        """Record decisions on calls of one thread; returns whether its turn can continue (`session.resume(thread=...)`)."""
        thread = self._workspace.threads[decisions[0].call.thread]
        offered = self.offer(thread.name)
        done = self._runner.decide(decisions)
        thread.offered |= offered.keys()  # the user has seen them
        self._workspace.current.save()
        return done

    def asked(self) -> tuple[PendingCall, ...]:
        """The calls that need the user's approval, in whichever thread."""
        return tuple(c for thread in self._workspace.threads for c in thread.asked if c.key not in thread.decided)

    def number(self, call: PendingCall) -> int:
        """Counted from 1 among the calls that its thread waited for together: what `%agent approve N` takes."""
        return [one.key for one in self._workspace.threads[call.thread].asked].index(call.key) + 1

    def decided(self) -> dict[str, Decision]:
        """Key of a call -> the decision on it, if its turn needs another one or was the last to run."""
        last = self._workspace.current.last
        followed = [e.decision for e in (last.events if last else ()) if isinstance(e, Decided)]
        kept = [d for thread in self._workspace.threads for d in thread.decided.values()]
        return {d.call.key: d for d in (*followed, *kept)}

    def words(self, name: str) -> str:
        """What happens to calls of a tool, in a few words."""
        if (attached := self._workspace.options.graph) is not None:
            return "ask" if name in attached.asks else "as the graph says"
        policy = self.policy
        rules = [decide(policy, name, effect) for effect in self._workspace.built.effects.possible(name)]
        if len(set(rules)) > 1:
            return f"{rules[0]}; {rules[-1]} where it can't be undone"
        return f"{rules[0]} in this thread" if name in policy.granted and rules[0] == "allow" else rules[0]

    def change(self, call: PendingCall) -> FileDiff | NotebookDiff | None:
        """What a call would do to a file or notebook as it is now; None if it does not write, or it is unknown."""
        if (cells := self._workspace.built.effects.notebook_change(call.name, call.args)) is not None:
            return cells
        path = call.args.get("file_path")
        if call.name not in WRITES or not isinstance(path, str):
            return None
        with self._workspace.current.on(self._workspace.threads[call.thread]):
            content = self._workspace.backend.download_files([path])[0].content
        if (before := utf8(content)) is None and content is not None:
            return None
        old, new, text = (call.args.get(name) for name in ("old_string", "new_string", "content"))
        after = text if call.name == "write_file" and isinstance(text, str) else None
        if call.name == "edit_file" and isinstance(old, str) and isinstance(new, str) and old and old in (before or ""):
            after = (before or "").replace(old, new, -1 if call.args.get("replace_all") else 1)
        if after is None and call.name != "delete":
            return None
        return FileDiff(path, None if before is None else redact(before), None if after is None else redact(after))
