"""Where things meet in the browser: pieces of one answer that look as one, and bars at the line of the trigger."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from deepnb.views.bar import plot_html
from tests.support.answers import ANSWERS, pieces
from tests.support.browsers import marks

pytestmark = marks()

BOXES = """
kind => [...document.querySelectorAll(`section > div > ${kind}`)].map(n => {
  const box = n.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]
})
"""
COLUMNS = """
() => [...document.querySelectorAll('table')].map(t => [...t.querySelectorAll('tbody tr:first-child td')]
  .map(c => Math.round(c.getBoundingClientRect().left)))
"""


@pytest.fixture(scope="module")
def page(context: Any) -> Iterator[Any]:
    page = context.new_page()
    page.set_viewport_size({"width": 900, "height": 900})
    yield page
    page.close()


def show(page: Any, name: str) -> int:
    """Each piece in a section of its own, as outputs are; gives how many there are."""
    cut = pieces(ANSWERS[name], 150)
    page.set_content("<!doctype html>" + "".join(f"<section>{piece.html()}</section>" for piece in cut))
    return len(cut)


def test_a_block_that_was_cut_has_no_gap(page: Any) -> None:
    for name, kind in (("open fence", "pre"), ("table", "table"), ("numbers", "ol")):
        show(page, name)
        boxes = page.evaluate(BOXES, kind)
        assert len(boxes) >= 3, name
        for (left, _, right, bottom), (next_left, top, next_right, _) in pairwise(boxes):
            assert abs(top - bottom) < 1.5 and left == next_left, name
            assert kind == "ol" or right == next_right, name


def test_the_columns_of_a_table_stand_below_each_other_and_its_head_is_seen_once(page: Any) -> None:
    show(page, "table")
    columns = page.evaluate(COLUMNS)
    assert len(columns) > 3 and all(column == columns[0] for column in columns)
    heights = page.evaluate("() => [...document.querySelectorAll('thead')].map(n => n.getBoundingClientRect().height)")
    assert heights[0] > 10 and max(heights[1:]) < 1.5
    plain = page.evaluate(
        "() => { document.querySelectorAll('[style]').forEach(n => n.removeAttribute('style')); return document.body.innerText }"
    )
    assert plain.count("a\tb") == len(columns), "with every style removed each piece still names its columns"
    assert [f"row {i}\t{i}" in plain for i in range(30)] == [True] * 30


def test_only_the_bars_past_the_trigger_cross_its_line(page: Any) -> None:
    for trigger in (5_525, 120_000):
        figures = [trigger * percent // 100 for percent in (50, 90, 98, 99, 100, 108, 115)]
        page.set_content(f"<!doctype html><section>{plot_html(figures, (), trigger)}</section>")
        tops = page.evaluate("[...document.querySelectorAll('span')].map(n => n.getBoundingClientRect().top)")
        line = page.evaluate("document.querySelector('section > div:last-of-type').getBoundingClientRect().top")
        assert [top < line for top in tops] == [False] * 5 + [True] * 2, trigger
        assert [top >= line + 1 for top in tops[:5]] == [True] * 5, "they end below it"
