"""`%agent subagents`: list, show, add and remove the agents that tasks are delegated to."""

from pathlib import Path

from deepnb.core.errors import InvalidError
from deepnb.magics.pictures import subagent_row, subagents_picture
from deepnb.magics.scene import Args, Result, Scene, ask_before_removal, notice
from deepnb.views.notice import notice_view
from deepnb.views.subagents import subagent_view


def agent_subagents(scene: Scene, args: Args) -> Result:
    word, _, rest = str(args["what"] or "").strip().partition(" ")
    if word == "add" and rest.strip():
        return _add(scene, rest.strip(), bool(args["yes"]))
    if word == "remove" and rest.strip():
        name = rest.strip()
        at = next((one.path for one in scene.session.subagents.list_subagents() if one.agent.name == name), "")
        do = f"%agent subagents --yes remove {name} deletes it"
        ask_before_removal(scene, at, bool(args["yes"]) or not at, do)
        path = scene.session.subagents.remove(name)
        return notice(f"removed {path} (%memory log lists the change, %memory revert restores it)")
    if word in ("add", "remove"):
        raise InvalidError(
            f"{word} needs the name of a subagent",
            f"%agent subagents {word} NAME{' (or FILE.md, or DIR)' * (word == 'add')}",
        )
    if not word:
        return subagents_picture(scene.session.subagents)
    row = subagent_row(scene.session.subagents, *scene.session.subagents.show(word))
    return subagent_view(row, scene.session.subagents.text(row.listed), scene.stamp)


def written(scene: Scene, path: str) -> Result:
    """What is said when a cell has written a subagent's file."""
    listed = next((one for one in scene.session.subagents.list_subagents() if one.path == path), None)
    if listed is None:
        return notice_view(f"wrote {path}, but it is not a subagent: a subagent is a file /agents/NAME.md", "warning")
    if listed.problem:
        return notice_view(f"wrote {path}, but it can't be used: {listed.problem}", "warning")
    notes = "".join(f"; note: {note}" for note in listed.notes)
    return notice(f"wrote {path}: the agent can call {listed.agent.name} from the next turn on{notes}")


def _add(scene: Scene, what: str, replace: bool) -> Result:
    subagents = scene.session.subagents
    name, _, description = what.partition(" ")
    if what.endswith(".md") or "/" in name or Path(what).expanduser().is_dir():
        names = subagents.add(what, replace=replace)
        return notice(
            f"added {', '.join(names)}: the agent can call {'it' if len(names) == 1 else 'them'} from the next turn on"
        )
    path = subagents.new(name, description.strip(), replace=replace)
    scene.next_cell(f"%%memory {path}\n{scene.session.files[path]}")
    return notice(
        f"wrote {path}; the next cell has its text: edit it and run the cell (where no cell appears, %memory show {path}"
        " shows it). The agent can call it from the next turn on"
    )
