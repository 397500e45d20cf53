"""`%agent open`, and what the other subcommands do in a session that was opened: they show it, or refuse."""

from functools import partial
from itertools import count

from deepnb.magics.memory_commands import memory_diff
from deepnb.magics.panel_commands import changes_of_turn
from deepnb.magics.scene import Args, Command, Result, Scene, notice
from deepnb.values.files import disk_path
from deepnb.values.server_address import POSTGRES, without_password
from deepnb.views.search_marks import found_view
from deepnb.views.text import counted
from deepnb.views.values import brief
from deepnb.views.view import Stack, View, notice_view
from deepnb.wings.open.opening import list_sessions
from deepnb.wings.open.session import OpenedSession, open_session, refusal
from deepnb.wings.open.values import SessionRows
from deepnb.wings.open.view import opened_view, sessions_view

_DIFFS = 20
"""Turns whose diffs of memory are shown at once, the last ones."""
_OF_AGENT = "open threads switch use models export code budget xray panel dashboard turns history"
_SAME = {"agent": _OF_AGENT.split(), "memory": ["picture", "panel", "show"]}


def agent_open(scene: Scene, args: Args) -> Result:
    """List the sessions of a directory; or show a session of a file or database, which is in use from then on.

    One that was opened before is read again.
    """
    path = args["path"].strip("\"'")
    if args["list"] or (args["thread"] is None and disk_path(path).is_dir()):
        return sessions_view(list_sessions(path), without_password(path) if path.startswith(POSTGRES) else path)
    sessions = scene.sessions
    sessions.live.workspace.current.idle()
    made = open_session(path, args["thread"], into=sessions.own)
    known, threads = sessions.opened.get(made.thread), sessions.live.workspace.threads
    if made.thread in threads or (isinstance(known, OpenedSession) and known.index.path != made.index.path):
        free = (f"{made.thread}-{n}" for n in count(2))
        name = next(one for one in free if one not in sessions.opened and one not in threads)
        made = OpenedSession(made.file, name, sessions.own)
    sessions.read(made, instead)
    return opened_view(made.index, made.thread)


def opened_picture(opened: OpenedSession) -> View:
    return brief(opened_view(opened.index, opened.thread), rest="all of it: %agent")


def rows_picture(rows: SessionRows) -> View:
    return brief(sessions_view(rows, ""), [lambda: sessions_view(rows[:8], "")], "all of them: list(rows)")


def instead(magic: str, name: str) -> Command | None:
    """Return what a subcommand does in an opened session; None where that is the same as in any other."""
    return None if name in _SAME.get(magic, ()) else partial(_shown, f"{magic} {name}")


def _shown(name: str, scene: Scene, args: Args) -> Result:
    """Return what a subcommand shows of an opened session; all that is neither here nor in `_SAME` is refused."""
    opened = scene.sessions.current
    assert isinstance(opened, OpenedSession)  # `instead` is asked of no other
    match name.split():
        case ["agent", "status"]:
            return opened_view(opened.index, opened.thread)
        case ["agent", "fork"]:
            name = opened.fork(args["name"], args["at"])
            live = scene.sessions.use_own()
            thread, lines = live.workspace.thread, sum(bool(held.line) for held in live.memory.pending())
            what = f"thread {name}, forked from {thread.parent}: {counted(len(thread.snapshot.messages), 'message')}"
            shown = notice(f"{what}, what its model then had (%agent undo reverses this)")
            taken = "of its memory can be taken: %memory pending, %memory accept ID or all"
            return Stack(shown, notice_view(f"{counted(lines, 'line')} {taken}")) if lines else shown
        case ["agent", "transcript"]:
            table: object = opened.transcript()
            return table
        case ["memory", "diff"] if args["a"] is not None:
            return memory_diff(scene, args)
        case ["memory", "diff"]:
            edited = [turn.number for turn in opened.figures if turn.edits][-_DIFFS:]
            views = [changes_of_turn(scene, number) for number in edited]
            return Stack(*views) if views else notice_view("this session edited no memory file")
        case ["memory", "search"]:
            return found_view(opened.passages(args["query"]), args["query"], scene.stamp)
    raise refusal(opened.thread)
