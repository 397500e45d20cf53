"""The reference has all there is, and says of it what Python says; notebooks/REFERENCE.md is what it makes."""

import doctest
import importlib
import inspect
import re
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import deepnb
import deepnb.testing
from deepnb.magics.config import DeepNB
from deepnb.magics.usage import MAGICS, OPTIONS, subcommands
from deepnb.testing import ScriptedModel, call
from deepnb.wings.course import reference
from deepnb.wings.course.reference import TOPICS, Entry
from tests.support.reference import FILE, FOLDER, MODULES, PARTS, anchor, entries, reference_text
from tests.support.tables import every_row, wing


def of(kind: str) -> dict[str, Entry]:
    return {one.name: one for one in entries() if one.kind == kind}


@wing("compare")
@wing("open")
@wing("package")
def test_the_file_is_current_and_read_as_it_was_made() -> None:
    assert FILE.read_text(encoding="utf-8") == reference_text(), "python -m tests.support.reference writes it"
    assert reference.entries() == entries()


def test_every_subcommand_setting_option_error_and_file_is_in_it() -> None:
    assert all({sub.name for sub in subcommands(magic)} <= {*of(f"%{magic}")} for magic in MAGICS)
    assert {option.name for option in OPTIONS} <= {*of("%agent")}
    assert {*of("setting")} == {*DeepNB.class_traits(config=True)}
    given = inspect.signature(deepnb.Session.__init__).parameters
    assert list(of("option")) == [name for name in given if name not in ("self", "unknown")]
    for name, one in of("option").items():
        assert one.usage in (f"Session({name}={given[name].default!r})", "Session(system_prompt=...)")
    assert {*of("error")} == {n for n in deepnb.__all__ if n.endswith("Error")}
    assert {"journal", "transcript", "tape", "history", "skill", "subagent", "export"} <= {*of("file")}
    assert [one.name for one in entries() if not one.text and one.usage != one.name] == []


@every_row("module", MODULES)
def test_every_public_name_is_in_it(module: str) -> None:
    real = importlib.import_module(module)
    listed = getattr(real, "__all__", None) or [
        name for name, value in vars(real).items() if getattr(value, "__module__", "") == module and name[0] != "_"
    ]
    below = [name for name in listed if inspect.ismodule(getattr(real, name))]
    assert {f"{module}.{name}" for name in below} <= set(MODULES)
    listed = [name for name in listed if isinstance(getattr(real, name), type) or callable(getattr(real, name)) or name == "Event"]  # fmt: skip
    found = {**of("Python"), **of("error")}
    assert listed and set(listed) <= set(found) and [name for name in listed if not found[name].text] == []


def test_every_public_method_and_every_topic_is_in_it() -> None:
    session = deepnb.Session()
    owners = {"session": deepnb.Session} | {part: type(getattr(session, part.partition(".")[2])) for part in PARTS}
    for owner, kind in owners.items():
        methods = {n for n, m in vars(kind).items() if inspect.isfunction(m) and not n.startswith("_") and m.__doc__}
        assert methods and {f"{owner}.{name}" for name in methods} <= set(of("Python"))
    assert sorted(TOPICS) == sorted(file.stem for file in FOLDER.glob("*.md"))
    for one in of("topic").values():
        assert (FOLDER / f"{one.name}.md").read_text(encoding="utf-8").startswith(f"# {one.usage}\n")
        assert one.text and len(one.text.splitlines()) <= 60
    headings = [anchor(one.usage) for one in of("topic").values()]
    assert len(set(headings)) == len(headings)


BLOCKS = {
    (name, i): block
    for name in ("python", "search", "own-graph")
    for i, block in enumerate(
        re.findall(r"```python\n(.*?)```", (FOLDER / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL)
    )
}


@every_row(("name", "number"), BLOCKS)
def test_the_code_of_a_topic_runs(name: str, number: int, tmp_path, monkeypatch, capsys) -> None:
    def lookup() -> int:
        """Look it up."""
        return 42

    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"model": ScriptedModel(answers=["42"]), "lookup": lookup}
    exec(BLOCKS[name, number], names)
    if name == "python":
        assert names["session"].files["/AGENTS.md"] == "- The user prefers tabs over spaces\n"
    elif name == "search":
        assert capsys.readouterr().out.startswith("memory/2026-02-16.md:")
    else:
        assert names["my_graph"].invoke({"messages": "?"})["messages"][-1].text == "42"


def test_the_lines_of_the_topic_make_an_agent_with_all_five_parts() -> None:
    def pay(amount: int) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    remember = call("write_file", file_path="/AGENTS.md", content="- tabs\n")
    model = ScriptedModel(answers=[remember, call("pay", amount=3), "done"])
    names: dict[str, Any] = {"model": model, "tools": [pay], "checkpointer": InMemorySaver()}
    (code,) = re.findall(r"```python\n(.*?)```", (FOLDER / "middleware.md").read_text(encoding="utf-8"), re.DOTALL)[:1]
    assert len(list(filter(None, code.splitlines()))) == 5
    exec(code, names)
    config = {"configurable": {"thread_id": "t"}}
    asked = names["agent"].invoke({"messages": "I like tabs. Pay 3."}, config)["__interrupt__"]
    assert [i.value["name"] for i in asked] == ["pay"] and "+- tabs" in model.requests[1][-1].text
    result = names["agent"].invoke(Command(resume={"type": "approve"}), config)
    assert [m.text for m in result["messages"][-2:]] == ["paid 3", "done"]


def test_the_example_of_the_docstring_is_true() -> None:
    failed, tried = doctest.testmod(deepnb.testing)
    assert (failed, tried > 5) == (0, True)
