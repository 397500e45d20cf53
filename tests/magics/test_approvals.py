"""Approvals typed in a shell, in a kernel and in a terminal."""

from pathlib import Path

import pytest

from tests.support.approvals import ASK, TWO
from tests.support.kernels import WIDGET, Cell, Kernel
from tests.support.scripted import enter
from tests.support.shells import Shell
from tests.support.tables import every_row


@pytest.fixture
def work(shell: Shell, tmp_path):
    shell.ok(f"%agent mount /work disk:{tmp_path / 'work'}")
    return tmp_path / "work"


def test_the_teaching_model_asks_and_a_word_lets_it_go_on(shell: Shell, work):
    out = shell.ok(ASK)
    assert "needs your approval · 1 call" in out and "+hello world" in out and "%agent approve runs it" in out
    assert "needs your approval" in shell.ok("%agent")
    line = "turn 1 of thread main needs your approval for write_file: %agent panel approvals shows it, then %agent approve, or %agent reject WHY"
    assert shell.fails("%%agent\nand now?") == line and shell.fails("%agent resume") == line
    assert "I wrote 1 line to /work/report.md." in shell.ok("%agent approve")
    assert (work / "report.md").read_text() == "hello world\n"


def test_edit(shell: Shell, work):
    shell.ok(ASK)
    assert "lacks 'content'" in shell.fails('%agent edit {"file_path": "/work/b.md"}')
    assert "not valid JSON" in shell.fails("%agent edit {oops}")
    shell.ok('%agent edit {"file_path": "/work/b.md", "content": "it\'s other"}')
    assert [p.name for p in work.iterdir()] == ["b.md"]


def test_the_answer_goes_where_the_prompt_said_though_it_waited(shell: Shell, work):
    shell.ok(ASK.replace("%agent", "%agent --as answer"))
    assert "approv" in shell.fails("%agent resume") and "approv" in shell.fails("%agent hello")
    assert "answer" not in shell.ip.user_ns
    shell.ok("%agent approve")
    assert shell.ip.user_ns["answer"] == "I wrote 1 line to /work/report.md."


def test_several_are_decided_one_by_one_or_all_together(shell: Shell, work):
    shell.ok(TWO)
    assert "1 · write_file" in (out := shell.ok("%agent go")) and "2 · write_file" in out
    assert shell.fails("%agent approve") == "2 calls need approval: %agent approve N (1 to 2), or %agent approve all"
    assert shell.fails("%agent approve 3") == "there is no call 3: %agent approve takes a number from 1 to 2, or all"
    assert "write_file needs your approval" in shell.ok("%agent reject 2 not b")
    assert "done" in shell.ok("%agent approve 1") and [p.name for p in work.iterdir()] == ["a"]
    enter(shell, "%agent new", TWO, "%agent go")
    assert "done" in shell.ok("%agent approve all") and sorted(p.name for p in work.iterdir()) == ["a", "b"]


def test_the_policy_is_seen_and_set(shell: Shell, work):
    assert "ask where it can't be undone" in shell.ok("%agent tools")
    assert "write_file: deny" in shell.ok("%agent tools deny write_file") and "failed. It said" in shell.ok(ASK)
    assert shell.run("%config DeepNB.approve").value == {"*": "outside", "write_file": "deny"}
    shell.ok("%agent tools allow write_file")
    assert "I wrote" in shell.ok(ASK)
    shell.ok("%agent tools read-only")
    assert "read-only mode" in shell.ok("%agent write a file /a.md with: hi")
    assert "ask needs the name of a tool" in shell.fails("%agent tools ask")
    assert "no tool 'nosuch'" in shell.fails("%agent tools ask nosuch")
    shell.ok('%config DeepNB.approve = "writes"')
    assert shell.session.approvals.policy.mode == "writes"


@every_row("name", ["approve", "reject", "edit"])
def test_where_nothing_waits_a_line_says_how_to_send_it(shell: Shell, name):
    told = shell.fails(f"%agent {name}" + (" {}" if name == "edit" else ""))
    assert told == f"no call needs approval in this thread: %agent -- {name} ... sends this as a prompt"
    assert shell.ok(f"%agent {name}?").startswith(f"%agent {name}")


@pytest.mark.kernel
def test_a_card_from_before_a_restart_says_what_to_do(kernel: Kernel):
    ran = kernel.run("%agent approve")
    what = "no call needs approval in this kernel"
    assert f"{what}: run the cell of the card again, or, where the session was kept, %agent persist FILE" in ran.printed


@pytest.mark.kernel
def test_in_a_kernel_the_card_becomes_a_record(kernel: Kernel, tmp_path):
    kernel.ok(f"%agent mount /work disk:{tmp_path}")
    asked = kernel.ok(ASK)
    assert len(asked.outputs) <= 20
    cards = {id_: d for id_, d in asked.outputs.items() if "needs your approval · 1 call" in d.get("text/plain", "")}
    assert len(cards) == 1
    (stop,) = (id_ for id_, d in asked.outputs.items() if "decide above" in d.get("text/plain", ""))
    assert asked.asks and not asked.of("error"), "nothing red stays in the file"
    buttons = [id_ for id_, d in asked.outputs.items() if "application/vnd.jupyter.widget-view+json" in d]
    assert len(buttons) == 1
    queued = kernel.run("%%agent\nand now?")
    assert queued.status == "error" and "needs your approval for write_file" in str(queued.reply) + queued.printed
    done = kernel.ok("%agent approve")
    (card,) = cards
    assert "approved" in done.outputs[card]["text/plain"] and not done.outputs[stop].get("text/plain", "").strip()
    assert "application/vnd.jupyter.widget-view+json" not in done.outputs[buttons[0]]
    assert "I wrote 1 line" in done.text and (tmp_path / "report.md").exists()


