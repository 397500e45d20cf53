"""%agent explain, %agent fix, {err}, the line that offers them, and %agent code."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.kernels import Cell, Kernel
from tests.support.scripted import Scripted, call, walked
from tests.support.shells import Shell

MISSPELT = "prices = {'apple': 1.2, 'pear': 0.8}\ntotal = prices['appel']"
CORRECTED = "prices = {'apple': 1.2, 'pear': 0.8}\ntotal = prices['apple']"


@pytest.fixture
def cells(shell: Shell) -> list[str]:
    made: list[str] = []
    shell.ip._deepnb.scene.next_cell = made.append
    return made


def answered(shell: Shell, *answers: Any) -> Scripted:
    model = Scripted(answers=[*answers])
    shell.ip.user_ns["m"] = model
    shell.ok("%agent use m")
    return model


def test_explain_sends_the_traceback_and_fix_puts_the_corrected_cell_next_and_runs_nothing(
    shell: Shell, cells: list[str]
) -> None:
    shell.run(MISSPELT)
    assert "Line 2 of Cell In[1] fails with KeyError: 'appel'" in shell.ok("%agent explain")
    (turn,) = shell.session.turns
    assert turn.prompt.startswith("Explain this error:") and "    >   2 | total = prices['appel']" in turn.prompt
    out = shell.ok("%agent fix")
    assert cells == [CORRECTED] and "-total = prices['appel']\n+total = prices['apple']" in out
    assert "the corrected cell is below; nothing was run" in out and "total" not in shell.ip.user_ns


def block(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}\n```\n"


def test_which_code_of_an_answer_is_the_corrected_cell(shell: Shell, cells: list[str]) -> None:
    for answers, run, corrected, said in (
        ((f"This fails:\n{block('1 / 0')}This does not:\n{block('1 / 2')}",), "1 / 0", "1 / 2", "-1 / 0"),
        ((f"{block('pip install x', 'bash')}and\n{block(CORRECTED)}",), MISSPELT, CORRECTED, "nothing was run"),
        ((call("propose_cell", code=CORRECTED), "I proposed it."), MISSPELT, CORRECTED, "+total = prices['apple']"),
        ((block(MISSPELT),), MISSPELT, None, "the same as yours"),
        (("It is no number.",), "int('seven')", None, "there is no next cell"),
    ):
        answered(shell, *answers)
        shell.run(run)
        cells.clear()
        assert said in shell.ok("%agent fix") and cells == ([corrected] if corrected else [])
    shell.ok("%agent use offline")
    shell.ok("def rate(done, days):\n    # a day\n    return done / dayz")
    shell.run("x = 1\nrate(3, 1)")
    shell.ok("%agent fix")
    assert cells == ["def rate(done, days):\n    # a day\n    return done / days"], "the one with the function"


def test_without_an_error_there_is_nothing_to_explain_and_err_stays_as_typed(shell, monkeypatch):
    monkeypatch.delattr("sys.last_value", raising=False)
    said = "there is no error to explain: run the cell that fails, then %agent explain"
    assert shell.fails("%agent explain") == said == shell.fails("%agent fix")
    line = "{err} is left as typed: no variable err and no error yet"
    assert line in shell.ok("%%agent\nWhy {err}?") and line in shell.ok("%agent why {err}?")


def test_an_error_in_a_file_names_the_file(shell, cells, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_rates.py").write_text("def rate(done, days):\n    return done / dayz\n")
    shell.run("import my_rates\nmy_rates.rate(3, 1)")
    out = shell.ok("%agent fix")
    assert "Line 2 of File my_rates.py fails" in out and cells == []
    assert "the line that fails is in my_rates.py. Write `return done / days` there." in out


def test_a_credential_in_the_cell_is_sent_masked_and_is_in_the_corrected_cell(shell: Shell, cells: list[str]) -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
    cell = f"api_key = '{key}'\nprices = {{'apple': 1}}\nprices['appel'], api_key"
    shell.run(cell)
    out = shell.ok("%agent fix")
    assert key not in shell.session.turns[-1].prompt and key not in shell.session.text and key not in out
    assert cells == [cell.replace("appel", "apple")]


def test_neither_mistakes_in_magics_nor_a_card_that_stops_run_all_are_the_last_error(shell: Shell) -> None:
    shell.run(MISSPELT)
    walked(shell, "run %agent swich", "run %agent code 9", "run %nosuchmagic", "run %agent fork")
    assert "KeyError: 'appel'" in shell.ok("%agent explain")
    answered(shell, call("run_python", code="x = 1"), "done", "explained")
    shell.ok("%config DeepNB.offer_explain = True")
    stopped = shell.run("%agent run something for me")
    assert stopped.error is not None and "%agent explain" not in stopped.out
    shell.run("%agent reject no")
    shell.ok("%agent explain")
    assert "KeyError: 'appel'" in shell.session.turns[-1].prompt


def test_an_error_from_before_deepnb_was_loaded_is_explained(bare_shell: Shell) -> None:
    walked(bare_shell, "run 1 / 0", "run %load_ext deepnb")
    assert "ZeroDivisionError" in bare_shell.ok("%agent explain")


def test_an_error_in_a_cell_magic_names_the_line_of_the_body(shell: Shell, cells: list[str]) -> None:
    shell.run("%%time\ntotal = 1\ntotl + 1")
    assert "Line 2 of Cell fails with NameError" in shell.ok("%agent explain")
    shell.run("rate = 0\n%time 1 / rate")
    out = shell.ok("%agent explain")
    assert "ZeroDivisionError" in out and "`rate` (int, 0)" in out


def test_err_in_a_prompt_is_the_last_error_unless_a_variable_is_named_so(shell: Shell) -> None:
    model = answered(shell, *"abcde")
    shell.run(MISSPELT)
    out = shell.ok("%%agent\nWhy {err}? And {prices}?")
    assert "KeyError: 'appel'" in model.requests[-1][-1].text and "{prices}" not in model.requests[-1][-1].text
    assert "filled in: {err}, {prices}" in out and "{err} is the last error" in out
    shell.ok("%agent why {err}, and not {prices}?")
    sent = model.requests[-1][-1].text
    assert "KeyError: 'appel'" in sent and "not {prices}?" in sent, "on a line nothing else is filled in"
    shell.ok("%%agent --raw\n{err}")
    assert model.requests[-1][-1].text == "{err}"
    shell.ok("err = 'mine'")
    out = shell.ok("%%agent\nWhy {err}?")
    assert model.requests[-1][-1].text == "Why mine?" and "{err} is your variable err" in out
    assert "{err} is your variable err" in shell.ok("%agent why {err}?")


def test_the_line_that_offers_an_explanation_is_below_the_first_error_of_each_kind(shell: Shell) -> None:
    offer = "%agent explain explains this error, %agent fix corrects the cell"
    assert offer not in shell.run("1 / 0").out, "a terminal is asked for it"
    shell.ip._deepnb.screen.notebook = True
    cells = ("1 / 0", "{}['a']", "{}['b']", "nobody", "1 +", "1 -")
    assert [shell.run(cell).out.count(offer) for cell in cells] == [0, 1, 0, 1, 1, 0]
    shell.ok("%config DeepNB.offer_explain = False")
    assert offer not in shell.run("int('a')").out
    shell.ok("%config DeepNB.offer_explain = True")
    assert shell.run("1 / 0").lines[-1] == offer and shell.run("1 +").lines[-1] == offer
    view = shell.ip._deepnb._help
    view._box.children[0].click()
    assert view._box.comm is None and "fails with SyntaxError" in shell.session.last.text
    shell.run("1 / 0")
    shell.ip._deepnb._help._box.children[1].click()
    assert "The divisor is 0" in shell.session.last.text
    assert offer not in shell.run("%agent swich").out and offer not in shell.ok("x = 1")
    shell.ok("%unload_ext deepnb")
    assert offer not in shell.run("1 / 0").out


def test_code_takes_the_last_block_or_the_one_that_is_named(shell: Shell, cells: list[str]) -> None:
    assert shell.fails("%agent code") == "this thread has no answer yet: %agent PROMPT starts one"
    answered(shell, "One:\n```python\na = 1\n```\nTwo:\n```python\nb = 2\n\n```\n", "```\nonly()\n```", "None.")
    shell.ok("%agent two blocks of code please")
    told = shell.ok("%agent code")
    assert "block 2 of 2 is in the next cell; %agent code N takes another of the 2 pieces of code" in told
    assert "block 1 of 2" in shell.ok("%agent code 1") and cells == ["b = 2", "a = 1"]
    said = "the last turn has no code {}: type %agent code N with N from 1 to 2"
    assert shell.fails("%agent code 3") == said.format(3) and shell.fails("%agent code 0") == said.format(0)
    shell.ok("%agent now one block please")
    assert shell.ok("%agent code").strip() == "the code is in the next cell"
    shell.ok("%agent and now nothing at all")
    assert shell.fails("%agent code") == "the last turn has no code: ask for a block of code"
    assert cells[2:] == ["only()"]
    answered(
        shell, call("propose_cell", code="from_call = 1"), "```\nfrom_answer = 2\n```", call("run_python", code="x = 1")
    )
    shell.ok("%agent do propose something")
    cells.clear()
    shell.ok("%agent code")
    assert "the code of call 1 is in the next cell" in shell.ok("%agent code 2"), "they count on after the blocks"
    assert cells == ["from_answer = 2", "from_call = 1"]
    shell.run("%agent run something for me")
    shell.ok("%agent code")
    assert cells[2:] == ["x = 1"] and "x" not in shell.ip.user_ns, "it waits for approval"
    shell.ip._deepnb.scene.in_cell = lambda: False
    assert shell.ok("%agent code").strip() == "x = 1" and len(cells) == 3, "where no cell can be made it is shown"


def test_a_cell_that_is_there_already_is_not_made_again(shell, tmp_path, monkeypatch):
    made: list[str] = []
    monkeypatch.setattr(shell.ip, "set_next_input", made.append)
    answered(shell, "```\na = 1\n```", call("propose_cell", code="b = 2"), "It is below.")
    shell.ok("%agent one block of code please")
    for _ in range(2):
        assert "is in the next cell" in shell.ok("%agent code", cell_id="c1")
    assert made == ["a = 1"], "run again in the same kernel, the notebook not saved"
    shell.ok("%agent code", cell_id="c2")
    shell.ok("%agent code")
    assert made == ["a = 1"] * 3, "another cell, and a front end that names none"

    file = tmp_path / "mine.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))

    def saved(below: str, at: float) -> None:
        both: list[dict[str, Any]] = [
            {"cell_type": "code", "id": name, "metadata": {}, "outputs": [], "execution_count": None, "source": code}
            for name, code in (("c1", "%agent code"), ("c9", below))
        ]
        file.write_text(json.dumps({"cells": both, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        os.utime(file, (at, at))

    saved("x = 0", at=time.time() + 60)
    shell.ok("%agent code", cell_id="c1")
    assert len(made) == 4, "the user has taken it out, and saved"
    shell.ip._deepnb.kernel._put.clear()
    saved("a = 1", at=1.0)
    shell.ok("%agent code", cell_id="c1")
    saved("b = 2\n\nc = 3\n", at=1.0)
    shell.ok("%%agent\nPropose two cells", cell_id="c1")
    assert len(made) == 4, "in a kernel that has just begun, the file says that it is there"


@pytest.mark.kernel
def test_after_a_button_the_footer_says_how_the_code_becomes_a_cell(kernel: Kernel, tmp_path: Path) -> None:
    kernel.ok(
        f"%agent mount /work disk:{tmp_path}\n{IMPORT_TESTS}from tests.support.scripted import Scripted, call\n"
        'm = Scripted(answers=[call("write_file", "w1", file_path="/work/a", content="x"), "So:\\n```\\ny = 1\\n```"])\n'
        "%agent use m"
    )
    cell = Cell(kernel, "%agent --format code go")
    cell.click("Approve")
    assert "%agent code puts the code into the next cell" in "\n".join(cell.texts)
    assert not [p for p in kernel.ok("1").reply["payload"] if p["source"] == "set_next_input"]
    ran = kernel.ok("%agent code")
    (payload,) = [p for p in ran.reply["payload"] if p["source"] == "set_next_input"]
    assert payload["text"] == "y = 1"
