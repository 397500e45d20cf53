"""The subcommands: session and arguments -> what is shown. One function for each, in three flat tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.core.errors import DeepnbError
from deepnb.core.values import Skill
from deepnb.magics.scene import Scene
from deepnb.magics.usage import usage_text
from deepnb.views.budget import budget_view
from deepnb.views.diff import diff_view
from deepnb.views.history import history_view
from deepnb.views.journal import EntryView, journal_view
from deepnb.views.memory import memory_view
from deepnb.views.notice import notice_view
from deepnb.views.pending import Waiting, pending_view
from deepnb.views.skills import skill_view, skills_view
from deepnb.views.status import StatusInfo, status_view
from deepnb.views.table import table_view
from deepnb.views.text_file import text_view
from deepnb.views.threads import threads_view, turns_view
from deepnb.views.view import View
from deepnb.widgets.actions import ActionPanel, Row, Tabs
from deepnb.widgets.panels import Folded, Panel, Stack, TurnPanel

Args = Mapping[str, Any]
Shown = View | object | None
"""A view is shown; anything else is the magic's value; None is nothing."""


# -- %agent


def agent_status(scene: Scene, args: Args) -> Shown:
    session = scene.session
    snapshot = session.snapshot
    memory = tuple((p, session.count(snapshot.files[p])) for p in session.memory.sources if p in snapshot.files)
    info = StatusInfo(
        model=session.model,
        window=session.rule.window,
        thread=session.thread,
        turns=len(session.turns),
        messages=len(snapshot.messages),
        budget=session.budget(),
        memory=memory,
        skills=sum(not s.problem for s in session.skills.all()),
        files=len(snapshot.files) + len(snapshot.binary),
        refresh=session.options.memory_refresh,
        pending=session.pending,
        stamp=scene.stamp,
    )
    return status_view(info)


def agent_use(scene: Scene, args: Args) -> Shown:
    if args["model"] is None:
        return _said(f"the model is {scene.session.model}")
    name = scene.session.use(args["model"], base_url=args["base_url"])
    window = scene.session.rule.window
    size = (
        f"a window of {window:,} tokens"
        if window
        else "a window deepnb does not know: %config DeepNB.window = N sets it"
    )
    return _said(f"{name} from the next turn on, with {size}")


def agent_new(scene: Scene, args: Args) -> Shown:
    return _said(f"new thread {scene.session.new(args['name'])}; memory and skills stay (%agent undo takes it back)")


def agent_threads(scene: Scene, args: Args) -> Shown:
    return threads_view(scene.session.threads, scene.stamp)


def agent_switch(scene: Scene, args: Args) -> Shown:
    name = scene.session.switch(args["name"])
    turns = len(scene.session.turns)
    return _said(f"thread {name}, after turn {turns}" if turns else f"thread {name}, no turns yet")


def agent_fork(scene: Scene, args: Args) -> Shown:
    name = scene.session.fork(args["name"], args["at"])
    return _said(f"thread {name}, forked from {scene.session.thread_info.parent} (%agent undo takes it back)")


def agent_rewind(scene: Scene, args: Args) -> Shown:
    scene.session.rewind(args["turn"], memory=bool(args["memory"]))
    kept = "memory too" if args["memory"] else "memory stays as it is"
    return _said(f"thread {scene.session.thread} is back after turn {args['turn']}, {kept} (%agent undo takes it back)")


def agent_undo(scene: Scene, args: Args) -> Shown:
    return _said(f"taken back: {scene.session.undo()}; thread {scene.session.thread}, turn {len(scene.session.turns)}")


def agent_turns(scene: Scene, args: Args) -> Shown:
    return turns_view(scene.session.turns, scene.stamp)


def agent_budget(scene: Scene, args: Args) -> Shown:
    scene.show(_gauge(scene))
    return scene.session.ledger() if scene.session.turns else None


def agent_history(scene: Scene, args: Args) -> Shown:
    return _history(scene)


def agent_tools(scene: Scene, args: Args) -> Shown:
    return table_view(("tool", "what it does"), scene.session.built.tools, title="tools")


def agent_mount(scene: Scene, args: Args) -> Shown:
    if args["path"] and not args["spec"]:
        raise DeepnbError(f"where shall {args['path']} be mounted", f"%agent mount {args['path']} disk:DIR")
    if args["path"]:
        scene.session.mount(args["path"], args["spec"])
    mounts = scene.session.storage.mounts.values()
    rows = [(m.prefix, m.kind, m.where) for m in mounts]
    return table_view(
        ("path", "kind", "where"), rows, title="mounts", empty="nothing is mounted: all files are in the kernel's state"
    )


def agent_panel(scene: Scene, args: Args) -> Shown:
    tabs = [("Budget", lambda: _gauge(scene)), ("History", lambda: _history(scene))]
    panel = Panel(tabs) if scene.screen.notebook else None
    _live(scene, panel, lambda: Stack(*(source() for _, source in tabs)), "agent panel: budget and history")
    return None


# -- %memory


def memory_picture(scene: Scene, args: Args) -> Shown:
    session = scene.session
    return memory_view(session.snapshot, session.memory.sources, session.count, scene.stamp)


