"""tiktoken's encodings, loaded behind the scenes: counting asks whether one is there and never waits.

Exact is said only of OpenAI's own chat models, by the name tiktoken knows them under: every other
provider has a tokenizer of its own, and o200k_base would count too little for some. Those are
counted by script.

An encoding already in tiktoken's cache directory is loaded from there. It is fetched only where its
model is a remote one, by a download of our own: tiktoken's has no time-out and is made while it
holds a lock, so that a silent network would hang whoever else counts with tiktoken, for ever.
"""

import base64
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha1, sha256
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any
from urllib.parse import urlsplit

Download = Callable[[str], bytes]

_OPENAI = ("openai-chat", "azure-openai-chat")
"""LangChain's `_llm_type` of the models whose encodings tiktoken has."""
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
_LARGEST = 50_000_000
"""Bytes; the largest encoding has some 4 million."""


class NotAtHandError(LookupError):
    """The encoding is not in the cache, and was not to be fetched."""


def download(url: str, pause: float = 10.0, limit: float = 120.0) -> bytes:
    """The bytes at `url`; a TimeoutError after `pause` seconds of silence, or `limit` seconds in all."""
    import ssl
    from urllib.request import urlopen

    context = ssl.create_default_context()
    with suppress(ImportError):
        import certifi

        context.load_verify_locations(certifi.where())
    until, got = time.monotonic() + limit, bytearray()
    with urlopen(url, timeout=pause, context=context) as response:
        while block := response.read1(1 << 16):
            got += block
            if time.monotonic() > until or len(got) > _LARGEST:
                raise TimeoutError(f"{len(got):,} bytes were all that came")
    return bytes(got)


class Encodings:
    """The encodings of a process, each loaded once, in a thread that nobody waits for."""

    def __init__(self, fetch: Download | None = None) -> None:
        """`fetch` takes the place of `download`."""
        self._fetch = fetch
        self._lock = threading.Lock()
        self._ready: dict[str, Any] = {}
        self._begun: dict[tuple[str, bool], threading.Thread] = {}

    def begin(self, model: str, *, fetch: bool) -> None:
        """Start loading the encoding of an OpenAI model, if that was not begun before; returns at once."""
        with self._lock:
            if (model, fetch) in self._begun or model in self._ready:
                return
            thread = threading.Thread(target=self._load, args=(model, fetch), daemon=True, name="deepnb-encoding")
            self._begun[model, fetch] = thread
            thread.start()

    def counter(self, model: str) -> Callable[[str], int] | None:
        """How to count for a model, once its encoding is there."""
        return self._ready.get(model)

    def settled(self, seconds: float = 60.0) -> bool:
        """Wait for what was begun; whether all of it has ended. For tests and tools: counting never does."""
        for thread in tuple(self._begun.values()):
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._begun.values())

    def _load(self, model: str, fetch: bool) -> None:
        with suppress(Exception):  # without it, counts stay approximate, and say so
            from tiktoken.model import encoding_name_for_model

            encoding = load(encoding_name_for_model(model), (self._fetch or download) if fetch else None)
            self._ready[model] = lambda text: len(encoding.encode_ordinary(text))


ENCODINGS = Encodings()


def encoding_of(model: Any, encodings: Encodings | None = None) -> Callable[[], Callable[[str], int] | None] | None:
    """Begin to load the encoding of a chat model; gives what asks whether it is there, None if it has none."""
    known = encodings or ENCODINGS
    name = getattr(model, "model_name", None)
    if getattr(model, "_llm_type", "") not in _OPENAI or not isinstance(name, str):
        return None
    known.begin(name, fetch=_is_remote(model))
    return lambda: known.counter(name)


def load(name: str, fetch: Download | None = None) -> Any:
    """A `tiktoken.Encoding` made from the cached file, or from a fetched one; NotAtHandError where there is neither.

    tiktoken's own recipe for the encoding is run, with our reading of the file in the place of its.
    """
    import tiktoken

    recipes = import_module("tiktoken_ext.openai_public")
    if (made := tiktoken.registry.ENCODINGS.get(name)) is not None:
        return made

    def ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        lines = _file(url, expected_hash, fetch).splitlines()
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, filter(None, lines))}

    ours: dict[str, Any] = {**vars(recipes), "load_tiktoken_bpe": ranks, "data_gym_to_mergeable_bpe_ranks": _none}
    for recipe in recipes.ENCODING_CONSTRUCTORS.values():
        ours[recipe.__name__] = FunctionType(recipe.__code__, ours)
    return tiktoken.Encoding(**ours[recipes.ENCODING_CONSTRUCTORS[name].__name__]())


def cached_at(url: str) -> Path | None:
    """Where tiktoken keeps a file it has fetched; None where it is told to keep none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if (place := os.environ.get(variable)) is not None:
            return Path(place) / sha1(url.encode()).hexdigest() if place else None
    return Path(tempfile.gettempdir()) / "data-gym-cache" / sha1(url.encode()).hexdigest()


def _file(url: str, expected: str | None, fetch: Download | None) -> bytes:
    """The file at `url`, from the cache or fetched into it; only ever one with the right hash."""
    place = cached_at(url)
    with suppress(OSError):
        if place is not None and _is_right(data := place.read_bytes(), expected):
            return data
    if fetch is None:
        raise NotAtHandError(url)
    data = fetch(url)
    if not _is_right(data, expected):
        raise ValueError(f"what came from {url} is not what tiktoken expects")
    with suppress(OSError):
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            written = place.with_name(f"{place.name}.{uuid.uuid4()}.tmp")
            written.write_bytes(data)
            written.replace(place)
    return data


def _is_right(data: bytes, expected: str | None) -> bool:
    return expected is None or sha256(data).hexdigest() == expected


def _is_remote(model: Any) -> bool:
    """Whether the model is on another machine than this one."""
    base = getattr(model, "openai_api_base", None) or os.environ.get("OPENAI_BASE_URL") or ""
    return urlsplit(str(base)).hostname not in _LOCAL


def _none(*_: Any, **__: Any) -> Any:
    raise NotAtHandError("encodings of GPT-2's time are not loaded")
