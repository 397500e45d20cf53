"""The subcommands of %memory: session and arguments -> what is shown."""

from collections.abc import Iterable, Sequence
from typing import Any

from deepnb.backends.merge import Conflict
from deepnb.magics.panel_commands import and_undo, memory_panel, pending_picture
from deepnb.magics.pictures import memory_picture, unjoined
from deepnb.magics.scene import Args, Command, Result, Scene, ask_before_removal, notice
from deepnb.magics.tool_commands import written
from deepnb.running.sources import paths
from deepnb.values.agent import FOLDER
from deepnb.values.errors import InvalidError
from deepnb.values.files import check_path, file_diffs
from deepnb.views.diff import diff_view
from deepnb.views.memory import part_words
from deepnb.views.search_marks import hits_view
from deepnb.views.text import counted
from deepnb.views.view import Stack, TextView, View, notice_view, table_view
from deepnb.widgets.panels import Editor, folded
from deepnb.widgets.progress import Progress


def memory_daily(scene: Scene, args: Args) -> Result:
    session = scene.session
    before = session.snapshot
    note, path = session.memory.daily(args["text"]), session.memory.today
    if args["text"] is not None:
        return diff_view(session.memory.between(before, session.snapshot), f"noted in {path}", scene.stamp)
    return TextView(path, note, scene.stamp) if note else notice(f"{path} does not exist yet: type %memory daily TEXT")


def memory_flush(scene: Scene, args: Args) -> Result:
    with Progress(scene.screen, "asking the model what is worth keeping ...", failed="nothing was kept") as progress:
        flush = scene.session.flush()
    by = "" if flush.how == "model" else " (chosen by rules)"
    kept = TextView(f"added to {flush.file}{by}", "\n".join(flush.lines), scene.stamp)
    progress.end(kept if flush.lines else notice("nothing new worth keeping"))
    return None


def memory_search(scene: Scene, args: Args) -> Result:
    from deepnb.search.words import read_query

    session, query = scene.session, args["query"]
    with Progress(scene.screen, "updating the index ...", failed="not searched") as progress:
        hits = session.memory.search_hits(query, args["k"] or None, transcripts=bool(args["transcripts"]))
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
    chosen = [(n, made.candidates[n - 1]) for n in made.chosen]
    rows = [(str(n), c.entry.text, c.entry.place, c.reason) for n, c in chosen]
    table = table_view(("", "entry", "from", "reason"), rows, right=(0,), title="promote?", stamp=scene.stamp)
    if made.change is None:
        return Stack(table, notice_view(f"MEMORY.md already has {'it' if len(chosen) == 1 else 'them'}"))
    names = " ".join(map(str, made.chosen)) if words else "N..."
    what = "these" if words else "those you name, or all without N"
    next_ = notice_view(f"nothing is written yet: %memory promote {names} --yes adds {what}")
    return Stack(table, diff_view([made.change], "proposed change"), next_)


def memory_show(scene: Scene, args: Args) -> Result:
    memory = scene.session.memory
    if args["path"]:
        return TextView(args["path"], memory.read(args["path"]), scene.stamp)
    files = {p: memory.read(p) for p in memory.layers if p in scene.session.files}
    return Stack(*(TextView(p, t, scene.stamp) for p, t in files.items())) if files else memory_picture(memory)


def memory_add(scene: Scene, args: Args) -> Result:
    before = scene.session.snapshot
    path = scene.session.memory.add(args["text"], args["to"])
    return _changed(scene, before, f"added to {path}")


def memory_write(scene: Scene, args: Args) -> Result:
    before = scene.session.snapshot
    text = args["text"]
    merged = scene.session.memory.write(args["path"], text if text.endswith("\n") else f"{text}\n")
    if args["path"].startswith(FOLDER):
        return written(scene, args["path"])
    return _changed(scene, before, f"wrote {args['path']}", _warnings(args["path"], merged.conflicts))


def memory_diff(scene: Scene, args: Args) -> Result:
    a, b = args["a"], args["b"]
    if a is None:
        title = f"memory in turn {len(scene.session.turns)}" if scene.session.turns else "memory"
    else:
        title = f"memory from turn {a} to {'now' if b is None else f'turn {b}'}"
    return diff_view(scene.session.memory.diff(a, b), title, scene.stamp)


