"""What the agent can do on demand: each skill's line in the prompt, what it costs, where it is read.

What to fix in skills: file, line, what is wrong and what to write instead, nothing cut short."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from deepnb.core.offload import ranges
from deepnb.core.skills import Finding, Skill, SkillRead, skill_line
from deepnb.views import html as h
from deepnb.views.text import counted, pad, page, quoted, short, title_line, width
from deepnb.views.view import table_html

EMPTY = "no skills yet: type %skills new NAME, or %skills add to list those that come with deepnb"


GRANTS = "you are asked once, on an approval card"


@dataclass(frozen=True)
class SkillRow:
    """A skill, what it costs, and what the agent has seen of it."""

    skill: Skill
    tokens: int
    """Of its line in every request; 0 for one the agent does not see."""
    body: int | None = None
    """What reading its file adds; None where that is not known."""
    read: SkillRead | None = None
    pinned: bool = False
    """Whether its body goes before the next prompt."""

    @property
    def name(self) -> str:
        return self.skill.name or self.skill.directory

    @property
    def cost(self) -> str:
        if self.skill.problem:
            return "can't be used"
        return counted(self.tokens, "token") if self.skill.enabled else "disabled"

    @property
    def facts(self) -> tuple[str, ...]:
        """What is to be said of it beside its name, its cost and what it is for; a line each."""
        skill = self.skill
        lines = [] if self.body is None else [f"{counted(self.body, 'token')} more if read"]
        lines += [_read(self.read)] if self.read else []
        lines += ["pinned: added to the next prompt, once"] if self.pinned else []
        lines += [f"from {skill.source}, overrides {', '.join(skill.overrides)}"] if skill.overrides else []
        lines += [f"asks for {', '.join(skill.allowed_tools)}: {GRANTS}"] if skill.allowed_tools else []
        lines += [f"needs: {skill.compatibility}"] if skill.compatibility else []
        return (*lines, *(f"note: {note}" for note in skill.notes))


@dataclass(frozen=True)
class SkillsView:
    """All skills, the broken ones with what is wrong."""

    rows: tuple[SkillRow, ...]
    stamp: str = ""

    @property
    def title(self) -> str:
        """`skills · 2 skills · 51 tokens in every request`, and how many are off or can't be used."""
        broken = sum(row.skill.problem is not None for row in self.rows)
        off = sum(not row.skill.enabled and row.skill.problem is None for row in self.rows)
        usable = counted(len(self.rows) - broken - off, "skill")
        tokens = counted(sum(row.tokens for row in self.rows), "token")
        more = (f" · {off} disabled" if off else "") + (f" · {broken} can't be used" if broken else "")
        return f"skills · {usable} · {tokens} in every request{more}"

    def text(self) -> str:
        """For each skill its name, cost and what it is for; below that its path, and what is to be said of it."""
        if not self.rows:
            return page([title_line("skills", self.stamp), EMPTY])
        names = min(32, max(width(row.name) for row in self.rows))
        lines = [title_line(self.title, self.stamp)]
        for row in self.rows:
            skill = row.skill
            lines.append(f"  {pad(short(row.name, names), names)}  {pad(row.cost, 13, right=True)}  "
                         f"{short(' '.join(skill.description.split()), 81 - names)}")  # fmt: skip
            margin = " " * (names + 19)
            lines += [margin + fact for fact in (skill.path, *row.facts)]
            lines += [f"{margin}problem: {skill.problem}"] if skill.problem else []
        return page(lines)

    def html(self) -> str:
        """A table: skill, what it is for, tokens in every request, tokens when read."""
        if not self.rows:
            return h.box(h.heading("skills", stamp=self.stamp), h.muted(EMPTY))
        title, *facts = self.title.split(" · ")
        head = ("skill", "description", "tokens", "tokens if read")
        return h.box(
            h.heading(title, *facts, stamp=self.stamp), table_html(head, list(map(_cells, self.rows)), right=(2, 3))
        )


@dataclass(frozen=True)
class SkillCard:
    """One skill of a panel."""

    row: SkillRow

    def text(self) -> str:
        return SkillsView((self.row,)).text()

    def html(self) -> str:
        """Its name, what it is for and what is to be said of it."""
        name, what, tokens, read = _cells(self.row)
        return h.box(h.el("div", name), what, h.muted(f"tokens in every request: {tokens}; if read: {read} more"))


def skills_view(
    skills: Sequence[Skill],
    count: Callable[[str], int],
    stamp: str = "",
    *,
    texts: Mapping[str, str] | None = None,
    reads: Mapping[str, SkillRead] | None = None,
    pinned: Collection[str] = (),
) -> SkillsView:
    """The skills in their order; `count` gives the tokens of a text.

    `texts` and `reads` are by path: a skill's file, and what the agent saw of it. `pinned` are names.
    """
    return SkillsView(tuple(_row(skill, count, texts or {}, reads or {}, pinned) for skill in skills), stamp)


