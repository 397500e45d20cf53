"""The frozen documents: how many, wrapped how, asked in which words, and judgments that name what is there."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

from tests.data import documents as collection

DOCUMENTS = collection.documents()
QUESTIONS = collection.questions()
COMMON = (
    "a an and any are as at be been before by can did do does for from had has have how in into is it its made more most "
    "of on one or other such than that the their them they this those to under was were what when where whether which "
    "while who whom why with without"
)
FROZEN = "4d34d6a593cb47fd219518800014e348e73e86d7efd277a3cb4a03260268386a"
STOP = set(COMMON.split())


def words(text: str) -> set[str]:
    """Stems of five letters without common words; of Chinese, its pairs of characters."""
    chinese = {run[i : i + 2] for run in re.findall("[一-鿿]+", text) for i in range(len(run) - 1)}
    return chinese | {word[:5] for word in re.findall(r"[a-zà-ÿ]+", text.lower()) if word not in STOP}


def columns(line: str) -> int:
    return sum(2 if ord(character) > 0x2E7F else 1 for character in line)


def body(text: str) -> str:
    return text.split("\n\n", 1)[1]


def test_there_are_enough_in_four_languages() -> None:
    assert len(DOCUMENTS) == 321 and len(QUESTIONS) == 142
    assert sum(collection.is_chinese(text) for text in DOCUMENTS.values()) == 20
    assert sum(name.startswith("y") for name in DOCUMENTS) == 20
    clusters = Counter(name[0] for name in DOCUMENTS if name[1].isdigit() and name[0] not in "yz")
    assert len(clusters) == 24 and min(clusters.values()) >= 10


def test_no_text_title_or_question_is_there_twice() -> None:
    assert len({body(text) for text in DOCUMENTS.values()}) == len(DOCUMENTS)
    assert len({text.split("\n")[0] for text in DOCUMENTS.values()}) == len(DOCUMENTS)
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)
    sentences = Counter(s for text in DOCUMENTS.values() for s in re.split(r"[.。?!] ?", " ".join(body(text).split())))
    assert [s for s, times in sentences.items() if times > 1 and len(s) > 20] == []


def test_texts_have_the_length_of_abstracts() -> None:
    for name, text in DOCUMENTS.items():
        if collection.is_chinese(text):
            assert 120 <= len(body(text)) <= 400, name
        else:
            assert 70 <= len(body(text).split()) <= 220, name


def test_each_is_wrapped_at_its_column() -> None:
    widths = set()
    for name, text in DOCUMENTS.items():
        lines = body(text).splitlines()
        width = collection.own_width(name.removesuffix(".md"))
        widths.add(width)
        assert len(lines) >= 4 and max(map(columns, lines)) <= width, name
    assert widths == set(range(collection.NARROW, collection.WIDE + 1))


def test_one_width_wraps_all_and_changes_no_word() -> None:
    wrapped = collection.documents(width=75)
    assert max(columns(line) for text in wrapped.values() for line in body(text).splitlines()) in (74, 75)
    assert {name: re.sub(r"\s", "", text) for name, text in wrapped.items()} == {
        name: re.sub(r"\s", "", text) for name, text in DOCUMENTS.items()
    }


def test_questions_are_long_and_judged() -> None:
    for question in QUESTIONS:
        if collection.is_chinese(question.text):
            assert len(question.text) >= 40, question
        else:
            assert 15 <= len(question.text.split()) <= 45, question
        assert 3 <= len(question.grades) <= 10, question
        assert set(question.grades) <= set(DOCUMENTS), question
        assert 2 in question.grades.values() and set(question.grades.values()) <= {1, 2}, question


def test_a_question_is_judged_on_texts_of_its_language() -> None:
    for question in QUESTIONS:
        chinese = {collection.is_chinese(DOCUMENTS[name]) for name in question.grades}
        assert chinese == {collection.is_chinese(question.text)}, question


def test_most_texts_answer_some_question() -> None:
    judged = {name for question in QUESTIONS for name in question.grades}
    print(sorted(set(DOCUMENTS) - judged))
    assert len(judged) >= 0.9 * len(DOCUMENTS)


def test_questions_use_other_words_than_their_texts() -> None:
    shares: list[float] = []
    for question in QUESTIONS:
        asked = words(question.text)
        told = set().union(*(words(DOCUMENTS[name]) for name in question.grades))
        shares.append(len(asked - told) / len(asked))
    print(f"words of a question that its texts do not have: {sum(shares) / len(shares):.3f}")
    assert sum(shares) / len(shares) >= 0.6


def test_they_are_frozen() -> None:
    kept = repr(sorted(DOCUMENTS.items())) + repr([(q.text, sorted(q.grades.items())) for q in QUESTIONS])
    assert hashlib.sha256(kept.encode()).hexdigest() == FROZEN
