"""Private keys in PEM armour, whole or cut short, also indented, quoted, numbered, in a diff or in a JSON string."""

from collections.abc import Iterator

from deepnb.gate.regex import regex
from deepnb.gate.span import Span

_MARK = regex(r"-----(BEGIN|END) ([A-Z0-9 ]{0,30})PRIVATE KEY(?: BLOCK)?-----")
_BODY = regex(r"[A-Za-z0-9+/]{32}")
_PIECE = regex(
    r"([A-Za-z0-9+/=]{16,2048})"  # MIIEpAIBAAKCAQEA7bq1
    r"|\\[rnt]"  # a line feed in a string of JSON or Python
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[\w ,.()/:@+-]{0,100}"  # DEK-Info: AES-128-CBC,0A1B
    r"|[\r\n][ \t]{0,12}\d{1,6}[\t:|]"  # a line's number: 12 and a tab
    r"""|[\s"'`,+>|#*/()\\-]"""  # what quotes, indents or joins lines
)
_LAST = regex(r"""[A-Za-z0-9+/=]{1,15}(?:\\[rnt]|[\s"'`,+>|#*/()\\-]){0,64}""")  # the short row at the end: Zm9vYg==
_LONGEST = 65536


def private_keys(text: str) -> Iterator[Span]:
    """From each BEGIN to its END where rows of base64 are all there is between them.

    Of anything else, as of a key that is cut short, the rows alone: what is no part of a key stays to be read.
    """
    marks = list(_MARK().finditer(text))
    for at, mark in enumerate(marks):
        if mark[1] != "BEGIN":
            continue
        after = marks[at + 1] if at + 1 < len(marks) else None
        end = after if after and after[1] == "END" else None
        limit = min(after.start() if after else len(text), mark.end() + _LONGEST)
        kind = f"private key ({mark[2].strip()})" if mark[2].strip() else "private key"
        why = "a private key in PEM armour"
        read, stop = _rows(text, mark.end(), limit)
        if end and limit == end.start() and (read == limit or _LAST().fullmatch(text, read, limit)):
            read = limit
            stop = end.end()
        if _BODY().search(text, mark.end(), min(stop, limit)):
            yield Span(mark.start(), stop, kind, why)
        if end:
            yield from (Span(*row.span(), kind, why) for row in _ROW().finditer(text, read, limit))


_ROW = regex(r"[A-Za-z0-9+/]{32,2048}={0,2}")


def _rows(text: str, at: int, limit: int) -> tuple[int, int]:
    """(where the rows and what stands between them end, the end of the last row)."""
    stop = at
    while at < limit and (piece := _PIECE().match(text, at, limit)):
        at = piece.end()
        stop = at if piece[1] else stop
    return at, stop
