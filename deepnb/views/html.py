"""HTML from values: the one place where text is escaped, and the few styles everything shares.

JupyterLab's sanitizer for notebooks that were not run here keeps inline styles with plain values
and drops style elements, ids, roles, var(...) and what it does not know (overflow-wrap, but not its
old name word-wrap; color:inherit); GitHub drops every style. So structure carries
the meaning, and colours are half-transparent hues that suit light and dark pages.
"""

import re
from html import escape

from deepnb.views.text import clean

LINE = "rgba(128,128,128,0.3)"
MUTED = "opacity:0.7"  # no one grey has a contrast of 4.5 on a white page and on a black one
MONO = "font-family:monospace;font-size:12px"
SOFT = "background:rgba(128,128,128,0.08)"
GREEN, RED, ORANGE, GREY = (f"rgba({rgb},{{}})" for rgb in ("46,160,67", "248,81,73", "210,153,34", "128,128,128"))

_BOX = "font-size:13px;line-height:1.5;max-width:62em;margin:"
_FRAME = f"border:1px solid {LINE};border-radius:6px;margin:6px 0;padding:4px 10px"
PRE = f"{MONO};line-height:1.45;{SOFT};border-radius:6px;margin:6px 0;padding:8px 10px;white-space:pre-wrap;word-wrap:break-word"
_VOID = frozenset({"br", "hr", "img"})
_DELIMITER = re.compile(r"\$|\\(?=[\\(\[$]|begin\s*\{|(?:eq)?ref\s*\{)")  # $ | \( or \[ | \begin{ | \eqref{
"""Where the page's MathJax would find a formula, or an escape that it would take away."""


class Html(str):
    """Markup that is safe as it stands: made here, or sanitised."""

    __slots__ = ()


Child = str | None
"""What an element may hold: Html as it is, any other string escaped, None nothing."""


def esc(text: str) -> Html:
    """Return `text` as markup that shows it, odd characters made visible, and nothing in it a formula.

    MathJax looks for both ends of a formula in a text that no element interrupts.
    """
    return text if isinstance(text, Html) else Html(_DELIMITER.sub(r"<span>\g<0></span>", literal(text)))


def literal(text: str) -> Html:
    """Return `text` as `esc` shows it, but formulas stay formulas: for these, and for code, where MathJax finds none."""
    return Html(escape(clean(text), quote=True))


def join(*children: Child) -> Html:
    return Html("".join(esc(child) for child in children if child is not None))


def el(tag: str, *children: Child, **attributes: str | bool | None) -> Html:
    """Return one element; an attribute that is None, False or empty is left out, True is a bare name."""
    written = "".join(
        f" {name}" if value is True else f' {name}="{escape(clean(str(value)), quote=True)}"'
        for name, value in attributes.items()
        if value not in (None, False, "")
    )
    if tag in _VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{join(*children)}</{tag}>")


def box(*children: Child, above: bool = True, below: bool = True, wide: bool = False) -> Html:
    """Return the <div> that every view is, with room above and below it; a `wide` one takes all of the page."""
    look = _BOX.replace("62em", "none") if wide else _BOX
    return el("div", *children, style=f"{look}{'2px' if above else '0'} 0 {'8px' if below else '0'} 0")


def frame(*children: Child) -> Html:
    return el("div", *children, style=_FRAME)


def heading(title: str, *facts: Child, stamp: str = "") -> Html:
    """Return the small heading of a record: its title, facts beside it, its stamp."""
    parts: list[Child] = [el("b", title)]
    for fact in facts:
        parts += [" · ", fact]
    if stamp:
        parts += [" ", el("small", "(", stamp, ")", style=MUTED)]
    return el("div", *parts, style="margin:0 0 4px 0")


def muted(*children: Child) -> Html:
    """Return something said in passing."""
    return el("span", *children, style=MUTED)


def small(*children: Child) -> Html:
    """Return a line in small grey letters."""
    return el("div", *children, style=f"{MUTED};font-size:12px")


def code(text: str) -> Html:
    return el("code", text, style=f"{MONO};background:transparent;padding:0")


def pre(*children: Child, low: bool = False) -> Html:
    """Return a block of plain text, line by line as it is; a `low` one scrolls when it is long."""
    return el("pre", *children, style=f"{PRE};max-height:26em;overflow-y:auto" if low else PRE)


def label(text: str) -> Html:
    """Return a word above what it names."""
    return el("div", text, style=f"{MUTED};font-size:12px;margin:6px 0 0 0")


def fold(summary: Child, *children: Child, opened: bool = False, framed: bool = True) -> Html:
    """Return a fold that needs no script: the summary line, and what it opens to."""
    line = el("summary", summary, style="display:list-item;cursor:pointer")
    return el("details", line, *children, open=opened, style=_FRAME if framed else "margin:4px 0")


def swatch(text: str, colour: str) -> Html:
    """Return a word on a soft coloured ground; the word says all, the colour only helps."""
    return el("span", text, style=f"background:{colour};border-radius:4px;padding:0 5px;white-space:nowrap")
