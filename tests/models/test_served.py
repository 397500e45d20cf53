"""A model on a server of one's own: what it is asked for, and what it says."""

from __future__ import annotations

from typing import Any

from deepnb import Session
from deepnb.views.footer import footer_view
from tests.support.openai_server import Fail, OpenAIServer, Say

# -- usage


def test_usage_is_asked_for_and_shown_with_what_was_cached() -> None:
    with OpenAIServer([Say("ok", cached=80)]) as server:
        turn = Session("qwen", base_url=server.url, namespace={}).run("hi")
        assert server.requests[0]["stream_options"] == {"include_usage": True}
        assert "100 in / 80 cached / 20 out" in footer_view(turn).text()


def test_what_was_cached_is_not_shown_where_nobody_says_it() -> None:
    with OpenAIServer([Say("ok")], details=False) as server:
        s = Session("qwen", base_url=server.url, namespace={})
        turn = s.run("hi")
        assert "100 in / 20 out" in footer_view(turn).text()
        assert s.ledger()["cached"].isna().all() and s.ledger()["cached_share"].isna().all()


def test_a_server_that_refuses_to_be_asked_is_asked_once() -> None:
    def answer(request: dict[str, Any]) -> Any:
        refused = Fail(422, "[{'type': 'extra_forbidden', 'loc': ['body', 'stream_options']}]")
        return refused if "stream_options" in request else Say("ok")

    with OpenAIServer([answer]) as server:
        s = Session("qwen", base_url=server.url, namespace={})
        assert [s.run(prompt).text for prompt in "abc"] == ["ok"] * 3
        s.compact()
        assert ["stream_options" in one for one in server.requests].count(True) == 1
