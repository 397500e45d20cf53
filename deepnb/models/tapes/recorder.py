"""Recording a tape: what is sent to each model and what it answers, as it happens.

A model is given a callback: it stays what it is for its provider, and the callback sees the final request, after all
middleware, of the main agent, its subagents, summaries and flushes alike.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from deepnb.engine import keys
from deepnb.models.tapes import pieces, tape
from deepnb.values.errors import DeepnbError, RefusedError
from deepnb.values.files import make_folder
from deepnb.values.lazy import nothing
from deepnb.values.text import as_word, short_repr

_LOG = logging.getLogger("deepnb")


class Recording:
    """A tape that is being recorded. Every exchange is in the file, mode 0600, as soon as it has ended."""

    def __init__(
        self, file: Path, now: Callable[[], str], note: str = "", *, overwrite: bool = False, name: str | Path = ""
    ) -> None:
        """`now` gives the time as an ISO timestamp; a file that exists is an error, unless `overwrite`.

        Lines call the file by its `name`, so that a saved notebook has no path of its machine.
        """
        self.file = file
        self.name = str(name or file)
        self.requests = 0
        self.active = True
        self.problem: str | None = None
        """Why it was stopped, where that was not asked for."""
        self.now = now
        self._lock = threading.Lock()
        self._models: list[tape.TapedModel] = []
        self._parts: set[str] = set()
        self._secrets: frozenset[str] = frozenset()
        self._form: tuple[Any, tape.TapeForm] | None = None
        head = tape.head_line(now(), self.form().clean(note))
        try:
            make_folder(file.parent)
            if overwrite:
                file.unlink(missing_ok=True)
            _write(file, head, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            raise RefusedError(
                f"{self.name} exists already", f"%agent record --yes {as_word(self.name)} overwrites it"
            ) from None
        except OSError as error:
            raise RefusedError(f"{self.name} can't be written ({error.strerror})", "choose another file") from None

    def __repr__(self) -> str:
        return short_repr(self, self.line)

    @property
    def line(self) -> str:
        """Says what the recorder is doing."""
        so_far = f"{self.requests} request{'s' if self.requests != 1 else ''}"
        if self.active:
            return f"recording to {self.name}, {so_far} so far"
        if self.problem:
            return f"the recording to {self.name} stopped after {so_far} ({self.problem})"
        return f"{so_far} recorded to {self.name}"

    def stop(self) -> None:
        """Record no more; the file is complete."""
        self.active = False

    def heard(self, model: BaseChatModel, label: str, counts: str, retries: int = 0) -> BaseChatModel:
        """Return the model, telling this recording of its calls."""
        held: Sequence[Any] = [getattr(value, "get_secret_value", nothing)() for value in vars(model).values()]
        self._secrets |= {value for value in held if isinstance(value, str)}
        taped = tape.TapedModel(self.form().clean(label), self.form().clean(_profile(model)), counts, retries=retries)
        before = model.callbacks
        listener = _Listener(self, taped)
        if isinstance(before, BaseCallbackManager):
            callbacks: Any = before.copy()
            callbacks.add_handler(listener)
        else:
            callbacks = [*(before or ()), listener]
        return model.model_copy(update={"callbacks": callbacks})

    def form(self) -> tape.TapeForm:
        """Return what brings requests into the form of a tape, with the keys there are now."""
        state = (tape.days_near(self.now()), dict(os.environ), self._secrets)
        if self._form is None or self._form[0] != state:
            self._form = state, tape.TapeForm(state[0], pieces.provider_keys() | self._secrets)
        return self._form[1]

    def add(self, model: tape.TapedModel, request: tape.Parts, one: tape.Exchange) -> None:
        """Append an exchange, with what of it the file does not have yet, in one write."""
        with self._lock:
            if not self.active:
                return
            new = [tape.model_line(model)] if model not in self._models else []
            new += [tape.part_line(name, request.texts[name]) for name in request.texts if name not in self._parts]
            try:
                _write(self.file, b"".join([*new, tape.exchange_line(one)]), 0)
            except OSError as error:
                self.active, self.problem = False, error.strerror or type(error).__name__
                _LOG.warning("%s", self.line)
                return
            self._models += [model] if model not in self._models else []
            self._parts.update(request.texts)
            self.requests += 1


@dataclass
class _Call:
    request: tape.Parts
    at: str
    purpose: str
    began: float = field(default_factory=time.perf_counter)
    pieces: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def add(self, message: Any) -> None:
        if piece := pieces.piece_of(message):
            self.pieces.append((round(1000 * (time.perf_counter() - self.began)), piece))


class _Listener(BaseCallbackHandler):
    run_inline = True

    def __init__(self, recording: Recording, model: tape.TapedModel) -> None:
        self._recording = recording
        self._model = model
        self._calls: dict[UUID, _Call] = {}

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        invocation_params: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        if self._recording.active:
            tools = (invocation_params or {}).get("tools") or ()
            if tools:
                self._model = replace(self._model, schemas=pieces.form_of(tools[0]))
            request = self._recording.form().parts(pieces.messages_of(messages[0]), pieces.tools_of(tools))
            purposes = {keys.SUMMARY_SOURCE: "summary", keys.FLUSH_SOURCE: "flush"}
            purpose = purposes.get((metadata or {}).get("lc_source") or "", "answer")
            self._calls[run_id] = _Call(request, self._recording.now(), purpose)

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:
        if (call := self._calls.get(run_id)) is not None and hasattr(chunk, "message"):
            call.add(chunk.message)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        if (call := self._calls.pop(run_id, None)) is None:
            return
        if not call.pieces and response.generations and response.generations[0]:
            call.add(getattr(response.generations[0][0], "message", None))
        self._ended(call, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        call = self._calls.pop(run_id, None)
        if call is None or not isinstance(error, Exception) or isinstance(error, DeepnbError):
            return  # an interrupt is no answer
        self._ended(call, pieces.error_of(error))

    def _ended(self, call: _Call, error: dict[str, Any] | None) -> None:
        clean = self._recording.form().clean
        told = pieces.without_credentials([piece for _, piece in call.pieces], clean)
        answer = tuple(zip((ms for ms, _ in call.pieces), told, strict=True))
        tools, messages = call.request.tools, call.request.messages
        made = tape.Exchange(call.at, self._model.name, call.purpose, tools, messages, answer, clean(error))
        self._recording.add(self._model, call.request, made)


def _profile(model: Any) -> dict[str, Any]:
    """Return what the profile of a model says in numbers, words and yes or no, and what its client reserves for an answer."""
    from deepnb.engine.request import reserve_of

    profile = getattr(model, "profile", None) or {}
    said = {k: v for k, v in profile.items() if isinstance(v, bool | int) or (isinstance(v, str) and len(v) < 100)}
    reserved = zip(("max_tokens", "thinking_tokens"), reserve_of(model), strict=True)
    return said | {name: tokens for name, tokens in reserved if tokens}


def _write(file: Path, data: bytes, flags: int) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_APPEND | flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.write(fd, data) < len(data):
            raise OSError(28, os.strerror(28))
    finally:
        os.close(fd)
