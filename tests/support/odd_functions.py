"""Functions as notebooks have them, with the arguments that a model sends and what the call gives; and odd results."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel
from typing_extensions import TypedDict

Case = tuple[Callable[..., Any], dict[str, Any], str | None]
"""A function, what a call of it sends, and its result; None if it may as well be refused when it is added."""


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

SOURCES: list[tuple[str, dict[str, Any], str | None]] = [
    ("def f(config: str): return config", {"config": "prod"}, "prod"),
    ("def f(runtime): return runtime", {"runtime": "fast"}, "fast"),
    ("def f(runtime: int, config: int = 2): return runtime + config", {"runtime": 1}, "3"),
    ("def f(run_manager: str): return run_manager", {"run_manager": "me"}, "me"),
    ("def f(callbacks: list[int]): return sum(callbacks)", {"callbacks": [1, 2]}, "3"),
    ("def f(store: str, state: str): return store + state", {"store": "a", "state": "b"}, "ab"),
    ("def f(_x: int): return _x + 1", {"_x": 1}, "2"),
    ("def f(__y: int = 5): return __y", {}, "5"),
    ("def f(*xs: int): return sum(xs)", {"xs": [1, 2]}, "3"),
    ("def f(a, *rest, sep='-'): return sep.join([a, *rest])", {"a": "1", "rest": ["2", "3"], "sep": "+"}, "1+2+3"),
    ("def f(a: int = 4, *more: int): return a + sum(more)", {"more": [1]}, "5"),
    ("def f(a, /): return a", {"a": "here"}, "here"),
    ("def f(a: int, b: int = 2, /, c: int = 3): return a * b + c", {"a": 2, "c": 1}, "5"),
    ("def f(*, key: bool): return key", {"key": True}, "true"),
    ("def f(**options): return sorted(options)", {"options": {"b": 1, "a": 2}}, '["a", "b"]'),
    ("def f(a: int, **options: int): return a + sum(options.values())", {"a": 1, "options": {"b": 2}}, "3"),
    (
        "def f(a, /, b, *c, d=4, **e): return [a, b, c, d, e]",
        {"a": 1, "b": 2, "c": [3], "e": {"g": 5}},
        '[1, 2, [3], 4, {"g": 5}]',
    ),
    ("def f(self): return self", {"self": "I"}, "I"),
    ("def f(cls, args, kwargs): return cls + args + kwargs", {"cls": "a", "args": "b", "kwargs": "c"}, "abc"),
    (
        "def f(tool_input: str, tool_call_id: str): return tool_input + tool_call_id",
        {"tool_input": "a", "tool_call_id": "b"},
        "ab",
    ),
    (
        "def f(schema: str, copy: str, json: str): return schema + copy + json",
        {"schema": "a", "copy": "b", "json": "c"},
        "abc",
    ),
    (
        "def f(model_config: str, model_fields: int): return model_config * model_fields",
        {"model_config": "x", "model_fields": 2},
        "xx",
    ),
    (
        "def f(name, description, args_schema): return name + description + args_schema",
        {"name": "a", "description": "b", "args_schema": "c"},
        "abc",
    ),
    ("def f(größe: float): return größe * 2", {"größe": 1.5}, "3.0"),
    ("def f(title: str, type: str): return title + type", {"title": "a", "type": "b"}, "ab"),
    ("def f(point: Point): return point.x + point.y", {"point": {"x": 3}}, "3"),
    ("def f(order: Order): return len(order.lines)", {"order": {"id": 1, "lines": ["a"]}}, "1"),
    ("def f(size: Size): return size.name", {"size": "l"}, "LARGE"),
    (
        "def f(query: Query): return query['text']",
        {"query": {"text": "hi"}},
        "hi",
    ),  # of typing_extensions, as pydantic asks before Python 3.12
    ("def f(day: dt.date, at: dt.datetime | None = None): return day.isoweekday()", {"day": "2026-03-01"}, "7"),
    ("def f(price: Decimal): return price * 2", {"price": "1.10"}, "2.20"),
    ("def f(how: Literal['a', 'b'] = 'a'): return how", {"how": "b"}, "b"),
    ("def f(x: Annotated[int, 'how many']): return x", {"x": 3}, "3"),
    ("def f(x: Annotated[int, Field(ge=0)] = 1): return x", {"x": 3}, "3"),
    ("def f(x: int | str | None = None): return repr(x)", {"x": "7"}, "'7'"),
    (
        "def f(xs: tuple[int, ...] = (), m: dict[str, list[int]] = {}): return len(xs) + len(m)",
        {"xs": [1], "m": {"a": []}},
        "2",
    ),
    ("def f(x: 'int') -> 'Missing': return x", {"x": 2}, "2"),
    ("def f(x: 'Missing'): return x", {"x": 1}, None),
    ("def f(x: pd.DataFrame): return len(x)", {"x": []}, None),
    ("def f(x: np.ndarray): return len(x)", {"x": []}, None),
    ("def f(done: Callable[[], None]): return 1", {"done": 1}, None),
    ("def f(x=object()): return 'fine'", {}, "fine"),
    ("def f(x: float = float('nan'), y: object = ...): return x != x", {}, "true"),
    ("def f(a: int, config: RunnableConfig): return a + len(config) * 0", {"a": 2}, "2"),
    ("def f(a: int, call: Annotated[str, InjectedToolCallId]): return a * len(call) // len(call)", {"a": 2}, "2"),
    ("def f(config: RunnableConfig, *xs: int): return sum(xs)", {"xs": [1]}, None),
    ("async def f(config: str, /, *xs: int): return config * sum(xs)", {"config": "a", "xs": [1, 1]}, "aa"),
]


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
    for source, sent, result in SOURCES:
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
    (lambda: None, "null"),
    (lambda: True, "true"),
    (lambda: 10**5000, "int"),
    (lambda: float("nan"), "NaN"),
    (lambda: ["a", "b"], '["a", "b"]'),
    (lambda: [*()], "[]"),
    (lambda: {"a": 1, (1, 2): 3}, "(1, 2)"),
    (lambda: {1, 2}, "{1, 2}"),
    (lambda: b"\xff", "xff"),
    (lambda: pd.DataFrame({"a": [1.5]}), "1.5"),
    (lambda: np.float32(0.5), "0.5"),
    (lambda: dt.date(2026, 3, 1), "2026-03-01"),
    (lambda: Point(1), "Point(x=1, y=0)"),
    (lambda: Order(id=7), "7"),
    (Broken, "Broken"),
    (endless, "[0, 1, 2"),
    (lambda: (n for n in "ab"), '["a", "b"]'),
    (later, "later"),
    (ring, "["),
    (deep, "list"),
    (lambda: ValueError("odd"), "odd"),
    (lambda: inspect, "module"),
    (lambda: "", ""),
]


def results() -> Iterator[tuple[Callable[..., Any], str]]:
    for i, (make, words) in enumerate(RESULTS):
        yield said(giving(make), f"give_{i}"), words


def giving(make: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: make()
