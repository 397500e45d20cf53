"""The same script of forty steps gives the same turns, files, ledger and journal wherever a session is kept."""

from functools import cache
from typing import Any

import pytest

from deepnb import Session
from tests.support import forty_steps


def played(s: Session) -> Session:
    done = 0
    for step in forty_steps.steps(s):
        step()
        done += 1
    assert done == 40
    return s


def compare(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert one.keys() == two.keys()
    for thread, value in one.items():
        if not isinstance(value, dict) or "turns" not in value:
            assert two[thread] == value, thread
            continue
        for part in value:
            assert two[thread][part] == value[part], (thread, part)


@cache
def in_memory() -> Any:
    with played(Session(forty_steps.model(), **forty_steps.options())) as s:
        return forty_steps.left(s)


@pytest.mark.slow
def test_the_same_in_memory_and_kept_and_after_a_restart(where):
    with played(Session(forty_steps.model(), persist=where, **forty_steps.options())) as s:
        kept = forty_steps.left(s)
    compare(in_memory(), kept)
    with Session(forty_steps.model(), persist=where, **{**forty_steps.options(), "approve": "outside"}) as s:
        compare(in_memory(), forty_steps.left(s))
