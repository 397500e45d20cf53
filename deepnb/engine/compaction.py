"""The steps of a compaction: which messages go, the flush, the offload, the summary, and what it lost.

Each step that fails is reported and loses nothing: without a note the compaction goes on, without a
history file there is none, and without a summary words stand in its place that say where the messages are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from deepagents.backends.protocol import FileUploadResponse
from deepagents.middleware.summarization import SummarizationMiddleware as Upstream
from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain.agents.structured_output import OutputToolBinding
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM

from deepnb.engine import keys
from deepnb.engine.file_extras import append_text
from deepnb.engine.probe import PINNED, pinned_name, to_message
from deepnb.engine.request import is_request, mark_of, message_text, source_of
from deepnb.gate import redact
from deepnb.gate.directives import attributed
from deepnb.values.answers import split_thinking
from deepnb.values.budget import Rule
from deepnb.values.failures import NotOnTapeError, causes, one_line, status_of
from deepnb.values.lazy import set_in_block
from deepnb.values.messages import BROUGHT_BACK, MEMORY_UPDATE
from deepnb.values.offload import SAID, Anchor, Flush, Offload, anchor_block, find, lost, union
from deepnb.values.turn import Event, Flushed, Notice

SUMMARY_ROOM = 500
"""Tokens set aside for the summary that takes the place of what goes."""

_WORTH = 0.05
"""Share of the trigger below which a compaction is not worth its summary, while the request still fits."""

_ANCHORS, _LEAST, _MOST = 0.05, 200, 400
"""Room for anchors: this share of the window, and at least so many tokens; so many where it is not known."""

_HIDDEN = 30
"""Anchors without room that are remembered for the next compaction: each checkpoint holds them."""

_OURS = (keys.SUMMARY_SOURCE, BROUGHT_BACK)
"""Sources of messages that are no part of the conversation."""
_ADDED = (BROUGHT_BACK, PINNED)
"""Sources of what was put before a prompt, out of a file that still holds it: nobody need sum that up."""

Addition = Callable[[str, str, Sequence[Any]], tuple[str, int | None]]
"""(history file so far, timestamp, messages) -> (text to append, characters to keep before it; None: all)."""

Tell = Callable[[Event], None]

Flusher = Callable[..., Flush | None]
"""(what asks the model, messages that go, the thread's state, timestamp, by_hand=False) -> what was put down; None where that was done before."""

Heard = Callable[[Mapping[str, Any]], tuple[Sequence[str], Sequence[str]]]
"""State of a thread -> (texts of others, what the user says)."""


ABOVE = "(All messages above this one. Answer in words: no tool is run now.)"
"""Stands in a prompt in the place of the messages it is about."""

_REFUSED = (400, 422)
"""Statuses of a request in a form that a server does not take, such as a prompt behind the result of a tool."""


@dataclass(frozen=True)
class Asked:
    """What a compaction asks the model: one more message behind those that go, or where that does not fit, their text alone.

    The request begins as the agent's last one did, up to the messages that stay, so that a provider's cache holds. Its
    `tool_choice` is the agent's, too: with "none" Anthropic reads all messages again, and some local servers leave out
    the tools. Nothing runs what the model calls.
    """

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


@dataclass(frozen=True)
class Done:
    """A compaction that stands."""

    offload: Offload
    message: HumanMessage
    cutoff: int
    """Messages [0, cutoff) of those that were sent have gone."""
    session: str


Weigh = Callable[[Done], Done]
"""Gives a compaction with the tokens of the request that takes the old one's place; raises where it is not worth it."""


class NotOffloaded(Exception):
    """The messages could not be written down; `str()` says why."""


class _Nowhere:
    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path) for path, _ in files]


