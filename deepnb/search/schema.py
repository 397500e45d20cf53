"""The tables of an index, as numbered migrations; `PRAGMA user_version` says how many have been applied.

The texts are kept in the chunks, so a migration that needs them read anew only says so (`read_again`).
"""

from collections.abc import Callable

from deepnb.search.database import Database
from deepnb.values.errors import RefusedError

APPLICATION = 0x646E6273
"""`PRAGMA application_id` of an index, so that no other SQLite file is taken for one ("dnbs")."""


def _texts(db: Database) -> None:
    """Files in chunks and units, and the full-text index of the units."""
    db.rows("CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
    db.rows("INSERT INTO meta VALUES ('generation', 0), ('reading', 0)")
    db.rows("CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, hash BLOB NOT NULL)")
    db.rows(
        "CREATE TABLE chunks (id INTEGER PRIMARY KEY, heading TEXT NOT NULL, a INTEGER NOT NULL, text TEXT NOT NULL,"
        " first INTEGER NOT NULL, last INTEGER NOT NULL)"
    )
    db.rows(
        "CREATE TABLE units (id INTEGER PRIMARY KEY, line INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL)"
    )
    db.rows("CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61')")


def _names_and_vocabulary(db: Database) -> None:
    """Identifiers kept whole, and the words that the n-grams are of."""
    db.rows("CREATE TABLE names (name TEXT, unit INTEGER, PRIMARY KEY (name, unit)) WITHOUT ROWID")
    db.rows("CREATE INDEX names_unit ON names (unit)")
    db.rows("CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, word TEXT UNIQUE NOT NULL)")
    read_again(db)


def _embeddings(db: Database) -> None:
    """Vectors by the hash of what was embedded, float32 of length 1; a text that comes back costs nothing."""
    db.rows("ALTER TABLE chunks ADD COLUMN hash BLOB")
    db.rows(
        "CREATE TABLE embeddings (hash BLOB, model TEXT, vector BLOB NOT NULL, PRIMARY KEY (hash, model)) WITHOUT ROWID"
    )
    db.rows("CREATE INDEX chunks_hash ON chunks (hash)")
    read_again(db)


def _days_and_erasure(db: Database) -> None:
    """The day that a unit is of, and which files are documents. No second copy of the texts, and words that are
    counted, so that they can go."""
    db.rows("ALTER TABLE files ADD COLUMN document INTEGER NOT NULL DEFAULT 0")
    db.rows("ALTER TABLE units ADD COLUMN day INTEGER")
    db.rows("DROP TABLE words")
    db.rows("CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61', content = '', columnsize = 0)")
    db.rows("DROP TABLE vocabulary")
    db.rows(  # AUTOINCREMENT: a number is not given twice, and readers ask for the words after the last they know
        "CREATE TABLE vocabulary (id INTEGER PRIMARY KEY AUTOINCREMENT, word TEXT UNIQUE NOT NULL,"
        " files INTEGER NOT NULL)"
    )
    read_again(db)


def _fewer_trees(db: Database) -> None:
    """One B-tree a table, and a full-text index without places in the text, which nothing asks for."""
    db.rows("DROP INDEX names_unit")
    db.rows("DROP INDEX chunks_hash")
    db.rows("DROP TABLE vocabulary")
    db.rows(  # `added` is the generation of the index that a word came with: readers ask for those after theirs
        "CREATE TABLE vocabulary (word TEXT PRIMARY KEY, files INTEGER NOT NULL, added INTEGER NOT NULL) WITHOUT ROWID"
    )
    db.rows("DROP TABLE words")
    db.rows(
        "CREATE VIRTUAL TABLE words USING"
        " fts5(body, tokenize = 'porter unicode61', content = '', columnsize = 0, detail = none)"
    )
    read_again(db)


def _changes(db: Database) -> None:
    """The generation of the index in which a file was last written, so that readers read no other one again, and
    how much it has: counting takes longer than a search."""
    for column in ("changed", "chunks", "units"):
        db.rows(f"ALTER TABLE files ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    for table, bits in (("chunks", 18), ("units", 43)):
        of_file = f"id BETWEEN files.id << {bits} AND (files.id + 1 << {bits}) - 1"
        db.rows(f"UPDATE files SET {table} = (SELECT count(*) FROM {table} WHERE {of_file})")


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    _texts,
    _names_and_vocabulary,
    _embeddings,
    _days_and_erasure,
    _fewer_trees,
    _changes,
)


def read_again(db: Database) -> None:
    """Have every file cut and indexed again from its chunks when the index is opened."""
    db.rows("UPDATE meta SET value = 0 WHERE name = 'reading'")


def migrate(db: Database, migrations: tuple[Callable[[Database], None], ...] = MIGRATIONS) -> bool:
    """Bring the tables up to date; whether they were an older version's. One process does it, the others wait.

    Errors: `DeepnbError` where the file is another program's, or a newer deepnb's; it is left as it is.
    """
    with db.transaction():  # one state of the file: another process may be making the tables just now
        _check(db)
    db.share()
    with db.transaction(write=True):
        version = _check(db)
        for migration in migrations[version:]:
            migration(db)
        if version < len(migrations):
            db.rows(f"PRAGMA application_id = {APPLICATION}")
            db.rows(f"PRAGMA user_version = {len(migrations)}")
    return 0 < version < len(migrations)


def _check(db: Database) -> int:
    """The version of an index of ours, 0 for an empty file."""
    version = int(db.value("PRAGMA user_version"))
    ours = db.value("PRAGMA application_id") == APPLICATION
    if not ours and (version or db.value("SELECT count(*) FROM sqlite_master")):
        raise RefusedError(f"{db.path} is another program's database", "give the index its own path")
    if version > len(MIGRATIONS):
        raise RefusedError(f"{db.path} was written by a newer deepnb", "pip install -U deepnb, or delete the file")
    return version
