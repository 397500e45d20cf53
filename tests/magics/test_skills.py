"""%skills as it is typed: each subcommand, its picture, and the panel whose buttons do the same."""

from __future__ import annotations

from pathlib import Path

from deepnb.magics.skills_commands import skills_rows
from deepnb.values.agent import Finding, Skill, SkillRead, skill_line
from deepnb.views.skills import GRANTS, findings_view, skill_card, skill_view, skills_view
from deepnb.widgets.actions import ActionPanel, Row
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

PATH = "/skills/{}/SKILL.md"


def test_bundled_skills_are_offered_and_added(shell):
    assert "%skills add" in shell.ok("%skills")
    told = shell.ok("%skills add")
    assert "explore-dataframe" in told
    assert "clear-plot" in told
    assert "added explore-dataframe: the agent sees it from the next turn on" in shell.ok(
        "%skills add explore-dataframe"
    )
    assert "added" in shell.ok("%skills add").split("explore-dataframe")[1].split("\n")[0]
    assert "a skill 'explore-dataframe' already exists" in shell.fails("%skills add explore-dataframe")
    assert "added" in shell.ok("%skills add --yes explore-dataframe")
    assert "license: MIT" in shell.ok("%skills show explore-dataframe")
    assert "explore-dataframe: nothing to fix" in shell.ok("%skills validate explore-dataframe")


def test_switched_off_and_on_and_removed(shell):
    shell.ok("%skills new tidy-data How to tidy a table")
    assert "tidy-data is disabled" in shell.ok("%skills disable tidy-data")
    told = shell.ok("%skills")
    assert "0 skills · 0 tokens in every request · 1 disabled" in told
    assert "disabled: the agent does not see it" in shell.ok("%skills show tidy-data")
    assert "tidy-data is enabled" in shell.ok("%skills enable tidy-data")
    assert "1 skill · " in shell.ok("%skills")
    assert "removed /skills/tidy-data" in shell.ok("%skills remove tidy-data")
    assert "no skills yet" in shell.ok("%skills")
    assert "no skill 'tidy-data'" in shell.fails("%skills remove tidy-data")


def test_pinned_and_taken_back(shell):
    shell.ok("%skills add explain-error")
    assert "no skill is pinned" in shell.ok("%skills pin")
    assert "explain-error is added to the next prompt, once: " in shell.ok("%skills pin explain-error")
    assert "added to the next prompt: explain-error" in shell.ok("%skills pin")
    assert "pinned: added to the next prompt" in shell.ok("%skills")
    assert "is no longer added to the next prompt" in shell.ok("%skills pin explain-error --off")
    shell.ok("%skills pin explain-error")
    shell.ok("%agent hello there")
    assert "no skill is pinned" in shell.ok("%skills pin")
    assert "pinned in turn 1" in shell.ok("%skills")


def test_validate_says_line_and_what_to_write(shell, tmp_path: Path):
    assert "all skills (0): nothing to fix" in shell.ok("%skills validate")
    told = shell.ok("%%skills broken\n---\nname: Broken\ndescription: x\n---")
    assert "can't be used: /skills/broken/SKILL.md:2: the name is not all lowercase: write name: broken" in told
    shown = shell.ok("%skills validate")
    assert shown.startswith("skills to fix · 1 broken   (thread main, before turn 1)\n")
    assert "  broken: /skills/broken/SKILL.md, line 2: the name is not all lowercase\n      write name: broken" in shown
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "SKILL.md").write_text("x")
    assert "a b/SKILL.md, line 1: " in shell.ok(f"%skills validate {tmp_path}/a b")
    assert "there is no" in shell.fails("%skills validate /nowhere/at/all")
    assert "can't be used" in shell.ok("%skills")


def test_the_picture_says_what_was_read(shell):
    shell.ok("%skills add explore-dataframe")
    assert "read in turn" not in shell.ok("%skills")
    shell.ok("%agent Use the explore-dataframe skill on x")
    assert "read in turn 1" in shell.ok("%skills")
    assert GRANTS in shell.ok("%skills")


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


def test_the_panel_in_a_terminal_is_its_picture(shell):
    shell.ok("%skills add clear-plot")
    assert "clear-plot" in shell.ok("%skills panel")


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
    assert long.strip() in view.html()
    assert "<b>wrong" not in view.html()


@every_row("bad", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>"])
def test_nothing_of_a_skill_runs_in_the_page(bad):
    skill = Skill(bad, bad, bad, bad, bad, bad, {bad: bad}, (bad,), bad, (bad,), (bad,), True)
    view = skills_view([skill], len, bad, texts={bad: bad}, reads={bad: SkillRead((1,), 1, 1)}, pinned=[bad])
    for html in (view.html(), skill_card(view.rows[0]).html(), skill_view(skill, bad, bad).html()):
        assert bad not in html
        assert "&lt;" in html


def test_a_row_of_the_panel_is_drawn_again_when_what_it_shows_changes(shell):
    scene = shell.ip._deepnb.scene
    shell.ok("%skills add clear-plot")
    first: list[Row] = skills_rows(scene)
    shell.ok("%agent Use the clear-plot skill")
    assert [r.state for r in skills_rows(scene)] != [r.state for r in first]


def test_the_model_that_reads_half_is_seen(shell):
    scene = shell.ip._deepnb.scene
    shell.ip.user_ns["half"] = Scripted(
        answers=[call("read_file", file_path=PATH.format("clear-plot"), limit=10), "done"]
    )
    shell.ok("%skills add clear-plot")
    shell.ok("%agent --model half plot it")
    total = len(scene.session.files[PATH.format("clear-plot")].splitlines())
    assert f"partly read in turn 1: 10 of {total} lines" in shell.ok("%skills")
