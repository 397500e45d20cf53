"""Searching memory: the index over its files, and what of its hits an agent or a user may see.

The index only says where to look: what is shown is taken out of the files themselves, as the asker sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool, StructuredTool

from deepnb.engine.file_extras import file_versions
from deepnb.engine.listen import tell_notice
from deepnb.gate import redact
from deepnb.memory.daily import NoteEntry, Recalls, addition, bare, entries
from deepnb.memory.flush import TOOL
from deepnb.memory.layers import LONG_TERM, NOTES, layers, note_day, note_path
from deepnb.values.errors import DeepnbError
from deepnb.values.files import make_folder, utf8

if TYPE_CHECKING:
    from deepnb.search import Hit, Index

TRANSCRIPTS = "transcript of "
"""How the path of a transcript begins; its thread's name follows."""

TOKENS = 2_000
"""What all the hits of a search have together, about, whoever searches."""
WAIT = 1.0
"""Seconds that a search embeds new notes for; a thread does the rest."""
_LONGEST = 1_600
"""Characters of one hit."""


class MemorySearch:
    """The index of one set of files; it is in memory unless these are kept on a disk."""

    def __init__(
        self, directory: Callable[[], str | None], embeddings: Callable[[], tuple[Any, Mapping[str, Any]]] | None = None
    ) -> None:
        """`directory` is where memory is kept now; `embeddings` gives what the option says, and the names it may be of."""
        self._directory = directory
        self._embeddings = embeddings
        self._index: Index | None = None
        self._at: str | None = None
        self._state: tuple[object, Any] | None = None
        self._indexed: Mapping[str, str | None] = {}
        """The files as they were given to the index, as long as it is in this state."""
        self._known: Mapping[str, str] | None = None
        """The mapping that this was done for last, if it is one that `texts` made: nobody changes that."""
        self._read: tuple[Mapping[str, Any], Mapping[str, str]] = ({}, {})
        """The versions of the notes and the texts that were read of them."""
        self.recalls = Recalls()
        self.notices: list[str] = []
        """Lines the user should see."""

    def search(
        self,
        files: Mapping[str, str],
        query: str,
        at: str,
        k: int | None = None,
        *,
        tokens: int | None = TOKENS,
        transcripts: Mapping[str, str] | None = None,
        may_read: Callable[[str], bool] = lambda path: True,
        **how: Any,
    ) -> list[Hit]:
        """Return the best passages of these files (path -> text) and transcripts; what is found in notes is counted.

        `at` is the time now: "last week" is relative to it. As many as fit into `tokens` are given, or `k` that share
        them. `may_read` says which files the asker would see if they were there: others stay in the index. `how` are
        the other arguments of `Index.search`.
        """
        from deepnb.search.hits import check_options

        check_options(how)
        index = self._opened(files)
        index.embedder = self._embedder()
        known = {**files, **transcripts} if transcripts else files
        self._update(index, known, may_read)
        how = {"today": date.fromisoformat(at[:10]), "within": lambda path: path in known, **how}
        found = index.search(query, k, tokens=tokens, **how)
        hits = []
        for hit in (hit for hit in found if hit.path in known):  # in the words of the file that the asker sees
            lines = known[hit.path].split("\n")[hit.start - 1 : hit.end]
            if hit.text in known[hit.path]:
                hits.append(hit)
            elif lines:
                hits.append(replace(hit, text="\n".join(lines)[:_LONGEST]))
        self.recalls.add(recalled(hits, files, query), query)
        said = [line for line in index.notices if not line.startswith("the search index was made")]  # that is no news
        self.notices += [line for line in said if line not in self.notices]
        index.notices.clear()
        return hits

    def texts(self, backend: Any) -> Mapping[str, str]:
        """Return path -> text of the files that are looked through, as a backend shows them: the same mapping while none has changed.

        Only what has changed is read, where the backend can tell that. What is not UTF-8 is passed over.
        """
        if (versions := file_versions(backend, NOTES)) is None:
            below = backend.glob("**/*.md", NOTES).matches or ()
            versions = {found["path"]: None for found in below if not found.get("is_dir")}
        before, texts = self._read
        changed = []
        if versions is not before:
            for path, version in versions.items():
                old = before.get(path)
                if version is None or (version is not old and version != old):
                    changed.append(path)
        shown = sorted(path for path in changed if searched(path) and "/." not in path)
        found = backend.download_files([LONG_TERM, *shown])
        read = {one.path: utf8(one.content) for one in found}
        if changed or len(versions) != len(before) or read[LONG_TERM] != texts.get(LONG_TERM):
            same = {path: text for path, text in texts.items() if path in versions and path not in read}
            texts = {**same, **{path: text for path, text in read.items() if text is not None}}
        self._read = versions, texts
        return texts

    def _update(self, index: Index, known: Mapping[str, str], may_read: Callable[[str], bool]) -> None:
        """Tell the index what is not as it was at the last search; everything, where another process has written to it."""
        state = index.state(), index.embedder
        if known is self._known and state == self._state:
            return
        before = self._indexed if state == self._state else dict.fromkeys(index.files())
        out = {p for p in before.keys() - known.keys() if may_read(p) and not p.startswith(TRANSCRIPTS)}
        changed = {path: text for path, text in known.items() if before.get(path) != text}
        if out or changed or state != self._state:
            index.update({**dict.fromkeys(out), **changed})
        self._indexed = {path: text for path, text in {**before, **changed}.items() if path not in out}
        self._known = known if known is self._read[1] else None
        self._state = index.state(), index.embedder

    def embedding(self) -> str:
        """Return which embedder takes part in the search, and what it costs; nothing where none does."""
        if (embedder := self._embedder()) is None:
            return ""
        name, costs = type(embedder).__name__, getattr(embedder, "costs", "")
        done = "at the first search" if self._index is None else ""
        if self._index is not None:
            left, every = self._index.progress()
            done = f"{every - left:,} of {every:,} passages have a vector ({self._index.seconds:.1f} s spent)"
        return f"search by words and by {name}{f' ({costs})' if costs else ''}: {done}"

    def _embedder(self) -> Any:
        from deepnb.search.embedders import embedder_of

        try:
            return embedder_of(*self._embeddings()) if self._embeddings else None
        except DeepnbError as error:  # a variable that has gone since
            self.notices.append(f"searched by words alone: {error.typed}")
            return None

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = self._state = None
        self._indexed, self._known = {}, None

    def forget(self) -> None:
        """Throw the index away, on the disk too, and what was read: it is made again from the files."""
        self.close()
        self._read = {}, {}
        if (directory := self._directory()) is not None:
            for name in ("index.db", "index.db-wal", "index.db-shm", "index.db.damaged"):
                Path(directory, ".deepnb", name).unlink(missing_ok=True)

    def _opened(self, files: Mapping[str, str]) -> Index:
        from deepnb.search import Index

        directory = self._directory()
        if self._index is not None and self._at == directory:
            return self._index
        self.close()
        self._at = directory
        if directory is not None:
            folder = Path(directory, ".deepnb")
            try:
                make_folder(folder)
                self._index = Index(folder / "index.db", source=lambda: files, wait=WAIT)
            except Exception as error:
                why = (str(error).splitlines() or [type(error).__name__])[0]
                said = f"the search index can't be kept in {folder} ({why}): it is rebuilt in this process"
                self.notices.append(said)
        self._index = self._index or Index(wait=WAIT)
        return self._index


