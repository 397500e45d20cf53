"""Answers in a form that the user gives: LangChain's `ToolStrategy`, with JSON in the state and an object on the turn.

Its `ProviderStrategy` makes all tools strict at OpenAI, and ends the run at an answer that does not fit. Here the model
mends such an answer, also one to a JSON schema, which LangChain does not check, and one that is written as text.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel, TypeAdapter, ValidationError, model_validator

from deepnb.engine.fit_tools import fit_name, fit_parameters
from deepnb.engine.listen import tell
from deepnb.engine.request import is_request
from deepnb.values.errors import RunError
from deepnb.values.failures import misfits
from deepnb.values.turn import TextDelta

TRIES = 3
"""Answers of one turn that may not fit."""


@dataclass(frozen=True)
class Form:
    """What an answer is to be: a pydantic model, a dataclass, a TypedDict, or the JSON schema of an object."""

    given: Any

    @property
    def name(self) -> str:
        given = self.given
        return fit_name(str(given.get("title") or "Answer") if isinstance(given, Mapping) else given.__name__)

    def made(self, value: Any) -> Any:
        """Return the object that a JSON value stands for; raise ValueError where it does not fit."""
        if not isinstance(self.given, Mapping):
            try:
                return TypeAdapter(self.given).validate_python(value)
            except ValidationError as error:
                raise ValueError("; ".join(misfits(error))) from None
        from jsonschema import Draft202012Validator

        if wrong := next(Draft202012Validator(self.given).iter_errors(value), None):
            raise ValueError(f"{'.'.join(map(str, wrong.path)) or 'the answer'}: {wrong.message}")
        return value

    def strategy(self) -> ToolStrategy[Any]:
        """Return it as LangChain takes it: what fits stays JSON, which any kernel can read in the state."""
        schema = dict(self.given) if isinstance(self.given, Mapping) else TypeAdapter(self.given).json_schema()

        def model_json_schema(_: Any, /, **__: Any) -> dict[str, Any]:
            return fit_parameters(schema)[0]

        def check(cls: Any, value: Any, _: Any) -> Any:
            self.made(value)
            return value

        methods = {"model_json_schema": classmethod(model_json_schema), "check": model_validator(mode="wrap")(check)}
        words = str(schema.get("description") or "Give the answer in this form.")
        kind = type(self.name, (BaseModel,), {"__doc__": words, "__module__": __name__, **methods})
        return ToolStrategy(kind, tool_message_content="The answer was taken.", handle_errors=self._problem)

    def _problem(self, error: Exception) -> str:
        message = getattr(error, "ai_message", None)
        calls = [call["args"] for call in getattr(message, "tool_calls", ()) if call["name"] == self.name]
        try:
            self.made(calls[0])
        except ValueError as why:
            return f"Error: {why}"
        return f"Error: call {self.name} once."


class StructuredMiddleware(AgentMiddleware):
    """Sends an answer that does not fit its form back to the model; ends the turn in one line if none ever fits."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.tools = []
        self._form = form

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        asked, done = request, None
        while done is None:
            done, asked = self._read(request, asked, handler(asked))
        return done

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        asked, done = request, None
        while done is None:
            done, asked = self._read(request, asked, await handler(asked))
        return done

    def _read(self, request: Any, asked: Any, response: Any) -> tuple[Any, Any]:
        if response.structured_response is not None:
            tell(TextDelta(as_text(response.structured_response), 0))  # as the text that it would be
            return response, asked
        answer, *results = response.result
        failed = next((m for m in results if isinstance(m, ToolMessage) and m.name == self._form.name), None)
        if answer.tool_calls and failed is None:
            return response, asked
        if failed is None:
            try:
                try:
                    value = json.loads(answer.text)
                except ValueError:
                    value = json.loads(answer.text[answer.text.find("{") : answer.text.rfind("}") + 1])
                self._form.made(value)
                return replace(response, structured_response=value), asked
            except ValueError as error:
                problem = str(error)
        else:
            problem = failed.text.removeprefix("Error: ")
        since = next((n for n, m in enumerate(reversed(request.messages)) if is_request(m)), len(request.messages))
        before = [m for m in request.messages[-since:] if since and m.type == "tool" and m.name == self._form.name]
        if len(before) + (len(asked.messages) - len(request.messages)) // 2 + 1 >= TRIES:
            why = " ".join(problem.split())[:200]
            raise RunError(f"no answer fits {self._form.name} ({why})", "ask again, or take a form with less in it")
        if failed is not None:
            return response, asked
        again = HumanMessage(f"Your answer is taken only as a call of {self._form.name} that fits it ({problem}).")
        return None, asked.override(messages=[*asked.messages, answer, again])


def as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
