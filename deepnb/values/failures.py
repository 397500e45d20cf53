"""Failures in words: of a request to a model, as its provider tells it, and of a tool, with the user's own frames.

Asked by status and by the names of classes, so that no provider's package is imported. Retried is only what the provider
has certainly not begun to answer: a status that says so, or a connection that was never made.
"""

import re
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, isfinite
from traceback import StackSummary, walk_tb
from typing import Any

from deepnb.gate import credentials, redact
from deepnb.values.errors import NotFoundError
from deepnb.values.files import FileDiff
from deepnb.values.text import rebuilt

_OVERLOADED = frozenset({"overloaded_error", "overloaded"})
_QUOTA = frozenset({"insufficient_quota", "billing_error"})
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_NOT_MADE = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError"})
_TIMEOUTS = frozenset({"TimeoutException", "TimeoutError", "Timeout"})
_BROKEN_TEXT = "RemoteProtocolError ReadError IncompleteRead ChunkedEncodingError ConnectionResetError BrokenPipeError"
_BROKEN = frozenset(_BROKEN_TEXT.split())
_REFUSED = frozenset({400, 413, 422, 500})
"""Statuses with which servers refuse a request as too long."""
_OVERFLOW = re.compile(
    r"(?i)context_length_exceeded|ContextWindowExceeded"  # OpenAI, LiteLLM
    r"|maximum context length|maximum model length"  # OpenAI, vLLM
    r"|exceed(?:s|ed)? (?:\S+ ){0,2}context (?:length|size|window|limit)"  # exceeds the available context size
    r"|context (?:length|size|window|limit) exceeded"
    r"|longer than (?:\S+ ){0,3}context length"  # SGLang: longer than the model's context length
    r"|context length of only|greater than the context length|reached context length"  # LM Studio
    r"|exceed_context_size|exceed context window"  # llama.cpp, llama-cpp-python
    r"|prompt (?:is )?too long|maximum prompt length"  # Anthropic, Ollama, xAI
    r"|input tokens exceed the configured limit|(?:input|prompt) token count .{0,40}exceeds"  # OpenAI, Gemini
    r"|`inputs` tokens .{0,40}must be <=|too large for model with",  # text-generation-inference, Mistral
)
_WINDOWS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bn_ctx\W{1,5}(\d+)",  # "n_ctx": 8192
        r"\d > (\d[\d,]*)",  # 215000 tokens > 200000 maximum; 190000 + 21333 > 200000
        r"\btokens > (\d[\d,]*)",
        r"(?:context (?:length|size|window|limit)|(?:model|prompt) length)(?: (?:is|of|only))*[ :=(]+(\d[\d,]*)",
        r"(\d[\d,]*)(?:[ -]tokens?)? (?:maximum )?context (?:length|window)",  # with 32768 maximum context length
        r"(?:exceeds|allowed|limit)(?: the limit)?(?: is| of)? \(?(\d[\d,]*)",  # exceeds the limit of 128000
        r"must be <= (\d[\d,]*)",
    )
)
"""Where a refusal says how many tokens there may be, the surest first."""
_NO_TOOLS = re.compile(
    r"(?i)(?P<jinja>--jinja)|(?P<vllm>--enable-auto-tool-choice)"  # llama.cpp, vLLM: "auto" tool choice requires ...
    r"|(?:does not|doesn't) support (?:the )?(?:tool|function)"  # Ollama: qwen does not support tools
    r"|support(?:s|ing)? tool use"  # OpenRouter: No endpoints found that support tool use
    r"|tool[ _](?:use|call(?:ing|s))\W+(?:is|are) not supported",  # Groq: `tool calling` is not supported
)
_LEAST_WINDOW = 256
_LONGEST = 300
"""Characters of the provider's own words."""
_SHORTEST = 6
"""Characters of a word of a credential: `a` is in every text."""
_DEEPEST = 8
"""Exceptions that are looked at, each the cause of the one before."""


@dataclass(frozen=True)
class ModelFailure:
    """`what` in a few words without credentials, and `detail`: the status and the provider's own words."""

    what: str
    detail: str = ""
    first: str = ""
    """What to do before the request is sent once more; empty where it is only to be sent later."""
    again: bool = False
    """Whether it may be sent again unasked."""
    seconds: float | None = None
    """How long the provider asks to wait."""

    @property
    def line(self) -> str:
        """`rate limited (429: slow down)`."""
        return f"{self.what} ({self.detail})" if self.detail else self.what

    def do(self, repeat: str) -> str:
        """Return what to do, where `repeat` says how the request is sent once more."""
        if self.first:
            return f"{self.first}, then {repeat}"
        when = f" in {in_words(self.seconds)}" if self.seconds else ""
        return f"nothing was lost; {repeat}{when}"


