"""The models of an Ollama server on this machine, asked for on loopback alone and for a bounded time."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")

PATIENCE = 0.3
"""Seconds that all questions together may take."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "")
_PORT = 11434
_MOST = 2_000_000
"""Bytes of an answer that are read."""


@dataclass(frozen=True)
class OllamaModel:
    """A model that the server has; what it does not say is None."""

    name: str
    sees: bool | None = None
    tools: bool | None = None
    """Whether it can call tools."""
    window: int | None = None
    """Tokens that it was loaded with, else those that it can have."""


def ollama_models(patience: float = PATIENCE) -> tuple[OllamaModel, ...] | None:
    """The models of the server; None where none answers in time. What it says later is not waited for."""
    if (address := _address()) is None:
        return None
    return in_time(lambda tell: _ask(address, monotonic() + patience, tell), patience, None)


def in_time(ask: Callable[[Callable[[T], None]], None], patience: float, slow: T | None) -> T | None:
    """What `ask` told last within some seconds; `slow` where it told nothing by then, None where it could not."""
    found: list[T] = []

    def asked() -> None:
        with suppress(Exception):  # none there, or something else
            ask(found.append)

    thread = threading.Thread(target=asked, daemon=True, name="deepnb-ask")
    thread.start()
    thread.join(patience)
    return found[-1] if found else slow if thread.is_alive() else None


def _ask(address: tuple[str, int], until: float, tell: Any) -> None:
    """Tell of the models as soon as their names are known, and again with what each can do."""
    listed = _answer(address, until, "GET", "/api/tags")["models"]
    names = [str(one["name"]) for one in listed]
    models = {name: OllamaModel(name) for name in names}
    tell(tuple(models.values()))
    for name in names:
        shown = _answer(address, until, "POST", "/api/show", {"model": name})
        can, window = shown.get("capabilities"), context_length(shown.get("model_info"))
        sees, calls = ("vision" in can, "tools" in can) if isinstance(can, list) else (None, None)
        models[name] = OllamaModel(name, sees, calls, window)
        tell(tuple(models.values()))
    for one in _answer(address, until, "GET", "/api/ps")["models"]:
        if (name := str(one["name"])) in models and isinstance(one.get("context_length"), int):
            models[name] = replace(models[name], window=one["context_length"])
    tell(tuple(models.values()))


def context_length(info: Any) -> int | None:
    """The most tokens that a model can have, as `/api/show` tells it: {"qwen2.context_length": 32768}."""
    given = info.items() if isinstance(info, Mapping) else ()
    return next((n for name, n in given if str(name).endswith(".context_length") and isinstance(n, int)), None)


def _answer(
    address: tuple[str, int], until: float, method: str, path: str, body: Mapping[str, Any] | None = None
) -> Any:
    connection = HTTPConnection(*address, timeout=max(until - monotonic(), 0.001))
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return json.loads(response.read(_MOST))
    finally:
        connection.close()


def _address() -> tuple[str, int] | None:
    """Where Ollama listens on this machine; None where `OLLAMA_HOST` names another one, which is not asked."""
    given = os.environ.get("OLLAMA_HOST", "").strip()
    try:
        parts = urlsplit(given if "://" in given else f"//{given}")
        host, port = parts.hostname or "", parts.port or _PORT
    except ValueError:
        return None
    if host == "0.0.0.0":  # what a server is told to listen at
        host = ""
    return ("::1" if host == "::1" else "127.0.0.1", port) if host in _LOOPBACK else None
