"""Texts that try to run something, in every field of every view: the markup holds nothing that could."""

import re
from pathlib import Path

import nh3
import pytest
from markdown_it import MarkdownIt

from deepnb.views import html as h
from deepnb.views import markdown
from deepnb.views.turn_segments import Answer
from deepnb.views.view import TextView, notice_view
from tests.data import hostile
from tests.support.harmless import Harmful, harmless
from tests.support.hostile_views import functions, views
from tests.support.tables import every_row

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")


NAMES = [f"{kind}-{i}" for kind, of in hostile.KINDS.items() for i in range(len(of))]


def test_there_are_many_and_each_is_another() -> None:
    assert len(hostile.SHORT) >= 150
    assert len(set(hostile.SHORT)) == len(hostile.SHORT)
    assert len(functions()) >= 20


@pytest.mark.parametrize("of", [pytest.param(3, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)])
@every_row(("at", "text"), enumerate(hostile.SHORT), ids=NAMES)
def test_no_field_of_any_view_gets_out_of_its_place(at: int, text: str, of: int) -> None:
    for name, view in views(text, at, of):
        try:
            harmless(view.html())
        except Harmful as harm:
            raise AssertionError(f"{name}: {harm}") from harm
        assert not _UNSEEN.search(view.text()), name


@pytest.mark.nightly
@every_row("text", hostile.LONG, ids=[text[:12] for text in hostile.LONG])
def test_a_line_of_a_million_characters_is_shown(text: str) -> None:
    for view in (Answer(1, [text]), notice_view(text), TextView(text, text)):
        harmless(view.html())
        view.text().encode()


def test_a_planted_hole_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the one place that escapes, and without the sanitizer, nearly every text is found."""
    monkeypatch.setattr(h, "esc", lambda text: h.Html(text))
    texts = [text for text in hostile.SHORT if text.lstrip().startswith("<")]
    assert len(texts) > 100
    for text in texts:
        with pytest.raises((Harmful, UnicodeEncodeError)):
            harmless(notice_view(text).html())
    monkeypatch.undo()
    monkeypatch.setattr(nh3, "clean", lambda html, **_: html)
    monkeypatch.setattr(markdown, "_parser", lambda: MarkdownIt("commonmark", {"html": True}))
    with pytest.raises(Harmful):
        harmless(markdown.markdown_html("a <img src=x onerror=alert(1)>"))


def test_what_turns_the_direction_of_writing_is_seen() -> None:
    assert "[U+202E]" in h.esc("invoice\u202exslx.exe")
    assert "[U+E0068]" in h.esc("\U000e0068")
    assert "[U+202E]" in markdown.markdown_html("a\u202eb")


def test_every_widget_is_filled_with_views_or_plain_words() -> None:
    """ipywidgets takes a description as text unless it is told otherwise: nobody tells it."""
    room = Path(markdown.__file__).parent.parent / "widgets"
    for source in room.glob("*.py"):
        assert "description_allow_html" not in source.read_text(), source.name
