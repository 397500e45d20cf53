"""What a page tells the kernel: a click, and what it shows in the field beside the button."""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any


def stay() -> bool:
    """Have what the page sends next to the widgets that this message makes or changes come to this thread; whether a
    page sent the message at all.

    A page names a subshell in its messages, and ipykernel leads the answer to what a widget sent to the subshell of
    the message at that time: a button made in a click would be heard in a thread where no code of a cell can run.
    """
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)  # type: ignore[no-untyped-call, unused-ignore]
    header = kernel.get_parent().get("header", {}) if kernel is not None else {}
    if threading.current_thread() is threading.main_thread():
        header.pop("subshell_id", None)
    return bool(header.get("msg_type") == "comm_msg")


def hear_apart(widget: Any) -> None:
    """Have what a page says of a widget come to the thread that the page names, also while a cell is running.

    ipykernel keeps with the comm which subshell is led an answer, and goes by the page where it keeps none. To be
    called again after each change of the widget.
    """
    if widget.comm is not None:
        vars(widget.comm).pop("_reply_subshell_id", None)


def is_heard_apart() -> bool:
    """Whether a page has asked this kernel for such a thread: JupyterLab does as it shows its first widget."""
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)  # type: ignore[no-untyped-call, unused-ignore]
    manager = getattr(getattr(kernel, "shell_channel_thread", None), "manager", None)
    return bool(getattr(manager, "list_subshell", list)())


def shown(field: Any, then: Callable[[Any], object], trait: str = "value") -> None:
    """Call `then` with what the page shows in `field`; in a message of a page, as soon as the page has told.

    A page holds a field's newest value back while the kernel has not answered for an older one (`throttle` of
    ipywidgets), but it sends a click at once. A widget that is new to the page has nothing held back: a link in the
    page gives it the value.
    """
    if not stay():
        then(getattr(field, trait))
        return
    from ipywidgets import jsdlink

    told = _told()()

    def arrived(change: Any) -> None:
        stay()
        link.close()
        told.close()
        setattr(field, trait, change["new"])
        then(change["new"])

    told.observe(arrived, names="value")
    link = jsdlink((field, trait), (told, "value"))


@cache
def _told() -> Any:
    import traitlets
    from ipywidgets import Widget

    class Told(Widget):  # type: ignore[misc, unused-ignore]
        """A value and nothing that can be seen."""

        value = traitlets.Any().tag(sync=True)

    return Told
