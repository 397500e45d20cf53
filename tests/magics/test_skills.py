"""%skills as it is typed: each subcommand, its picture, and the panel whose buttons do the same."""

from deepnb.magics.panel_commands import skills_rows
from deepnb.values.agent import Finding, Skill, SkillRead, skill_line
from deepnb.views.skills import GRANTS, findings_view, skills_view
from deepnb.widgets.actions import ActionPanel

PATH = "/skills/{}/SKILL.md"


def test_added_again_and_removed(shell):
    shell.ok("%skills add explore-dataframe")
    assert "a skill 'explore-dataframe' already exists" in shell.fails("%skills add explore-dataframe")
    assert "added" in shell.ok("%skills add --yes explore-dataframe") and GRANTS in shell.ok("%skills")
    assert "removed /skills/explore-dataframe" in shell.ok("%skills remove explore-dataframe")
    assert "no skill 'explore-dataframe'" in shell.fails("%skills remove explore-dataframe")


def test_pinned_and_taken_back(shell):
    shell.ok("%skills add explain-error")
    assert "no skill is pinned" in shell.ok("%skills pin")
    assert "explain-error is added to the next prompt, once: " in shell.ok("%skills pin explain-error")
    assert "added to the next prompt: explain-error" in shell.ok("%skills pin")
    assert "pinned: added to the next prompt" in shell.ok("%skills")
    assert "is no longer added to the next prompt" in shell.ok("%skills pin explain-error --off")


def test_a_panel_button_does_what_the_magic_does(shell):
    scene = shell.ip._deepnb.scene
    shell.ok("%skills add clear-plot")
    panel = ActionPanel(lambda: skills_rows(scene), skills_view([], len))

    def click(word: str) -> None:
        buttons = [b for row in panel._list.children for b in row.children[1].children]
        next(b for b in buttons if b.description == word.capitalize()).click()

    click("disable")
    assert [s.enabled for s in scene.session.skills.list_skills()] == [False]
    click("enable")
    click("pin")
    assert scene.session.skills.pinned == ("clear-plot",)
    click("unpin")
    assert scene.session.skills.pinned == ()
    shell.ok("%agent Use the clear-plot skill")
    panel.refresh()
    assert "read in turn 1" in panel._list.children[0].children[0].value
    shell.ok("%%skills broken\nx")
    panel.refresh()
    shell.ok("%%skills broken-too\nx")
    panel.refresh()
    assert [len(row.children[1].children) for row in panel._list.children] == [2, 0, 0]


def test_what_a_row_says():
    skill = Skill(
        "one",
        "Reports.",
        PATH.format("one"),
        compatibility="pandas",
        allowed_tools=("ls", "Bash(git add:*)"),
        source="mine",
        overrides=("/base/one/SKILL.md",),
        notes=("x is no field",),
    )
    texts = {skill.path: "a b c"}

    def facts(read: SkillRead | None) -> tuple[str, ...]:
        reads = {skill.path: read} if read else {}
        return skills_view([skill], lambda t: len(t.split()), texts=texts, reads=reads).rows[0].facts

    assert facts(None) == (
        "3 tokens more if read",
        "from mine, overrides /base/one/SKILL.md",
        f"asks for ls, Bash(git add:*): {GRANTS}",
        "needs: pandas",
        "note: x is no field",
    )
    assert facts(SkillRead((2,), 155, 155))[1] == "read in turn 2"
    assert facts(SkillRead((1, 2, 4), 100, 155))[1] == "partly read in turns 1-2, 4: 100 of 155 lines"
    assert facts(SkillRead((3,), 0, 6, changed=True, pinned=True))[1] == "pinned in turn 3; changed since"
    view = skills_view([skill], lambda t: len(t.split()), texts=texts)
    assert view.rows[0].tokens == len(skill_line(skill.name, skill.description, skill.path).split())
    for fact in facts(None):
        assert fact in view.text()
    assert "from mine, overrides" in view.html()


def test_what_is_to_be_mended_is_said_in_full_in_text_and_html():
    """In a DataFrame it was cut after fifty characters, what to write first of all."""
    long = "write " + "name: a-good-one " * 20
    view = findings_view([Finding("/s/a/SKILL.md", 3, "<b>wrong</b>", long), Finding("/s/b", 0, "odd", "mend", False)])
    assert view.text().split("\n")[0] == "skills to fix · 1 broken · 1 note"
    assert view.text().splitlines()[1:] == [
        "  broken: /s/a/SKILL.md, line 3: <b>wrong</b>",
        f"      {long.strip()}",
        "  note: /s/b: odd",
        "      mend",
    ]
    assert long.strip() in view.html() and "<b>wrong" not in view.html()
