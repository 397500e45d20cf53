"""A few tools for a small window; the others by name, each bound from the request on that follows its being asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool

from deepnb.core.prompt import MORE_TOOLS
from deepnb.engine import keys
from deepnb.engine.request import tool_name


class LeanToolsMiddleware(AgentMiddleware):
    """Leaves tools out of the requests of a thread until the model asks for them; a call of one is taken all the same."""

    def __init__(
        self, others: Mapping[str, BaseTool], whole: Callable[[Any], Any] = lambda state: state, *, offered: bool = True
    ) -> None:
        """`others` are the tools that are left out, by name; `offered` says whether the model can ask for them.

        `whole` gives a state with the messages that compactions took out of it.
        """
        super().__init__()
        self._whole = whole
        self._others = dict(others)
        text = f"Get one more tool, from your next step on: {', '.join(self._others)}."
        self.tools = [StructuredTool.from_function(self._told, name=MORE_TOOLS, description=text)] if offered else []

    @property
    def name(self) -> str:
        return "LeanToolsMiddleware"

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tools=self.bound(request.tools, self._whole(request.state)[keys.MESSAGES])))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(
            request.override(tools=self.bound(request.tools, self._whole(request.state)[keys.MESSAGES]))
        )

    def bound(self, tools: Sequence[Any], messages: Sequence[BaseMessage]) -> list[Any]:
        """The tools of a request of a thread with these messages."""
        calls = (
            call for message in messages for call in getattr(message, "tool_calls", ()) if call["name"] == MORE_TOOLS
        )
        asked = {str(call["args"].get("name")) for call in calls}
        return [tool for tool in tools if (name := tool_name(tool)) not in self._others or name in asked]

    def _told(self, name: str) -> str:
        if (tool := self._others.get(name)) is None:
            return f"Error: there is no tool {name[:80]!r}. There are: {', '.join(self._others)}."
        return f"{name} is there from your next step on. {tool.description}"