def model_failure(error: BaseException) -> ModelFailure | None:
    """Return what a provider's exception says; None for one that is no provider's, such as a mistake in code."""
    chain = tuple(causes(error))
    if is_overflow(error):
        return ModelFailure("the request is too long for the model", refusal(error), "shorten it")
    if (at := next((e for e in chain if status_of(e) is not None), None)) is not None:
        again = _header(at, "x-should-retry") != "false"
        return _by_status(status_of(at) or 0, _kind(at), _words(at), again, _wait(at))
    names = {kind.__name__ for e in chain for kind in type(e).__mro__}
    where = f"at {host}" if (host := next(filter(None, map(host_of, chain)), "")) else ""
    if names & _NOT_MADE:
        return ModelFailure(f"no connection to the model's server {where}".rstrip(), again=True)
    if names & _TIMEOUTS:
        return ModelFailure("the model did not answer in time")
    if names & _BROKEN:
        return ModelFailure("the connection to the model was lost")
    if "ConnectionError" in names:  # as Ollama's client says it, whenever it was
        return ModelFailure(f"no connection to the model's server {where}".rstrip())
    if (kind := _kind(error)) and hasattr(error, "body"):  # told in the middle of a stream, which has no status
        return _by_status(200, kind, _words(error))
    return None


def is_overflow(error: BaseException) -> bool:
    """Return whether a provider refused a request as too long."""
    for one in causes(error):
        if type(one).__name__.endswith("ContextOverflowError"):
            return True
        told = status_of(one) in _REFUSED if status_of(one) else hasattr(one, "body")  # in a stream there is no status
        if told and _OVERFLOW.search(f"{one} {getattr(one, 'body', None) or ''}"):
            return True
    return False


def told_window(error: BaseException) -> int | None:
    """Return how many tokens the model takes, as the refusal of a request that was too long says it."""
    said = " ".join(f"{one} {getattr(one, 'body', None) or ''}" for one in causes(error))
    found = next((match for pattern in _WINDOWS if (match := pattern.search(said))), None)
    tokens = int(found[1].replace(",", "")) if found else 0
    return tokens if tokens >= _LEAST_WINDOW else None


def refusal(error: BaseException) -> str:
    chain = tuple(causes(error))
    return _words(next((one for one in chain if status_of(one) is not None or hasattr(one, "body")), chain[-1]))


def _by_status(status: int, kind: str, words: str, again: bool = False, seconds: float | None = None) -> ModelFailure:
    detail = ": ".join(filter(None, (str(status) if status >= 400 else "", words)))
    again = again and status in _AGAIN
    if status >= 400 and (found := _NO_TOOLS.search(words)):
        flags = "--enable-auto-tool-choice and --tool-call-parser"
        start = "start llama-server with --jinja" if found["jinja"] else f"start vLLM with {flags}"
        known = found["jinja"] or found["vllm"]
        return ModelFailure("the model is not given tools", detail, start if known else "use a model that calls tools")
    known = (
        (kind in _QUOTA, "the quota of this key is used up", "raise it with the provider"),
        (status == 429, "rate limited", ""),
        (status in (503, 529) or kind in _OVERLOADED, "the provider is overloaded", ""),
        (status == 401, "the provider does not accept the key", "type %agent key PROVIDER to enter another"),
        (status == 403, "the provider does not allow this request", "fix it"),
        (status == 404, "the provider does not know this model or address", "check the model's name"),
        (400 <= status < 500 and status not in _AGAIN, "the provider does not accept the request", "fix it"),
        (True, "the provider failed", ""),
    )
    what, first = next((what, first) for fits, what, first in known if fits)
    return ModelFailure(what, detail, first) if first else ModelFailure(what, detail, "", again, seconds)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that an exception tells, under any of the names that SDKs give it."""
    places = ((error, "status_code"), (getattr(error, "response", None), "status_code"), (error, "code"))
    codes = (getattr(place, name, None) for place, name in places)
    return next((one for one in codes if isinstance(one, int) and 100 <= one < 600), None)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that led to it, the last one first."""
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def body_of(error: BaseException) -> Mapping[str, Any]:
    """Return the provider's description of the error: {"message": ..., "type": ...}."""
    body = getattr(error, "body", None)
    body = body if isinstance(body, Mapping) else {}
    inner = body.get("error")
    return inner if isinstance(inner, Mapping) else body


def _kind(error: BaseException) -> str:
    body = body_of(error)
    return str(body.get("code") if body.get("code") in _QUOTA else body.get("type") or "")