class CompactionSteps(Upstream):
    """Upstream's middleware with each step of a compaction made safe; when there is one, `summarization` says."""

    def __init__(
        self,
        own: Any,
        *,
        takes: bool = False,
        backend: Any,
        clock: Callable[[], str],
        addition: Addition,
        heard: Heard,
        flush: Flusher | None = None,
        rebased: Callable[[Any], Any] | None = None,
    ) -> None:
        """`own` is the model with its rule and meter (`deepnb/wiring/model.py`); `takes` says whether the messages that go
        are taken out of the state as well; `heard` says who said what; `rebased` gives the request after a compaction with
        memory told as it is then.
        """
        self._own, self._files = own, backend
        self._takes = takes
        self._go_by(own.rule)
        self._clock = clock
        self._addition = addition
        self._heard = heard
        self._flush = flush
        self._rebased = rebased

    def _go_by(self, rule: Rule) -> None:
        # a fraction becomes tokens, so that its border is exact
        trigger: Any = rule.trigger if rule.trigger_tokens is None else ("tokens", rule.trigger_tokens)
        keep: Any = rule.keep if rule.keep_tokens is None else ("tokens", rule.keep_tokens)

        def total(messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
            return int(self._own.meter.budget(messages, tools or ()).total)

        sizes: Any = {"trigger": trigger, "keep": keep}
        more: Any = {"trim_tokens_to_summarize": None, "truncate_args_settings": sizes, **sizes}
        super().__init__(self._own.model, backend=self._files, token_counter=total, **more)  # type: ignore[arg-type]
        self.rule = rule

    def _compact(
        self,
        request: Any,
        cutoff: int,
        asked: Asked,
        session: str,
        offload: Offload,
        tell: Tell,
        pinned: Sequence[str] = (),
        weigh: Weigh | None = None,
    ) -> Done:
        """Flush, offload, summarize, and keep beside the summary what it lost, and the skills `pinned` to this turn.
        One that is weighed is offloaded after that: until then nothing is written but the daily note."""
        messages, previous = request.messages, request.state.get(keys.OFFLOAD)
        leaving = [m for m in messages[:cutoff] if source_of(m) != MEMORY_UPDATE]
        going = self._without_media(leaving, _Nowhere() if weigh else self._backend)
        new = [m for m in going if source_of(m) not in _OURS]
        at, path = self._clock(), self._get_history_path(session)
        flush = self._flushed(asked, new, request.state, at, tell, by_hand=weigh is not None)
        if weigh is None:
            self._offload(new, at, path)
        conversation = [m for m in going if source_of(m) not in _ADDED]
        others, own = self._heard(request.state)
        text, problem = self._summary(asked, conversation, len(new), path)
        summary = attributed(text, others, own)
        held = messages[0].additional_kwargs if source_of(messages[0]) == keys.SUMMARY_SOURCE else {}
        before = [Anchor(*a) for part in ("hidden", "anchors") for a in held.get(part) or ()]
        found = find((to_message(m) for m in conversation if source_of(m) not in _OURS), redact)
        said = redact("\n".join(own))  # a nested agent's prompt is not the user's
        found = tuple(one for one in found if one.kind not in SAID or one.text in said)
        window = self.rule.window
        room = _MOST if window is None else max(_LEAST, int(_ANCHORS * window))
        more = held.get("more", 0)
        beside = anchor_block(lost(union(before, found), summary), room, self._own.meter.count, path, more)
        (built,) = self._build_new_messages_with_path(summary, path)
        message = HumanMessage("\n\n".join(filter(None, (message_text(built), beside.text, *pinned))))
        offload = replace(
            offload,
            path=path,
            summary=summary,
            cutoff=self._compute_state_cutoff(previous, cutoff) + mark_of(request.state).get("messages", 0),
            at=at,
            anchors=beside.shown,
            hidden=beside.hidden[:_HIDDEN],
            more=more + max(0, len(beside.hidden) - _HIDDEN),
            flush=flush,
            messages=len(new),
        )
        done = Done(offload, message, cutoff, session)
        if weigh is not None:
            done = weigh(done)
            self._without_media(leaving, self._backend)
            self._offload(new, at, path)
        message.additional_kwargs.update(offload_record(done.offload), pinned=list(pinned))
        if problem:
            tell(Notice(problem))
        return done

    def _without_media(self, messages: list[AnyMessage], backend: Any) -> list[AnyMessage]:
        without, failed = self._offload_inline_media(backend, messages)
        if failed:
            raise NotOffloaded(f"{failed} image{'s' if failed > 1 else ''} or other media can't be written")
        return without

    def _flushed(
        self,
        asked: Asked,
        going: Sequence[BaseMessage],
        state: Mapping[str, Any],
        at: str,
        tell: Tell,
        *,
        by_hand: bool,
    ) -> Flush | None:
        if self._flush is None or not going:
            return None
        try:
            flush = self._flush(asked, going, state, at, by_hand=by_hand)
        except NotOnTapeError:
            raise
        except Exception as failure:
            tell(Notice(f"the daily note was not written: {one_line(failure)}"))
            return None
        if flush is not None:
            tell(Flushed(flush))
        return flush

    def _offload(self, going: Sequence[BaseMessage], at: str, path: str) -> None:
        try:
            found = self._backend.download_files([path])[0]
            if found.content is None and found.error not in (None, "file_not_found"):
                raise NotOffloaded(f"{path} can't be read ({found.error})")
            old = (found.content or b"").decode("utf-8")
            more, keep = self._addition(old, at, [to_message(m) for m in going])
            if keep is not None:
                problem = self._backend.write(path, old[:keep] + more).error
            else:
                problem = append_text(self._backend, path, more) if more else None
        except UnicodeDecodeError:
            raise NotOffloaded(f"{path} is not UTF-8 text") from None
        except NotOffloaded:
            raise
        except Exception as failure:
            raise NotOffloaded(f"{path} can't be written: {one_line(failure)}") from failure
        if problem:
            raise NotOffloaded(f"{path} can't be written: {problem}")

    def _summary(self, asked: Asked, going: list[AnyMessage], count: int, path: str) -> tuple[str, str]:
        """Return (the model's summary, ""); where it fails, (words that say so and where the messages are, what to tell the user)."""
        helper, why = self._lc_helper, "the model returned nothing"
        try:
            said = asked.above(keys.SUMMARY_SOURCE, lambda text: helper.summary_prompt.format(messages=text).rstrip())
            summary = "" if said is None else message_text(said).strip()
            if not summary:  # one that only calls tools is asked again with none offered
                try:
                    said = asked.alone(keys.SUMMARY_SOURCE, helper._format_summary_prompt(going))
                except ContextOverflowError:
                    if (shorter := helper._overflow_retry_prompt(going)) is None:
                        raise
                    said = asked.alone(keys.SUMMARY_SOURCE, shorter)
                summary = message_text(said).strip()
        except NotOnTapeError:
            raise
        except Exception as failure:
            summary, why = "", one_line(failure)
        if summary:
            # it stays in the state, and goes into every request from here on
            return redact(split_thinking(summary)[1] or summary), ""
        return (
            f"(There is no summary: {why}. The {count} messages that stood here are word for word in {path}.)",
            f"no summary ({why}): the turn continues, and the {count} messages are saved verbatim in {path}",
        )

    def _cutoff(self, messages: list[AnyMessage], fixed: int, *, must: bool) -> int:
        """Return how many messages go; 0 where none can, or where it is not worth it.

        Upstream's cutoff, but never inside the turn under way while that turn fits below the trigger:
        otherwise, in a small window, the results of the turn's own tools would go at once and be asked
        for again without end.
        """
        cutoff = self._determine_cutoff_index(messages)
        start = turn_start(messages)
        if (limit := self.rule.trigger_tokens) is not None and 0 < start < cutoff:
            room = limit - fixed - SUMMARY_ROOM
            cutoff = start if self.token_counter(messages[start:]) <= room else cutoff
        elif limit is None and not must and 0 < start < cutoff and len(messages) - start < self.rule.trigger[1]:
            cutoff = start  # in messages: a memory update, or what was brought back, takes the prompt's place
        going = [m for m in messages[:cutoff] if source_of(m) != keys.SUMMARY_SOURCE]
        if all(source_of(m) == MEMORY_UPDATE for m in going):
            return 0
        gain = 0 if must or limit is None else self.token_counter(going)
        return cutoff if must or limit is None or gain >= _WORTH * limit else 0

    def _pinned(self, messages: Sequence[BaseMessage], cutoff: int, fixed: int, tell: Tell) -> list[str]:
        """Return the skills that were pinned to the turn under way and would go with its beginning, as far as there is room."""
        start = turn_start(messages)
        held = messages[0].additional_kwargs.get("pinned") if start == 0 else None
        going = [*(held or ()), *(message_text(m) for m in messages[start:cutoff] if source_of(m) == PINNED)]
        limit, kept = self.rule.trigger_tokens, list[str]()
        room = None if limit is None else limit - fixed - SUMMARY_ROOM - self.token_counter(messages[cutoff:])
        for text in going:
            tokens = self._own.meter.count(text)
            if room is not None and tokens > room:
                tell(Notice(f"{pinned_name(text)} was pinned to this turn, but did not fit into the request"))
                continue
            kept.append(text)
            room = None if room is None else room - tokens
        return kept

    def _get_profile_limits(self) -> int | None:
        return self.rule.window


def offload_record(offload: Offload) -> dict[str, Any]:
    """Return a compaction as it is kept with its summary message; `offload_of` reads it back."""
    return {
        "lc_source": keys.SUMMARY_SOURCE,
        "summarized_at": offload.at,
        "cause": offload.cause,
        "tokens": [offload.before, offload.after],
        "messages": offload.messages,
        "anchors": [[a.kind, a.text, a.phrase] for a in offload.anchors],
        "hidden": [[a.kind, a.text, a.phrase] for a in offload.hidden],
        "more": offload.more,
        "flush": asdict(offload.flush) if offload.flush else None,
    }


def turn_start(messages: Sequence[BaseMessage], end: int | None = None) -> int:
    """Return where the last turn before `end` begins: at what the user said, and what was put before it; 0 if that is all."""
    last = (len(messages) if end is None else end) - 1
    start = next((i for i in range(last, 0, -1) if is_request(messages[i])), 0)
    while start > 0 and source_of(messages[start - 1]) in _ADDED:
        start -= 1
    return start
