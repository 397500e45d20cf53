"""A workspace beside that of a session, for one fork of a thread: a job in the background, or a column of a comparison."""

from deepnb.running.thread import Thread
from deepnb.running.workspace import Workspace
from deepnb.values.approvals import Policy
from deepnb.values.code import CODE_TOOLS
from deepnb.wiring.options import Options
from deepnb.workshop.kernel import PlainKernel


def workspace_beside(work: Workspace, options: Options, thread: Thread) -> Workspace:
    """Return a workspace with one thread, and the variables and the tape of another."""
    made = Workspace(options, work.current.clock, thread.name)
    if work.current.kernel is not None:
        made.current.shell = PlainKernel(work.current.kernel.namespace)
    made.current.shared = work.current.shared
    made.current.recording = work.current.recording
    made.threads.take_back(thread)
    made.current.thread = thread
    return made


def code_asks(policy: Policy) -> Policy:
    """Return the policy with which code always needs approval."""
    for tool in CODE_TOOLS:
        policy = policy if policy.rules.get(tool) == "deny" else policy.with_rule(tool, "ask")
    return policy