def memory_log(scene: Scene, args: Args) -> Result:
    from deepnb.session.tables import log_in_short

    log: object = log_in_short(scene.session.memory.log())
    return log


def memory_revert(scene: Scene, args: Args) -> Result:
    before = scene.session.snapshot
    path, undo = and_undo(scene.session.memory, lambda: scene.session.memory.revert(args["id"]))
    title = f"reverted change {args['id']} in {path}: {undo}"
    return _changed(scene, before, title, _made_now(scene, path))


def memory_why(scene: Scene, args: Args) -> Result:
    from deepnb.session.tables import origins_in_short

    found = scene.session.memory.why(args["text"])
    shown: object = origins_in_short(found)
    return shown if len(found) else notice(f"memory does not contain {args['text']!r}")


def memory_edit(scene: Scene, args: Args) -> Result:
    memory = scene.session.memory
    path = args["path"] or memory.sources[0]
    text = memory.read(path) if path in scene.session.files else ""
    if not scene.screen.notebook:
        cell = f"%%memory {path}\n{text}"
        scene.next_cell(cell)
        return TextView("", cell)
    check_path(path)
    loaded = [text]

    def save(typed: str) -> tuple[View, str | None]:
        before = scene.session.snapshot.files
        if 0 < loaded[0].count("\n") == loaded[0].count("\r\n"):
            typed = typed.replace("\n", "\r\n")
        merged = memory.write(path, typed, base=loaded[0])
        loaded[0] = merged.text
        if merged.conflicts:
            lines = "; ".join(map(str, merged.conflicts))
            line = f"{path} was also changed elsewhere: {lines}. Edit it and save again"
            return notice_view(line, "warning"), merged.text
        versions = [{path: files[path]} if path in files else {} for files in (before, scene.session.snapshot.files)]
        return diff_view(file_diffs(*versions), f"saved {path}", scene.stamp), None

    Editor(path, text, save).show(scene.screen, folded(f"{path} when it was opened", TextView(path, text)))
    return None


def memory_load(scene: Scene, args: Args) -> Result:
    before = scene.session.snapshot
    path = scene.session.memory.load(args["file"], args["to"])
    return _changed(scene, before, f"loaded {args['file']} into {path}")


def memory_save(scene: Scene, args: Args) -> Result:
    saved = scene.session.memory.save(args["file"], args["from"], overwrite=bool(args["yes"]))
    rows = [(path, str(file)) for path, file in saved]
    return table_view(("memory file", "saved to"), rows, title="saved", stamp=scene.stamp)


def memory_rm(scene: Scene, args: Args) -> Result:
    before, path = scene.session.snapshot, str(args["path"])
    scene.session.memory.read(path)
    joined = path in paths(scene.session.memory.joined)
    out = f"%memory sources remove {path} takes it out of the prompt, " if joined else ""
    ask_before_removal(scene, path, bool(args["yes"]), f"{out}%memory rm --yes {path} deletes it")
    scene.session.memory.remove(path)
    return _changed(scene, before, f"removed {args['path']}")


def memory_forget(scene: Scene, args: Args) -> Result:
    memory = scene.session.memory
    found = memory.forget(args["text"]) if args["yes"] else memory.find(args["text"])
    if found.nothing:
        return notice(f"{args['text']!r} is not in anything deepnb recorded")
    rows = [(path, "line", line) for path, lines in found.files.items() for line in lines]
    rows += [(path, "offloaded", counted(count, "time")) for path, count in found.history.items()]
    rows += [("journal", "entries", str(found.journal))] if found.journal else []
    if found.prompt:
        rows.append(("the prompt", "memory", "updated at the next call" if args["yes"] else "injected now"))
    if found.kept:
        what = "forgotten" if args["yes"] else "of earlier turns"
        rows.append(("the database", counted(found.kept, "record"), what))
    title = "removed" if args["yes"] else "found"
    scene.show(table_view(("where", "as", "what"), rows, title=f"{title}: {args['text']}", stamp=scene.stamp))
    if args["yes"]:
        return notice_view(found.left) if found.left else None
    return notice_view(f"%memory forget --yes {args['text']} removes all of it; the messages of the conversation stay")


