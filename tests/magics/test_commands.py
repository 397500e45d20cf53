"""Every subcommand in a real shell: what it prints when all is well, and the one line when it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deepnb.magics.commands import AGENT
from deepnb.magics.memory_commands import MEMORY
from deepnb.magics.skills_commands import SKILLS
from deepnb.magics.usage import MAGICS, SUBCOMMANDS, subcommands
from deepnb.values.wings import names
from tests.support.shells import Shell
from tests.support.windows import tight_window

RUNS = ("resume", "approve", "reject", "edit", "explain", "fix")
"""Subcommands that run a turn or let it go on: they stream, and stand in no table."""


def test_every_subcommand_of_the_help_is_there() -> None:
    tables = {
        "agent": {*AGENT, *RUNS, *(name.split()[1] for name in names("%agent "))},
        "memory": {*MEMORY},
        "skills": {*SKILLS},
    }
    untyped = {"picture", "write"}
    for magic, table in tables.items():
        assert (table - untyped) | {"help"} == {sub.name for sub in subcommands(magic)}


@pytest.mark.parametrize("typed", ["%agent?", "?%agent", "%agent -h", "%agent help", "%%agent?"])
def test_help_of_the_agent(shell: Shell, typed: str) -> None:
    out = shell.ok(typed)
    assert out.startswith("%agent runs prompts with the agent in this kernel")
    for sub in subcommands("agent"):
        assert f"  {sub.name} " in out
    assert shell.session.last is None


@pytest.mark.parametrize("magic", MAGICS)
def test_help_of_a_magic_and_its_docstring(shell: Shell, magic: str) -> None:
    out = shell.ok(f"%{magic}?")
    assert out.startswith(f"%{magic} ") and "examples" in out
    assert out.strip() == shell.ip.find_line_magic(magic).__doc__.strip()


@pytest.mark.parametrize("sub", SUBCOMMANDS, ids=lambda sub: f"{sub.magic}-{sub.name}")
def test_help_of_each_subcommand(shell: Shell, sub: object) -> None:
    out = shell.ok(f"%{sub.magic} {sub.name}?")  # type: ignore[attr-defined]
    assert out.splitlines()[0] == f"%{sub.magic} {sub.usage}"  # type: ignore[attr-defined]
    assert out == shell.ok(f"%{sub.magic} {sub.name} -h")  # type: ignore[attr-defined]


def test_status(shell: Shell) -> None:
    bare = shell.ok("%agent")
    assert "offline (no LLM)" in bare and "no model calls yet" in bare
    shell.ok("%memory add I like tea")
    shell.ok("%agent thanks")
    out = shell.ok("%agent status")
    assert "main · 1 turn · 2 messages" in out and "/AGENTS.md (5 tokens)" in out and "of 8,000 tokens" in out


def test_use_gets_and_sets(shell: Shell) -> None:
    assert shell.ok("%agent use").strip() == "the model is offline"
    shell.ok("from deepnb.models.teaching import TeachingModel\nsmall = TeachingModel(window=5000)")
    assert shell.ok("%agent use small").strip() == "small (no LLM) from the next turn on, with a window of 5,000 tokens"
    assert shell.ok("%agent use").strip() == "the model is small"
    assert "window 5,000 tokens" in shell.ok("%agent")


def test_threads(shell: Shell) -> None:
    shell.ok("%agent what can you do?")
    shell.ok("%agent thanks")
    assert "new thread side;" in shell.ok("%agent new side")
    assert shell.ok("%agent switch main").strip() == "thread main, at turn 2"
    assert "thread early, forked from main@1" in shell.ok("%agent fork early --at 1")
    assert "thread early is back at turn 0, memory is unchanged" in shell.ok("%agent rewind 0")
    assert re.search(r"early +← current +↶ +0 +0 +main@1", shell.ok("%agent threads"))
    assert "undone: rewind to turn 0; thread early, turn 1" in shell.ok("%agent undo")
    assert "undone: fork early; thread main, turn 2" in shell.ok("%agent undo")
    assert "undone: new thread side" in shell.ok("%agent undo")
    assert shell.fails("%agent undo").startswith("nothing to undo: ")


def test_threads_made_apart_and_threads_others_read(shell: Shell) -> None:
    shell.ok("%memory add I like tea")
    shell.ok("%agent thanks")
    assert "new thread apart; it starts without memory and skills, and what it learns stays in it" in shell.ok(
        "%agent new apart --empty"
    )
    assert "nothing remembered yet" in shell.ok("%memory")
    assert "My memory" not in shell.ok("%agent what do you know about my preferences?")
    assert "thread   apart · 1 turn · 2 messages · empty: has its own memory, notes and skills" in shell.ok("%agent")
    told = shell.ok("%agent new open --shared")
    assert "new thread open; memory and skills are kept; others can read it, so it does not get MEMORY.md" in told
    assert "tea" in shell.ok("%agent what do you know about my preferences?")
    out = shell.ok("%agent threads")
    assert re.search(r"apart +empty +● +1 +2", out) and re.search(r"open +← current, shared +● +1 +2", out)
    assert "undone: new thread open" in shell.ok("%agent undo")
    assert "undone: new thread apart" in shell.ok("%agent undo")
    assert "tea" in shell.ok("%memory")


def test_editing_in_a_terminal_prints_the_cell_that_writes_it(shell: Shell) -> None:
    cells: list[str] = []
    shell.ip._deepnb.scene.next_cell = cells.append
    shell.ok("%memory add I like tea")
    assert shell.ok("%memory edit") == "%%memory /AGENTS.md\n- I like tea\n"
    assert cells == ["%%memory /AGENTS.md\n- I like tea\n"]
    assert "-- I like tea" in shell.ok(cells[0].replace("tea", "coffee"))
    assert shell.ok("%memory edit /notes.md") == "%%memory /notes.md\n"


def test_loading_and_saving(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my notes.md").write_text("- Ana owns the data\n")
    out = shell.ok("%memory load my notes.md")
    assert "loaded my notes.md into /AGENTS.md" in out and "+- Ana owns the data" in out
    shell.ok("%memory add I like tea")
    assert "my notes.md" in shell.ok("%memory save my notes.md")
    assert (tmp_path / "my notes.md").read_text() == "- Ana owns the data\n- I like tea\n"
    (tmp_path / "my notes.md").write_text("mine\n")
    assert 'my notes.md has changed on disk: %memory save --yes "my notes.md"' in shell.fails(
        "%memory save my notes.md"
    )
    shell.ok("%memory save my notes.md --yes")
    assert "tea" in (tmp_path / "my notes.md").read_text()
    shell.ok("%memory save out")
    assert (tmp_path / "out" / "AGENTS.md").read_text() == (tmp_path / "my notes.md").read_text()


def test_the_picture_names_memory_files_of_the_disk(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    (home / ".deepagents" / "agent").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    assert "is not a source" not in shell.ok("%memory")
    (home / ".deepagents" / "agent" / "AGENTS.md").write_bytes(b"\xff\xfe not text")
    (project / "AGENTS.md").write_text("- built with ninja\n")
    for typed in ("%memory", "%memory panel"):
        out = shell.ok(typed)
        assert "~/.deepagents/agent/AGENTS.md exists but is not a source: %memory sources add user" in out
        assert "project/AGENTS.md exists but is not a source: %memory sources add project" in out
        assert "ninja" not in out, "nothing of it is read"
    shell.ok("%memory sources add project")
    out = shell.ok("%memory")
    assert "sources add project" not in out and "built with ninja" in out and "sources add user" in out


def test_rewind_takes_memory_back_only_when_asked(shell: Shell) -> None:
    shell.ok("%agent thanks")
    shell.ok("%agent Remember that I like tea")
    shell.ok("%agent rewind 1")
    assert "tea" in shell.session.files["/AGENTS.md"]
    shell.ok("%agent undo")
    assert "memory too" in shell.ok("%agent rewind 1 --memory")
    assert "/AGENTS.md" not in shell.session.files


def test_turns_budget_history_tools(shell: Shell) -> None:
    shell.ok(f"%config DeepNB.window = {tight_window()}")
    assert "nothing offloaded yet" in shell.ok("%agent history")
    for _ in range(9):
        shell.ok("%agent what can you do?")
    assert len(re.findall(r"what can you do\?", shell.ok("%agent turns"))) == 9
    out = shell.run("%agent budget")
    assert f"of {tight_window():,} tokens" in out.out and "compacts at 85 %" in out.out
    assert out.value is None and "purpose" not in out.out, "the table is for whoever takes it"
    table = shell.run("calls = %agent budget\ncalls").value
    assert list(table["turn"])[:2] == [1, 2] and "summary" in set(table["purpose"])
    assert "what can you do?" in shell.ok("%agent history")
    assert "inspect_variable" in shell.ok("%agent tools")


def test_tools_are_switched_off_and_on(shell: Shell) -> None:
    assert "grep, glob: off from the next turn on" in shell.ok("%agent tools off grep glob")
    assert "off: grep, glob. %agent tools on NAME brings a tool back" in shell.ok("%agent tools")
    shell.ok("%agent thanks")
    items = shell.ok("%agent budget --items")
    assert "%agent tools off ls" in items and "tools off grep" not in items
    assert "glob: on from the next turn on" in shell.ok("%agent tools on glob")
    assert shell.session.options.tools_off == ("grep",)
    for line, told in (
        ("off", "off needs the name of a tool"),
        ("off gerp", "there is no tool 'gerp'"),
        ("on ls", "'ls' is not off"),
    ):
        assert told in shell.fails(f"%agent tools {line}")


def test_a_panel_in_a_terminal_is_its_static_picture(shell: Shell) -> None:
    shell.ok("%agent thanks")
    out = shell.ok("%agent panel")
    assert "context ·" in out and "offloaded history" in out
    assert "nothing remembered yet" in shell.ok("%memory panel")


def test_memory(shell: Shell) -> None:
    assert "nothing remembered yet" in shell.ok("%memory")
    assert "+- I like 'tea, \"not coffee" in shell.ok("%memory add I like 'tea, \"not coffee")
    assert "added to /memory/team.md" in shell.ok("%memory add --to /memory/team.md Ana owns the data")
    assert "wrote /notes.md" in shell.ok("%%memory /notes.md\n# Notes\n{not} filled $in$")
    assert "# Notes\n{not} filled $in$\n" in shell.ok("%memory show /notes.md")
    assert "'tea" in shell.ok("%memory") and "'tea" in shell.ok("%memory show")
    assert re.search(r"1 +/AGENTS.md +exists", shell.ok("%memory sources"))
    shell.ok("%agent Remember that I prefer metric units")
    out = shell.ok("%memory diff")
    assert "+- The user prefers metric units" in out and "tea" not in re.sub(r"^ .*", "", out, flags=re.M)
    assert "memory from turn 0 to now" in shell.ok("%memory diff 0")
    assert "memory from turn 0 to turn 1" in shell.ok("%memory diff 0 1")


def test_what_a_magic_writes_is_in_the_next_prompt(shell: Shell) -> None:
    shell.ok("%memory add I like tea")
    assert "tea" in shell.ok("%agent what do you know about my preferences?")


def test_skills(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[str] = []
    shell.ip._deepnb.scene.next_cell = cells.append
    assert "no skills yet" in shell.ok("%skills")
    assert "wrote /skills/tidy-data/SKILL.md" in shell.ok("%skills new tidy-data How to tidy a table")
    assert cells[0].startswith("%%skills tidy-data\n---\nname: tidy-data\n")
    assert "seen" in shell.ok(cells[0]) or "sees it" in shell.ok(cells[0])
    assert "How to tidy a table" in shell.ok("%skills")
    assert "skill tidy-data" in shell.ok("%skills show tidy-data")
    assert list(shell.run("%skills list").value["name"]) == ["tidy-data"]
    assert "can't be used" in shell.ok("%%skills broken\nno frontmatter")
    assert "tidy-data" in shell.ok("%agent Use the tidy-data skill on x")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("%agent rewnd", "no subcommand 'rewnd': type %agent rewind"),
        ("%agent use nosuch:model", "no model 'nosuch:model': %agent use"),
        (
            "%agent use openai:gpt-5.2",
            "openai models need a key in OPENAI_API_KEY: %agent key openai asks for it, or set OPENAI_API_KEY in the environment",
        ),
        ("%agent --model nosuch hello there", "no model 'nosuch'"),
        ("%agent --thread nosuch hello there", "no thread 'nosuch': %agent new nosuch"),
        ("%agent --format poem hello there", "unknown format 'poem'"),
        ("%agent --as 1x hello there", "--as '1x' is not a valid variable name"),
        ("%agent --nosuch hello there", "no option '--nosuch'"),
        ("%agent --", "the prompt is empty"),
        ("%%agent\n   \n", "the prompt is empty"),
        ("%%agent what is this\nbody", "the %%agent line takes only options, not 'what is this'"),
        ("%agent resume", "nothing to resume in this thread: %agent PROMPT starts a turn"),
        ("%agent switch nosuch", "no thread 'nosuch'"),
        ("%agent new main", "a thread 'main' already exists"),
        ("%agent rewind 7", "no turn 7: thread main has turns 1 to 1"),
        ("%agent fork x --at 7", "no turn 7"),
        ("%memory show /none.md", "no file /none.md: %%memory /none.md writes it"),
        ("%memory shwo", "no subcommand 'shwo': type %memory show"),
        ("%memory add", "invalid arguments in 'add': usage: %memory add"),
        ("%memory add --to x.md text", "'x.md' is not the path of a file"),
        ("%%memory ../x.md\ntext", "'../x.md' is not the path of a file"),
        ("%%memory\ntext", "%%memory needs PATH"),
        ("%memory diff 7", "no turn 7"),
        ("%skills show nosuch", "no skill 'nosuch' (skills: none yet): %skills new nosuch"),
        ("%skills new ../up", "'../up'"),
        ("%skills new Bad_Name", "'Bad_Name'"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_lost(
    shell: Shell, typed: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    shell.ok("%memory add I like tea")
    shell.ok("%agent thanks")
    before = shell.session.snapshot
    assert told in shell.fails(typed)
    assert shell.session.snapshot == before
    assert len(shell.session.turns) == 1 and shell.session.thread == "main" and shell.session.model == "offline"
    assert "You are welcome" in shell.ok("%agent thanks")


def test_an_empty_cell_is_one_line(shell: Shell) -> None:
    assert "cell body is empty" in shell.fails("%%agent\n")


def test_a_memory_file_that_is_not_utf8_is_one_line_that_names_it(shell: Shell) -> None:
    shell.ok("%memory add I like tea")
    shell.session.backend.upload_files([("/AGENTS.md", b"- caf\xe9\n")])
    for typed in ("%memory show /AGENTS.md", "%memory add more", "%agent hello there"):
        assert "/AGENTS.md" in shell.fails(typed), typed
    for typed in ("%memory", "%memory panel", "%agent", "%agent budget", "%memory diff"):
        shell.ok(typed)
    shell.ok("%%memory /AGENTS.md\n- I like tea")
    assert "tea" in shell.ok("%agent what do you know about my preferences?")


def test_compact_shows_its_record_and_history_is_searched_and_brought_back(shell: Shell) -> None:
    assert shell.fails("%agent compact") == "nothing to compact: the thread has no turns yet: %agent PROMPT starts one"
    assert "nothing is offloaded yet" in shell.fails("%agent history --bring 1")
    for prompt in ("The pump in hall 7 is called Berta", "hello", "thanks"):
        shell.ok(f"%agent {prompt}")
    record = shell.ok("%agent compact")
    assert record.startswith(
        "context compacted   (thread main, turn 3)\n  cause       on request\n  removed     4 messages, "
    )
    assert "nothing worth keeping" in record and "Requests so far: 2" in record
    out = shell.ok('%agent history "hall 7"')
    assert "»hall 7«" in out and "2 found" in out
    assert "search for nowhere: no matches" in shell.ok("%agent history nowhere")
    assert shell.ok("%agent history --bring 1:1,3-4").startswith(
        "added to the next prompt: messages 1, 3-4 of section 1 ("
    )
    assert "nothing is added to the next prompt" in shell.ok("%agent history --bring none")
    shell.ok("%agent history --bring 1:1")
    assert "--bring none removes it" in shell.ok("%agent history")
    turn = shell.ok("%agent Where is the pump Berta?")
    assert "note: added to this prompt: message 1 of section 1" in turn
    assert '"The pump in hall 7 is called Berta" (user)' in turn
    assert "has no message 9: choose from 1 to 4" in shell.fails("%agent history --bring 1:9")
    assert "choose at least one message of section 1" in shell.fails("%agent history --bring 1:3-2")
