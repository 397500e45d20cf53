"""The entries of the reference, made of parsers, settings, source text and Markdown files, and the file that has them."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import deepnb
from deepnb.magics.config import DeepNB
from deepnb.magics.usage import ABOUT, MAGICS, OPTIONS, subcommands
from deepnb.values import wings
from deepnb.wings.course.reference import KINDS, TOPICS, Entry
from deepnb.wiring.options import UNCHANGED
from tests import ROOT


@cache
def entries() -> tuple[Entry, ...]:
    topics = (topic(FOLDER / f"{name}.md") for name in TOPICS)
    magics = chain.from_iterable(map(magic_entries, MAGICS))
    modules = chain.from_iterable(map(module_entries, MODULES))
    parts = (one for owner, (module, name) in PARTS.items() for one in class_entries(owner, module, name))
    return tuple(
        chain(topics, magics, setting_entries(), option_entries(), modules, parts, file_entries(), error_entries())
    )


FOLDER = Path(deepnb.__file__).parent / "wings" / "course" / "topics"


def topic(file: Path) -> Entry:
    title, _, text = file.read_text(encoding="utf-8").partition("\n")
    return Entry(file.stem, title.removeprefix("# "), text.strip(), "topic")


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


MODULES = (
    *("deepnb.course", "deepnb", "deepnb.search", "deepnb.middleware", "deepnb.testing"),
    *(("deepnb.formats.protocol",) if "open" in wings.WINGS else ()),
)
PARTS = {
    "session.memory": ("deepnb.session.memory", "SessionMemory"),
    "session.skills": ("deepnb.session.skills", "SessionSkills"),
    "session.subagents": ("deepnb.session.subagents", "SessionSubagents"),
    "session.tools": ("deepnb.session.tools", "SessionTools"),
    "session.approvals": ("deepnb.session.approvals", "SessionApprovals"),
    **{name: where for name in wings.names("session.") if (where := wings.home(name)) and where[1].istitle()},
}  # what a session has beside its own methods -> where it is defined
_ERRORS = "deepnb.values.errors"
_OPTION = re.compile(r"^- (\w+(?:, \w+)*): (.*(?:\n  .*)*)", re.MULTILINE)  # "- keep: how much stays" in a docstring


def option_entries() -> list[Entry]:
    """Return the options of `Session`, with their defaults, as its docstring explains them."""
    said = {name: " ".join(text.split()) for name, text in _OPTION.findall(describe("deepnb", "Session").doc)}
    defaults = parameters("deepnb", "Session")
    return [Entry(name, f"Session({name}={default})", said[name], "option") for name, default in defaults.items()]


def module_entries(module: str) -> Iterator[Entry]:
    errors = public_names(_ERRORS)
    for name in public_names(module):
        if module == "deepnb" and name in errors:
            continue
        one = describe(module, name)
        text, _, _ = one.doc.partition("\n\nOptions:\n")
        usage = one.signature if name != "Session" else "Session(model='offline', **options)"
        yield Entry(name, f"{module}.{usage}", text, "Python")
        yield from _members("session" if name == "Session" else name, module, name)


def class_entries(owner: str, module: str, name: str) -> Iterator[Entry]:
    yield Entry(owner, owner, describe(module, name).doc, "Python")
    yield from _members(owner, module, name)


def _members(owner: str, module: str, name: str) -> Iterator[Entry]:
    hooks = module == "deepnb.middleware"  # their methods are called by LangChain
    for one in (*fields(module, name), *(() if hooks else methods(module, name))):
        if one.doc:
            start, waits, at = one.signature.rpartition("await ")
            yield Entry(f"{owner}.{one.name}", f"{start}{waits}{owner}.{at}", one.doc, "Python")


def error_entries() -> list[Entry]:
    names = ["DeepnbError", *(n for n in public_names(_ERRORS) if n != "DeepnbError")]
    return [Entry(name, f"deepnb.{name}", describe(_ERRORS, name).doc, "error") for name in names]


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
        text = describe(module, of).doc if is_function else inspect.getdoc(import_module(module)) or ""
        if line:
            kept = (f"- `{one.signature}`" + (f": {one.doc}" if one.doc else "") for one in fields(module, of))
            text = "\n".join([f"{text}\n\nFields of {line}:\n", *kept])
        yield Entry(name, place, text, "file")


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
}  # heading, and what is said below it before the entries


def reference_text() -> str:
    contents = "\n".join(f"- [{title}](#{anchor(title)})" for title in _SECTIONS)
    return "\n".join([_HEAD, contents, *(line for title in _SECTIONS for line in _section(title))]) + "\n"


def anchor(heading: str) -> str:
    return "".join(char for char in heading.lower() if char.isalnum() or char in "-_ ").replace(" ", "-")


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


Function = ast.FunctionDef | ast.AsyncFunctionDef
_FACTORY = re.compile(r" = [Ff]ield\(.*\)$")  # calls: tuple[Call, ...] = field(default=())
_LONG = 40  # characters of a default that is shown


@dataclass(frozen=True)
class Member:
    name: str
    signature: str
    doc: str


def public_names(module: str) -> list[str]:
    real = importlib.import_module(module)
    own = (n for n, value in vars(real).items() if getattr(value, "__module__", "") == module and n[0] != "_")
    return sorted(n for n in getattr(real, "__all__", None) or own if not inspect.ismodule(getattr(real, n)))


def describe(module: str, name: str) -> Member:
    real = _real(module, name)
    is_class = inspect.isclass(real)
    if not is_class and not callable(real):  # another name for types
        home = next(home for home, names in deepnb._HOMES.items() if name in names)
        body = ast.parse(inspect.getsource(importlib.import_module(home))).body
        made = next(n for n in body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name)
        return Member(name, ast.unparse(made), _text_after(body, made))
    doc = ast.get_docstring(_node(real)) or ""
    if not is_class:
        return Member(name, _signature(real), doc)
    if "__init__" not in {getattr(n, "name", "") for n in _node(real).body}:
        names = ", ".join(field.name for field in fields(module, name))
        return Member(name, f"{name}({names})" if names else name, doc)
    begin = real.__init__
    doc = "\n\n".join(filter(None, (doc, ast.get_docstring(_node(begin)))))
    return Member(name, name + _signature(begin).removeprefix("__init__").removesuffix(" -> None"), doc)


def fields(module: str, name: str) -> list[Member]:
    real = _real(module, name)
    is_class = inspect.isclass(real)
    body = _node(real).body if is_class else []
    found = [n for n in body if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_")]
    return [Member(ast.unparse(n.target), _FACTORY.sub("", ast.unparse(n)), _text_after(body, n)) for n in found]


def methods(module: str, name: str) -> list[Member]:
    """Return the public methods and properties of a class that have a docstring; those of its base classes in deepnb,
    too, unless these are public themselves."""
    real = _real(module, name)
    return list(_all_methods(real).values()) if inspect.isclass(real) else []


def _all_methods(real: type) -> dict[str, Member]:
    found = {m.name: m for m in _own_methods(real)}
    for base in real.__bases__:
        if base.__module__.startswith("deepnb.") and base.__name__ not in public_names("deepnb"):
            found = _all_methods(base) | found
    return found


def _own_methods(real: type) -> Iterator[Member]:
    for one in _node(real).body:
        if not isinstance(one, Function) or one.name.startswith("_") or not (doc := ast.get_docstring(one)):
            continue
        if isinstance(vars(real)[one.name], property | cached_property):
            if not any(ast.unparse(mark).endswith(".setter") for mark in one.decorator_list):
                yield Member(one.name, f"{one.name}: {ast.unparse(one.returns)}" if one.returns else one.name, doc)
        else:
            yield Member(one.name, _signature(getattr(real, one.name)), doc)


def parameters(module: str, name: str) -> dict[str, str]:
    """Return parameter -> its default as it is shown, empty if it has none."""
    real = _real(module, name)
    found = _parameters(real.__init__ if inspect.isclass(real) else real)
    return {one.name: "" if one.default is one.empty else one.default for one in found}


class _Shown(str):
    """A default as it is shown."""

    __repr__ = str.__str__


def _parameters(real: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function without `self`, types, and what is there to name a mistake."""
    found = []
    for one in inspect.signature(real).parameters.values():
        if one.name not in ("self", "cls") and not str(one.annotation).endswith("Never"):
            default = one.default if one.default is one.empty else _Shown(_default(real, one.default))
            found.append(one.replace(annotation=one.empty, default=default))
    return found


def _default(real: Callable[..., Any], value: Any) -> str:
    if inspect.isfunction(value):
        return next(ast.unparse(one) for one in ast.walk(_node(real)) if isinstance(one, ast.Lambda))
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError):  # made by a call
        return "UNCHANGED" if value is UNCHANGED else "..."
    return repr(value) if len(repr(value)) < _LONG else "..."


def _signature(real: Callable[..., Any]) -> str:
    """Return `run(prompt, *, model=None) -> Turn`; the many options that stay as they are are `**options`."""
    node, given = _node(real), _parameters(real)
    kept = [one for one in given if one.default != "UNCHANGED"]
    if len(kept) < len(given):
        kept.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    start = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{start}{node.name}{inspect.Signature(kept)}{returns}"


def _text_after(body: list[ast.stmt], node: ast.stmt) -> str:
    after = body[body.index(node) + 1 : body.index(node) + 2]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return re.sub(r"\s*\n\s*", " ", str(after[0].value.value)).strip()
    return ""


def _real(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


@cache
def _node(real: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(real))).body[0]


FILE = ROOT / "notebooks" / "REFERENCE.md"


def main() -> None:
    text = reference_text()
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
