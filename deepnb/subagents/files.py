"""Subagents as Markdown files, `/agents/NAME.md`: frontmatter, then the system prompt; each mistake with its line.

The frontmatter is YAML between two lines `---`; only `description` is required:

- `name`: the name of the file
- `description`: what it is for, and when, at most 1,024 characters: by this the model chooses it
- `tools`: the only tools it has, separated by commas; `read_file` comes with any file tool, `task` lets it delegate
- `model`: a name that `%agent use` takes
- `skills`: directories of skills, or names of skills of the session

A file has at most 100,000 bytes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deepnb.skills.frontmatter import Fields, Findings, Items, Text, one_line, quoted
from deepnb.values.agent import FILE_TOOLS, FOLDER, Listed, Subagent, near, normal, wrong_name
from deepnb.values.errors import InvalidError

BYTES = 100_000  # of a whole file: its body is in every request of the subagent
DESCRIPTION = 1024
KNOWN = ("name", "description", "tools", "model", "skills")


@dataclass
class _Made(Findings):
    fields: dict[str, Any] = field(default_factory=dict)
    prompt: str = ""


def check(data: bytes, path: str, tools: Sequence[str], taken: Sequence[str] = ()) -> Listed:
    """Return the subagent in a file of these bytes at `path`; nothing raises.

    `tools` are the names it may give, `taken` the names that are given in Python.
    """
    made = _Made(path)
    name = path.rpartition("/")[2].removesuffix(".md")
    if wrong := wrong_name(normal(name)):
        do = f"rename the file to {near(name, 'my-agent')}.md"
        made.broken(0, f"{name!r} can't be a subagent's name ({wrong})", do)
    elif normal(name) in taken:
        made.broken(0, f"a subagent {name!r} is already defined in Python, which takes precedence", "rename the file")
    if len(data) > BYTES:
        made.broken(0, f"the file has {len(data):,} bytes; the limit is {BYTES:,}", "move long text into a skill")
    elif not data.strip():
        made.broken(1, "the file is empty", "%agent subagents add NAME writes one from a template")
    elif found := made.read(data):
        fields, body = found
        _check_fields(fields, normal(name), tools, made)
        made.prompt = body.strip()
        if not made.prompt:
            made.broken(0, "there is no text below the frontmatter", "write its system prompt there: what it does")
    return _listed(made, normal(name))


def unreadable(path: str, why: str) -> Listed:
    """Return a file that can't be had at all."""
    made = _Made(path)
    made.broken(0, f"it can't be read ({why})", "make it a text file; links are not followed")
    return _listed(made, path.rpartition("/")[2].removesuffix(".md"))


def read_files(
    backend: Any, tools: Callable[[], Sequence[str]], taken: Sequence[str], model: Callable[[str], str]
) -> list[Listed]:
    """Return the subagents below `/agents/` of a backend; `model` says what is wrong with the name of a model, or nothing.

    `tools` gives the names that a file may list, and is asked only where there is one.
    """
    entries = backend.ls(FOLDER).entries or ()
    paths = sorted(e["path"] for e in entries if not e.get("is_dir") and e["path"].endswith(".md"))
    found, known = [], tools() if paths else ()
    for response in backend.download_files(paths) if paths else ():
        if response.content is None:
            found.append(unreadable(response.path, str(response.error)))
            continue
        one = check(response.content, response.path, known, taken)
        named = one.agent.model
        if not one.problem and named is not None and (problem := model(named)):  # of the moment: keys, variables
            where = f"{one.path}:{line}" if (line := one.lines.get("model")) else one.path
            one = replace(one, problem=f"{where}: its model: {problem}")
        found.append(one)
    return found


def scaffold(name: str, description: str = "") -> str:
    """Return the text of a new subagent that can be used as it is, to be edited."""
    title = name.replace("-", " ")
    default = f"Does the work of a {title}. Hand it a task of that kind, with all it has to know."
    return f"""---
description: {quoted(one_line(description, DESCRIPTION) or default[:DESCRIPTION])}
# tools: ls, read_file, grep     only these; without this line: the main agent's tools except memory's
# model: openai:gpt-5.2          its own model
# skills: /skills/               skills it can read
---

You are the {title}, and another agent has handed you one task. It sees nothing of your work but your last message.

1. Look before you answer: `ls` and `read_file` for files, `inspect_variable` for the notebook's data.
2. Do what the task asks and nothing else; do not ask back.
3. Answer in at most ten lines: the result first, then what it rests on, then what you are not sure of.
"""


