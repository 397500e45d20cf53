"""Merging: nothing that either side added is lost, and a real conflict keeps both."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.core.merge import MIDDLE, OURS, THEIRS, merge

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines))


def conflict(ours: str, theirs: str) -> str:
    return f"{OURS}\n{ours}{MIDDLE}\n{theirs}{THEIRS}\n"


@pytest.mark.parametrize(
    ("base", "current", "mine", "text", "conflicts"),
    [
        ("a\n", "a\nb\n", "a\nc\n", "a\nb\nc\n", 0),  # both appended
        ("a\n", "a\nb\n", "a\nb\n", "a\nb\n", 0),  # both the same
        ("a\n", "a\nb\n", "a\nb\nc\n", "a\nb\nc\n", 0),  # the same and more
        ("", "b\n", "c\n", "b\nc\n", 0),  # both began the file
        ("a", "a\nb", "a\nc", "a\nb\nc", 0),  # no line feed at the end
        ("a\nb\nc\n", "X\na\nb\nc\n", "a\nb\nc\nY\n", "X\na\nb\nc\nY\n", 0),  # far apart
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nY\n", "a\nc\nY\n", 0),  # one removed, one added
        ("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", f"a\n{conflict('X' + chr(10), 'Y' + chr(10))}c\n", 1),
        ("a\nb\n", "a\n", "a\nB\n", f"a\n{conflict('', 'B' + chr(10))}", 1),  # removed here, changed there
        ("a\nb\n", "a\nb\nc\n", "a\n", "a\nc\n", 0),  # removed here, added beside it there
        ("a\nb\n", "a\nb\nc\n", "a\nB\n", "a\nB\nc\n", 0),  # changed here, added beside it there
        ("a\r\nb", "a\r\nb\r\nc", "A\r\nb", "A\r\nb\r\nc", 0),  # CRLF, and no line feed at the end
        ("a\r\nb", "a\r\nX", "a\r\nY", f"a\n{conflict('X' + chr(10), 'Y' + chr(10))}".replace("\n", "\r\n")[:-2], 1),
        ("- 一\n", "- 一\n- 二\n", "- 一\n- 🙂\n", "- 一\n- 二\n- 🙂\n", 0),
    ],
)
def test_merge(base: str, current: str, mine: str, text: str, conflicts: int) -> None:
    merged = merge(base, current, mine)
    assert (merged.text, merged.conflicts) == (text, conflicts)


@given(LINES, LINES, LINES)
def test_every_line_that_a_side_added_is_there(base: str, current: str, mine: str) -> None:
    lines = Counter(merge(base, current, mine).text.split("\n"))
    for side in (current, mine):
        added = Counter(side.split("\n")) - Counter(base.split("\n"))
        assert all(lines[line] for line in added)


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
    assert merge(base, base, side).text == side
    assert merge(base, side, base).text == side
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
    assert (merged.text, merged.conflicts) == ("".join(f"{line}\n" for line in want), 0)
