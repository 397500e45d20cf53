"""The wings: features that can be left out, each in a folder of `deepnb/wings` and registered here by one row.

A row is made of strings alone: what it names is imported when it is first used. To take a wing out, delete its folder and
its row: each of its names then says that it is not here.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from deepnb.values.errors import NotInstalledError


class Wing(NamedTuple):
    """What one wing brings."""

    names: Mapping[str, str]
    """What is typed for it -> where it is, as `module:attribute` in the folder of the wing:

    - `%agent NAME`: what the subcommand does, `(scene, args) -> Result`
    - `--NAME`: what runs a prompt with that option, `(scene, run, *, cell) -> None`; of several the first
    - `%agent use NAME:`: what `%agent use` does with such an address, `(scene, args) -> Result`
    - `session.NAME`: what that method or attribute of a session calls
    - `deepnb.NAME`: a name of the root
    - `import deepnb.NAME`: a public module, which asks for it first
    - any other: what the main house asks for by it
    """
    usage: str = ""
    """The rows of its subcommands of %agent and options of a prompt, as in `deepnb/magics/usage.py`, which has their places."""
    pictures: Mapping[str, str] = MappingProxyType({})
    """A class of the wing -> what gives the picture that a value of it shows of itself."""


WINGS = {
    "compare": Wing(
        names={
            "%agent jobs": "jobs_magic:agent_jobs",
            "--compare": "compare_magic:ask_to_compare",
            "--bg": "jobs_magic:ask_in_background",
            "--keep": "compare_magic:refuse_to_keep",
            "session.compare": "comparison:comparisons",
            "session.jobs": "jobs:Jobs",
            "deepnb.Job": "jobs:Job",
        },
        usage="""
jobs  ?what:choice{stop|join}  ?number:job N
    list the prompts that run or ran in the background (--bg); stop one, or join it: continue in its thread
--bg
    run in the background, in a fork of the thread, while other cells run
--compare:comparison{model=|memory_refresh=thread,call,delta|trigger=|keep=|system_prompt=|skills=|memory=|
        approve=outside,writes,read-only|tool_text=lean,short,full|max_input_tokens=|memory_budget=|eviction_threshold=|
        max_steps=|max_tokens=|enable_memory=on,off|enable_skills=on,off|enable_filesystem=on,off|
        enable_subagents=on,off|general_purpose=on,off} OPTION=A,B
    run the prompt once for each value, in forks of the thread, and show the answers side by side; repeatable
--keep
    keep the forks of --compare as threads
""",
        pictures={"comparison:Comparison": "comparison:comparison_value"},
    ),
    "package": Wing(
        names={"%agent package": "magic:agent_package", "session.package": "package:package"},
        usage="""
package  directory:folder DIR  ?include:places PATH...  --yes
    list what this agent is as an application that langgraph dev serves, and what is left out; --yes writes it to
    DIR; MEMORY.md, notes, mounts and other files go only if you name them (/MEMORY.md, /memory/)
""",
        pictures={"values:Package": "view:package_value"},
    ),
    "server": Wing(
        names={
            "%agent use http:": "magic:attach_server",
            "%agent use https:": "magic:attach_server",
            "Session(graph=URL)": "served:served_options",
            "session.attach(header=NAME)": "served:enter_header",
        },
    ),
    "open": Wing(
        names={
            "import deepnb.formats": "opening:Format",
            "%agent open": "magic:agent_open",
            "deepnb.OpenedSession": "session:OpenedSession",
            "deepnb.list_sessions": "opening:list_sessions",
            "deepnb.open_session": "session:open_session",
        },
        usage="""
open  path:session FILE|DIR|URL  --thread:word THREAD  --list
    show a session of Claude Code, Codex, OpenCode, pi, OpenClaw, LangGraph or deepnb, read-only, with all views: of a
    file or a PostgreSQL database, the newest or the one you name; of a directory, list the sessions below it; --list:
    list those in a file or database
""",
        pictures={"session:OpenedSession": "magic:opened_picture", "values:SessionRows": "magic:rows_picture"},
    ),
    "course": Wing(
        names={
            "import deepnb.course": "grading:check",
            "%agent help WORD": "help:show_help",
            "%agent help TOPIC": "reference:TOPICS",
            "python -m deepnb lab": "lab:run_lab",
            "python -m deepnb tour": "tour:run_tour",
        },
        pictures={"grading:CheckView": "grading:check_picture", "story:StoryView": "story:story_picture"},
    ),
    "acp": Wing(names={"python -m deepnb acp": "command:run_acp"}),
}
ROOT = ("Job", "OpenedSession", "course", "list_sessions", "open_session")
"""What wings give to the root, as long as they are here."""


def names(kind: str) -> list[str]:
    return [name for wing in WINGS.values() for name in wing.names if name.startswith(kind)]


def home(name: str) -> tuple[str, str] | None:
    """Return the module and the attribute that a name of a wing stands for; None if no wing has it."""
    return next((_split(key, wing.names[name]) for key, wing in WINGS.items() if name in wing.names), None)


def part(name: str, error: type[BaseException] = NotInstalledError) -> Any:
    """Import and return what a wing has under a name; raise an error of that kind, one line, if the wing is not here."""
    if (where := home(name)) is None:
        what = f"{name.removeprefix('import ')} is not in this copy of deepnb"
        missing = NotInstalledError(what, "%pip install deepnb brings it")
        raise missing if error is NotInstalledError else error(str(missing))
    return getattr(import_module(where[0]), where[1])


def pictures() -> dict[tuple[str, str], tuple[str, str]]:
    """Return the class of each value of a wing that has a picture -> what gives it, as modules and attributes."""
    return {
        _split(key, value): _split(key, shown) for key, wing in WINGS.items() for value, shown in wing.pictures.items()
    }


def _split(wing: str, where: str) -> tuple[str, str]:
    module, _, attribute = where.partition(":")
    return f"deepnb.wings.{wing}.{module}", attribute
