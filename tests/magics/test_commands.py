"""Every subcommand in a real shell: what it prints, the one line when it is not well, and that none deletes a user's file."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from deepnb.magics import memory_commands
from deepnb.magics.commands import AGENT
from deepnb.magics.memory_commands import MEMORY
from deepnb.magics.panel_commands import skills_rows
from deepnb.magics.skills_commands import SKILLS
from deepnb.magics.usage import MAGICS, SUBCOMMANDS, subcommands
from deepnb.search import Hit
from deepnb.values.agent import Finding, Skill, SkillRead, skill_line
from deepnb.values.wings import names
from deepnb.views.search_marks import hits_view
from deepnb.views.skills import GRANTS, findings_view, skills_view
from deepnb.widgets.actions import ActionPanel
from deepnb.widgets.progress import Progress
from deepnb.widgets.screen import Screen
from tests.data import rows
from tests.support.screen import below
from tests.support.scripted import enter
from tests.support.shells import Shell
from tests.support.tables import every_row

RUNS = ("resume", "approve", "reject", "edit", "explain", "fix")
"""Subcommands that run a turn or let it go on: they stream, and stand in no table."""


def test_every_subcommand_of_the_help_is_there() -> None:
    tables = {
        "agent": {*AGENT, *RUNS, *(name.split()[1] for name in names("%agent "))}, "memory": {*MEMORY},
        "skills": {*SKILLS},
    }  # fmt: skip
    untyped = {"picture", "write"}
    for magic, table in tables.items():
        assert (table - untyped) | {"help"} == {sub.name for sub in subcommands(magic)}


def test_help_of_each_magic_and_of_each_subcommand(shell: Shell) -> None:
    for magic in MAGICS:
        out = shell.ok(f"%{magic}?")
        assert out.startswith(f"%{magic} ") and all(f"  {sub.name} " in out for sub in subcommands(magic))
        assert out.strip() == shell.ip.find_line_magic(magic).__doc__.strip()
        for typed in (f"?%{magic}", f"%{magic} -h", f"%{magic} help", f"%%{magic}?"):
            assert shell.ok(typed) == out, typed
    for sub in SUBCOMMANDS:
        out = shell.ok(f"%{sub.magic} {sub.name}?")
        assert out.splitlines()[0] == f"%{sub.magic} {sub.usage}"
        assert out == shell.ok(f"%{sub.magic} {sub.name} -h")
    assert shell.session.last is None


def test_what_there_is_none_of_is_said_with_what_to_type(shell: Shell) -> None:
    for typed, told in (
        ("%memory daily", "type %memory daily TEXT"), ("%memory promote", "nothing to promote"),
        ("%agent panel approvals", "no call needs approval: %agent tools lists which would"),
        ("%skills validate", "all skills (0): nothing to fix"),
    ):  # fmt: skip
        assert told in shell.ok(typed)


def test_use_gets_and_sets(shell: Shell) -> None:
    assert shell.ok("%agent use").strip() == "the model is offline"
    shell.ok("from deepnb.models.teaching import TeachingModel\nsmall = TeachingModel(window=5000)")
    assert shell.ok("%agent use small").strip() == "small (no LLM) from the next turn on, with a window of 5,000 tokens"
    assert shell.ok("%agent use").strip() == "the model is small" and "window 5,000 tokens" in shell.ok("%agent")


def test_threads(shell: Shell) -> None:
    enter(shell, "%agent what can you do?", "%agent thanks")
    assert "new thread side; memory and skills are kept" in shell.ok("%agent new side")
    assert shell.ok("%agent switch main").strip() == "thread main, at turn 2"
    assert "thread early, forked from main@1" in shell.ok("%agent fork early --at 1")
    assert "thread early is back at turn 0, memory is unchanged" in shell.ok("%agent rewind 0")
    assert re.search(r"early +← current +↶ +0 +0 +main@1", shell.ok("%agent threads"))
    assert "undone: rewind to turn 0; thread early, turn 1" in shell.ok("%agent undo")
    assert "undone: fork early; thread main, turn 2" in shell.ok("%agent undo")
    assert "undone: new thread side" in shell.ok("%agent undo")
    nothing = shell.fails("%agent undo")
    assert nothing.startswith("nothing to undo: ") and nothing.endswith("what code did to variables stays")


def test_editing_in_a_terminal_prints_the_cell_that_writes_it(shell: Shell) -> None:
    cells: list[str] = []
    shell.ip._deepnb.scene.next_cell = cells.append
    shell.ok("%memory add I like tea")
    assert shell.ok("%memory edit") == "%%memory /AGENTS.md\n- I like tea\n" == cells[0]
    assert shell.ok("%memory edit /notes.md") == "%%memory /notes.md\n"


def test_loading_and_saving(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "my notes.md"
    file.write_text("- Ana owns the data\n")
    out = shell.ok("%memory load my notes.md")
    assert "loaded my notes.md into /AGENTS.md" in out and "+- Ana owns the data" in out
    file.write_text("mine\n")
    line = 'my notes.md has changed on disk: %memory save --yes "my notes.md"'
    assert line in shell.fails("%memory save my notes.md")
    shell.ok("%memory save my notes.md --yes")
    assert file.read_text() == "- Ana owns the data\n"


def test_the_table_of_calls_is_for_whoever_takes_it(shell: Shell) -> None:
    shell.ok("%agent thanks")
    out = shell.run("%agent budget")
    assert out.value is None and "purpose" not in out.out
    assert list(shell.run("calls = %agent budget\ncalls").value["purpose"]) == ["answer"]


def test_tools_are_switched_off_and_on(shell: Shell) -> None:
    assert "grep, glob: off from the next turn on" in shell.ok("%agent tools off grep glob")
    assert "off: grep, glob. %agent tools on NAME brings a tool back" in shell.ok("%agent tools")
    assert "glob: on from the next turn on" in shell.ok("%agent tools on glob")
    assert shell.session.options.tools_off == ("grep",)
    for line, told in (
        ("off", "off needs the name of a tool"), ("off gerp", "there is no tool 'gerp'"),
        ("on ls", "'ls' is not off"),
    ):  # fmt: skip
        assert told in shell.fails(f"%agent tools {line}")


def test_memory(shell: Shell) -> None:
    assert "nothing remembered yet" in shell.ok("%memory")
    assert "+- I like 'tea, \"not coffee" in shell.ok("%memory add I like 'tea, \"not coffee")
    assert "added to /memory/team.md" in shell.ok("%memory add --to /memory/team.md Ana owns the data")
    assert "wrote /notes.md" in shell.ok("%%memory /notes.md\n# Notes\n{not} filled $in$")
    assert "# Notes\n{not} filled $in$\n" in shell.ok("%memory show /notes.md")
    assert "'tea" in shell.ok("%memory") and "'tea" in shell.ok("%memory show")
    shell.ok("%agent Remember that I prefer metric units")
    assert "memory from turn 0 to now" in shell.ok("%memory diff 0")
    assert "memory from turn 0 to turn 1" in shell.ok("%memory diff 0 1")


def test_a_mistake_is_one_line_and_nothing_is_lost(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    enter(shell, "%memory add I like tea", "%agent thanks")
    before, wrong = shell.session.snapshot, []
    for typed, told in rows("typed_lines")["mistakes in a shell"]:
        said = shell.fails(typed)
        if told not in said or shell.session.snapshot != before:
            wrong.append((typed, said))
    assert not wrong
    assert len(shell.session.turns) == 1 and shell.session.thread == "main" and shell.session.model == "offline"
    assert "You are welcome" in shell.ok("%agent thanks")


def test_compact_shows_its_record_and_history_is_searched_and_brought_back(shell: Shell) -> None:
    assert shell.fails("%agent compact") == "nothing to compact: the thread has no turns yet: %agent PROMPT starts one"
    assert "nothing is offloaded yet" in shell.fails("%agent history --bring 1")
    for prompt in ("The pump in hall 7 is called Berta", "hello", "thanks"):
        shell.ok(f"%agent {prompt}")
    assert shell.ok("%agent compact").startswith(
        "context compacted   (thread main, turn 3)\n  cause       on request\n"
    )
    assert "2 found" in shell.ok('%agent history "hall 7"')
    added = shell.ok("%agent history --bring 1:1,3-4")
    assert added.startswith("added to the next prompt: messages 1, 3-4 of section 1 (")
    assert "nothing is added to the next prompt" in shell.ok("%agent history --bring none")
    assert "has no message 9: choose from 1 to 4" in shell.fails("%agent history --bring 1:9")


GOOD = "---\ndescription: Finds faults.\ntools: ls, task\n---\nBe strict.\n"


def test_a_subagent_is_added_edited_broken_and_removed(shell):
    assert "general-purpose        0 tasks" in shell.ok("%agent subagents")
    told = shell.ok("%agent subagents add critic Finds what is wrong.")
    assert "wrote /agents/critic.md; the next cell has its text" in told
    assert shell.ip._deepnb.session.files["/agents/critic.md"].startswith('---\ndescription: "Finds what is wrong."\n')
    told = shell.ok(f"%%memory /agents/critic.md\n{GOOD}")
    assert "wrote /agents/critic.md: the agent can call critic from the next turn on" in told
    told = shell.ok("%%memory /agents/critic.md\n---\ndescription: x\ntools: lss\n---\nb")
    assert "wrote /agents/critic.md, but it can't be used: /agents/critic.md:3: no tool 'lss'" in told
    assert "1 can't be used" in shell.ok("%agent subagents")
    assert "but it is not a subagent" in shell.ok("%%memory /agents/notes/x.txt\nhello")
    assert "a subagent 'critic' already exists" in shell.fails("%agent subagents add critic")
    assert "wrote /agents/critic.md" in shell.ok("%agent subagents add critic --yes")
    assert "removed /agents/critic.md" in shell.ok("%agent subagents remove critic")
    assert "no subagent 'critic' (subagents: general-purpose)" in shell.fails("%agent subagents critic")
    assert "add needs the name of a subagent: %agent subagents add NAME" in shell.fails("%agent subagents add")
    assert "remove needs the name of a subagent" in shell.fails("%agent subagents remove")
    assert "is built in, not in a file" in shell.fails("%agent subagents remove general-purpose")
    assert "'Bad_Name' can't be a subagent's name" in shell.fails("%agent subagents add Bad_Name")


def test_a_tape_is_recorded_stopped_and_played(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = "a.jsonl"
    assert shell.ok("%agent record").strip() == "nothing is being recorded"
    out = shell.ok("%agent record a.jsonl")
    assert out.strip() == f"recording to {file} from the next turn on, without credentials: %agent record stop ends it"
    answer = shell.ok("%agent what can you do?")
    assert shell.ok("%agent record").strip() == f"recording to {file}, 1 request so far"
    assert shell.ok("%agent record stop").strip() == f"1 request recorded to {file}: %agent replay {file} plays it"
    shell.ok("%agent new again")
    assert "tape a.jsonl from the next turn on: 1 request of offline, recorded " in shell.ok("%agent replay a.jsonl")
    assert shell.ok("%agent replay").strip() == "the model is tape a.jsonl"
    replayed = shell.ok("%agent what can you do?")
    assert answer.splitlines()[0] == replayed.splitlines()[0] and shell.session.text in replayed
    assert "tape a.jsonl · 1 call" in replayed and "offline" not in replayed
    shell.ok("%agent use offline")
    assert shell.ok("%agent replay").strip() == "no tape is being played"

    assert shell.fails("%agent record stop") == "nothing is being recorded: %agent record FILE.jsonl starts a tape"
    assert shell.fails("%agent record a.jsonl") == "a.jsonl exists already: %agent record --yes a.jsonl overwrites it"
    assert "a.txt has no ending that says what it is" in shell.fails("%agent record a.txt")
    shell.ok("%agent record --yes a.jsonl")
    assert "already recording to" in shell.fails("%agent record b.jsonl")
    shell.ok("%agent record stop")


@every_row("text", ["<b>bold</b> & »marks«", "漢字 gateway 漢字"])
def test_hits_are_escaped_and_marked(text: str) -> None:
    view = hits_view("gateway <b>", [Hit("/memory/<i>.md", 3, 4, text, 1.0, "words")], ["gateway"])
    assert "/memory/<i>.md:3-4  (words)" in view.text()
    html = view.html()
    assert "<b>bold" not in html and "<i>" not in html and ("<mark" in html) == ("gateway" in text)
    said = "no matches; memory that is in each prompt, such as AGENTS.md, is not searched"
    assert hits_view("x", [], []).text() == f"search: x · 0 passages\n{said}"


def test_a_search_that_takes_long_says_what_is_being_done(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    class Impatient(Progress):
        def __init__(self, screen: Screen, line: str, failed: str) -> None:
            super().__init__(screen, line, after=0, failed=failed)

        def _begin(self) -> None:
            super()._begin()
            begun.set()

    monkeypatch.setattr(memory_commands, "Progress", Impatient)
    hits = shell.session.memory.search_hits

    def slow(*args: Any, **options: Any) -> Any:
        assert begun.wait(30)
        return hits(*args, **options)

    monkeypatch.setattr(shell.session.memory, "search_hits", slow)
    assert shell.ok("%memory search gateway").startswith("note: updating the index ...\nsearch: gateway")


RULES = "# Mine\n\n" + "- a rule of mine that took an evening to find\n" * 20
SKILL = "---\nname: tidy\ndescription: Tidy a table. Use it for tables.\n---\nDrop empty rows.\n"
CRITIC = "---\nname: critic\ndescription: Finds mistakes.\n---\nFind mistakes.\n"
COMMAND = re.compile(r"%(?:agent|memory|skills)(?: [^\s,;:()]+)+")


def on_disk(place: Path) -> dict[str, str]:
    return {str(p.relative_to(place)): p.read_text() for p in sorted(place.rglob("*.md")) if ".deepnb" not in str(p)}


@every_row("begin", ["%memory sources add {0}/mine.md", "%memory sources add project", "%memory keep {0}/kept"])
def test_what_is_named_to_take_an_item_out_leaves_the_disk_as_it_is(shell, tmp_path, monkeypatch, begin):
    place = tmp_path / begin.split()[1]
    (place / "kept").mkdir(parents=True)
    for name in ("mine.md", "AGENTS.md", "kept/AGENTS.md"):
        (place / name).write_text(RULES)
    (place / "pyproject.toml").touch()
    monkeypatch.chdir(place)
    shell.ok("%agent new")
    shell.run(begin.format(place))
    shell.ok("%agent hi")
    before = on_disk(place)
    shown = shell.ok("%agent budget --items")
    typed = [one for one in COMMAND.findall(shown) if "budget" not in one]
    for line in typed:
        shell.run(line)
        assert on_disk(place) == before, line
    if begin.startswith("%memory sources"):
        assert any(line.startswith("%memory sources remove /") for line in typed), typed
    for line in [line for line in typed if line.startswith("%memory sources remove")]:
        shell.run(line)


@every_row("line, gone", [
    ("%memory rm /AGENTS.md", "AGENTS.md"), ("%skills remove tidy", "skills/tidy/SKILL.md"),
    ("%agent subagents remove critic", "agents/critic.md"),
])  # fmt: skip
def test_what_is_on_the_users_disk_is_removed_after_a_second_word(shell: Shell, tmp_path: Path, line, gone) -> None:
    place = tmp_path / gone.replace("/", "-")
    for name, text in (("AGENTS.md", RULES), ("skills/tidy/SKILL.md", SKILL), ("agents/critic.md", CRITIC)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    shell.ok(f"%memory keep {place}")
    before = on_disk(place)
    said = shell.fails(line)
    assert on_disk(place) == before and "--yes" in said
    shell.ok(said.rpartition(": ")[2].partition(" deletes")[0])
    assert set(before) - set(on_disk(place)) == {gone}


def test_in_the_kernel_it_is_removed_at_once_and_can_be_restored(shell: Shell) -> None:
    enter(shell, "%memory add likes tea", "%memory rm /AGENTS.md")
    assert "likes tea" not in shell.ok("%memory")
    assert "+- likes tea" in shell.ok("%memory revert 2") and "likes tea" in shell.ok("%memory")


PATH = "/skills/{}/SKILL.md"


def test_a_skill_is_added_again_removed_pinned_and_taken_back(shell):
    shell.ok("%skills add explore-dataframe")
    assert "a skill 'explore-dataframe' already exists" in shell.fails("%skills add explore-dataframe")
    assert "added" in shell.ok("%skills add --yes explore-dataframe") and GRANTS in shell.ok("%skills")
    assert "removed /skills/explore-dataframe" in shell.ok("%skills remove explore-dataframe")
    assert "no skill 'explore-dataframe'" in shell.fails("%skills remove explore-dataframe")
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
        next(one for one in below(panel._list) if getattr(one, "description", "") == word.capitalize()).click()

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


def test_what_a_row_says_and_what_is_to_be_mended_in_text_and_html():
    skill = Skill(
        "one", "Reports.", PATH.format("one"), compatibility="pandas", allowed_tools=("ls", "Bash(git add:*)"),
        source="mine", overrides=("/base/one/SKILL.md",), notes=("x is no field",),
    )  # fmt: skip
    texts = {skill.path: "a b c"}

    def facts(read: SkillRead | None) -> tuple[str, ...]:
        reads = {skill.path: read} if read else {}
        return skills_view([skill], lambda t: len(t.split()), texts=texts, reads=reads).rows[0].facts

    assert facts(None) == (
        "3 tokens more if read", "from mine, overrides /base/one/SKILL.md", f"asks for ls, Bash(git add:*): {GRANTS}",
        "needs: pandas", "note: x is no field",
    )  # fmt: skip
    assert facts(SkillRead((2,), 155, 155))[1] == "read in turn 2"
    assert facts(SkillRead((1, 2, 4), 100, 155))[1] == "partly read in turns 1-2, 4: 100 of 155 lines"
    assert facts(SkillRead((3,), 0, 6, changed=True, pinned=True))[1] == "pinned in turn 3; changed since"
    view = skills_view([skill], lambda t: len(t.split()), texts=texts)
    assert view.rows[0].tokens == len(skill_line(skill.name, skill.description, skill.path).split())
    for fact in facts(None):
        assert fact in view.text()
    assert "from mine, overrides" in view.html()
    # In a DataFrame it was cut after fifty characters, what to write first of all.
    long = "write " + "name: a-good-one " * 20
    found = findings_view([Finding("/s/a/SKILL.md", 3, "<b>wrong</b>", long), Finding("/s/b", 0, "odd", "mend", False)])
    assert found.text().split("\n")[0] == "skills to fix · 1 broken · 1 note"
    assert found.text().splitlines()[1:] == [
        "  broken: /s/a/SKILL.md, line 3: <b>wrong</b>", f"      {long.strip()}", "  note: /s/b: odd", "      mend",
    ]  # fmt: skip
    assert long.strip() in found.html() and "<b>wrong" not in found.html()