def searched(path: str) -> bool:
    """Return whether a file is looked through: long-term memory, and all Markdown below /memory."""
    return path == LONG_TERM or (path.startswith(NOTES) and path.endswith(".md"))


def recalled(hits: Iterable[Hit], files: Mapping[str, str], query: str) -> list[NoteEntry]:
    """Return the entries of daily notes that hits brought up: of each the lines that share most words with the question."""
    from deepnb.search.words import folded, read_query

    asked = read_query(query)
    terms = {term.casefold() for term in (*asked.words, *asked.names)}
    out: dict[tuple[str, int], NoteEntry] = {}
    for hit in hits:
        if note_day(hit.path) is None:
            continue
        lines = [e for e in entries(hit.path, files.get(hit.path, "")) if hit.start <= e.line <= hit.end]
        shared = {e: sum(term in folded(e.text).casefold() for term in terms) for e in lines}
        best = max(shared.values(), default=0)
        chosen = [e for e, n in shared.items() if n == best and n] or (lines if len(lines) == 1 else [])
        out.update({(e.note, e.line): e for e in chosen})
    return list(out.values())


def place(hit: Hit) -> str:
    """`/memory/2026-02-16.md:3-5`."""
    return f"{hit.path}:{hit.start}" if hit.start == hit.end else f"{hit.path}:{hit.start}-{hit.end}"


# -- The main agent's tools for long-term memory: note, search, get. They add no step to the graph

READS = SEARCH, GET = "memory_search", "memory_get"
"""Tools whose results may hold what is for the main agent alone: they go into no file that others can read."""

MOST, LINES, LONGEST = 50, 200, 40_000
"""Hits of one search, and lines and characters of one reading, at most."""

