"""The subcommands of %skills: session and arguments -> what is shown."""

from collections.abc import Iterable

from deepnb.magics.panel_commands import skills_panel
from deepnb.magics.pictures import skills_picture
from deepnb.magics.scene import Args, Command, Result, Scene, ask_before_removal, notice, put_file
from deepnb.views.skills import findings_view, skill_view
from deepnb.views.text import counted
from deepnb.views.view import notice_view, table_view


def skills_new(scene: Scene, args: Args) -> Result:
    name = args["name"]
    path = scene.session.skills.new(name, args["description"] or "")
    return notice(put_file(scene, path, f"%%skills {name}", f"%skills show {name}"))


def skills_write(scene: Scene, args: Args) -> Result:
    path = scene.session.skills.write(args["name"], args["text"] + "\n")
    broken = next((s for s in scene.session.skills.list_skills() if s.problem and s.path == path), None)
    if broken is not None:
        return notice_view(f"wrote {path}, but it can't be used: {broken.problem}", "warning")
    return notice(f"wrote {path}: the agent sees it from the next turn on")


def skills_add(scene: Scene, args: Args) -> Result:
    skills = scene.session.skills
    if args["what"] is None:
        there = {s.name for s in skills.list_skills()}
        rows = [(s.name, s.description, "added" if s.name in there else "") for s in skills.bundled()]
        return table_view(("skill", "description", ""), rows, title="skills to add: type %skills add NAME, DIR or ZIP")
    names = skills.add(args["what"], replace=bool(args["yes"]))
    for line in names.left_out:
        scene.show(notice_view(f"not added: {line}", "warning"))
    it = "it" if len(names) == 1 else "them"
    return notice(f"added {', '.join(names)}: the agent sees {it} from the next turn on")


def skills_validate(scene: Scene, args: Args) -> Result:
    if found := scene.session.skills.validate_findings(args["path"]):
        return findings_view(found, scene.stamp)
    what = args["path"] or f"all skills ({len(scene.session.skills.list_skills())})"
    return notice(f"{what}: nothing to fix")


def skills_enable(scene: Scene, args: Args) -> Result:
    scene.session.skills.enable(args["name"])
    return notice(f"{args['name']} is enabled: the agent sees it from the next turn on")


def skills_disable(scene: Scene, args: Args) -> Result:
    name = args["name"]
    scene.session.skills.disable(name)
    return notice(f"{name} is disabled: it is kept, but the agent does not see it (%skills enable {name})")


def skills_remove(scene: Scene, args: Args) -> Result:
    name = str(args["name"])
    at = next((one.path for one in scene.session.skills.list_skills() if name in (one.name, one.directory)), "")
    ask_before_removal(scene, at, bool(args["yes"]) or not at, f"%skills remove --yes {name} deletes its directory")
    gone = scene.session.skills.remove(name)
    back = f"; {gone.overrides[-1]} is used again" if gone.overrides else ""
    how = "(%memory log lists the change, %memory revert restores it)"
    return notice(f"removed {gone.path.rpartition('/')[0]}{back} {how}")


def skills_pin(scene: Scene, args: Args) -> Result:
    skills = scene.session.skills
    if args["name"] is None:
        pinned = ", ".join(skills.pinned)
        return notice(f"added to the next prompt: {pinned}" if pinned else "no skill is pinned")
    if args["off"]:
        skills.unpin(args["name"])
        return notice(f"{args['name']} is no longer added to the next prompt")
    return notice(f"{args['name']} is added to the next prompt, once: {counted(skills.pin(args['name']), 'token')}")


_COMMANDS: Iterable[Command] = (
    *(skills_panel, skills_new, skills_write, skills_add, skills_validate),
    *(skills_enable, skills_disable, skills_remove, skills_pin),
)
SKILLS: dict[str, Command] = {
    "picture": lambda scene, _: skills_picture(scene.session.skills),
    "list": lambda scene, _: scene.session.skills.list(),
    "show": lambda scene, args: skill_view(*scene.session.skills.show(args["name"]), scene.stamp),
    **{command.__name__.removeprefix("skills_"): command for command in _COMMANDS},
}
