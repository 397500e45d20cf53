"""This agent as a LangGraph application: what goes into it, through the gate that memory passes, and writing it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from posixpath import normpath

from deepnb.backends.tree import is_control
from deepnb.context.history import PREFIX
from deepnb.gate import credentials, leaks, reasons, redact
from deepnb.gate.directives import is_directive, unsaid
from deepnb.memory.layers import NOTES, guarded_paths
from deepnb.running.workspace import Workspace
from deepnb.session.tools import name_of
from deepnb.subagents.files import check, tool_names
from deepnb.values.agent import FOLDER
from deepnb.values.code import CODE_TOOLS, PROPOSAL_TOOLS
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError
from deepnb.values.files import ALL_FILES, disk_path, make_folder, utf8, write_whole
from deepnb.wings.package.agent_file import agent_file
from deepnb.wings.package.literals import CantWriteError
from deepnb.wings.package.module import NAME, module_of, requirement
from deepnb.wings.package.values import LeftOut, Package, PackageFile
from deepnb.workshop.approvals import READS

FILES = "files"
"""The directory of the application that holds the agent's own files."""

_ENGINE = ("deepnb", "deepagents", "langchain", "langgraph")
_BY_NAME = "is packaged only if you name it"
_WHAT: Mapping[str, str] = {
    "langgraph.json": "what the server reads",
    "agent.py": "the graph, with your options",
    f"{NAME}.py": "source of your tools",
    "requirements.txt": "packages, in the versions of this kernel",
    "README.md": "how to serve it",
}


