"""The index as a library: what is written, found, mended and forgotten, also by several processes."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.search import Index, Updated
from deepnb.search.chunks import CHUNK, UNIT, cut
from deepnb.search.database import APPLICATION, Database
from deepnb.search.words import content_hash
from deepnb.values.errors import RefusedError
from tests.search import filled
from tests.support.databases import execute
from tests.support.tables import every_row, refused

NOTES = {
    "memory/2026-02-14.md": "# Saturday\n\n## Garden\n\nThe bees came by post.\n\n## Work\n\nThe certificate has run out.\n",
    "memory/2026-02-15.md": "# Sunday\n\nA hoopoe sat on the roundabout.\nNobody else saw it.\n",
    "MEMORY.md": "# Memory\n\n- Ruth prefers short answers\n- The server is called Pickle\n",
}


def made(path: Path | None = None, **options: object) -> Index:
    return filled(NOTES, path, **options)


# -- what is found


def test_a_hit_says_where_it_stands_and_which_legs_found_it() -> None:
    (hit, *_) = made().search("which bird was on the roundabout?", 3)
    assert (hit.path, hit.start, hit.end) == ("memory/2026-02-15.md", 1, 4)
    assert hit.text == "# Sunday\n\nA hoopoe sat on the roundabout.\nNobody else saw it."
    assert hit.leg == "words+grams" and hit.heading == "Sunday" and hit.score > 0


@every_row("query", ["bees posted", "certificates", "short answer", "roundabouts", "Pickle"])
def test_text_is_that_of_its_lines(query: str) -> None:
    for hit in made().search(query, 5):
        assert "\n".join(NOTES[hit.path].split("\n")[hit.start - 1 : hit.end]) == hit.text


def test_headings_and_names_speak_for_what_is_below_and_words_that_look_alike_are_found() -> None:
    hits = made().search("bees garden 2026-02-14", 1)
    assert hits[0].path == "memory/2026-02-14.md" and hits[0].heading == "Saturday > Garden"
    found = cut("# One\n\n```python\n# not a heading\n```\n\n## Two\n\ntext\n")
    assert [chunk.heading for chunk in found.chunks] == ["One", "One > Two"]
    index = filled({"a.md": "To be or not to be.", "b.md": "Something else."})
    assert index.search("to be or not to be")[0].path == "a.md"
    index = filled({"a.md": "We took photographs of the lighthouse.", "b.md": "The kettle is on."})
    assert index.search("fotograph", 1)[0].leg == "grams"


def test_a_long_session_is_returned_round_the_line_that_fits_and_a_very_long_line_is_cut() -> None:
    lines = [f"Line {n} tells of the weather and of not much else." for n in range(200)]
    lines[120] = "The hoopoe sat on the roundabout."
    index = filled({"a.md": f"# {'Talk ' * 20}\n\n" + "\n".join(lines)})
    (hit, *_) = index.search("hoopoe", 1)
    assert hit.start < 123 < hit.end and len(hit.text) + len(hit.heading) + 1 <= 1600
    assert len(index.search("hoopoe", 1, passage=300)[0].text) <= 300
    index = filled({"a.md": "word " * 5000 + "hoopoe " + "word " * 5000})
    (hit, *_) = index.search("hoopoe", 1)
    assert "hoopoe" in hit.text and len(hit.text) <= 1600 and (hit.start, hit.end) == (1, 1)


def test_passages_do_not_overlap_and_a_budget_in_tokens_is_kept() -> None:
    index = filled({"a.md": "\n".join(f"The bees of hive {n} are well." for n in range(300))})
    hits = index.search("bees in the hive", 8)
    lines = [n for hit in hits for n in range(hit.start, hit.end + 1)]
    assert len(hits) >= 6 and len(set(lines)) == len(lines)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for tokens in (100, 500, 2000):
        hits = index.search("bees in the hive", 50, tokens=tokens)
        assert hits and sum(len(hit.text) + len(hit.heading) + 1 for hit in hits) <= tokens * 4


def test_only_what_is_within_is_found() -> None:
    index = made()
    hits = index.search("the server bees", 9, within=lambda path: path != "MEMORY.md")
    assert {hit.path for hit in hits} == {"memory/2026-02-14.md"}
    assert index.search("bees", within=lambda path: False) == []


# -- what is written


def test_only_changed_files_are_read_again_and_one_is_taken_out_with_none() -> None:
    index = made()
    assert index.update(dict(NOTES)) == Updated(changed=0, unchanged=3, removed=0, chunks=0)
    done = index.update({**NOTES, "MEMORY.md": "# Memory\n\n- Ruth likes tea\n"})
    assert (done.changed, done.unchanged, done.chunks) == (1, 2, 1)
    assert index.search("short answers", 1, legs=["words"]) == []
    assert index.search("tea", 1)[0].path == "MEMORY.md"
    index = made()
    assert index.update({"MEMORY.md": None, "not-there.md": None}).removed == 1
    assert index.files() == ["memory/2026-02-14.md", "memory/2026-02-15.md"]


def test_nothing_of_a_changed_file_stays_behind(tmp_path: Path) -> None:
    index = made(tmp_path / "i.db")
    for n in range(5):
        index.update({"a.md": f"# Run {n}\n\nERR_{n}_X failed on {'word ' * n}"})
    index.update(dict.fromkeys([*NOTES, "a.md"]))
    index.close()
    db = sqlite3.connect(tmp_path / "i.db")
    db.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row)")
    for table in ("files", "chunks", "units", "terms", "names", "vocabulary"):
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


WIDE = "the bees of the hive below the mill have left it for the meadow behind"


LINES = ["# H", "## I", "```", "text. More text here! ", "", "x" * 950, "- a", "  ", "蜂。", WIDE, f"  {WIDE[:-9]}"]


@given(st.lists(st.sampled_from(LINES), max_size=40))
def test_chunks_are_the_text_and_units_lie_in_them(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = cut(text)
    assert "".join("".join(text[u.a : u.b].split()) for u in found.units) == "".join(text.split())
    for unit in found.units:
        assert unit.b - unit.a <= UNIT and text[unit.a : unit.b].strip()
        assert text.count("\n", 0, unit.a) + 1 == unit.start and text.count("\n", 0, unit.b) + 1 == unit.end
    for chunk in found.chunks:
        own = [unit for unit in found.units if unit.chunk == chunk.number]
        assert (own[0].a, own[-1].b, own[0].start, own[-1].end) == (chunk.a, chunk.b, chunk.start, chunk.end)
        assert chunk.b - chunk.a <= CHUNK + UNIT
    places = [unit.ordinal for unit in found.units]
    assert places == sorted(set(places))


# -- what is mended


def test_a_damaged_index_is_made_anew_or_filled_by_the_next_update(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    made(path).close()
    path.write_bytes(b"SQLite format 3\0" + b"this is no database at all, " * 400)
    index = Index(path, source=lambda: NOTES)
    assert index.search("hoopoe", 1)[0].path == "memory/2026-02-15.md"
    assert index.notices == [
        "the search index was damaged and it is rebuilt from its files; the old one is i.db.damaged",
        "the search index was made from 3 files",
    ]
    assert (tmp_path / "i.db.damaged").read_bytes().startswith(b"SQLite format 3\0this is no database")
    path = tmp_path / "j.db"
    made(path).close()
    path.write_bytes(b"SQLite format 3\0" + b"garbage" * 1000)
    index = Index(path)
    assert index.search("hoopoe") == [] and index.update(dict(NOTES)).changed == 3
    assert index.search("hoopoe") and "was damaged" in index.notices[0]


def test_what_is_no_index_of_this_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("bees")
    with pytest.raises(RefusedError, match=r"notes\.txt is no database: give the index its own path"):
        Index(path)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"] and path.read_text() == "bees"
    path = tmp_path / "mine.db"
    execute(str(path), "CREATE TABLE mine (x)")
    before = path.read_bytes()
    refused(r"another program's database: give the index its own path", Index, path)
    assert path.read_bytes() == before
    path = tmp_path / "i.db"
    made(path).close()
    execute(str(path), "PRAGMA user_version = 999")
    refused("newer deepnb", Index, path)
    refused("is not a directory", Index, tmp_path / "no" / "i.db")


@every_row("seed", range(6))
def test_pages_overwritten_with_noise_are_noticed_or_do_no_harm(tmp_path: Path, seed: int) -> None:
    import random

    path = tmp_path / "i.db"
    index = made(path)
    index.update({f"{n}.md": f"note {n} " + "bees and tea. " * 50 for n in range(60)})
    index.close()
    noise = random.Random(seed)
    data = bytearray(path.read_bytes())
    for page in noise.sample(range(1, len(data) // 4096), len(data) // 4096 // 2):
        data[page * 4096 : (page + 1) * 4096] = noise.randbytes(4096)
    path.write_bytes(bytes(data))
    again = Index(path, source=lambda: NOTES)
    again.search("bees hoopoe")
    again.update({"new.md": "a kingfisher by the pond"})
    assert again.search("kingfisher", 1)[0].path == "new.md"


def test_a_missing_index_is_made_from_its_source_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = Index(path, source=lambda: NOTES)
    assert index.notices == ["the search index was made from 3 files"]
    for name in tmp_path.iterdir():
        name.unlink()
    assert index.search("hoopoe", 1)[0].path == "memory/2026-02-15.md" and len(index.notices) == 2


OLD = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0), ('reading', 0);
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, hash BLOB NOT NULL);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, heading TEXT NOT NULL, a INTEGER NOT NULL, text TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, line INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61');
"""


