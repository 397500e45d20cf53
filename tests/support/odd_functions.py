"""Functions as notebooks have them, with the arguments that a model sends and what the call gives; and odd results."""

import datetime as dt
import enum
import functools
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel
from typing_extensions import TypedDict

from tests import DATA

Case = tuple[Callable[..., Any], dict[str, Any], str | None]


@dataclass
class Point:
    x: int
    y: int = 0


class Order(BaseModel):
    id: int
    lines: list[str] = []


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Query(TypedDict):
    text: str


def said(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    function.__doc__ = function.__doc__ or "Say what came."
    function.__name__ = name or function.__name__
    return function


IMPORTS = """
from decimal import Decimal
from typing import Annotated, Literal
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId
from pydantic import Field
"""

_ROW = re.compile(r"(.*?)  # (\{.*\}) -> (.*)")  # def f(a: int): return a  # {"a": 1} -> 1


def sources() -> Iterator[tuple[str, dict[str, Any], str | None]]:
    for line in (DATA / "signatures.txt").read_text(encoding="utf-8").splitlines():
        found = _ROW.fullmatch(line)
        assert found, line
        yield found[1], json.loads(found[2]), None if found[3] == "-" else found[3]


class Desk:
    def hold(self, runtime: int, /) -> int:
        "Hold it."
        return runtime + 1

    @staticmethod
    def keep(config: str) -> str:
        "Keep it."
        return config

    @classmethod
    def count(cls, _n: int) -> int:
        "Count."
        return _n


def signatures() -> Iterator[Case]:
    for source, sent, result in sources():
        names: dict[str, Any] = {**globals()}
        exec(IMPORTS + source, names)
        yield said(names["f"]), sent, result
    yield Desk().hold, {"runtime": 1}, "2"
    yield Desk.keep, {"config": "a"}, "a"
    yield Desk.count, {"_n": 4}, "4"
    yield functools.lru_cache(said(lambda config: config, "cached")), {"config": "c"}, "c"
    yield functools.wraps(Desk.keep)(lambda *a, **k: Desk.keep(*a, **k)), {"config": "w"}, "w"
    yield math.gcd, {"integers": [4, 6]}, "2"
    yield max, {"args": [1, 2]}, None


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def endless() -> Iterator[int]:
    n = 0
    while True:
        yield n
        n += 1


async def later() -> str:
    return "later"


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


RESULTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: None, "null"), (lambda: True, "true"), (lambda: 10**5000, "int"), (lambda: float("nan"), "NaN"),
    (lambda: ["a", "b"], '["a", "b"]'), (lambda: [*()], "[]"), (lambda: {"a": 1, (1, 2): 3}, "(1, 2)"),
    (lambda: {1, 2}, "{1, 2}"), (lambda: b"\xff", "xff"), (lambda: pd.DataFrame({"a": [1.5]}), "1.5"),
    (lambda: np.float32(0.5), "0.5"), (lambda: dt.date(2026, 3, 1), "2026-03-01"),
    (lambda: Point(1), "Point(x=1, y=0)"), (lambda: Order(id=7), "7"), (Broken, "Broken"), (endless, "[0, 1, 2"),
    (lambda: (n for n in "ab"), '["a", "b"]'), (later, "later"), (ring, "["), (deep, "list"),
    (lambda: ValueError("odd"), "odd"), (lambda: inspect, "module"), (lambda: "", ""),
]  # fmt: skip


def results() -> Iterator[tuple[Callable[..., Any], str]]:
    for i, (make, words) in enumerate(RESULTS):
        yield said(giving(make), f"give_{i}"), words


def giving(make: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: make()
