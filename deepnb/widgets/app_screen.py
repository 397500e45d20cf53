"""Where things are shown in an app of Voila: there an output stays as it was made, so each is a widget that changes."""

import os
from typing import Any

from deepnb.views.view import View
from deepnb.widgets.screen import Output, widget_data


def in_voila() -> bool:
    """Whether Voila runs this kernel: it says so as CGI does (RFC 3875, SERVER_SOFTWARE)."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


class AppScreen:
    """Outputs that are boxes with one widget in them: the HTML of a view, or what takes its place."""

    notebook = True

    def show(self, view: View) -> Output:
        import ipywidgets as w

        return _shown(w.HTML(view.html()), view.text())

    def widget(self, widget: Any, text: str) -> Output:
        return _shown(widget, text)


class _Box:
    """An output."""

    def __init__(self, box: Any) -> None:
        self._box = box

    def update(self, view: View) -> None:
        import ipywidgets as w

        html, (there,) = view.html(), self._box.children
        if not isinstance(there, w.HTML):
            self._box.children = (w.HTML(html),)
        elif there.value != html:
            there.value = html

    def become(self, widget: Any, text: str) -> None:
        self._box.children = (widget,)


def _shown(widget: Any, text: str) -> _Box:
    import ipywidgets as w
    from IPython.display import publish_display_data

    box = w.VBox([widget])
    publish_display_data({**widget_data(box), "text/plain": text})
    return _Box(box)
