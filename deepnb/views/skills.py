"""What the agent can do on demand: each skill's line in the prompt, what it costs, where it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deepnb.core.values import Skill
from deepnb.views import html as h
from deepnb.views.figures import counted
from deepnb.views.plain import pad, page, quoted, short, title_line, width
from deepnb.views.table import table_html

EMPTY = "no skills yet: type %skills new NAME"


def skill_line(skill: Skill) -> str:
    """What of a skill is in every request, in the words of deepagents' own list."""
    return f"- **{skill.name}**: {skill.description}\n  -> Read `{skill.path}` for full instructions"


@dataclass(frozen=True)
class SkillRow:
    """A skill, and the tokens its line costs in every request; 0 for one that can't be used."""

    skill: Skill
    tokens: int


@dataclass(frozen=True)
class SkillsView:
    """All skills, the broken ones with what is wrong."""

    rows: tuple[SkillRow, ...]
    stamp: str = ""

    @property
    def title(self) -> str:
        """`skills · 2 skills · 51 tokens in every request`, and how many can't be used."""
        broken = sum(row.skill.problem is not None for row in self.rows)
        tokens = counted(sum(row.tokens for row in self.rows), "token")
        usable = counted(len(self.rows) - broken, "skill")
        return f"skills · {usable} · {tokens} in every request" + (f" · {broken} can't be used" if broken else "")

    def text(self) -> str:
        """Two lines for each skill: name, cost and what it is for; its path, or what is wrong."""
        if not self.rows:
            return page([title_line("skills", self.stamp), EMPTY])
        names = min(32, max(width(row.skill.name) for row in self.rows))
        lines = [title_line(self.title, self.stamp)]
        for row in self.rows:
            skill = row.skill
            cost = "can't be used" if skill.problem else counted(row.tokens, "token")
            lines.append(f"  {pad(short(skill.name, names), names)}  {pad(cost, 13, right=True)}  "
                         f"{short(skill.description, 81 - names)}")  # fmt: skip
            margin = " " * (names + 19)
            lines.append(margin + skill.path)
            lines += [f"{margin}problem: {skill.problem}"] if skill.problem else []
        return page(lines)

    def html(self) -> str:
        """A table: skill, what it is for, tokens."""
        if not self.rows:
            return h.box(h.heading("skills", stamp=self.stamp), h.muted(EMPTY))
        title, *facts = self.title.split(" · ")
        body = [_cells(row) for row in self.rows]
        table = table_html(("skill", "what it is for", "tokens"), body, right=(2,))
        return h.box(h.heading(title, *facts, stamp=self.stamp), table)


def skills_view(skills: Sequence[Skill], count: Callable[[str], int], stamp: str = "") -> SkillsView:
    """The skills in their order; `count` gives the tokens of a text."""
    rows = (SkillRow(skill, 0 if skill.problem else count(skill_line(skill))) for skill in skills)
    return SkillsView(tuple(rows), stamp)


@dataclass(frozen=True)
class SkillView:
    """One skill with the text of its SKILL.md."""

    skill: Skill
    body: str
    stamp: str = ""

    def text(self) -> str:
        """Name, path, what it is for, what is wrong with it; then its text."""
        skill = self.skill
        lines = [title_line(f"skill {skill.name} · {skill.path}", self.stamp), skill.description]
        lines += [f"problem: {skill.problem}"] if skill.problem else []
        return page([*lines, "", *quoted(self.body)])

    def html(self) -> str:
        """The same, the text as it stands in its file."""
        skill = self.skill
        problem = h.swatch(f"problem: {skill.problem}", h.RED.format(0.2)) if skill.problem else None
        head = h.heading(f"skill {skill.name}", h.code(skill.path), stamp=self.stamp)
        return h.box(head, h.el("div", skill.description), problem, h.pre(self.body))


def skill_view(skill: Skill, text: str, stamp: str = "") -> SkillView:
    """One skill, with the `text` of its SKILL.md."""
    return SkillView(skill, text, stamp)


def _cells(row: SkillRow) -> tuple[str, str, str]:
    skill = row.skill
    problem = None
    if skill.problem:
        problem = h.el("div", h.swatch("can't be used", h.RED.format(0.2)), " ", skill.problem)
    name = h.join(h.el("b", skill.name), h.el("div", h.code(skill.path), style=h.MUTED))
    return name, h.join(skill.description, problem), "–" if skill.problem else f"{row.tokens:,}"