_NOTE = """Add to today's daily note: a decision and its reason, a result, an open task. \
Lasting preferences and rules go to the memory file instead."""
_SEARCH = """Search long-term memory and all daily notes, also those of days that are not shown to you; \
dates in the query count. Gives path:lines (found by, score) and text. \
Search before saying that you do not know something about earlier work."""
_GET = """Read lines of a memory file or daily note, such as one that memory_search found."""


class MemoryToolsMiddleware(AgentMiddleware):
    """Tools of the main agent alone: a nested one has no memory of its own."""

    def __init__(
        self, backend: Any, sources: Sequence[str], now: Callable[[], str], search: Callable[[], MemorySearch]
    ) -> None:
        """`backend` is that of the agent's tools: what its scope keeps from it is not there. `now` gives ISO timestamps."""
        super().__init__()
        self._backend = backend
        self._sources = tuple(sources)
        self._now = now
        self._search = search
        lines = _schema({"text": {"type": "string", "description": "One fact a line."}}, ["text"])
        whole = {"type": "integer"}
        k = {**whole, "description": "At most; without it, as many as fit."}
        fusion = {"type": "string", "enum": ["rank", "weight"]}
        query = _schema({"query": {"type": "string"}, "k": k, "fusion": fusion}, ["query"])
        first, many = {**whole, "default": 1}, {**whole, "default": 40}
        place = _schema({"path": {"type": "string"}, "from": first, "lines": many}, ["path"])
        self.tools = [
            _tool(TOOL, _NOTE, lines, lambda text="", **_: self.note(str(text))),
            _tool(SEARCH, _SEARCH, query, self.search),
            _tool(GET, _GET, place, lambda path="", lines=40, **more: self.get(str(path), more.get("from", 1), lines)),
        ]

    def note(self, text: str) -> str:
        """Add each line of a text to today's note as an entry; gives what came of it."""
        at = self._now()
        path = note_path(at)
        found = self._backend.download_files([path])[0]
        note = (found.content or b"").decode("utf-8", "replace")
        known = {bare(line) for line in note.splitlines()}
        lines = [line for line in text.splitlines() if bare(line)]
        if not lines:
            return "Error: there is nothing to note"
        new = [line for line in dict.fromkeys(lines) if bare(line) not in known]
        if not new:
            return f"{path} has that already."
        return self._backend.append(path, addition(note, at, new), typed=text) or f"Noted in {path}."

    def search(self, query: object = "", k: Any = None, fusion: str = "rank", **_: object) -> str:
        """Return what is found, as text; other arguments that a model makes up are left out."""
        index, most = self._search(), None if k is None else max(1, min(int(k), MOST))
        texts = index.texts(self._backend)
        hits = index.search(texts, str(query), self._now(), most, may_read=self._backend.may_read, fusion=fusion)
        while index.notices:
            tell_notice(index.notices.pop(0))
        heads = (f"{place(hit)} ({hit.leg}, {hit.score:.2f}) {hit.heading}".rstrip() for hit in hits)
        shown = "\n\n".join(f"{head}\n{hit.text}" for head, hit in zip(heads, hits, strict=True))
        return redact(shown) or "Nothing in memory fits that."

    def get(self, path: str, start: int = 1, lines: int = 40) -> str:
        """Return lines of a memory file, numbered."""
        path = path if path.startswith("/") else f"/{path}"
        if path not in layers(self._sources, self._now()[:10]) and not searched(path):
            return f"Error: {path} is not a memory file; read_file reads other files"
        found = self._backend.download_files([path])[0]
        if found.content is None:
            return f"Error: there is no {path}"
        text = redact(found.content.decode("utf-8", "replace")).splitlines()
        start, most = max(1, int(start)), max(1, min(int(lines), LINES))
        shown = "\n".join(f"{n}: {line}" for n, line in enumerate(text[start - 1 : start - 1 + most], start))
        cut = f"\n(cut after {LONGEST:,} characters: ask for fewer lines)" if len(shown) > LONGEST else ""
        more = f"\n({len(text)} lines in all)" if len(text) >= start + most else ""
        return shown[:LONGEST] + cut + more or f"Error: {path} has {len(text)} lines"


def _schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _tool(name: str, description: str, schema: dict[str, Any], work: Callable[..., str]) -> BaseTool:
    """Return a tool by its JSON schema: `from`, the name of an argument, can't be one of a Python function."""

    def run(**args: Any) -> str:
        try:
            return work(**args)
        except (DeepnbError, TypeError, ValueError) as error:
            return f"Error: {error}"

    return StructuredTool.from_function(run, name=name, description=description, args_schema=schema)