def memory_accept(scene: Scene, args: Args) -> Result:
    memory, id_ = scene.session.memory, args["id"]
    if any(one.id == id_ for one in memory.conflicts()):
        settled = memory.keep_both(id_)
        return notice(f"{settled[0].path} stays as it is: {counted(len(settled), 'conflict')} settled")
    if id_ == "all":
        before = scene.session.snapshot
        accepted = [memory.accept(one.id) for one in memory.pending()]
        done = f"accepted {counted(len(accepted), 'change')}"
        return _changed(scene, before, done) if accepted else notice("nothing is pending")
    held = memory.accept(id_)
    return Stack(diff_view([held.change], f"accepted {held.id}", scene.stamp), *_made_now(scene, held.path))


def memory_drop(scene: Scene, args: Args) -> Result:
    if args["id"] == "all":
        dropped = [scene.session.memory.drop(one.id) for one in scene.session.memory.pending()]
        return notice(f"dropped {counted(len(dropped), 'change')}")
    return notice(f"dropped {scene.session.memory.drop(args['id']).id}")


def memory_keep(scene: Scene, args: Args) -> Result:
    count = counted(scene.session.memory.keep(args["path"]), "file")
    kept = scene.session.workspace.home.storage.kept
    return notice(f"memory, notes, skills and journal are kept in {kept} from now on ({count})")


def memory_sources(scene: Scene, args: Args) -> Result:
    what, name, memory = args["what"], args["name"], scene.session.memory
    before = memory.sources
    if what and not name:
        raise InvalidError(f"sources {what} needs user, project or a path", f"%memory sources {what} project")
    line = ""
    if what == "add":
        added = memory.add_source(name)
        new, known = [p for p in added if p not in before], [p for p in added if p in before]
        lines = (f"added: {', '.join(new)}" if new else "", f"already added: {', '.join(known)}" if known else "")
        line = "; ".join(filter(None, lines))
    if what == "remove":
        line = f"removed: {', '.join(memory.remove_source(name))} (the files on disk are unchanged)"
    files = scene.session.files
    rows = [(str(i), p, "exists" if p in files else "not created yet") for i, p in enumerate(memory.shown, 1)]
    table = table_view(("", "path", "file"), rows, title="memory sources, in order", stamp=scene.stamp)
    cut = {path: share for path, share in memory.shares().items() if path not in before} if what == "add" else {}
    parts = (notice_view(f"{path}: {part_words(*share)}", "warning") for path, share in cut.items())
    more = (notice_view(f"{file} also exists: %memory sources add {name}") for name, file in unjoined(memory))
    return Stack(*([notice_view(line, "ok")] if line else []), *parts, table, *more)


def _changed(scene: Scene, before: Any, title: str, warnings: Sequence[View] = ()) -> View:
    guarded = scene.session.backend.is_guarded  # memory, notes, and skills, which are written by the same commands
    kept = ({p: t for p, t in one.files.items() if guarded(p)} for one in (before, scene.session.snapshot))
    change = diff_view(file_diffs(*kept), title, scene.stamp)
    return Stack(change, *warnings) if warnings else change


def _warnings(path: str, conflicts: Sequence[Conflict]) -> list[View]:
    return [notice_view(f"conflict in {path}, {one}: %memory lists conflicts", "warning") for one in conflicts]


def _made_now(scene: Scene, path: str) -> list[View]:
    log = [e for e in scene.session.memory.log_entries() if e.path == path]
    return _warnings(path, log[-1].conflicts) if log else []


_COMMANDS: Iterable[Command] = (
    *(memory_panel, memory_show, memory_add, memory_write, memory_diff, memory_log, memory_revert, memory_why),
    *(memory_edit, memory_load, memory_save, memory_rm, memory_forget, memory_accept, memory_drop, memory_keep),
    *(memory_sources, memory_search, memory_daily, memory_flush, memory_promote),
)
MEMORY: dict[str, Command] = {
    "picture": lambda scene, _: memory_picture(scene.session.memory),
    "pending": lambda scene, _: pending_picture(scene),
    **{command.__name__.removeprefix("memory_"): command for command in _COMMANDS},
}
