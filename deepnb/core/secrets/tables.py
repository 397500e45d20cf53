"""A column of a table whose head is a telling name: in Markdown, and in comma-, semicolon- or tab-separated text."""

from collections.abc import Iterator
from typing import NamedTuple

from deepnb.core.regex import regex
from deepnb.core.secrets.names import Name
from deepnb.core.secrets.shapes import strong_password_like
from deepnb.core.secrets.values import Value

_ROWS, _WIDTH = 200, 2000
_HEAD_END = regex(r"[*_`\"' ]{0,6}(?:[|,;\t\r\n]|\Z)")
_HEAD = regex(r"(?:[\w ]{1,40}:[ ])?[*_`\"' ]{0,6}[^\W\d](?:[^\W\d]|[ .:-]){0,40}[*_`\"' ]{0,6}\r?")
_RULE = regex(r"[ \t>]{0,20}\|?[ \t]{0,20}:?-{1,200}:?[ \t|:-]{0,2000}")
_QUOTES = "*_`\"' \t\r"


class Column(NamedTuple):
    """Its credentials, and where the table's rows begin and end."""

    cells: tuple[Value, ...]
    start: int
    end: int


def column(text: str, name: Name) -> Column | None:
    """The column that a name heads; None where the name is no head."""
    if _HEAD_END().match(text, name.stop) is None:
        return None
    start = text.rfind("\n", max(0, name.start - _WIDTH), name.start) + 1
    end = text.find("\n", name.stop, name.stop + _WIDTH)
    if end < 0 or (start == 0 and name.start > _WIDTH):
        return None
    head = text[start:end]
    rows = _rows(text, end + 1)
    first = next(rows, None)
    if first is None:
        return None
    ruled = "|" in head and _RULE().fullmatch(text, *first) is not None
    sign = "|" if ruled else next((c for c in "\t;," if c in head), "")
    count = head.count(sign) if sign else 0
    if not count or (not ruled and not _is_head(text, start, head, sign)):
        return None
    at = head.count(sign, 0, name.start - start)
    stop, cells = first[1], []
    for row in rows if ruled else (first, *rows):
        if text.count(sign, *row) != count:
            break
        stop = row[1]
        cell = _cell(text, row, sign, at)
        if strong_password_like(cell.text):
            cells.append(cell)
    return Column(tuple(cells), end, stop)


def _is_head(text: str, start: int, head: str, sign: str) -> bool:
    """Whether a line is words alone, and the first of its table."""
    above = text.rfind("\n", max(0, start - 1 - _WIDTH), max(0, start - 1)) + 1
    cells = text[above : max(above, start - 1)].split(sign)
    follows = len(cells) == head.count(sign) + 1 and all(len(cell.split()) <= 3 for cell in cells)
    return not follows and all(_HEAD().fullmatch(cell) for cell in head.split(sign))


def _rows(text: str, at: int) -> Iterator[tuple[int, int]]:
    for _ in range(_ROWS):
        if at >= len(text):
            return
        end = text.find("\n", at, at + _WIDTH)
        if end < 0 and len(text) - at > _WIDTH:
            return
        end = end if end >= 0 else len(text)
        yield at, end
        at = end + 1


def _cell(text: str, row: tuple[int, int], sign: str, at: int) -> Value:
    start = row[0]
    for _ in range(at):
        start = text.index(sign, start) + 1
    end = text.find(sign, start, row[1])
    raw = text[start : end if end >= 0 else row[1]]
    value = raw.strip(_QUOTES)
    start += len(raw) - len(raw.lstrip(_QUOTES))
    return Value(start, start + len(value), value, False)
