"""deepnb: see a deep agent's memory, skills and context in the notebook where you work.

In a notebook: `%load_ext deepnb`, then `%agent`, `%memory`, `%skills`. In Python: `deepnb.Session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepnb.values import wings as _wings

if TYPE_CHECKING:
    from deepnb.session.session import Session as Session
    from deepnb.values.agent import Subagent as Subagent
    from deepnb.values.approvals import Decision as Decision
    from deepnb.values.approvals import PendingCall as PendingCall
    from deepnb.values.budget import Budget as Budget
    from deepnb.values.errors import BusyError as BusyError
    from deepnb.values.errors import DeepnbError as DeepnbError
    from deepnb.values.errors import InvalidError as InvalidError
    from deepnb.values.errors import LimitError as LimitError
    from deepnb.values.errors import NotFoundError as NotFoundError
    from deepnb.values.errors import NotInstalledError as NotInstalledError
    from deepnb.values.errors import RefusedError as RefusedError
    from deepnb.values.errors import RunError as RunError
    from deepnb.values.turn import Asked as Asked
    from deepnb.values.turn import CodeOutput as CodeOutput
    from deepnb.values.turn import Compacted as Compacted
    from deepnb.values.turn import Decided as Decided
    from deepnb.values.turn import Event as Event
    from deepnb.values.turn import Flushed as Flushed
    from deepnb.values.turn import ModelEnded as ModelEnded
    from deepnb.values.turn import ModelStarted as ModelStarted
    from deepnb.values.turn import Notice as Notice
    from deepnb.values.turn import Retry as Retry
    from deepnb.values.turn import Snapshot as Snapshot
    from deepnb.values.turn import TextDelta as TextDelta
    from deepnb.values.turn import ThinkingDelta as ThinkingDelta
    from deepnb.values.turn import ToolEnded as ToolEnded
    from deepnb.values.turn import ToolStarted as ToolStarted
    from deepnb.values.turn import Turn as Turn
    from deepnb.values.wing_types import *  # noqa: F403
    from deepnb.workshop.approvals import reads as reads

_HOMES = {
    "deepnb.values.approvals": ("Decision", "PendingCall"),
    "deepnb.values.budget": ("Budget",),
    "deepnb.values.errors": (
        *("BusyError", "DeepnbError", "InvalidError", "LimitError", "NotFoundError", "NotInstalledError"),
        *("RefusedError", "RunError"),
    ),
    "deepnb.values.agent": ("Subagent",),
    "deepnb.values.turn": (
        *("Asked", "CodeOutput", "Compacted", "Decided", "Event", "Flushed", "ModelEnded", "ModelStarted", "Notice"),
        *("Retry", "Snapshot", "TextDelta", "ThinkingDelta", "ToolEnded", "ToolStarted", "Turn"),
    ),
    "deepnb.session.session": ("Session",),
    "deepnb.workshop.approvals": ("reads",),
}
"""Module -> what it gives to the root; a module is imported when one of its names is first asked for."""

__all__ = ["current", "load_ipython_extension", "unload_ipython_extension"]
__all__ += [name for names in _HOMES.values() for name in names]
__all__ += [name for name in _wings.ROOT if _wings.home(f"deepnb.{name}") or _wings.home(f"import deepnb.{name}")]
__version__ = "0.3.0"

if not TYPE_CHECKING:  # a type checker is to see a mistyped name as a mistake

    def __getattr__(name: str) -> Any:
        import importlib

        if name == "course" and name in __all__:
            return importlib.import_module("deepnb.course")
        if name in _wings.ROOT:
            return _wings.part(f"deepnb.{name}", AttributeError)
        home = next((module for module, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module 'deepnb' has no attribute {name!r}")
        return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def load_ipython_extension(ip: Any) -> None:
    """`%load_ext deepnb`: register the magics; prints nothing."""
    from deepnb.magics.extension import Extension

    if getattr(ip, "_deepnb", None) is None:
        ip._deepnb = Extension(ip)
        ip._deepnb.load()


def unload_ipython_extension(ip: Any) -> None:
    """`%unload_ext deepnb`: take out every hook."""
    if (extension := getattr(ip, "_deepnb", None)) is not None:
        extension.unload()
        ip._deepnb = None


def current() -> Session:
    """The session of the extension that is loaded in this shell."""
    from deepnb.values.errors import NotInstalledError

    if (extension := getattr(_shell(), "_deepnb", None)) is None:
        raise NotInstalledError("deepnb is not loaded in this shell", "%load_ext deepnb")
    session: Session = extension.session
    return session


def _shell() -> Any:
    import sys

    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module else None


if (_here := _shell()) is not None:  # values show themselves in a shell that has not loaded the extension, too
    from deepnb.magics.shell import show_values as _show_values

    _show_values(_here)
