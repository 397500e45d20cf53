"""What a search through the agent's tool costs where no note has changed, in each kind of home, beside `Index.search`.

Times of the process, and of the wall where a server does a part of the work.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from deepagents.backends.utils import create_file_data
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import PutOp

from deepnb import Session
from deepnb.memory.guarding import ScopedBackend
from deepnb.memory.layers import Scope
from deepnb.memory.searching import TOKENS, MemoryToolsMiddleware
from deepnb.search.index import Index
from deepnb.testing import ScriptedModel
from tests.bench.row import Row, held
from tests.bench.speed import markdown, questions
from tests.support import postgres

QUICK = False
NOTES, MOST = 100_000, 3
"""Notes of a line, and the bound of a search through the agent's tool as a multiple of one of the index alone."""
ASKED = 40
TODAY = "2026-11-25T12:00:00"


def rows() -> Iterator[Row]:
    words = " ".join(markdown(0.5).values()).split()
    random = Random(2)
    files = {f"/memory/{n}.md": " ".join(random.choices(words, k=18)) for n in range(NOTES)}
    for home in ("the kernel", "a directory", "a backend disk:DIR", "SQLite", "PostgreSQL", "a checkpointer"):
        if home != "PostgreSQL" or not postgres.missing():
            yield _row(files, home)


def _row(files: dict[str, str], home: str) -> Row:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        options: dict[str, dict[str, Any]] = {
            "a backend disk:DIR": {"backend": f"disk:{folder}"},
            "a checkpointer": {"checkpointer": InMemorySaver()},
        }
        session = Session(model=ScriptedModel(answers=[]), **options.get(home, {}))
        stack.callback(session.close)
        index = stack.enter_context(Index())
        match home:
            case "a directory":
                session.memory.keep(str(folder))
            case "SQLite":
                session.persist(str(folder / "kept.db"))
            case "PostgreSQL":
                session.persist(postgres.new_database(stack.enter_context(postgres.server())))
        storage, database = session.workspace.home.storage, session.workspace.home.database
        if "dir" in home.casefold():  # one by one through the backend it takes minutes, here and in a database
            (folder / "memory").mkdir()
            for path, text in files.items():
                (folder / path[1:]).write_text(text)
        elif database is not None:
            puts = [PutOp(("filesystem",), path, dict(create_file_data(text))) for path, text in files.items()]
            for begin in range(0, NOTES, 1_000):
                database.store.batch(puts[begin : begin + 1_000])
        else:
            storage.adopt({path: create_file_data(text) for path, text in files.items()})
        tool = MemoryToolsMiddleware(ScopedBackend(storage.guard, Scope), (), lambda: TODAY, lambda: storage.search)
        index.update(dict(files))
        asked = questions(files)[:ASKED]
        for query in ("hoopoe", *asked[:2]):  # the vocabulary is read, and files of a disk that were new
            index.search(query, tokens=TOKENS)
            tool.search(query)
        clock = time.perf_counter if home == "PostgreSQL" else time.process_time
        alone, found = [], []
        for query in asked:
            alone.append(_took(partial(index.search, query, tokens=TOKENS), clock))
            found.append(_took(partial(tool.search, query), clock))
        what = f"{NOTES:,} notes in {home}, nothing changed: memory_search"
        return held(what, median(found), median(alone), "ms", MOST)


def _took(act: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    act()
    return (clock() - begin) * 1000
