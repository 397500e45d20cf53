"""Prose that was wrapped at a column is read as paragraphs; what a reader keeps in memory is what a new one reads."""

import textwrap
from pathlib import Path
from random import Random

import numpy as np
import pytest

from deepnb.search import Index
from deepnb.search.chunks import UNIT, cut
from deepnb.search.keys import HEAD, chunk_key, unit_key
from deepnb.search.passages import Chunks, Row, passages, windows
from deepnb.search.reading import FEW, KeptPostings, Reader
from deepnb.search.scoring import Concept, Postings
from deepnb.search.words import read_query
from tests.data import rows
from tests.search import filled
from tests.support.tables import every_row

STORY = (
    "The investigation of the boundary layer over a flat plate was carried out in a shock tube, and what was measured "
    "there is compared with the theory. The heat transfer is much lower than was expected, which may be due to the "
    "leading edge, whose bluntness was varied in eight steps from zero to one inch."
)
CHINESE = "这一段中文没有空格所以每行的字数都一样多只有最后一行短一些而且句子往往在下一行里才说完我们把它当作一整段来读"


def lines(text: str) -> list[tuple[int, int]]:
    return [(unit.start, unit.end) for unit in cut(text).units]


@every_row("width", [60, 72, 79, 100])
def test_a_wrapped_paragraph_is_one_unit(width: int) -> None:
    text = textwrap.fill(STORY, width)
    last = text.count("\n") + 3
    assert lines(f"# Plates\n\n{text}\n\nThe end.\n") == [(1, 1), (3, last), (last + 2, last + 2)]


def test_a_wrapped_item_and_chinese_are_one_unit_and_a_long_one_is_parted_at_its_lines() -> None:
    item = textwrap.fill(STORY, 79, initial_indent="- ", subsequent_indent="  ")
    last = item.count("\n") + 2
    assert lines(f"- one\n{item}\n- three") == [(1, 1), (2, last), (last + 1, last + 1)]
    assert lines("\n".join(textwrap.wrap(CHINESE, 28))) == [(1, 2)]
    text = textwrap.fill(" ".join([STORY] * 3), 79)
    units = cut(text).units
    assert len(units) == 3 and all(unit.b - unit.a <= UNIT for unit in units)
    assert [unit.start for unit in units[1:]] == [unit.end + 1 for unit in units[:-1]]


@every_row("text", rows("search_options")["things by themselves"])
def test_lines_that_are_things_by_themselves_stay_so(text: str) -> None:
    assert all(first == last for first, last in lines(text))


def test_a_hit_in_a_wrapped_paragraph_names_all_its_lines() -> None:
    text = f"# Plates\n\n{textwrap.fill(STORY, 79)}\n\nThe end.\n"
    index = filled({"a.md": text})
    (hit,) = index.search("bluntness of the edge", 1)
    assert hit.text == "\n".join(text.split("\n")[hit.start - 1 : hit.end]) and "in eight steps" in hit.text


def scores(*files: list[tuple[int, int]], chunks: int = 1, size: float = 600.0) -> list[float]:
    """Of files with so many chunks, each given by its units with the word: (ordinal, chunk); the best of each file."""
    every = np.array([chunk_key(n, chunk) for n in range(len(files)) for chunk in range(chunks)])
    units = [unit_key(n, ordinal, chunk, 300) for n, units in enumerate(files) for ordinal, chunk in units]
    word = Concept(((Postings(np.array(units, np.int64)), 1.0),))
    found = windows([word], [1], Chunks(every, np.full(len(every), size)))
    best = dict.fromkeys(range(len(files)), 0.0)
    for key, score in zip(*(part.tolist() for part in found), strict=True):
        best[key >> 18] = max(best[key >> 18], score)
    return list(best.values())


