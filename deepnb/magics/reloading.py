"""Loading again, which changes nothing and says nothing, and what of a session is gone when its extension is.

A second `%load_ext deepnb` does not reach deepnb: IPython's extension manager answers "already loaded", and the magic
then prints how to reload, which is how a session gets lost. So the manager of this shell gives no such answer for us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepnb.views.text import counted

if TYPE_CHECKING:
    from deepnb.session.session import Session


def install(ip: Any) -> None:
    """Have a shell's extension manager keep quiet where deepnb is loaded already."""
    uninstall(ip)
    manager = ip.extension_manager
    load = manager.load_extension

    def load_extension(name: str) -> str | None:
        answer: str | None = load(name)
        return None if name == "deepnb" and answer == "already loaded" else answer

    manager.load_extension = load_extension


def uninstall(ip: Any) -> None:
    """Give a shell IPython's own method back, which the one of `install` hides."""
    vars(ip.extension_manager).pop("load_extension", None)


def forgotten(session: Session) -> str:
    """Return what of a session is in this kernel only, or where it is kept, in one line; empty where it has nothing.

    Starts no engine.
    """
    if (kept := session.workspace.persistence) is not None:
        where = kept.database.where
        typed = f'"{where}"' if " " in where else where
        return f"this session is kept: %agent persist {typed} continues it"
    attached = session.options.graph
    if attached is not None and session.options.checkpointer is not None:
        return ""
    threads = [t for t in session.threads if t.turns]
    turns = sum(t.turns for t in threads)
    several = f" in {counted(len(threads), 'thread')}" if len(threads) > 1 else ""
    lost = [f"{counted(turns, 'turn')}{several}"] if turns else []
    files = _files(session)
    lost += [counted(files, "file") + " of memory, notes and skills"] if files else []
    keep = "; type %memory keep DIR before you reload to keep memory" if files else ""
    on = f" on {attached.name}" if attached else ""
    return f"deepnb forgets {' and '.join(lost)}{on}{keep}" if lost else ""


def _files(session: Session) -> int:
    """Return how many files of memory, notes and skills the kernel's state alone holds."""
    home = session.workspace.home
    shared = [p for p in session.snapshot.files if home.paths.is_shared(p) and not p.startswith("/.deepnb/")]
    if not shared or home.storage.kept:
        return 0
    return sum(not path.startswith(tuple(home.storage.mounts)) for path in shared)
