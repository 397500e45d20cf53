"""Skills in the system prompt: name, description and path of each; the model reads the file when it needs it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepagents.backends import StateBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemState
from deepagents.middleware.skills import SkillsMiddleware as Upstream
from deepagents.middleware.skills import SkillsState

from deepnb.engine.coroutines import awaited
from deepnb.values.paths import check_path

if TYPE_CHECKING:  # upstream's is typed by a state of its own, with which no list of middleware takes it
    from langchain.agents.middleware.types import AgentMiddleware as Base
else:
    from deepnb.skills.middleware import SkillsMiddleware as Base


class _State(FilesystemState, SkillsState):
    pass


class SkillsMiddleware(Base):
    """Discloses the skills of some directories; a new or changed one is there at the next turn."""

    state_schema = _State
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
        super().__init__(awaited(backend or StateBackend()), tuple(sources))  # type: ignore[call-arg]
