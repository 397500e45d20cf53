"""Identifiers: whatever they look like, the passage that has one is the first hit, and never none."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from deepnb.search import Index
from tests.bench.speed import markdown
from tests.support.tables import every_row

FAMILY = ["欧阳", "司马", "王", "李", "张", "陈", "赵", "周", "吴", "郑"]
GIVEN = ["明远", "明亮", "志远", "思齐", "海若", "若海", "子墨", "墨涵", "建军", "国强"]


def planted(random: Random) -> dict[str, list[str]]:
    """Identifiers by kind; within a kind they differ in a letter or a digit."""
    verbs, nouns = ["load", "parse", "merge", "flush", "index"], ["config", "thread", "journal", "chunk", "budget"]
    return {
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


def ask(kind: str, name: str, i: int) -> str:
    if kind == "names":
        return (name, f"{name}是谁？", f"请问{name}的电话是多少")[i % 3]
    return (name, f"what did we decide on {name}?", f"why is {name} failing again")[i % 3]


def ranks(files: dict[str, str], most: int = 10_000) -> tuple[list[tuple[str, str, str]], int]:
    """Every identifier whose first hit lacks it, with its kind and the query; and the number of chunks."""
    random = Random(3)
    kinds = planted(random)
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


def test_they_are_found_first_among_two_thousand_chunks() -> None:
    missed, _ = ranks(markdown(1.0))
    assert missed == []


@pytest.mark.nightly
def test_they_are_found_first_among_ten_thousand_chunks() -> None:
    missed, chunks = ranks(markdown(5.3))
    assert chunks >= 10_000
    assert missed == []


@every_row("fusion", ["rank", "weight"])
def test_a_vector_does_not_hide_an_identifier(fusion: str) -> None:
    class Liar:
        """Says that every text but the one asked for is what is meant."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[0.0, 1.0] if "E4042" in text else [1.0, 0.0] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    index = Index(embedder=Liar())
    index.update({f"{n}.md": f"We saw E40{n} in the log of the service." for n in range(10, 60)})
    hits = index.search("What is E4042 in the log of the service?", 5, fusion=fusion)  # type: ignore[arg-type]
    assert "E4042" in hits[0].text and hits[0].leg.startswith("exact")


@every_row(
    ("text", "query"),
    [
        ("the file is etc/nginx/nginx.conf, I think", "nginx.conf"),
        ("call getUserById first", "getuserbyid"),
        ("call getUserById first", "get user"),
        ("错误ERR-1042出现了", "ERR-1042"),
        ("ＥＲＲ－１０４２ in full width", "ERR-1042"),
        ("it is v2.10.3, not v2.1.03", "v2.10.3"),
        ("mail to ops@example.org", "ops@example.org"),
        ("see `std::vector`", "std::vector"),
        ("`sqlite3.Connection.enable_load_extension` may be missing", "enable_load_extension"),
        ("it fires at 0.85 of the window, not at 0.58", "0.85"),
        ("commit 3f9a2c1d broke it", "3f9a2c1d"),
    ],
)
def test_an_identifier_is_read_out_of_its_sentence(text: str, query: str) -> None:
    index = Index()
    index.update({"a.md": text, "b.md": "something else", "c.md": "and more of it"})
    (hit,) = index.search(query, 1)
    assert (hit.path, hit.leg.startswith("exact")) == ("a.md", query != "get user")
