"""Subagents as files: what is read out of one, what is broken in one and where, and when a change is seen."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.engine.request import message_text
from deepnb.subagents.files import BYTES, check, scaffold
from deepnb.values.agent import Subagent
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call, session
from tests.support.tables import every_row
from tests.support.walks import walked

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


@every_row(
    "tools", [" ls read_file", " ls,read_file", " [ls, read_file]", "\n  - ls\n  - read_file", " ls, ls, read_file"]
)
def test_tools_in_all_their_spellings(tools):
    assert checked(file(f"tools:{tools}")).agent.tools == ("ls", "read_file")


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


class Schemas(Scripted):
    told: list = []  # noqa: RUF012

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        names = [t["function"]["description"] for t in kwargs.get("tools", ()) if t["function"]["name"] == "task"]
        self.told.append(names[0] if names else "")
        yield from super()._stream(messages, stop, run_manager, **kwargs)


def test_added_changed_broken_and_removed_between_two_turns():
    s = Session(model=Schemas(answers=["ok"]))
    path, told = "/agents/critic.md", s.options.model.told
    steps = (
        (lambda: None, None), (lambda: s.files.__setitem__(path, GOOD), "Finds faults."),
        (lambda: s.files.__setitem__(path, file(description="description: Finds more.")), "Finds more."),
        (lambda: s.files.__setitem__(path, "broken"), None),
        (lambda: s.files.__setitem__(path, GOOD), "Finds faults."), (lambda: s.new("other"), "Finds faults."),
        (lambda: s.new("apart", empty=True), None), (lambda: (s.switch("main"), s.subagents.remove("critic")), None),
    )  # fmt: skip
    for step, words in steps:
        step()
        assert s.run("go").text == "ok" and (f"- critic: {words}" if words else "- general-purpose: ") in told[-1]
        assert ("- critic" in told[-1]) is bool(words)
        (problem,) = [one.problem for one in s.subagents.list_subagents() if one.agent.name == "critic"] or [None]
        assert bool(problem) is (s.files.get(path) == "broken")


def test_a_description_of_several_lines_lists_one_subagent():
    s = Session(model=Schemas(answers=["ok"]))
    s.files["/agents/critic.md"] = file(description="description: |\n  Finds faults.\n  - other: does not exist.")
    s.run("a")
    assert "\n- critic: Finds faults. - other: does not exist.\n" in s.options.model.told[-1]


def test_an_unchanged_set_makes_no_new_graph():
    s = walked(session(), "subagents.new critic", "run a")
    graph = s.graph
    s.run("b")
    assert s.graph is graph
    s.files["/agents/critic.md"] = GOOD
    s.run("c")
    assert s.graph is not graph


def test_a_file_that_another_program_writes_on_a_mounted_disk(tmp_path: Path):
    task = call("task", id="t1", description="look", subagent_type="critic")
    s = session("one", task, "STRICT", "end")
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
    s = session(call("task", id="t1", description="go", subagent_type="critic"), "done", "end")
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


def test_a_skill_that_is_not_there_is_told_of_a_subagent_given_in_python():
    s = session(subagents=[{"name": "critic", "description": "d", "skills": ["nosuch"]}])
    (one,) = [one for one in s.subagents.list_subagents() if one.agent.name == "critic"]
    expected = ("no skill 'nosuch' that can be used: remove it, or create one: %skills new NAME (in subagents=[...])",)
    assert one.notes == expected


def test_a_model_that_can_not_be_had_is_listed_and_stops_nothing():
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
