"""An answer that grows, in pieces: what is finished is cut off, so that only a short end is drawn again.

A cut goes where a reader will not see it: before a block, else before an item of a list, else inside
a block of code or a table between two lines, else in a paragraph after a sentence.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deepnb.views import html as h
from deepnb.views.data_images import ends_in_image, without_data
from deepnb.views.text import clean

if TYPE_CHECKING:
    from markdown_it.token import Token

    from deepnb.views.markdown import Border

_WIDEST, _NARROWEST = 40, 4
"""Characters of a column of a table that was cut."""

_MARKER = re.compile(r" {0,3}(?:(?P<bullet>[-*+])|(?P<digits>\d{1,9})[.)])(?P<gap> {1,4}(?! )| (?= )|$)")
_WORD = re.compile(r"\s(?=[^\W\d_])")
_SENTENCE = re.compile(r"[.!?:;…]\s(?=[^\W\d_])")
_CLOSED = ("`", "**", "*", "__", "_", "~~")
_FENCE_LINE = re.compile(r"[\s>]*(?:`{3,}|~{3,})\s*")


@dataclass(eq=False)
class Piece:
    """A stretch of an answer, drawn so that it joins the pieces before and after it."""

    markdown: str
    above: Border | None = None
    below: Border | None = None
    links: MutableMapping[str, Any] = field(default_factory=dict)
    """The link definitions of the whole answer, as far as they are known."""

    def text(self) -> str:
        return clean(without_data(self.markdown)).strip("\n")

    def html(self) -> str:
        from deepnb.views.markdown import markdown_html

        markup = markdown_html(self.markdown, self.above, self.below, self.links)
        return h.box(markup, above=self.above is None, below=self.below is None)

    def joined(self, after: Piece) -> Piece:
        return Piece(self.markdown + after.markdown, self.above, after.below, self.links)


class GrowingMarkdown:
    """An answer as it comes: `end` is the piece that still grows."""

    def __init__(self) -> None:
        self.end = Piece("")
        self._carriage_return = ""

    @property
    def inside(self) -> bool:
        return self.end.above is not None and bool(self.end.above.open)

    def add(self, text: str) -> None:
        """Let the end grow; half of a line end waits for its other half."""
        text = self._carriage_return + text
        self._carriage_return = "\r" if text.endswith("\r") else ""
        self.end.markdown += clean(text.removesuffix(self._carriage_return) if self._carriage_return else text)

    def cut(self, inside: bool = True) -> bool:
        """Cut off what is finished of the end, if there is a place; without `inside` only between blocks that are in no other."""
        end = self.end
        found = find_cut(end.markdown, end.above, end.links)
        if found is None or (found[1].open and not inside):
            return False
        at, border = found
        self.end = Piece(end.markdown[at:], border, None, end.links)
        end.markdown, end.below = end.markdown[:at], border
        return True


@dataclass(frozen=True)
class _Level:
    open: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    markers: str = ""
    """The list markers that open again all items we are in."""
    quoted: bool = False

    def into(self, kind: str, number: int = 0, markers: str = "") -> _Level:
        quoted = self.quoted or kind == "blockquote_open"
        return _Level((*self.open, kind), (*self.numbers, number), self.markers + markers, quoted)

    def border(self, source: str, widths: tuple[int, ...] = ()) -> Border:
        from deepnb.views.markdown import Border

        return Border(source, self.open, self.numbers, widths)


def find_cut(text: str, above: Border | None, links: MutableMapping[str, Any]) -> tuple[int, Border] | None:
    """Return where `text` can be cut, and the border there: at the outermost place that leaves a short end, if there is one."""
    from deepnb.views.markdown import blocks

    opened = above.source if above else ""
    places = [
        (at - len(opened), border)
        for at, border in _places(_Text(opened + text, blocks(opened + text, links), above))
        if at > len(opened) and text[at - len(opened) :].strip()
    ]
    if not places:
        return None
    if above and above.open and not places[0][1].open:  # the block has ended: it can be whole again
        return places[0]
    short = (place for place in places if len(text) - place[0] <= len(text) // 2)
    return next(short, places[-1])


class _Text:
    def __init__(self, source: str, tokens: list[Token], above: Border | None) -> None:
        self.source, self.tokens, self.above = source, tokens, above
        self._begins = [0, *(found.end() for found in re.finditer("\n", source)), len(source)]

    def begin(self, line: int) -> int:
        return self._begins[min(line, len(self._begins) - 1)]

    def line(self, line: int) -> str:
        return self.source[self.begin(line) : self.begin(line + 1)].rstrip("\n")


def _places(text: _Text) -> list[tuple[int, Border]]:
    """Return the places in `text` where its end can be cut off, outermost first."""
    from deepnb.views.markdown import last_child

    places: list[tuple[int, Border]] = []
    level, begin = _Level(), 0
    column = 0
    while True:
        depth = len(level.open)
        count, at = last_child(text.tokens, depth, begin)
        if at < 0 or (lines := text.tokens[at].map) is None:
            return places
        token, first = text.tokens[at], lines[0]
        if count > 1:
            place = text.begin(first) + (0 if level.quoted else column)
            if text.source[text.begin(first) : place].strip(" ") == "":
                places.append((place, level.border(level.markers)))
        if token.type in ("bullet_list_open", "ordered_list_open") and not level.quoted:
            level = level.into(token.type, _number(text, at, depth))
        elif token.type == "list_item_open" and not level.quoted:
            marker = _MARKER.match(text.line(first), column)
            if marker is None or "\t" in text.line(first)[: marker.end()]:
                return places
            wide = marker.end() - column + (0 if marker["gap"] else 1)
            column += wide
            bullet = marker["bullet"]
            level = level.into(token.type, 0, f"{bullet}{' ' * (wide - 1)}" if bullet else f"{'1' * (wide - 2)}. ")
        elif token.type == "blockquote_open" and not level.markers:
            level = level.into(token.type)
        else:
            return places + _inside(text, token, level, column, lines)
        begin = at + 1


def _number(text: _Text, at: int, depth: int) -> int:
    """Return the number of the last item of the list that begins at `at`: that is where a cut leaves the list."""
    token, above = text.tokens[at], text.above
    if token.type != "ordered_list_open":
        return 0
    items = sum(t.type == "list_item_open" and t.level == token.level + 1 for t in text.tokens[at:])
    goes_on = above is not None and at == depth and above.open[depth : depth + 1] == (token.type,)
    start = above.numbers[depth] if above and goes_on else int(str(token.attrs.get("start", 1)))
    return start + items - 1


def _inside(text: _Text, token: Token, level: _Level, column: int, lines: list[int]) -> list[tuple[int, Border]]:
    first, end = lines
    quote = "> " if level.quoted else ""
    inner = level.into(token.type)
    head = text.line(first)[0 if level.quoted else column :]
    if token.type == "fence":
        at = _last_line(text, first + 1, end)
        return [(at, inner.border(f"{level.markers}{head}\n"))] if at else []
    if token.type == "code_block":
        at = _last_line(text, first, end)
        return [(at, inner.border(""))] if at and not level.markers else []
    if token.type == "table_open":
        at = _last_line(text, first + 2, end)
        rule = text.line(first + 1)
        above = text.above  # the columns are as wide as those of the pieces above, or as the rows so far ask
        widths = above.widths if above and first == 0 else ()
        if not widths:
            written = [text.line(n).strip().strip("|") for n in range(first, end) if n != first + 1]
            cells = [re.split(r"(?<!\\)\|", row) for row in written]
            longest = (max(len(row[i].strip()) for row in cells if i < len(row)) for i in range(len(cells[0])))
            widths = tuple(min(max(wide, _NARROWEST), _WIDEST) for wide in longest)
        return [(at, inner.border(f"{level.markers}{head}\n{rule}\n", widths))] if at else []
    if token.type == "paragraph_open":
        begin = text.begin(first) + (column if not level.quoted else 0)
        at = _in_paragraph(text.source, begin)
        return [(at, inner.border(quote + level.markers))] if at else []
    return []


def _last_line(text: _Text, first: int, end: int) -> int:
    """Return where the last line of a block begins that has something in it; 0 where it is the first."""
    last = end - 1
    while last > first and (not text.line(last).strip() or _FENCE_LINE.fullmatch(text.line(last))):
        last -= 1
    return text.begin(last) if last > first else 0


def _in_paragraph(source: str, begin: int) -> int:
    """Return where the last paragraph is cut: after a sentence, else before a word, else anywhere; or 0."""
    if ends_in_image(source):
        return 0
    latest = len(source) - 1
    before_last = source.rfind("\n", 0, max(source.rstrip().rfind("\n"), 0)) + 1
    if "|" in source[max(before_last, begin) :]:  # these lines may yet turn out to be the head of a table
        latest = max(before_last, begin) - 1
    sentences = [f.end() for f in _SENTENCE.finditer(source, begin)]
    words = [f.end() for f in _WORD.finditer(source, begin)]
    pairs = (("[", "]"), ("(", ")"), ("<", ">"))
    for at in (*reversed(sentences), *reversed(words)):
        text = source[begin:at]
        is_closed = all(text.count(a) <= text.count(b) for a, b in pairs)
        if at <= latest and is_closed and all(text.count(sign) % 2 == 0 for sign in _CLOSED):
            return at
    if words:
        return words[-1] if words[-1] <= latest else 0
    return latest - 1 if source[latest - 1 : latest + 1].isalpha() and latest - 1 > begin else 0
