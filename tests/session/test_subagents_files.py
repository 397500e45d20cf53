"""Subagents as files: what is read out of one, what is broken in one and where, and when a change is seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb import DeepnbError, Session
from deepnb.engine.request import message_text
from deepnb.subagents.files import BYTES, check, scaffold
from deepnb.values.agent import Subagent
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

TOOLS = ("inspect_variable", "ls", "read_file", "task")
GOOD = "---\ndescription: Finds faults.\n---\nBe strict.\n"


def checked(text: str | bytes, name: str = "critic.md"):
    return check(text.encode() if isinstance(text, str) else text, f"/agents/{name}", TOOLS, ("given",))


def file(*fields: str, body: str = "Be strict.", description: str = "description: Finds faults.") -> str:
    return "\n".join(["---", *([description] if description else []), *fields, "---", body, ""])


def test_what_a_file_says():
    listed = checked(
        file("name: critic", "tools: ls, read_file task", "model: openai:gpt-5.2", "skills: [/skills/, plot]")
    )
    assert listed.problem is None and listed.notes == ()
    assert listed.agent == Subagent(
        "critic", "Finds faults.", "Be strict.", ("ls", "read_file", "task"), "openai:gpt-5.2", ("/skills/", "plot")
    )


def test_the_least_there_can_be():
    assert checked(GOOD).agent == Subagent("critic", "Finds faults.", "Be strict.")


@every_row(
    "tools",
    [
        "tools: ls read_file",
        "tools: ls,read_file",
        "tools: [ls, read_file]",
        "tools:\n  - ls\n  - read_file",
        "tools: ls, ls, read_file",
    ],
)
def test_tools_in_all_their_spellings(tools):
    assert checked(file(tools)).agent.tools == ("ls", "read_file")


@every_row(
    ("text", "line", "says"),
    [
        (b"", 1, "the file is empty: %agent subagents add NAME"),
        (b" \n\n", 1, "the file is empty"),
        (b"\xff\xfe", 1, "is not UTF-8"),
        (b"\xef\xbb\xbf---\ndescription: x\n---\nb", 1, "byte order mark"),
        ("no frontmatter", 1, "the first line is not ---"),
        ("---\ndescription: x\nBe strict.", 1, "the frontmatter is not closed"),
        ("---\n---\nBe strict.", 1, "there is no description"),
        ("---\n- a\n---\nb", 2, "the frontmatter is a list"),
        (file(body=""), 0, "there is no text below the frontmatter"),
        (file(body="  \n "), 0, "there is no text below the frontmatter"),
        (file(description="description:"), 2, "description is empty"),
        (file(description="description: [a]"), 2, "description is not text"),
        (file(description=f"description: {'x' * 1025}"), 2, "description has 1,025 characters"),
        (file("description: again"), 3, "description appears twice"),
        (file("name: other"), 3, "the name 'other' differs from its file name: write name: critic"),
        (file("tools: ls, raed_file"), 3, "no tool 'raed_file' for a subagent: use some of inspect_variable, ls,"),
        (file("tools:"), 3, "tools is empty: give at least one, or remove the line to give it all"),
        (file("tools: []"), 3, "tools is empty"),
        (file("tools:", "  a: b"), 4, "tools is a mapping"),
        (file("tools: [[ls]]"), 3, "a name of tools is a list"),
        (file("model:"), 3, "model is empty"),
        (file("model: [a]"), 3, "model is not text"),
        (file("skills: ' '"), 3, "skills is empty: give at least one, or remove the line to give it none"),
        (file("a: &x 1"), 3, "&x is read as a YAML anchor"),
        (file("a: *x"), 3, "*x is read as a YAML alias"),
        (file("\tmodel: x"), 3, ""),
        ("x" * (BYTES + 1), 0, "the limit is 100,000"),
    ],
)  # fmt: skip
def test_a_broken_file_says_where_and_what_to_write(text, line, says):
    problem = checked(text).problem
    assert problem is not None
    assert problem.startswith(f"/agents/critic.md:{line}: " if line else "/agents/critic.md: "), problem
    assert says in problem
    assert "\n" not in problem


@every_row("name", ["README.md", "my agent.md", "a_b.md", "-a.md", "a--b.md", "x" * 65 + ".md", ".md", "given.md"])
def test_names_that_are_none(name):
    problem = checked(GOOD, name).problem
    assert problem is not None and problem.startswith(f"/agents/{name}: ")


def test_a_name_in_full_width_letters_is_the_plain_one():
    assert checked(GOOD, "ｃritic.md").agent.name == "critic"


def test_strange_fields_are_notes():
    listed = checked(file("color: red", "skills: plot", "tools: ls"))
    assert listed.problem is None
    assert [note.partition(": ")[2].partition(":")[0] for note in listed.notes] == [
        "color is not a field of a subagent",
        "it has skills but no tool to read them",
    ]


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda t: f"---\n{t}\n---\nbody".encode("utf-8", "replace")))
def test_nothing_raises(data):
    listed = checked(data)
    assert listed.problem or listed.agent.system_prompt


@given(st.text(max_size=2000))
def test_a_scaffold_is_good_whatever_is_said_of_it(description):
    listed = checked(scaffold("critic", description).encode("utf-8", "replace"))
    assert listed.problem is None and listed.notes == ()


# -- in a session


def session(*answers, **options) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


class Schemas(Scripted):
    """Keeps the description of the tool `task` as it was bound."""

    told: list = []  # noqa: RUF012

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        names = [t["function"]["description"] for t in kwargs.get("tools", ()) if t["function"]["name"] == "task"]
        self.told.append(names[0] if names else "")
        yield from super()._stream(messages, stop, run_manager, **kwargs)


def test_added_changed_broken_and_removed_between_two_turns():
    s = Session(model=Schemas(answers=["ok"]))
    told = s.options.model.told
    s.run("a")
    assert "- critic" not in told[-1] and "- general-purpose: " in told[-1]
    s.files["/agents/critic.md"] = GOOD
    s.run("b")
    assert "- critic: Finds faults." in told[-1]
    s.files["/agents/critic.md"] = file(description="description: Finds more.")
    s.run("c")
    assert "- critic: Finds more." in told[-1]
    s.files["/agents/critic.md"] = "broken"
    assert s.run("d").text == "ok"
    assert "- critic" not in told[-1]
    assert [(one.agent.name, bool(one.problem)) for one in s.subagents.list_subagents()] == [
        ("general-purpose", False),
        ("critic", True),
    ]
    s.files["/agents/critic.md"] = GOOD
    s.run("e")
    assert "- critic: Finds faults." in told[-1]
    s.subagents.remove("critic")
    s.run("f")
    assert "- critic" not in told[-1]
    assert s.turns[-1].error is None


def test_a_description_of_several_lines_lists_one_subagent():
    s = Session(model=Schemas(answers=["ok"]))
    s.files["/agents/critic.md"] = file(description="description: |\n  Finds faults.\n  - other: does not exist.")
    s.run("a")
    assert "\n- critic: Finds faults. - other: does not exist.\n" in s.options.model.told[-1]


def test_an_unchanged_set_makes_no_new_graph():
    s = session()
    s.subagents.new("critic")
    s.run("a")
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
    assert s.run("b").text == "end"
    assert message_text(s.options.model.requests[2][0]).startswith("Be strict.")
    (tmp_path / "secret.txt").write_text("SECRET")
    (tmp_path / "link.md").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "folder.md").mkdir()
    told = {one.agent.name: one.problem for one in s.subagents.list_subagents()}
    assert told["critic"] is None
    assert "SECRET" not in json.dumps(told)
    assert told.get("link", "refused") is not None
    assert s.run("c").error is None


def test_what_it_is_sent_its_prompt_its_tools_and_nothing_of_memory():
    task = call("task", id="t1", description="THE TASK", subagent_type="critic")
    s = session(task, "done", "end")
    s.memory.add("likes tea")
    s.files["/agents/critic.md"] = file("tools: read_file, inspect_variable")
    s.run("p")
    request = s.xray(1, 2)
    sent = [message_text(m) for m in s.options.model.requests[1]]
    assert sent == ["Be strict.", "THE TASK"]
    tools = {piece.label for piece in request.call.request if piece.part == "tools"}
    assert tools == {"read_file", "inspect_variable"}


def test_skills_by_name_and_by_directory():
    def prompt(line: str) -> str:
        task = call("task", id="t1", description="go", subagent_type="critic")
        s = session(task, "done", "end")
        for name in ("one", "two"):
            s.skills.new(name, f"The {name}.")
        s.files["/more/three/SKILL.md"] = "---\nname: three\ndescription: The three.\n---\nx\n"
        s.files["/agents/critic.md"] = file(line)
        s.run("p")
        return message_text(s.options.model.requests[1][0])

    assert [w for w in ("one", "two", "three") if f"The {w}." in prompt("skills: one")] == ["one"]
    assert [w for w in ("one", "two", "three") if f"The {w}." in prompt("skills: ｏｎｅ")] == ["one"]
    assert [w for w in ("one", "two", "three") if f"The {w}." in prompt("skills: /skills/")] == ["one", "two"]
    assert [w for w in ("one", "two", "three") if f"The {w}." in prompt("skills: two, /more/")] == ["two", "three"]
    assert "agent_skills" not in prompt("skills: nosuch")


def notes(*lines: str) -> tuple[str, ...]:
    """What is said of a subagent in a session with one good skill, one switched off and one broken."""
    s = session()
    for name in ("plot", "report"):
        s.skills.new(name, f"The {name}.")
    s.skills.disable("report")
    s.files["/skills/torn/SKILL.md"] = "no frontmatter"
    s.files["/more/three/SKILL.md"] = "---\nname: three\ndescription: The three.\n---\nx\n"
    s.files["/agents/critic.md"] = file(*lines)
    (one,) = [one for one in s.subagents.list_subagents() if one.agent.name == "critic"]
    assert one.problem is None
    assert s.subagents.list().set_index("name").loc["critic"]["notes"] == one.notes
    return one.notes


@every_row(
    ("skills", "says"),
    [
        ("nosuch", "no skill 'nosuch': remove it, or use one of plot"),
        ("plto", "no skill 'plto': write plot"),
        ("report", "the skill 'report' is disabled: %skills enable report"),
        ("torn", "the skill 'torn' can't be used: %skills show torn shows why"),
        ("/nowhere/", "no skill below '/nowhere/': give a directory of skills, or use one of plot"),
        ("three", "no skill 'three': remove it, or use one of plot"),
    ],
)
def test_a_skill_that_is_not_there_is_told_with_its_line(skills, says):
    assert notes("model: offline", f"skills: plot, {skills}") == (f"/agents/critic.md:4: {says}",)


@every_row("skills", ["plot", "ｐｌｏｔ", "/skills/", "three, /more/", "/more"])
def test_skills_that_are_there_need_no_note(skills):
    assert notes(f"skills: {skills}") == ()


def test_a_skill_that_is_not_there_is_told_of_a_subagent_given_in_python():
    s = session(subagents=[{"name": "critic", "description": "d", "skills": ["nosuch"]}])
    (one,) = [one for one in s.subagents.list_subagents() if one.agent.name == "critic"]
    assert one.notes == ("no skill 'nosuch': remove it, or create one: %skills new NAME (in subagents=[...])",)


def test_a_model_that_can_not_be_had_is_listed_and_stops_nothing():
    s = session()
    s.files["/agents/critic.md"] = file("model: nosuch:model-x")
    assert s.run("p").text == "ok"
    (broken,) = [one for one in s.subagents.list_subagents() if one.problem]
    assert broken.problem.startswith("/agents/critic.md:3: its model: ")


def test_files_belong_to_the_session_and_an_empty_thread_has_none():
    s = session()
    s.subagents.new("critic")
    s.run("a")
    s.new("other")
    assert "critic" in set(s.subagents.list()["name"])
    s.new("apart", empty=True)
    assert "critic" not in set(s.subagents.list()["name"])


def test_a_credential_is_refused_in_a_subagents_file():
    s = session()
    with pytest.raises(DeepnbError, match="not written"):
        s.files["/agents/critic.md"] = file(body="Use ghp_" + "aB3dE6gH9j" * 3 + "kL2mN5")
    assert "/agents/critic.md" not in s.files


def test_switched_off_nothing_is_read(monkeypatch):
    s = session(enable_subagents=False)
    s.subagents.new("critic")

    def fail(*args):
        raise AssertionError("read")

    monkeypatch.setattr(s.subagents, "list_subagents", fail)
    assert s.run("p").text == "ok"


# -- copied in


def test_add_takes_a_file_or_a_directory_all_or_none(tmp_path: Path):
    s = session()
    (tmp_path / "one.md").write_text(GOOD)
    (tmp_path / "two.md").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("x")
    assert s.subagents.add(tmp_path / "one.md") == ("one",)
    with pytest.raises(DeepnbError, match="a subagent 'one' already exists"):
        s.subagents.add(tmp_path)
    assert "/agents/two.md" not in s.files
    assert s.subagents.add(tmp_path, replace=True) == ("one", "two")
    (tmp_path / "three.md").write_text("broken")
    with pytest.raises(DeepnbError, match=r"not added: .*three\.md:1: the first line is not ---"):
        s.subagents.add(tmp_path, replace=True)
    for name, says in (("gone.md", "there is no"), ("notes.txt", "not a Markdown file"), ("empty", "has no NAME.md")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(DeepnbError, match=says):
            s.subagents.add(tmp_path / name)
    assert sorted(s.files) == ["/agents/one.md", "/agents/two.md"]


def test_new_and_remove():
    s = session(subagents=[{"name": "mine", "description": "d"}])
    assert s.subagents.new("critic", 'Finds "faults".') == "/agents/critic.md"
    assert s.subagents.show("critic")[0].agent.description == 'Finds "faults".'
    with pytest.raises(DeepnbError, match="a subagent 'critic' already exists"):
        s.subagents.new("critic")
    with pytest.raises(DeepnbError, match="'mine' is already defined in Python"):
        s.subagents.new("mine")
    with pytest.raises(DeepnbError, match="can't be a subagent's name"):
        s.subagents.new("../up")
    assert s.subagents.remove("critic") == "/agents/critic.md"
    for name in ("critic", "mine", "general-purpose"):
        with pytest.raises(DeepnbError):
            s.subagents.remove(name)
