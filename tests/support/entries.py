"""The entries of the reference, made of parsers, settings, source text and Markdown files, and the file that has them."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

import deepnb
from deepnb.magics.config import DeepNB
from deepnb.magics.usage import ABOUT, MAGICS, OPTIONS, subcommands
from deepnb.values import wings
from deepnb.wings.course.reference import KINDS, TOPICS, Entry
from tests.support import source


@cache
def entries() -> tuple[Entry, ...]:
    topics = (topic(FOLDER / f"{name}.md") for name in TOPICS)
    magics = chain.from_iterable(map(magic_entries, MAGICS))
    modules = chain.from_iterable(map(module_entries, MODULES))
    parts = (one for owner, (module, name) in PARTS.items() for one in class_entries(owner, module, name))
    return tuple(
        chain(topics, magics, setting_entries(), option_entries(), modules, parts, file_entries(), error_entries())
    )


# -- topics: Markdown files that explain one subject each, their title on the first line


FOLDER = Path(deepnb.__file__).parent / "wings" / "course" / "topics"


def topic(file: Path) -> Entry:
    title, _, text = file.read_text(encoding="utf-8").partition("\n")
    return Entry(file.stem, title.removeprefix("# "), text.strip(), "topic")


# -- what is typed after a magic, and the settings


def magic_entries(magic: str) -> list[Entry]:
    kind = f"%{magic}"
    _, forms, _ = ABOUT[magic]
    options = OPTIONS if magic == "agent" else ()
    return [
        *(Entry(form.split()[0], form, text, kind) for form, text in forms),
        *(Entry(one.name, f"%agent [{one}] PROMPT", one.help, kind) for one in options),
        *(Entry(sub.name, f"%{magic} {sub.usage}", sub.help, kind) for sub in subcommands(magic)),
    ]


def setting_entries() -> list[Entry]:
    traits = DeepNB.class_own_traits(config=True)
    return [Entry(n, f"%config DeepNB.{n} = {t.default()!r}", t.help, "setting") for n, t in traits.items()]


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
    errors = source.public_names(_ERRORS)
    for name in source.public_names(module):
        if module == "deepnb" and name in errors:
            continue
        one = source.describe(module, name)
        text, _, _ = one.doc.partition("\n\nOptions:\n")
        usage = one.signature if name != "Session" else "Session(model='offline', **options)"
        yield Entry(name, f"{module}.{usage}", text, "Python")
        yield from _members("session" if name == "Session" else name, module, name)


def class_entries(owner: str, module: str, name: str) -> Iterator[Entry]:
    yield Entry(owner, owner, source.describe(module, name).doc, "Python")
    yield from _members(owner, module, name)


def _members(owner: str, module: str, name: str) -> Iterator[Entry]:
    hooks = module == "deepnb.middleware"  # their methods are called by LangChain
    for one in (*source.fields(module, name), *(() if hooks else source.methods(module, name))):
        if one.doc:
            start, waits, at = one.signature.rpartition("await ")
            yield Entry(f"{owner}.{one.name}", f"{start}{waits}{owner}.{at}", one.doc, "Python")


def error_entries() -> list[Entry]:
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
    for name, place, module, of, line in FILES:
        is_function = of and not line
        text = source.describe(module, of).doc if is_function else inspect.getdoc(import_module(module)) or ""
        if line:
            kept = (f"- `{one.signature}`" + (f": {one.doc}" if one.doc else "") for one in source.fields(module, of))
            text = "\n".join([f"{text}\n\nFields of {line}:\n", *kept])
        yield Entry(name, place, text, "file")


# -- all of it as one Markdown file


_HEAD = """\
# Reference

Every magic, setting, option, Python name, file and error of deepnb, and a page for each topic. In a notebook, `%agent help
WORD` searches it. This file is generated by `python -m tests.support.reference`.
"""
_SECTIONS = {
    "Topics": "",
    "%agent": "Runs prompts, and shows the agent's state. Options come before the prompt.",
    "%memory": "Shows and edits what the agent remembers.",
    "%skills": "Shows and edits the agent's skills.",
    "Settings": "`%config DeepNB` lists them with the values in force.",
    "Options of Session": "`session.configure` changes most of them later, from the next turn on.",
    "Python": "A name without parentheses is an attribute or a property.",
    "Files": "",
    "Errors": "Each is one line that says what was wrong and what to type next.",
}
"""Heading, and what is said below it before the entries."""


def reference_text() -> str:
    contents = "\n".join(f"- [{title}](#{anchor(title)})" for title in _SECTIONS)
    return "\n".join([_HEAD, contents, *(line for title in _SECTIONS for line in _section(title))]) + "\n"


def anchor(heading: str) -> str:
    kept = "".join(char for char in heading.lower() if char.isalnum() or char in "-_ ")
    return kept.replace(" ", "-")


def _section(title: str) -> Iterator[str]:
    kind, intro = KINDS.get(title, title), _SECTIONS[title]
    yield from ["", f"## {title}", *(["", intro] if intro else [])]
    below = [one for one in entries() if one.kind == kind]
    if kind == "topic":
        yield from ["", ", ".join(f"[{one.name}](#{anchor(one.usage)})" for one in below)]
    in_list = False
    for one in below:
        has_heading = kind == "file" or (kind == "Python" and ("." not in one.name or one.usage == one.name))
        if kind == "topic":
            yield from ["", f"### {one.usage}", "", one.text]
        elif has_heading:
            yield from ["", f"### {one.name}"]
            yield from ["", f"`{one.usage}`"] if one.usage != one.name else []
            yield from ["", one.text] if one.text else []
        else:  # an item of a list, indented if it has several paragraphs
            first, *more = one.text.split("\n")
            yield from [*([] if in_list else [""]), f"- `{one.usage}`: {first}"]
            yield from textwrap.indent("\n".join(more), "  ").split("\n") if more else []
        in_list = not has_heading
