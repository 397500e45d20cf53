"""Stopping a turn by a button while its cell runs, in a page that is heard meanwhile."""

import signal
import threading
from _thread import interrupt_main
from collections.abc import Callable
from typing import Any

from deepnb.views.running import RunningView
from deepnb.widgets.actions import button, close
from deepnb.widgets.page import hear_apart, is_heard_apart
from deepnb.widgets.screen import widget_data


class StopLine:
    """The line of a running turn with a button beside it.

    It is made before it is shown: as it is made, a page that can hear a click while a cell runs gets ready to.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        import ipywidgets as w

        self._line = w.HTML()
        self._button = stop_button("stop this turn", stop)
        flow = w.Layout(flex_flow="row wrap", align_items="center")
        self._widget = w.HBox([self._button, self._line], layout=flow)

    @property
    def can_be_heard(self) -> bool:
        """Whether a click would be heard now."""
        return is_heard_apart()

    def say(self, view: RunningView) -> None:
        """Show another line."""
        self._line.value = view.html()

    @property
    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and the line for where there are none."""
        return {**widget_data(self._widget), "text/plain": self.text()}, {}

    def text(self) -> str:
        """What is saved of it, which stays the same while the line changes."""
        return "a turn is running in this cell: interrupt the kernel to stop it"

    def html(self) -> str:
        return str(self._line.value)

    def close(self) -> None:
        """End it: ipywidgets keeps a widget for ever unless it is closed."""
        close(self._widget)


def stop_button(tooltip: str, stop: Callable[[], None]) -> Any:
    """A button that is heard while a cell runs, where the page can do that; it takes one click."""
    made = button("Stop", tooltip, "danger")

    def clicked(_: Any) -> None:
        made.disabled, made.description = True, "Stopping ..."
        stop()

    made.on_click(clicked)
    hear_apart(made)
    return made


def interrupt() -> None:
    """Interrupt the main thread, as a front end does; called in whichever thread."""
    if hasattr(signal, "pthread_kill"):  # a real signal: it wakes a thread that waits for a lock
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        interrupt_main()
