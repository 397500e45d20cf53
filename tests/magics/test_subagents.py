"""%agent subagents as it is typed: list, show, add, remove; what Tab offers; a class that sees one at work, with no key."""

from __future__ import annotations

from pathlib import Path

from deepnb.magics.complete import Names, candidates
from deepnb.magics.options import AgentRun, Command, parse_agent
from tests.support.tables import every_row

GOOD = "---\ndescription: Finds faults.\ntools: ls, task\n---\nBe strict.\n"


@every_row(
    ("line", "what"),
    [
        ("subagents", None),
        ("subagents critic", "critic"),
        ("subagents add critic", "add critic"),
        ("subagents add critic Finds faults, all of them", "add critic Finds faults, all of them"),
        ("subagents add my agents/x.md", "add my agents/x.md"),
        ("subagents remove critic", "remove critic"),
    ],
)
def test_what_is_the_subcommand(line, what):
    assert parse_agent(line) == Command("subagents", {"what": what, "yes": False})


@every_row("line", ["subagents are useful", "subagents, what are they", "subagents remove all of them"])
def test_what_is_a_prompt(line):
    assert parse_agent(line) == AgentRun(line)


def test_yes_stands_at_either_end():
    assert parse_agent("subagents add DIR --yes") == parse_agent("subagents --yes add DIR")
    assert parse_agent("subagents add DIR --yes").args == {"what": "add DIR", "yes": True}


@every_row(
    ("line", "offers"),
    [
        ("subagents ", ["add", "remove", "critic", "critical", "--yes"]),
        ("subagents cr", ["critic", "critical"]),
        ("subagents remove cr", ["critic", "critical"]),
        ("subag", ["subagents"]),
    ],
)
def test_what_tab_offers(line, offers):
    names = Names(subagents=("critic", "critical"))
    assert candidates("agent", line, line.rpartition(" ")[2], names) == offers


def test_add_edit_break_and_remove(shell):
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


def test_files_of_the_disk(shell, tmp_path: Path):
    (tmp_path / "critic.md").write_text(GOOD)
    (tmp_path / "other.md").write_text(GOOD)
    assert "added critic: the agent can call it" in shell.ok(f"%agent subagents add {tmp_path}/critic.md")
    assert "a subagent 'critic' already exists" in shell.fails(f"%agent subagents add {tmp_path}")
    assert "added critic, other: the agent can call them" in shell.ok(f"%agent subagents add {tmp_path} --yes")
    (tmp_path / "bad.md").write_text("no")
    assert "bad.md:1: the first line is not ---" in shell.fails(f"%agent subagents add {tmp_path}/bad.md")
    assert "there is no" in shell.fails("%agent subagents add /nowhere/x.md")


def test_a_class_sees_one_at_work(shell):
    shell.ok(f"%%memory /agents/critic.md\n{GOOD}")
    told = shell.ok("%agent ask the critic subagent to list files")
    assert '→ subagent critic: "list files"  ok ' in told and " s · 2 calls · " in told
    assert '\n  │ → ls(path="/")  ok' in told
    assert "The subagent critic reported:\n> `ls` gives" in told
    assert "4 calls, 2 in subagents" in told
    told = shell.ok("%agent subagents critic")
    assert "tools: ls, task · model: offline" in told and "  │ Be strict." in told and "2 calls, " in told
    told = shell.ok("%agent ask the nobody subagent to list files")
    assert "There is no subagent nobody: the tool `task` lists general-purpose, critic." in told


def test_a_class_sees_the_limit(shell):
    deep = "ask a subagent to " * 4
    told = shell.ok(f"%agent {deep}list files")
    assert "You are nested 3 deep, and max_subagent_depth is 3" in told
    assert told.count("→ subagent general-purpose:") == 4
