"""An agent as a LangGraph server serves it: what `%agent package` writes calls this."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware

from deepnb.backends.memory_store import MemoryStoreBackend
from deepnb.backends.writer import writer
from deepnb.engine.tools import described
from deepnb.memory.flush import TOOL as NOTE
from deepnb.memory.guarding import ScopedBackend
from deepnb.memory.layers import MAIN, guarded_paths
from deepnb.memory.searching import MemorySearch
from deepnb.middleware.calls import AnsweredMiddleware, GuardMiddleware
from deepnb.middleware.prompt import now
from deepnb.subagents.files import check, tool_names
from deepnb.values.agent import FOLDER
from deepnb.values.approvals import policy_of
from deepnb.values.errors import InvalidError, NotFoundError
from deepnb.values.lazy import nothing
from deepnb.wiring.build import agent, in_force
from deepnb.wiring.layers import Layers
from deepnb.wiring.model import Measured, main_model
from deepnb.wiring.options import SERVED, Options, changed, effects

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

FOLDER_OF_FILES = "files"


def application(directory: str | Path, **options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The agent of a directory as a graph for `langgraph.json`, with the same prompts and tools as in a session.

    `directory` has its memory, skills and subagents in `files/`; the options are those of `deepnb.Session` that make
    sense on a server. The server brings checkpointer and store. Memory is in the store, where each assistant has its
    own, and each user where the server knows users; it begins with the files as they are in the directory. All other
    files are the thread's. A call that can't be undone interrupts the run, as `ApprovalMiddleware` says, also one that
    writes to memory: there is no journal here that could take it back.
    """
    for name in options:
        if name not in SERVED:
            near = difflib.get_close_matches(name, SERVED, 1)
            known = name in {f.name for f in fields(Options)}
            what = f"{name} is of a session in a kernel" if known else f"application has no option {name!r}"
            raise InvalidError(what, f"did you mean {near[0]}?" if near and not known else "leave it out")
    chosen = changed(Options(), options)
    folder = Path(directory) / FOLDER_OF_FILES
    listed = sorted(path for path in folder.rglob("*") if path.is_file())
    shipped = {f"/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in listed}
    mine = main_model(chosen)
    given = described(chosen.tools)
    tools, taken = tool_names(chosen.tools, chosen.enable_filesystem), [one.name for one in chosen.subagents]
    files_of = {p: data for p, data in shipped.items() if p.startswith(FOLDER) and p.endswith(".md")}
    found = [check(data, p, tools, taken) for p, data in files_of.items()] if chosen.enable_subagents else []
    if broken := next((one for one in found if one.problem), None):  # a server that stops is where it can be seen
        raise InvalidError(f"{broken.path} can't be used ({broken.problem})", "fix it, or delete the file")
    there = in_force(chosen, [one.agent for one in found])
    names, folders = guarded_paths(chosen.memory, chosen.skills)
    stored = (*names, *folders, *shipped)
    backend = MemoryStoreBackend(stored)
    does, policy = effects(chosen, there, backend.undoable), policy_of(chosen.approve)
    problem, state = does.problem, partial(does.state, backend)
    ask = partial(
        AnsweredMiddleware,
        lambda: policy,
        does.of,
        lambda: writer().agent,
        offered=set(),
        problem=problem,
        before=state,
    )
    search = partial(MemorySearch, nothing)  # an index for one search: whose memory it is depends on the run
    layers = _LimitedLayers(chosen, now, search, _Guard(backend, paths=stored), ask(), ask(seal=True))
    files, nested = (ScopedBackend(backend, scope) for scope in (lambda: MAIN, lambda: MAIN.inside))
    seed = SeedMiddleware(backend, shipped)
    graph: CompiledStateGraph[Any, Any, Any, Any]
    graph, *_ = agent(layers, there, mine, lambda own: given, files, nested, first=[seed])
    return graph


class _LimitedLayers(Layers):
    """Adds what ends a run in which one agent calls its model too often."""

    def own(self, middleware: Sequence[Any], own: Measured) -> tuple[Any, ...]:
        most = self.options.max_steps
        limit = () if most is None else (ModelCallLimitMiddleware(run_limit=most),)
        return (*super().own(middleware, own), *limit)


class _Guard(GuardMiddleware):
    def _is_refused(self, tool: str, args: Mapping[str, Any]) -> bool:
        return tool == NOTE or super()._is_refused(tool, args)


class SeedMiddleware(AgentMiddleware):
    """Seeds the memory of an application; it stands outside of all that reads memory."""

    def __init__(self, backend: MemoryStoreBackend, files: Mapping[str, bytes]) -> None:
        super().__init__()
        self.tools = []
        self._backend = backend
        self._files = files

    def before_agent(self, state: Any, runtime: Any) -> None:
        if runtime.store is None:
            raise NotFoundError("there is no store for memory", "set graph.store, such as to InMemoryStore()")
        self._backend.seed(self._files, runtime)

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        await asyncio.to_thread(self.before_agent, state, runtime)
