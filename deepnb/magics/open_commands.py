"""`%agent open`, and what the other subcommands do in a session that was opened: they show it, or refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from deepnb.core.server_address import POSTGRES, without_password
from deepnb.magics.pictures import history_picture
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.session.opened import OpenedSession, list_sessions
from deepnb.views.diff import diff_view
from deepnb.views.opened import file_turns_view, found_view, opened_view, sessions_view
from deepnb.views.text import counted, short, tokens
from deepnb.views.turn import long_turn_view
from deepnb.views.view import View, notice_view, table_view, text_view
from deepnb.widgets.panels import Stack

Show = Callable[[Scene, Args], Result]
_DIFFS = 20
"""Turns whose diffs of memory are shown at once, the last ones."""


def agent_open(scene: Scene, args: Args) -> Result:
    """A directory is listed; a session of a file or database is shown, and in use."""
    path = args["path"].strip("\"'")
    if args["list"] or (args["thread"] is None and Path(path).expanduser().is_dir()):
        return sessions_view(list_sessions(path), without_password(path) if path.startswith(POSTGRES) else path)
    opened = scene.sessions.open(path, args["thread"])
    return opened_view(opened.index, opened.thread)


def opened_command(opened: OpenedSession, magic: str, name: str) -> Show | None:
    """What a subcommand gives in an opened session; None where it is the same as in any other.

    An error where it would change something, or shows what no file has.
    """
    if (magic, name) in SAME:
        return None
    if (show := SHOWN.get((magic, name))) is None:
        raise opened.refusal
    return lambda scene, args: show(opened, scene, args)


def _status(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    return opened_view(opened.index, opened.thread)


def _turns(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    which = args["which"]
    if which is None:
        return file_turns_view(opened.figures, scene.stamp)
    if which.isdigit():
        return long_turn_view(opened.turn(int(which)))
    return found_view(opened.passages(which), which, scene.stamp)


def _fork(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    name = scene.sessions.forked(args["name"], args["at"])
    live = scene.sessions.live
    thread, offered = live.workspace.thread, [held for held in live.memory.pending() if held.line]
    what = f"thread {name}, forked from {thread.parent}: {counted(len(thread.snapshot.messages), 'message')}"
    shown = notice(f"{what}, what its model then had (%agent undo reverses this)")
    if not offered:
        return shown
    lines = counted(len(offered), "line")
    return Stack(shown, notice_view(f"{lines} of its memory can be taken: %memory pending, %memory accept ID or all"))


def _history(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    if args["bring"] is not None:
        raise opened.refusal
    if not opened.index.compactions:
        return notice_view("the context of this session was not compacted, as far as its file tells")
    return history_picture(opened, args["search"])


def _transcript(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    table: object = opened.transcript()
    return table


def _subagents(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    if args["what"] is not None:
        raise opened.refusal
    rows = [
        (name, f"{one.calls:,}", tokens(one.input, one.exact), tokens(one.output, one.exact))
        for name, one in opened.spent().items()
    ]
    return table_view(("subagent", "calls", "in", "out"), rows, "subagents", (1, 2, 3), "no subagents", scene.stamp)


def _shown(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    memory = opened.memory
    paths = [args["path"]] if args["path"] else memory.shown
    return Stack(*(text_view(path, memory.read(path), scene.stamp) for path in paths)) if paths else _no_memory()


def _diff(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    """Between turns, or by turn, for each that edited memory."""
    if args["a"] is not None:
        a, b = args["a"], args["b"]
        return diff_view(opened.memory.diff(a, b), f"memory from turn {a} to {b or 'the end'}", scene.stamp)
    edited = [turn.number for turn in opened.figures if turn.edits]
    views = [_changes(opened, number) for number in edited[-_DIFFS:]]
    more = len(edited) - len(views)
    first = [notice_view(f"{counted(more, 'turn')} before these edited memory, too: %memory diff A B")] if more else []
    return Stack(*first, *views) if views else _no_memory()


def _changes(opened: OpenedSession, number: int) -> View:
    turn = opened.turn(number)
    return diff_view(opened.memory.between(turn.before, turn.after), f"memory in turn {number}", short(turn.prompt, 60))


def _no_memory() -> View:
    return notice_view("this session edited no memory file")


def _found(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    return found_view(opened.passages(args["query"]), args["query"], scene.stamp)


SHOWN: Mapping[tuple[str, str], Callable[[OpenedSession, Scene, Args], Result]] = {
    ("agent", "status"): _status,
    ("agent", "turns"): _turns,
    ("agent", "fork"): _fork,
    ("agent", "history"): _history,
    ("agent", "transcript"): _transcript,
    ("agent", "subagents"): _subagents,
    ("memory", "show"): _shown,
    ("memory", "diff"): _diff,
    ("memory", "search"): _found,
}
SAME = frozenset(
    (
        *(("agent", name) for name in ("open", "threads", "switch", "use", "models", "export", "code")),
        *(("agent", name) for name in ("budget", "xray", "panel", "dashboard")),
        *(("memory", name) for name in ("picture", "panel")),
    )
)
"""(magic, subcommand) that are the same in an opened session as in any other."""
