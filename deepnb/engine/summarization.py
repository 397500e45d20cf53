"""Upstream's summarization with a file named by the thread and messages kept word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from deepagents.middleware.summarization import SummarizationMiddleware as Upstream
from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.config import get_config

from deepnb.core.budget import Rule, Size
from deepnb.core.values import Compacted, Offload
from deepnb.engine import keys
from deepnb.engine.listen import tell
from deepnb.engine.probe import summary_text, to_message

_FIXED: ContextVar[int] = ContextVar("fixed", default=0)
"""Tokens of the system prompt and the tools of the request at hand."""

_COMPACTED: ContextVar[bool] = ContextVar("compacted", default=False)
"""Whether the thread was compacted for the request at hand."""

_SUMMARY_ROOM = 500
"""Tokens set aside for the summary that takes the place of what goes."""

_PATH = re.compile(r"has been saved to (\S+) should you need")

Clock = Callable[[], str]
"""Gives the time now as an ISO timestamp."""

Section = Callable[[str, Sequence[Any]], str]
"""(timestamp, messages) -> the text to be appended to the offloaded history."""


class SummarizationMiddleware(Upstream):
    """Compacts the thread at the trigger, after writing what goes to `/conversation_history/{thread_id}.md`.

    It stands inside memory and skills, so that the trigger counts what is really sent.
    """

    def __init__(
        self,
        model: Any,
        *,
        backend: Any,
        rule: Rule,
        counter: Any,
        clock: Clock,
        section: Section,
        rebased: Callable[[Any], Any] | None = None,
    ) -> None:
        """`rebased` gives the request with everything in its system prompt brought up to date."""
        trigger, keep = _absolute(rule.trigger, rule.trigger_tokens), _absolute(rule.keep, rule.keep_tokens)
        super().__init__(
            model,
            backend=backend,
            trigger=trigger,
            keep=keep,
            token_counter=counter,
            trim_tokens_to_summarize=None,
            truncate_args_settings={"trigger": trigger, "keep": keep},
        )
        self._clock = clock
        self._section = section
        self._rule = rule
        self._rebased = rebased
        self._at = ""
        self._message: Any = None

    @property
    def name(self) -> str:
        return "SummarizationMiddleware"

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        with self._fixed_part(request):
            return super().wrap_model_call(request, handler)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        with self._fixed_part(request):
            return await super().awrap_model_call(request, handler)

    @contextmanager
    def _fixed_part(self, request: Any) -> Iterator[None]:
        """Remember what of this request no compaction can shorten."""
        fixed = _FIXED.set(self._count_tokens([], request.system_message, request.tools))
        compacted = _COMPACTED.set(False)
        try:
            yield
        finally:
            _FIXED.reset(fixed)
            _COMPACTED.reset(compacted)

    def _determine_cutoff_index(self, messages: list[AnyMessage]) -> int:
        """Upstream's cutoff, but never inside the turn under way while that turn fits below the trigger.

        Otherwise, in a small window, the results of the turn's own tools would go at once and be
        asked for again without end.
        """
        cutoff = super()._determine_cutoff_index(messages)
        start = next((i for i in range(len(messages) - 1, 0, -1) if _is_request(messages[i])), 0)
        if not 0 < start < cutoff or self._rule.trigger_tokens is None:
            return cutoff
        room = self._rule.trigger_tokens - _FIXED.get() - _SUMMARY_ROOM
        return start if self.token_counter(messages[start:]) <= room else cutoff

    def _get_profile_limits(self) -> int | None:
        return self._rule.window

    def _get_session_id(self, state: Mapping[str, Any]) -> str:
        """The thread's id; a nested agent's history is kept apart by its own random id."""
        if isinstance(known := state.get(keys.OFFLOAD_ID), str) and known:
            return known
        configurable = get_config().get("configurable", {})
        thread = configurable.get("thread_id")
        nested = "|" in str(configurable.get("checkpoint_ns") or "")
        return super()._get_session_id(state) if nested or not thread else str(thread)

    def _offload_to_backend(self, backend: Any, messages: list[AnyMessage], session_id: str) -> str | None:
        """Append the messages to the thread's history file; None where that failed, as upstream has it."""
        path = self._get_history_path(session_id)
        old, problem = _read(backend.download_files([path]))
        return None if problem else self._written(path, backend.write(path, old + self._new_section(messages)))

    async def _aoffload_to_backend(self, backend: Any, messages: list[AnyMessage], session_id: str) -> str | None:
        path = self._get_history_path(session_id)
        old, problem = _read(await backend.adownload_files([path]))
        return None if problem else self._written(path, await backend.awrite(path, old + self._new_section(messages)))

    def _build_new_messages_with_path(self, summary: str, file_path: str | None) -> list[AnyMessage]:
        """Upstream's summary message, with the time under which its messages stand in the file."""
        (self._message,) = super()._build_new_messages_with_path(summary, file_path)
        self._message.additional_kwargs["summarized_at"] = self._at
        return [self._message]

    def _compute_state_cutoff(self, event: Any, effective_cutoff: int) -> int:  # type: ignore[override]
        """Upstream's cutoff; called once a compaction stands, so it is told of here."""
        cutoff = super()._compute_state_cutoff(event, effective_cutoff)
        path = next(iter(_PATH.findall(self._message.content)), None)
        offload = Offload(path, summary_text(self._message.content), cutoff, self._at)
        tell(lambda nest: Compacted(offload, nest))
        _COMPACTED.set(True)
        return cutoff

    def _call_with_budget(self, request: Any, handler: Any, **how: Any) -> Any:
        """Upstream's call; once the thread was compacted, its cached prefix is gone and memory is shown anew."""
        if _COMPACTED.get() and self._rebased:
            request = self._rebased(request)
        return super()._call_with_budget(request, handler, **how)

    def _new_section(self, messages: Sequence[BaseMessage]) -> str:
        self._at = self._clock()
        going = self._filter_summary_messages(list(messages))  # type: ignore[arg-type]
        return self._section(self._at, [to_message(m) for m in going])

    @staticmethod
    def _written(path: str, result: Any) -> str | None:
        return path if result is not None and not result.error else None


def _is_request(message: BaseMessage) -> bool:
    """Whether the user said it: summaries and memory updates are human messages, too."""
    return message.type == "human" and "lc_source" not in message.additional_kwargs


def _absolute(size: Size, tokens: int | None) -> Any:
    """A size upstream takes: a fraction becomes tokens, so that its border is exact."""
    return size if tokens is None else ("tokens", tokens)


def _read(responses: Sequence[Any]) -> tuple[str, str | None]:
    """(text so far, why it can't be read) of the history file; a missing file is empty."""
    found = responses[0]
    if found.error == "file_not_found" or found.content is None:
        return "", None
    try:
        return found.content.decode("utf-8"), found.error
    except UnicodeDecodeError:
        return "", "not UTF-8"
