"""The window of a model on a server: asked for, learned of a refusal, guessed until then, kept with the model."""

from typing import Any

import pytest

from deepnb import DeepnbError, Session
from deepnb.models import windows
from deepnb.models.windows import is_near
from deepnb.values.failures import is_overflow, told_window
from deepnb.values.turn import Compacted, Notice
from tests.data import table
from tests.support.chat_server import Fail, Say
from tests.support.local_server import KINDS, NAME, SILENT, WORDLESS, Kind, local_server
from tests.support.openai_server import OpenAIServer
from tests.support.refusals import refused
from tests.support.tables import every_row

FACTS = " ".join(f"Another warehouse reports {i} parcels for tomorrow." for i in range(48))


@every_row("kind", KINDS)
def test_the_server_is_asked_at_use(kind: Kind) -> None:
    with local_server(kind, 6_000) as server:
        s = Session(namespace={})
        s.use(NAME, base_url=server.url)
        assert (s.rule.window, s.rule.guessed, s.rule.trigger) == (6_000, False, ("fraction", 0.85))
        found = {one.name: one.window for one in s.models()}
        assert found[NAME] == 6_000 and not server.requests


@every_row(("address", "near"), [
    ("http://localhost:1/v1", True), ("http://127.0.0.1:1/v1", True), ("http://[::1]:1/v1", True),
    ("http://192.168.1.5/v1", True), ("http://10.0.0.1/v1", True), ("http://gpu-box:8000/v1", True),
    ("http://gpu.local/v1", True), ("http://host.docker.internal:1/v1", True),
    ("https://openrouter.ai/api/v1", False), ("https://8.8.8.8/v1", False), ("", False),
])  # fmt: skip
def test_what_is_near(address: str, near: bool) -> None:
    assert is_near(address) is near


def test_a_window_belongs_to_the_model_it_was_set_for() -> None:
    with local_server(SILENT, 6_000) as server:
        s = Session(namespace={})
        s.use(NAME, base_url=server.url)
        s.configure(max_input_tokens=5_000)
        assert s.rule.window == 5_000
        s.use("offline")
        assert s.rule.window == 8_000
        s.use(NAME, base_url=server.url)
        assert (s.rule.window, s.options.max_input_tokens) == (5_000, 5_000)
        s.configure(max_input_tokens=None)
        assert s.rule.window == 8_192


def test_a_server_is_asked_again_at_use_and_when_it_was_down() -> None:
    with local_server(KINDS[0], 6_000) as server:
        assert Session(NAME, base_url=server.url, max_input_tokens=32_000, namespace={}).rule.window == 6_000
    with local_server(KINDS[0], 6_000) as server:
        pages, server.pages = server.pages, {"/v1/models": 503}
        s = Session(NAME, base_url=server.url, namespace={})
        assert s.rule.guessed
        server.pages = pages
        s.run("hi")
        assert (s.rule.window, s.rule.guessed) == (6_000, False)
    with local_server(KINDS[0], 6_000) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        assert s.rule.window == 6_000
        server.pages = dict(KINDS[0].pages(12_000))
        s.use(NAME, base_url=server.url)
        assert s.rule.window == 12_000


def test_one_that_tells_nothing_is_small_on_this_machine_and_unknown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[Any] = [["no"], "no", 7.5, None, {"data": [None, {"id": 5, "max_model_len": "many"}]}, {"data": {}}]
    for page in pages:
        with OpenAIServer([Say("ok")], pages={"/v1/models": page}) as server:
            assert Session(NAME, base_url=server.url, namespace={}).rule.guessed
    with local_server(SILENT, 6_000) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        assert (s.rule.window, s.rule.guessed, s.rule.keep) == (8_192, True, ("fraction", 0.10))
        assert "/props" in server.asked and "/api/ps" in server.asked
    monkeypatch.setattr(windows, "served_models", lambda *_: {})
    far = Session(NAME, base_url="https://gateway.example.org/v1", namespace={})
    assert (far.rule.window, far.rule.trigger, far.rule.keep) == (None, ("tokens", 170_000), ("messages", 6))


