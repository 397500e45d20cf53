"""What the user does with the agent's skills: list, show, make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepnb.core.errors import DeepnbError
from deepnb.core.values import Skill
from deepnb.skills.scaffold import check_name, scaffold

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.agent.session import Session


class SessionSkills:
    """The skills of a session's sources, as they stand in the files now."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> tuple[Skill, ...]:
        """The skills as values; broken ones with what is wrong."""
        from deepnb.skills.catalog import Catalog

        return Catalog(self._session.options.skills).read(self._session.backend).skills

    def list(self) -> pd.DataFrame:
        """One row per skill: name, description, path, problem."""
        import pandas as pd

        rows = [(s.name, s.description, s.path, s.problem or "") for s in self.all()]
        return pd.DataFrame(rows, columns=["name", "description", "path", "problem"])

    def show(self, name: str) -> tuple[Skill, str]:
        """A skill and the text of its SKILL.md."""
        skills = {s.name: s for s in self.all() if not s.problem}
        if name not in skills:
            there = ", ".join(skills) or "none yet"
            raise DeepnbError(f"no skill {name!r} (there is: {there})", f"%skills new {name} makes it")
        return skills[name], self._session.files[skills[name].path]

    def new(self, name: str, description: str = "") -> str:
        """Make a skill filled with an example; gives the path of its SKILL.md."""
        path = self.path(name)
        if path in self._session.files:
            raise DeepnbError(
                f"there is a skill {name!r} already", f"%skills show {name}, or %%skills {name} to write it anew"
            )
        self._session.files[path] = scaffold(name, description)
        return path

    def write(self, name: str, text: str) -> str:
        """Write a skill's SKILL.md whole; gives its path."""
        path = self.path(name)
        self._session.files[path] = text
        return path

    def path(self, name: str) -> str:
        """Where a skill of this name is written: in the last source."""
        return f"{self._session.options.skills[-1].rstrip('/')}/{check_name(name)}/SKILL.md"
