"""What agentskills.io asks of a SKILL.md: one file's bytes -> the skill, and what to fix in it.

A file is YAML between two lines `---`, then the text that the agent reads when it needs the skill:

- `name`: required, the name of the directory: lowercase letters, digits and single hyphens, at most 64 characters
- `description`: required, at most 1,024 characters: what the skill is for, and when to use it
- `license`: a text
- `compatibility`: a text of at most 500 characters
- `metadata`: keys and texts of your own
- `allowed-tools`: names of tools that the skill asks for, which `%agent approve --skill` allows

The specification: https://agentskills.io/specification. Stricter than its reference validator in what it
leaves unchecked (the types of `license` and `metadata`), and milder in one thing: a
field it does not know is a note, since other programs have fields of their own.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from deepnb.skills.frontmatter import Fields, Findings, Items, Text, Value
from deepnb.values.agent import Finding, Skill, near, normal, wrong_name

OTHERS = {
    "Bash": "execute",
    "Edit": "edit_file",
    "Glob": "glob",
    "Grep": "grep",
    "LS": "ls",
    "Read": "read_file",
    "Task": "task",
    "Write": "write_file",
}
"""Name in other programs -> name here."""

_TOOL = re.compile(r"([^\s()]+)(?:\((.*)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One tool, by its name here, and its condition in parentheses, if it has one."""

    name: str
    condition: str = ""


def words(value: str) -> list[str]:
    """Return the tools of an `allowed-tools` as they are written: separated by spaces or commas, parentheses kept together.

    One that is left open takes all that follows: else a tool under a condition would look like one without.
    """
    found, depth = [""], 0
    for char in value:
        depth = max(0, depth + (char == "(") - (char == ")"))
        if (char.isspace() or char == ",") and not depth:
            found.append("")
        else:
            found[-1] += char
    return [word for word in found if word]


def allowed(tools: str | Iterable[str]) -> tuple[Allowed, ...]:
    """Return the tools of an `allowed-tools`, each once; what is no name of a tool is left out."""
    listed = words(tools) if isinstance(tools, str) else tools
    found = (m for word in listed if (m := _TOOL.fullmatch(word.strip(","))) and (m[2] is None or m[2].strip()))
    return tuple(dict.fromkeys(Allowed(OTHERS.get(m[1], m[1]), (m[2] or "").strip()) for m in found))


def preapproved(skills: Iterable[Skill]) -> dict[str, tuple[str, ...]]:
    """Return tool -> the names of the skills that would have all its calls approved.

    One under a condition is not among them: what a command line does can't be told by how it begins.
    """
    found: dict[str, list[str]] = {}
    for skill in skills:
        for one in allowed(skill.allowed_tools):
            if not one.condition and skill.name not in found.setdefault(one.name, []):
                found[one.name].append(skill.name)
    return {tool: tuple(names) for tool, names in found.items() if names}


FILE_NAME = "SKILL.md"
BYTES = 10 * 1024 * 1024  # of a whole file
DESCRIPTION = 1024
COMPATIBILITY = 500
KNOWN = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")


@dataclass(frozen=True)
class Checked:
    """One file: the skill it makes, and all there is to fix in it, by line."""

    skill: Skill
    findings: tuple[Finding, ...]


@dataclass
class _Made(Findings):
    fields: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()


def check(data: bytes, path: str) -> Checked:
    """Return a SKILL.md of these bytes at `path` (`.../NAME/SKILL.md`); nothing raises."""
    if len(data) > BYTES:
        return unreadable(path, "large", len(data))
    made = _Made(path)
    if found := made.read(data):
        fields, _ = found
        for name, value in fields.fields.items():
            line = fields.lines[name]
            if name in ("name", "description", "license", "compatibility"):
                _check_text(name, line, value, made)
            elif name == "metadata":
                _check_metadata(line, value, made)
            elif name == "allowed-tools":
                made.tools = tuple(_tools(line, value, made))
            else:
                known = _meant(name)
                do = f"write {known}:" if known else "move it under metadata:, or remove it"
                made.note(line, f"{name[:80]} is not a field of a skill", do)
        needed = (("name", near(_directory(path))), ("description", "what it is for, and when to use it"))
        for name, example in ((name, example) for name, example in needed if name not in fields.fields):
            meant = next((n for n in fields.fields if _meant(n) == name), None)
            line = fields.lines[meant] if meant else 1
            what = f"{meant[:80]} is not {name}" if meant else f"there is no {name}"
            made.broken(line, what, f"write {name}: {example}")
    return _checked(made)


