"""The agent's files, held in the kernel: in the thread's checkpoint, open to magics between runs."""

from __future__ import annotations

from deepnb.engine.state_backend import OpenStateBackend


class KernelBackend(OpenStateBackend):
    """A deepagents `BackendProtocol`: the state of the current thread, in a run and outside one."""
