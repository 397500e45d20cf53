"""The main agent's tools for long-term memory: note, search, get. They add no step to the graph."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool, StructuredTool

from deepnb.engine.listen import tell_notice
from deepnb.gate import redact
from deepnb.memory.daily import addition, bare
from deepnb.memory.flush import TOOL
from deepnb.memory.layers import layers, note_path
from deepnb.memory.searching import MemorySearch, hits_text, searched, texts_of
from deepnb.values.errors import DeepnbError

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
        self, backend: Any, sources: Sequence[str], now: Callable[[], str], search: Callable[[], MemorySearch] | None
    ) -> None:
        """`backend` is that of the agent's tools: what its scope keeps from it is not there. `now` gives ISO timestamps."""
        super().__init__()
        self._backend = backend
        self._sources = tuple(sources)
        self._now = now
        self._search = search
        self.tools = [self._note_tool()] if search is None else [self._note_tool(), *self._search_tools()]

    @property
    def name(self) -> str:
        return "MemoryToolsMiddleware"

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

    def search(self, query: str, k: Any = None, fusion: str = "rank") -> str:
        """What is found, as text."""
        assert self._search is not None
        index, most = self._search(), None if k is None else max(1, min(int(k), MOST))
        hits = index.search(
            texts_of(self._backend), query, self._now(), most, may_read=self._backend.may_read, fusion=fusion
        )
        while index.notices:
            tell_notice(index.notices.pop(0))
        return redact(hits_text(hits)) or "Nothing in memory fits that."

    def get(self, path: str, start: int = 1, lines: int = 40) -> str:
        """Lines of a memory file, numbered."""
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

    def _note_tool(self) -> BaseTool:
        schema = _schema({"text": {"type": "string", "description": "One fact a line."}}, ["text"])
        return _tool(TOOL, _NOTE, schema, lambda text="", **_: self.note(str(text)))

    def _search_tools(self) -> list[BaseTool]:
        whole = {"type": "integer"}
        k = {**whole, "description": "At most; without it, as many as fit."}
        fusion = {"type": "string", "enum": ["rank", "weight"]}
        query = _schema({"query": {"type": "string"}, "k": k, "fusion": fusion}, ["query"])
        place = _schema({"path": {"type": "string"}, "from": {**whole, "default": 1}, "lines": {**whole, "default": 40}}, ["path"])  # fmt: skip
        return [
            _tool(
                SEARCH,
                _SEARCH,
                query,
                lambda query="", k=None, fusion="rank", **_: self.search(str(query), k, fusion),
            ),
            _tool(GET, _GET, place, lambda path="", lines=40, **more: self.get(str(path), more.get("from", 1), lines)),
        ]


def _schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _tool(name: str, description: str, schema: dict[str, Any], work: Callable[..., str]) -> BaseTool:
    """A tool by its JSON schema: `from`, the name of an argument, can't be one of a Python function."""

    def run(**args: Any) -> str:
        try:
            return work(**args)
        except (DeepnbError, TypeError, ValueError) as error:
            return f"Error: {error}"

    return StructuredTool.from_function(run, name=name, description=description, args_schema=schema)