_BARS = {
    "large": (f"the file has {{:,}} bytes; the limit is {BYTES:,}", "move long text into other files"),
    "file link": (
        f"{FILE_NAME} is a link that points outside its directory, and is not followed",
        "replace it with a copy of the file",
    ),
    "link": (
        "the directory is a link to {}, and links are not followed",
        "move the directory itself here, or remove the link",
    ),
    "link out": (
        "the directory is a link that points outside its source, or nowhere, and is refused",
        "remove the link; %skills add DIRECTORY adds a copy of its target",
    ),
}
"""What stands in the way of a SKILL.md, as `skipped_entries` names it -> what is said of it, and what to do."""
_ERRORS = {
    "is_directory": f"make it a file: {FILE_NAME} contains the text of the skill",
    "permission_denied": "copy the file there: links are not followed, and files without read permission are not read",
    "invalid_path": "rename the directory: its name has unusual characters",
}
"""An error of a backend's -> what to do."""


def unreadable(path: str, why: str, detail: str | int = "") -> Checked:
    """Return a SKILL.md that can't be read: `why` is what stands in the way, or an error of a backend's."""
    made = _Made(path)
    if why in _BARS:
        what, do = _BARS[why]
        made.broken(0, what.format(detail), do)
    else:
        do = _ERRORS.get(why, "check that it exists and is a text file")
        made.broken(0, f"{FILE_NAME} can't be read ({why})", do)
    return _checked(made)


def _checked(made: _Made) -> Checked:
    skill = Skill(
        made.fields.get("name", ""),
        made.fields.get("description", ""),
        made.path,
        problem=made.problem,
        license=made.fields.get("license", ""),
        compatibility=made.fields.get("compatibility", ""),
        metadata=made.metadata,
        allowed_tools=made.tools,
        notes=made.notes,
    )
    return Checked(skill, made.findings)


def _check_text(name: str, line: int, value: Value, made: _Made) -> None:
    if not isinstance(value, Text):
        made.broken(value.line, f"{name} is a {_kind(value)}", f"write {name}: followed by text")
        return
    text = value.text
    if value.other:
        made.note(line, f"other programs read {name} as a number, a date or a yes/no", f'write {name}: "{text}"')
    if (value.nothing or not text.strip()) and name == "compatibility":
        made.note(line, "compatibility is empty", "write what the skill needs, or remove it")
        return
    if (value.nothing or not text.strip()) and name != "license":
        made.broken(line, f"{name} is empty", f"write {name}: followed by text, in quotes if it is {text or 'empty'}")
        return
    if name == "name":
        called, directory = normal(text), _directory(made.path)
        if wrong := wrong_name(called):
            fits = wrong_name(normal(directory)) is None
            do = f"write name: {directory if fits else near(called)}, the name of its directory"
            made.broken(line, wrong, do)
            return
        if called != unicodedata.normalize("NFKC", directory):
            what = f"the name {called!r} differs from the directory {directory[:80]!r}"
            made.note(line, what, f"write name: {near(directory)}, or rename the directory")
        made.fields["name"] = called
        return
    most = {"description": DESCRIPTION, "compatibility": COMPATIBILITY}.get(name, len(text))
    if len(text) > most:
        what = f"{name} has {len(text):,} characters; the limit is {most:,}, and the rest is not shown"
        made.note(line, what, "shorten it and move the rest into the body")
    made.fields[name] = "" if value.nothing else text[:most]


def _check_metadata(line: int, value: Value, made: _Made) -> None:
    if isinstance(value, Text) and not value.text.strip():
        return
    if not isinstance(value, Fields):
        do = "write metadata: and indented lines key: text below it"
        made.broken(value.line, f"metadata is a {_kind(value)}", do)
        return
    for key, one in value.fields.items():
        at = value.lines[key]
        if not isinstance(one, Text):
            made.broken(one.line, f"metadata.{key[:80]} is a {_kind(one)}", f'write {key[:80]}: "text"')
            continue
        if one.other:
            said = f"other programs read metadata.{key[:80]} as a number, a date or a yes/no"
            made.note(at, said, f'write {key[:80]}: "{one.text}"')
        made.metadata[key] = one.text


def _tools(line: int, value: Value, made: _Made) -> Iterator[str]:
    """Yield the tools of `allowed-tools`: separated by blanks, parentheses kept together."""
    if isinstance(value, Text):
        if value.nothing:
            return
        if value.other:
            made.note(line, f"allowed-tools is {value.text[:40]}, which names no tool", "write the names of tools")
            return
        if "," in value.text:
            made.note(line, "allowed-tools has commas", "separate the tools with spaces")
        yield from words(value.text)
        return
    if isinstance(value, Fields):
        do = "write allowed-tools: and the tools, separated with spaces"
        made.broken(value.line, "allowed-tools is a mapping", do)
        return
    for item in value.items:
        if isinstance(item, Text):
            yield from words(item.text)
        else:
            made.broken(item.line, f"a tool of allowed-tools is a {_kind(item)}", "write its name")
    if all(isinstance(item, Text) for item in value.items):
        made.note(line, "allowed-tools is a list", "write the tools on one line, separated with spaces")


def _meant(name: str) -> str | None:
    low = name.strip().lower().replace("_", "-")
    return low if low in KNOWN and low != name else "description" if low in ("desc", "summary", "about") else None


def _kind(value: Value) -> str:
    return {Text: "text", Items: "list", Fields: "mapping"}[type(value)]


def _directory(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]
