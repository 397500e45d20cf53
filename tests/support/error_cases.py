"""Cells that fail, in three sets: KINDS, which the teaching model's rules were written on, OTHERS, written before them,
and LATER, written when the rules were done, of errors that most of them do not know.

A case of `tests/data/errors` is cells with `--` between them, and what a good teacher says: `?line` is the line that
fails, if it is not the last one; `?names` a variable on it; `?fixed` a piece of the corrected code, if it can be told.
"""

import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from tests.data import sections


@dataclass(frozen=True)
class ErrorCase:
    name: str
    cells: tuple[str, ...]
    line: str
    variable: str
    fixed: str = ""


def _cases(file: str) -> Iterator[ErrorCase]:
    for name, lines in sections(f"errors/{file}").items():
        said = dict(line[1:].split(" ", 1) for line in lines if line[:1] == "?")
        code = [line for line in lines if line[:1] != "?"]
        cells = tuple("\n".join(code).split("\n--\n"))
        yield ErrorCase(name, cells, said.get("line", code[-1].strip()), said.get("names", ""), said.get("fixed", ""))


KINDS = tuple(_cases("kinds"))
"""One for each kind of error that the rules know; the teaching model names line and variable in all of them."""
OTHERS = tuple(_cases("others"))  # written before the rules, by what people do wrong: what the rules are measured on
LATER = tuple(_cases("later"))  # written after the rules: how they do on errors that they were not made for


def failure(case: ErrorCase) -> tuple[BaseException, dict[str, str]]:
    return fails(*case.cells), {cell_label(cell_file(n)): text for n, text in enumerate(case.cells, 1)}


def fails(*cells: str, **names: object) -> BaseException:
    """The error that ends one of these cells, run one after the other with these names."""
    scope: dict[str, object] = {"__name__": "__main__", **names}
    for number, code in enumerate(cells, 1):
        file = cell_file(number)
        linecache.cache[file] = (len(code), None, [f"{line}\n" for line in code.split("\n")], file)
        try:
            exec(compile(code, file, "exec"), scope)
        except BaseException as error:
            return error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)
    raise AssertionError(f"they do not fail: {cells}")


def cell_file(number: int) -> str:
    return f"<ipython-input-{number}-case>"


def cell_label(file: str) -> str:
    return f"In[{file.split('-')[2]}]" if file.startswith("<ipython-input") else ""
