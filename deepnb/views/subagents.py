"""The agents that tasks are handed to: what each is for, what it has, what it spent."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.values.agent import Listed, Spent
from deepnb.views import html as h
from deepnb.views.text import counted, quoted, title_line, tokens
from deepnb.views.view import Picture, listing, table_html

OFF = "subagents are disabled: enable_subagents=True lets the agent delegate tasks"
NONE = "no subagents: type %agent subagents add NAME"


@dataclass(frozen=True)
class SubagentRow:
    """A subagent, its tools and its model in words, and what it spent in this thread."""

    listed: Listed
    tools: str
    model: str
    spent: Spent

    @property
    def name(self) -> str:
        return self.listed.agent.name

    @property
    def used(self) -> str:
        """`3 tasks`, or why there can be none."""
        return "can't be used" if self.listed.problem else counted(self.spent.runs, "task")

    @property
    def facts(self) -> tuple[str, ...]:
        """Where it is, what it has, what it spent; a line each."""
        listed, spent = self.listed, self.spent
        skills = f" · skills: {', '.join(listed.agent.skills)}" if listed.agent.skills else ""
        lines = [listed.path or listed.source, f"tools: {self.tools} · model: {self.model}{skills}"]
        used = f"{counted(spent.input, 'token', spent.exact)} in / {tokens(spent.output, spent.exact)} out"
        lines += [f"{counted(spent.calls, 'call')}, {used} in this thread"] if spent.calls else []
        lines += [f"problem: {listed.problem}"] if listed.problem else []
        return (*lines, *(f"note: {note}" for note in listed.notes))


def subagents_view(rows: Sequence[SubagentRow], limit: int, stamp: str = "") -> Picture:
    """Return the subagents in their order, nested at most `limit` deep; the broken ones with what is wrong."""
    if not limit or not rows:
        nothing = NONE if limit else OFF
        return Picture(("subagents",), [nothing], [h.muted(nothing)], stamp)
    broken = sum(row.listed.problem is not None for row in rows)
    title = ["subagents", f"{len(rows) - broken}", f"nested up to {counted(limit, 'level')}"]
    title += [f"{broken} can't be used"] if broken else []
    head = ("subagent", "description", "tasks", "calls", "tokens in", "out")
    table = table_html(head, list(map(_cells, rows)), right=(2, 3, 4, 5))
    lines = listing([(row.name, row.used, row.listed.agent.description, row.facts) for row in rows])
    return Picture(title, lines, [table], stamp)


def subagent_view(row: SubagentRow, body: str, stamp: str = "") -> Picture:
    """Return one subagent, with the `body` that is its system prompt or its file."""
    title, where = f"subagent {row.name}", row.listed.path or row.listed.source
    about, facts, prompt = row.listed.agent.description, row.facts[1:], "(no system prompt)"
    lines = [about.strip(), *facts, "", *(quoted(body) if body.strip() else [prompt])]
    text = h.pre(body) if body.strip() else h.muted(prompt)
    body_ = [h.heading(title, h.code(where), stamp=stamp), h.el("div", about), *map(_fact, facts), text]
    return Picture((), [title_line(f"{title} · {where}", stamp), *lines], body_)


def _cells(row: SubagentRow) -> tuple[str, ...]:
    where, *facts = row.facts
    path = h.el("div", h.code(where), style=h.MUTED)
    kept = [fact for fact in facts if not fact.endswith("in this thread")]
    spent = row.spent
    figures = f"{spent.runs:,}", f"{spent.calls:,}", *(tokens(n, spent.exact) for n in (spent.input, spent.output))
    return h.el("b", row.name), h.join(row.listed.agent.description, path, *map(_fact, kept)), *figures


def _fact(fact: str) -> h.Html:
    broken = fact.startswith("problem: ")
    words = (h.swatch("problem", h.RED.format(0.2)), fact.removeprefix("problem")) if broken else (fact,)
    return h.el("div", *words, style=h.MUTED)
