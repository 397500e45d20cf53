"""Skills of a session: made, shown, disclosed; a broken one stops nothing."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from deepnb import DeepnbError, Session
from deepnb.engine.request import message_text
from deepnb.skills.packages import check_name, scaffold
from deepnb.values.agent import Skill
from tests.support.scripted import Scripted
from tests.support.tables import every_row


def session(**options) -> Session:
    return Session(model=Scripted(answers=["ok"]), **options)


def prompt(s: Session) -> str:
    return message_text(s.options.model.requests[-1][0])


def text(name: str, description: str = "Reports.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\nTHE BODY\n"


def test_new_list_show_write():
    s = session()
    assert s.skills.list_skills() == ()
    assert s.skills.list().to_numpy().tolist() == []
    path = s.skills.new("csv-report", 'Says "what" a CSV\nholds: all of it.')
    assert path == "/skills/csv-report/SKILL.md"
    skill = Skill("csv-report", 'Says "what" a CSV holds: all of it.', path, source="skills")
    assert s.skills.list_skills() == (skill,)
    assert s.skills.show("csv-report") == (skill, s.files[path])
    columns = ["name", "description", "state", "read_in", "read_whole", "source", "path", "overrides", "problem"]
    row = ["csv-report", skill.description, "on", (), False, "skills", path, "", ""]
    assert s.skills.list()[columns].to_numpy().tolist() == [row]
    with pytest.raises(DeepnbError, match="a skill 'csv-report' already exists"):
        s.skills.new("csv-report")
    s.skills.write("csv-report", text("csv-report", "Anew."))
    assert s.skills.show("csv-report")[0].description == "Anew."
    with pytest.raises(
        DeepnbError, match=r"no skill 'other' \(skills: csv-report\): session.skills.new\('other'\) creates it"
    ):
        s.skills.show("other")


@every_row(
    ("name", "instead"),
    [
        ("", "my-skill"),
        ("CSV Report", "csv-report"),
        ("../../etc", "etc"),
        ("a--b", "a-b"),
        ("-a", "a"),
        ("a-", "a"),
        ("a/b", "a-b"),
        ("a" * 65, "a" * 64),
        ("a\n", "a"),
        ("É!", "é"),
        ("🐧", "my-skill"),
    ],
)
def test_bad_names_are_one_line_with_a_good_one(name, instead):
    s = session()
    for make in (s.skills.new, lambda n: s.skills.write(n, "x")):
        with pytest.raises(DeepnbError) as caught:
            make(name)
        assert caught.value.typed.endswith(f"%skills new {instead}")
    assert dict(s.files) == {}
    check_name(instead)


@given(st.text(max_size=1200))
def test_whatever_the_description_a_new_skill_is_a_good_one(description):
    head = scaffold("a-skill", description).removeprefix("---\n").split("\n---\n")[0]
    found = yaml.safe_load(head)
    assert found["name"] == "a-skill"
    assert 1 <= len(found["description"]) <= 1024


def test_only_name_description_and_path_are_disclosed():
    s = session()
    s.skills.write("csv-report", text("csv-report"))
    s.run("a")
    assert "- **csv-report**: Reports. -> read_file `/skills/csv-report/SKILL.md`" in prompt(s)
    assert "THE BODY" not in prompt(s)
    assert s.snapshot.skills == (Skill("csv-report", "Reports.", "/skills/csv-report/SKILL.md"),)


def test_no_skill_costs_no_tokens():
    s = session()
    s.run("a")
    assert "skill" not in prompt(s).lower().replace("agent_skills", "skill")
    assert s.budget().parts["skills"] == 0
    s.skills.new("csv-report")
    s.run("b")
    assert s.budget().parts["skills"] > 0


def test_a_new_changed_or_removed_skill_is_seen_at_the_next_turn():
    s = session()
    s.run("a")
    s.skills.write("one", text("one", "First."))
    s.run("b")
    assert "First." in prompt(s)
    s.skills.write("one", text("one", "Second."))
    s.run("c")
    assert "Second." in prompt(s)
    assert "First." not in prompt(s)
    del s.files["/skills/one/SKILL.md"]
    s.run("d")
    assert "agent_skills" not in prompt(s)
    assert s.snapshot.skills == ()


@every_row(
    "broken",
    [
        "no frontmatter at all",
        "---\nname: [unclosed\n---\n",
        "---\nname: broken\n---\nno description\n",
        "---\n- a list\n---\n",
        "",
        b"---\nname: broken\ndescription: caf\xe9\n---\n",
    ],
)
def test_a_broken_skill_is_listed_and_stops_nothing(broken):
    s = session()
    s.skills.write("good", text("good", "A good one."))
    if isinstance(broken, bytes):
        s.backend.upload_files([("/skills/broken/SKILL.md", broken)])
    else:
        s.files["/skills/broken/SKILL.md"] = broken
    assert s.run("a").text == "ok"
    assert "A good one." in prompt(s)
    good, *bad = s.skills.list_skills()
    assert (good.name, good.problem) == ("good", None)
    assert len(bad) == 1
    assert bad[0].problem
    assert bad[0].path == "/skills/broken/SKILL.md"
    assert bad[0].path in bad[0].problem
    assert "\n" not in bad[0].problem


def test_a_later_source_overrides_an_earlier_one():
    s = session(skills=("/base/", "/mine"))
    for folder, words in (("base", "The base."), ("mine", "My own.")):
        s.files[f"/{folder}/report/SKILL.md"] = text("report", words)
    assert s.skills.path("report") == "/mine/report/SKILL.md"
    base, mine = "/base/report/SKILL.md", "/mine/report/SKILL.md"
    assert s.skills.list_skills() == (Skill("report", "My own.", mine, source="mine", overrides=(base,)),)
    s.run("a")
    assert "My own." in prompt(s)
    assert "The base." not in prompt(s)
    s.files["/mine-not/x.md"] = "x"
    assert (
        s.workspace.home.paths.is_shared("/mine/report/SKILL.md"),
        s.workspace.home.paths.is_shared("/mine-not/x.md"),
    ) == (True, False)


def test_a_subagent_gets_skills_only_where_configured():
    from tests.support.scripted import call

    def nested_prompt(**spec) -> str:
        agent = {"name": "helper", "description": "helps", "system_prompt": "Help.", **spec}
        task = call("task", id="t1", description="work", subagent_type="helper")
        s = Session(model=Scripted(answers=[task, "nested", "end"]), subagents=[agent])
        s.skills.write("one", text("one", "A skill."))
        s.run("p")
        return message_text(s.options.model.requests[1][0])

    assert "A skill." not in nested_prompt()
    assert "A skill." in nested_prompt(skills=["/skills/"])
