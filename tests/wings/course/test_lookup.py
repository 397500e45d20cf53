"""What a word finds in the reference, best first."""

from __future__ import annotations

import pytest

from deepnb.wings.course.help import MOST, look_up
from deepnb.wings.course.reference import entries
from tests.support.tables import every_row
from tests.support.wings import wing


def found(words: str, magic: str = "agent") -> list[tuple[str, str]]:
    return [(one.entry.kind, one.entry.name) for one in look_up(words, entries(), magic)]


@every_row(
    ("words", "first"),
    [
        ("compaction", ("topic", "compaction")),
        ("diff", ("%memory", "diff")),
        ("server", ("topic", "server")),
        ("fork", ("%agent", "fork")),
        ("%memory diff", ("%memory", "diff")),
        ("memory log", ("%memory", "log")),
        ("window", ("setting", "window")),
        ("max_input_tokens", ("option", "max_input_tokens")),
        ("Session", ("Python", "Session")),
        ("session.fork", ("Python", "session.fork")),
        ("NotFoundError", ("error", "NotFoundError")),
        ("journal", ("file", "journal")),
        pytest.param("--compare", ("%agent", "--compare"), marks=wing("compare")),
        ("approvals", ("topic", "approvals")),
    ],
)
def test_the_first_answer(words: str, first: tuple[str, str]) -> None:
    assert found(words)[0] == first


def test_the_magic_that_asks_comes_first() -> None:
    assert [found("show", magic)[0] for magic in ("memory", "skills")] == [("%memory", "show"), ("%skills", "show")]
    assert [found("panel", magic)[0] for magic in ("agent", "memory")] == [("%agent", "panel"), ("%memory", "panel")]


@every_row(
    ("words", "among"),
    [
        ("compaction", ("%agent", "compact")),
        ("forking", ("%agent", "fork")),
        ("certificates", ("file", "note")),
        ("mcp", ("topic", "tools")),
        ("postgres", ("topic", "persistence")),
        ("embeddings", ("option", "embeddings")),
        ("undo", ("%agent", "undo")),
        ("rate limits", ("topic", "models")),
        ("key facts", ("topic", "compaction")),
        ("redirects", ("topic", "tools")),
    ],
)
def test_it_is_among_the_answers(words: str, among: tuple[str, str]) -> None:
    assert among in found(words)


@every_row("words", ["nothinglikethis", "xyzzy", "..."])
def test_an_unknown_word_finds_nothing(words: str) -> None:
    assert found(words) == []


def test_a_long_topic_gives_all_of_it_by_name_and_else_the_passage() -> None:
    (named,) = (one for one in look_up("tools", entries()) if (one.entry.kind, one.entry.name) == ("topic", "tools"))
    redirects = look_up("redirects", entries())
    (other,) = (one for one in redirects if (one.entry.kind, one.entry.name) == ("topic", "tools"))
    assert named.passage == named.entry.text and len(named.passage) > 1_200
    assert "Redirects to other hosts" in other.passage and other.passage in other.entry.text
    assert other.passage[0].isupper() and len(other.passage) < len(named.passage) / 1.5


def test_there_are_not_too_many() -> None:
    assert len(look_up("the agent", entries())) == MOST
