"""What a compaction asks the model: one more message behind those that go, or where that does not fit, their text alone.

The request begins as the agent's last one did, up to the messages that stay, so that a provider's cache holds. Its
`tool_choice` is the agent's, too: with "none" Anthropic reads all messages again, and some local servers leave out the
tools. Nothing runs what the model calls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain.agents.structured_output import OutputToolBinding
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM

from deepnb.values.failures import causes, status_of
from deepnb.values.lazy import set_in_block

ABOVE = "(All messages above this one. Answer in words: no tool is run now.)"
"""Stands in a prompt in the place of the messages it is about."""

_REFUSED = (400, 422)
"""Statuses of a request in a form that a server does not take, such as a prompt behind the result of a tool."""


@dataclass(frozen=True)
class Asked:
    request: Any
    """The agent's request, up to the messages that stay, as the last one had them."""
    send: Callable[[Any], Any]
    """Gives the response to a request; whatever changes the agent's requests changes it, too."""
    fits: Callable[[Any], bool]

    def above(self, source: str, question: Callable[[str], str]) -> AIMessage | None:
        """Return the answer to one more message, worded by `question` around what stands for the others; None if refused."""
        request, form = self.request, self.request.response_format
        if form is not None:  # the tool by which a model answers in that form stays, and may be left
            answers = [OutputToolBinding.from_schema_spec(spec).tool for spec in getattr(form, "schema_specs", ())]
            request = request.override(response_format=None, tools=[*request.tools, *answers])
        request = request.override(messages=[*request.messages, HumanMessage(question(ABOVE))])
        if not self.fits(request):
            return None
        try:
            return self._answer(source, request)
        except Exception as failure:
            if any(isinstance(one, ContextOverflowError) or status_of(one) in _REFUSED for one in causes(failure)):
                return None
            raise

    def alone(self, source: str, prompt: str) -> AIMessage:
        """Return the answer to a prompt that nothing stands before."""
        request = self.request.override(messages=[HumanMessage(prompt)], tools=[], system_message=None)
        return self._answer(source, request.override(response_format=None))

    def _answer(self, source: str, request: Any) -> AIMessage:
        told = {"metadata": {"lc_source": source, **internal_call_metadata()}, "tags": [TAG_NOSTREAM]}
        with set_in_block(var_child_runnable_config, merge_configs(ensure_config(), told)):  # type: ignore[arg-type]
            answer: AIMessage = self.send(request).result[0]
        return answer