@pytest.mark.kernel
def test_a_card_stops_run_all_before_a_plain_cell_unless_that_is_switched_off(kernel: Kernel, tmp_path: Path):
    """A front end sends all cells at once, and ipykernel drops those below a cell that fails."""
    line = "a call needs your approval: decide above, then run the cells below"
    kernel.ok(f"%agent mount /work disk:{tmp_path}")
    asked, below = kernel.send(ASK), kernel.send("here = 1")
    ran = kernel.wait(asked)
    assert ran.asks and line in ran.text and not ran.of("error"), "no error in red that would stay in the file"
    assert kernel.wait(below).status == "aborted"
    kernel.ok("%agent new side\n%config DeepNB.stop_at_approval = False")
    asked, below = kernel.send(ASK), kernel.send("here = 1")
    ran = kernel.wait(asked)
    assert (ran.status, kernel.wait(below).status) == ("ok", "ok") and "needs your approval" in ran.text
    assert line not in ran.text


def test_a_skill_that_asks_for_tools(shell: Shell, work):
    skill = "---\\nname: tidy\\ndescription: Tidies.\\nallowed-tools: Write Edit\\n---\\n\\nTidy.\\n"
    shell.ok(f'import deepnb; deepnb.current().files["/skills/tidy/SKILL.md"] = "{skill}"')
    shell.ok("from tests.support.scripted import Scripted, call")
    shell.ok(
        'm = Scripted(answers=[call("read_file", "r", file_path="/skills/tidy/SKILL.md"),'
        ' call("write_file", "w", file_path="/work/a", content="a"),'
        ' call("edit_file", "e", file_path="/work/a", old_string="a", new_string="b"), "done"])\n%agent use m'
    )
    assert "the skill tidy asks for write_file, edit_file: %agent approve --skill allows these" in shell.ok("%agent go")
    assert "done" in shell.ok("%agent approve --skill") and (work / "a").read_text() == "b"


def test_it_lists_the_calls_of_all_threads_by_the_numbers_that_are_typed(shell: Shell, tmp_path: Path):
    enter(shell, f"%agent mount /work disk:{tmp_path}", ASK, "%agent new side", TWO, "%agent go")
    shell.ok("%agent reject 1 no")
    told = shell.ok("%agent panel approvals")
    rows = [line.split() for line in told.splitlines() if "write_file(" in line]
    assert [(row[0], row[1]) for row in rows] == [("main", "1"), ("side", "2")]
    assert "outside: asks before calls that can't be undone" in told
    assert shell.ok("%agent threads").count("needs approval") == 2
    shell.ok("%agent approve 2")
    assert shell.ok("%agent threads").count("needs approval") == 1
    enter(shell, "%agent switch main", "%agent approve")
    assert "no call needs approval" in shell.ok("%agent panel approvals")


@pytest.mark.kernel
def test_its_button_lets_the_run_go_on_below_the_card(kernel: Kernel, tmp_path: Path):
    kernel.ok(f"%agent mount /work disk:{tmp_path}")
    shown = kernel.ok("%agent panel approvals")
    assert any(WIDGET in data for data in shown.outputs.values())
    cell = Cell(kernel, ASK)
    cell.click("Approve", 0)
    assert (tmp_path / "report.md").read_text() == "hello world\n"
    whole = "\n".join(cell.texts)
    assert "[buttons]" not in whole and whole.index("approved") < whole.index("I wrote 1 line")
    panel_now = [d.get("text/plain", "") for id_, d in cell.ran.outputs.items() if id_ in shown.outputs]
    assert any("no call needs approval" in text for text in panel_now)


@pytest.mark.kernel
def test_a_call_without_a_card_is_decided_there_too(kernel: Kernel, tmp_path: Path):
    enter(kernel, f"%agent mount /work disk:{tmp_path}", "%agent panel approvals")
    cell = Cell(kernel, "import deepnb; turn = deepnb.current().run('write a file /work/report.md with: hello')")
    cell.click("Approve", 0)
    assert (tmp_path / "report.md").exists()
    assert kernel.value("deepnb.current().last.text") == "'I wrote 1 line to /work/report.md.'"


def test_what_names_a_card_that_may_be_lost_names_first_what_shows_it_whole(shell: Shell, tmp_path: Path):
    """Approving unread what a line shows cut would be the shortest way on."""
    shell.ok(f"%agent mount /work disk:{tmp_path}")
    rows = "\n".join(f"line {n}" for n in range(200))
    shell.ok(f"%%agent\nwrite a file /work/a.md with:\n{rows}\nTHE END")
    lines = {
        "a prompt": shell.fails("%agent go on"), "%agent": shell.ok("%agent"),
        "%agent turns 1": shell.ok("%agent turns 1"), "resume": shell.fails("%agent resume"),
        "a value": shell.ok("import deepnb; deepnb.current().turns[-1]"),
        "the calls": shell.ok("deepnb.current().asked"),
    }  # fmt: skip
    for what, text in lines.items():
        before = text.partition("%agent approve")[0]
        assert "THE END" in before or "%agent panel approvals" in before, f"{what}: {text}"
    assert "THE END" in shell.ok("%agent panel approvals"), "all of it"
