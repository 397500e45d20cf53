"""deepnb: see a deep agent's memory, skills and context in the notebook where you work.

In a notebook: `%load_ext deepnb`, then `%agent`, `%memory`, `%skills`. In Python: `deepnb.Session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepnb.core.errors import DeepnbError as DeepnbError
    from deepnb.core.subagents import Subagent as Subagent
    from deepnb.session.session import Session as Session
    from deepnb.workshop.approvals import reads as reads

__all__ = [
    "DeepnbError",
    "Session",
    "Subagent",
    "current",
    "load_ipython_extension",
    "reads",
    "unload_ipython_extension",
]
__version__ = "0.1.0"

_WHERE = {
    "DeepnbError": "deepnb.core.errors",
    "Session": "deepnb.session.session",
    "Subagent": "deepnb.core.subagents",
    "reads": "deepnb.workshop.approvals",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'deepnb' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_WHERE[name]), name)


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
    from deepnb.core.errors import DeepnbError

    shell = _shell()
    extension = getattr(shell, "_deepnb", None)
    if extension is None:
        raise DeepnbError("deepnb is not loaded in this shell", "%load_ext deepnb")
    session: Session = extension.session
    return session


def _shell() -> Any:
    import sys

    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()
