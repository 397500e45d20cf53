"""Subagents, given in Python and as files: what they are, have and cost, how deep they nest, and what is broken."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import tool

from deepnb import Session, Subagent
from deepnb.engine.request import message_text
from deepnb.models.teaching import TeachingModel
from deepnb.subagents.files import BYTES, check, scaffold
from deepnb.values.turn import Compacted, ModelEnded, ModelStarted, ToolEnded, Usage
from tests.support.nesting import Plan, Planned
from tests.support.scripted import TASK, Paid, Scripted, call, session, walked
from tests.support.tables import every_row, refused

CRITIC: dict[str, Any] = {"name": "critic", "description": "Finds faults.", "system_prompt": "Be strict."}
GO = call("task", id="t1", description="look", subagent_type="critic")


@tool
def weigh(thing: str) -> str:
    """Weigh a thing."""
    return f"{thing}: 3 kg"


def test_a_dict_and_a_dataclass_are_the_same():
    dict_, class_ = session(subagents=[CRITIC]), session(subagents=[Subagent(**CRITIC)])
    assert dict_.options.subagents == class_.options.subagents == (Subagent("critic", "Finds faults.", "Be strict."),)


FILES = {"ls", "read_file", "write_file", "edit_file", "glob", "grep", "delete"}
KERNEL = {"list_variables", "inspect_variable", "query_table", "read_notebook", "edit_notebook"}


@every_row(("tools", "options", "expected"), [
    (None, {}, {*FILES, *KERNEL, "weigh", "task"}), ([], {}, {*FILES, "task"}),
    ([weigh], {}, {*FILES, "task", "weigh"}), (["weigh"], {}, {"weigh"}),
    (["grep", "task"], {}, {"read_file", "grep", "task"}),
    (["list_variables", weigh], {}, {"list_variables", "weigh"}),
    (None, {"enable_filesystem": False}, {*KERNEL, "weigh", "task"}),
])  # fmt: skip
def test_which_tools_it_has(tools, options, expected):
    s = session(GO, "done", "end", subagents=[{**CRITIC, "tools": tools}], tools=[weigh], **options)
    s.run("p")
    assert {piece.label for piece in s.xray(1, 2).call.request if piece.part == "tools"} == expected


@every_row(("given", "says"), [
    (["critic"], "a subagent is a dict or a deepnb.Subagent, not a str"), ([{}], "a subagent has no name"),
    ([{"name": "critic"}], "the subagent 'critic' has no description"),
    ([{**CRITIC, "description": " "}], "the subagent 'critic' has no description"),
    ([{**CRITIC, "name": "The Critic"}], "'The Critic' can't be a subagent's name"),
    ([{**CRITIC, "name": "x" * 65}], "65 characters; the limit is 64"),
    ([CRITIC, CRITIC], "two subagents are called 'critic'"),
    ([{**CRITIC, "promt": "x"}], "the subagent 'critic' has no option 'promt': the options are name, description,"),
    ([{**CRITIC, "permissions": [1]}], "the subagent 'critic' has no option 'permissions': the options are name,"),
    ([{**CRITIC, "tools": "ls"}], "tools of the subagent 'critic' is a list, not a str"),
    ([{**CRITIC, "skills": "/skills/"}], "skills of the subagent 'critic' is a list, not a str"),
    ([{**CRITIC, "skills": [1]}], "are directories or names, not a int"),
    ([{**CRITIC, "system_prompt": 3}], "system_prompt of the subagent 'critic' is text, not a int"),
    ("critic", "subagents must be a list, not a str"),
])  # fmt: skip
def test_a_mistake_is_one_line(given, says):
    refused(says.replace("(", r"\("), Session, subagents=given)


@every_row(("spec", "says"), [
    ({**CRITIC, "tools": ["nosuch"]}, "'critic' has no tool 'nosuch' to choose from: use one of list_variables"),
    ({**CRITIC, "model": "nosuch:x"}, "nosuch"), ({**CRITIC, "model": 3}, "a int is not a chat model"),
    ({**CRITIC, "tools": [lambda x: x]}, "the subagent 'critic' can't be made"),
])  # fmt: skip
def test_a_mistake_that_shows_when_it_is_made_is_told_before_the_turn(spec, says):
    s = session(subagents=[spec])
    refused(says, s.run, "p")
    assert s.turns == ()


def test_the_general_purpose_one_can_be_replaced_or_left_out_and_a_missing_name_is_told():
    mine = {**CRITIC, "name": "general-purpose"}
    s = session(subagents=[mine])
    assert [(one.agent.name, one.source) for one in s.subagents.list_subagents()] == [("general-purpose", "Python")]
    s = session()
    s.subagents.new("general-purpose")
    assert [(one.agent.name, one.source) for one in s.subagents.list_subagents()] == [("general-purpose", "file")]
    s = session(general_purpose=False)
    s.run("p")
    assert "task" not in {name for name, _ in s.workspace.built.tools}
    walked(s, "subagents.new critic", "run q")
    assert "task" in {name for name, _ in s.workspace.built.tools}
    turn = session(call("task", id="t1", description="x", subagent_type="nosuch"), "end").run("p")
    (told,) = [e.result for e in turn.events if isinstance(e, ToolEnded)]
    assert turn.text == "end" and "the only allowed types are `general-purpose`" in told


def test_its_own_window_sets_the_rule_and_compacts_it_while_the_main_agent_is_not():
    s = session(GO, "end", subagents=[{**CRITIC, "model": TeachingModel(window=4_000)}])
    s.run("p")
    first, nested, last = [e.call for e in s.last.events if isinstance(e, ModelEnded)]
    assert [c.budget.rule.window for c in (first, nested, last)] == [100_000, 4_000, 100_000]
    assert [c.budget.exact for c in (first, nested, last)] == [False, True, False]
    assert nested.budget.total == nested.usage.input
    assert list(s.ledger()["model"]) == ["ScriptedModel", "offline", "ScriptedModel"]
    own = Scripted(answers=["done"], profile=None)
    s = session(GO, "end", subagents=[{**CRITIC, "model": own}], trigger=("fraction", 0.5))
    s.run("p")
    nested = s.last.calls[1]
    assert (nested.budget.rule.window, nested.budget.rule.trigger) == (None, ("tokens", 170_000))
    reads = [call("read_file", id=f"n{i}", file_path="/big.txt", limit=400) for i in range(3)]
    own = Scripted(answers=[*reads, "SUMMARY", "done"], profile={"max_input_tokens": 11_000})
    s = session(GO, "end", subagents=[{**CRITIC, "model": own}])
    s.files["/big.txt"] = "some words in a row\n" * 400
    s.run("p")
    compacted = [e for e in s.last.events if isinstance(e, Compacted)]
    assert compacted and all(e.path == ("t1",) for e in compacted)
    assert all(e.offload.before > 0.8 * 11_000 for e in compacted)
    assert s.snapshot.offload is None and "/conversation_history/main.md" not in s.files


def test_a_variable_that_holds_its_model_is_looked_at_each_turn():
    one, two = Scripted(answers=["from one"]), Scripted(answers=["from two"])
    names = {"small": one}
    s = session(GO, "end", GO, "end", namespace=names)
    s.files["/agents/critic.md"] = "---\ndescription: d\nmodel: small\n---\np\n"
    s.run("a")
    names["small"] = two
    s.run("b")
    assert [len(m.requests) for m in (one, two)] == [1, 1]


def test_what_it_costs_is_priced_by_its_own_model_and_what_each_spent_in_a_thread():
    own = Paid(answers=["done"])
    s = Session(
        model=Paid(answers=[GO, "end"]), subagents=[{**CRITIC, "model": "own"}], namespace={"own": own},
        prices={"own": (1_000_000, 1_000_000, 0)},
    )  # fmt: skip
    s.run("p")
    assert list(s.ledger()["cost"].fillna(-1)) == [-1, 10, -1]
    s = walked(Session(model=Paid(answers=[GO, "done", "end"]), subagents=[CRITIC]), "run p", "run q")
    spent = s.subagents.spent()
    assert set(spent) == {"critic"}
    assert (spent["critic"].runs, spent["critic"].calls, spent["critic"].input, spent["critic"].output) == (1, 1, 10, 2)
    row = s.subagents.list().set_index("name").loc["critic"]
    assert (row["runs"], row["calls"], row["input"], row["output"]) == (1, 1, 10, 2)
    assert s.turns[0].usage == Usage(30, 6, 12)
    s.new()
    assert s.subagents.spent() == {}


def test_memory_is_neither_inherited_read_nor_given_back_at_any_depth():
    inner = call("task", id="t2", description="deeper", subagent_type="general-purpose")
    look = [call("read_file", id="r", file_path="/MEMORY.md"), call("grep", id="g", pattern="merger")]
    s = session(GO, inner, *look, "at two", "at one", "end", subagents=[CRITIC])
    s.memory.add("likes tea")
    s.memory.add("the merger is in May", "/MEMORY.md")
    s.skills.new("csv-report", "A SKILL.")
    s.run("p")
    for request in s.options.model.requests[1:6]:
        sent = "\n".join(map(message_text, request))
        assert "likes tea" not in sent and "merger is" not in sent and "A SKILL." not in sent
    results = [e.result for e in s.last.events if isinstance(e, ToolEnded) and e.path == ("t1", "t2")]
    assert len(results) == 2 and "May" not in "".join(results)
    assert "likes tea" in message_text(s.options.model.requests[6][0])
    assert s.snapshot.memory["/AGENTS.md"] == "- likes tea\n"


ANY = "general-purpose"


def chain(levels: int, agent: str = ANY) -> Plan:
    plan = Plan(f"a{levels}")
    for level in reversed(range(levels)):
        plan = Plan(f"a{level}", ((agent, plan),))
    return plan


def paths(s: Session) -> set[tuple[str, ...]]:
    return {e.path for e in s.last.events if isinstance(e, ModelStarted)}


def refusals(s: Session) -> list[ToolEnded]:
    ended = [e for e in s.last.events if isinstance(e, ToolEnded)]
    return [e for e in ended if "max_subagent_depth" in e.result and e.status == "error"]


@every_row("options", [{}, {"max_subagent_depth": 1}, {"max_subagent_depth": 5}])
def test_a_chain_stops_at_the_limit_and_every_agent_goes_on(options):
    s, limit = Session(model=Planned(), **options), options.get("max_subagent_depth", 3)
    for turn in (s.run(str(chain(9))), s.run(str(chain(9)))):
        assert max(map(len, paths(s))) == limit
        (refused,) = refusals(s)
        assert len(refused.path) == limit
        assert f"nested {limit} deep, and max_subagent_depth is {limit}" in refused.result
        assert turn.error is None and turn.interrupted is None
        assert turn.text.startswith("a0(a1(") and f"a{limit}(Error: no subagent was started." in turn.text


plans = st.recursive(
    st.just(()),
    lambda tasks: st.lists(st.tuples(st.sampled_from([ANY, "first", "second"]), tasks), max_size=3).map(tuple),
    max_leaves=8,
)


def named(tasks: tuple, name: str = "n") -> Plan:
    return Plan(name, tuple((agent, named(inner, f"{name}-{i}")) for i, (agent, inner) in enumerate(tasks)))


@pytest.mark.slow
@settings(max_examples=25)
@given(tasks=plans, limit=st.integers(1, 4))
def test_exactly_the_agents_above_the_limit_run(tasks, limit):
    plan = named(tasks)
    own = [{"name": n, "description": n, "system_prompt": n} for n in ("first", "second")]
    s = Session(model=Planned(), max_subagent_depth=limit, subagents=own)
    turn = s.run(str(plan))
    assert paths(s) == {ids[1:] for ids in plan.within(limit)} and len(refusals(s)) == plan.refused(limit)
    assert turn.error is None


def test_the_limit_holds_in_another_session_awaited_after_a_resume_and_of_steps_too():
    inner = Session(model=Planned(), max_subagent_depth=3)
    spec = {"name": "other", "description": "d", "runnable": inner.graph}
    s = Session(model=Planned(), subagents=[spec], approve={"task": "allow"})
    s.run(str(Plan("a0", (("other", chain(9)),))))
    assert max(map(len, paths(s))) == 3
    s = Session(model=Planned(), max_subagent_depth=2)
    ask = {"messages": [("user", str(chain(9)))]}
    out = asyncio.run(s.graph.ainvoke(ask, {"configurable": {"thread_id": "t"}}))
    assert out["messages"][-1].text.startswith("a0(a1(a2(Error: no subagent was started.")
    # The run is cut two levels down and goes on there: the depth is the one it had.
    task = [call("task", id=f"t{i}", description="go", subagent_type=ANY) for i in range(4)]
    answers = [task[0], task[1], KeyboardInterrupt(), task[2], task[3], "at three", "at two", "at one", "end"]
    s = Session(model=Scripted(answers=answers))
    with pytest.raises(KeyboardInterrupt):
        s.run("p")
    assert s.pending
    list(s.resume("again"))
    assert s.last.text == "end"
    (refused,) = refusals(s)
    assert len(refused.path) == 3
    s = Session(model=Scripted(answers=[TASK, *(call("ls", id="n", path=f"/{i}") for i in range(6))]), max_steps=5)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 5 steps in the subagent general-purpose"
    assert len(turn.calls) == 6


TOOLS = ("inspect_variable", "ls", "read_file", "task")
GOOD = "---\ndescription: Finds faults.\n---\nBe strict.\n"


def checked(text: str | bytes, name: str = "critic.md"):
    return check(text.encode() if isinstance(text, str) else text, f"/agents/{name}", TOOLS, ("given",))


def file(*fields: str, body: str = "Be strict.", description: str = "description: Finds faults.") -> str:
    return "\n".join(["---", *([description] if description else []), *fields, "---", body, ""])


def test_what_a_file_says():
    fields = ("name: critic", "tools: ls, read_file task", "model: openai:gpt-5.2", "skills: [/skills/, plot]")
    listed = checked(file(*fields))
    assert listed.problem is None and listed.notes == ()
    more: Any = (("ls", "read_file", "task"), "openai:gpt-5.2", ("/skills/", "plot"))
    assert listed.agent == Subagent("critic", "Finds faults.", "Be strict.", *more)
    assert checked(GOOD).agent == Subagent("critic", "Finds faults.", "Be strict.")
    for tools in (
        " ls read_file", " ls,read_file", " [ls, read_file]", "\n  - ls\n  - read_file", " ls, ls, read_file",
    ):  # fmt: skip
        assert checked(file(f"tools:{tools}")).agent.tools == ("ls", "read_file"), tools


@every_row(("text", "line", "says"), [
    (b" \n\n", 1, "the file is empty: %agent subagents add NAME"), (b"\xff\xfe", 1, "is not UTF-8"),
    ("no frontmatter", 1, "the first line is not ---"), ("---\n---\nBe strict.", 1, "there is no description"),
    (file(body="  \n "), 0, "there is no text below the frontmatter"),
    (file(description="description:"), 2, "description is empty"),
    (file(description="description: [a]"), 2, "description is not text"),
    (file(description=f"description: {'x' * 1025}"), 2, "description has 1,025 characters"),
    (file("description: again"), 3, "description appears twice"),
    (file("name: other"), 3, "the name 'other' differs from its file name: write name: critic"),
    (file("tools: ls, raed_file"), 3, "no tool 'raed_file' for a subagent: use some of inspect_variable, ls,"),
    (file("tools:"), 3, "tools is empty: give at least one, or remove the line to give it all"),
    (file("tools: []"), 3, "tools is empty"), (file("tools:", "  a: b"), 4, "tools is a mapping"),
    (file("tools: [[ls]]"), 3, "a name of tools is a list"), (file("model:"), 3, "model is empty"),
    (file("model: [a]"), 3, "model is not text"),
    (file("skills: ' '"), 3, "skills is empty: give at least one, or remove the line to give it none"),
    ("x" * (BYTES + 1), 0, "the limit is 100,000"),
])  # fmt: skip
def test_a_broken_file_says_where_and_what_to_write(text, line, says):
    problem = checked(text).problem
    assert problem is not None
    assert problem.startswith(f"/agents/critic.md:{line}: " if line else "/agents/critic.md: "), problem
    assert says in problem and "\n" not in problem


@every_row("name", ["README.md", "my agent.md", "a_b.md", "-a.md", "a--b.md", "x" * 65 + ".md", ".md", "given.md"])
def test_names_that_are_none(name):
    problem = checked(GOOD, name).problem
    assert problem is not None and problem.startswith(f"/agents/{name}: ")


def test_strange_fields_are_notes():
    listed = checked(file("color: red", "skills: plot", "tools: ls"), "ｃritic.md")
    assert listed.problem is None and listed.agent.name == "critic"
    said = [note.partition(": ")[2].partition(":")[0] for note in listed.notes]
    assert said == ["color is not a field of a subagent", "it has skills but no tool to read them"]


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda t: f"---\n{t}\n---\nbody".encode("utf-8", "replace")))
def test_nothing_raises(data):
    listed = checked(data)
    assert listed.problem or listed.agent.system_prompt


@given(st.text(max_size=2000))
def test_a_scaffold_is_good_whatever_is_said_of_it(description):
    listed = checked(scaffold("critic", description).encode("utf-8", "replace"))
    assert listed.problem is None and listed.notes == ()


def listed(s: Session) -> str:
    """What the tool `task` says of itself in the last request."""
    (tool,) = (piece.text for piece in s.xray().request if piece.label == "task")
    return str(json.loads(tool)["function"]["description"])


def test_added_changed_broken_and_removed_between_two_turns():
    s, path = session(), "/agents/critic.md"
    steps = (
        (lambda: None, None), (lambda: s.files.__setitem__(path, GOOD), "Finds faults."),
        (lambda: s.files.__setitem__(path, file(description="description: Finds more.")), "Finds more."),
        (lambda: s.files.__setitem__(path, "broken"), None),
        (lambda: s.files.__setitem__(path, GOOD), "Finds faults."), (lambda: s.new("other"), "Finds faults."),
        (lambda: s.new("apart", empty=True), None), (lambda: (s.switch("main"), s.subagents.remove("critic")), None),
    )  # fmt: skip
    for step, words in steps:
        step()
        assert s.run("go").text == "ok" and (f"- critic: {words}" if words else "- general-purpose: ") in listed(s)
        assert ("- critic" in listed(s)) is bool(words)
        (problem,) = [one.problem for one in s.subagents.list_subagents() if one.agent.name == "critic"] or [None]
        assert bool(problem) is (s.files.get(path) == "broken")


def test_a_description_of_several_lines_lists_one_and_an_unchanged_set_makes_no_new_graph():
    s = session()
    s.files["/agents/critic.md"] = file(description="description: |\n  Finds faults.\n  - other: does not exist.")
    s.run("a")
    assert "\n- critic: Finds faults. - other: does not exist.\n" in listed(s)
    s = walked(session(), "subagents.new critic", "run a")
    graph = s.graph
    s.run("b")
    assert s.graph is graph
    s.files["/agents/critic.md"] = GOOD
    s.run("c")
    assert s.graph is not graph


def test_a_file_that_another_program_writes_on_a_mounted_disk(tmp_path: Path):
    s = session("one", GO, "STRICT", "end")
    s.mount("/agents", f"disk:{tmp_path}")
    s.run("a")
    (tmp_path / "critic.md").write_text(GOOD)
    assert s.run("b").text == "end" and message_text(s.options.model.requests[2][0]).startswith("Be strict.")
    (tmp_path / "secret.txt").write_text("SECRET")
    (tmp_path / "link.md").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "folder.md").mkdir()
    told = {one.agent.name: one.problem for one in s.subagents.list_subagents()}
    assert told["critic"] is None and "SECRET" not in json.dumps(told)
    assert told.get("link", "refused") is not None and s.run("c").error is None


@every_row(("line", "there"), [
    ("skills: one", ["one"]), ("skills: ｏｎｅ", ["one"]), ("skills: /skills/", ["one", "two"]),
    ("skills: two, /more/", ["two", "three"]), ("skills: nosuch", []),
])  # fmt: skip
def test_skills_by_name_and_by_directory(line: str, there: list[str]):
    s = session(GO, "done", "end")
    for name in ("one", "two"):
        s.skills.new(name, f"The {name}.")
    s.files["/more/three/SKILL.md"] = "---\nname: three\ndescription: The three.\n---\nx\n"
    s.files["/agents/critic.md"] = file(line)
    s.run("p")
    prompt = message_text(s.options.model.requests[1][0])
    assert [w for w in ("one", "two", "three") if f"The {w}." in prompt] == there
    assert ("agent_skills" in prompt) is bool(there)


def notes(*lines: str) -> tuple[str, ...]:
    s = session()
    for name in ("plot", "report"):
        s.skills.new(name, f"The {name}.")
    s.skills.disable("report")
    s.files["/skills/torn/SKILL.md"] = "no frontmatter"
    s.files["/more/three/SKILL.md"] = "---\nname: three\ndescription: The three.\n---\nx\n"
    s.files["/agents/critic.md"] = file(*lines)
    (one,) = [one for one in s.subagents.list_subagents() if one.agent.name == "critic"]
    assert one.problem is None and s.subagents.list().set_index("name").loc["critic"]["notes"] == one.notes
    return one.notes


@every_row(("skills", "says"), [
    ("nosuch", "no skill 'nosuch' that can be used: remove it, or use one of plot"),
    ("report", "no skill 'report' that can be used: remove it, or use one of plot"),
    ("torn", "no skill 'torn' that can be used: remove it, or use one of plot"),
    ("/nowhere/", "no skill below '/nowhere/': remove it, or use one of plot"),
    ("three", "no skill 'three' that can be used: remove it, or use one of plot"),
    *((there, "") for there in ("plot", "ｐｌｏｔ", "/skills/", "three, /more/", "/more")),
])  # fmt: skip
def test_a_skill_that_is_not_there_is_told_with_its_line(skills, says):
    assert notes("model: offline", f"skills: plot, {skills}") == ((f"/agents/critic.md:4: {says}",) if says else ())


def test_a_missing_skill_is_told_and_a_model_that_can_not_be_had_is_listed_and_stops_nothing():
    s = session(subagents=[{"name": "critic", "description": "d", "skills": ["nosuch"]}])
    (one,) = [one for one in s.subagents.list_subagents() if one.agent.name == "critic"]
    expected = ("no skill 'nosuch' that can be used: remove it, or create one: %skills new NAME (in subagents=[...])",)
    assert one.notes == expected
    s = session()
    s.files["/agents/critic.md"] = file("model: nosuch:model-x")
    assert s.run("p").text == "ok"
    (broken,) = [one for one in s.subagents.list_subagents() if one.problem]
    assert broken.problem.startswith("/agents/critic.md:3: its model: ")


def agents(folder: Path, last: str = GOOD) -> Path:
    for name, text in (("a", GOOD), ("b", GOOD), ("c", last)):
        (folder / f"{name}.md").write_text(text)
    (folder / "notes.txt").write_text("x")
    (folder / "empty").mkdir()
    return folder


KEY = "sk-ant-api03-" + "Zx9Qv7Lm2Rt5Kp8Wn3" * 4 + "-AA"


def test_a_file_or_a_directory_is_added(tmp_path: Path):
    s = session()
    assert s.subagents.add(agents(tmp_path) / "a.md") == ("a",)
    refused("a subagent 'a' already exists", s.subagents.add, tmp_path)
    assert s.subagents.names() == ("general-purpose", "a")
    assert s.subagents.add(tmp_path, replace=True) == ("a", "b", "c")
    assert s.subagents.names() == ("general-purpose", "a", "b", "c")


@every_row(("last", "what", "says"), [
    (file(body=f"Log in with {KEY}"), "", r"/agents/c\.md.*Anthropic"),
    ("no frontmatter", "", r"not added: .*c\.md:1: the first line is not ---"), (GOOD, "gone.md", "there is no"),
    (GOOD, "notes.txt", "not a Markdown file"), (GOOD, "empty", "has no NAME.md"),
])  # fmt: skip
def test_where_one_is_refused_none_is_added_and_those_there_are_as_they_were(tmp_path, last, what, says):
    s = session()
    s.files["/agents/a.md"] = old = GOOD.replace("strict", "mild")
    refused(says, lambda: s.subagents.add(agents(tmp_path, last) / what, replace=True))
    assert dict(s.files) == {"/agents/a.md": old}


def test_new_and_remove():
    s = session(subagents=[{"name": "mine", "description": "d"}])
    assert s.subagents.new("critic", 'Finds "faults".') == "/agents/critic.md"
    assert s.subagents.show("critic")[0].agent.description == 'Finds "faults".'
    for name, line in (
        ("critic", "already exists"), ("mine", "already defined in Python"), ("../up", "can't be a sub"),
    ):  # fmt: skip
        refused(line, s.subagents.new, name)
    assert s.subagents.remove("critic") == "/agents/critic.md"
    for name in ("critic", "mine", "general-purpose"):
        refused("", s.subagents.remove, name)
