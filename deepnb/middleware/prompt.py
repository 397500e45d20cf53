"""Memory, skills and compaction for anybody's agent: what stands round its prompt."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from deepagents.backends import StateBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemState
from deepagents.middleware.skills import SkillsMiddleware as Upstream
from deepagents.middleware.skills import SkillsState
from deepagents.middleware.summarization import SummarizationState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.chat_models import BaseChatModel
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage

from deepnb.backends.writer import guard_refusal, writer
from deepnb.context import history
from deepnb.context.estimate import approximate
from deepnb.engine import keys
from deepnb.engine.coroutines import SynchronousBackend
from deepnb.engine.file_extras import append_text
from deepnb.engine.request import message_text, source_of, still_sent, tools_by_name
from deepnb.engine.summarization import SummarizationMiddleware
from deepnb.memory import middleware
from deepnb.memory.budget import CAP, Fitted, fitted, plain
from deepnb.memory.flush import Flusher
from deepnb.memory.guarding import WRITES, heard, memory_block
from deepnb.memory.layers import note_paths
from deepnb.memory.middleware import with_block
from deepnb.skills.middleware import PROMPT
from deepnb.values.agent import skill_line
from deepnb.values.budget import Budget, Size, rule_for
from deepnb.values.files import check_path
from deepnb.values.messages import MEMORY_UPDATE
from deepnb.values.request import MEMORY_OPEN
from deepnb.wiring.model import main_model
from deepnb.wiring.options import Options, changed, check_sizes

if TYPE_CHECKING:  # upstream's is typed by a state of its own, with which no list of middleware takes it
    from langchain.agents.middleware.types import AgentMiddleware as Base
else:
    from deepnb.skills.middleware import SkillsMiddleware as Base

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
        files: Any = SynchronousBackend(backend or StateBackend())
        super().__init__(files, sources, budget, approximate, lambda: now()[:10])
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


def now() -> str:
    """Return the time as an ISO timestamp in this program's time zone."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


# -- compaction: what goes is kept word for word in a file, and a summary takes its place


class _CompactionState(FilesystemState, SummarizationState):
    pass


class CompactionMiddleware(SummarizationMiddleware):
    """Compacts a thread at a trigger that counts all that is sent: tools, memory and skills, too.

    The messages that go are added to `/conversation_history/{thread_id}.md`, less credentials; file paths, numbers
    and prohibitions that the summary lost are put beside it, word for word. Where the file can't be written nothing is
    dropped. The thread's state keeps all of its messages.
    """

    state_schema = _CompactionState

    def __init__(
        self,
        model: str | BaseChatModel,
        backend: BackendProtocol | None = None,
        *,
        trigger: Size | None = None,
        keep: Size | None = None,
        flush: bool = False,
    ) -> None:
        """The compaction of one agent; it takes the place of deepagents' own.

        Args:
            model: The agent's chat model, or its name: it says how large the window is, and writes the summary.
            backend: Where the history is kept; None is `StateBackend()`.
            trigger: `("fraction", 0.85)` of the window, `("tokens", n)` or `("messages", n)`. By default 0.85, or
                170,000 tokens where the model's profile gives no window.
            keep: How much of the end stays, likewise. By default 0.10, or 6 messages.
            flush: Ask the model first what is worth keeping, and add that to `/memory/YYYY-MM-DD.md`.
        """
        own = main_model(changed(Options(), {"model": model, "trigger": trigger, "keep": keep}))
        if keep is not None:
            check_sizes(rule_for(own.rule.window, trigger, keep, as_asked=True).conflict)
        files: Any = SynchronousBackend(backend or StateBackend())
        flusher, more = Flusher(_Notes(files)) if flush else None, history.addition
        super().__init__(
            own, backend=files, clock=now, addition=more, flush=flusher, heard=heard, rebased=_with_updates
        )

    def _budget(self, messages: Sequence[BaseMessage], request: Any) -> Budget:
        # With what middleware inside this one is about to add to its system prompt.
        text = "" if request.system_message is None else message_text(request.system_message)
        state: Mapping[str, Any] = request.state
        memory, skills, count = state.get(keys.MEMORY), state.get(keys.SKILLS), self._own.meter.count
        blocks = []
        if memory is not None and MEMORY_OPEN not in text:
            size = state.get(BUDGET)  # without one it is another's middleware, which injects all there is
            files = fitted(memory, list(memory), size, count) if size else [Fitted(p, plain(memory[p])) for p in memory]
            writes = WRITES in tools_by_name(request.tools or ())
            blocks.append(memory_block(files, next(iter(memory), ""), writes=writes))
        if skills and skills[0]["path"] not in text:
            lines = [skill_line(s["name"], s["description"], s["path"]) for s in skills]
            blocks.append(PROMPT.format(skills_list="\n".join(lines)))
        if blocks:
            request = request.override(system_message=with_block(request.system_message, "\n\n".join(blocks)))
        return super()._budget(messages, request)

    def _too_long(self, request: Any, failure: Exception, *, learned: bool) -> Exception:
        return ContextOverflowError(self._why_too_long(request, failure))


def _with_updates(request: Any) -> Any:
    """The call that compacts, with all changes of memory behind it: its memory block is older, and the next call has them there."""
    updates = [m for m in still_sent(request.state) if source_of(m) == MEMORY_UPDATE]
    return request.override(messages=[*(m for m in request.messages if source_of(m) != MEMORY_UPDATE), *updates])


class _Notes:
    """Daily notes as a flush writes them: what the guard refuses is left out."""

    def __init__(self, backend: BackendProtocol) -> None:
        self._backend = backend
        self.download_files: Callable[[list[str]], list[Any]] = backend.download_files

    def append(self, path: str, text: str) -> str | None:
        return guard_refusal(path, "", text, writer().heard) or append_text(self._backend, path, f"{text}\n")


# -- skills in the system prompt: name, description and path of each; the model reads the file when it needs it


class _SkillsState(FilesystemState, SkillsState):
    pass


class SkillsMiddleware(Base):
    """Discloses the skills of some directories; a new or changed one is there at the next turn."""

    state_schema = _SkillsState
    before_model = Upstream.before_model  # type: ignore[assignment]
    abefore_model = Upstream.abefore_model  # type: ignore[assignment]

    def __init__(self, backend: BackendProtocol | None = None, *, sources: Sequence[str] = ("/skills/",)) -> None:
        """The skills of one agent.

        Args:
            backend: Where the files are; None is `StateBackend()`.
            sources: Directories with `NAME/SKILL.md` in them; a later one overrides an earlier one's skill of the same
                name. A skill whose file breaks the rules of agentskills.io is left out.
        """
        for source in sources:
            check_path(source.rstrip("/"))
        super().__init__(SynchronousBackend(backend or StateBackend()), tuple(sources))  # type: ignore[call-arg]
