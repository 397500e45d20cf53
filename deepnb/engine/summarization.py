"""Compaction on upstream's mechanics: when, which messages go, and that nothing is lost when a part of it fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log2
from typing import Any

from deepagents.middleware.summarization import _drop_bound_reasoning
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph._internal._constants import CONFIG_KEY_RUNTIME
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from deepnb.engine import compaction, coroutines, keys
from deepnb.engine.answer import usage
from deepnb.engine.compaction import Asked, CompactionSteps, Done, NotOffloaded, Tell, turn_start
from deepnb.engine.coroutines import in_thread
from deepnb.engine.listen import tell, tell_notice
from deepnb.engine.request import in_order, is_request, lowered, mark_of, reserves, source_of
from deepnb.engine.state_backend import without_messages
from deepnb.values.budget import Budget
from deepnb.values.errors import LimitError, RefusedError, RunError
from deepnb.values.failures import causes, is_overflow, refusal, told_window
from deepnb.values.lazy import set_in_block
from deepnb.values.messages import BROUGHT_BACK
from deepnb.values.offload import Flush, Offload
from deepnb.values.turn import Compacted


class _Refused(ContextOverflowError):
    """A request was too long for the server; `str()` has its words."""


_HANDS_OVER: ContextVar[bool] = ContextVar("hands_over", default=False)
"""Whether the model's node is run for the request that it makes, which is not sent."""


class _HandedOver(Exception):
    def __init__(self, request: Any, handler: Callable[[Any], Any]) -> None:
        super().__init__()
        self.request, self.handler = request, handler


@dataclass(frozen=True)
class _Plan:
    """A request as it would be sent: with the last compaction applied and long arguments cut."""

    request: Any
    whole: list[Any]
    """Its messages with no argument cut."""
    budget: Budget
    due: bool

    @property
    def fixed(self) -> int:
        """Tokens that no compaction can shorten: the system prompt and the tools."""
        return sum(self.budget.parts[part] for part in ("system", "memory", "skills", "tools"))


