"""What is known of models on servers: those of an Ollama here, and how many tokens a model takes."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from http.client import HTTPConnection
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

from deepnb.models.keys import window_of

T = TypeVar("T")

OLLAMA_PATIENCE = 0.3  # seconds that all questions together may take
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "", "0.0.0.0")
"""Names of this machine; the last is what a server is told to listen at."""
_MOST = 2_000_000  # bytes of an answer that are read


@dataclass(frozen=True)
class OllamaModel:
    """A model that the server has; what it does not say is None."""

    name: str
    sees: bool | None = None
    tools: bool | None = None
    window: int | None = None  # tokens that it was loaded with, else those that it can have


def ollama_models() -> tuple[OllamaModel, ...] | None:
    """Return the models of the server; None where none answers in time. What it says later is not waited for."""
    given = os.environ.get("OLLAMA_HOST", "").strip()
    try:
        parts = urlsplit(given if "://" in given else f"//{given}")
        host, port = parts.hostname or "", parts.port or 11434
    except ValueError:
        return None
    if host not in _LOOPBACK:  # another machine is not asked
        return None
    address = ("::1" if host == "::1" else "127.0.0.1", port)
    return in_time(partial(_ask_ollama, address, monotonic() + OLLAMA_PATIENCE), OLLAMA_PATIENCE, None)


def in_time(ask: Callable[[Callable[[T], None]], None], patience: float, slow: T | None) -> T | None:
    """Return what `ask` told last within some seconds; `slow` where it told nothing by then, None where it could not."""
    found: list[T] = []

    def asked() -> None:
        with suppress(Exception):  # none there, or something else
            ask(found.append)

    thread = threading.Thread(target=asked, daemon=True, name="deepnb-ask")
    thread.start()
    thread.join(patience)
    return found[-1] if found else slow if thread.is_alive() else None


def _ask_ollama(address: tuple[str, int], until: float, tell: Any) -> None:
    """Tell of the models as soon as their names are known, and again with what each can do."""
    listed = _answer(address, until, "/api/tags")["models"]
    models = {name: OllamaModel(name) for name in (str(one["name"]) for one in listed)}
    tell(tuple(models.values()))
    for name in models:
        shown = _answer(address, until, "/api/show", {"model": name})
        can, window = shown.get("capabilities"), context_length(shown.get("model_info"))
        sees, calls = ("vision" in can, "tools" in can) if isinstance(can, list) else (None, None)
        models[name] = OllamaModel(name, sees, calls, window)
        tell(tuple(models.values()))
    for one in _answer(address, until, "/api/ps")["models"]:
        if (name := str(one["name"])) in models and isinstance(one.get("context_length"), int):
            models[name] = replace(models[name], window=one["context_length"])
    tell(tuple(models.values()))


def context_length(info: Any) -> int | None:
    """Return the most tokens that a model can have, as `/api/show` tells it: {"qwen2.context_length": 32768}."""
    given = info.items() if isinstance(info, Mapping) else ()
    return next((n for name, n in given if str(name).endswith(".context_length") and isinstance(n, int)), None)


def _answer(address: tuple[str, int], until: float, path: str, body: Mapping[str, Any] | None = None) -> Any:
    with closing(HTTPConnection(*address, timeout=max(until - monotonic(), 0.001))) as connection:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return json.loads(response.read(_MOST))


# -- How many tokens a model on a server takes: what the server tells, what its refusals tell, a guess until then
# It is kept with the model, by address and name, for all sessions of this process.

SMALL = 8_192  # tokens of a window that nobody told, of a model on this machine or beside it
PATIENCE = 1.0  # seconds that all questions to one server together may take
_FIELDS = (
    ("meta", "n_ctx"),  # llama.cpp, /v1/models
    ("default_generation_settings", "n_ctx"),  # llama.cpp, /props
    ("max_model_len",),  # vLLM, SGLang
    ("loaded_context_length",),  # LM Studio
    ("context_length",),  # OpenRouter, Together; Ollama's /api/ps
    ("top_provider", "context_length"),  # OpenRouter
    ("context_window",),  # Groq
    ("max_context_length",),  # Mistral
)
_BESIDE = ("/props", "/api/v0/models", "/api/ps")
"""Where llama.cpp, LM Studio and Ollama tell it, if not in the list of models."""
_HOME = (".local", ".lan", ".home.arpa", ".internal", ".localhost")

_NOTHING: Mapping[str, int | None] = {}

Key = tuple[str, str]


@dataclass(frozen=True)
class Window:
    """Tokens of a window, and whether somebody told them."""

    tokens: int
    known: bool = True


_windows: Mapping[Key, Window] = {}  # never changed in place
_answered: set[Key] = set()  # models whose server was asked and answered, whatever it said
_longest: dict[Key, int] = {}  # the longest context of models of Ollama
_unanswered: dict[Key, Any] = {}  # models whose server did not answer: it is asked again
_unnamed: list[Any] = []  # models that go by their id, which stays theirs while they are held here


def known_windows() -> Mapping[Key, Window]:
    """Return all that is known: another object as soon as there is more."""
    return _windows


def window_for(model: Any, given: int | None = None, *, guess: bool = True) -> Window | None:
    """Return the window of a model: the one `given` by the user, but no more than its server takes; None where it is unknown."""
    answer, declared = _asked(model), window_of(model)
    if is_ollama(model):  # which has as many as it is asked for
        wanted = given or model.num_ctx or (answer.tokens if answer else SMALL)
        return Window(min(wanted, _longest.get(key_of(model), wanted)))
    if given is not None:
        return Window(min(given, answer.tokens) if answer and answer.known else given)
    if answer is not None or declared is not None:
        return answer or Window(declared or 0, known=not getattr(model, "window_guessed", False))
    return Window(SMALL, known=False) if guess and is_near(address_of(model)) else None


def learn(model: Any, tokens: int, *, known: bool = True) -> None:
    """Keep what a refusal of the server, or a request that it took, tells of its window."""
    if key_of(model)[1].isdigit():
        _unnamed.append(model)
    _keep(key_of(model), Window(tokens, known))


def forget_windows() -> None:
    """Let each server be asked again, when its model is next looked at: it may have another window by now."""
    global _windows
    if _answered:
        _windows = dict(_windows)  # another object, so that graphs are made anew
        _answered.clear()


def ask_again() -> None:
    """Ask the servers that did not answer."""
    for model in tuple(_unanswered.values()):
        _asked(model)


def served_models(model: Any, name: str | None = None) -> Mapping[str, int | None] | None:
    """Return name -> window of the models that a server has, and of the one of this `name`; None where it does not answer."""
    return in_time(partial(_ask, model, name), PATIENCE, _NOTHING)


def is_ollama(model: Any) -> bool:
    return type(model).__module__.partition(".")[0] == "langchain_ollama"


def address_of(model: Any) -> str:
    """Return the base URL of a model's server; empty where it has none of its own."""
    if is_ollama(model):
        return str(model._client._client.base_url)
    client = getattr(model, "root_client", None)  # OpenAI's, which knows of the environment, too
    address = str(getattr(client, "base_url", "") or "")
    return "" if "//api.openai.com/" in address else address


