"""Requests to a model that are sent again: after a wait that is shown, and never once the model has begun to answer.

What the SDKs of some providers do silently is done here in their place; the retries of any other are left to it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest

from deepnb.engine.listen import listener, tell
from deepnb.engine.request import message_text
from deepnb.values.failures import hide_credentials, model_failure
from deepnb.values.turn import Retry

RETRIES = 4
"""How often a request is sent again where the model does not say."""
LONGEST = 60.0
"""Seconds that are waited at most: who is asked to wait longer is told so."""
_QUOTED = 20
"""Messages of the end of a request, which a provider may quote."""
FIRST = 1.0
"""Seconds before the second try, where the provider does not say; each later wait is twice as long."""


def taken_over(model: Any) -> tuple[Any, int]:
    """Return the model with its SDK's own retries off, and how many there are to be in their place."""
    given = getattr(model, "max_retries", RETRIES)
    if not hasattr(model, "max_retries"):
        return model, RETRIES
    if "max_retries" not in getattr(model, "model_fields_set", ()) or given is None:
        given = RETRIES
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    changes: dict[str, Any] = {"max_retries": 0}
    if "langchain_openai" in packages:
        for name in ("root_client", "root_async_client"):
            if (root := getattr(model, name, None)) is None:
                return model, 0
            changes[name] = root.with_options(max_retries=0)
        changes["client"] = changes["root_client"].chat.completions
        changes["async_client"] = changes["root_async_client"].chat.completions
    elif "langchain_anthropic" not in packages:
        return model, 0
    copy = model.model_copy(update=changes)
    for name in ("_client", "_async_client"):  # of Anthropic's, made at the first use
        if name in copy.__dict__:
            copy.__dict__[name] = copy.__dict__[name].with_options(max_retries=0)
    copy.__dict__.pop("_client_params", None)
    return copy, given


class RetryMiddleware(AgentMiddleware):
    """Sends a model's request again, innermost; what it raises in the end is kept, and holds no credential."""

    def __init__(self, retries: int) -> None:
        self._retries = retries

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        for number in count(1):
            try:
                return handler(request)
            except Exception as error:
                if (pause := self._pause(error, number, request)) is None:
                    raise
            _wait(pause)
        raise AssertionError

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]) -> Any:
        for number in count(1):
            try:
                return await handler(request)
            except Exception as error:
                if (pause := self._pause(error, number, request)) is None:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError

    def _pause(self, error: Exception, number: int, request: ModelRequest) -> float | None:
        """Return the seconds until the request is sent again, of which the user is told; None where it is not."""
        model: Any = request.model
        if getattr(model, "stream_usage", None) and "stream_options" in str(error):
            model.stream_usage = False
            return 0.0
        failure, broke_off = model_failure(error), getattr(error, "broke_off", False)
        if failure is not None and failure.again and not broke_off and number <= self._retries:
            seconds = FIRST * 2 ** (number - 1) if failure.seconds is None else failure.seconds
            if seconds <= LONGEST:
                tell(Retry(failure.what, seconds, number + 1, self._retries + 1))
                return 0.0 if getattr(error, "is_played", False) else seconds  # what a tape plays is not waited for
        hide_credentials(error, (message_text(one) for one in request.messages[-_QUOTED:]))
        return None


def _wait(seconds: float) -> None:
    if (run := listener()) is not None:
        run.wait(seconds)  # a run that is cancelled ends at once
    else:
        time.sleep(seconds)
