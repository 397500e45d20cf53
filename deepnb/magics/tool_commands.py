"""`%agent tools` and `%agent subagents`: list what the agent works with, add and remove it, and say what needs approval."""

import re
from collections.abc import Sequence
from typing import Any, cast

from deepnb.magics.ask import MODES
from deepnb.magics.pictures import subagent_row, subagents_picture
from deepnb.magics.scene import Args, Result, Scene, ask_before_removal, notice, put_file
from deepnb.session.tools import TIMEOUT
from deepnb.values.errors import InvalidError, NotFoundError
from deepnb.values.files import disk_path
from deepnb.views.subagents import subagent_view
from deepnb.views.text import counted
from deepnb.views.view import notice_view, table_view

_ADD = "%agent tools add NAME, or add mcp:COMMAND, or add mcp:URL"
_OPTIONS = ("--name", "--env", "--timeout")
_AS_PROMPT = "%agent -- tools ... sends this as a prompt"


def agent_tools(scene: Scene, args: Args) -> Result:
    word, *names = str(args["what"] or "").split()[:2] or [""]
    rest = str(args["what"] or "")[len(word) :].strip()
    do = f"%agent tools {word} NAME; %agent tools lists the tools"
    no_name = InvalidError(f"{word} needs the name of a tool", do)
    if word == "add":
        return _add_server(scene, rest) if re.search(r"(?:^|\s)mcp:", rest) else _add(scene, rest.split())
    if word == "remove":
        if not (names := rest.split()):
            raise InvalidError("remove needs the name of a tool or of an MCP server", "%agent tools lists them")
        removed = scene.session.tools.remove(*names)
        servers = f" with {counted(len(removed), 'tool')}" if len(removed) != len(names) else ""
        return notice(f"removed {', '.join(names)}{servers} from the next turn on")
    if word in ("off", "on"):
        if not (names := rest.split()):
            raise no_name
        (scene.session.tools.on if word == "on" else scene.session.tools.off)(*names)
        return notice(f"{', '.join(names)}: {word} from the next turn on")
    if not word:
        return _list(scene)
    approvals, rule = scene.session.approvals, cast(Any, word)
    if word in MODES and word != "allow":
        if names:
            raise InvalidError(f"{word} applies to all tools", f"%agent tools {word}, or %agent tools ask {names[0]}")
        approvals.mode(rule)
        return notice(f"{word}: {MODES[word]}, from the next call on")
    if not names:
        raise no_name
    approvals.rule(names[0], rule)
    return notice(f"{names[0]}: {approvals.words(names[0])}, from the next call on")


def _list(scene: Scene) -> Result:
    approvals = scene.session.approvals
    mode, attached = approvals.policy.mode, scene.session.options.graph
    policy = f"{attached.name} decides which calls need approval" if attached else f"{mode}: {MODES[mode]}"
    rows = [(tool, approvals.words(tool), does) for tool, does in scene.session.workspace.built.tools]
    table = table_view(("tool", "calls", "description"), rows, title=f"tools · {policy}")
    servers, off = scene.session.tools.servers, scene.session.options.tools_off
    if not servers and not off:
        return table
    scene.show(table)
    if off:
        scene.show(notice_view(f"off: {', '.join(off)}. %agent tools on NAME brings a tool back"))
    if not servers:
        return None
    for one in servers:
        again = f"%agent tools add {one.address}"
        if one.problem:
            ended = f"the MCP server {one.name} has ended: {one.problem}. {again} starts it again"
            scene.show(notice_view(ended, "warning"))
        if one.changed:
            changed = f"{', '.join(one.changed)}: changed by the server since you added it, so calls are refused."
            scene.show(notice_view(f"{changed} {again} shows its tools and adds them again", "warning"))
    lines = [(one.name, "ended" if one.problem else "running", len(one.tools), one.address) for one in servers]
    return table_view(("MCP server", "status", "tools", "started by"), lines, right=(2,))