def _words(error: BaseException) -> str:
    words = body_of(error).get("message") or getattr(error, "error", None) or error
    line = " ".join(redact(str(words)).split())
    return (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…").rstrip(" .:")


def hide_credentials(error: BaseException, sent: Iterable[str]) -> None:
    """Take the credentials out of an exception's own words and its causes': a checkpointer writes them down.

    Those in the texts that were `sent` are found in whatever form the provider quotes them.
    """
    found = ((text[one.start : one.end].split(), one.kind) for text in sent for one in credentials(text))
    marks = {word: f"[redacted: {kind}]" for words, kind in found for word in words if len(word) >= _SHORTEST}
    for one in causes(error):
        one.args = tuple(_hidden(arg, marks) for arg in one.args)
        for name in ("message", "body", "error"):
            with suppress(AttributeError):  # it has none, or the class says what it is
                setattr(one, name, _hidden(getattr(one, name), marks))


def _hidden(value: Any, marks: Mapping[str, str]) -> Any:
    """Return a value without the words of credentials, each of which has its mark."""
    if not isinstance(value, str):
        return rebuilt(value, lambda item: _hidden(item, marks))
    value = redact(value)
    for word, mark in marks.items():
        value = value.replace(word, mark)
    return value


def host_of(error: BaseException) -> str:
    """Host and port that a request went to, nothing else of its address: it may hold a key."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
        return f"{url.host}:{url.port}" if url.port else str(url.host)
    except Exception:  # httpx raises where a request was never made
        return ""


def _header(error: BaseException, name: str) -> str:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return str(headers.get(name) or "") if isinstance(headers, Mapping) else ""


def _wait(error: BaseException) -> float | None:
    """Return seconds that the answer's headers ask to wait: `retry-after-ms`, or `retry-after`."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(_header(error, name)) / scale
            if isfinite(seconds) and seconds >= 0:
                return seconds
    return None


def in_words(seconds: float) -> str:
    """`8 s`, `5 min`: a wait, rounded up."""
    whole = ceil(seconds)
    return f"{whole} s" if whole < 120 else f"{ceil(whole / 60)} min"


def has_credential(error: BaseException) -> bool:
    """Return whether an exception, or one of its causes, has a credential in its words."""
    return any(redact(str(one)) != str(one) for one in causes(error))


class NotOnTapeError(NotFoundError):
    """A request is not on the tape that is played."""

    def __init__(self, what: str, do: str = "", diff: FileDiff | None = None) -> None:
        super().__init__(what, do)
        self.diff = diff
        """From the nearest request on the tape to the one that was made; None where the tape is empty."""


# -- What is said of an exception in a tool: its words, and the frames of the user's own code

_MOST_WORDS = 2_000
"""Characters of an exception's words."""
PROBLEMS = 5
"""Arguments that are said not to fit."""
_FRAMES = 6
"""Frames that are shown: the first, and the last of the others."""
_LIBRARY_FRAMES = 2
"""Frames that are shown where none is of the user's own code."""

_ENGINE_TEXT = "deepnb deepagents langchain langchain_core langgraph pydantic concurrent asyncio threading"
ENGINE = frozenset(_ENGINE_TEXT.split())
"""Packages that stand between a model's call and the tool."""

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def failure_text(error: BaseException) -> str:
    """`Error: ValueError: no such column`: what the model is told, and the card says."""
    try:
        words = str(error).strip()
        if type(error).__name__ == "ValidationError" and hasattr(error, "errors"):  # pydantic's words hold addresses
            problems = misfits(error)
            more = [f"and {len(problems) - PROBLEMS} more"] if len(problems) > PROBLEMS else []
            words = "; ".join([*problems[:PROBLEMS], *more]) or words
    except Exception:  # of a class of the user's
        words = ""
    kind = type(error).__name__
    return f"Error: {kind}: {words[:_MOST_WORDS]}{'…' * (len(words) > _MOST_WORDS)}" if words else f"Error: {kind}"


def one_line(error: BaseException) -> str:
    """Return an exception in one line without credentials: what a provider says of a request, else its kind and first words."""
    if (failure := model_failure(error)) is not None:
        return failure.line
    words = (redact(str(error)).strip().splitlines() or [""])[0][:300].rstrip(" .:")
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def misfits(error: Any) -> list[str]:
    """Return what of a value does not fit, and why, as pydantic's error says it: `path: Field required`."""
    return [f"{'.'.join(map(str, one['loc'])) or 'all'}: {one['msg']}" for one in error.errors()]


def own_traceback(error: BaseException) -> str:
    """Return the user's own frames, without credentials; a library's last ones where none is theirs."""
    walked = list(walk_tb(error.__traceback__))
    modules = (str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in walked)
    frames = zip(StackSummary.extract(iter(walked)), modules, strict=True)
    outside = [frame for frame, module in frames if module not in ENGINE]
    shown = [frame for frame in outside if not is_library(frame.filename)] or outside[-_LIBRARY_FRAMES:]
    if len(shown) > _FRAMES:
        shown = [shown[0], *shown[1 - _FRAMES :]]
    lines = list[str]()
    for frame in shown:
        place = "In a cell" if is_cell(frame.filename) else f'File "{frame.filename}"'
        lines += [f"{place}, line {frame.lineno}, in {frame.name}", *([f"    {frame.line}"] if frame.line else [])]
    return redact("\n".join(lines))


def is_library(file: str) -> bool:
    """Return whether a file is of Python's own library, or of a package that was installed."""
    return file.startswith(_LIBRARIES) or "site-packages" in file or "dist-packages" in file


def is_cell(file: str) -> bool:
    """Return whether a file is the name that IPython gives to the code of a cell."""
    return "ipykernel_" in file or file.startswith("<ipython-input")
