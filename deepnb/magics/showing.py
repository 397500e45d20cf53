"""What the subcommands of the three magics have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.magics.scene import Scene
from deepnb.views.notice import notice_view
from deepnb.views.view import View
from deepnb.widgets.panels import Folded

Args = Mapping[str, Any]
Shown = View | object | None
"""A view is shown; anything else is the magic's value; None is nothing."""


def said(line: str) -> View:
    """One line that says what was done."""
    return notice_view(line, "ok")


def live(scene: Scene, panel: Any, twin: Callable[[], View], text: str) -> None:
    """A panel and its static twin, following the session."""
    pictured = (lambda: Folded("as a static picture", twin())) if panel is not None else twin
    scene.live.show(scene.screen, panel, pictured, text, scene.cell())
