"""The graphs of a session: made when they are first needed, and kept for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, Any

from deepnb.models.keys import kept_keys
from deepnb.models.windows import ask_again, known_windows
from deepnb.running.current import Current
from deepnb.running.home import Home
from deepnb.values.agent import Subagent
from deepnb.wiring.options import Options, same

if TYPE_CHECKING:
    from deepnb.engine.state_backend import Restorer
    from deepnb.models.tapes.recorder import Recording
    from deepnb.wiring.build import Built

KEPT = 4
"""A few, since one turn may use another model and the next the session's own again."""


_Made = tuple[Options, tuple[Any, ...], "Built"]
"""The options of a graph, what else it depends on, and the graph."""


class Graphs:
    """Graphs by the options they are made of. The first imports the engine."""

    def __init__(self, current: Current, home: Home) -> None:
        self._current = current
        self._home = home
        self._made: list[_Made] = []
        self._agents: tuple[Subagent, ...] = ()
        self._looked_up: tuple[Options | None, tuple[Any, ...]] = (None, ())
        self.sign: Callable[[Any], str] = lambda value: ""
        """Signs what is stored of approvals; nothing is, while threads are kept in this process alone."""
        self.undoable = home.undoable

    @cached_property
    def checkpointer(self) -> Any:
        if (given := self._current.options.checkpointer) is not None:
            return given
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()

    def keep_in(self, checkpointer: Any, sign: Callable[[Any], str]) -> None:
        self.checkpointer, self.sign, self._made = checkpointer, sign, []
        self.__dict__.pop("restorer", None)

    @cached_property
    def restorer(self) -> Restorer:
        from deepnb.engine.state_backend import Restorer

        return Restorer(self.checkpointer)

    @property
    def recording(self) -> Recording | None:
        recording = self._current.recording
        return recording if recording is not None and recording.active else None

    @property
    def built(self) -> Built:
        return self.of(self._current.options)

    def begin(self, agents: tuple[Subagent, ...]) -> None:
        """A turn begins: these are the subagents of the files; variables, and servers that were silent, are asked anew."""
        ask_again()
        self._agents = self._agents if agents == self._agents else agents
        self._looked_up = (None, ())

    def of(self, options: Options) -> Built:
        """Return the graph for these options: the one there is, while nothing that it is made of has changed."""
        agents = self._agents if options.enable_subagents else ()
        others = self._others(options, agents)
        for one in reversed(self._made):
            alike = one[0] is options or same(one[0], options)
            if alike and len(one[1]) == len(others) and all(map(is_, one[1], others)):
                if one[0] is not options:
                    self._made = [*(m for m in self._made if m is not one), (options, others, one[2])]
                return one[2]
        from deepnb.persistence.savers import RedactedSaver
        from deepnb.wiring.build import build
        from deepnb.wiring.layers import Host

        current, home = self._current, self._home
        host = Host(
            backend=home.backend,
            checkpointer=self.checkpointer,
            restorer=self.restorer,
            # of a kept session, whose checkpoints are deepnb's own
            prunes=isinstance(self.checkpointer, RedactedSaver),
            recording=self.recording,
            sign=self.sign,
            undoable=self.undoable,
            now=current.now,
            search=lambda: home.storage.search,
            scope=lambda: replace(current.agent_thread.scope, readable=current.shared),
            policy=lambda: current.policy,
            desk=current,
        )
        # which may learn of a window
        built: Built = build(options, host, agents) if options.graph is None else options.graph.make(options, host)
        self._made = [*self._made[1 - KEPT :], (options, self._others(options, agents), built)]
        return built

    def _others(self, options: Options, agents: tuple[Subagent, ...]) -> tuple[Any, ...]:
        if self._looked_up[0] is not options:  # the name of a model may be that of a variable
            names = (options.model, *(agent.model for agent in (*options.subagents, *self._agents)))
            held = (options.namespace.get(name) if isinstance(name, str) else None for name in names)
            self._looked_up = (options, tuple(held))
        return (agents, self._home.backend, self.recording, known_windows(), *kept_keys(), *self._looked_up[1])
