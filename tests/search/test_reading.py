"""What a reader keeps in memory is what a new one reads, whatever was written in between, and by whom."""

import textwrap
from pathlib import Path
from random import Random

import pytest

from deepnb.search import Index
from deepnb.search.reading import FEW, KeptPostings, Reader
from deepnb.search.words import HEAD
from tests.support.tables import every_row

WORDS = ["bee", "hive", "kiln", "glaze", "boat", "harbour", "tea", "stove", "ferry", "bridge"]


def text(random: Random) -> str:
    if random.random() < 0.3:
        return "\n".join(f"Ana: I saw the {random.choice(WORDS)}" for _ in range(random.randint(1, 5)))
    said = (" ".join(random.choices(WORDS, k=60)) for _ in range(random.randint(1, 6)))
    return f"# On the {random.choice(WORDS)}\n\n" + "\n\n".join(textwrap.fill(one, 75) for one in said)


def fresh(index: Index) -> tuple[Reader, Reader]:
    with index._open() as db, db.transaction():
        old, new = index._reader, Reader(db)
        assert old is not None
        for reader in (old, new):
            reader.refresh()
            reader._chunks_of_documents()
    return old, new


@every_row("seed", range(6))
@every_row("others", [False, True])
def test_what_is_kept_is_what_is_there(tmp_path: Path, seed: int, others: bool) -> None:
    """Writes of one to some files at a time, of this index or of another one on the same file."""
    random = Random(seed)
    index = Index(tmp_path / "i.db")
    writer = Index(tmp_path / "i.db") if others else index
    index.update({f"{n}.md": text(random) for n in range(30)})
    for step in range(12):
        asked = random.sample(WORDS, 4)
        index.search(" ".join(asked))
        many = 25 if step == 8 else random.randint(1, 3)
        changed = random.sample(range(35), many)
        writer.update({f"{n}.md": None if random.random() < 0.3 else text(random) for n in changed})
        old, new = fresh(index)
        assert old._size == new._size and old.paths == new.paths and old.documents == new.documents
        kept, read = old._chunks_of_documents(), new._chunks_of_documents()
        assert kept.keys.tolist() == read.keys.tolist() and kept.lengths.tolist() == read.lengths.tolist()
        for word in WORDS:
            assert old._postings.of(word).keys.tolist() == new._postings.of(word).keys.tolist()
        assert [hit.path for hit in index.search(asked[0], 3, legs=["words"])]


def test_only_the_files_that_were_written_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a word that is in all files, and in their headings."""
    index = Index()
    index.update({f"{n}.md": "# The bees\n\n- they keep bees\n" for n in range(100)})
    index.search("bees")
    read: list[int] = []
    whole = KeptPostings._read

    def watched(self: KeptPostings, asked: str, where: str) -> object:
        found = whole(self, asked, where)
        read.extend(found.tolist())
        return found

    monkeypatch.setattr(KeptPostings, "_read", watched)
    index.search("bees")
    assert read == []
    index.update({"7.md": "- and wasps, and bees\n"})
    assert index.search("bees", 3)
    assert {key - HEAD >> 18 if key >= HEAD else key >> 43 for key in read} == {8}
    read.clear()
    index.update({f"{n}.md": "- no more of them\n" for n in range(FEW + 1)})
    index.search("bees")
    assert len({key >> 43 for key in read if key < HEAD}) == 100 - FEW - 1


def test_an_index_of_before_is_counted_when_it_is_opened(tmp_path: Path) -> None:
    from deepnb.search import database as schema
    from deepnb.search.database import Database

    path = tmp_path / "i.db"
    files = {"a.md": "# Bees\n\n- one\n- two\n", "b.md": textwrap.fill("on kilns and boats " * 20, 75)}
    with Index(path) as index:
        index.update(files)
        sizes = index._rows("SELECT path, chunks, units FROM files ORDER BY path")
    db = Database(str(path))
    for column in ("changed", "chunks", "units"):
        db.rows(f"ALTER TABLE files DROP COLUMN {column}")
    db.rows("DROP TABLE spans")
    db.rows("DELETE FROM meta WHERE name = 'embedded'")
    db.rows(f"PRAGMA user_version = {schema.VERSION - 1}")
    db.close()
    again = Index(path, source=lambda: files)
    assert again._rows("SELECT path, chunks, units FROM files ORDER BY path") == sizes
    assert again.search("kilns", 1)[0].path == "b.md"