class SummarizationMiddleware(CompactionSteps):
    """Compacts the thread at the trigger, after writing what goes to `/conversation_history/{thread_id}.md`.

    It stands inside memory and skills, so that the trigger counts what is really sent.
    """

    name = "SummarizationMiddleware"

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        if _HANDS_OVER.get():
            raise _HandedOver(request, handler)

        send, plan = partial(self._sent, handler=handler), self._plan(request)
        error: ContextOverflowError | None = None
        if not plan.due:
            try:
                return send(plan.request)
            except ContextOverflowError as failure:
                error = failure
        return self._sent_smaller(plan, send, error, request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        async def send(one: Any) -> Any:
            with self._learning():
                return self._heeded(one, await handler(await in_thread(self._ready, one)))

        plan = await in_thread(self._plan, request)
        error: ContextOverflowError | None = None
        if not plan.due:
            try:
                return await send(plan.request)
            except ContextOverflowError as failure:
                error = failure
        return await in_thread(self._sent_smaller, plan, lambda one: coroutines.run(send(one)), error, request)

    def _sent_smaller(self, plan: _Plan, send: Callable[[Any], Any], error: Exception | None, request: Any) -> Any:
        """Return the answer to the planned request once it is compacted, the second time all but its last turn."""
        done: Done | None = None
        for last in (False, True):
            done = self._compacted_for(plan, send, error, last=last) or done
            smaller = self._after(plan, done)
            try:
                response, replaced = self._call_with_budget(smaller, send, error=error, rejected=plan.request)
                break
            except ContextOverflowError as failure:
                error = failure
                # the same again only if more turns than have gone can still go
                more = plan.request.messages[done.cutoff if done else 0 : turn_start(plan.request.messages)]
                if last or not any(map(is_request, more)):
                    learned = self.rule.window != plan.budget.rule.window
                    raise self._too_long(smaller, failure, learned=learned) from failure
        if done is None:
            return self._with_replacements(response, replaced)
        update = _update(done, len(request.messages) + mark_of(request.state).get("messages", 0))
        if replaced:
            update[keys.MESSAGES] = list(replaced)
        place = get_config().get("configurable", {})
        if self._takes and not _is_nested(place):
            update = without_messages(update, request.state, place["thread_id"], place["checkpoint_map"][""])
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def _sent(self, request: Any, handler: Any) -> Any:
        with self._learning():
            return self._heeded(request, handler(self._ready(request)))

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """What is raised of a request that was too long is told alike, and the window it tells is learned."""
        try:
            yield
        except Exception as failure:
            if not is_overflow(failure):
                raise
            tokens, before = told_window(failure), self.rule
            if tokens is not None and (tokens != before.window or before.guessed):
                self._go_by(self._own.learn(tokens, True))
            if (self.rule.window, self.rule.guessed) != (before.window, before.guessed):
                tell_notice(f"the window of the model is {self.rule.window:,} tokens, as its server says")
            raise _Refused(refusal(failure)) from failure

    def _heeded(self, request: Any, response: Any) -> Any:
        """Return the response; its usage says of a window that was guessed that it is larger, and of Ollama that it cut the request."""
        spent = usage(next(iter(getattr(response, "result", ())), None))
        if spent is not None and getattr(request.model, "num_ctx", None) and is_request(request.messages[-1]):
            total = self._budget(request.messages, request).total
            is_text = all(isinstance(m.content, str) for m in request.messages)
            if is_text and self._own.meter.is_cut(*self._counted(request.messages, request), spent.input):
                do = f"%config DeepNB.window = {spent.input} keeps below that"
                tell_notice(f"the prompt was cut: the model read {spent.input:,} of about {total:,} tokens; {do}")
        if spent is not None and self.rule.guessed and spent.input > (window := self.rule.window or 1):
            self._go_by(self._own.learn(window * 2 ** ceil(log2(spent.input / window)), False))
        return response

    def _plan(self, request: Any) -> _Plan:
        whole = self._get_effective_messages(request)
        budget = self._budget(whole, request)
        messages, cut = self._truncate_args(whole, budget.total)
        if cut:
            budget = self._budget(messages, request)
        asked = request.override(messages=messages)
        due = self._should_summarize(messages, budget.total) or self._over_budget(asked, budget.total)
        return _Plan(asked, whole, budget, due)

    def _asked(self, request: Any, messages: list[Any], cutoff: int, send: Callable[[Any], Any]) -> Asked:
        last = next((i for i in range(len(messages))[::-1] if messages[i].type == "ai"), 0)
        before = messages[:last]
        sent = [*self._truncate_args(before, self._budget(before, request).total)[0], *messages[last:]]
        names = ("__class__", "model_name", "model")
        own = all(getattr(request.model, name, None) == getattr(self.model, name, None) for name in names)
        request = request.override(messages=sent[:cutoff], **({} if own else {"model": self.model}))
        return Asked(request, send, lambda one: own and self._fits(one))

    def _fits(self, request: Any) -> bool:
        window, limit = self.rule.window, self.rule.limit
        total = self._budget(request.messages, request).total
        return (window is None or total + compaction.SUMMARY_ROOM <= window) and (limit is None or total <= limit)

    def _compacted_for(
        self, plan: _Plan, send: Callable[[Any], Any], error: Exception | None, *, last: bool = False
    ) -> Done | None:
        """Return the compaction this request needs, with `last` one of all but the last turn; None where there is nothing that can go."""
        must = error is not None or self._over_budget(plan.request, plan.budget.total)
        messages = plan.request.messages
        cutoff = turn_start(messages) if last else self._cutoff(messages, plan.fixed, must=must)
        if not cutoff:
            if error is None and is_request(messages[-1]):
                limit = plan.budget.rule.trigger_tokens
                past = f"past the trigger of {limit:,} tokens" if limit else "past the trigger"
                tell_notice(f"the context is {past}, but there is nothing to compact: {_largest(plan.budget)}")
            return None
        if any(source_of(m) == BROUGHT_BACK for m in messages[turn_start(messages) : cutoff]):
            tell_notice("the messages added from the history did not fit into the request and were not sent: add fewer")
        session = self._get_session_id(plan.request.state)
        offload = Offload(None, "", cutoff, cause="overflow" if error else "trigger", before=plan.budget.total)
        pinned = self._pinned(messages, cutoff, plan.fixed, tell)
        asked = self._asked(plan.request, plan.whole, cutoff, send)
        try:
            return self._compact(plan.request, cutoff, asked, session, offload, tell, pinned)
        except NotOffloaded as why:
            tell_notice(f"not compacted, and nothing was removed: {why}")
            return None

    def _after(self, plan: _Plan, done: Done | None) -> Any:
        """Return the request that takes the place of the planned one; a compaction is reported to the user here."""
        if done is None:
            return plan.request
        kept = map(_drop_bound_reasoning, plan.request.messages[done.cutoff :])
        smaller = plan.request.override(messages=[done.message, *kept])
        if self._rebased:
            smaller = self._rebased(smaller)
        offload = replace(done.offload, after=self._budget(smaller.messages, smaller).total)
        done.message.additional_kwargs.update(compaction.offload_record(offload))
        tell(Compacted(offload))
        return smaller

    def compact(
        self,
        graph: Any,
        values: Mapping[str, Any],
        thread: str,
        total: Callable[[Mapping[str, Any]], int | None],
        tell: Tell,
    ) -> tuple[dict[str, Any], Offload] | None:
        """Compact a thread of this graph between two turns, all but its last turn: (what to write into its state, what was done).

        `total` gives the tokens of the next request, with an update of these values; where it can't, only the messages
        are counted. None where only one turn is left, and an error where the next request would be no smaller.
        """
        state = list(values.get(keys.MESSAGES) or [])

        def size(update: Mapping[str, Any]) -> int:
            if (known := total(update)) is not None:
                return known
            return self.token_counter(self._apply_event_to_messages(state, {**values, **update}.get(keys.OFFLOAD)))

        def weigh(done: Done, summary: str = "this summary") -> Done:
            if (after := size(_update(done, len(state)))) < offload.before:
                return replace(done, offload=replace(done.offload, after=after))
            flush = done.offload.flush
            noted = f"; what is worth keeping is in {flush.file}" if flush and flush.lines else ""
            sizes = f"the next request would have {after:,} tokens, and it has {offload.before:,}"
            do = "%agent budget shows what fills the context"
            raise RefusedError(f"not compacted: with {summary} {sizes}{noted}", do)

        messages = self._apply_event_to_messages(state, values.get(keys.OFFLOAD))
        cutoff = turn_start(messages)
        if not any(is_request(m) for m in messages[:cutoff]):
            return None
        session = str(values.get(keys.OFFLOAD_ID) or thread)
        offload = Offload(None, "", cutoff, cause="by hand", before=size({}))
        path = self._get_history_path(session)
        least: Any = self._build_new_messages_with_path("", path)[0]
        gone = self._compute_state_cutoff(values.get(keys.OFFLOAD), cutoff)  # of a whole state, nothing is taken out
        weigh(Done(replace(offload, path=path, cutoff=gone), least, cutoff, session), "a summary of no words")
        request, send = self._next_call(graph, values)
        asked = self._asked(request, messages, cutoff, send)
        request = request.override(messages=messages)
        try:
            done = self._compact(request, cutoff, asked, session, offload, tell, weigh=weigh)
        except NotOffloaded as why:
            raise RunError(f"not compacted, and nothing was removed: {why}", "fix that, then %agent compact") from None
        tell(Compacted(done.offload))
        return _update(done, len(state)), done.offload

    def flush(self, graph: Any, values: Mapping[str, Any], at: str) -> Flush | None:
        """Put down what is worth keeping of a thread's messages between two turns; None where there is nothing new."""
        messages = self._apply_event_to_messages(list(values.get(keys.MESSAGES) or []), values.get(keys.OFFLOAD))
        going = [m for m in messages if source_of(m) is None]
        if self._flush is None or not going:
            return None
        request, send = self._next_call(graph, values)
        return self._flush(self._asked(request, messages, len(messages), send), going, values, at, by_hand=True)

    def _next_call(self, graph: Any, values: Mapping[str, Any]) -> tuple[Any, Callable[[Any], Any]]:
        """Return (the request that a thread in this state would have next, what sends one like it): the model's node makes it."""
        config = merge_configs(ensure_config(), {"configurable": {CONFIG_KEY_RUNTIME: Runtime()}})
        try:
            with set_in_block(_HANDS_OVER, True):
                graph.nodes["model"].bound.invoke(dict(values), config)
        except _HandedOver as call:
            return call.request, partial(self._sent, handler=call.handler)
        raise AssertionError

    def _ready(self, request: Any) -> Any:
        """Return the request in its order, with as much reserved for the answer as there is room for beside it."""
        request = request.override(messages=in_order(request.messages))
        if not reserves(request.model, request.model_settings):
            return request
        total = self._budget(request.messages, request).total
        less = lowered(request.model, request.model_settings, self.rule, total)
        return request.override(model_settings={**request.model_settings, **less}) if less else request

    def _budget(self, messages: Sequence[BaseMessage], request: Any) -> Budget:
        budget: Budget = self._own.meter.budget(*self._counted(messages, request))
        return budget

    def _counted(self, messages: Sequence[BaseMessage], request: Any) -> tuple[Sequence[BaseMessage], Sequence[Any]]:
        system = [request.system_message] if request.system_message is not None else []
        return [*system, *messages], request.tools or ()

    def _over_budget(self, request: Any, total_tokens: int | None = None) -> bool:
        total = self._budget(request.messages, request).total if total_tokens is None else total_tokens
        return self.rule.limit is not None and total > self.rule.limit

    def _input_budget(self, request: Any) -> int | None:
        """Return the most tokens that are sent; None where the count is an estimate or the window a guess: the server decides."""
        return None if self.rule.guessed or not self._budget(request.messages, request).exact else self.rule.limit

    def _too_long(self, request: Any, failure: Exception, *, learned: bool) -> Exception:
        again = "run the cell again, now that the window is known, " if learned else ""
        do = f"{again}shorten it, %agent new starts a thread without it, or %config DeepNB.window = N sets the window"
        return LimitError(self._why_too_long(request, failure), do)

    def _why_too_long(self, request: Any, failure: Exception) -> str:
        budget = self._budget(request.messages, request)
        total, window = f"{'' if budget.exact else '~'}{budget.total:,} tokens", self.rule.window
        if (told := next((one for one in causes(failure) if isinstance(one, _Refused)), None)) is not None:
            return f'the model refuses the request of {total} ({_largest(budget)}): "{told}"'
        return f"the request of {total} does not fit the window of {window:,}: {_largest(budget)}"

    def _get_session_id(self, state: Mapping[str, Any]) -> str:
        """Return the thread's id; a nested agent's history is kept apart by its own random id."""
        if isinstance(known := state.get(keys.OFFLOAD_ID), str) and known:
            return known
        configurable = get_config().get("configurable", {})
        thread = configurable.get("thread_id")
        return super()._get_session_id(state) if _is_nested(configurable) or not thread else str(thread)


def _is_nested(place: Mapping[str, Any]) -> bool:
    return keys.LEVEL in str(place.get(keys.NAMESPACE) or "")


def _update(done: Done, messages: int) -> dict[str, Any]:
    event = {
        "cutoff_index": done.offload.cutoff,
        "summary_message": done.message,
        "file_path": done.offload.path,
        "created_at_index": messages,
    }
    return {keys.OFFLOAD: event, keys.OFFLOAD_ID: done.session}


def _largest(budget: Budget) -> str:
    parts = sorted(budget.parts.items(), key=lambda p: -p[1])[:3]
    return ", ".join(f"{name} {tokens:,}" for name, tokens in parts if tokens)
