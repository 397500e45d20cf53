"""Nested agents on upstream's parts: the tool `task`, and how deep tasks may be handed on.

How deep an agent is nested stands in the configuration of its run, which LangGraph hands down to all
that runs inside it: so it is right at every level, side by side and after a resume.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

from deepagents.middleware.subagents import SubAgentMiddleware, create_sub_agent
from langchain_core.messages import ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.config import get_config

from deepnb.engine import keys
from deepnb.engine.state_backend import KernelState
from deepnb.engine.tools import shortened
from deepnb.values.agent import TASK

_DEPTH = "__deepnb_depth"
"""Key of `configurable`: in how many tasks the agent that runs is nested, 0 for the main agent."""


@dataclass(eq=False)
class Nested(Runnable[Any, Any]):
    """A nested agent, its graph made when it is first called."""

    name: str
    description: str
    _make: Callable[[], Any]
    _may_read: Callable[[str], bool] | None = None
    """Which files of the state, and of `_memory` (path -> FileData), it is given; without it, all of the state."""
    _memory: Callable[[], Mapping[str, Any]] = dict

    @cached_property
    def graph(self) -> Any:
        """The compiled graph, or whatever runnable was given in its place."""
        return self._make()

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run it one level deeper than its caller."""
        given = self._given(input)
        return _unchanged(self.graph.invoke(given, _deeper(config), **kwargs), given, input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Do what `invoke` does, awaited."""
        given = self._given(input)
        return _unchanged(await self.graph.ainvoke(given, _deeper(config), **kwargs), given, input)

    def _given(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._may_read is None:
            return state
        files = {**(state.get(keys.FILES) or {}), **self._memory()}
        return {**state, keys.FILES: {path: data for path, data in files.items() if self._may_read(path)}}


class DelegationMiddleware(SubAgentMiddleware):
    """Upstream's middleware over agents that may call each other, down to a limit.

    One instance serves the main agent and all nested ones.
    """

    name = "SubAgentMiddleware"  # type: ignore[assignment]

    def __init__(
        self, backend: Any, agents: Sequence[Nested], private: frozenset[str], limit: int, text: str | None = None
    ) -> None:
        """`private` are keys of the state that a nested agent neither inherits nor returns; `limit` is at least 1.
        `text` describes `task` in full, parameters included; it holds `{available_agents}`."""
        specs: list[Any] = [{"name": a.name, "description": a.description, "runnable": a} for a in agents]
        super().__init__(backend=backend, subagents=specs, private_state_keys=private, task_description=text)
        self._limit = limit
        call, acall = self.tools[0].func, self.tools[0].coroutine  # type: ignore[attr-defined]

        @wraps(call)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self._refused(kwargs) or call(*args, **kwargs)

        @wraps(acall)
        async def arun(*args: Any, **kwargs: Any) -> Any:
            return self._refused(kwargs) or await acall(*args, **kwargs)

        task = self.tools[0].model_copy(update={"func": run, "coroutine": arun})
        self.tools = [task] if text is None else shortened([task], {TASK: task.description})

    def _refused(self, kwargs: Mapping[str, Any]) -> ToolMessage | None:
        if (depth := _depth()) < self._limit:
            return None
        words = (
            f"Error: no subagent was started. You are nested {depth} deep, and max_subagent_depth is {self._limit}: nobody"
            " can be handed a task from here. Do this task yourself with your other tools, and report what you could not do."
        )
        return ToolMessage(words, name=TASK, tool_call_id=kwargs["runtime"].tool_call_id, status="error")


def nested_graph(spec: Mapping[str, Any]) -> Any:
    """Return the graph of a nested agent, of a spec in upstream's shape whose model and tools are given."""
    return create_sub_agent(dict(spec), state_schema=KernelState)  # type: ignore[arg-type]


def _unchanged(result: Any, given: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    """Return the result; files that were not changed are those of the state, which is how upstream knows that they were not."""
    same = given is not state and isinstance(result, Mapping) and result.get(keys.FILES) == given[keys.FILES]
    return {**result, keys.FILES: state.get(keys.FILES)} if same else result


def _deeper(config: RunnableConfig | None) -> RunnableConfig:
    return merge_configs(config, {"configurable": {_DEPTH: _depth() + 1}})


def _depth() -> int:
    try:
        return int((get_config().get("configurable") or {}).get(_DEPTH, 0))
    except RuntimeError:  # outside a run
        return 0