def _row(
    skill: Skill,
    count: Callable[[str], int],
    texts: Mapping[str, str],
    reads: Mapping[str, SkillRead],
    pinned: Collection[str],
) -> SkillRow:
    tokens = count(skill_line(skill.name, skill.description, skill.path)) if skill.usable else 0
    body = count(texts[skill.path]) if skill.path in texts else None
    return SkillRow(skill, tokens, body, reads.get(skill.path), skill.name in pinned)


def _read(read: SkillRead) -> str:
    """`read in turn 2`, `partly read in turns 1, 2: 100 of 155 lines`, and whether it was changed since."""
    when = f"turn{'s' if len(read.turns) > 1 else ''} {ranges(read.turns)}"
    how = "pinned" if read.pinned else "read" if read.whole else "partly read"
    part = "" if read.whole else f": {read.lines:,} of {counted(read.total, 'line')}"
    return f"{how} in {when}{part}" + ("; changed since" if read.changed else "")


@dataclass(frozen=True)
class SkillView:
    """One skill with the text of its SKILL.md."""

    skill: Skill
    body: str
    stamp: str = ""

    def text(self) -> str:
        """Name, path, what it is for, its other fields, what is wrong with it; then its text."""
        skill = self.skill
        name = skill.name or skill.directory
        lines = [title_line(f"skill {name} · {skill.path}", self.stamp), skill.description.strip(), *_fields(skill)]
        lines += [f"problem: {skill.problem}"] if skill.problem else []
        return page([*lines, "", *quoted(self.body)])

    def html(self) -> str:
        """The skill with the text of its file."""
        skill = self.skill
        problem = _problem(skill.problem) if skill.problem else None
        head = h.heading(f"skill {skill.name or skill.directory}", h.code(skill.path), stamp=self.stamp)
        fields = [h.el("div", line, style=h.MUTED) for line in _fields(skill)]
        return h.box(head, h.el("div", skill.description), *fields, problem, h.pre(self.body))


def skill_view(skill: Skill, text: str, stamp: str = "") -> SkillView:
    """One skill, with the `text` of its SKILL.md."""
    return SkillView(skill, text, stamp)


def _cells(row: SkillRow) -> tuple[str, str, str, str]:
    skill = row.skill
    problem = None
    if skill.problem:
        problem = _problem(skill.problem)
    path = h.el("div", h.code(skill.path), style=h.MUTED)
    facts = [h.el("div", fact, style=h.MUTED) for fact in row.facts[row.body is not None :]]
    tokens = "–" if skill.problem else f"{row.tokens:,}" if skill.enabled else "disabled"
    body = "–" if row.body is None else f"{row.body:,}"
    return h.el("b", row.name), h.join(skill.description, path, *facts, problem), tokens, body


def _problem(words: str) -> h.Html:
    return h.el("div", h.swatch("problem", h.RED.format(0.2)), ": ", words)


def _fields(skill: Skill) -> list[str]:
    """The fields of a skill beside name and description, a line each."""
    lines = [] if skill.enabled else ["disabled: the agent does not see it"]
    lines += list(SkillRow(skill, 0).facts)
    lines += [f"license: {skill.license}"] if skill.license else []
    return lines + [f"{key}: {value}" for key, value in skill.metadata.items()]


@dataclass(frozen=True)
class FindingsView:
    """All that was found, in the order of the files."""

    findings: tuple[Finding, ...]
    stamp: str = ""

    @property
    def title(self) -> str:
        """`skills to fix · 1 broken · 2 notes`."""
        broken = sum(f.broken for f in self.findings)
        notes = len(self.findings) - broken
        parts = [f"{broken} broken"] * bool(broken) + [counted(notes, "note")] * bool(notes)
        return " · ".join(["skills to fix", *parts])

    def text(self) -> str:
        """Two lines each: where and what, then what to write."""
        lines = [title_line(self.title, self.stamp)]
        for one in self.findings:
            lines += [f"  {_grade(one)}: {_where(one)}: {one.what}", f"      {one.do}"]
        return page(lines)

    def html(self) -> str:
        """A table."""
        head = ("", "file", "line", "problem", "fix")
        rows = [(_mark(f), h.code(f.path), f"{f.line or '–'}", f.what, f.do) for f in self.findings]
        title, *facts = self.title.split(" · ")
        return h.box(h.heading(title, *facts, stamp=self.stamp), table_html(head, rows, right=(2,)))


def findings_view(findings: Sequence[Finding], stamp: str = "") -> FindingsView:
    """What to fix."""
    return FindingsView(tuple(findings), stamp)


def _grade(finding: Finding) -> str:
    return "broken" if finding.broken else "note"


def _mark(finding: Finding) -> str:
    return h.swatch("broken", h.RED.format(0.2)) if finding.broken else "note"


def _where(finding: Finding) -> str:
    return f"{finding.path}, line {finding.line}" if finding.line else finding.path
