"""Compaction on upstream's mechanics: when, which messages go, and that nothing is lost when a part of it fails.

A compaction is: the flush (what is worth keeping goes into the daily note), the messages that go are
appended to the thread's history file, a summary takes their place, and what it lost stands beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from deepagents.middleware.summarization import SummarizationMiddleware as Upstream
from deepagents.middleware.summarization import _drop_bound_reasoning, _is_context_overflow
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langgraph.config import get_config

from deepnb.core.anchors import Anchor, anchored, find, joined, lost
from deepnb.core.budget import Budget, Rule, Size
from deepnb.core.errors import DeepnbError
from deepnb.core.gate import redact
from deepnb.core.messages import MEMORY_UPDATE
from deepnb.core.values import Compacted, Event, Flush, Flushed, Notice, Offload, Path
from deepnb.engine import keys
from deepnb.engine.appending import append_text
from deepnb.engine.listen import tell, tell_notice
from deepnb.engine.probe import to_message
from deepnb.engine.request import is_request

_SUMMARY_ROOM = 500
"""Tokens set aside for the summary that takes the place of what goes."""

_WORTH = 0.05
"""Share of the trigger below which a compaction is not worth its summary, while the request still fits."""

_ANCHORS, _LEAST = 0.05, 400
"""Room for anchors: this share of the window, and at least so many tokens."""

Clock = Callable[[], str]
"""Gives the time now as an ISO timestamp."""

Addition = Callable[[str, str, Sequence[Any]], tuple[str, int | None]]
"""(history file so far, timestamp, messages) -> (text to append, characters to keep before it; None: all)."""

Flusher = Callable[[Sequence[BaseMessage], Mapping[str, Any], str], Flush | None]
"""(messages that go, the thread's state, timestamp) -> what was put down; None where that was done before."""

Measure = Callable[[Sequence[BaseMessage], Sequence[Any]], Budget]


@dataclass(frozen=True)
class _Plan:
    """A request as it would be sent: with the last compaction applied and long arguments cut."""

    request: Any
    budget: Budget
    due: bool

    @property
    def fixed(self) -> int:
        """Tokens that no compaction can shorten: the system prompt and the tools."""
        return sum(self.budget.parts[part] for part in ("system", "memory", "skills", "tools"))


@dataclass(frozen=True)
class _Done:
    """A compaction that stands."""

    offload: Offload
    message: HumanMessage
    cutoff: int
    """Messages [0, cutoff) of those that were sent have gone."""
    session: str


class _NotOffloaded(Exception):
    """The messages could not be written down; `str()` says why."""


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
        measure: Measure,
        count: Callable[[str], int],
        clock: Clock,
        addition: Addition,
        flush: Flusher | None = None,
        rebased: Callable[[Any], Any] | None = None,
    ) -> None:
        """`rebased` gives the request with everything in its system prompt brought up to date."""
        trigger, keep = _absolute(rule.trigger, rule.trigger_tokens), _absolute(rule.keep, rule.keep_tokens)

        def total(messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
            return measure(messages, tools or ()).total

        super().__init__(
            model,
            backend=backend,
            trigger=trigger,
            keep=keep,
            token_counter=total,  # type: ignore[arg-type]
            trim_tokens_to_summarize=None,
            truncate_args_settings={"trigger": trigger, "keep": keep},
        )
        self._measure = measure
        self._count = count
        self._clock = clock
        self._addition = addition
        self._rule = rule
        self._flush = flush
        self._rebased = rebased

    @property
    def name(self) -> str:
        return "SummarizationMiddleware"

    # -- in a run

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        plan = self._plan(request)
        error: Exception | None = None
        if not plan.due:
            try:
                return handler(plan.request)
            except Exception as failure:
                if not _is_context_overflow(failure):
                    raise
                error = failure
        done = self._compacted_for(plan, error)
        smaller = self._after(plan, done)
        try:
            response, replaced = self._call_with_budget(smaller, handler, error=error, rejected=plan.request)
        except ContextOverflowError as failure:
            raise self._too_long(smaller) from failure
        return self._answer(response, replaced, done, request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        plan = self._plan(request)
        error: Exception | None = None
        if not plan.due:
            try:
                return await handler(plan.request)
            except Exception as failure:
                if not _is_context_overflow(failure):
                    raise
                error = failure
        done = await asyncio.to_thread(self._compacted_for, plan, error)
        smaller = self._after(plan, done)
        try:
            response, replaced = await self._acall_with_budget(smaller, handler, error=error, rejected=plan.request)
        except ContextOverflowError as failure:
            raise self._too_long(smaller) from failure
        return self._answer(response, replaced, done, request)

    def _plan(self, request: Any) -> _Plan:
        messages = self._get_effective_messages(request)
        budget = self._budget(messages, request)
        messages, cut = self._truncate_args(messages, budget.total)
        if cut:
            budget = self._budget(messages, request)
        asked = request.override(messages=messages)
        due = self._should_summarize(messages, budget.total) or self._over_budget(asked, budget.total)
        return _Plan(asked, budget, due)

    def _compacted_for(self, plan: _Plan, error: Exception | None) -> _Done | None:
        """The compaction this request needs; None where there is nothing that can go."""
        must = error is not None or self._over_budget(plan.request, plan.budget.total)
        messages = plan.request.messages
        cutoff = self._cutoff(messages, plan.fixed, must=must)
        if not cutoff:
            if is_request(messages[-1]):
                tell_notice(_full(plan.budget))
            return None
        if any(map(_is_brought_back, messages[_turn_start(messages) : cutoff])):
            tell_notice("what was brought back did not fit beside the rest, and is not sent: bring back fewer messages")
        session = self._get_session_id(plan.request.state)
        offload = Offload(None, "", cutoff, cause="overflow" if error else "trigger", before=plan.budget.total)
        try:
            return self._compact(plan.request, cutoff, session, offload, lambda event: tell(lambda at: _at(event, at)))
        except _NotOffloaded as why:
            tell_notice(f"not compacted, and nothing dropped: {why}")
            return None

    def _after(self, plan: _Plan, done: _Done | None) -> Any:
        """The request that takes the place of the planned one; of a compaction the user is told here."""
        if done is None:
            return plan.request
        kept = map(_drop_bound_reasoning, plan.request.messages[done.cutoff :])
        smaller = plan.request.override(messages=[done.message, *kept])
        if self._rebased:  # the cached prefix is gone anyway
            smaller = self._rebased(smaller)
        offload = replace(done.offload, after=self._budget(smaller.messages, smaller).total)
        done.message.additional_kwargs.update(recorded(offload))
        tell(lambda path: Compacted(offload, path))
        return smaller

    def _answer(self, response: Any, replaced: list[Any], done: _Done | None, request: Any) -> Any:
        if done is None:
            return self._with_replacements(response, replaced)
        from langchain.agents.middleware.types import ExtendedModelResponse
        from langgraph.types import Command

        update = _update(done, len(request.messages))
        if replaced:
            update[keys.MESSAGES] = list(replaced)
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    # -- by hand

    def compact(
        self, values: Mapping[str, Any], thread: str, fixed: int, tell: Callable[[Event], None]
    ) -> tuple[dict[str, Any], Offload] | None:
        """Compact a thread between two turns, all but its last turn: (what to write into its state, what was done).

        `fixed` is what system prompt and tools cost, in tokens. None where only one turn is left.
        """
        state = list(values.get(keys.MESSAGES) or [])
        messages = self._apply_event_to_messages(state, values.get(keys.OFFLOAD))
        cutoff = _turn_start(messages)
        if not any(is_request(m) for m in messages[:cutoff]):
            return None
        request = _Between(messages, values)
        before = fixed + self.token_counter(messages)
        offload = Offload(None, "", cutoff, cause="by hand", before=before)
        try:
            done = self._compact(request, cutoff, str(values.get(keys.OFFLOAD_ID) or thread), offload, tell)
        except _NotOffloaded as why:
            raise DeepnbError(f"not compacted, and nothing dropped: {why}", "mend that, then %agent compact") from None
        after = fixed + self.token_counter([done.message, *messages[cutoff:]])
        made = replace(done.offload, after=after)
        done.message.additional_kwargs.update(recorded(made))
        tell(Compacted(made))
        return _update(done, len(state)), made

    # -- the steps

    def _compact(
        self, request: Any, cutoff: int, session: str, offload: Offload, tell: Callable[[Event], None]
    ) -> _Done:
        """Flush, offload, summarize, and keep beside the summary what it lost."""
        messages, previous = request.messages, request.state.get(keys.OFFLOAD)
        going, _ = self._offload_inline_media(self._backend, messages[:cutoff])
        new = [m for m in going if not _is_ours(m)]
        at = self._clock()
        flush = self._flushed([m for m in new if not _is_update(m)], request.state, at, tell)
        path = self._offloaded(new, at, self._get_history_path(session))
        said = [m for m in going if not _is_update(m) and not _is_brought_back(m)]
        summary = self._summary(said, len(new), path, tell)
        before = _anchors(messages[0])
        found = find((to_message(m) for m in said if not _is_ours(m)), redact)
        beside = anchored(lost(joined(before, found), summary), self._room, self._count, path)
        (built,) = self._build_new_messages_with_path(summary, path)
        message = HumanMessage(f"{built.content}\n\n{beside.text}".rstrip())
        offload = replace(
            offload,
            path=path,
            summary=summary,
            cutoff=self._compute_state_cutoff(previous, cutoff),
            at=at,
            anchors=beside.shown,
            hidden=beside.hidden,
            flush=flush,
            messages=len(new),
        )
        message.additional_kwargs.update(recorded(offload))
        return _Done(offload, message, cutoff, session)

    def _flushed(
        self, going: Sequence[BaseMessage], state: Mapping[str, Any], at: str, tell: Callable[[Event], None]
    ) -> Flush | None:
        if self._flush is None or not going:
            return None
        try:
            flush = self._flush(going, state, at)
        except Exception as failure:
            tell(Notice(f"the daily note was not written: {_line(failure)}"))
            return None
        if flush is not None:
            tell(Flushed(flush))
        return flush

    def _offloaded(self, going: Sequence[BaseMessage], at: str, path: str) -> str:
        """Append the messages to the thread's history file, each once; gives its path."""
        try:
            found = self._backend.download_files([path])[0]
            if found.content is None and found.error not in (None, "file_not_found"):
                raise _NotOffloaded(f"{path} can't be read ({found.error})")
            old = (found.content or b"").decode("utf-8")
            more, keep = self._addition(old, at, [to_message(m) for m in going])
            if keep is not None:
                problem = self._backend.write(path, old[:keep] + more).error
            else:
                problem = append_text(self._backend, path, more) if more else None
        except UnicodeDecodeError:
            raise _NotOffloaded(f"{path} is not UTF-8 text") from None
        except _NotOffloaded:
            raise
        except Exception as failure:
            raise _NotOffloaded(f"{path} can't be written: {_line(failure)}") from failure
        if problem:
            raise _NotOffloaded(f"{path} can't be written: {problem}")
        return path

    def _summary(self, going: list[AnyMessage], count: int, path: str, tell: Callable[[Event], None]) -> str:
        """The model's summary; where it fails, words that say so and where the messages are."""
        try:
            summary = self._create_summary(going)
            why = "the model returned nothing"
        except Exception as failure:
            summary, why = "", _line(failure)
        if summary.strip():
            return summary
        tell(Notice(f"no summary ({why}): the turn goes on, and {count} messages are word for word in {path}"))
        return f"(There is no summary: {why}. The {count} messages that stood here are word for word in {path}.)"

    def _cutoff(self, messages: list[AnyMessage], fixed: int, *, must: bool) -> int:
        """How many messages go; 0 where none can, or where it is not worth it.

        Upstream's cutoff, but never inside the turn under way while that turn fits below the trigger:
        otherwise, in a small window, the results of the turn's own tools would go at once and be asked
        for again without end.
        """
        cutoff = self._determine_cutoff_index(messages)
        start = _turn_start(messages)
        limit = self._rule.trigger_tokens
        if limit is not None and 0 < start < cutoff:
            room = limit - fixed - _SUMMARY_ROOM
            cutoff = start if self.token_counter(messages[start:]) <= room else cutoff
        elif limit is None and not must and 0 < start < cutoff and _is_brought_back(messages[cutoff - 1]):
            cutoff = start  # what was brought back stays with its prompt
        going = [m for m in messages[:cutoff] if not _is_summary(m)]
        if not going:
            return 0
        gain = 0 if must or limit is None else self.token_counter(going)
        return cutoff if must or limit is None or gain >= _WORTH * limit else 0

    @property
    def _room(self) -> int:
        return max(_LEAST, int(_ANCHORS * (self._rule.window or 0)))

    def _budget(self, messages: Sequence[BaseMessage], request: Any) -> Budget:
        system = [request.system_message] if request.system_message is not None else []
        return self._measure([*system, *messages], request.tools or ())

    def _too_long(self, request: Any) -> DeepnbError:
        budget = self._budget(request.messages, request)
        total, window = f"{'' if budget.exact else '~'}{budget.total:,} tokens", budget.rule.window
        known = window is not None and budget.total > 0.9 * window
        why = f"does not fit the window of {window:,}" if known else "is too long, says the model"
        return DeepnbError(
            f"the request of {total} {why}: {_largest(budget)}",
            "shorten that, %agent new starts a thread without it, or %agent use a model with a larger window",
        )

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


@dataclass(frozen=True)
class _Between:
    """What a compaction between two turns has in the place of a request."""

    messages: list[Any]
    state: Mapping[str, Any]


def recorded(offload: Offload) -> dict[str, Any]:
    """A compaction as it is kept with its summary message; `offload_of` reads it back."""
    return {
        "lc_source": keys.SUMMARY_SOURCE,
        "summarized_at": offload.at,
        "cause": offload.cause,
        "tokens": [offload.before, offload.after],
        "messages": offload.messages,
        "anchors": [[a.kind, a.text, a.said] for a in offload.anchors],
        "hidden": [[a.kind, a.text, a.said] for a in offload.hidden],
        "flush": asdict(offload.flush) if offload.flush else None,
    }


def _update(done: _Done, messages: int) -> dict[str, Any]:
    event = {
        "cutoff_index": done.offload.cutoff,
        "summary_message": done.message,
        "file_path": done.offload.path,
        "created_at_index": messages,
    }
    return {keys.OFFLOAD: event, keys.OFFLOAD_ID: done.session}


def _anchors(message: BaseMessage) -> list[Anchor]:
    """What an earlier summary carried along, shown or not."""
    held = message.additional_kwargs
    return [Anchor(*a) for part in ("hidden", "anchors") for a in held.get(part) or ()] if _is_summary(message) else []


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == keys.SUMMARY_SOURCE


def _is_brought_back(message: BaseMessage) -> bool:
    """Whether it holds messages out of the history file, which were summed up when they went."""
    return message.additional_kwargs.get("lc_source") == keys.BROUGHT_BACK


def _turn_start(messages: Sequence[BaseMessage]) -> int:
    """Where the last turn begins: at what the user said, and what was brought back for it; 0 where that is all."""
    start = next((i for i in range(len(messages) - 1, 0, -1) if is_request(messages[i])), 0)
    while start > 0 and _is_brought_back(messages[start - 1]):
        start -= 1
    return start


def _is_ours(message: BaseMessage) -> bool:
    """Whether it is no part of the conversation: a summary, or what was brought back from the history file."""
    return message.additional_kwargs.get("lc_source") in (keys.SUMMARY_SOURCE, keys.BROUGHT_BACK)


def _is_update(message: BaseMessage) -> bool:
    """Whether it told of a change in memory: memory is shown anew, so nobody need sum that up."""
    return message.additional_kwargs.get("lc_source") == MEMORY_UPDATE


def _at(event: Event, path: Path) -> Event:
    return replace(event, path=path)


def _full(budget: Budget) -> str:
    limit = budget.rule.trigger_tokens
    past = f"past the trigger of {limit:,} tokens" if limit else "past the trigger"
    return f"the context is {past}, and there is nothing worth compacting: {_largest(budget)}"


def _largest(budget: Budget) -> str:
    """The three largest parts of a request."""
    parts = sorted(budget.parts.items(), key=lambda p: -p[1])[:3]
    return ", ".join(f"{name} {tokens:,}" for name, tokens in parts if tokens)


def _line(failure: Exception) -> str:
    words = (str(failure).strip().splitlines() or [""])[0][:200].rstrip(" .:")
    return f"{type(failure).__name__}: {words}" if words else type(failure).__name__


def _absolute(size: Size, tokens: int | None) -> Any:
    """A size upstream takes: a fraction becomes tokens, so that its border is exact."""
    return size if tokens is None else ("tokens", tokens)
