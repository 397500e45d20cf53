"""The chat model that plays a tape: the exchange that answers a request, or the nearest one and what differs."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from langchain_core.exceptions import ModelError
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.models.keys import guard_environment
from deepnb.models.tapes.recorder import chunk_of, in_form, messages_of, recorded, tools_of
from deepnb.models.tapes.tape import Exchange, Parts, Tape, TapedModel, TapeForm, days_near, read_tape
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError
from deepnb.values.failures import NotOnTapeError
from deepnb.values.files import FileDiff

_COMPARED = 4_000  # characters of the other parts of two requests


class _NotOnTape(NotOnTapeError, ModelError):
    """Tells LangChain, too, which makes some requests again after an error, that this is no use."""


class TapeIndex:
    """The exchanges of a tape by their requests, for some days."""

    def __init__(self, tape: Tape, form: TapeForm) -> None:
        """`form` masks the times of all days in question: those of the tape, and now."""
        self._tape = tape
        names = {name: form.masked_part(part) for name, part in tape.parts.items()}
        self._texts: dict[str, Any] = dict(names.values())
        self._requests = [Parts(names[e.tools][0], tuple(names[m][0] for m in e.messages)) for e in tape.exchanges]
        self._by_key: dict[tuple[str, ...], list[Exchange]] = {}
        for request, one in zip(self._requests, tape.exchanges, strict=True):
            self._by_key.setdefault(request.key, []).append(one)

    def exchanges(self, request: Parts) -> list[Exchange]:
        """Return the exchanges of this request in the order of recording; raise NotOnTapeError if there are none."""
        if (found := self._by_key.get(request.key)) is not None:
            return found
        what, do = f"the request is not on {self._tape.label}", "%agent record FILE makes a tape that has it"
        if not self._requests:
            raise _NotOnTape(f"{what}, which is empty", do)
        texts = {**self._texts, **request.texts}
        number = self._nearest(request, texts)
        nearest = self._requests[number]
        diff = FileDiff("request", _page(nearest, texts), _page(request, texts))
        pairs = zip(nearest.messages, request.messages, strict=False)
        other = next((f"message {i} ({texts[b]['role']})" for i, (a, b) in enumerate(pairs, 1) if a != b), "")
        more = len(request.messages) - len(nearest.messages)
        count = f"having {abs(more)} message{'s' if abs(more) != 1 else ''} {'fewer' if more > 0 else 'more'}"
        where = "its tools" if nearest.tools != request.tools else other or count
        of = f"request {number + 1} of {len(self._requests)}"
        raise _NotOnTape(f"{what}: the nearest, {of}, differs in {where}", do, diff)

    def _nearest(self, asked: Parts, texts: Mapping[str, Any]) -> int:
        """Return the exchange that has most parts of a request; of several, one as long whose other parts are most alike."""
        wanted = Counter(asked.key)

        def likeness(number: int) -> tuple[int, int, float, int]:
            key = self._requests[number].key
            a, b = (
                "\n".join(_lines(texts[name])[:_COMPARED] for name in one if name not in other)[:_COMPARED]
                for one, other in ((key, asked.key), (asked.key, key))
            )
            alike = SequenceMatcher(None, a, b, autojunk=False).quick_ratio()
            return (wanted & Counter(key)).total(), -abs(len(key) - len(asked.key)), alike, -number

        return max(range(len(self._requests)), key=likeness)


def _page(request: Parts, texts: Mapping[str, Any]) -> str:
    heads = ["tools", *(f"message {i}: {texts[m]['role']}" for i, m in enumerate(request.messages, 1))]
    return "\n".join(f"# {head}\n{_lines(texts[name])}\n" for head, name in zip(heads, request.key, strict=True))


def _lines(part: Any) -> str:
    if isinstance(part, list):
        return "\n".join(f"{name}: {' '.join(description.split())}" for name, description in part)
    calls = [f"{name} {json.dumps(args, ensure_ascii=False, sort_keys=True)}" for name, args in part.get("calls", ())]
    images = [f"image {name}" for name in part.get("images", ())]
    return "\n".join(filter(None, (part.get("text", ""), *calls, *images)))


# -- The chat model that plays a tape: it needs no key and no provider, and is named as what it is


class Player:
    """Gives the answers of a tape: those of one request in the order they were recorded, then from the first again."""

    def __init__(self, tape: Tape, now: Callable[[], str]) -> None:
        """`now` gives the time as an ISO timestamp."""
        self.tape = tape
        self._now = now
        self._lock = threading.Lock()
        self._played: dict[tuple[str, ...], int] = {}
        self._made: tuple[frozenset[str], TapeForm, TapeIndex] | None = None

    def exchange(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> Exchange:
        """Return what answers this request; an error that has the nearest where there is nothing."""
        with self._lock:
            days = self.tape.days | days_near(self._now())
            if self._made is None or self._made[0] != days:
                guard_environment()
                form = TapeForm(days)
                self._made = days, form, TapeIndex(self.tape, form)
            _, form, index = self._made
            request = form.parts(messages_of(messages), tools_of(tools))
            found = index.exchanges(request)
            played = self._played.get(request.key, 0)
            self._played[request.key] = played + 1
            return found[played % len(found)]


class TapeModel(BaseChatModel):
    """Plays a tape."""

    player: Any
    model_name: str
    """What it is shown as: `tape FILE`."""
    taped: Any
    """The model on the tape whose place it takes."""
    max_tokens: int | None = None
    """Tokens that the recorded model's client reserved for an answer, so that a compaction comes where it came."""
    thinking: Any = None
    window_guessed: bool = False
    """Whether nobody had said how large the recorded model's window is."""

    @property
    def _llm_type(self) -> str:
        return "deepnb-tape"

    def of(self, name: str) -> TapeModel:
        """Return the model of this name on the same tape, for a subagent; this one where the tape has none."""
        found = next((one for one in self.player.tape.models if one.name == name), None)
        return self if found is None else _model(self.player, found)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[in_form(convert_to_openai_tool(t), self.taped.schemas) for t in tools], **kwargs)

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> Iterator[ChatGenerationChunk]:
        one = self.player.exchange(messages, settings.get("tools") or ())
        for _, piece in one.pieces:
            try:
                chunk = chunk_of(piece)
            except (AttributeError, TypeError, ValueError):
                what = f"{self.model_name} is damaged: one of its answers is no message"
                raise InvalidError(what, "get the file again, or record it again: %agent record FILE") from None
            yield ChatGenerationChunk(message=chunk)
        if one.error is not None:
            raise recorded(one.error)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, None, **settings))


def tape_model(file: Path, now: Callable[[], str]) -> TapeModel:
    """Return the model that plays a file; an error of one line where it is no tape."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"no tape {file}", "%agent record FILE makes one") from None
    except OSError as error:
        raise RefusedError(f"{file} can't be read ({error.strerror})", "choose another file") from None
    tape = read_tape(data, file.name)
    return _model(Player(tape, now), tape.models[0] if tape.models else TapedModel(""))


def _model(player: Player, taped: TapedModel) -> TapeModel:
    said: Any = dict(taped.profile)
    thinking = {"budget_tokens": said.pop("thinking_tokens", 0)}
    own = {"max_tokens": said.pop("max_tokens", None), "window_guessed": said.pop("window_guessed", False)}
    return TapeModel(player=player, model_name=player.tape.label, taped=taped, thinking=thinking, profile=said, **own)
