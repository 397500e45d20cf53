"""A comparison: a prompt with several options, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.running.workspace import Workspace
from deepnb.values.budget import PARTS
from deepnb.values.errors import InvalidError, LimitError
from deepnb.values.text import excerpt, short_repr
from deepnb.wings.compare.column import Column
from deepnb.wings.compare.variants import Variant, compare

if TYPE_CHECKING:
    import pandas as pd

    from deepnb.values.image import PromptImage
    from deepnb.views.view import View
    from deepnb.wings.compare.view import ComparisonView

MOST = 4
"""Combinations in one comparison."""


@dataclass(frozen=True)
class Choice:
    """A value of an option with the words it is shown by."""

    value: Any
    words: str


@dataclass(frozen=True)
class Comparison:
    """What came of a prompt with each combination of options; its forks are gone but for those that were kept."""

    prompt: str
    thread: str
    """The thread that was forked."""
    columns: tuple[Column, ...]

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return short_repr(self, f"of {excerpt(self.prompt)!r} in {self.thread}: {names}")

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before all columns had run."""
        return any(column.state == "interrupted" for column in self.columns)

    @property
    def stopped(self) -> Comparison:
        """Give the comparison where nothing goes on: what has not ended is not run."""
        open_ = ("running", "waiting")
        columns = [replace(c, state="not run") if c.state in open_ else c for c in self.columns]
        first = next((n for n, c in enumerate(self.columns) if c.state in open_), None)
        if first is not None:
            columns[first] = replace(columns[first], state="interrupted", problem="interrupted before it ended")
        return replace(self, columns=tuple(columns))

    @property
    def view(self) -> ComparisonView:
        """As it is shown."""
        from deepnb.wings.compare.view import comparison_view

        return comparison_view(self.columns, self.thread)

    def text(self) -> str:
        """The columns for a terminal, differences marked."""
        return self.view.text()

    def html(self) -> str:
        """The columns side by side for a page, differences marked."""
        return self.view.html()

    def df(self) -> pd.DataFrame:
        """One row per column: its options, how it ended, the answer, and the figures."""
        import pandas as pd

        rows = [
            {
                **column.options,
                "state": column.state,
                "answer": column.answer,
                "tool_calls": [call.name for call, _ in column.tool_calls],
                "stale": list(column.stale),
                **{part: column.budget.parts.get(part, 0) if column.budget else None for part in PARTS},
                "context": column.budget.total if column.budget else None,
                "input": column.usage.input,
                "output": column.usage.output,
                "exact": column.usage.exact,
                "cached": column.cached,
                "cacheable": column.cacheable,
                "calls": len(column.calls),
                "changed": [diff.path for diff in column.changed],
                "cost": column.usage.cost,
                "seconds": round(column.turn.seconds, 3) if column.turn else None,
                "problem": column.problem,
                "thread": column.thread,
            }
            for column in self.columns
        ]
        kinds = {
            **dict.fromkeys((*PARTS, "context"), "Int64"),
            **dict.fromkeys(("cached", "cacheable", "cost"), "Float64"),
        }
        return pd.DataFrame(rows).astype(kinds)


def comparison_value(comparison: Comparison) -> View:
    """Return a comparison as a value shows it: whole answers if there is room."""
    from deepnb.views.values import brief

    shorter = [lambda: replace(comparison.view, brief=True)]
    return brief(comparison.view, shorter, "whole answers: .df(), or .columns")


def comparisons(
    work: Workspace,
    prompt: str,
    choices: Mapping[str, Sequence[Any]],
    *,
    base: Mapping[str, Any] | None = None,
    thread: str | None = None,
    images: Sequence[PromptImage] = (),
    keep: bool = False,
) -> Iterator[Comparison]:
    """The comparison as it is so far, each time a column begins or has ended. `base` are options of all columns."""
    name = thread or work.current.thread.name
    for columns in compare(work, prompt, _variants(work, choices, base or {}), thread=thread, images=images, keep=keep):
        yield Comparison(prompt, name, columns)


def _variants(work: Workspace, choices: Mapping[str, Sequence[Any]], base: Mapping[str, Any]) -> list[Variant]:
    """Every combination of the values of the options, in their order."""
    named: list[list[tuple[str, Choice]]] = []
    for option, values in choices.items():
        if isinstance(values, str | bytes) or not isinstance(values, Sequence) or len(values) < 2:
            raise InvalidError(f"{option} needs at least two values to compare", f"give two to {MOST}")
        found = [_choice(work, option, value) for value in values]
        named.append([(option, one) for one in _told_apart(option, found)])
    if not named:
        raise InvalidError("nothing to compare", "give an option two values, such as memory_refresh")
    combinations = list(product(*named))
    if len(combinations) > MOST:
        raise LimitError(f"{len(combinations)} combinations to compare, {MOST} at most", "compare fewer values")
    return [
        Variant({o: one.words for o, one in some}, {**base, **{o: one.value for o, one in some}})
        for some in combinations
    ]


def _told_apart(option: str, choices: Sequence[Choice]) -> list[Choice]:
    """The choices, those with the same words numbered."""
    found: list[Choice] = []
    for one in choices:
        alike = [other for other in found if other.words.partition(" #")[0] == one.words]
        if any(other.value is one.value or other.value == one.value for other in alike):
            raise InvalidError(f"{option} has the same value twice", "name each value once")
        found.append(replace(one, words=f"{one.words} #{len(alike) + 1}") if alike else one)
    return found


def _choice(work: Workspace, option: str, value: Any) -> Choice:
    if isinstance(value, Choice):
        return value
    if option == "model" and isinstance(value, Path):
        from deepnb.session.disk import named_tape

        return Choice(named_tape(work, value), f"tape {value.name}")
    return Choice(value, _words(option, value))


def _words(option: str, value: Any) -> str:
    """A value as it is shown."""
    if option in ("trigger", "keep") and isinstance(value, tuple | list) and len(value) == 2:
        return f"{value[1]}" if value[0] == "fraction" else f"{value[1]:,} {value[0]}"
    if isinstance(value, bool) or value is None:
        return {True: "on", False: "off", None: "none"}[value]
    if isinstance(value, str | int | float):
        return excerpt(f"{value:,}" if isinstance(value, int) else str(value), 40)
    if isinstance(value, tuple | list):
        return " + ".join(_words("", one) for one in value) or "none"
    if option == "model":
        from deepnb.models.resolve import label_of

        return label_of(value)
    return excerpt(repr(value), 40)
