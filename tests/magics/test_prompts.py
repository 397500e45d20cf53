"""Prompts in a real shell: what reaches the agent, with which options, and what comes back."""

import builtins
import json

import pandas as pd
import pytest

from tests.support.scripted import Scripted, call
from tests.support.shells import Shell

LATEX = r"""Prove that $\sum_{i=1}^{n} i = \frac{n(n+1)}{2}$ and \begin{align} x_{i} &= {y} \end{align}
with {"a": {"b": [1, 2]}} and `const {data} = x` or

```js
const {data} = await fetch(`${url}`);
```
100% of %time, !ls, ?help, 'tis "quoted and
\ a backslash at the end \
is that right??"""


def test_a_line_and_a_body_reach_the_agent_as_typed(shell: Shell) -> None:
    shell.ip.user_ns.update(x=1, y=2, data=1, url=2, n=4)
    for line in ("'tis the \"season, what is this??", r"why is C:\new\table {x} $y not {y!r}"):
        said = shell.ok(f"%agent {line}")
        assert shell.session.last.prompt == line
        assert ("{x} is left as typed: only a %%agent cell is filled in" in said) == ("{x}" in line)
        assert "{y" not in said
    shell.ok(f"%%agent\n{LATEX}")
    assert shell.session.last.prompt == LATEX


def test_values_are_filled_in_and_the_footer_says_so(shell: Shell) -> None:
    shell.ip.user_ns.update(size=3, names=["a", "b"])
    out = shell.ok("%%agent\nAre {names[0]} and {size} fine, {nobody}?")
    assert shell.session.last.prompt == "Are a and 3 fine, {nobody}?" and "filled in: {names[0]}, {size}" in out
    assert "{nobody} is left as typed: no variable nobody" in out
    shell.ok("%%agent --raw\nAre {names[0]} and {size} fine?")
    assert shell.session.last.prompt == "Are {names[0]} and {size} fine?"


def test_an_answer_of_groups_or_rows_is_a_table_and_a_frame_in_a_variable(shell: Shell) -> None:
    """What the page shows rounded is exact there; `--format text` keeps the words."""
    vars(builtins).pop("_", None)  # Python's own displayhook puts it there; IPython then leaves `_` alone
    shell.ip.displayhook.flush()
    sales = pd.DataFrame({"region": ["N", "S", "N", None], "units": [1.23456, 2.0, 3.0, 9.0]})
    shell.ip.user_ns.update(sales=sales)
    out = shell.ok("%agent --as totals total units by region in sales")
    assert "| N | 4.235 |" in out
    expected = pd.DataFrame({"region": ["N", "S"], "units (sum)": [4.23456, 2.0]})
    pd.testing.assert_frame_equal(shell.ip.user_ns["totals"].head(2), expected)
    shell.ok("%agent --as most 2 rows of sales with the highest units")
    assert list(shell.ip.user_ns["most"]["units"]) == [9.0, 3.0]
    shell.ok("%agent --as words --format text total units by region in sales")
    assert "| N | 4.235 |" in shell.ip.user_ns["words"]
    shell.ip.user_ns["m"] = Scripted(answers=[call("query_table", table="sales", by=["region"]), "N leads."])
    shell.ok("%agent --model m --as said who leads?")
    assert shell.ip.user_ns["said"] == "N leads."
    for typed in ("", "x = "):
        out = shell.ok(f"{typed}%agent total units by region in sales")
        assert out.count("| N | 4.235 |") == 1, "it is shown once"
        value = shell.ip.user_ns["x" if typed else "_"]
        pd.testing.assert_frame_equal(value.head(2), expected)
    before = shell.ip.user_ns["_"]
    assert shell.run("x = %agent thanks").value is None and shell.ip.user_ns["_"] is before
    shell.ok("%%agent\nthanks")
    assert shell.ip.user_ns["_"] == shell.ip.user_ns["x"] == "You are welcome."


def test_quiet_shows_nothing_but_the_footer_when_a_variable_has_the_answer(shell: Shell) -> None:
    out = shell.ok("%agent --quiet --as answer what can you do?")
    assert "teaching model" in shell.ip.user_ns["answer"] and "teaching model" not in out and "turn 1" in out
    assert "teaching model" in shell.ok("%agent --quiet what can you do?")


