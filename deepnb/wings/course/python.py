"""Entries of what is used from Python: public names, options of a session, errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepnb.wings.course import source
from deepnb.wings.course.entry import Entry

MODULES = (
    "deepnb.course",
    "deepnb",
    "deepnb.search",
    "deepnb.middleware",
    "deepnb.testing",
    "deepnb.formats.protocol",
)
"""Where the public names are."""
PARTS = {
    "session.memory": ("deepnb.session.memory", "SessionMemory"),
    "session.skills": ("deepnb.session.skills", "SessionSkills"),
    "session.subagents": ("deepnb.session.subagents", "SessionSubagents"),
    "session.tools": ("deepnb.session.tools", "SessionTools"),
    "session.approvals": ("deepnb.session.approvals", "SessionApprovals"),
    "session.jobs": ("deepnb.wings.compare.jobs", "Jobs"),
}
"""What a session has beside its own methods -> where it is defined."""
_ERRORS = "deepnb.values.errors"
_SESSION = "Session"
_OPTION = re.compile(r"^- (\w+(?:, \w+)*): (.*(?:\n  .*)*)", re.MULTILINE)


def option_entries() -> list[Entry]:
    """The options of `Session`, with their defaults, as its docstring explains them."""
    defaults = source.parameters("deepnb", _SESSION)
    found = _OPTION.findall(source.describe("deepnb", _SESSION).doc)
    said = {name: " ".join(text.split()) for name, text in found}
    return [Entry(name, f"Session({name}={default})", said[name], "option") for name, default in defaults.items()]


def error_entries() -> list[Entry]:
    """The kinds of errors, the one that all are first."""
    names = ["DeepnbError", *(n for n in source.public_names(_ERRORS) if n != "DeepnbError")]
    return [Entry(name, f"deepnb.{name}", source.describe(_ERRORS, name).doc, "error") for name in names]


def module_entries(module: str) -> Iterator[Entry]:
    """The public names of a module, each followed by what it has; errors have a section of their own."""
    errors = source.public_names(_ERRORS)
    for name in source.public_names(module):
        if module == "deepnb" and name in errors:
            continue
        one = source.describe(module, name)
        text, _, _ = one.doc.partition("\n\nOptions:\n")
        usage = one.signature if name != _SESSION else "Session(model='offline', **options)"
        yield Entry(name, f"{module}.{usage}", text, "Python", has_heading=True)
        owner = "session" if name == _SESSION else name
        yield from _members(owner, module, name)


def part_entries() -> Iterator[Entry]:
    """What the parts of a session have."""
    for owner, (module, name) in PARTS.items():
        yield Entry(owner, owner, source.describe(module, name).doc, "Python", has_heading=True)
        yield from _members(owner, module, name)


def _members(owner: str, module: str, name: str) -> Iterator[Entry]:
    hooks = module == "deepnb.middleware"  # their methods are called by LangChain
    for one in (*source.fields(module, name), *(() if hooks else source.methods(module, name))):
        start, at = (
            ("await ", one.signature.removeprefix("await ")) if "await " in one.signature else ("", one.signature)
        )
        if one.doc:
            yield Entry(f"{owner}.{one.name}", f"{start}{owner}.{at}", one.doc, "Python")
