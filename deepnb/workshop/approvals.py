"""What calls of tools do: change nothing, change what can be undone, or anything else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from deepnb.values.approvals import Effect
from deepnb.values.files import ALL_FILES
from deepnb.workshop.notebook_plan import NotebookDiff, notebook_diff

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol

T = TypeVar("T")

READS = frozenset({"ls", "read_file", "glob", "grep", "memory_search", "memory_get", "more_tools"})
READS |= {"list_variables", "inspect_variable", "query_table", "read_notebook", "propose_cell"}
"""Tools of deepnb that change nothing."""
WRITES = frozenset({"write_file", "edit_file", "delete"})
"""Its tools that change a file: what can be undone depends on where it is."""
NOTES = frozenset({"note", "write_todos"})  # its tools that write what is kept in a journal, or in the thread itself
EDITS = frozenset({"edit_notebook"})  # its tool that writes notebooks
TASK = "task"  # hands work to a nested agent, whose own calls are asked about

_MARK = "deepnb_effect"


class _Mark(str):
    """What `reads` leaves on a tool. A text of the same letters does not count: adapters copy what a server claims into `metadata`."""


_READS = _Mark("reads")


def reads(tool: T) -> T:
    """Mark a tool of yours as one that changes nothing: it runs unasked, and in read-only mode, too.

    For functions (`@deepnb.reads`) and LangChain tools alike.
    """
    if hasattr(tool, "metadata"):  # a LangChain tool: its fields are fixed
        tool.metadata = {**(tool.metadata or {}), _MARK: _READS}
    else:
        setattr(tool, _MARK, _READS)
    return tool


def marked(tool: Any) -> Effect:
    """Return what the user says a tool of theirs does; anything, where nothing is said."""
    functions = (getattr(tool, name, None) for name in ("func", "coroutine"))  # what a LangChain tool was made of
    said = (getattr(tool, "metadata", None) or {}).get(_MARK)
    marks = (said, *(getattr(one, _MARK, None) for one in (tool, *functions)))
    return "reads" if any(isinstance(one, _Mark) for one in marks) else "outside"


@dataclass(frozen=True)
class Effects:
    """What calls of an agent's tools do."""

    undoable: Callable[[str], bool]  # of a path: whether what is done to it can be undone
    given: Mapping[str, Effect] = field(default_factory=dict)
    """The user's own tools, also where one is called like one of deepnb's."""
    compiled: frozenset[str] = frozenset()
    """The nested agents that are graphs of the user's: their calls can't be asked about one by one."""
    namespace: Mapping[str, Any] = field(default_factory=dict)  # the user's variables

    def problem(self, name: str, args: Mapping[str, Any]) -> str | None:
        """Return why a call would fail, where that is known beforehand: then the user is not asked about it."""
        change = self.notebook_change(name, args)
        return f"Error: {change.problem}" if change is not None and change.problem else None

    def notebook_change(self, name: str, args: Mapping[str, Any]) -> NotebookDiff | None:
        """Return what a call would do to a notebook as it is now; None if it edits none."""
        return notebook_diff(self.namespace, args) if name in EDITS and name not in self.given else None

    def of(self, name: str, args: Mapping[str, Any]) -> Effect:
        """Return what a call does; of a tool that nothing is known of it may be anything."""
        if name in WRITES and name not in self.given:
            path = args.get("file_path")  # without one the tool does nothing
            return "undoable" if path is None or (isinstance(path, str) and self.undoable(path)) else "outside"
        if name == TASK and name not in self.given:
            return "outside" if args.get("subagent_type") in self.compiled else "reads"
        return self.possible(name)[0]

    def possible(self, name: str) -> tuple[Effect, ...]:
        """Return what calls of a tool may do, the least of it first."""
        if name in self.given:
            return (self.given[name],)
        if name in READS:
            return ("reads",)
        if name in NOTES:
            return ("undoable",)
        if name == TASK:
            return ("reads", "outside") if self.compiled else ("reads",)
        return ("undoable", "outside") if name in WRITES else ("outside",)

    def state(self, backend: BackendProtocol, name: str, args: Mapping[str, Any]) -> str:
        """Return the state of what a call of a file tool writes to; empty for any other call.

        It is a hash of the file as it is, of which files the directory holds, or of there being none.
        """
        path = args.get("file_path")
        if name not in WRITES or name in self.given or not isinstance(path, str):
            return ""
        try:
            content = backend.download_files([path])[0].content
            inside = () if content is not None else backend.glob(ALL_FILES, path).matches or ()
        except ValueError:  # no path that a tool takes
            return ""
        files = sorted((one["path"], one.get("size"), one.get("modified_at")) for one in inside)
        return hashlib.sha256(repr((content, files)).encode()).hexdigest()
