"""A session on a real LangGraph server: the turns of a local one, threads of several kernels, runs that go on."""

from __future__ import annotations

from typing import Any

import pytest

import deepnb
from tests.support.server_app import server_graphs
from tests.support.server_script import STEPS, play

pytestmark = pytest.mark.slow


def test_twenty_steps_are_the_same_as_in_this_process(served: str, session: Any) -> None:
    here = deepnb.Session(graph=server_graphs.agent)
    there = session(f"{served}/agent")
    pairs = list(zip(play(here), play(there), strict=True))
    assert len(pairs) == STEPS
    for number, (local, remote) in enumerate(pairs, 1):
        assert remote == local, f"step {number}"
