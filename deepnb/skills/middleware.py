"""Discloses skills by name, description and path; the catalog is read again at every turn."""

from __future__ import annotations

from typing import Any

from deepagents.middleware.skills import SkillsMiddleware as Upstream
from langchain.agents.middleware.types import ModelRequest
from langchain_core.runnables import RunnableConfig

from deepnb.core.prompt import SKILLS_CLOSE, SKILLS_OPEN
from deepnb.engine import keys

PROMPT = f"""{SKILLS_OPEN}
Skills are instructions for kinds of work. When a request is of such a kind, read the skill's file whole
with read_file before you begin, and follow it; relative paths in it start from its directory.

{{skills_list}}{{skills_load_warnings}}
{SKILLS_CLOSE}"""


class SkillsMiddleware(Upstream):
    """Upstream's middleware with a short prompt, a reload per turn, and no words where there are no skills."""

    def __init__(self, backend: Any, sources: tuple[str, ...]) -> None:
        super().__init__(backend=backend, sources=list(sources), system_prompt=PROMPT + "{skills_locations}")

    @property
    def name(self) -> str:
        return "SkillsMiddleware"

    def _format_skills_locations(self) -> str:
        return ""

    def _format_skills_list(self, skills: list[Any]) -> str:
        return "\n".join(f"- **{s['name']}**: {s['description']} -> read_file `{s['path']}`" for s in skills)

    def modify_request(self, request: ModelRequest) -> ModelRequest:
        nothing = not request.state.get(keys.SKILLS) and not request.state.get(keys.SKILL_ERRORS)
        return request if nothing else super().modify_request(request)

    def before_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> Any:  # type: ignore[override]
        return _changed(state, super().before_agent(_unread(state), runtime, config))

    async def abefore_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> Any:  # type: ignore[override]
        return _changed(state, await super().abefore_agent(_unread(state), runtime, config))


def _unread(state: Any) -> Any:
    """The state without its catalog, so that upstream reads it again."""
    return {**state, keys.SKILLS: None}


def _changed(state: Any, update: Any) -> Any:
    """The update, or None where it says what the state already holds."""
    same = all(state.get(k) == v for k, v in (update or {}).items())
    return None if same else update
