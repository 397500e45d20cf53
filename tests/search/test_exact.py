"""Identifiers are found first, whatever they look like; a word in other forms; the label of a line."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.search import Index
from deepnb.search.reading import other_forms
from deepnb.search.words import label
from tests.bench.speed import markdown
from tests.data import table
from tests.search import filled
from tests.support.tables import every_row

FAMILY = ["欧阳", "司马", "王", "李", "张", "陈", "赵", "周", "吴", "郑"]
GIVEN = ["明远", "明亮", "志远", "思齐", "海若", "若海", "子墨", "墨涵", "建军", "国强"]


def ask(kind: str, name: str, i: int) -> str:
    if kind == "names":
        return (name, f"{name}是谁？", f"请问{name}的电话是多少")[i % 3]
    return (name, f"what did we decide on {name}?", f"why is {name} failing again")[i % 3]


def ranks(files: dict[str, str]) -> tuple[list[tuple[str, str, str]], int]:
    """Every identifier whose first hit lacks it, with its kind and the query; and the number of chunks."""
    random = Random(3)
    # Identifiers by kind; within a kind they differ in a letter or a digit.
    verbs, nouns = ["load", "parse", "merge", "flush", "index"], ["config", "thread", "journal", "chunk", "budget"]
    kinds = {
        "error codes": [f"ERR_CONN_{n}" for n in range(1000, 1120)] + [f"0x8007{n:04X}" for n in range(100)],
        "paths": [f"/srv/app{n}/etc/{noun}.toml" for n in range(8) for noun in nouns],
        "windows paths": [f"C:\\Data\\run{n}\\out.csv" for n in range(20)],
        "functions": [f"{verb}_{noun}_v{n}" for verb, noun in product(verbs, nouns) for n in (1, 2)],
        "camel": [f"{verb}{noun.title()}By{n}Id" for verb, noun in product(verbs, nouns) for n in ("User", "Turn")],
        "tickets": [f"NEO-{n}" for n in random.sample(range(1000, 9999), 100)],
        "numbers": [f"#{n}" for n in range(20_100, 20_162)],
        "versions": [f"{a}.{b}.{c}" for a, b, c in product((1, 2), range(3), range(3))],
        "names": [family + given for family, given in product(FAMILY, GIVEN[:4])],
    }
    paths = sorted(files)
    index = Index()
    for kind, names in kinds.items():
        for name in names:
            path = random.choice(paths)
            said = f"负责人是{name}，有事找他。" if kind == "names" else f"Seen today: {name}, and nobody knew why."
            parts = files[path].split("\n\n")
            parts.insert(random.randrange(1, len(parts)), said)
            files[path] = "\n\n".join(parts)
    chunks = index.update(dict(files)).chunks
    missed = []
    for kind, names in kinds.items():
        for i, name in enumerate(names):
            query = ask(kind, name, i)
            hits = index.search(query, 3)
            if not hits or name not in hits[0].text:
                missed.append((kind, name, query))
    return missed, chunks


@pytest.mark.parametrize(("megabytes", "count"), [(1.0, 2_000), pytest.param(5.3, 10_000, marks=pytest.mark.nightly)])
def test_they_are_found_first(megabytes: float, count: int) -> None:
    missed, chunks = ranks(markdown(megabytes))
    assert chunks >= count and missed == []


@every_row("fusion", ["rank", "weight"])
def test_a_vector_does_not_hide_an_identifier(fusion: str) -> None:
    class Liar:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[0.0, 1.0] if "E4042" in text else [1.0, 0.0] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    index = filled({f"{n}.md": f"We saw E40{n} in the log of the service." for n in range(10, 60)}, embedder=Liar())
    hits = index.search("What is E4042 in the log of the service?", 5, fusion=fusion)  # type: ignore[arg-type]
    assert "E4042" in hits[0].text and hits[0].leg.startswith("exact")


@every_row(("text", "query"), table("search")["identifiers"])
def test_an_identifier_is_read_out_of_its_sentence(text: str, query: str) -> None:
    index = filled({"a.md": text, "b.md": "something else", "c.md": "and more of it"})
    (hit,) = index.search(query, 1)
    assert (hit.path, hit.leg.startswith("exact")) == ("a.md", query != "get user")


@every_row(("asked", "said"), table("search")["forms"])
def test_a_question_finds_the_word_in_another_form(asked: str, said: str) -> None:
    index = filled({"a.md": f"It rained all day.\n\n{said}\n", "b.md": "Nothing of that kind here.\n"})
    assert said in index.search(asked, 1)[0].text


def test_a_regular_word_has_no_other_form() -> None:
    assert other_forms("walk") == () and other_forms("s") == () and other_forms("ing") == ()


@given(st.text(alphabet="abegiknost", max_size=8))
def test_a_form_is_never_its_own_other(word: str) -> None:
    assert word not in other_forms(word)


@every_row(("line", "of"), [
    ("Ana: I keep bees", "Ana"), ("- **Ana**: I keep bees", "Ana"), ("- **Ana:** I keep bees", "Ana"),
    ("小林：我养蜜蜂", "小林"), ("Project Alpha: due in May", "Project Alpha"), ("12:30 lunch", ""),
    ("https://example.invalid/a", ""), ("C:\\notes", ""), ("a sentence of many words that ends so: here", ""),
    ("Ana", ""), ("", ""),
])  # fmt: skip
def test_a_label_is_what_stands_before_the_colon(line: str, of: str) -> None:
    assert label(line) == of


def test_what_a_speaker_says_is_theirs_and_a_run_of_chinese_is_a_name_in_quotation_marks_or_alone() -> None:
    index = filled({"talk.md": "Ana: The bees have left for the meadow behind the mill.\n\nBen: Ana, the bees?\n"})
    assert index.search("what of Ana's bees?", 1, passage=70)[0].text.startswith("Ana: ")
    index = Index()
    much = " ".join(f"Sentence {i} is about nothing at all." for i in range(60))
    index.update({"talk.md": f"Ana: {much} The kiln is hot. {much}\n\nBen: {much} The kiln is hot. {much}\n"})
    for asked, line in (("Ana kiln", 1), ("Ben kiln", 3)):
        hits = [hit for hit in index.search(asked, 8, passage=450) if "kiln" in hit.text]
        assert hits[0].start == line
    index = Index()
    said = ("新同事李想做设计，名字写在门口。", "设计师椅子到货了。", "合同七月到期，李想签字。")
    index.update(dict(zip(("a.md", "b.md", "c.md"), said, strict=True)))
    assert index.search("新来的设计师名字是什么？", 2)[0].path == "a.md"
    for query, leg in (("设计师椅子", True), ("“设计师”的名字", True), ("设计师的名字", False)):
        legs = {hit.path: hit.leg for hit in index.search(query, 3)}
        assert legs["b.md"].startswith("exact") == leg
