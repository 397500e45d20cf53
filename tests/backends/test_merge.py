"""Merging: nothing that either side added is lost or blended, and a real conflict keeps both."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from deepnb.backends.merge import Conflict, merge
from tests.support.tables import every_row

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines))


@every_row(
    ("base", "current", "mine", "text", "conflicts"),
    [
        ("a\n", "a\nb\n", "a\nc\n", "a\nb\nc\n", []),  # both appended
        ("a\n", "a\nb\n", "a\nb\n", "a\nb\n", []),  # both the same
        ("a\n", "a\nb\n", "a\nb\nc\n", "a\nb\nc\n", []),  # the same and more
        ("", "b\n", "c\n", "b\nc\n", []),  # both began the file
        ("a", "a\nb", "a\nc", "a\nb\nc", []),  # no line feed at the end
        ("a\nb\nc\n", "X\na\nb\nc\n", "a\nb\nc\nY\n", "X\na\nb\nc\nY\n", []),  # far apart
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nY\n", "a\nc\nY\n", []),  # one removed, one added
        ("a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n", []),  # lines that touch
        ("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "a\nX\nY\nc\n", [(2, "X", "Y")]),
        ("a\nb\n", "a\n", "a\nB\n", "a\nB\n", [(2, "", "B")]),  # removed here, changed there
        ("a\nb\n", "a\nB\n", "a\n", "a\nB\n", [(2, "B", "")]),  # the other way round
        ("a\nb\n", "a\nb\nc\n", "a\n", "a\nc\n", []),  # removed here, added beside it there
        ("a\nb\n", "a\nb\nc\n", "a\nB\n", "a\nB\nc\n", []),  # changed here, added beside it there
        ("a\r\nb", "a\r\nb\r\nc", "A\r\nb", "A\r\nb\r\nc", []),  # CRLF, and no line feed at the end
        ("a\r\nb", "a\r\nX", "a\r\nY", "a\r\nX\r\nY", [(2, "X", "Y")]),
        ("- 一\n", "- 一\n- 二\n", "- 一\n- 🙂\n", "- 一\n- 二\n- 🙂\n", []),
        # two items of a list, one below the other; the lines of a paragraph stay together
        ("- a\n- b\n", "- A\n- B\n", "- 1\n- 2\n", "- A\n- 1\n- B\n- 2\n", [(1, "- A", "- 1"), (3, "- B", "- 2")]),
        ("We met\nhere.\n", "I met\nthere.\n", "You met\nme.\n", "I met\nthere.\nYou met\nme.\n",
         [(1, "I met\nthere.", "You met\nme.")]),
        ("a\nb\n- c\nd\n", "A\nb\nx\ny\nz\n", "T1\nT2\nT3\n- c\nD\n", "A\nx\ny\nz\nT1\nT2\nT3\nD\n",
         [(1, "A\nx\ny\nz", "T1\nT2\nT3\nD")]),  # by what the sides wrote, not by the line that one of them left
        ("# A\n", "# B\n", "# C\n", "# B\n# C\n", [(1, "# B", "# C")]),
        ("| a |\n", "| b |\n", "| c |\n", "| b |\n| c |\n", [(1, "| b |", "| c |")]),
        ("a\n", "x\ny\n", "y\n", "x\ny\n", []),  # what it writes is there already
    ],
)  # fmt: skip
def test_merge(base: str, current: str, mine: str, text: str, conflicts: list[tuple[int, str, str]]) -> None:
    merged = merge(base, current, mine)
    assert (merged.text, merged.conflicts) == (text, tuple(Conflict(*one) for one in conflicts))


def test_a_conflict_says_what_each_side_wrote() -> None:
    both = merge("- l1\n", "- l1 AAA\n", "- l1 BBB\n").conflicts[0]
    assert str(both) == 'line 1: "- l1 AAA" was written first, "- l1 BBB" second; the file has both'
    assert "was written after its line had been deleted" in str(merge("a\nb\n", "a\n", "a\nB\n").conflicts[0])
    assert "was changed meanwhile and is not deleted" in str(merge("a\nb\n", "a\nB\n", "a\n").conflicts[0])
    long = merge("- l\n", f"- {'x' * 900}\n", f"- {'y' * 900}\n").conflicts[0]
    assert len(str(long)) < 420


@every_row("third", ["- l1\n", "- l1 AAA\n", "- l1 BBB\n", "- l1 AAA\n- l1 BBB\n"])
def test_a_conflict_does_not_grow(third: str) -> None:
    """Whoever writes either text again, or has not changed anything, adds nothing and makes no new conflict."""
    once = merge("- l1\n", "- l1 AAA\n", "- l1 BBB\n").text
    again = merge("- l1\n", once, third)
    assert (again.text, again.conflicts) == (once, ())


def test_what_its_writer_knows_is_its_own_text_and_the_conflicts_it_is_told_of() -> None:
    merged = merge("- a\n- b\n- c\n", "- A\n- b\n- c\n- d\n", "- 1\n- b\n- c\n")
    assert merged.text == "- A\n- 1\n- b\n- c\n- d\n" and merged.seen == "- A\n- 1\n- b\n- c\n"
    assert merge("- a\n- b\n- c\n", "- c\n", "- b\n- c\n").seen == "- b\n- c\n"  # that b is gone it is not told
    settled = merge(merged.seen, merged.text, "- 1\n- b\n- c\n")
    assert (settled.text, settled.conflicts) == ("- 1\n- b\n- c\n- d\n", ())


MARKS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["keep", "edit", "drop"])), max_size=6)


@given(MARKS, MARKS)
def test_lines_are_merged_one_by_one(ours: list[tuple[int, str]], theirs: list[tuple[int, str]]) -> None:
    """Each line edited, dropped or kept by either side: what either wrote is there once, and disagreement is named."""
    acts = [dict(ours), dict(theirs)]
    base = [f"- {n}" for n in range(6)]
    texts = []
    for who, act in enumerate(acts):
        left = [(n, line) for n, line in enumerate(base) if act.get(n) != "drop"]
        texts.append("".join(f"{line} by {who}\n" if act.get(n) == "edit" else f"{line}\n" for n, line in left))
    merged = merge("".join(f"{line}\n" for line in base), *texts)
    lines = merged.text.splitlines()
    for n, line in enumerate(base):
        did = [act.get(n, "keep") for act in acts]
        assert lines.count(line) == (did == ["keep", "keep"])
        for who in (0, 1):
            assert lines.count(f"{line} by {who}") == (did[who] == "edit")
        if sorted(did) in (["drop", "edit"], ["edit", "edit"]):
            written = [f"{line} by {who}" for who in (0, 1) if did[who] == "edit"]
            assert any(all(w in f"{c.kept}\n{c.written}".split("\n") for w in written) for c in merged.conflicts)
    assert len(lines) == len(set(lines))


@given(LINES, LINES, LINES, st.tuples(st.booleans(), st.booleans(), st.booleans()), st.sampled_from(["\n", "\r\n"]))
def test_line_ends_and_a_missing_last_one_lose_nothing(
    base: str, current: str, mine: str, cut: tuple[bool, bool, bool], end: str
) -> None:
    texts = [(t.rstrip("\n") if c else t).replace("\n", end) for t, c in zip((base, current, mine), cut, strict=True)]
    merged = merge(*texts)
    lines = Counter(merged.text.replace("\r\n", "\n").split("\n"))
    for side in (current, mine):
        added = Counter(side.split("\n")) - Counter(base.split("\n"))
        assert all(lines[line] for line in added if line)
    if end == "\r\n" and "\r\n" in texts[0] + texts[1] + texts[2]:
        assert merged.text.count("\n") == merged.text.count("\r\n")


@given(LINES, LINES)
def test_one_side_alone_is_taken_as_it_is(base: str, side: str) -> None:
    assert merge(base, base, side).text == side and merge(base, side, base).text == side
    assert merge(base, side, side).text == side


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.data())
def test_changes_that_do_not_touch_are_both_made_without_a_conflict(kept: list[str], data: st.DataObject) -> None:
    base = [f"{i}{x}" for i, x in enumerate(kept)] + ["middle"] + [f"{i}{x} end" for i, x in enumerate(kept)]
    first = data.draw(st.integers(0, len(kept) - 1))
    second = len(kept) + 1 + data.draw(st.integers(0, len(kept) - 1))
    ours = [*base[:first], "ours", *base[first + 1 :]]
    theirs = [*base[:second], "theirs", *base[second + 1 :]]
    want = [*base[:first], "ours", *base[first + 1 : second], "theirs", *base[second + 1 :]]
    merged = merge(*("".join(f"{line}\n" for line in side) for side in (base, ours, theirs)))
    assert (merged.text, merged.conflicts) == ("".join(f"{line}\n" for line in want), ())


@given(LINES, LINES, LINES)
def test_without_a_conflict_its_writer_knows_its_own_text_and_with_one_no_less(
    base: str, current: str, mine: str
) -> None:
    merged = merge(base, current, mine)
    if not merged.conflicts:
        assert merged.seen == mine
    assert {*mine.splitlines()} <= {*merged.seen.splitlines()} <= {*mine.splitlines(), *merged.text.splitlines()}
