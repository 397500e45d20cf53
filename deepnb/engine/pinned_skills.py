"""Skills in the shapes the engine keeps them in: the catalog of its state, and a skill put before a prompt."""

import html
from typing import Any

from langchain_core.messages import HumanMessage

from deepnb.values.agent import Skill

PINNED = "pinned_skill"
"""`lc_source` of a message that holds a skill's body."""


def metadata(skill: Skill) -> dict[str, Any]:
    """Return a skill as upstream's `skills_metadata` holds it, without unused fields: every turn decodes it."""
    fields = {"path": skill.path, "name": skill.name, "description": skill.description}
    return {**fields, "metadata": dict(skill.metadata)} if skill.metadata else fields


def pinned_message(skill: Skill, body: str, message_id: str) -> HumanMessage:
    """Return a skill's body as a message that is nobody's request, in the shape upstream pins one."""
    name, path = html.escape(skill.name), html.escape(skill.path)
    marker = {"name": skill.name, "path": skill.path, "description": skill.description}
    return HumanMessage(
        f'<skill name="{name}" path="{path}">\n{body}\n</skill>',
        id=message_id,
        additional_kwargs={"lc_source": PINNED, "skill": marker},
    )


def pinned_name(text: str) -> str:
    return html.unescape(text.removeprefix('<skill name="').partition('"')[0])


def is_pinned(source: str | None, text: str, path: str) -> bool:
    return source == PINNED and f'path="{html.escape(path)}">' in text.partition("\n")[0]
