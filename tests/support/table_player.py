"""The offline model's answer to a question about tables, with its tools really called."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from deepnb.models.resolve import resolve
from deepnb.values.turn import CodeOutput
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.kernel import PlainKernel
from deepnb.workshop.namespace import namespace_tools
from tests.support.question_tables import tables

if TYPE_CHECKING:
    from tests.support.table_questions import Pair

_CALLS = 12


def ask(pair: Pair) -> str:
    """What the user reads: what approved code put out, then the answer."""
    kernel = _kernel()
    kernel.restart(pair)
    messages: list[BaseMessage] = [SystemMessage("You are an agent in the user's notebook.")]
    for prompt in filter(None, (pair.earlier, pair.question)):
        messages.append(HumanMessage(prompt))
        said = kernel.answer(messages)
    return said


def _namespace(pair: Pair) -> dict[str, Any]:
    """The variables of a kernel: tables of its own, which code may change."""
    values = {name: tables()[name].value for name in pair.kernel}
    return {"pd": pd} | {name: one.copy() if isinstance(one, pd.DataFrame) else one for name, one in values.items()}


class _Kernel:
    """One kernel, and the model with its tools, which are made once; its variables are made for each question."""

    def __init__(self) -> None:
        self.kernel = PlainKernel({})
        self.shown: list[str] = []
        made = [*namespace_tools(self.kernel.namespace), *code_tools(self)]
        self.tools = {one.name: one for one in map(tool, made)}
        self.model = resolve("offline").model.bind_tools(list(self.tools.values()))
        self.seen: dict[str, str] = {}

    def restart(self, pair: Pair) -> None:
        self.kernel.namespace.clear()
        self.kernel.namespace.update(_namespace(pair))

    def live(self, output: CodeOutput) -> None:
        self.shown.append(output.text or str(output.data.get("text/plain", "")))

    def code_ran(self, names: object) -> None:
        """Keep nothing: there is no undo."""

    def answer(self, messages: list[BaseMessage]) -> str:
        self.shown.clear()
        for _ in range(_CALLS):
            said = self.model.invoke(messages)
            messages.append(said)
            assert isinstance(said, AIMessage)
            if not said.tool_calls:
                return "\n".join([*self.shown, str(said.text)])
            messages.extend(self._called(call) for call in said.tool_calls)
        return "(no end of calls)"

    def _called(self, call: Any) -> ToolMessage:
        """The result of a call; what a tool said about one table is kept, as it would say it again."""
        key = json.dumps([call["name"], call["args"]], sort_keys=True, default=str)
        if key in self.seen:
            return ToolMessage(self.seen[key], name=call["name"], tool_call_id=call["id"])
        result: ToolMessage = self.tools[call["name"]].invoke({**call, "type": "tool_call"})
        alone = call["name"] == "inspect_variable" or (call["name"] == "query_table" and "join" not in call["args"])
        if alone and not str(result.content).startswith("Error"):
            self.seen[key] = str(result.content)
        return result


@cache
def _kernel() -> _Kernel:
    return _Kernel()
