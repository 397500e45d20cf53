"""How IPython shows the values of deepnb: registered by name, so that none of them is imported for it."""

from typing import Any

NAMES = (
    *(f"deepnb.core.approvals.{name}" for name in ("Decision", "PendingCall", "PendingCalls")),
    "deepnb.core.budget.Budget",
    *(f"deepnb.core.diff.{name}" for name in ("FileDiff", "FileDiffs")),
    *(f"deepnb.core.model_info.{name}" for name in ("ModelInfo", "ModelInfos")),
    "deepnb.core.stack.Stack",
    "deepnb.core.package.Package",
    *(f"deepnb.core.offload.{name}" for name in ("HistorySections", "Offload")),
    *(f"deepnb.core.values.{name}" for name in ("ThreadInfo", "ThreadInfos", "Turn", "Turns")),
    "deepnb.core.xray.Xray",
    "deepnb.session.comparison.Comparison",
    "deepnb.session.files.Files",
    "deepnb.session.memory.SessionMemory",
    "deepnb.session.opened.OpenedMemory",
    "deepnb.session.opened.OpenedSession",
    "deepnb.core.session_file.SessionRows",
    "deepnb.session.session.Session",
    "deepnb.session.skills.SessionSkills",
    "deepnb.session.subagents.SessionSubagents",
    "deepnb.views.course.CheckView",
    "deepnb.views.course.StoryView",
)
"""The values that `deepnb.magics.pictures.picture` knows."""


def install(ip: Any) -> None:
    """Have a shell show them as pictures where they are the value of a cell."""
    formatters = ip.display_formatter.formatters
    for module, _, name in (full.rpartition(".") for full in NAMES):
        formatters["text/html"].for_type_by_name(module, name, _html)
        formatters["text/plain"].for_type_by_name(module, name, _text)


def uninstall(ip: Any) -> None:
    """Have it show them as any other value: by their `repr`."""
    for kind in ("text/html", "text/plain"):
        for name in NAMES:
            ip.display_formatter.formatters[kind].pop(name, None)


def _html(value: object) -> str:
    return str(_picture(value).html())


def _text(value: object, printer: Any, cycle: bool) -> None:
    """Text for the printer of IPython; inside a list or a dict a value is one line."""
    printer.text(repr(value) if len(printer.stack) > 1 else _picture(value).text())


def _picture(value: object) -> Any:
    from deepnb.core.errors import DeepnbError
    from deepnb.magics.pictures import picture
    from deepnb.views.view import notice_view

    try:
        return picture(value)
    except DeepnbError as error:  # a session whose model can't be made, a backend that can't be read
        return notice_view(str(error), "error")
