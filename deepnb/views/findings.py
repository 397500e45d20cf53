"""What to fix in skills: file, line, what is wrong and what to write instead, nothing cut short."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.skills import Finding
from deepnb.views import html as h
from deepnb.views.numbers import counted
from deepnb.views.table import table_html
from deepnb.views.text import page, title_line


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
