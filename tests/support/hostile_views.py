"""Every view there is with one text in all its fields, made from the types its function asks for."""

import collections.abc as c
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import deepnb.views
from deepnb.backends.journal import entry
from deepnb.search.hits import Hit
from deepnb.values import turn as values
from deepnb.values.budget import Budget, rule_for
from deepnb.values.files import FileDiff
from deepnb.values.messages import GrowingList, Messages
from deepnb.values.request import Request, Sent
from deepnb.views.approval import ApprovalView
from deepnb.views.budget import BudgetView
from deepnb.views.growing_markdown import GrowingMarkdown
from deepnb.views.search_marks import search_terms
from deepnb.views.turn_segments import Segments, turn_segments
from deepnb.views.view import View


def changes(x: str) -> FileDiff:
    return FileDiff(x, f"a b c\n{x}\nold {x}", f"a b d\n{x}\nnew {x} more")


def events(x: str) -> tuple[Any, ...]:
    """A turn in which all that can happen does, nested too, and that ends in the middle."""
    made = Maker(x)
    inner = (x,)
    return (
        values.ThinkingDelta(x, 1), values.TextDelta(x, 1), values.ToolStarted(x, x, {x: x, "n": [x, {x: None}]}),
        values.ThinkingDelta(x, 2, path=inner), values.TextDelta(x, 2, path=inner),
        values.ToolStarted("in" + x, x, {x: x}, path=inner),
        values.ToolEnded("in" + x, x, x, "error", 1.0, path=inner, traceback=x),
        values.ToolEnded(x, x, x, "ok", 1.0),
        values.ToolStarted("task", "task", {"subagent_type": x, "description": x}),
        values.TextDelta(x, 3, path=("task",)), values.ToolEnded("task", "task", x + " more", "ok", 1.0),
        values.ToolStarted("runs", "task", {"subagent_type": x, "description": x}),
        values.ToolStarted("inside", x, {x: x}, path=("runs",)),
        *(made(kind) for kind in typing.get_args(values.Event) if kind not in (values.TextDelta, values.ThinkingDelta)),
        values.TextDelta(x, 4),
    )  # fmt: skip


class Maker:
    """Makes a value of any type from one text; `other` takes the other choice where there is one."""

    def __init__(self, x: str, other: bool = False) -> None:
        self.x, self.other = x, other

    def special(self, kind: Any) -> Any:
        x = self.x
        makers: dict[Any, Callable[[], Any]] = {
            FileDiff: lambda: (
                FileDiff(x, x if self.other else None, None if self.other else x) if self.other else changes(x)
            ),
            values.Event: lambda: values.Notice(x),
            Budget: lambda: Budget({"user": 5, x: 7}, rule_for(10), 1, reported=3),
            Messages: Messages,
            GrowingList: GrowingList,
            Request: lambda: Request((Sent("tools", x, x, 2), Sent("system", x, x, 2)), GrowingList()),
            values.Turn: self.turn,
        }
        made = makers.get(kind)
        return None if made is None else made()

    def turn(self) -> values.Turn:
        x = self.x
        empty = values.Snapshot(x)
        budget = Budget({"user": 5, x: 7}, rule_for(10), 1)
        return values.Turn(1, x, x, x, events(x), empty, empty, values.Usage(), budget, x, 0.1, x, x, x, x)

    def __call__(self, kind: Any) -> Any:
        name = getattr(kind, "__name__", "")
        if (made := self.special(kind)) is not None:
            return made
        if name == "Entry":
            return entry(changes(self.x), id=self.x, at=self.x, origin="agent", thread=self.x, cell=self.x, note=self.x)
        if name == "Hit":
            return Hit(self.x, 1, 2, self.x, 0.5, self.x, self.x)
        if name == "SearchTerms":
            return search_terms(self.x)
        if kind in (str, Any, object, inspect.Parameter.empty):
            return self.x
        if kind in (Path, bytes):
            return Path(self.x) if kind is Path else self.x.encode("utf-8", "replace")
        if kind is bool:
            return self.other
        if kind in (int, float):
            return 3
        if kind is type(None):
            return None
        return self.composed(kind)

    def composed(self, kind: Any) -> Any:
        origin, args = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Literal:
            return args[-1 if self.other else 0]
        if origin in (typing.Union, types.UnionType):
            some = [arg for arg in args if arg is not type(None)]
            return self(some[-1 if self.other else 0])
        if origin is tuple:
            return tuple(self(arg) for arg in args if arg is not Ellipsis)
        if origin in (c.Callable, Callable):
            return lambda *_: self(args[-1])
        if origin in (dict, c.Mapping, c.MutableMapping):
            return {self(args[0]): self(args[1])}
        if origin in (list, set, frozenset, c.Sequence, c.Iterable, c.Collection):
            return [self(args[0])]
        if isinstance(kind, type) and is_dataclass(kind):
            hints = types_of(kind)
            return kind(**{f.name: self(hints[f.name]) for f in fields(kind) if f.init})
        raise NotImplementedError(f"tests/support/hostile_views.py does not know how to make {kind!r}")


