"""What may be asked of an index and given to it: a budget is filled, a mistake is one line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepnb.search import Index
from deepnb.values.errors import DeepnbError, InvalidError
from tests.data import rows
from tests.support.tables import every_row

BEES = "- the bees of hive {}-{} are well and at work\n"
MANY = {f"memory/{n}.md": "".join(BEES.format(n, i) for i in range(40)) for n in range(20)}


def size(hits: list[Any]) -> int:
    return sum(len(hit.text) + len(hit.heading) + 1 for hit in hits)


@every_row("tokens", [200, 1000, 2000])
@every_row("k", [None, 3, 6, 40])
def test_a_budget_is_filled_and_kept(tokens: int, k: int | None) -> None:
    index = Index()
    index.update(dict(MANY))
    hits = index.search("how are the bees of the hive?", k, tokens=tokens)
    most = min(tokens * 4, 1600 * (k or 40))
    assert most * 0.85 < size(hits) <= tokens * 4 and (k is None or len(hits) <= k)


def test_short_notes_fill_a_budget_by_their_number() -> None:
    index = Index()
    index.update({f"memory/{n}.md": f"- the bees of hive {n} are well\n" for n in range(300)})
    hits = index.search("bees of the hive", tokens=2000)
    assert len(hits) > 200 and size(hits) > 7900


@every_row(("how", "says"), rows("search_options")["refused"])
def test_an_unknown_name_is_not_ignored(how: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidError, match="^" + says.replace("(", r"\(").replace("?", r"\?")):
        Index().search("bees", **how)


def test_what_is_no_path_or_query_is_one_line_and_a_path_object_names_a_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="query can't be None: give a str"):
        Index().search(None)  # type: ignore[arg-type]
    with pytest.raises(DeepnbError, match=r"is a directory: give the path of a file in it, such as index\.db"):
        Index(tmp_path)
    index = Index()
    index.update({Path("memory") / "a.md": "bees"})  # type: ignore[dict-item]
    assert index.files() == ["memory/a.md"]


@every_row(("how", "says"), [
    ({"path": 3}, "the path of an index can't be 3: give a str or a Path"),
    ({"path": "a\0b"}, "the path of an index can't be 'a.*b'"),
    ({"embedder": "openai"}, "embedder can't be 'openai': give a LangChain Embeddings"),
    ({"source": {}}, "source can't be {}: give a function"),
])  # fmt: skip
def test_an_index_is_made_of_what_it_can_use(how: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidError, match=says):
        Index(**how)


@every_row(("query", "path"), [("🐝", "bees.md"), ("what of the 🚀?", "launch.md"), ("☕ and tea", "tea.md")])
def test_an_emoji_is_a_word(query: str, path: str) -> None:
    index = Index()
    index.update({"bees.md": "they are back 🐝🐝", "launch.md": "Monday: 🚀 it is up", "tea.md": "no ☕ today"})
    assert index.search(query, 1)[0].path == path


@every_row(("files", "says"), [
    ({"a.md": b"bees"}, "the text of a.md is bytes: decode it"),
    ({"a.md": Path("a.md")}, "the text of a.md is PosixPath: give a str"),
    ({3: "bees"}, "a path can't be int"),
    (Path("notes"), "update takes a mapping of paths to texts, not PosixPath"),
    (["a.md"], "update takes a mapping of paths to texts, not list"),
])  # fmt: skip
def test_what_is_no_text_is_one_line(files: Any, says: str) -> None:
    with pytest.raises(DeepnbError, match=says):
        Index().update(files)


TEXT = {
    "a.md": "# Bees\n\nRuth keeps bees behind the shed.\nNEAR the AND gate OR not.",
    "b.md": "蜜蜂住在花园的尽头。\n\nゆきは犬が好きです。\n\n고양이는 지붕 위에 있다.",
    "c.md": "",
}
INDEX = Index()
INDEX.update(dict(TEXT))

HOSTILE = [
    "", " ", '"', '""""', "'; DROP TABLE files; --", "NEAR(", "NEAR(a b, 5)", "AND OR NOT", "bees AND", "NOT bees",
    "bees*", "^bees", "body:bees", "{body}: bees", "-bees", "+", "bees\x00\x01\x1b[31m", "\ud800bees\udfff", "(" * 5000,
    "%s %d {0} \\", "b" * 100_000, "bees " * 20_000, '" OR ' * 20_000, " ".join(f"word{n}" for n in range(20_000)),
    "蜂" * 100_000, "\u202e\u200b\ufeff", "a\u0301\u0302" * 1000, "🐝" * 100, "/" * 10_000, "a.b/" * 10_000,
    "A-" * 20_000, "-A" * 20_000, "a1" * 50_000,
]  # fmt: skip


@every_row("query", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_query_gives_hits_or_nothing(query: str) -> None:
    for hit in INDEX.search(query, 3):
        assert hit.path in TEXT


@every_row("query", ["bees AND", "NOT bees", "bees*", '"bees', "bees\x00\x01\x1b[31m", "\ud800bees\udfff"])
def test_the_words_in_it_are_found_all_the_same(query: str) -> None:
    assert INDEX.search(query, 1)[0].path == "a.md"


@every_row("k", [0, -1, 10**9])
def test_any_number_of_hits_may_be_asked_for(k: int) -> None:
    assert len(INDEX.search("bees", k)) <= max(k, 0)


@every_row("query", ["花园", "花园的尽头住着什么？", "犬", "犬が好き", "고양이", "지붕"])
def test_chinese_japanese_and_korean_are_found(query: str) -> None:
    assert [hit.path for hit in INDEX.search(query, 1)] == ["b.md"]


ANY = st.characters(blacklist_categories=[])


@given(st.text(ANY, max_size=200))
def test_any_text_may_be_asked(query: str) -> None:
    INDEX.search(query, 2)


@example({"\0": "", "\0b": "c", "a": "d"})
@given(st.dictionaries(st.text(ANY, min_size=1, max_size=20), st.text(ANY, max_size=400), max_size=4))
def test_any_text_may_be_indexed_and_what_has_a_word_is_found(files: dict[str, str]) -> None:
    index = Index()
    index.update({**files, "known.md": "the hoopoe"})
    again = index.update({**files, "known.md": "the hoopoe"})
    assert again.changed == 0 and "known.md" in {hit.path for hit in index.search("hoopoe", 10)}


def test_a_lone_surrogate_in_a_text_is_kept_as_a_question_mark() -> None:
    index = Index()
    index.update({"a.md": "the \udc80 hoopoe"})
    assert index.search("hoopoe")[0].text == "the ? hoopoe"


def test_a_file_of_very_many_lines_is_indexed_as_far_as_it_goes_and_it_is_said() -> None:
    from deepnb.search import chunks

    index = Index()
    before, chunks.MOST = chunks.MOST, 50
    long = "\n\n".join(f"line {n} of the log " + "x" * 900 for n in range(200))
    try:
        index.update({"long.md": long, "b.md": "hoopoe"})
    finally:
        chunks.MOST = before
    assert index.search("line 3 of the log")[0].path == "long.md" and index.search("hoopoe")[0].path == "b.md"
    assert len(index.notices) == 1 and "long.md is too long" in index.notices[0]
