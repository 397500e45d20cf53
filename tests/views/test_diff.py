"""Diffs: the rows give back both sides, the marked words too."""

import re

from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.files import FileDiff, file_diffs
from deepnb.views.diff import diff_view, rows, split_lines, word_diff
from tests.support.tables import every_row

BEFORE = "# Memory\n\n- The name is Ada.\n- Reports go to /reports.\n"
AFTER = "# Memory\n\n- The name is Ada Lovelace.\n- Reports go to /reports.\n- SI units.\n"

TEXTS = st.text(alphabet="ab \n\t.é日", max_size=60)


def test_the_text_is_a_unified_diff_under_its_title():
    view = diff_view(file_diffs({"/AGENTS.md": BEFORE}, {"/AGENTS.md": AFTER}), "memory: turn 3", "thread main, turn 3")
    assert view.text() == (
        "memory: turn 3   (thread main, turn 3)\n"
        "--- a/AGENTS.md\n"
        "+++ b/AGENTS.md\n"
        "@@ -1,4 +1,5 @@\n"
        " # Memory\n"
        "\n"
        "-- The name is Ada.\n"
        "+- The name is Ada Lovelace.\n"
        " - Reports go to /reports.\n"
        "+- SI units."
    )


def test_the_words_that_changed_are_marked():
    shown = diff_view([FileDiff("/a", BEFORE, AFTER)], "t").html()
    assert re.findall(r"<ins[^>]*>(.*?)</ins>", shown) == ["Lovelace"] and "<del" not in shown


@every_row(("before", "after", "signs"), [
    (None, "a\nb\n", "@++"), ("a\nb\n", None, "@--"), ("a", "a\n", "@-\\+"), ("a\n", "", "@-"), (None, "", ""),
    ("", None, ""),
])  # fmt: skip
def test_files_that_come_and_go(before, after, signs):
    diff = FileDiff("/a", before, after)
    assert "".join(row.sign for row in rows(diff)) == signs
    assert "/a" in diff_view([diff], "t").text().replace("a/a", "/a").replace("b/a", "/a")
    assert "/a" in diff_view([diff], "t").html()


def test_a_long_diff_is_grouped_folded_and_not_looked_into():
    assert diff_view([], "memory").text() == "memory\nno changes"
    assert "no changes" in diff_view([], "memory").html()
    lines = [f"line {i}\n" for i in range(40)]
    changed = ["first\n", *lines[1:-1], "last\n"]
    assert "".join(r.sign for r in rows(FileDiff("/a", "".join(lines), "".join(changed)))) == "@-+   @   -+"
    shown = diff_view([FileDiff("/a", None, "x\n" * 1_000)], "t").html()
    assert "601 more lines" in shown
    left, right = word_diff("a " * 5_000, "a " * 5_000 + "b")
    assert [p.changed for p in left + right] == [False, False]


@given(TEXTS, TEXTS)
def test_the_pieces_of_each_side_joined_are_that_side(before, after):
    left, right = word_diff(before, after)
    assert "".join(p.text for p in left) == before and "".join(p.text for p in right) == after
    equal = [re.sub(r"\s", "", "".join(p.text for p in side if not p.changed)) for side in (left, right)]
    if any(p.changed for p in left + right):
        assert equal[0] == equal[1]
    lines = ["".join(p.text for p in line) for line in split_lines(right)]
    assert lines == ([] if not after else after.removesuffix("\n").split("\n"))


@given(TEXTS, TEXTS)
def test_the_rows_with_all_their_context_are_both_files(before, after):
    diff = FileDiff("/a", before, after)
    all_rows = rows(diff, context=10_000)
    if not diff.hunks:
        assert all_rows == []
        return
    for text, sign in ((before, "-"), (after, "+")):
        got = "\n".join(r.line for r in all_rows if r.sign in f" {sign}")
        assert got == text.removesuffix("\n")
