"""What the agent can do on demand: each skill, its line in the prompt, what it costs, and what to fix in it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from deepnb.values.agent import Finding, Skill, SkillRead, skill_line
from deepnb.values.offload import ranges
from deepnb.views import html as h
from deepnb.views.text import counted, page, quoted, title_line
from deepnb.views.view import Picture, listing, table_html

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

    @property
    def name(self) -> str:
        return self.skill.name or self.skill.directory

    @property
    def cost(self) -> str:
        if self.skill.problem:
            return "can't be used"
        if not self.tokens and self.skill.enabled:
            return "not listed: the budget is spent"
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
        if not self.rows:
            return page([title_line("skills", self.stamp), EMPTY])
        rows = []
        for row in self.rows:
            problem = [f"problem: {row.skill.problem}"] if row.skill.problem else []
            rows.append((row.name, row.cost, row.skill.description, (row.skill.path, *row.facts, *problem)))
        return page([title_line(self.title, self.stamp), *listing(rows)])

    def html(self) -> str:
        if not self.rows:
            return h.box(h.heading("skills", stamp=self.stamp), h.muted(EMPTY))
        head = ("skill", "description", "tokens", "tokens if read")
        table = table_html(head, list(map(_cells, self.rows)), right=(2, 3))
        return h.box(h.heading(*self.title.split(" · "), stamp=self.stamp), table)


def skill_card(row: SkillRow) -> Picture:
    """Return the picture of one skill in a panel: what it is for, what it costs, and what is to be said of it."""
    name, what, tokens, read = _cells(row)
    costs = h.muted(f"tokens in every request: {tokens}; if read: {read} more")
    return Picture((), [SkillsView((row,)).text()], [h.el("div", name), what, costs])


def skills_view(
    skills: Sequence[Skill],
    count: Callable[[str], int],
    stamp: str = "",
    *,
    texts: Mapping[str, str] | None = None,
    reads: Mapping[str, SkillRead] | None = None,
    pinned: Collection[str] = (),
    listed: Collection[str] | None = None,
) -> SkillsView:
    """Return the skills in their order; `count` gives the tokens of a text.

    `texts` and `reads` are by path: a skill's file, and what the agent saw of it. `pinned` are names. `listed` are the
    paths of those that a request has room for; None for all.
    """
    rows = []
    for skill in skills:
        is_listed = skill.usable and (listed is None or skill.path in listed)
        tokens = count(skill_line(skill.name, skill.description, skill.path)) if is_listed else 0
        body = count(texts[skill.path]) if texts and skill.path in texts else None
        rows.append(SkillRow(skill, tokens, body, (reads or {}).get(skill.path), skill.name in pinned))
    return SkillsView(tuple(rows), stamp)


def _read(read: SkillRead) -> str:
    """Return `read in turn 2`, `partly read in turns 1, 2: 100 of 155 lines`, and whether it was changed since."""
    when = f"turn{'s' if len(read.turns) > 1 else ''} {ranges(read.turns)}"
    how = "pinned" if read.pinned else "read" if read.whole else "partly read"
    part = "" if read.whole else f": {read.lines:,} of {counted(read.total, 'line')}"
    return f"{how} in {when}{part}" + ("; changed since" if read.changed else "")


def skill_view(skill: Skill, text: str, stamp: str = "") -> Picture:
    """Return one skill: its path, what it is for, its other fields, what is wrong with it, and the `text` of its file."""
    title = f"skill {skill.name or skill.directory}"
    fields = [] if skill.enabled else ["disabled: the agent does not see it"]
    fields += list(SkillRow(skill, 0).facts)
    fields += [f"license: {skill.license}"] if skill.license else []
    fields += [f"{key}: {value}" for key, value in skill.metadata.items()]
    problem = [f"problem: {skill.problem}"] if skill.problem else []
    lines = [skill.description.strip(), *fields, *problem, "", *quoted(text)]
    head = h.heading(title, h.code(skill.path), stamp=stamp)
    body = [h.el("div", skill.description), *(h.el("div", line, style=h.MUTED) for line in fields), _problem(skill)]
    return Picture((), [title_line(f"{title} · {skill.path}", stamp), *lines], [head, *body, h.pre(text)])


def _cells(row: SkillRow) -> tuple[str, str, str, str]:
    """Return name, description and facts, tokens in every request, and tokens if read."""
    skill = row.skill
    path = h.el("div", h.code(skill.path), style=h.MUTED)
    facts = [h.el("div", fact, style=h.MUTED) for fact in row.facts[row.body is not None :]]
    tokens = "–" if skill.problem else f"{row.tokens:,}" if skill.enabled else "disabled"
    body = "–" if row.body is None else f"{row.body:,}"
    return h.el("b", row.name), h.join(skill.description, path, *facts, _problem(skill)), tokens, body


def _problem(skill: Skill) -> h.Html | None:
    return h.el("div", h.swatch("problem", h.RED.format(0.2)), ": ", skill.problem) if skill.problem else None


def findings_view(findings: Sequence[Finding], stamp: str = "") -> Picture:
    """Return what to fix in skills, in the order of the files: file, line, problem and fix, nothing cut short."""
    broken = sum(one.broken for one in findings)
    notes = len(findings) - broken
    title = ["skills to fix", *[f"{broken} broken"] * bool(broken), *[counted(notes, "note")] * bool(notes)]
    lines, rows = list[str](), list[tuple[str, ...]]()
    for one in findings:
        grade, place = "broken" if one.broken else "note", f"{one.path}, line {one.line}" if one.line else one.path
        lines += [f"  {grade}: {place}: {one.what}", f"      {one.do}"]
        mark = h.swatch(grade, h.RED.format(0.2)) if one.broken else grade
        rows.append((mark, h.code(one.path), f"{one.line or '–'}", one.what, one.do))
    return Picture(title, lines, [table_html(("", "file", "line", "problem", "fix"), rows, right=(2,))], stamp)
