"""Answers with the words marked in which they differ."""

import re
from collections.abc import Iterator, Sequence
from html import escape, unescape

from deepnb.views import html as h
from deepnb.views.data_images import without_data
from deepnb.views.markdown import markdown_html
from deepnb.views.search_marks import MARK
from deepnb.views.text import clean
from deepnb.views.word_diff import marks, pieces, words

_TAG = re.compile(r"""(<(?:[^">]|"[^"]*")*>|\$\$[^<]+?\$\$|\$[^$<]+\$|\\\([^<]+?\\\)|\\\[[^<]+?\\\])""")
"""A tag, or a formula: an element within it would break it."""
_FORMULA = re.compile(r"[$\\]")
"""What may be part of a formula that was not found."""


def marked_text(answers: Sequence[str]) -> list[str]:
    """The Markdown with »« round what differs."""
    texts = [clean(without_data(answer)) for answer in answers]
    return [
        "".join(f"»{piece.text}«" if piece.changed else piece.text for piece in pieces(text, marked))
        for text, marked in zip(texts, marks(texts), strict=True)
    ]


def marked_html(answers: Sequence[str]) -> list[h.Html]:
    """The Markdown rendered, and what differs in <mark>."""
    split = [_TAG.split(markdown_html(answer)) for answer in answers]
    texts = [[unescape(node) for node in nodes[::2]] for nodes in split]  # every other one is a tag or a formula
    marked = marks([" ".join(nodes) for nodes in texts])
    return [h.Html("".join(_marked(*one))) for one in zip(split, texts, marked, strict=True)]


def _marked(split: Sequence[str], texts: Sequence[str], marked: Sequence[bool]) -> Iterator[str]:
    """The markup with marks in the texts between its tags."""
    at = 0
    for number, text in enumerate(texts):
        count = len(words(text))
        here, at = marked[at : at + count], at + count
        if any(here) and not _FORMULA.search(text):
            for piece in pieces(text, here):
                same = h.Html(escape(piece.text, quote=False).replace("\xa0", "&nbsp;"))  # as it was written there
                yield h.el("mark", same, style=MARK) if piece.changed else same
        else:
            yield split[2 * number]
        yield from split[2 * number + 1 : 2 * number + 2]
