"""The middleware of an agent, layer by layer: what the main one has alone, and what every nested one has, too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware

from deepnb.backends.guarded import GuardedBackend
from deepnb.context import history
from deepnb.engine.approvals import ApprovalMiddleware
from deepnb.engine.fit import FitMiddleware
from deepnb.engine.images import ImagesMiddleware
from deepnb.engine.retries import RetryMiddleware
from deepnb.engine.state_backend import Restorer
from deepnb.engine.summarization import SummarizationMiddleware
from deepnb.engine.tools import FileToolsMiddleware, ToolErrorsMiddleware
from deepnb.memory.budget import memory_budget
from deepnb.memory.flush import Flusher
from deepnb.memory.guarding import GuardMiddleware
from deepnb.memory.layers import Scope
from deepnb.memory.middleware import MEMORY_MIDDLEWARE, DeltaMemoryMiddleware
from deepnb.memory.searching import READS, MemorySearch, MemoryToolsMiddleware
from deepnb.models.tapes.recorder import Recording
from deepnb.skills.middleware import SkillsMiddleware, skills_budget
from deepnb.subagents.delegation import DelegationMiddleware
from deepnb.values.agent import FILE_TOOLS
from deepnb.values.approvals import Policy
from deepnb.wiring.model import Measured, caching_of
from deepnb.wiring.options import Options
from deepnb.wiring.tool_text import in_words, tool_text
from deepnb.workshop.code_tools import Desk


@dataclass(frozen=True)
class Host:
    """The session that a graph runs in. What is a function, and `desk`, is asked at each use."""

    backend: GuardedBackend
    checkpointer: Any
    restorer: Restorer
    """Gives states what was taken out of them."""
    prunes: bool
    """Whether messages and texts are taken out of them."""
    recording: Recording | None
    sign: Callable[[Any], str]
    """Gives the signature of a question or an answer that is stored; empty where none is needed."""
    undoable: Callable[[str], bool]
    """Says whether what is done to a file or directory can be undone."""
    now: Callable[[], str]
    """Gives the time as an ISO timestamp in the user's time zone."""
    search: Callable[[], MemorySearch]
    """Gives the index over the memory of the main agent."""
    scope: Callable[[], Scope]
    policy: Callable[[], Policy]
    desk: Desk


@dataclass(frozen=True)
class Layers:
    """Makes the layers of one graph's agents; what it holds they share."""

    options: Options
    now: Callable[[], str]
    search: Callable[[], MemorySearch]
    guard: GuardMiddleware
    approvals: ApprovalMiddleware
    seal: ApprovalMiddleware
    """Stands inside middleware that is the user's own."""
    prunes: bool = False

    def memory(self, backend: Any, own: Measured) -> tuple[Any, ...]:
        """Return the tools, which are outermost, and last the block; none where memory is switched off.

        The block comes last in the system prompt: made anew it costs a provider's cache no more than itself and the messages.
        """
        if not self.options.enable_memory:
            return ()
        sources, refresh = self.options.memory, self.options.memory_refresh
        budget, count = self.options.memory_budget or memory_budget(own.rule.window), own.meter.count
        form = tool_text(self.options, own)
        block = MEMORY_MIDDLEWARE[refresh](backend, sources, budget, count, lambda: self.now()[:10], form)
        return self._worded(MemoryToolsMiddleware(backend, sources, self.now, self.search), own), block

    def skills(self, backend: Any, own: Measured) -> tuple[Any, ...]:
        """Return the skills of the session's directories; none without the file tools, which a skill is read with."""
        if not (self.options.enable_skills and self.options.enable_filesystem):
            return ()
        return (SkillsMiddleware(backend, self.options.skills, skills_budget(own.rule.window), own.meter.count),)

    def common(
        self,
        backend: Any,
        own: Measured,
        *,
        names: Sequence[str] | None = None,
        task: DelegationMiddleware | None = None,
        block: Sequence[Any] = (),
    ) -> tuple[Any, ...]:
        """Return what every agent has, main or nested: `names` limits the file tools, `task` lets it call others."""
        options, files = self.options, list[Any]()
        chosen = FILE_TOOLS if names is None else tuple(name for name in FILE_TOOLS if name in names)
        if options.enable_filesystem and chosen:  # `read_file` comes with any of them
            tools = None if names is None else list(dict.fromkeys(["read_file", *chosen]))
            files = [self._worded(FileToolsMiddleware(backend, options.eviction_threshold, tools, READS), own)]
        heard = self.guard.heard
        compaction = SummarizationMiddleware(
            own,
            takes=self.prunes,
            backend=backend,
            clock=self.now,
            addition=history.addition,
            flush=Flusher(backend, heard) if options.enable_memory else None,
            heard=heard,
            rebased=next((one.rebased for one in block if isinstance(one, DeltaMemoryMiddleware)), None),
        )
        calls: list[Any] = [self.guard, self.approvals, ToolErrorsMiddleware()]
        files += [task] if task else []
        return (*files, *block, compaction, PatchToolCallsMiddleware(), *calls)

    def own(self, middleware: Sequence[Any], own: Measured) -> tuple[Any, ...]:
        """Return the user's own middleware, what lets no call of it past the user, the marks for a cache, and retries."""
        seal = (self.seal,) if middleware else ()
        marks: tuple[Any, ...] = ()
        if caching_of(own.model).marks:
            from deepnb.engine.prompt_cache import PromptCacheMiddleware

            marks = (PromptCacheMiddleware(),)
        sent = (FitMiddleware(), *marks, RetryMiddleware(own.retries)) if own.remote else (ImagesMiddleware(), *marks)
        return (*middleware, *seal, *sent)

    def _worded(self, middleware: Any, own: Measured) -> Any:
        middleware.tools = in_words(middleware.tools, self.options, own)
        return middleware