@pytest.mark.slow
@every_row("kind", [KINDS[0], KINDS[2], KINDS[3]])
@every_row(("window", "trigger"), [(4_096, None), (8_192, ("tokens", 100_000)), (16_384, ("messages", 1_000))])
def test_past_the_window_the_thread_goes_on(kind: Kind, window: int, trigger: Any) -> None:
    """Nothing tells the window but the refusals; another session with this model knows it then."""
    prompt = FACTS * (window // 4_096)
    with local_server(kind, window, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={}, trigger=trigger)
        while not any(isinstance(e, Compacted) for t in s.turns for e in t.events):
            assert len(s.turns) < 20
            s.run(prompt)
        for _ in range(2):
            assert s.run(prompt).text == "Noted."
        assert s.rule.window == window
        lines = [e.text for t in s.turns for e in t.events if isinstance(e, Notice)]
        assert sum("as its server says" in line for line in lines) == 1
        assert not any("nothing to compact" in line for line in lines)
        assert Session(NAME, base_url=server.url, namespace={}).rule.window == window


def test_the_second_try_has_short_tools_and_without_numbers_the_last_turn_alone() -> None:
    with local_server(KINDS[0], 3_000, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={}, trigger=("tokens", 170_000))
        refused("run the cell again, now that the window is known", s.run, FACTS)
        assert s.run(FACTS).text == "Noted."
    with local_server(WORDLESS, 5_000, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={}, trigger=("messages", 1_000), keep=("messages", 6))
        for _ in range(6):
            assert s.run(FACTS).text == "Noted."
        assert any(isinstance(e, Compacted) for t in s.turns for e in t.events)


def test_what_the_server_says_is_quoted_and_makes_a_guess_known() -> None:
    with local_server(KINDS[0], 2_000, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        error = refused(r"exceeds the available context size \(2000 tokens\)", s.run, FACTS * 4)
        assert "configure(max_input_tokens=N)" in str(error) and s.rule.window == 2_000
    with OpenAIServer([KINDS[0].refuses(9_067, 8_192)]) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        assert (s.rule.window, s.rule.guessed) == (8_192, True)
        refused("9067 tokens", s.run, "hi")
        assert (s.rule.window, s.rule.guessed) == (8_192, False)
    over = Fail(500, "the request exceeds the available context size. try increasing the context size")
    with OpenAIServer([over]) as server:
        with pytest.raises(DeepnbError, match="exceeds the available context size"):
            Session(NAME, base_url=server.url, namespace={}).run("hi")
        assert len(server.requests) <= 2


def test_an_estimate_alone_refuses_nothing_and_a_larger_request_that_was_accepted_raises_a_guess() -> None:
    with local_server(KINDS[0], 4_096) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        room = 4_096 - s.run("hi").budget.total
        turn = s.run("a " * int(room * 1.3))
        assert turn.budget.total > 4_096 and turn.text == "Noted."
    with OpenAIServer([Say("ok")]) as server:
        server.reports = 20_000
        s = Session(NAME, base_url=server.url, namespace={})
        s.run("hi")
        assert (s.rule.window, s.rule.guessed) == (32_768, True)


class Refusal(Exception):
    status_code = 400


@every_row(("words", "window"), table("refusals")["too long"])
def test_the_words_of_a_refusal(words: str, window: str) -> None:
    assert is_overflow(Refusal(words)) and str(told_window(Refusal(words)) or "-") == window


@every_row("words", [
    "max_tokens must be <= 4096", "temperature must be <= 2", "model qwen does not support tools",
    "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9067",
])  # fmt: skip
def test_another_refusal_is_none_of_these(words: str) -> None:
    assert not is_overflow(Refusal(words))