def _add(scene: Scene, names: Sequence[str]) -> Result:
    if not names:
        raise InvalidError("add needs the name of a function, or an MCP server", _ADD)
    found = []
    for name in names:
        first, *rest = name.split(".")
        if first not in scene.namespace:
            raise NotFoundError(f"there is no variable {first!r}", f"define the function first; {_AS_PROMPT}")
        value = scene.namespace[first]
        for part in rest:
            if not hasattr(value, part):
                raise NotFoundError(f"{first} has no {part!r}", f"check the name; {_AS_PROMPT}")
            value = getattr(value, part)
        found.append(value)
    added = scene.session.tools.add(*found).names
    it = "it" if len(added) == 1 else "them"
    asks = [name for name in added if scene.session.approvals.words(name) == "ask"]
    ask = f"; calls of {', '.join(asks)} need your approval (deepnb.reads marks what changes nothing)" if asks else ""
    return notice(f"added {', '.join(added)}: the agent can call {it} from the next turn on{ask}")


def _add_server(scene: Scene, text: str) -> Result:
    before, _, spec = text.partition("mcp:")
    options: dict[str, str] = {}
    words = [part for word in before.split() for part in word.split("=", 1)]
    while words:
        if (option := words.pop(0)) not in _OPTIONS or not words:
            what = f"{option} needs a value" if option in _OPTIONS else f"tools add has no option {option!r}"
            raise InvalidError(what, "%agent tools add --name NAME --env VARIABLE,... --timeout SECONDS mcp:COMMAND")
        options[option] = words.pop(0)
    env = [name for name in options.get("--env", "").split(",") if name]
    try:
        timeout = float(options.get("--timeout", TIMEOUT))
    except ValueError:
        raise InvalidError(f"--timeout {options['--timeout']!r} is not a number of seconds", "--timeout 600") from None
    added = scene.session.tools.add(f"mcp:{spec}", name=options.get("--name"), env=env, timeout=timeout)
    for line in added.left_out:
        scene.show(notice_view(f"left out: {line}", "warning"))
    if added.changed:
        was = "it is not what it was" if len(added.changed) == 1 else "they are not what they were"
        now = "read below what the server says now. Calls need your approval again"
        scene.show(notice_view(f"{', '.join(added.changed)}: {was} when added before; {now}", "warning"))
    asks = all(scene.session.approvals.words(name) == "ask" for name in added.names)
    which = "their calls need your approval" if asks else "%agent tools lists which of their calls need your approval"
    scene.show(notice(f"{counted(len(added.names), 'tool')} of an MCP server, from the next turn on; {which}"))
    lines = dict(scene.session.workspace.built.tools)
    return table_view(("tool", "description"), [(name, lines.get(name, "")) for name in added.names])


def agent_subagents(scene: Scene, args: Args) -> Result:
    word, _, rest = str(args["what"] or "").strip().partition(" ")
    subagents, rest = scene.session.subagents, rest.strip()
    if word == "add" and rest:
        name, _, description = rest.partition(" ")
        if rest.endswith(".md") or "/" in name or disk_path(rest).is_dir():
            added = subagents.add(rest, replace=bool(args["yes"]))
            it = "it" if len(added) == 1 else "them"
            return notice(f"added {', '.join(added)}: the agent can call {it} from the next turn on")
        path = subagents.new(name, description.strip(), replace=bool(args["yes"]))
        done = put_file(scene, path, f"%%memory {path}", f"%memory show {path}")
        return notice(f"{done}. The agent can call it from the next turn on")
    if word == "remove" and (name := rest):
        at = next((one.path for one in subagents.list_subagents() if one.agent.name == name), "")
        do = f"%agent subagents --yes remove {name} deletes it"
        ask_before_removal(scene, at, bool(args["yes"]) or not at, do)
        path = subagents.remove(name)
        return notice(f"removed {path} (%memory log lists the change, %memory revert restores it)")
    if word in ("add", "remove"):
        also = " (or FILE.md, or DIR)" if word == "add" else ""
        raise InvalidError(f"{word} needs the name of a subagent", f"%agent subagents {word} NAME{also}")
    if not word:
        return subagents_picture(subagents)
    row = subagent_row(subagents, *subagents.show(word))
    return subagent_view(row, subagents.text(row.listed), scene.stamp)


def written(scene: Scene, path: str) -> Result:
    """Return what is said when a cell has written a subagent's file."""
    listed = next((one for one in scene.session.subagents.list_subagents() if one.path == path), None)
    if listed is None:
        return notice_view(f"wrote {path}, but it is not a subagent: a subagent is a file /agents/NAME.md", "warning")
    if listed.problem:
        return notice_view(f"wrote {path}, but it can't be used: {listed.problem}", "warning")
    notes = "".join(f"; note: {note}" for note in listed.notes)
    return notice(f"wrote {path}: the agent can call {listed.agent.name} from the next turn on{notes}")
