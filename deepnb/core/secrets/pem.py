"""Private keys in PEM armour, whole or cut short, also indented, quoted, in a diff or in a JSON string."""

from collections.abc import Iterator

from deepnb.core.regex import regex
from deepnb.core.secrets.span import Span

_MARK = regex(r"-----(BEGIN|END) ([A-Z0-9 ]{0,30})PRIVATE KEY(?: BLOCK)?-----")
_BODY = regex(r"[A-Za-z0-9+/]{32}")
_ROW = regex(
    r"(?:\\r|\\n|\r|\n|[ ])[ \t>+|\"',#*/-]{0,12}"
    r"(?:[A-Za-z0-9+/=]{16,2048}|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]{0,100}|)(?=\\|\s|[\"',]|\Z)"
)
_LONGEST = 65536


def private_keys(text: str) -> Iterator[Span]:
    """From each BEGIN to its END, or to the last row of base64 where the END is missing."""
    marks = list(_MARK().finditer(text))
    for at, mark in enumerate(marks):
        if mark[1] != "BEGIN":
            continue
        after = marks[at + 1] if at + 1 < len(marks) else None
        limit = after.start() if after else len(text)
        if after and after[1] == "END" and limit - mark.end() <= _LONGEST:
            stop = after.end()
        else:
            stop = _rows(text, mark.end(), min(limit, mark.end() + _LONGEST))
        if _BODY().search(text, mark.end(), min(stop, limit)):
            kind = f"private key ({mark[2].strip()})" if mark[2].strip() else "private key"
            yield Span(mark.start(), stop, kind, "a private key in PEM armour")


def _rows(text: str, at: int, limit: int) -> int:
    stop = at
    while stop < limit:
        row = _ROW().match(text, stop, limit)
        if row is None:
            break
        stop = row.end()
    return stop
