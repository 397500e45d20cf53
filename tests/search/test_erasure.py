"""The vocabulary of an index, where files are taken out of it."""

from pathlib import Path

from deepnb.search import Index


def test_words_that_other_files_have_stay_known(tmp_path: Path) -> None:
    index = Index(tmp_path / "i.db")
    index.update({"a.md": "the photograph of the kiln", "b.md": "a photograph"})
    index.update({"a.md": None})
    assert index.search("fotograph", 1)[0].path == "b.md"
    assert [word for (word,) in index._rows("SELECT word FROM vocabulary ORDER BY word")] == ["a", "photograph"]


def test_a_word_that_comes_back_is_found_again_by_those_that_look_like_it() -> None:
    index = Index()
    index.update({"a.md": "the photograph", "b.md": "bees"})
    assert index.search("fotograph", 1)
    index.update({"a.md": None})
    assert index.search("fotograph") == []
    index.update({"c.md": "two photographs"})
    assert index.search("fotograph", 1)[0].path == "c.md"
