"""The reference: what there is to look up, an entry each, made of parsers, settings, source text and Markdown files."""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deepnb.magics.config import DeepNB
from deepnb.magics.usage import ABOUT, MAGICS, OPTIONS, subcommands
from deepnb.values import wings
from deepnb.wings.course import source


@dataclass(frozen=True)
class Entry:
    """A subcommand, a setting, an option, a Python name, a file, an error or a topic."""

    name: str
    """What it is called: `fork`, `window`, `Session.fork`, `compaction`."""
    usage: str
    """What is typed for it, with the magic before it; of a topic its title."""
    text: str
    """What it does, in Markdown."""
    kind: str
    """`%agent`, `%memory`, `%skills`, `setting`, `option`, `Python`, `error`, `file` or `topic`."""
    has_heading: bool = False
    """Whether it has a heading of its own in the document, above those that belong to it."""


@cache
def entries() -> tuple[Entry, ...]:
    """Return every entry, in the order of the reference."""
    topics = (topic(FOLDER / f"{name}.md") for name in TOPICS)
    magics = (one for magic in MAGICS for one in magic_entries(magic))
    modules = (one for module in MODULES for one in module_entries(module))
    parts = (one for owner, (module, name) in PARTS.items() for one in class_entries(owner, module, name))
    return (
        *topics,
        *magics,
        *setting_entries(),
        *option_entries(),
        *modules,
        *parts,
        *file_entries(),
        *error_entries(),
    )


# -- topics: Markdown files that explain one subject each, their title on the first line


FOLDER = Path(__file__).parent / "topics"
TOPICS = (
    *("prompts", "python", "models", "threads", "memory", "layers", "compaction", "skills", "subagents", "approvals"),
    *("code", "tools", "background", "compare", "tapes", "persistence", "acp", "sessions", "own-graph", "server"),
    *("middleware", "package", "search", "front-ends"),
)
"""The names that `%agent help` takes, in the order in which a newcomer reads them."""


def topic_names() -> tuple[str, ...]:
    """Return what Tab offers after `%agent help`, beside the subcommands."""
    return TOPICS


def topic(file: Path) -> Entry:
    """Return the entry of a topic."""
    title, _, text = file.read_text(encoding="utf-8").partition("\n")
    return Entry(file.stem, title.removeprefix("# "), text.strip(), "topic", has_heading=True)


# -- what is typed after a magic, and the settings


def magic_entries(magic: str) -> list[Entry]:
    """Return the forms of a magic, the options of a prompt, and its subcommands."""
    kind = f"%{magic}"
    _, forms, _ = ABOUT[magic]
    options = OPTIONS if magic == "agent" else ()
    return [
        *(Entry(form.split()[0], form, text, kind) for form, text in forms),
        *(Entry(one.name, f"%agent [{one}] PROMPT", one.help, kind) for one in options),
        *(Entry(sub.name, f"%{magic} {sub.usage}", sub.help, kind) for sub in subcommands(magic)),
    ]


def setting_entries() -> list[Entry]:
    """Return the settings of `%config DeepNB`, with their defaults."""
    traits = DeepNB.class_traits(config=True)
    own = list(DeepNB.class_own_traits(config=True))
    return [
        Entry(name, f"%config DeepNB.{name} = {traits[name].default()!r}", traits[name].help, "setting") for name in own
    ]


# -- what is used from Python


MODULES = (
    *("deepnb.course", "deepnb", "deepnb.search", "deepnb.middleware", "deepnb.testing"),
    *(("deepnb.formats.protocol",) if "open" in wings.WINGS else ()),
)
"""Where the public names are."""
PARTS = {
    "session.memory": ("deepnb.session.memory", "SessionMemory"),
    "session.skills": ("deepnb.session.skills", "SessionSkills"),
    "session.subagents": ("deepnb.session.subagents", "SessionSubagents"),
    "session.tools": ("deepnb.session.tools", "SessionTools"),
    "session.approvals": ("deepnb.session.approvals", "SessionApprovals"),
    **{name: where for name in wings.names("session.") if (where := wings.home(name)) and where[1].istitle()},
}
"""What a session has beside its own methods -> where it is defined."""
_ERRORS = "deepnb.values.errors"
_OPTION = re.compile(r"^- (\w+(?:, \w+)*): (.*(?:\n  .*)*)", re.MULTILINE)  # "- keep: how much stays" in a docstring


def option_entries() -> list[Entry]:
    """Return the options of `Session`, with their defaults, as its docstring explains them."""
    said = {name: " ".join(text.split()) for name, text in _OPTION.findall(source.describe("deepnb", "Session").doc)}
    defaults = source.parameters("deepnb", "Session")
    return [Entry(name, f"Session({name}={default})", said[name], "option") for name, default in defaults.items()]


def module_entries(module: str) -> Iterator[Entry]:
    """Yield the public names of a module, each followed by what it has; errors have a section of their own."""
    errors = source.public_names(_ERRORS)
    for name in source.public_names(module):
        if module == "deepnb" and name in errors:
            continue
        one = source.describe(module, name)
        text, _, _ = one.doc.partition("\n\nOptions:\n")
        usage = one.signature if name != "Session" else "Session(model='offline', **options)"
        yield Entry(name, f"{module}.{usage}", text, "Python", has_heading=True)
        yield from _members("session" if name == "Session" else name, module, name)