def package(workspace: Workspace, directory: str | Path, include: Sequence[str], *, write: bool) -> Package:
    """Return what an application of this agent has; with `write`, it is written to the directory."""
    from deepnb.workshop.namespace import namespace_tools

    workspace.current.idle()
    options = workspace.options
    if options.graph is not None:
        what = "only deepnb's own agent is packaged, not your graph"
        raise RefusedError(what, "name the graph in a langgraph.json of your own")
    if not str(directory).strip():
        raise InvalidError("package needs a directory", "%agent package DIR")
    place = disk_path(directory).resolve()
    if place.exists() and not place.is_dir():
        raise InvalidError(f"{directory} is a file", "choose another name")
    own = [tool for agent in options.subagents for tool in agent.tools or () if not isinstance(tool, str)]
    module = module_of([*options.tools, *own], len(options.tools))
    known = tool_names([tool for tool in options.tools if id(tool) in module.names], options.enable_filesystem)
    try:
        agent = agent_file(options, module, known)
        engine = {requirement(name) for name in _ENGINE}
    except CantWriteError as why:
        raise RefusedError(f"this agent can't be packaged: {why}", "change that, then package again") from None
    files, gone = _files(workspace, include, known)
    bound = [name_of(tool) for tool in namespace_tools(options.namespace)]
    bound += (*CODE_TOOLS, *PROPOSAL_TOOLS) if workspace.current.kernel else ()
    kernel = [LeftOut(name, "works on this notebook and its kernel") for name in dict.fromkeys(bound)]
    left_out = (*kernel, *module.left_out, *agent.left_out, *gone)
    lines = {*engine, *agent.requirements, *module.requirements}
    served = json.dumps({"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}, indent=2)
    texts = {"langgraph.json": f"{served}\n", "agent.py": agent.text}
    texts |= {f"{NAME}.py": module.text} if module.names else {}
    told = [one for one in left_out if one.why != _BY_NAME]  # which other files there are is nobody else's business
    texts["requirements.txt"] = "".join(f"{line}\n" for line in sorted(lines, key=str.casefold))
    texts["README.md"] = readme(place.name, agent.keys, told)
    made = [PackageFile(path, text.encode(), _WHAT[path]) for path, text in texts.items()]
    whole = []
    for one in (*made, *files):  # nothing that was missed before leaves the kernel
        if found := credentials(f"{one.path}\n{one.content.decode('utf-8', 'replace')}"):
            raise RefusedError(f"{one.path} would hold {reasons(found)}", "take it out, then package again")
        with suppress(OSError):  # nothing is there
            one = replace(one, replaces=(place / one.path).read_bytes() != one.content)
        whole.append(one)
    application = Package(place, tuple(whole), left_out, typed=str(directory))
    return _written(application) if write else application


def _files(
    workspace: Workspace, include: Sequence[str], known: Sequence[str]
) -> tuple[list[PackageFile], list[LeftOut]]:
    backend, options = workspace.backend, workspace.options
    found = backend.glob(ALL_FILES, "/").matches or ()
    there = sorted({*workspace.home.memory_paths(), *(f["path"] for f in found if not f.get("is_dir"))})
    wanted = set[str]()
    for name in include:  # a file, or all below a directory; never the journal
        path = f"/{name.strip('/')}"
        named = {one for one in there if (one == path or one.startswith(f"{path}/")) and "/.deepnb/" not in one}
        if not named:
            raise NotFoundError(f"the agent has no file {path}", "session.files lists them")
        wanted |= named
    # Memory files, skills and subagents go by default, but for those that are mounted.
    below = [f"{source.rstrip('/')}/" for source in options.skills] if options.enable_skills else []
    below += [FOLDER] if options.enable_subagents else []
    read, mounts = options.memory if options.enable_memory else (), tuple(workspace.home.storage.mounts)
    wanted |= {p for p in there if (p in read or p.startswith(tuple(below))) and not p.startswith(mounts)}
    usual = [path for path in there if path in wanted]
    threads = [workspace.threads[name] for name in workspace.threads.names]
    messages = [one for thread in threads for one in thread.snapshot.messages]
    # What was read of the agent's files is neither of others nor of the user.
    others = [one.text for one in messages if one.role == "user" or (one.role == "tool" and one.name not in READS)]
    heard = others, [one.own for one in messages]
    # The lines that passed the gate when they were written, or that the user accepted.
    mine = (entry for entry in backend.journal() if entry.origin != "external")
    passed = frozenset(line[1:] for entry in mine for line in entry.diff.splitlines() if line.startswith("+"))
    memory, _ = guarded_paths(workspace.options.memory, ())
    rest = (path for path in there if path not in usual)  # those of one directory as one
    folders = dict.fromkeys(path if path.count("/") == 1 else f"{path[: path.index('/', 1)]}/" for path in rest)
    left_out = [LeftOut(name, _BY_NAME) for name in folders if name not in ("/.deepnb/", PREFIX)]
    files: list[PackageFile] = []
    for response in backend.download_files(usual):
        try:
            content, note = _through_the_gate(response.path, response.content or b"", heard, passed)
            if response.path.startswith(FOLDER) and response.path.endswith(".md"):
                agents = [agent.name for agent in workspace.options.subagents]
                if problem := check(content, response.path, known, agents).problem:
                    raise CantWriteError(f"does not work there ({problem})")
        except CantWriteError as why:
            left_out.append(LeftOut(response.path, str(why)))
        else:
            kind = "skill" if workspace.current.is_guarded(response.path) else "file"
            kind = "memory" if response.path in memory or response.path.startswith(NOTES) else kind
            kind = "subagent" if response.path.startswith(FOLDER) else kind
            files.append(PackageFile(f"{FILES}{response.path}", content, "; ".join(filter(None, (kind, note)))))
    return files, left_out


def _through_the_gate(
    path: str, content: bytes, heard: tuple[Sequence[str], Sequence[str]], passed: frozenset[str]
) -> tuple[bytes, str]:
    if credentials(path):
        raise CantWriteError("has a credential in its path")
    if normpath(path) != path or any(map(is_control, path)):
        raise CantWriteError("has a path that leads elsewhere")
    if (text := utf8(content)) is None:
        if leaks(content):
            raise CantWriteError("holds a credential in bytes that are not text")
        return content, ""
    lines = [line for line in text.splitlines() if line not in passed and is_directive(line)]
    if lines and (held := unsaid(lines, *heard, copied=True)):
        shown = " ".join(held[0].split())[:80]
        raise CantWriteError(f"has a line that reads like an instruction, out of a text that is not yours: {shown!r}")
    clean = redact(text)
    return clean.encode(), "" if clean == text else f"masked: {reasons(credentials(text))}"


def _written(made: Package) -> Package:
    base = made.directory / FILES
    mine = {made.directory / one.path for one in made.files}
    links = [one for one in (base, *base.rglob("*")) if one.is_symlink()]
    others = [one for one in base.rglob("*") if not one.is_dir() and one not in mine]
    if strange := next(iter((*links, *others)), None):  # what is in `files/` is served, whoever put it there
        what = f"{strange.relative_to(made.directory)} is in {made.directory} and not part of this package"
        raise RefusedError(what, "remove it, or choose another directory")
    try:
        for one in made.files:
            file = made.directory / one.path
            make_folder(file.parent)
            write_whole(file, one.content)
    except OSError as error:
        why = f"{made.directory} can't be written ({error.strerror})"
        raise RefusedError(why, "choose another directory") from None
    return replace(made, written=True)


def readme(title: str, keys: Sequence[str], left_out: Sequence[LeftOut]) -> str:
    key = f"Set {' and '.join(f'`{name}`' for name in keys)} in the environment first.\n\n" if keys else ""
    gone = "".join(f"- {one.name}: {one.why}\n" for one in left_out)
    template = Path(__file__).with_name("readme.md").read_text(encoding="utf-8").removesuffix("\n")
    return template.format(title=title, key=key, left_out=f"\n## Left out\n\n{gone}" if gone else "")
