"""Encodings arrive behind the scenes, or never: counting goes on either way."""

import base64
import socket
import subprocess
import sys
import threading
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import tiktoken.model
import tiktoken.registry
import tiktoken_ext.openai_public as recipes
from tiktoken.model import encoding_name_for_model

from deepnb import Session
from deepnb.context import counting as module
from deepnb.context.counting import BY_CLASS, Encodings, Meter, NotAtHandError, cached_at, encoding_of, load
from deepnb.values.budget import rule_for
from tests.support.tables import every_row

download = module.download  # the real one: the fixture of conftest puts a refusal in its place
FILE = b"\n".join(base64.b64encode(bytes([b])) + b" %d" % b for b in range(256))
URL = "http://127.0.0.1:9/small.tiktoken"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """tiktoken with one encoding of 256 tokens, known for the model `small-1`; an empty cache."""

    def small_base() -> dict[str, Any]:
        ranks = recipes.load_tiktoken_bpe(URL, expected_hash=sha256(FILE).hexdigest())
        return {"name": "small_base", "pat_str": r"(?s).", "mergeable_ranks": ranks, "special_tokens": {}}

    monkeypatch.setitem(module.FILES, "small_base", (URL, sha256(FILE).hexdigest()))
    monkeypatch.setattr("tiktoken.registry.ENCODING_CONSTRUCTORS", {"small_base": small_base})
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    monkeypatch.setitem(tiktoken.model.MODEL_TO_ENCODING, "small-1", "small_base")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def model(kind: str = "openai-chat", name: str | None = "small-1", base: str | None = None) -> Any:
    return SimpleNamespace(_llm_type=kind, model_name=name, openai_api_base=base)


def settled(known: Encodings) -> bool:
    for thread in known._begun.values():
        thread.join(60)
    return not any(thread.is_alive() for thread in known._begun.values())


def fetching(given: bytes | Exception = FILE) -> Mock:
    return Mock(side_effect=given) if isinstance(given, Exception) else Mock(return_value=given)


def test_a_remote_model_fetches_its_encoding_once_and_keeps_it(small):
    fetch = fetching()
    known = Encodings(fetch)
    asks = encoding_of(model(), known)
    encoding_of(model(), known)
    assert settled(known)
    count = asks()
    assert count is not None and (count.count("abc"), count.exact, count.name) == (3, True, "tiktoken")
    fetch.assert_called_once_with(URL)
    assert cached_at(URL).read_bytes() == FILE
    again = fetching(AssertionError("not again"))
    assert load("small_base", again).n_vocab == 256 and not again.called


@pytest.mark.parametrize("base", ["http://localhost:8000/v1", "http://127.0.0.1:1/v1", "http://[::1]:1/v1"])
def test_a_local_model_fetches_nothing_and_takes_what_is_cached(small, base):
    fetch = fetching()
    known = Encodings(fetch)
    asks = encoding_of(model(base=base), known)
    assert settled(known) and asks() is None and not fetch.called
    small.mkdir()
    cached_at(URL).write_bytes(FILE)
    later = Encodings(fetch)
    asks = encoding_of(model(base=base), later)
    assert settled(later)
    count = asks()
    assert count is not None and count.count("abcd") == 4 and not fetch.called


@every_row("other", [model("chat-ollama"), model("anthropic-chat"), model(name="qwen3:8b"), model(name=None), object()])
def test_a_model_whose_tokenizer_is_not_known_is_counted_with_o200k_where_it_is_cached(small, other, monkeypatch):
    """It is fetched for none of them."""
    fetch = fetching()
    known = Encodings(fetch)
    asks = encoding_of(other, known)
    assert settled(known) and asks() is None and not fetch.called
    cached = SimpleNamespace(encode_ordinary=list, name="o200k_base")
    monkeypatch.setattr(module, "load", lambda name, fetch=None: cached)
    later = Encodings(fetch)
    asks = encoding_of(other, later)
    assert settled(later)
    found = asks()
    assert found is not None and (found.count("abcd"), found.exact, found.name) == (4, False, "o200k_base")


def test_the_teaching_model_and_others_start_no_loading(monkeypatch):
    begun: list[Any] = []
    monkeypatch.setattr(module.ENCODINGS, "begin", lambda *a, **k: begun.append((a, k)))
    s = Session()
    s.run("Hello")
    assert s.budget().exact and begun == []


@every_row("given", [b"something else", OSError("no network"), TimeoutError("silence")])
def test_what_can_not_be_fetched_leaves_the_count_approximate(small, given):
    known = Encodings(fetching(given))
    asks = encoding_of(model(), known)
    assert settled(known) and asks() is None and not cached_at(URL).exists()


def test_a_damaged_cache_is_not_trusted_and_none_is_used_where_tiktoken_is_told_so(small, monkeypatch):
    small.mkdir()
    cached_at(URL).write_bytes(FILE + b"\nAA== 256")
    with pytest.raises(NotAtHandError):
        load("small_base")
    assert load("small_base", fetching()).n_vocab == 256
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    fetch = fetching()
    assert cached_at(URL) is None
    with pytest.raises(NotAtHandError):
        load("small_base", fetch)
    assert not fetch.called


def test_a_server_that_never_answers_is_given_up(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(OSError):  # it takes a connection
        download(f"http://127.0.0.1:{server.getsockname()[1]}/x.tiktoken", pause=0.2)


def test_counting_goes_on_while_a_download_hangs(small):
    """The download is held for as long as the test likes: counts come all the while, and change when it ends."""
    go, begun = threading.Event(), threading.Event()

    def hanging(url: str) -> bytes:
        begun.set()
        assert go.wait(60)
        return FILE

    known = Encodings(hanging)
    asks = encoding_of(model(), known)
    assert begun.wait(60)
    m = Meter(BY_CLASS, rule_for(1_000), asks)
    assert (m.count("the"), m.counter.exact) == (2, False)
    assert tiktoken.registry._lock.acquire(timeout=30)  # nobody else's tiktoken waits for us
    tiktoken.registry._lock.release()
    go.set()
    assert settled(known) and (m.count("the"), m.counter.exact, m.counter.name) == (3, True, "tiktoken")


def test_a_hanging_download_does_not_keep_python_from_ending():
    code = """
import sys, threading
from types import SimpleNamespace
from deepnb.context.counting import Encodings, encoding_of
begun = threading.Event()
def never(url):
    begun.set()
    threading.Event().wait()
encoding_of(SimpleNamespace(_llm_type="openai-chat", model_name="gpt-4o", openai_api_base=None), Encodings(never))
assert begun.wait(60)
"""
    env = {"PATH": "/usr/bin:/bin", "TIKTOKEN_CACHE_DIR": "/nonexistent/cache"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=env)


def test_tiktoken_has_its_files_from_where_we_fetch_them(monkeypatch):
    """Else it would not find in its cache what was put there, and download by itself."""
    asked: list[tuple[str, str | None]] = []

    def ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        asked.append((url, expected_hash))
        return {}

    monkeypatch.setattr(recipes, "load_tiktoken_bpe", ranks)
    for name in module.FILES:
        recipes.ENCODING_CONSTRUCTORS[name]()
    assert asked == list(module.FILES.values())
    models = ("gpt-3.5-turbo", "gpt-4o", "gpt-5", "gpt-oss-20b")
    assert {*module.FILES} >= {encoding_name_for_model(name) for name in models}