def memory_panel(scene: Scene, args: Args) -> Shown:
    session = scene.session

    def changes(turn: int) -> View:
        if not turn:
            return diff_view((), "before turn 1")
        record = session.turn(turn)
        return diff_view(session.memory.between(record.before, record.after), f"memory in turn {turn}")

    def now() -> View:
        return memory_view(session.snapshot, session.memory.sources, session.count, scene.stamp)

    def twin() -> View:
        views: list[View] = [now(), changes(len(session.turns)), journal_view(session.memory.entries())]
        return Stack(*views, _pending(scene)) if session.memory.pending() else Stack(*views)

    panel = None
    if scene.screen.notebook:
        turns = TurnPanel(lambda: len(session.turns), changes, now)
        journal = ActionPanel(lambda: _journal_rows(scene), journal_view(()))
        pending = ActionPanel(lambda: _pending_rows(scene), pending_view(()))
        panel = Tabs([("Memory", turns), ("Journal", journal), ("Pending", pending)])
    _live(scene, panel, twin, "memory panel: memory by turn, its journal, what waits for you")
    return None


def _journal_rows(scene: Scene) -> list[Row]:
    memory = scene.session.memory
    newest = list(reversed(memory.entries()))[:20]
    return [Row(e.id, EntryView(e), [("revert", lambda id_=e.id: memory.revert(id_))]) for e in newest]  # type: ignore[misc]


def _pending_rows(scene: Scene) -> list[Row]:
    memory = scene.session.memory
    rows = []
    for held in memory.pending():
        acts = [("accept", lambda id_=held.id: memory.accept(id_)), ("drop", lambda id_=held.id: memory.drop(id_))]
        rows.append(Row(held.id, pending_view([Waiting(held.id, held.why, held.change)]), acts))  # type: ignore[arg-type]
    return rows


def memory_show(scene: Scene, args: Args) -> Shown:
    memory = scene.session.memory
    if args["path"]:
        return text_view(args["path"], memory.read(args["path"]), scene.stamp)
    files = {p: memory.read(p) for p in memory.sources if p in scene.session.files}
    return Stack(*(text_view(p, t, scene.stamp) for p, t in files.items())) if files else memory_picture(scene, args)


def memory_add(scene: Scene, args: Args) -> Shown:
    before = scene.session.snapshot
    path = scene.session.memory.add(args["text"], args["to"])
    return _changed(scene, before, f"added to {path}")


def memory_write(scene: Scene, args: Args) -> Shown:
    before = scene.session.snapshot
    text = args["text"]
    scene.session.memory.write(args["path"], text if text.endswith("\n") else f"{text}\n")
    return _changed(scene, before, f"wrote {args['path']}")


def memory_diff(scene: Scene, args: Args) -> Shown:
    a, b = args["a"], args["b"]
    if a is None:
        title = f"memory in turn {len(scene.session.turns)}" if scene.session.turns else "memory"
    else:
        title = f"memory from turn {a} to {'now' if b is None else f'turn {b}'}"
    return diff_view(scene.session.memory.diff(a, b), title, scene.stamp)


def memory_log(scene: Scene, args: Args) -> Shown:
    log: object = scene.session.memory.log().drop(columns=["thread", "cell", "at", "diff"])
    return log


def memory_revert(scene: Scene, args: Args) -> Shown:
    before = scene.session.snapshot
    path = scene.session.memory.revert(args["id"])
    return _changed(scene, before, f"took back {args['id']} in {path}")


def memory_why(scene: Scene, args: Args) -> Shown:
    found: Any = scene.session.memory.why(args["text"])
    shown: object = found.drop(columns=["at"])
    return shown if len(found) else _said(f"no line of memory holds {args['text']!r}")


def memory_edit(scene: Scene, args: Args) -> Shown:
    memory = scene.session.memory
    path = args["path"] or memory.sources[0]
    text = memory.read(path) if path in scene.session.files else ""
    scene.next_cell(f"%%memory {path}\n{text}")
    return _said(f"the next cell holds {path}: edit and run it")


def memory_rm(scene: Scene, args: Args) -> Shown:
    before = scene.session.snapshot
    scene.session.memory.remove(args["path"])
    return _changed(scene, before, f"removed {args['path']}")


def memory_forget(scene: Scene, args: Args) -> Shown:
    memory = scene.session.memory
    found = memory.forget(args["text"]) if args["yes"] else memory.find(args["text"])
    if found.nothing:
        return _said(f"{args['text']!r} stands nowhere in what deepnb recorded")
    rows = [(path, "line", line) for path, lines in found.files.items() for line in lines]
    rows += [(path, "offloaded", f"{count} times") for path, count in found.history.items()]
    rows += [("journal", "entries", str(found.journal))] if found.journal else []
    rows += (
        [("the prompt", "memory", "made anew at the next call" if args["yes"] else "injected now")]
        if found.prompt
        else []
    )
    title = "taken out" if args["yes"] else "found"
    scene.show(table_view(("where", "as", "what"), rows, title=f"{title}: {args['text']}", stamp=scene.stamp))
    if args["yes"]:
        return None
    return notice_view(
        f"%memory forget --yes {args['text']} takes all of it out; what was said in the conversation stays"
    )