def is_near(address: str) -> bool:
    """Return whether an address is that of this machine or of a private network."""
    from ipaddress import ip_address

    host = (urlsplit(address).hostname or "") if address else ""
    with suppress(ValueError):
        return not ip_address(host).is_global
    return bool(host) and ("." not in host or host.endswith(_HOME))


def _asked(model: Any) -> Window | None:
    key = key_of(model)
    if key not in _answered and key[0] and (window_of(model) is None or is_near(key[0])):
        if (found := _ollama(model, key) if is_ollama(model) else served_models(model, key[1])) is None:
            _unanswered[key] = model
        else:
            _unanswered.pop(key, None)
            _answered.add(key)
            if tokens := found.get(key[1]):
                _keep(key, Window(tokens))
    return _windows.get(key)


def _ollama(model: Any, key: Key) -> Mapping[str, int | None] | None:
    """Return name -> the window that a model of Ollama is loaded with; how long it can be is kept."""

    def ask(tell: Callable[[Mapping[str, int | None]], None]) -> None:
        running = {str(one.model): one.context_length for one in model._client.ps().models}
        if most := context_length(model._client.show(model.model).modelinfo):
            _longest[key] = most
        name = model.model if ":" in model.model else f"{model.model}:latest"
        tell({key[1]: running.get(name)})

    return in_time(ask, PATIENCE, _NOTHING)


def _keep(key: Key, window: Window) -> None:
    global _windows
    if _windows.get(key) != window:
        _windows = {**_windows, key: window}


def key_of(model: Any) -> Key:
    """Return by what a model is known: the address of its server, and its name or, where it has none, its id."""
    fields = () if hasattr(model, "taped") else ("model_name", "model")  # a tape is played as if nothing was learned
    names = (getattr(model, field, None) for field in fields)
    return address_of(model), next((name for name in names if isinstance(name, str) and name), str(id(model)))


def _ask(model: Any, name: str | None, tell: Callable[[Mapping[str, int | None]], None]) -> None:
    """Tell of the models as soon as their names are known, and again with each window."""
    from openai import APIConnectionError, APITimeoutError, OpenAIError

    client = model.root_client.with_options(timeout=PATIENCE, max_retries=0)
    root = str(client.base_url).rstrip("/").removesuffix("/v1")
    found: dict[str, int | None] = {} if name is None else {name: None}
    for path in ("/models", *((f"{root}{path}" for path in _BESIDE) if is_near(root) else ())):
        rows: list[Mapping[str, Any]] = []
        try:
            answer = client.get(path, cast_to=object)
            if isinstance(answer, Mapping):
                answer = next((answer[k] for k in ("data", "models") if isinstance(answer.get(k), list)), [answer])
            rows = [row for row in answer if isinstance(row, Mapping)] if isinstance(answer, list) else []
        except (APIConnectionError, OpenAIError) as error:
            lost = isinstance(error, APIConnectionError) and not isinstance(error, APITimeoutError)
            if path == "/models" and (lost or getattr(error, "status_code", 0) == 503):  # not there yet, or loading
                return
        if path == "/models":
            found = {**dict.fromkeys(one["id"] for one in rows if isinstance(one.get("id"), str)), **found}
        alone = rows[0] if len(rows) == 1 and path in ("/models", f"{root}/props") else None  # whatever it is called
        for one in (each for each in found if found[each] is None):
            row = next((row for row in rows if one in (row.get("id"), row.get("name"), row.get("model"))), alone)
            found[one] = None if row is None else _tokens(row)
        tell(dict(found))
        if all(found.values()) if name is None else found[name]:
            return


def _tokens(row: Any) -> int | None:
    """Return the smallest window that a row tells; a model that is not loaded has none yet."""
    if row.get("state") == "not-loaded":
        return None

    start: Any = row
    found = (
        reduce(lambda at, field: at.get(field) if isinstance(at, Mapping) else None, path, start) for path in _FIELDS
    )
    return min((tokens for tokens in found if type(tokens) is int and tokens > 0), default=None)
