"""The journal as a list: the newest changes first, a bounded number of them, of a long one its ends."""

from __future__ import annotations

from deepnb.backends.journal import Entry
from deepnb.views.memory import entry_view, journal_view


def entry(n: int, line: str = "+- a fact") -> Entry:
    return Entry(str(n), "2026-01-02T03:04:05+00:00", "/AGENTS.md", "user", f"@@ -0,0 +1 @@\n{line}\n", turn=n)


def test_the_newest_are_listed_and_the_older_counted():
    view = journal_view([entry(n) for n in range(1, 31)], most=8)
    assert [line.split(" ")[2] for line in view.text().splitlines()[1:9]] == [str(n) for n in range(30, 22, -1)]
    assert "22 older changes: %memory log lists all" in view.text() and "journal · 30 changes" in view.text()
    assert view.html().count("<details") == 8


def test_a_long_diff_shows_its_ends():
    html = entry_view(entry(1, "+first " + "x" * 50_000 + " last")).html()
    assert "+first" in html and " last" in html and "characters left out" in html
    assert len(html) < 8_000