def class_entries(owner: str, module: str, name: str) -> Iterator[Entry]:
    """Yield a part of a session, and what it has."""
    yield Entry(owner, owner, source.describe(module, name).doc, "Python", has_heading=True)
    yield from _members(owner, module, name)


def _members(owner: str, module: str, name: str) -> Iterator[Entry]:
    hooks = module == "deepnb.middleware"  # their methods are called by LangChain
    for one in (*source.fields(module, name), *(() if hooks else source.methods(module, name))):
        if one.doc:
            start, waits, at = one.signature.rpartition("await ")
            yield Entry(f"{owner}.{one.name}", f"{start}{waits}{owner}.{at}", one.doc, "Python")


def error_entries() -> list[Entry]:
    """Return the kinds of errors, the one that all are first."""
    names = ["DeepnbError", *(n for n in source.public_names(_ERRORS) if n != "DeepnbError")]
    return [Entry(name, f"deepnb.{name}", source.describe(_ERRORS, name).doc, "error") for name in names]


# -- the files that deepnb writes and reads, from the docstrings of what writes and reads them


FILES = (
    ("journal", ".deepnb/journal.jsonl", "deepnb.backends.journal", "Entry", "a change"),
    ("transcript", ".deepnb/transcripts/THREAD.jsonl", "deepnb.context.transcript", "", ""),
    ("tape", "%agent record FILE.jsonl", "deepnb.models.tapes.tape", "Exchange", "an exchange"),
    ("history", "/conversation_history/THREAD.md", "deepnb.context.history", "", ""),
    ("note", "/memory/YYYY-MM-DD.md", "deepnb.memory.daily", "", ""),
    ("skill", "/skills/NAME/SKILL.md", "deepnb.skills.rules", "", ""),
    ("subagent", "/agents/NAME.md", "deepnb.subagents.files", "", ""),
    ("export", "%agent export FILE.ipynb|FILE.html|FILE.jsonl", "deepnb.session.disk", "export", ""),
)
"""Name, where it is or what writes it, the module that describes it, the class whose fields a line has and what that is.

Without a class the description is that of the module, or of the function that is named.
"""


def file_entries() -> Iterator[Entry]:
    """Yield one entry for each kind of file."""
    for name, place, module, of, line in FILES:
        is_function = of and not line
        text = source.describe(module, of).doc if is_function else ast.get_docstring(source.tree(module)) or ""
        if line:
            kept = (f"- `{one.signature}`" + (f": {one.doc}" if one.doc else "") for one in source.fields(module, of))
            text = "\n".join([f"{text}\n\nFields of {line}:\n", *kept])
        yield Entry(name, place, text, "file", has_heading=True)


# -- all of it as one Markdown file


_HEAD = """\
# Reference

Every magic, setting, option, Python name, file and error of deepnb, and a page for each topic. In a notebook, `%agent help
WORD` searches it. This file is generated by `python -m tests.support.reference`.
"""
_SECTIONS = (
    ("Topics", "topic", ""),
    ("%agent", "%agent", "Runs prompts, and shows the agent's state. Options come before the prompt."),
    ("%memory", "%memory", "Shows and edits what the agent remembers."),
    ("%skills", "%skills", "Shows and edits the agent's skills."),
    ("Settings", "setting", "`%config DeepNB` lists them with the values in force."),
    ("Options of Session", "option", "`session.configure` changes most of them later, from the next turn on."),
    ("Python", "Python", "A name without parentheses is an attribute or a property."),
    ("Files", "file", ""),
    ("Errors", "error", "Each is one line that says what was wrong and what to type next."),
)
"""Heading, the kind of entries below it, and what is said before them."""


def reference_text() -> str:
    """Return the whole file."""
    contents = "\n".join(f"- [{title}](#{anchor(title)})" for title, _, _ in _SECTIONS)
    return "\n".join([_HEAD, contents, *(line for section in _SECTIONS for line in _section(*section))]) + "\n"


def anchor(heading: str) -> str:
    """Return a heading as GitHub names it in a link."""
    kept = "".join(char for char in heading.lower() if char.isalnum() or char in "-_ ")
    return kept.replace(" ", "-")


def _section(title: str, kind: str, intro: str) -> Iterator[str]:
    yield from ["", f"## {title}", *(["", intro] if intro else [])]
    below = [one for one in entries() if one.kind == kind]
    if kind == "topic":
        yield from ["", ", ".join(f"[{one.name}](#{anchor(one.usage)})" for one in below)]
    in_list = False
    for one in below:
        if one.kind == "topic":
            yield from ["", f"### {one.usage}", "", one.text]
        elif one.has_heading:
            yield from ["", f"### {one.name}"]
            yield from ["", f"`{one.usage}`"] if one.usage != one.name else []
            yield from ["", one.text] if one.text else []
        else:  # an item of a list, indented if it has several paragraphs
            first, *more = one.text.split("\n")
            yield from [*([] if in_list else [""]), f"- `{one.usage}`: {first}"]
            yield from textwrap.indent("\n".join(more), "  ").split("\n") if more else []
        in_list = not one.has_heading
