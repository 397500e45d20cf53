"""The subcommands of %memory about what lasts: daily, flush, search, promote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepnb.core.errors import InvalidError
from deepnb.core.offload import Flush
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.views.diff import diff_view
from deepnb.views.hits import hits_view
from deepnb.views.notice import notice_view
from deepnb.views.table import table_view
from deepnb.views.text_file import text_view
from deepnb.views.view import View
from deepnb.widgets.panels import Stack
from deepnb.widgets.progress import Progress

if TYPE_CHECKING:
    from deepnb.session.promotion import Promotion


def memory_daily(scene: Scene, args: Args) -> Result:
    session = scene.session
    before = session.snapshot
    note = session.memory.daily(args["text"])
    path = session.memory.today
    if args["text"] is None:
        return (
            text_view(path, note, scene.stamp)
            if note
            else notice(f"{path} does not exist yet: type %memory daily TEXT")
        )
    return diff_view(session.memory.between(before, session.snapshot), f"noted in {path}", scene.stamp)


def memory_flush(scene: Scene, args: Args) -> Result:
    progress = Progress(scene.screen, "asking the model what is worth keeping ...")
    try:
        flush = scene.session.memory.flush()
    except BaseException:
        progress.stop("nothing was kept")
        raise
    progress.end(_flushed(scene, flush))
    return None


def _flushed(scene: Scene, flush: Flush) -> View:
    if not flush.lines:
        return notice("nothing new worth keeping")
    by = "" if flush.how == "model" else " (chosen by rules)"
    return text_view(f"added to {flush.file}{by}", "\n".join(flush.lines), scene.stamp)


def memory_search(scene: Scene, args: Args) -> Result:
    from deepnb.search.words import read_query

    session, query = scene.session, args["query"]
    progress = Progress(scene.screen, "updating the index ...")
    try:
        hits = session.memory.search_hits(query, args["k"] or None, transcripts=bool(args["transcripts"]))
    except BaseException:
        progress.stop("not searched")
        raise
    notices = session.workspace.home.storage.search.notices
    while notices:
        scene.show(notice_view(notices.pop(0), "warning"))
    asked = read_query(query)
    progress.end(hits_view(query, hits, (*asked.words, *asked.names), scene.stamp))
    return None


def memory_promote(scene: Scene, args: Args) -> Result:
    words = (args["numbers"] or "").replace(",", " ").split()
    if strange := [word for word in words if not word.isdecimal()]:
        raise InvalidError(f"{strange[0]!r} is not a number", "%memory promote [N...] [--yes]")
    made = scene.session.memory.promote(*map(int, words), yes=bool(args["yes"]))
    if made.written and made.change:
        return diff_view([made.change], f"added to {made.change.path}", scene.stamp)
    if not made.candidates:
        return notice("nothing to promote: the daily notes have no entry that is not in MEMORY.md")
    return _proposal(scene, made, bool(words))


def _proposal(scene: Scene, made: Promotion, picked: bool) -> View:
    """What could be kept, what that would change, and what to type next."""
    chosen = [(n, made.candidates[n - 1]) for n in made.chosen]
    rows = [(str(n), c.entry.text, c.entry.place, c.reason) for n, c in chosen]
    table = table_view(("", "entry", "from", "reason"), rows, right=(0,), title="promote?", stamp=scene.stamp)
    names = " ".join(map(str, made.chosen)) if picked else "N..."
    what = "these" if picked else "those you name, or all without N"
    next_ = notice_view(f"nothing is written yet: %memory promote {names} --yes adds {what}")
    if made.change is None:
        return Stack(table, notice_view(f"MEMORY.md already has {'it' if len(chosen) == 1 else 'them'}"))
    return Stack(table, diff_view([made.change], "proposed change"), next_)
