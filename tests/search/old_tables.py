"""The tables of an index as versions 1 to 7 made them, each out of the one before."""

from __future__ import annotations

from deepnb.search.database import APPLICATION, Database

_STEPS = (
    """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0), ('reading', 0);
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, hash BLOB NOT NULL);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, heading TEXT NOT NULL, a INTEGER NOT NULL, text TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, line INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61');
""",
    """
CREATE TABLE names (name TEXT, unit INTEGER, PRIMARY KEY (name, unit)) WITHOUT ROWID;
CREATE INDEX names_unit ON names (unit);
CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, word TEXT UNIQUE NOT NULL);
""",
    """
ALTER TABLE chunks ADD COLUMN hash BLOB;
CREATE TABLE embeddings (hash BLOB, model TEXT, vector BLOB NOT NULL, PRIMARY KEY (hash, model)) WITHOUT ROWID;
CREATE INDEX chunks_hash ON chunks (hash);
""",
    """
ALTER TABLE files ADD COLUMN document INTEGER NOT NULL DEFAULT 0;
ALTER TABLE units ADD COLUMN day INTEGER;
DROP TABLE words;
CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61', content = '', columnsize = 0);
DROP TABLE vocabulary;
CREATE TABLE vocabulary (id INTEGER PRIMARY KEY AUTOINCREMENT, word TEXT UNIQUE NOT NULL, files INTEGER NOT NULL);
""",
    """
DROP INDEX names_unit;
DROP INDEX chunks_hash;
DROP TABLE vocabulary;
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, files INTEGER NOT NULL, added INTEGER NOT NULL) WITHOUT ROWID;
DROP TABLE words;
CREATE VIRTUAL TABLE words USING
    fts5(body, tokenize = 'porter unicode61', content = '', columnsize = 0, detail = none);
""",
    """
ALTER TABLE files ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN chunks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN units INTEGER NOT NULL DEFAULT 0;
""",
    """
CREATE TABLE spans (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, hash BLOB NOT NULL);
INSERT INTO meta VALUES ('embedded', 0);
""",
)
VERSIONS = range(1, len(_STEPS) + 1)


def make_old_tables(db: Database, version: int) -> None:
    db.share()
    for step in _STEPS[:version]:
        for statement in step.strip().split(";"):
            db.rows(statement)
    db.rows(f"PRAGMA application_id = {APPLICATION}")
    db.rows(f"PRAGMA user_version = {version}")
