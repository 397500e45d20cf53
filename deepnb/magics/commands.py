"""The subcommands of %agent: session and arguments -> what is shown."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from deepnb.core.errors import InvalidError
from deepnb.core.server_address import is_address
from deepnb.core.values import Event, ModelStarted, Notice, Retry
from deepnb.magics.ask import resume, show_asked
from deepnb.magics.attach_command import attach, attach_server, held_graph
from deepnb.magics.background import agent_jobs
from deepnb.magics.code_cells import agent_code
from deepnb.magics.open_commands import agent_open
from deepnb.magics.package_command import agent_package
from deepnb.magics.panel_commands import (
    agent_dashboard,
    agent_graph,
    agent_panel,
)
from deepnb.magics.persist_command import agent_persist
from deepnb.magics.pictures import budget_picture, history_picture, status_picture
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.magics.subagent_commands import agent_subagents
from deepnb.magics.tape_commands import agent_record, agent_replay
from deepnb.magics.tool_commands import agent_tools
from deepnb.views.compaction import compaction_view
from deepnb.views.features import features_view
from deepnb.views.models import models_view
from deepnb.views.notice import notice_view
from deepnb.views.numbers import counted
from deepnb.views.opened import found_view, opened_view
from deepnb.views.table import table_view
from deepnb.views.threads import threads_view, turns_view
from deepnb.views.turn import long_turn_view
from deepnb.views.xray import xray_view
from deepnb.widgets.progress import Progress

_RUN = 10_000
"""Messages that one range may name."""

# -- %agent


def agent_status(scene: Scene, args: Args) -> Result:
    return status_picture(scene.session)


def agent_use(scene: Scene, args: Args) -> Result:
    if (graph := held_graph(scene, args["model"])) is not None:
        return attach(scene, args, graph)
    if is_address(args["model"]):
        return attach_server(scene, args)
    if args["model"] is None and args["base_url"] is not None:
        return models_view(scene.session.models(args["base_url"]), scene.stamp)
    if args["model"] is None:
        features = scene.session.features
        return features_view(features, scene.stamp) if features else notice(f"the model is {scene.session.model}")
    back = not scene.sessions.is_own
    settings = {name: args[name] for name in ("base_url", "max_tokens", "temperature", "timeout")}
    name = scene.sessions.own.use(args["model"], **settings)
    session = scene.sessions.use_own()
    rule, sets = session.rule, "%config DeepNB.window = N sets it"
    size = f"a window of {rule.window:,} tokens" if rule.window else f"a window of unknown size: {sets}"
    size += f", a guess until its server tells: {sets}" if rule.guessed else ""
    where = f"; back in thread {session.thread} of deepnb's agent" if back else ""
    return notice(f"{name} from the next turn on, with {size}{where}")


def agent_models(scene: Scene, args: Args) -> Result:
    return models_view(scene.session.models(), scene.stamp)


def agent_key(scene: Scene, args: Args) -> Result:
    provider = args["provider"]
    scene.session.key(provider)
    return notice(f"key for {provider} kept in this process only; %agent models lists what can be used now")


def agent_new(scene: Scene, args: Args) -> Result:
    empty, shared = bool(args["empty"]), bool(args["shared"])
    name = scene.session.new(args["name"], empty=empty, shared=shared)
    kind = (
        "it starts without memory and skills, and what it learns stays in it" if empty else "memory and skills are kept"
    )
    also = "; others can read it, so it does not get MEMORY.md" if shared else ""
    return notice(f"new thread {name}; {kind}{also} (%agent undo reverses this)")


def agent_threads(scene: Scene, args: Args) -> Result:
    return threads_view(scene.sessions.threads(), scene.stamp)


def agent_switch(scene: Scene, args: Args) -> Result:
    session = scene.sessions.switch(args["name"])
    if (opened := scene.sessions.reading) is not None:
        return opened_view(opened.index, opened.thread)
    name, turns = session.thread, len(session.turns)
    scene.show(notice(f"thread {name}, at turn {turns}" if turns else f"thread {name}, no turns yet"))
    if session is not scene.session:
        return None
    if session.workspace.thread.runs:
        resume(scene, None)
    elif not scene.cards.are_shown(session.asked):
        show_asked(scene, 1)
    return None


def agent_fork(scene: Scene, args: Args) -> Result:
    name = scene.session.fork(args["name"], args["at"])
    return notice(f"thread {name}, forked from {scene.thread.parent} (%agent undo reverses this)")


def agent_rewind(scene: Scene, args: Args) -> Result:
    scene.session.rewind(args["turn"], memory=bool(args["memory"]))
    apart = scene.session.workspace.home.paths.is_apart
    kept = "with the files of its state" if apart else "memory too" if args["memory"] else "memory is unchanged"
    return notice(f"thread {scene.session.thread} is back at turn {args['turn']}, {kept} (%agent undo reverses this)")


def agent_undo(scene: Scene, args: Args) -> Result:
    return notice(f"undone: {scene.session.undo()}; thread {scene.session.thread}, turn {len(scene.session.turns)}")


def agent_turns(scene: Scene, args: Args) -> Result:
    which = args["which"]
    if which is None:
        return turns_view(scene.session.turns, scene.stamp)
    if which.isdigit():
        return long_turn_view(scene.session.turn(int(which)))
    return found_view(scene.session.passages(which), which, scene.stamp)


def agent_budget(scene: Scene, args: Args) -> Result:
    listed = bool(args["items"])
    scene.show(replace(budget_picture(scene.session), unfolded=listed))
    return scene.session.ledger() if scene.session.turns and not listed else None


def agent_xray(scene: Scene, args: Args) -> Result:
    turn, _, call = str(args["at"] or "").partition(".")
    return xray_view(scene.session.xray(int(turn) if turn else None, int(call) if call else None), scene.stamp)


def agent_compact(scene: Scene, args: Args) -> Result:
    notes: list[str] = []
    progress = Progress(scene.screen, "compacting the context ...")

    def report(event: Event) -> None:
        if isinstance(event, ModelStarted):
            doing = {"flush": "asking the model what is worth keeping", "summary": "summarizing"}.get(
                event.call.purpose
            )
            progress.say(f"compacting the context: {doing} ..." if doing else "compacting the context ...")
        elif isinstance(event, Retry):
            progress.say(f"compacting the context: {event.line} ...")
        elif isinstance(event, Notice):
            notes.append(event.text)

    try:
        offload = scene.session.compact(report)
    except BaseException:
        progress.stop("not compacted")
        raise
    progress.end(compaction_view(offload, notes, scene.stamp))
    return None


def agent_history(scene: Scene, args: Args) -> Result:
    if args["bring"] is None:
        return history_picture(scene.session, args["search"])
    if args["bring"] == "none":
        scene.session.bring_back(None)
        return notice("nothing is added to the next prompt")
    brought = scene.session.bring_back(*_picked(args["bring"]))
    return notice(f"added to the next prompt: {brought.line if brought else 'nothing'}")


def agent_transcript(scene: Scene, args: Args) -> Result:
    from deepnb.session.tables import transcript_in_short

    session = scene.session
    table: object = transcript_in_short(session.transcript(args["thread"]))
    one = session.workspace.transcripts[args["thread"] or session.thread]
    for line in one.notices():
        scene.show(notice_view(line, "warning"))
    where = f"kept in {one.place}" if one.place else "kept in this kernel only: %memory keep DIR also keeps it on disk"
    where += "; session.transcript() has every column"
    scene.show(notice_view(f"transcript of thread {one.thread}, {where}", "ok"))
    return table


def agent_export(scene: Scene, args: Args) -> Result:
    session = scene.session
    name = args["thread"] or session.thread
    file = args["file"].strip("\"'")
    session.export(file, name, overwrite=bool(args["yes"]))
    turns = len(session.workspace.threads[name].turns)
    return notice(f"thread {name} ({counted(turns, 'turn')}) written to {file}, without credentials")


def agent_mount(scene: Scene, args: Args) -> Result:
    if args["path"] and not args["spec"]:
        raise InvalidError(f"say where to mount {args['path']}", f"%agent mount {args['path']} disk:DIR")
    made = scene.session.mount(args["path"], args["spec"], whole=bool(args["yes"])) if args["path"] else None
    mounts = scene.session.workspace.home.storage.mounts.values()
    rows = [(m.prefix, m.kind, m.where) for m in mounts]
    if made and made.kind == "disk" and not Path(made.where).exists():
        scene.show(notice_view(f"{made.where} does not exist yet: the first file written below {made.prefix} makes it"))
    if made and made.note:
        scene.show(notice_view(made.note))
    return table_view(
        ("path", "kind", "where"), rows, title="mounts", empty="no mounts: all files are in the kernel's state"
    )


AGENT: Mapping[str, Callable[[Scene, Args], Result]] = {
    "status": agent_status,
    "use": agent_use,
    "models": agent_models,
    "key": agent_key,
    "new": agent_new,
    "open": agent_open,
    "threads": agent_threads,
    "switch": agent_switch,
    "fork": agent_fork,
    "rewind": agent_rewind,
    "undo": agent_undo,
    "turns": agent_turns,
    "jobs": agent_jobs,
    "budget": agent_budget,
    "xray": agent_xray,
    "compact": agent_compact,
    "history": agent_history,
    "transcript": agent_transcript,
    "export": agent_export,
    "package": agent_package,
    "record": agent_record,
    "replay": agent_replay,
    "code": agent_code,
    "tools": agent_tools,
    "subagents": agent_subagents,
    "mount": agent_mount,
    "persist": agent_persist,
    "graph": agent_graph,
    "panel": agent_panel,
    "dashboard": agent_dashboard,
}


NEEDS: Mapping[tuple[str, str], str] = {
    ("memory", ""): "memory",
    ("skills", ""): "skills",
    ("agent", "history"): "history",
    ("agent", "subagents"): "subagents",
    ("agent", "mount"): "mounts",
}
"""Magic, subcommand (all, where it is empty) -> what a graph of somebody else's must have for it."""


def _picked(text: str) -> tuple[int, list[int] | None]:
    """`1:2,5-7` as section 1 and its messages 2, 5, 6 and 7; `1` alone as all of them."""
    section, _, messages = text.partition(":")
    runs = [run.partition("-") for run in messages.split(",") if run]
    numbers = [n for first, _, last in runs for n in range(int(first), min(int(last or first), int(first) + _RUN) + 1)]
    return int(section), numbers if messages else None
