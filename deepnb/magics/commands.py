"""The subcommands of %agent: session and arguments -> what is shown."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from deepnb.magics.ask import FORGETS, resume, show_asked
from deepnb.magics.code_cells import agent_code
from deepnb.magics.panel_commands import agent_dashboard, agent_panel
from deepnb.magics.pictures import budget_picture, history_picture, status_picture
from deepnb.magics.scene import Args, Command, Result, Scene, notice
from deepnb.magics.tool_commands import agent_subagents, agent_tools
from deepnb.models.keys import PROVIDERS, keep_key
from deepnb.values.errors import InvalidError, NotFoundError
from deepnb.values.server_address import is_address
from deepnb.values.text import as_word
from deepnb.values.turn import Event, Notice
from deepnb.values.wings import home, part
from deepnb.views.agent import features_view, models_view, stack_view
from deepnb.views.compaction import compaction_view
from deepnb.views.search_marks import found_view
from deepnb.views.text import counted
from deepnb.views.threads import threads_view, turns_view
from deepnb.views.turn import long_turn_view
from deepnb.views.view import View, notice_view, table_view
from deepnb.views.xray import XrayView
from deepnb.widgets.progress import Progress
from deepnb.wiring.attachment import is_graph
from deepnb.workshop.notebooks import notebook_path

_RUN = 10_000
"""Messages that one range may name."""


def agent_record(scene: Scene, args: Args) -> Result:
    session, file = scene.session, args["file"]
    running = session.recording
    if file is None:
        return notice(running.line if running is not None else "nothing is being recorded")
    if file == "stop":
        if running is None or not running.active:
            raise NotFoundError("nothing is being recorded", "%agent record FILE.jsonl starts a tape")
        running.stop()
        return notice(f"{running.line}: %agent replay {running.name} plays it")
    made = session.record(file.strip("\"'"), overwrite=bool(args["yes"]))
    return notice(f"recording to {made.name} from the next turn on, without credentials: %agent record stop ends it")


def agent_replay(scene: Scene, args: Args) -> Result:
    session = scene.session
    if args["file"] is None:
        tape = getattr(getattr(session.options.model, "player", None), "tape", None)
        return notice(f"the model is {tape.label}" if tape is not None else "no tape is being played")
    tape = session.replay(args["file"].strip("\"'"))
    for line in tape.notices:
        scene.show(notice_view(line, "warning"))
    of = " and ".join(model.name for model in tape.models)
    requests = counted(len(tape.exchanges), "request") + (f" of {of}" if of else "")
    return notice(f"{tape.label} from the next turn on: {requests}, recorded {tape.made[:10]}")


def agent_persist(scene: Scene, args: Args) -> Result:
    if args["where"]:
        lines = scene.session.persist(args["where"].strip("\"'")).lines
        for line in lines:
            scene.show(notice_view(line, "ok"))
        show_asked(scene, len(lines))
        return None
    if (kept := scene.session.workspace.persistence) is not None:
        files = f": {kept.database.files}" if kept.database.files else ""
        return notice(f"this session is kept in {kept.database.where}{files}")
    name = "session.deepnb.db"
    if (notebook := notebook_path(scene.namespace)) is not None:
        file = notebook.with_suffix(".deepnb.db")
        name = os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
    return notice(f"{FORGETS}; to keep them: %agent persist {as_word(name)}")


def agent_use(scene: Scene, args: Args) -> Result:
    if is_graph(graph := scene.namespace.get(args["model"])):
        return attach(scene, args, graph)
    scheme, colon, _ = (args["model"] or "").partition(":")
    if is_address(args["model"]) or (colon and home(f"%agent use {scheme}:")):
        attached: Result = part(f"%agent use {scheme}:")(scene, args)
        return attached
    if args["model"] is None and args["base_url"] is not None:
        return models_view(scene.session.models(args["base_url"]), scene.stamp)
    if args["model"] is None:
        features = scene.session.features
        if features.listed:
            return features_view(features, scene.stamp)
        if not scene.screen.notebook:
            return notice(f"the model is {scene.session.model}")
        from deepnb.widgets.models import ModelPanel

        session, words = scene.session, "agent use: a model to choose, and a field for a provider's key"
        providers = [name for name, one in PROVIDERS.items() if one.typed and one.key]
        use = cast(Callable[[str], View], lambda model: agent_use(scene, {**args, "model": model}))
        keep = cast(Callable[[str, str], View], lambda name, key: agent_key(scene, {"provider": name, "key": key}))
        panel = ModelPanel(session.models, use, providers, keep)
        scene.show_panel(panel, lambda: notice(f"the model is {session.model}"), words)
        return None
    back = scene.sessions.current is not scene.sessions.own
    settings = {name: args[name] for name in ("base_url", "max_tokens", "temperature", "timeout")}
    name = scene.sessions.own.use(args["model"], **settings)
    session = scene.sessions.use_own()
    rule, sets = session.rule, "%config DeepNB.window = N sets it"
    size = f"a window of {rule.window:,} tokens" if rule.window else f"a window of unknown size: {sets}"
    size += f", a guess until its server tells: {sets}" if rule.guessed else ""
    where = f"; back in thread {session.thread} of deepnb's agent" if back else ""
    return notice(f"{name} from the next turn on, with {size}{where}")


def agent_key(scene: Scene, args: Args) -> Result:
    provider = args["provider"]
    if args.get("key"):  # typed into the page
        scene.session.workspace.current.idle()
        keep_key(provider, args["key"])
    else:
        scene.session.key(provider)
    return notice(f"key for {provider} kept in this process only; %agent models lists what can be used now")


def agent_new(scene: Scene, args: Args) -> Result:
    empty, shared = bool(args["empty"]), bool(args["shared"])
    name = scene.session.new(args["name"], empty=empty, shared=shared)
    kept = "memory and skills are kept"
    kind = "it starts without memory and skills, and what it learns stays in it" if empty else kept
    also = "; others can read it, so it does not get MEMORY.md" if shared else ""
    return notice(f"new thread {name}; {kind}{also} (%agent undo reverses this)")


def agent_switch(scene: Scene, args: Args) -> Result:
    session = scene.sessions.switch(args["name"])
    if (instead := scene.sessions.instead("agent", "status")) is not None:
        return instead(scene, args)
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
    name, work = scene.session.fork(args["name"], args["at"]), scene.session.workspace
    source = work.threads.info(work.thread).parent
    return notice(f"thread {name}, forked from {source} (%agent undo reverses this)")


def agent_rewind(scene: Scene, args: Args) -> Result:
    scene.session.rewind(args["turn"], memory=bool(args["memory"]))
    apart = scene.session.workspace.current.is_apart
    kept = "with the files of its state" if apart else "memory too" if args["memory"] else "memory is unchanged"
    return notice(f"thread {scene.session.thread} is back at turn {args['turn']}, {kept} (%agent undo reverses this)")


def agent_undo(scene: Scene, args: Args) -> Result:
    return notice(f"undone: {scene.session.undo()}; thread {scene.session.thread}, turn {len(scene.session.turns)}")


def agent_turns(scene: Scene, args: Args) -> Result:
    if (which := args["which"]) is None:
        return turns_view(scene.session.turns, scene.stamp)
    if which.isdecimal():
        return long_turn_view(scene.session.turn(int(which)))
    return found_view(scene.session.passages(which), which, scene.stamp)


def agent_budget(scene: Scene, args: Args) -> Result:
    listed = bool(args["items"])
    scene.show(replace(budget_picture(scene.session), unfolded=listed))
    alone = re.search(r"^%?agent\s+budget\s*\Z", scene.typed().rstrip(), re.MULTILINE)  # nobody takes its value
    return scene.session.ledger() if scene.session.turns and not listed and not alone else None


def agent_xray(scene: Scene, args: Args) -> Result:
    turn, _, call = str(args["at"] or "").partition(".")
    return XrayView(scene.session.xray(int(turn) if turn else None, int(call) if call else None), scene.stamp)


def agent_compact(scene: Scene, args: Args) -> Result:
    events: list[Event] = []

    with Progress(scene.screen, "compacting the context ...", failed="not compacted") as progress:
        offload = scene.session.compact(events.append)
    notes = [event.text for event in events if isinstance(event, Notice)]
    progress.end(compaction_view(offload, notes, scene.stamp))
    return None


def agent_history(scene: Scene, args: Args) -> Result:
    if args["bring"] is None:
        return history_picture(scene.session, args["search"])
    if args["bring"] == "none":
        scene.session.bring_back(None)
        return notice("nothing is added to the next prompt")
    section, _, messages = args["bring"].partition(":")  # 1:2,5-7 is section 1 and its messages 2, 5, 6 and 7
    runs = [run.partition("-") for run in messages.split(",") if run]
    numbers = [n for first, _, last in runs for n in range(int(first), min(int(last or first), int(first) + _RUN) + 1)]
    brought = scene.session.bring_back(int(section), numbers if messages else None)
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
    spec = re.sub(r"^[\"']?(disk:)[\"']?(.*?)[\"']?$", r"\1\2", args["spec"] or "")  # "disk:my notes" | disk:"my notes"
    made = scene.session.mount(args["path"], spec, whole=bool(args["yes"])) if args["path"] else None
    mounts = scene.session.workspace.home.storage.mounts.values()
    rows = [(m.prefix, m.kind, m.where) for m in mounts]
    if made and made.kind == "disk" and not Path(made.where).exists():
        scene.show(notice_view(f"{made.where} does not exist yet: the first file written below {made.prefix} makes it"))
    if made and made.note:
        scene.show(notice_view(made.note))
    nothing = "no mounts: all files are in the kernel's state"
    return table_view(("path", "kind", "where"), rows, title="mounts", empty=nothing)


_COMMANDS: Iterable[Command] = (
    *(agent_use, agent_key, agent_new, agent_switch, agent_fork, agent_rewind, agent_undo, agent_turns, agent_budget),
    *(agent_xray, agent_compact, agent_history, agent_transcript, agent_export, agent_record, agent_replay),
    *(agent_code, agent_tools, agent_subagents, agent_mount, agent_persist, agent_panel, agent_dashboard),
)
AGENT: dict[str, Command] = {
    "status": lambda scene, _: status_picture(scene.session),
    "models": lambda scene, _: models_view(scene.session.models(), scene.stamp),
    "threads": lambda scene, _: threads_view(scene.sessions.threads(), scene.stamp),
    "graph": lambda scene, _: stack_view(scene.session.stack(), scene.stamp),
    **{command.__name__.removeprefix("agent_"): command for command in _COMMANDS},
}


def attach(scene: Scene, args: Args, graph: Any) -> Result:
    """Put a graph in the place of the agent in use; what it lacks is said when it is new."""
    name = args["model"]
    session, new = scene.sessions.attach(name, graph, args["messages_key"], args["header"])
    if session.turns or session.snapshot.messages:
        session.new()
    scene.show(notice(f"thread {session.thread} on {name}; %agent use MODEL goes back to deepnb's agent"))
    return features_view(session.features, session.memory.stamp) if new else None