def test_an_older_index_is_brought_up_to_date_and_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    db = Database(str(path))
    # The tables of an index as the first version made them: no names, no vocabulary, no embeddings.
    db.share()
    for statement in OLD.strip().split(";"):
        db.rows(statement)
    db.rows(f"PRAGMA application_id = {APPLICATION}")
    db.rows("PRAGMA user_version = 1")
    with db.transaction(write=True):
        for number, (name, text) in enumerate(NOTES.items(), 1):
            db.rows("INSERT INTO files (id, path, hash) VALUES (?, ?, ?)", (number, name, content_hash(text)))
            row = (number << 18, "", 0, text, number << 43, number << 43)
            db.rows("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row)
            db.rows("INSERT INTO units (id, line, a, b) VALUES (?, ?, ?, ?)", (number << 43, 1, 0, len(text)))
            db.rows("INSERT INTO words (rowid, body) VALUES (?, ?)", (number << 43, "other words"))
    db.close()
    index = Index(path, source=lambda: NOTES)
    assert index.search("hoopoe", 1)[0].start == 1 and index.search("other words", legs=["words"]) == []
    assert index.update(dict(NOTES)) == Updated(changed=0, unchanged=3, removed=0, chunks=0)
    fresh = made(tmp_path / "fresh.db")
    for query in ("bees", "certificate", "Ruth answers"):
        assert index.search(query) == fresh.search(query)
    assert index.notices == ["the search index was made from 3 files"]


def test_an_index_in_memory_and_one_in_a_file_find_the_same(tmp_path: Path) -> None:
    with made() as one, made(tmp_path / "i.db") as two:
        assert one.search("bees at work") == two.search("bees at work") != []


def test_words_that_other_files_have_stay_known_and_one_that_comes_back_is_found_again(tmp_path: Path) -> None:
    index = filled({"a.md": "the photograph of the kiln", "b.md": "a photograph"}, tmp_path / "i.db")
    index.update({"a.md": None})
    assert index.search("fotograph", 1)[0].path == "b.md"
    assert [word for (word,) in index._rows("SELECT word FROM vocabulary ORDER BY word")] == ["a", "photograph"]
    index = filled({"a.md": "the photograph", "b.md": "bees"})
    assert index.search("fotograph", 1)
    index.update({"a.md": None})
    assert index.search("fotograph") == []
    index.update({"c.md": "two photographs"})
    assert index.search("fotograph", 1)[0].path == "c.md"


WRITER = """
import sys
from deepnb.search import Index
path, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
index = Index(path)
for n in range(count):
    index.update({f"{who}/{n}.md": f"# {who}\\n\\nEntry {who}{n}x of the log, on bees and tea."})
    if n % 7 == 0:
        index.update({"shared.md": f"The shared note, by {who} at {n}, on kingfishers."})
    assert index.search(f"{who}{n}x", 1)[0].path == f"{who}/{n}.md"
print(index.notices)
"""


def writing(path: Path, who: str, count: int, code: str = WRITER) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-c", code, str(path), who, str(count)], subprocess.PIPE
    writer = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    return writer


def begin(writer: subprocess.Popen[str]) -> None:
    assert writer.stdin is not None
    writer.stdin.write("\n")
    writer.stdin.flush()


def whole(path: Path) -> Database:
    db = Database(str(path))
    assert db.value("PRAGMA integrity_check") == "ok"
    db.rows("INSERT INTO words (words) VALUES ('integrity-check')")
    return db


def test_processes_that_update_one_index_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    count, names = 40, ("anna", "ben", "cleo")
    writers = [writing(path, who, count) for who in names]
    for writer in writers:
        begin(writer)
    for writer in writers:
        out, err = writer.communicate(timeout=240)
        assert (writer.returncode, out.strip(), err) == (0, "[]", "")
    index = Index(path)
    every = {f"{who}/{n}.md" for who in names for n in range(count)} | {"shared.md"}
    assert set(index.files()) == every
    for name in sorted(every - {"shared.md"}):
        who, n = name.removesuffix(".md").split("/")
        assert index.search(f"{who}{n}x", 1)[0].path == name
    index.close()
    assert whole(path).value("SELECT count(*) FROM files") == len(every)


def test_an_open_index_has_the_words_that_another_process_wrote(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = filled({"a.md": "bees"}, path)
    assert index.search("bee", legs=["grams"])[0].path == "a.md"
    assert index.search("photographies", legs=["grams"]) == []
    code = "import sys; from deepnb.search import Index; Index(sys.argv[1]).update({'a.md': 'tea and fotografies'})"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert index.search("photographies", legs=["grams"])[0].path == "a.md"
    assert index.search("bees", legs=["words"]) == index.search("bees", legs=["grams"]) == []


def test_threads_may_use_one_index_at_once(tmp_path: Path) -> None:
    index = Index(tmp_path / "i.db")
    wrong: list[object] = []

    def work(who: int) -> None:
        try:
            for n in range(15):
                index.update({f"{who}/{n}.md": f"entry t{who}n{n}x"})
                found = index.search(f"t{who}n{n}x", 1)
                if not found or found[0].path != f"{who}/{n}.md":
                    wrong.append((who, n, found))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(index.files()) == 90


def test_a_writer_that_is_killed_leaves_a_whole_index(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    code = WRITER.replace("print(index.notices)", "")
    for _ in range(3):
        writer = writing(path, "anna", 100_000, code)
        begin(writer)
        watcher = Index(path)
        before = len(watcher.files())
        for _ in range(400):
            if len(watcher.files()) > before + 5:
                break
            threading.Event().wait(0.05)
        writer.kill()
        writer.wait()
        assert watcher.search("anna3x", 1)[0].path == "anna/3.md" and watcher.notices == []
        watcher.close()
        whole(path).close()
