"""A conversation as one HTML file: the turns as the notebook shows them, for a browser without a notebook.

The page has no script and asks no other host for anything, which its own policy also forbids. Its colours are the
browser's, light or dark.
"""

from collections.abc import Sequence

from deepnb.core.values import Turn
from deepnb.views import html as h
from deepnb.views.turn import TurnView

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{background:Canvas;color:CanvasText;font-family:system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}"
    "main>section{margin:0 0 2em 0}"
)


def conversation_page(title: str, turns: Sequence[Turn]) -> str:
    """The HTML of the whole file."""
    head = h.el(
        "head",
        h.Html('<meta charset="utf-8">'),
        h.Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        h.Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        h.Html('<meta name="color-scheme" content="light dark">'),
        h.el("title", title),
        h.el("style", h.Html(_STYLE)),
    )
    shown = [h.el("section", h.Html(TurnView(turn).html())) for turn in turns]
    body = h.el("body", h.el("main", h.el("h1", title, style="font-size:1.4em"), *shown))
    return f"<!DOCTYPE html>\n{h.el('html', head, body, lang='en')}\n"
