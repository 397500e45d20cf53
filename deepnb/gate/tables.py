"""A column of a table whose head is a telling name: in Markdown, HTML, text with commas, semicolons or tabs, and as printed."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from deepnb.gate.names import Name
from deepnb.gate.regex import regex
from deepnb.gate.shapes import plainly_made, strong_password_like, token_like
from deepnb.gate.values import Value

_ROWS, _WIDTH = 200, 2000
_HEAD_END = regex(r"[*_`\"' ]{0,6}(?:[|,;\t\r\n]|\Z)")
_HEAD = regex(r"(?:[\w ]{1,40}:[ ])?[*_`\"' ]{0,6}[^\W\d](?:[^\W\d]|[ .:-]){0,40}[*_`\"' ]{0,6}\r?")
_RULE = regex(r"[ \t>]{0,20}[|+\u2500-\u257f]?[ \t]{0,20}:?[-=\u2500-\u257f]{1,200}:?[ \t|:=+\u2500-\u257f-]{0,2000}")
_BARS = str.maketrans("\u2502\u2503\u2506\u2551", "||||")  # of polars and rich
_PRINTED_HEAD = regex(  # "   user  password"
    r"(?=[ ]|[^\n]{1,200}[ ]{2})[ ]{0,200}[^\W\d][\w.-]{0,40}(?:[ ]{1,200}[^\W\d][\w.-]{0,40}){0,30}[ ]{0,200}\r?"
)
_WORD = regex(r"\S{1,200}")
_HTML_END = regex(r"[ :]{0,2}(?:</\w{1,9}>\s{0,40}){0,3}</t[hd]>")
_HTML_ROW = regex(r"<tr\b(?:[^<]|<(?!/?tr\b)){0,4000}")
_HTML_CELL = regex(r"<t[hd]\b[^<>]{0,200}>(?:\s|\\n|<\w[^<>]{0,100}>){0,12}([^<>\n]{0,200})")
_QUOTES = "*_`\"' \t\r"


def with_bars(text: str) -> str:
    """The text with a `|` for each bar that a table is drawn with."""
    return text.translate(_BARS) if any(chr(bar) in text for bar in _BARS) else text


class Column(NamedTuple):
    """Its credentials, and where the table's rows begin and end."""

    cells: tuple[Value, ...]
    start: int
    end: int


def column(text: str, name: Name) -> Column | None:
    """The column that a name heads; None where the name is no head."""
    found = _html(text, name) or _printed(text, name) or _separated(text, name)
    if found is None:
        return None
    good = strong_password_like if name.family in ("password", "secret") else _is_token
    return found._replace(cells=tuple(cell for cell in found.cells if good(cell.text)))


def _is_token(value: str) -> bool:
    """Whether a value is no word of a text, as under `token` they often are."""
    return plainly_made(value) or (len(value) >= 16 and token_like(value))


def _html(text: str, name: Name) -> Column | None:
    start = text.rfind("<tr", max(0, name.start - _WIDTH), name.start) if _HTML_END().match(text, name.stop) else -1
    if start < 0:
        return None
    at = sum(1 for _ in _HTML_CELL().finditer(text, start, name.start)) - 1
    rows = list(islice(_HTML_ROW().finditer(text, name.stop, name.stop + _ROWS * 100), _ROWS))
    cells = [next(islice(_HTML_CELL().finditer(text, *row.span()), max(at, 0), None), None) for row in rows]
    return Column(
        tuple(Value(*m.span(1), m[1], False) for m in cells if m), name.stop, rows[-1].end() if rows else start
    )


def _printed(text: str, name: Name) -> Column | None:
    """Columns with spaces between, perhaps after one of numbers without a head."""
    start, end = text.rfind("\n", 0, name.start) + 1, text.find("\n", name.stop, name.stop + _WIDTH)
    if end < 0 or name.start - start > _WIDTH or not _PRINTED_HEAD().fullmatch(text, start, end):
        return None
    heads, cells, stop = list(_WORD().finditer(text, start, end)), [], end
    after = sum(m.start() >= name.stop for m in heads)
    for row in _rows(text, end + 1):
        words = list(_WORD().finditer(text, *row))
        if len(words) not in (len(heads), len(heads) + 1):
            break
        stop = row[1]
        cells.append(words[-1 - after])
    return Column(tuple(Value(*m.span(), m[0], False) for m in cells), end, stop) if cells else None


def _separated(text: str, name: Name) -> Column | None:
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
        cells.append(_cell(text, row, sign, at))
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
