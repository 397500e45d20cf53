"""What IPython does otherwise where deepnb is loaded: how it shows deepnb's values, and what it says of a second load.

The values are registered by name, so that none of them is imported for it. A second `%load_ext deepnb` does not reach
deepnb: IPython's extension manager answers "already loaded", and the magic then prints how to reload, which is how a
session gets lost. So the manager of this shell gives no such answer for us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepnb.values.wings import pictures

if TYPE_CHECKING:
    from deepnb.session.session import Session

_VALUES = """
approvals.PendingCall approvals.PendingCalls budget.Budget files.FileDiff files.FileDiffs agent.ModelInfo agent.ModelInfos
xray.Stack offload.HistorySections offload.Offload turn.ThreadInfo turn.ThreadInfos turn.Turn turn.Turns xray.Xray
"""
_OF_SESSIONS = "part.Files memory.SessionMemory session.Session skills.SessionSkills subagents.SessionSubagents"
NAMES = (
    *(f"deepnb.values.{name}" for name in _VALUES.split()),
    *(f"deepnb.session.{name}" for name in _OF_SESSIONS.split()),
    *map(".".join, pictures()),
)


def show_values(ip: Any) -> None:
    """Have a shell show these values as pictures."""
    formatters = ip.display_formatter.formatters

    def html(value: object) -> str:
        return str(_picture(value).html())

    def text(value: object, printer: Any, cycle: bool) -> None:  # inside a list or a dict a value is one line
        printer.text(repr(value) if len(printer.stack) > 1 else _picture(value).text())

    for module, _, name in (full.rpartition(".") for full in NAMES):
        formatters["text/html"].for_type_by_name(module, name, html)
        formatters["text/plain"].for_type_by_name(module, name, text)


def install(ip: Any) -> None:
    """Have a shell show these values as pictures, and keep quiet where deepnb is loaded already."""
    uninstall(ip)
    show_values(ip)
    load = ip.extension_manager.load_extension

    def load_extension(name: str) -> str | None:
        answer: str | None = load(name)
        return None if name == "deepnb" and answer == "already loaded" else answer

    ip.extension_manager.load_extension = load_extension


def uninstall(ip: Any) -> None:
    """Have a shell show them by their `repr` again, and give it IPython's own method back, which `install` hides."""
    for kind in ("text/html", "text/plain"):
        for name in NAMES:
            ip.display_formatter.formatters[kind].pop(name, None)
    vars(ip.extension_manager).pop("load_extension", None)


def _picture(value: object) -> Any:
    from deepnb.magics.pictures import picture
    from deepnb.values.errors import DeepnbError
    from deepnb.views.view import notice_view

    try:
        return picture(value)
    except DeepnbError as error:  # a session whose model can't be made, a backend that can't be read
        return notice_view(str(error), "error")


def forgotten(session: Session) -> str:
    """Return what of a session is in this kernel only, or where it is kept, in one line, and start no engine for it."""
    if (kept := session.workspace.persistence) is not None:
        from deepnb.values.text import as_word

        return f"this session is kept: %agent persist {as_word(kept.database.where)} continues it"
    if (attached := session.options.graph) is not None and session.options.checkpointer is not None:
        return ""
    from deepnb.views.text import counted

    threads = [t for t in session.threads if t.turns]
    turns = sum(t.turns for t in threads)
    several = f" in {counted(len(threads), 'thread')}" if len(threads) > 1 else ""
    lost = [f"{counted(turns, 'turn')}{several}"] if turns else []
    home, current = session.workspace.home, session.workspace.current
    shared = [p for p in session.snapshot.files if current.is_shared(p) and not p.startswith("/.deepnb/")]
    mounted = tuple(home.storage.mounts)
    files = 0 if home.storage.kept else sum(not path.startswith(mounted) for path in shared)
    lost += [counted(files, "file") + " of memory, notes and skills"] if files else []
    keep = "; type %memory keep DIR before you reload to keep memory" if files else ""
    on = f" on {attached.name}" if attached else ""
    return f"deepnb forgets {' and '.join(lost)}{on}{keep}" if lost else ""
