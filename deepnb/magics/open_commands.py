"""`%agent open`, and what the other subcommands do in a session that was opened: they show it, or refuse."""

from __future__ import annotations

from pathlib import Path

from deepnb.magics.memory_commands import changes_of_turn
from deepnb.magics.pictures import history_picture
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.session.opened import OpenedSession, list_sessions
from deepnb.values.server_address import POSTGRES, without_password
from deepnb.views.diff import diff_view
from deepnb.views.opened import file_turns_view, found_view, opened_view, sessions_view
from deepnb.views.text import counted, tokens
from deepnb.views.turn import long_turn_view
from deepnb.views.view import Stack, View, notice_view, table_view, text_view

_DIFFS = 20
"""Turns whose diffs of memory are shown at once, the last ones."""


def agent_open(scene: Scene, args: Args) -> Result:
    """List the sessions of a directory; or show a session of a file or database, which is in use from then on."""
    path = args["path"].strip("\"'")
    if args["list"] or (args["thread"] is None and Path(path).expanduser().is_dir()):
        return sessions_view(list_sessions(path), without_password(path) if path.startswith(POSTGRES) else path)
    opened = scene.sessions.open(path, args["thread"])
    return opened_view(opened.index, opened.thread)


def show_opened(opened: OpenedSession, scene: Scene, magic: str, name: str, args: Args) -> Result:
    """Return what a subcommand shows of an opened session, where that is not the same as of any other.

    Raise an error if it would change something, or show what no file has.
    """
    match magic, name:
        case "agent", "status":
            return opened_view(opened.index, opened.thread)
        case "agent", "turns":
            which = args["which"]
            if which is None:
                return file_turns_view(opened.figures, scene.stamp)
            if which.isdigit():
                return long_turn_view(opened.turn(int(which)))
            return found_view(opened.passages(which), which, scene.stamp)
        case "agent", "fork":
            return _fork(scene, args)
        case "agent", "history" if args["bring"] is None:
            if not opened.index.compactions:
                return notice_view("the context of this session was not compacted, as far as its file tells")
            return history_picture(opened, args["search"])
        case "agent", "transcript":
            table: object = opened.transcript()
            return table
        case "agent", "subagents" if args["what"] is None:
            rows = [
                (name, f"{one.calls:,}", tokens(one.input, one.exact), tokens(one.output, one.exact))
                for name, one in opened.spent().items()
            ]
            head = ("subagent", "calls", "in", "out")
            return table_view(head, rows, "subagents", (1, 2, 3), "no subagents", scene.stamp)
        case "memory", "show":
            memory = opened.memory
            paths = [args["path"]] if args["path"] else memory.shown
            return _stack(*(text_view(path, memory.read(path), scene.stamp) for path in paths))
        case "memory", "diff":
            return _diff(opened, scene, args)
        case "memory", "search":
            return found_view(opened.passages(args["query"]), args["query"], scene.stamp)
    raise opened.refusal


SAME = frozenset(
    (
        *(("agent", name) for name in ("open", "threads", "switch", "use", "models", "export", "code")),
        *(("agent", name) for name in ("budget", "xray", "panel", "dashboard")),
        *(("memory", name) for name in ("picture", "panel")),
    )
)
"""(magic, subcommand) that are the same in an opened session as in any other."""


def _fork(scene: Scene, args: Args) -> Result:
    name = scene.sessions.forked(args["name"], args["at"])
    live = scene.sessions.live
    thread, offered = live.workspace.thread, [held for held in live.memory.pending() if held.line]
    what = f"thread {name}, forked from {thread.parent}: {counted(len(thread.snapshot.messages), 'message')}"
    shown = notice(f"{what}, what its model then had (%agent undo reverses this)")
    if not offered:
        return shown
    lines = counted(len(offered), "line")
    return Stack(shown, notice_view(f"{lines} of its memory can be taken: %memory pending, %memory accept ID or all"))


def _diff(opened: OpenedSession, scene: Scene, args: Args) -> Result:
    """Return what changed between two turns, or in each turn that edited memory."""
    if args["a"] is not None:
        a, b = args["a"], args["b"]
        return diff_view(opened.memory.diff(a, b), f"memory from turn {a} to {b or 'the end'}", scene.stamp)
    edited = [turn.number for turn in opened.figures if turn.edits]
    views = [changes_of_turn(scene, number) for number in edited[-_DIFFS:]]
    more = len(edited) - len(views)
    first = f"{counted(more, 'turn')} before these edited memory, too: %memory diff A B"
    return _stack(*([notice_view(first)] if more else []), *views)


def _stack(*views: View) -> View:
    return Stack(*views) if views else notice_view("this session edited no memory file")
