"""The picture of an opened session: its context over time, and what is said of a budget that is not wholly known."""

from pathlib import Path

from deepnb import open_session
from deepnb.views.bar import sampled
from deepnb.views.budget import budget_view
from deepnb.wings.open.values import FileTurn, SessionIndex, SessionRow
from deepnb.wings.open.view import context_series, open_cell, opened_view, size
from tests.support.tables import every_row
from tests.wings.open.session_files import claude_file


def test_the_context_of_all_calls_and_the_compaction_between_them(tmp_path: Path) -> None:
    figures = open_session(claude_file(tmp_path)).figures
    assert context_series(figures) == ([100, 1_096, 100, 2_096, 100, 996], [4])


def test_a_long_series_keeps_its_peaks_and_marks() -> None:
    figures = [n % 100 for n in range(10_000)]
    tops, marks = sampled(figures, [5_000, 9_999], 50)
    assert (len(tops), max(tops), min(tops)) == (50, 99, 99)
    assert marks == [25, 49]
    assert sampled([3, 1], [1], 50) == ([3, 1], [1])


def test_a_budget_says_what_is_not_known(tmp_path: Path) -> None:
    text = budget_view(open_session(claude_file(tmp_path)).budget()).text()
    assert "window unknown" in text and "when the context is compacted is not recorded" in text
    assert "  ?  not recorded" in text and "until the trigger" not in text and "compacts at" not in text


def test_an_empty_session_and_one_that_begins_in_the_middle() -> None:
    index = SessionIndex("pi", "pi", "/x.jsonl", "p", (FileTurn(1, ""),), bytes=12)
    text = opened_view(index, "pi-p").text()
    assert "opened · pi · 1 turn " in text and "(no words)" in text and "12 bytes" in text


@every_row(
    ("path", "several", "cell"),
    [
        ("/a/b.jsonl", False, "%agent open /a/b.jsonl"),
        ("/a b/c.db", True, "%agent open '/a b/c.db' --thread t:1"),
        ("/it's.jsonl", False, 'deepnb.open_session("/it\'s.jsonl")'),
        ("/a\n.db", True, "deepnb.open_session('/a\\n.db', 't:1')"),
    ],
)
def test_the_cell_that_opens_a_session(path: str, several: bool, cell: str) -> None:
    assert open_cell(SessionRow(path, "t:1", "pi", several=several)) == cell


def test_a_size_in_words() -> None:
    told = [size(n) for n in (1, 999, 1_500, 201_700_000, 3 * 10**9)]
    assert told == ["1 byte", "999 bytes", "1.5 kB", "201.7 MB", "3.0 GB"]
