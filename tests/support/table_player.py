"""The offline model's answer to a question about tables, with the tools of a session really called."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool, tool

import deepnb
from deepnb.core.values import CodeOutput
from deepnb.models.resolve import resolve
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.kernel import PlainKernel
from deepnb.workshop.namespace import namespace_tools
from tests.support.question_tables import tables

if TYPE_CHECKING:
    from tests.support.table_questions import Pair

_CALLS = 12
"""Model calls after which there is no answer."""


def ask(pair: Pair, *, session: bool = False) -> str:
    """What the user reads: what approved code put out, then the answer.

    Without `session` the model and the tools are called in a loop of their own, at a fifth of the price.
    """
    prompts = [one for one in (pair.earlier, pair.question) if one]
    if session:
        return _asked_session(pair, prompts)
    kernel = _Kernel(pair.kernel)
    messages: list[BaseMessage] = [SystemMessage("You are an agent in the user's notebook.")]
    for prompt in prompts:
        messages.append(HumanMessage(prompt))
        said = kernel.answered(messages)
    return said


class _Kernel:
    """A kernel with some of the tables, made anew for each question: the agent's code may change them."""

    ran = None

    def __init__(self, names: tuple[str, ...]) -> None:
        self.kernel = PlainKernel({"pd": pd} | {name: tables()[name].value for name in names})
        self.shown: list[str] = []
        self.tools = _tools(names)

    def put_out(self, output: CodeOutput) -> None:
        self.shown.append(output.text or str(output.data.get("text/plain", "")))

    def answered(self, messages: list[BaseMessage]) -> str:
        self.shown.clear()
        model = _model().bind_tools([*self.tools.values(), *_code(self)])
        for _ in range(_CALLS):
            said = model.invoke(messages)
            messages.append(said)
            assert isinstance(said, AIMessage)
            if not said.tool_calls:
                return "\n".join([*self.shown, str(said.text)])
            messages.extend(self._called(call) for call in said.tool_calls)
        return "(no end of calls)"

    def _called(self, call: Any) -> Any:
        by_name = self.tools | {one.name: one for one in _code(self)}
        return by_name[call["name"]].invoke({**call, "type": "tool_call"})


@cache
def _model() -> Any:
    return resolve("offline").model


@cache
def _tools(names: tuple[str, ...]) -> dict[str, BaseTool]:
    return {one.name: one for one in map(tool, namespace_tools({name: tables()[name].value for name in names}))}


def _code(desk: Any) -> list[BaseTool]:
    return [tool(one) for one in code_tools(desk)]


def _asked_session(pair: Pair, prompts: list[str]) -> str:
    shown: list[str] = []
    with deepnb.Session(
        namespace={"pd": pd} | {name: tables()[name].value for name in pair.kernel}, approve={"run_python": "allow"}
    ) as session:
        for prompt in prompts:
            shown.clear()
            for event in (stream := session.stream(prompt)):
                output = getattr(event, "output", event)
                if isinstance(output, CodeOutput):
                    shown.append(output.text or str(output.data.get("text/plain", "")))
            assert stream.turn is not None
    return "\n".join([*shown, stream.turn.text])
