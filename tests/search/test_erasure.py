"""What is taken out of an index is in none of its files."""

import subprocess
import sys
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Literal

import pytest

from deepnb.search import Index
from deepnb.search.database import Database
from tests.bench.speed import markdown
from tests.search.test_index import make_old_tables
from tests.support.tables import every_row

GONE = ("quetzalcoatlus", "hoatzinbrut", "ERR_GONE_77")
SECRET = f"# Nest\n\n- the {GONE[0]} sat on the {GONE[1]}, said {GONE[2]}\n- and 蜂鸟鹤鸵 was with it\n"
OTHERS = {f"memory/{n}.md": f"- note {n} on bees and tea, as every day\n" * 20 for n in range(40)}


def left(path: Path) -> list[str]:
    """Which of the words are in the bytes of the index's files; their beginnings too, since FTS5 shares these."""
    files = [file.read_bytes().lower() for file in path.parent.iterdir()]
    words = [*GONE, "蜂鸟鹤鸵", "蜂鸟", "鹤鸵"]
    parts = [part for word in words for part in (word, word[2:], word[:-3]) if len(part) > 3]
    return [part for part in parts if any(part.lower().encode() in data for data in files)]


@every_row("change", ["removed", "changed", "replaced", "synced"])
@every_row("library", ["sqlite3", "apsw"])
def test_what_was_removed_is_in_no_file_of_the_index(tmp_path: Path, change: str, library: str) -> None:
    if library == "apsw":
        pytest.importorskip("apsw")
    path = tmp_path / "i.db"
    index = Index(path, library=library)  # type: ignore[arg-type]
    index.update({**OTHERS, "memory/nest.md": SECRET})
    assert left(path) and index.search(GONE[0], 1)[0].path == "memory/nest.md"
    new = {"removed": None, "changed": "# Nest\n\n- nothing was there\n", "replaced": "", "synced": None}[change]
    if change == "synced":
        index.sync(OTHERS)
    else:
        index.update({"memory/nest.md": new})
    assert left(path) == []
    assert (tmp_path / "i.db-wal").stat().st_size == 0
    index.close()
    assert left(path) == []
    again = Index(path)
    assert again.search(" ".join(GONE)) == [] and again.search("bees", 1)
    assert not [word for (word,) in again._rows("SELECT word FROM vocabulary") if word in GONE]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "change"), [("sqlite3", "gone"), pytest.param("apsw", None, marks=pytest.mark.nightly)]
)
def test_no_word_that_only_a_removed_file_had_is_left_after_closing(
    tmp_path: Path, library: Literal["sqlite3", "apsw"], change: str | None
) -> None:
    """Among texts that fill many pages of the database, where SQLite moves rows and leaves their bytes behind."""
    if library == "apsw":
        pytest.importorskip("apsw")
    random = Random(5)
    only = ["".join(random.choices(ascii_lowercase, k=random.randint(6, 14))) for _ in range(3000)]
    others = markdown(3.0, 5)
    half = dict(list(others.items())[:30])
    index = Index(tmp_path / "i.db", library=library)
    index.update(half)
    index.update({"only.md": "\n".join(" ".join(only[i : i + 12]) for i in range(0, len(only), 12))})
    index.update({**others})
    index.update({"only.md": change})
    index.close()
    data = b"".join(file.read_bytes().lower() for file in tmp_path.iterdir())
    shared = " ".join(others.values())
    assert [word for word in only if word.encode() in data and word not in shared] == []
    assert Index(tmp_path / "i.db").search(next(iter(others.values()))[:60], 1)


def test_what_a_process_left_that_never_closed_goes_when_another_one_closes(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = Index(path)
    index.update({**OTHERS, "memory/nest.md": SECRET})
    index.update({"memory/nest.md": None})
    assert index._rows("SELECT value FROM meta WHERE name = 'erased'") == [(1,)]
    other = Index(path)
    other.close()
    assert Index(path)._rows("SELECT value FROM meta WHERE name = 'erased'") == [] and left(path) == []


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


READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
db.execute("SELECT count(*) FROM chunks").fetchone()
print("reading", flush=True)
sys.stdin.readline()
"""


def test_a_reader_in_the_way_delays_it_to_the_next_update(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = Index(path)
    index.update({**OTHERS, "memory/nest.md": SECRET})
    command, pipe = [sys.executable, "-c", READER, str(path)], subprocess.PIPE
    reader = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert reader.stdin and reader.stdout and reader.stdout.readline() == "reading\n"
    index.update({"memory/nest.md": None})
    assert index.search(GONE[0]) == [] and left(path)
    reader.communicate("\n", timeout=60)
    index.update({})
    assert left(path) == []


def test_a_log_that_a_killed_process_left_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    killed = """
import os, sys
from deepnb.search import Index
from deepnb.search.database import Database
from tests.bench.speed import markdown
Database.empty_log = lambda self: False
index = Index(sys.argv[1])
index.update({"nest.md": sys.argv[2]})
index.update({"nest.md": None})
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", killed, str(path), SECRET], check=False).returncode == 9
    assert left(path)
    Index(path).update({})
    assert left(path) == []


def test_what_an_older_version_left_behind_goes_as_the_index_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    db = Database(str(path), "sqlite3")
    make_old_tables(db)
    db.rows("PRAGMA secure_delete = OFF")
    row = (1 << 18, "", 0, SECRET * 40, 1 << 43, 1 << 43)
    db.rows("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row)
    db.rows("INSERT INTO words (rowid, body) VALUES (?, ?)", (1, SECRET))
    db.rows("DELETE FROM chunks")
    db.rows("DELETE FROM words")
    db.close()
    assert left(path)
    index = Index(path)
    index.update({})
    assert left(path) == []
