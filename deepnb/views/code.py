"""Code that somebody reads before it runs: every line of it, numbered, with what can't be seen made visible."""

from deepnb.core.code import CodeReview
from deepnb.views import html as h
from deepnb.views.numbers import counted

POWER = "approved code can do all that you can: read and change your variables, files and accounts"
"""What a card says of code."""
UNREAD = "later code then runs without being shown to you first"
"""What is said of allowing a tool that runs code."""

_MARK = "background:rgba(248,81,73,0.35);border-radius:3px;padding:0 2px"


def code_html(review: CodeReview) -> h.Html:
    """A block that neither folds nor scrolls; long lines wrap."""
    digits = len(str(len(review.lines)))
    rows: list[h.Child] = []
    for number, pieces in enumerate(review.lines, 1):
        rows.append(h.muted(f"{number:>{digits}}  "))
        rows += [h.el("span", text, style=_MARK) if odd else text for text, odd in pieces]
        rows.append("\n")
    return h.join(h.label(counted(len(review.lines), "line")), h.pre(*rows[:-1]), *_warnings_html(review))


def code_text(review: CodeReview) -> list[str]:
    """The code for a terminal, with what it reaches for below it."""
    digits = len(str(len(review.lines)))
    lines = [f"  {n:>{digits}} │ {''.join(text for text, _ in pieces)}" for n, pieces in enumerate(review.lines, 1)]
    return [*lines, *(f"  note: {warning}" for warning in review.warnings)]


def _warnings_html(review: CodeReview) -> list[h.Html]:
    return [h.el("div", h.swatch(what, "rgba(210,153,34,0.25)")) for what in review.warnings]
