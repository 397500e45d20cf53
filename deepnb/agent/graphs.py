"""The graphs of a session: made when they are first needed, and kept for a while."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deepnb.agent.options import Options, same
from deepnb.core.approvals import Policy
from deepnb.memory.scope import Scope

if TYPE_CHECKING:
    from deepnb.agent.build import Built
    from deepnb.backends.guarded import GuardedBackend
    from deepnb.core.subagents import Subagent
    from deepnb.memory.searching import MemorySearch

KEPT = 4
"""A few, since one turn may use another model and the next the session's own again."""


class Graphs:
    """Graphs by their options, and the backend they write through, over one checkpointer. Imports of the engine wait for the first."""

    def __init__(
        self,
        backend: Callable[[], GuardedBackend],
        checkpointer: Any,
        clock: Callable[[], str],
        scope: Callable[[], Scope],
        search: Callable[[], MemorySearch],
        policy: Callable[[], Policy] = Policy,
        undoable: Callable[[str], bool] = lambda path: True,
    ) -> None:
        """`backend` and `search` give those of the thread meant just now; without a `checkpointer`, threads are kept in memory."""
        self._backend = backend
        self._given = checkpointer
        self._clock = clock
        self._scope = scope
        self._search = search
        self._policy, self._undoable = policy, undoable
        self._made: list[tuple[Options, tuple[Any, ...], Built]] = []
        """Options, what else the graph depends on, the graph made of them."""
        self.agents: tuple[Subagent, ...] = ()
        """The subagents of the files, as they were when the last turn began."""

    @cached_property
    def checkpointer(self) -> Any:
        """Where threads are checkpointed."""
        if self._given is not None:
            return self._given
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()

    def of(self, options: Options) -> Built:
        """The graph for these options."""
        from deepnb.agent.build import build

        agents = self.agents if options.enable_subagents else ()
        models = (options.model, *(agent.model for agent in (*options.subagents, *agents)))
        held = (agents, *(options.namespace.get(m) if isinstance(m, str) else None for m in models))
        for known, others, built in self._made:
            if same(known, options) and _same(others, held) and built.guard is self._backend():
                return built
        built = build(
            options,
            self._backend(),
            self.checkpointer,
            self._clock,
            self._scope,
            self._search,
            agents,
            self._policy,
            self._undoable,
        )
        self._made = [*self._made[1 - KEPT :], (options, held, built)]
        return built


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether the agents of files are alike, and the variables that hold models are the same objects."""
    return len(a) == len(b) and a[0] == b[0] and all(x is y for x, y in zip(a[1:], b[1:], strict=True))