def _check_fields(fields: Any, name: str, tools: Sequence[str], made: _Made) -> None:
    for key, value in fields.fields.items():
        line = fields.lines[key]
        if key in ("tools", "skills"):
            if words := list(_words(key, line, value, made)):
                made.fields[key] = (line, tuple(dict.fromkeys(words)))
        elif key not in KNOWN:
            made.note(line, f"{key[:80]} is not a field of a subagent", f"the fields are {', '.join(KNOWN[1:])}")
        elif not isinstance(value, Text):
            made.broken(value.line, f"{key} is not text", f"write {key}: followed by text")
        elif value.nothing or not value.text.strip():
            made.broken(line, f"{key} is empty", f"write {key}: followed by text, or remove the line")
        else:
            made.fields[key] = (line, value.text.strip())
    if "description" not in fields.fields:
        made.broken(1, "there is no description", "write description: what it is for, and when to use it")
    line, description = made.fields.get("description", (0, ""))
    if len(description) > DESCRIPTION:
        what = f"description has {len(description):,} characters; the limit is {DESCRIPTION:,}"
        made.broken(line, what, "shorten it")
    line, given = made.fields.get("name", (0, name))
    if normal(given) != name:
        what = f"the name {given[:80]!r} differs from its file name"
        made.broken(line, what, f"write name: {name}, or remove the line")
    line, named = made.fields.get("tools", (0, ()))
    for tool in named:
        if tool not in tools:
            made.broken(line, f"no tool {tool[:80]!r} for a subagent", f"use some of {', '.join(tools)}")
    if "skills" in made.fields and named and "read_file" not in named:
        made.note(line, "it has skills but no tool to read them", "add read_file to tools:")


def _words(key: str, line: int, value: Any, made: _Made) -> Iterator[str]:
    """Yield the words of a field, on one line with commas or blanks between them, or as a list."""
    if isinstance(value, Fields):
        made.broken(value.line, f"{key} is a mapping", f"write {key}: followed by names, separated with commas")
        return
    items = value.items if isinstance(value, Items) else [value]
    found = False
    for item in items:
        if not isinstance(item, Text):
            made.broken(item.line, f"a name of {key} is a list or a mapping", "write its name")
            found = True
            continue
        for word in re.split(r"[\s,]+", "" if item.nothing else item.text):
            if word:
                found = True
                yield word
    if not found:
        made.broken(line, f"{key} is empty", f"give at least one, or remove the line{_ALL.get(key, '')}")


_ALL = {"tools": " to give it all", "skills": " to give it none"}


def _listed(made: _Made, name: str) -> Listed:
    values = {key: value for key, (_, value) in made.fields.items() if key != "name"}
    lines = {key: line for key, (line, _) in made.fields.items()}
    tools, model, skills = values.get("tools"), values.get("model"), values.get("skills", ())
    agent = Subagent(name, values.get("description", ""), made.prompt, tools, model, skills)
    return Listed(agent, "file", made.path, made.problem, made.notes, lines)


def tool_names(tools: Sequence[Any], files: bool) -> tuple[str, ...]:
    """Return the names a subagent's tools may have: those of the main agent's own tools, of the file tools, and `task`."""
    own = [str(getattr(t, "name", None) or getattr(t, "__name__", "")) for t in tools]
    return (*filter(None, own), *(FILE_TOOLS[:-1] if files else ()), "task")


def check_name(name: str) -> str:
    """Return the name as it is compared, if it may be a subagent's."""
    if wrong := wrong_name(normal(name)):
        do = f"%agent subagents add {near(name, 'my-agent')}"
        raise InvalidError(f"{name!r} can't be a subagent's name ({wrong})", do)
    return normal(name)