def memory_pending(scene: Scene, args: Args) -> Shown:
    return _pending(scene)


def memory_accept(scene: Scene, args: Args) -> Shown:
    held = scene.session.memory.accept(args["id"])
    return diff_view([held.change], f"accepted {held.id}", scene.stamp)


def memory_drop(scene: Scene, args: Args) -> Shown:
    return _said(f"dropped {scene.session.memory.drop(args['id']).id}")


def memory_keep(scene: Scene, args: Args) -> Shown:
    count = scene.session.memory.keep(args["path"])
    return _said(
        f"memory, notes, skills and journal are kept in {scene.session.storage.kept} from now on ({count} files)"
    )


def memory_sources(scene: Scene, args: Args) -> Shown:
    if args["add"]:
        if not args["name"]:
            raise DeepnbError("sources add needs user, project or a path", "%memory sources add project")
        scene.session.memory.add_source(args["name"])
    files = scene.session.files
    rows = [
        (str(i), p, "there" if p in files else "not there yet") for i, p in enumerate(scene.session.memory.sources, 1)
    ]
    return table_view(("", "path", "file"), rows, title="memory sources, in order", stamp=scene.stamp)


# -- %skills


def skills_picture(scene: Scene, args: Args) -> Shown:
    return skills_view(scene.session.skills.all(), scene.session.count, scene.stamp)


def skills_list(scene: Scene, args: Args) -> Shown:
    skills: object = scene.session.skills.list()
    return skills


def skills_show(scene: Scene, args: Args) -> Shown:
    return skill_view(*scene.session.skills.show(args["name"]), scene.stamp)


def skills_new(scene: Scene, args: Args) -> Shown:
    path = scene.session.skills.new(args["name"], args["description"] or "")
    scene.next_cell(f"%%skills {args['name']}\n{scene.session.files[path]}")
    return _said(f"wrote {path}; the next cell holds it: edit and run it")


def skills_write(scene: Scene, args: Args) -> Shown:
    path = scene.session.skills.write(args["name"], args["text"] + "\n")
    broken: list[Skill] = [
        s for s in scene.session.skills.all() if s.problem and args["name"] in f"{s.path} {s.problem}"
    ]
    if broken:
        return notice_view(f"wrote {path}, but it can't be used: {broken[0].problem}", "warning")
    return _said(f"wrote {path}: the agent sees it at its next turn")


# -- all three


def show_help(magic: str) -> Callable[[Scene, Args], Shown]:
    """The subcommand `help` of a magic."""
    return lambda scene, args: text_view("", usage_text(magic, args.get("sub")))


AGENT: Mapping[str, Callable[[Scene, Args], Shown]] = {
    "status": agent_status,
    "use": agent_use,
    "new": agent_new,
    "threads": agent_threads,
    "switch": agent_switch,
    "fork": agent_fork,
    "rewind": agent_rewind,
    "undo": agent_undo,
    "turns": agent_turns,
    "budget": agent_budget,
    "history": agent_history,
    "tools": agent_tools,
    "mount": agent_mount,
    "panel": agent_panel,
    "help": show_help("agent"),
}
MEMORY: Mapping[str, Callable[[Scene, Args], Shown]] = {
    "picture": memory_picture,
    "panel": memory_panel,
    "show": memory_show,
    "add": memory_add,
    "write": memory_write,
    "diff": memory_diff,
    "log": memory_log,
    "revert": memory_revert,
    "why": memory_why,
    "edit": memory_edit,
    "rm": memory_rm,
    "forget": memory_forget,
    "pending": memory_pending,
    "accept": memory_accept,
    "drop": memory_drop,
    "keep": memory_keep,
    "sources": memory_sources,
    "help": show_help("memory"),
}
SKILLS: Mapping[str, Callable[[Scene, Args], Shown]] = {
    "picture": skills_picture,
    "list": skills_list,
    "show": skills_show,
    "new": skills_new,
    "write": skills_write,
    "help": show_help("skills"),
}


def _pending(scene: Scene) -> View:
    return pending_view([Waiting(h.id, h.why, h.change) for h in scene.session.memory.pending()], scene.stamp)


def _said(line: str) -> View:
    return notice_view(line, "ok")


def _gauge(scene: Scene) -> View:
    totals = [c.budget.total for t in scene.session.turns for c in t.calls if c.purpose == "answer" and not c.path]
    return budget_view(scene.session.budget(), scene.stamp, totals)


def _history(scene: Scene) -> View:
    return history_view(scene.session.history(), scene.stamp)


def _changed(scene: Scene, before: Any, title: str) -> View:
    return diff_view(scene.session.memory.between(before, scene.session.snapshot), title, scene.stamp)


def _live(scene: Scene, panel: Any, twin: Callable[[], View], text: str) -> None:
    pictured = (lambda: Folded("as a static picture", twin())) if panel is not None else twin
    scene.live.show(scene.screen, panel, pictured, text, scene.cell())
