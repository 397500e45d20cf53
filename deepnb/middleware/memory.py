"""Memory files in the system prompt, and each change of them as a diff in the message stream."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, NotRequired

from deepagents.backends import StateBackend
from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import PrivateStateAttr

from deepnb.context.approximate import approximate
from deepnb.engine import keys
from deepnb.engine.coroutines import awaited
from deepnb.memory import middleware
from deepnb.memory.budget import CAP
from deepnb.memory.layers import note_paths
from deepnb.values.paths import check_path

BUDGET = "memory_budget"


class BudgetState(middleware.MemoryState):
    """What CompactionMiddleware reads, to count what is injected inside it."""

    memory_budget: Annotated[NotRequired[int], PrivateStateAttr]


class MemoryMiddleware(middleware.DeltaMemoryMiddleware):
    """Injects memory files; what changes in them is in the very next model call, as a unified diff."""

    state_schema = BudgetState

    def __init__(
        self,
        backend: BackendProtocol | None = None,
        *,
        sources: Sequence[str] = ("/AGENTS.md",),
        refresh: middleware.Refresh = "delta",
        budget: int = CAP,
    ) -> None:
        """Memory for one agent; its subagents have none.

        Args:
            backend: Where the files are; None is `StateBackend()`.
            sources: Paths of the memory files, in order. The model is asked to write to the first; one that is missing
                is left out. The daily notes of today and yesterday (`/memory/YYYY-MM-DD.md`) follow, where they exist.
            refresh: `"delta"` keeps the system prompt as it was and adds each change as a diff behind it, so the
                provider's cache stays good; `"call"` writes the prompt anew before every model call; `"thread"` reads
                once per thread.
            budget: Tokens the files may take, about; past that, sections are left out and a line says so.
        """
        for path in sources:
            check_path(path)
        super().__init__(awaited(backend or StateBackend()), sources, budget, approximate, _today)
        self._refresh = refresh

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self._refresh == "thread" and state.get(keys.MEMORY) is not None:
            return None
        update = super().before_model(state, runtime)
        return update if state.get(BUDGET) == self._budget else {**(update or {}), BUDGET: self._budget}

    def _changed(self, state: Mapping[str, Any], now: dict[str, str]) -> dict[str, Any] | None:
        if self._refresh == "delta":
            return super()._changed(state, now)
        return middleware.MemoryMiddleware._changed(self, state, now)

    def _layers(self, state: Mapping[str, Any]) -> list[str]:
        return list(dict.fromkeys((*self.sources, *note_paths(state.get(keys.DAY) or self._today()))))


def _today() -> str:
    return datetime.now().date().isoformat()
