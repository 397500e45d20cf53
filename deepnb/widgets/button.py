"""A button that is seen as one in forced colours, too: there its ground is gone and an unseen border shows."""

from __future__ import annotations

from typing import Any


def button(word: str, tooltip: str = "", style: str = "", width: str | None = "auto") -> Any:
    """A button; `style` is one of ipywidgets' (`primary`, `success`, `danger`), a width of None is its usual one."""
    import ipywidgets as w

    layout = w.Layout(width=width, border="1px solid transparent")
    return w.Button(description=word, tooltip=tooltip, button_style=style, layout=layout)
