"""Discloses skills by name, description and path; the catalog is read again at every turn."""

from typing import Any

from deepagents.middleware.skills import SkillsMiddleware as Upstream
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest
from langchain_core.runnables import RunnableConfig

from deepnb.engine import keys
from deepnb.engine.pinned_skills import metadata
from deepnb.skills.catalog import Catalog, Found
from deepnb.values.agent import skill_line
from deepnb.values.request import SKILLS_CLOSE, SKILLS_OPEN

PROMPT = f"""{SKILLS_OPEN}
Skills are instructions for kinds of work. When a request is of such a kind, read the skill's file whole
with read_file before you begin, and follow it; relative paths in it start from its directory.

{{skills_list}}
{SKILLS_CLOSE}"""


class SkillsMiddleware(Upstream):
    """Upstream's middleware with our catalog, read at each turn, a short prompt, and no words where there are no skills.

    Of a skill that can't be used, or is disabled, the model sees nothing. Skills are pinned by the session,
    before the prompt, so that upstream's hook before each model call, a checkpoint each, is not needed.
    """

    before_model = AgentMiddleware.before_model  # type: ignore[assignment]
    abefore_model = AgentMiddleware.abefore_model  # type: ignore[assignment]

    def __init__(self, backend: Any, sources: tuple[str, ...]) -> None:
        slots = "{skills_locations}{skills_load_warnings}"
        super().__init__(backend=backend, sources=list(sources), system_prompt=PROMPT + slots)
        self._catalog = Catalog(sources)
        self._told: tuple[Found, dict[str, Any]] = (Found(), _state(Found()))
        self._listed: tuple[list[Any], str] = ([], "")

    @property
    def name(self) -> str:
        return "SkillsMiddleware"

    def _format_skills_locations(self) -> str:
        return ""

    def _format_skills_load_warnings(self, errors: list[str]) -> str:
        return ""

    def _format_skills_list(self, skills: list[Any]) -> str:
        known, text = self._listed
        if skills != known:
            text = "\n".join(skill_line(s["name"], s["description"], s["path"]) for s in skills)
            self._listed = (skills, text)
        return text

    def block(self) -> str:
        """What is told of the skills as their files are now; empty where there are none."""
        usable = [metadata(s) for s in self._catalog.read(self._backend).skills if s.usable]
        return (
            PROMPT.format(skills_list="\n".join(skill_line(s["name"], s["description"], s["path"]) for s in usable))
            if usable
            else ""
        )

    def modify_request(self, request: ModelRequest) -> ModelRequest:
        return super().modify_request(request) if request.state.get(keys.SKILLS) else request

    def before_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> Any:  # type: ignore[override]
        return self._changed(state, self._catalog.read(self._backend))

    async def abefore_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> Any:  # type: ignore[override]
        return self._changed(state, await self._catalog.aread(self._backend))

    def _changed(self, state: Any, found: Found) -> dict[str, Any] | None:
        """What the state does not yet hold of it."""
        known, update = self._told
        if found is not known:
            update = _state(found)
            self._told = (found, update)
        return None if all(state.get(k) == v for k, v in update.items()) else update


def _state(found: Found) -> dict[str, Any]:
    return {
        keys.SKILLS: [metadata(s) for s in found.skills if s.usable],
        keys.SKILL_ERRORS: [s.problem for s in found.skills if s.problem],
    }