def test_json_is_parsed_also_out_of_a_fence(shell: Shell) -> None:
    shell.ip.user_ns["m"] = Scripted(answers=['Here:\n```json\n{"moons": [1, 2]}\n```\nDone.'])
    out = shell.ok("%agent --model m --as moons --format json which?")
    assert shell.ip.user_ns["moons"] == {"moons": [1, 2]}
    assert json.loads(out[: out.rindex("}") + 1]) == {"moons": [1, 2]}


def test_an_answer_is_an_object_of_a_class_in_the_notebook(shell: Shell) -> None:
    answer = call("Planet", moons=2)
    shell.ip.user_ns["m"] = Scripted(answers=[answer, "In words."])
    shell.ok("import dataclasses\n@dataclasses.dataclass\nclass Planet:\n    moons: int")
    out = shell.ok("%%agent --model m --as mars --format schema:Planet\nwhich?")
    assert shell.ip.user_ns["mars"] == shell.ip.user_ns["Planet"](2) == shell.session.last.structured
    assert json.loads(out[: out.rindex("}") + 1]) == {"moons": 2}
    shell.ok("%agent --model m --as words which?")
    assert shell.ip.user_ns["words"] == "In words."
    expected = "UsageError: there is no variable Plant: make a class or a JSON schema, Plant = ..., first"
    assert shell.run("%agent --format schema:Plant which?").err.strip() == expected
    there = "UsageError: the offline model gives no answers in a form: %agent use NAME takes another model"
    assert shell.run("%agent --format schema:Planet which?").err.strip() == there


def test_the_model_is_told_of_the_format_and_so_is_the_user(shell: Shell) -> None:
    shell.ip.user_ns["m"] = model = Scripted(answers=["```python\n1\n```"])
    for form, asked in (
        ("json", "Answer with one JSON value and nothing around it."),
        ("code", "Answer with one fenced block of code."),
    ):
        out = shell.ok(f"%agent --model m --format {form} how many?")
        assert model.requests[-1][-1].text == f"how many?\n\n{asked}" and f"added to the prompt: {asked}" in out


def test_an_answer_that_is_not_json_is_shown_and_kept_out_of_the_variable(shell: Shell) -> None:
    shell.ip.user_ns.update(m=Scripted(answers=["Sorry, no."]), moons="before")
    ran = shell.run("%agent --model m --as moons --format json which?")
    assert ran.err.strip() == "UsageError: the answer is not JSON: ask again for JSON only"
    assert "Sorry, no." in ran.out and shell.ip.user_ns["moons"] == "before"
    assert shell.session.text == "Sorry, no."


def test_code_goes_to_the_next_cell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[str] = []
    shell.ip._deepnb.scene.next_cell = cells.append
    shell.ip.user_ns["m"] = Scripted(answers=["Try\n\n```python\nx = 1\nprint(x)\n```\n", "No code."])
    out = shell.ok("%agent --model m --format code how?")
    assert cells == ["x = 1\nprint(x)"] and "the code is in the next cell" in out
    assert "has no code block" in shell.run("%agent --model m --format code how?").err


def test_text_is_shown_above_the_footer(shell: Shell) -> None:
    shell.ip.user_ns["m"] = Scripted(answers=["**5**"])
    lines = shell.run("%agent --model m --format text how many?").lines
    assert lines[0] == "**5**" and lines[1].startswith("turn 1")


def test_rerunning_a_cell_continues_or_replaces(shell: Shell) -> None:
    cell = "%%agent\nwhat can you do?"
    shell.ok(cell, cell_id="a")
    shell.ok("%%agent\nthanks", cell_id="b")
    out = shell.ok(cell, cell_id="a")
    assert "this cell was turn 1 before; running it again adds turn 3" in out
    shell.ok("%config DeepNB.rerun = 'replace'")
    out = shell.ok("%%agent\nthanks", cell_id="b")
    assert "turn 2 and the 1 after it undone" in out
    assert [turn.prompt for turn in shell.session.turns] == ["what can you do?", "thanks"]
    assert "re-run of turn 2" in shell.ok("%agent undo") and len(shell.session.turns) == 3


def test_an_interrupt_before_the_turn_is_one_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shell.session._workspace.graphs, "of", interrupted)
    assert shell.fails("%agent hello there") == "interrupted before the turn started: run the cell again"
    assert shell.fails("%agent use offline") == "interrupted: run the cell again"