def test_a_window_is_scored_by_how_often_words_are_asked_and_stand_in_it() -> None:
    """Of three documents of one chunk: the word twice in the first, once in the others, of which one is short."""
    twice, once = scores([(0, 0), (1, 0)], [(0, 0)])
    assert twice > once > 0
    keys = np.array([chunk_key(n, 0) for n in (1, 2)])
    word = Concept(((Postings(np.array([unit_key(n, 0, 0, 300) for n in (1, 2)])), 1.0),))
    found, (long, short) = windows([word], [1], Chunks(keys, np.array([600.0, 200.0])))
    assert found.tolist() == keys.tolist() and short > long
    unknown = Concept(((Postings(np.empty(0, np.int64)), 1.0),))
    assert windows([unknown], [1], Chunks(keys, np.ones(2)))[0].tolist() == []
    # Each file has it once in its first window; the second again, far from there.
    once, again, never = scores([(0, 0)], [(0, 0), (9, 9)], [], chunks=10)
    assert again > once > never == 0
    files = {
        "kiln.md": textwrap.fill(f"The kiln. {STORY}", 75),
        "glaze.md": textwrap.fill(f"The glaze. {STORY}", 75),
        **{f"{n}.md": textwrap.fill(STORY, 75) for n in range(3)},
    }
    index = filled(files)
    for first, name in (("kiln.md", "kiln"), ("glaze.md", "glaze")):
        assert index.search(f"how a kiln and a glaze behave, and the {name} above all")[0].path == first


def test_what_looks_like_an_identifier_and_is_in_many_files_is_a_word_beside_others() -> None:
    """One of many files about "I/O" answers; the identifier of a single file stays the first."""
    files = {f"{n}.md": textwrap.fill(f"Some I/O of disk {n} waits for a while. {STORY}", 75) for n in range(20)}
    files["streams.md"] = textwrap.fill(f"The standard streams of a program are opened as it starts. {STORY}", 75)
    files["4411.md"] = textwrap.fill(f"Ticket KX-4411 was closed. {STORY}", 75)
    index = filled(files)
    assert index.search("standard streams for I/O")[0].path == "streams.md"
    assert index.search("standard streams in KX-4411")[0].path == "4411.md"


def test_a_document_counts_by_its_windows() -> None:
    """The units of the best window have its score as the coarse one, whatever line of it the words are in."""
    other = "and the rest of what was written there is about the weather and the harbour of a town by the sea "
    index = filled({f"{n}.md": textwrap.fill(f"Report {n} on kilns: {other * 8}", 75) for n in range(3)})
    reader = index._reader
    assert reader is not None
    index.search("kilns")
    query = read_query("kilns")
    keys, scores = reader.windows(query, reader.words(query))
    (units,) = index._rows("SELECT count(*) FROM units")[0]
    assert len(keys) == units and (scores > 0).all()
    leg = reader.around(keys[:1], np.array([99.0]), (keys, scores), 1.0)
    assert leg.keys.tolist() == keys.tolist() and leg.scores.tolist() == scores.tolist()


@every_row(("documents", "order"), [({1, 2}, [1, 2, 1]), ({2}, [1, 1, 2]), (set(), [1, 1, 2])])
def test_a_second_passage_of_a_document_counts_less(documents: set[int], order: list[int]) -> None:
    """Of two passages of file 1 and one of file 2, which fits a little less than both."""
    rows = [Row(unit_key(file, ordinal, 0, 300), ordinal, 0, 300) for file, ordinal in ((1, 0), (1, 500), (2, 0))]
    keys = np.array([row.key for row in rows])

    def between(low: int, high: int) -> list[Row]:
        return [row for row in rows if low <= row.key <= high]

    spans = passages(keys, np.array([1.0, 0.9, 0.85]), between, lambda key: 600, documents)
    found = [(span.best >> 43, span.score) for span in spans]
    assert [file for file, _ in found] == order
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_talks_and_notes_are_scored_as_before() -> None:
    index = filled({"talk.md": "Ana: I keep bees.\nBen: Where?\n", "note.md": "- the bees came by post\n"})
    assert not index._rows("SELECT path FROM files WHERE document")
    index.update({"doc.md": textwrap.fill(STORY, 79)})
    assert index._rows("SELECT path FROM files WHERE document") == [("doc.md",)]


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
    index = filled({f"{n}.md": "# The bees\n\n- they keep bees\n" for n in range(100)})
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
