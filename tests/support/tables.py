"""A table of cases is one test that lists all its failures; cases of a wing are left out with it; a refusal is one line."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from deepnb import DeepnbError
from deepnb.values.wings import WINGS

wing = pytest.mark.wing


def are_here(marks: Iterable[pytest.Mark | pytest.MarkDecorator]) -> bool:
    return all(mark.args[0] in WINGS for mark in marks if mark.name == "wing")


def every_row(
    names: str | tuple[str, ...] | list[str],
    rows: Iterable[Any],
    ids: Iterable[Any] | Callable[[Any], Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run the test once for each row, as `pytest.mark.parametrize` would, in one test.

    Each row is tried, whatever became of those before it; the failure names all rows that failed, and why.
    `tmp_path` is a directory of the row's own, and what it changes by `monkeypatch` is taken back after it; any other
    fixture is the same for all rows. Tables stacked on one another are tried in every combination.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    here = (row for row in rows if not isinstance(row, type(pytest.param())) or are_here(row.marks))
    cases = [row.values if isinstance(row, type(pytest.param())) else row if len(keys) > 1 else (row,) for row in here]
    assert cases, "a table without rows"
    labels = None if ids is None or callable(ids) else list(ids)

    def label(at: int, values: dict[str, Any]) -> str:
        if labels is not None:
            return str(labels[at])
        if callable(ids):
            return ", ".join(str(ids(value)) for value in values.values())
        return ", ".join(f"{key}={_short(value)}" for key, value in values.items())

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def all_rows(*args: Any, **fixtures: Any) -> None:
            failed, first = [], None
            for at, case in enumerate(cases):
                values = dict(zip(keys, case, strict=True))
                try:
                    with _of_the_row(fixtures, at) as own:
                        test(*args, **own, **values)
                except Exception as error:  # AssertionError, or what the tested code raised
                    first = first or error
                    failed.append(f"[{label(at, values)}] {type(error).__name__}: {error}")
            if failed:
                count = f"{len(failed)} of {len(cases)} rows failed"
                raise AssertionError("\n\n".join([count, *failed])) from first

        left = [one for name, one in signature.parameters.items() if name not in keys]
        all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_rows

    return decorate


@contextmanager
def _of_the_row(fixtures: dict[str, Any], at: int) -> Iterator[dict[str, Any]]:
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"row{at}"
        own["tmp_path"].mkdir()
    with own["monkeypatch"].context() if "monkeypatch" in own else nullcontext() as patched:
        yield own | ({"monkeypatch": patched} if patched else {})


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def refused(line: str, act: Callable[..., Any], *given: Any, **named: Any) -> DeepnbError:
    """The error that an act ends with; `line` is a regular expression for a part of its one line, empty for any."""
    with pytest.raises(DeepnbError, match=line or None) as told:
        act(*given, **named)
    assert "\n" not in str(told.value)
    return told.value