@cache
def types_of(of: Any) -> dict[str, Any]:
    """The types of a function's arguments or a class' fields: finding them out takes longer than making the view."""
    return typing.get_type_hints(of, localns={"Hit": Hit})  # which only a type checker imports there


@cache
def functions() -> dict[str, Callable[..., View]]:
    found: dict[str, Callable[..., View]] = {one.__name__: one for one in (ApprovalView, BudgetView)}
    for module in pkgutil.iter_modules(deepnb.views.__path__):
        room = importlib.import_module(f"deepnb.views.{module.name}")
        found |= {
            name: function
            for name, function in inspect.getmembers(room, inspect.isfunction)
            if name.endswith(("_view", "_value")) and name[0] != "_" and function.__module__ == room.__name__
        }
    return found


def arguments(function: Callable[..., Any], made: Maker) -> dict[str, Any]:
    hints = types_of(function)
    return {name: made(hints[name]) for name in inspect.signature(function).parameters}


def makers(x: str) -> list[tuple[str, Callable[[], View]]]:
    """(its name, what makes it) of every view with `x` in every field of text: each twice, for either choice."""
    made: list[tuple[str, Callable[[], View]]] = [
        (name, partial(_made, function, x, other)) for name, function in functions().items() for other in (False, True)
    ]
    return [*made, ("turn as it runs", partial(_running, x)), ("turn", lambda: turn_segments(Maker(x).turn()))]


def views(x: str, at: int = 0, of: int = 1) -> Iterator[tuple[str, View]]:
    """(its name, a view) of all of these, then the pieces of an answer that grows; of each `of` the one at `at`."""
    shown = makers(x)
    for name, make in shown[at % of :: of]:
        yield name, make()
    growing = GrowingMarkdown()
    growing.add(f"before\n\n{x}\n\nafter ")
    pieces = [growing.end]
    for at in range(0, min(len(x), 300), 9):
        growing.add(x[at : at + 9])
        if growing.cut():
            pieces.append(growing.end)
    yield from (("piece of an answer", piece) for piece in pieces[(at - len(shown)) % of :: of])


def brief_turn(made: Maker, answer: str = "") -> Segments:
    """A turn with one of each kind of thing in it: the same fields as `turn`, in a third of the markup."""
    segments = Segments()
    for event in (
        values.ThinkingDelta(made.x, 1),
        values.ToolStarted("t", "task", {"subagent_type": made.x, "description": made.x}),
        values.TextDelta(made.x, 2, path=("t",)), values.ToolEnded("t", "task", f"{made.x} more", "ok", 1.0),
        values.ToolStarted("c", made.x, {made.x: made.x}),
        values.ToolEnded("c", made.x, made.x, "error", 1.0, traceback=made.x), values.Notice(made.x),
        made(values.Compacted), values.TextDelta(answer or made.x, 3),
    ):  # fmt: skip
        segments.add(event)
    segments.close()
    return segments


def _made(function: Callable[..., View], x: str, other: bool) -> View:
    return function(**arguments(function, Maker(x, other)))


def _running(x: str) -> View:
    segments = Segments()
    for event in events(x):
        segments.add(event)
    return segments
