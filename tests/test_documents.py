"""The documents say what is so: every path, name and link in them is there."""

from __future__ import annotations

import json
import re
from configparser import ConfigParser
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name

import yaml

import deepnb
from deepnb.values.wings import WINGS
from deepnb.wiring.options import Options
from tests import ROOT
from tests.support.environments import PROJECT
from tests.support.tables import every_row

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "notebooks/REFERENCE.md")
LINKED = (
    *DOCUMENTS[:3],
    *sorted(f"notebooks/{p.name}" for end in ("md", "ipynb") for p in (ROOT / "notebooks").glob(f"*.{end}")),
)
"""What is looked through for links."""
HOSTS = {"agentskills.io", "colab.research.google.com", "github.com", "jupyter.org", "mybinder.org"}
"""Whom a link outside may lead to; none is asked."""
THERE = [
    "backend", "system_prompt", "tools", "middleware", "checkpointer", "store", "max_input_tokens",
    "summarization_threshold", "eviction_threshold", "max_subagent_depth", "skills_dir", "memory_file", "subagents",
    "enable_subagents", "enable_filesystem", "enable_skills", "enable_memory",
]  # fmt: skip
"""The options of the system that ours are compared with."""


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(name: str, heading: str) -> list[list[str]]:
    """The cells of the table below a heading, its head left out."""
    section = text(name).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(name: str) -> list[str]:
    """What stands in backticks within a line."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text(name), flags=re.S | re.M))


def anchor(heading: str) -> str:
    """A heading as GitHub names it in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(name: str) -> set[str]:
    """The headings as GitHub names them in a link."""
    return {anchor(head) for head in re.findall(r"^#+ (.+)$", prose(name), re.M)}


def prose(name: str) -> str:
    """A document without its code; of a notebook the Markdown cells."""
    if name.endswith(".ipynb"):
        cells = json.loads(text(name))["cells"]
        said = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    else:
        said = text(name)
    return re.sub(r"^```.*?^```", "", said, flags=re.S | re.M)


PUBLIC = {"deepnb.formats": "open", "deepnb.course": "course"}
"""The public name of what is in a wing -> the wing."""


def is_left_out(word: str) -> bool:
    """Whether a path or a dotted name is one of a wing that is not in this copy."""
    found = re.match(r"(?:deepnb|tests)[./]wings[./](\w+)", word)
    wing = found[1] if found else PUBLIC.get(".".join(word.split(".")[:2]))
    return wing is not None and wing != "NAME" and wing not in WINGS


@every_row("name", DOCUMENTS)
def test_every_path_is_there(name: str) -> None:
    paths = [word for word in code(name) if re.match(r"(?:deepnb|tests|notebooks|binder|\.ci)/[\w./-]+$", word)]
    assert len(paths) > 3 or name == "README.md"
    assert [path for path in paths if not (ROOT / path).exists() and "NAME" not in path and not is_left_out(path)] == []


@every_row("name", DOCUMENTS)
def test_every_module_and_name_is_there(name: str) -> None:
    dotted = {word for word in code(name) if re.fullmatch(r"(?:deepnb|tests)(?:\.\w+)+", word)}
    for word in dotted:
        if not is_left_out(word):
            resolve_name(word)
    assert dotted or name in ("README.md", "ARCHITECTURE.md")


@every_row("name", DOCUMENTS)
def test_every_name_of_a_file_is_in_it(name: str) -> None:
    """`SUBCOMMANDS` of `deepnb/magics/usage.py`."""
    found = re.findall(r"`(\w+)`[^`.;]{1,12}(?:of|in|from) `((?:deepnb|tests)/[\w/]+\.py)`", text(name))
    assert found or name in ("README.md", "notebooks/REFERENCE.md")
    assert [(word, path) for word, path in found if not is_left_out(path) and word not in text(path)] == []


@every_row("name", LINKED)
def test_every_link_leads_somewhere(name: str) -> None:
    folder = (ROOT / name).parent
    for target in links(name):
        if re.match(r"\w+:", target):
            assert re.fullmatch(r"https://[\w.-]+(?:/\S*)?", target), target
            assert target.split("/")[2] in HOSTS, target
            continue
        path, _, place = target.partition("#")
        file = folder / path if path else ROOT / name
        assert file.exists(), target
        assert not place or place in anchors(str(file.resolve().relative_to(ROOT))), target


def links(name: str) -> list[str]:
    """Where the links and pictures of a document lead; what stands in backticks is no link."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]+`", "", prose(name)))


def test_links_are_found_and_the_documents_from_readme() -> None:
    assert min(len(links(name)) for name in DOCUMENTS) >= 3
    linked = set(re.findall(r"\]\(([\w./]+)\)", text("README.md")))
    assert {"ARCHITECTURE.md", "CONTRIBUTING.md", "CITATION.cff", "notebooks/REFERENCE.md"} <= linked


def test_each_option_of_theirs_has_one_of_ours() -> None:
    table = rows("ARCHITECTURE.md", "Options of Synaptic's deep agent, and ours")
    words = [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in table]
    assert [there[0] for there, *_ in words] == THERE
    defaults = {f.name: f.default for f in fields(Options)}
    for there, ours, _ in words:
        assert ours[0] in defaults, there
        if ours[1:]:
            assert ours[1] == repr(defaults[ours[0]]).replace("'", '"'), there


def test_the_rooms_are_those_that_the_linter_knows() -> None:
    contract = ConfigParser()
    contract.read(ROOT / ".importlinter")
    layers = contract["importlinter:contract:rooms"]["layers"].split("\n")[1:]
    table = rows("ARCHITECTURE.md", "Rooms")
    said: dict[str, set[str]] = {}
    for row, room, _ in table:
        said.setdefault(row, set()).add(Path(room.strip("`")).stem)
    assert list(said) == [str(n) for n in range(1, len(layers) + 1)]
    assert list(said.values()) == [set(layer.split(" | ")) for layer in layers]
    packages = {p.parent.name for p in Path(deepnb.__file__).parent.glob("*/__init__.py")}
    assert packages <= set().union(*said.values())


def test_the_glossary_has_fifteen_words_and_the_version_is_the_same_everywhere() -> None:
    table = rows("ARCHITECTURE.md", "Glossary")
    assert len(table) == 15 == len({word for word, _ in table})
    cited = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert (cited["version"], cited["license"]) == (deepnb.__version__, "MIT")
    assert PROJECT["version"] == deepnb.__version__
    assert re.findall(r"^## (\S+)", text("CHANGELOG.md"), re.M)[0] == deepnb.__version__


def test_all_is_all_that_a_user_installs() -> None:
    """And every extra that an error, a view or a document names exists."""
    extras = PROJECT["optional-dependencies"]
    assert extras["all"] == [f"deepnb[{','.join(sorted(set(extras) - {'all', 'test'}))}]"]
    sources = [*Path(deepnb.__file__).parent.rglob("*.py"), *(ROOT / name for name in (*DOCUMENTS, "CHANGELOG.md"))]
    named = {
        extra
        for source in sources
        for group in re.findall(r"(?:deepnb|\.)\[([a-z]+(?:,[a-z]+)*)\][\"'`]", source.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert {"lab", "mcp", "postgres", "server", "sqlite", "search"} <= named <= set(extras)
