"""Entries of the journal: their diffs can be put in and taken back, whatever the texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.backends.journal import DoesNotFit, entries, entry, from_json, replay, to_json
from deepnb.values.files import FileDiff

TRICKY = ["a\n", "b\n", "--- x\n", "+++ y\n", "@@ -1 +1 @@\n", "\\ No newline\n", "- z\n", "\r\n", "\x0c\n", "end"]
TEXTS = st.one_of(
    st.none(),
    st.text(alphabet="ab\n\\+- @\r\x0c\u2028一", max_size=40),
    st.lists(st.sampled_from(TRICKY), max_size=12).map("".join),
)


def change(before: str | None, after: str | None, n: int = 1):
    return entry(FileDiff("/AGENTS.md", before, after), id=str(n), at="2026-01-01T00:00:00+00:00", origin="user")


@given(TEXTS, TEXTS)
def test_a_diff_put_in_gives_the_after_and_taken_back_the_before(before: str | None, after: str | None) -> None:
    if before == after:
        return
    one = change(before, after)
    assert one.after(before) == after
    assert one.before(after) == before
    assert from_json(to_json(one)) == one


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_the_journal_alone_gives_the_text(texts: list[str | None]) -> None:
    log, last = [], None
    for n, text in enumerate(texts):
        if text != last:
            log.append(change(last, text, n))
            last = text
    assert replay("/AGENTS.md", log) == last


def test_a_diff_refuses_a_text_it_was_not_made_from() -> None:
    one = change("a\nb\n", "a\nc\n")
    with pytest.raises(DoesNotFit):
        one.after("a\nx\n")
    with pytest.raises(DoesNotFit):
        one.after(None)
    with pytest.raises(DoesNotFit):
        one.before("a\nb\n")


def test_a_line_cut_short_by_a_crash_is_passed_over() -> None:
    one, two = change(None, "a\n"), change("a\n", "b\n", 2)
    text = f"{to_json(one)}\n{to_json(two)}\n" + to_json(change("b\n", "c\n", 3))[:40]
    assert entries(text) == (one, two)
