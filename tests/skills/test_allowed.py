"""What skills ask to have approved: taken apart, and which of it the skills in use would have."""

from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.skills.rules import Allowed, allowed, preapproved
from deepnb.values.agent import Skill
from tests.data import rows
from tests.support.scripted import Scripted, call, walked
from tests.support.tables import every_row


@every_row(("value", "tools"), rows("allowed_tools")["taken apart"])
def test_the_value_taken_apart(value, tools):
    assert [[a.name, a.condition] for a in allowed(value)] == tools


@given(st.text(max_size=60))
def test_no_value_crashes_it_and_every_name_is_one_word(value):
    for one in allowed(value):
        assert one.name and not set(one.name) & set(" \t\n()")


@given(st.text(alphabet="a() ", max_size=12))
def test_a_tool_with_a_parenthesis_is_never_taken_for_one_without(value):
    bare = {one.name for one in allowed(value) if not one.condition}
    assert bare <= {word for word in value.split(" ") if "(" not in word}


def test_a_tool_under_a_condition_is_not_approved_as_a_whole():
    """`git status; rm -rf .` begins with git, too."""
    a = Skill("a", "", "/a", allowed_tools=("Read", "Bash(git:*)"))
    b = Skill("b", "", "/b", allowed_tools=("read_file", "Write"))
    assert preapproved([a, b]) == {"read_file": ("a", "b"), "write_file": ("b",)}
    assert allowed(a.allowed_tools)[1] == Allowed("execute", "git:*")


def skill(tools: str, body: str = "Body.") -> str:
    return f"---\nname: one\ndescription: Reports.\nallowed-tools: {tools}\n---\n\n{body}\n"


def test_only_skills_in_use_ask_and_only_for_tools_there_are():
    read = call("read_file", file_path="/skills/one/SKILL.md", limit=3)
    s = Session(model=Scripted(answers=["ok", read, "ok"]))
    s.skills.write("one", skill("Write nothing_such Bash(git:*)"))
    s.skills.write("bad", "no")
    s.run("a")
    assert s.skills.preapproved() == {}
    s.run("b")
    assert s.skills.preapproved() == {"write_file": ("one",)}
    table = s.skills.list().set_index("name")
    assert (table.loc["one", "read_in"], table.loc["one", "read_whole"]) == ((2,), False)
    assert table.loc["one", "tokens"] > 0 and table.loc["one", "body"] == s.count(s.files["/skills/one/SKILL.md"])
    assert (table.loc["bad", "tokens"], table.loc["bad", "read_in"]) == (0, ())
    assert table["body"].isna().to_dict() == {"one": False, "bad": True}
    walked(s, "new other", "skills.pin one")
    assert s.skills.preapproved() == {}
    s.run("a")
    assert s.skills.preapproved() == {"write_file": ("one",)}
    s.skills.disable("one")
    assert s.skills.preapproved() == {}


def test_a_skill_that_was_changed_since_it_was_read_asks_for_nothing():
    """An agent could write itself the leave, also in the turn in which it read the skill."""
    read = call("read_file", file_path="/skills/one/SKILL.md")
    more = call(
        "edit_file", id="c2", file_path="/skills/one/SKILL.md", old_string="tools: ls", new_string="tools: write_file"
    )
    s = Session(model=Scripted(answers=[read, more, "ok"]))
    s.skills.write("one", skill("ls"))
    s.run("a")
    assert "write_file" in s.files["/skills/one/SKILL.md"] and s.skills.preapproved() == {}
    s.skills.write("one", skill("grep"))
    assert s.skills.preapproved() == {}
    walked(s, "skills.pin one", "run b")
    assert s.skills.preapproved() == {"grep": ("one",)}
