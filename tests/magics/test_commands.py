"""Every subcommand in a real shell: what it prints when all is well, and the one line when it is not."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from deepnb.magics import memory_commands
from deepnb.magics.commands import AGENT
from deepnb.magics.memory_commands import MEMORY
from deepnb.magics.skills_commands import SKILLS
from deepnb.magics.usage import MAGICS, SUBCOMMANDS, subcommands
from deepnb.search import Hit
from deepnb.values.wings import names
from deepnb.views.search_marks import hits_view
from deepnb.widgets.progress import Progress
from deepnb.widgets.screen import Screen
from tests.support.shells import Shell
from tests.support.tables import every_row
from tests.support.walks import enter

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
    for typed, told in (
        ("%agent use nosuch:model", "no model 'nosuch:model': %agent use"),
        ("%agent use openai:gpt-5.2", "openai models need a key in OPENAI_API_KEY: %agent key openai asks for it, or"),
        ("%agent --model nosuch hello there", "no model 'nosuch'"),
        ("%agent --thread nosuch hello there", "no thread 'nosuch': %agent new nosuch"),
        ("%%agent\n", "cell body is empty"),
        ("%%agent what is this\nbody", "the %%agent line takes only options, not 'what is this'"),
        ("%agent resume", "nothing to resume in this thread: %agent PROMPT starts a turn"),
        ("%agent switch nosuch", "no thread 'nosuch'"), ("%agent new main", "a thread 'main' already exists"),
        ("%agent rewind 7", "no turn 7: thread main has turns 1 to 1"),
        ("%memory show /none.md", "no file /none.md: %%memory /none.md writes it"),
        ("%memory add --to x.md text", "'x.md' is not the path of a file"),
        ("%%memory ../x.md\ntext", "'../x.md' is not the path of a file"), ("%%memory\ntext", "%%memory needs PATH"),
        ("%memory promote x", "'x' is not a number: %memory promote [N...] [--yes]"),
        ("%skills show nosuch", "no skill 'nosuch' (skills: none yet): %skills new nosuch"),
        ("%skills new ../up", "'../up'"),
    ):  # fmt: skip
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
    for magic in ("record", "replay"):
        hint = "a.txt has no ending that says what it is: end the name in .jsonl"
        assert shell.fails(f"%agent {magic} a.txt") == hint
    shell.ok("%agent record --yes a.jsonl")
    assert "already recording to" in shell.fails("%agent record b.jsonl")
    shell.ok("%agent record stop")
    missing = shell.fails("%agent replay missing.jsonl")
    assert missing == f"no tape {tmp_path.resolve() / 'missing.jsonl'}: %agent record FILE makes one"
    assert shell.session.model == "offline"


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
    told = shell.ok("%memory search gateway")
    assert told.startswith("note: updating the index ...\nsearch: gateway")
