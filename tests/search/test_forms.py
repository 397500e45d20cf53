"""Forms of a word that no stemmer joins, and the label of a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deepnb.search import Index
from deepnb.search.reading import other_forms
from deepnb.search.words import label
from tests.support.tables import every_row


@every_row(
    ("asked", "said"),
    [
        ("where did she go?", "Ana went to the weir."),
        ("what did he buy?", "Ben bought a kiln."),
        ("who is taking the dog?", "Ana took the dog."),
        ("how many children has she?", "a woman with one child"),
        ("who is her mother?", "My mum sings."),
        ("what happened to twelve bowls?", "I sold 12 bowls."),
        ("会议改到哪天", "會議改到下週三。"),
        ("數據庫的密碼", "数据库密码在保险柜里。"),
        ("Haus", "Die Häuser am See."),
        ("Buch", "Alle Bücher sind zurück."),
        ("Strasse", "Die Straße ist gesperrt."),
        ("Versicherung", "Die Autoversicherung ist gekündigt."),
    ],
)
def test_a_question_finds_the_word_in_another_form(asked: str, said: str) -> None:
    index = Index()
    index.update({"a.md": f"It rained all day.\n\n{said}\n", "b.md": "Nothing of that kind here.\n"})
    assert said in index.search(asked, 1)[0].text


def test_a_regular_word_has_no_other_form() -> None:
    assert other_forms("walk") == () and other_forms("s") == () and other_forms("ing") == ()


@given(st.text(alphabet="abegiknost", max_size=8))
def test_a_form_is_never_its_own_other(word: str) -> None:
    assert word not in other_forms(word)


@every_row(
    ("line", "of"),
    [
        ("Ana: I keep bees", "Ana"),
        ("- **Ana**: I keep bees", "Ana"),
        ("- **Ana:** I keep bees", "Ana"),
        ("小林：我养蜜蜂", "小林"),
        ("Project Alpha: due in May", "Project Alpha"),
        ("12:30 lunch", ""),
        ("https://example.invalid/a", ""),
        ("C:\\notes", ""),
        ("a sentence of many words that ends so: here", ""),
        ("Ana", ""),
        ("", ""),
    ],
)
def test_a_label_is_what_stands_before_the_colon(line: str, of: str) -> None:
    assert label(line) == of


def test_what_a_speaker_says_comes_before_what_the_other_says_to_them() -> None:
    index = Index()
    index.update({"talk.md": "Ana: The bees have left for the meadow behind the mill.\n\nBen: Ana, the bees?\n"})
    assert index.search("what of Ana's bees?", 1, passage=70)[0].text.startswith("Ana: ")


def test_every_part_of_a_long_line_is_its_speakers() -> None:
    index = Index()
    much = " ".join(f"Sentence {i} is about nothing at all." for i in range(60))
    index.update({"talk.md": f"Ana: {much} The kiln is hot. {much}\n\nBen: {much} The kiln is hot. {much}\n"})
    for asked, line in (("Ana kiln", 1), ("Ben kiln", 3)):
        hits = [hit for hit in index.search(asked, 8, passage=450) if "kiln" in hit.text]
        assert hits[0].start == line


def test_a_run_of_chinese_is_a_name_in_quotation_marks_or_alone() -> None:
    index = Index()
    said = ("新同事李想做设计，名字写在门口。", "设计师椅子到货了。", "合同七月到期，李想签字。")
    index.update(dict(zip(("a.md", "b.md", "c.md"), said, strict=True)))
    assert index.search("新来的设计师名字是什么？", 2)[0].path == "a.md"
    for query, leg in (("设计师椅子", True), ("“设计师”的名字", True), ("设计师的名字", False)):
        legs = {hit.path: hit.leg for hit in index.search(query, 3)}
        assert legs["b.md"].startswith("exact") == leg
