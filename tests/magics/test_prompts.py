"""Prompts in a real shell: what reaches the agent, what {name} becomes and where it stays as typed, and what comes back."""

import builtins
import gc
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.display import Image

from deepnb.magics.interpolate import FilledPrompt, code_and_math, fill
from deepnb.values.image import LARGEST
from deepnb.workshop.describe import describe
from tests.data import rows
from tests.support.images import jpeg, png
from tests.support.scripted import Scripted, call
from tests.support.shells import Shell
from tests.support.tables import every_row

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


def test_text_is_shown_above_the_footer_which_is_all_when_quiet_and_a_variable_has_the_answer(shell: Shell) -> None:
    shell.ip.user_ns["m"] = Scripted(answers=["**5**"])
    lines = shell.run("%agent --model m --format text how many?").lines
    assert lines[0] == "**5**" and lines[1].startswith("turn 1")
    out = shell.ok("%agent --quiet --as answer what can you do?")
    assert "teaching model" in shell.ip.user_ns["answer"] and "teaching model" not in out and "turn 2" in out
    assert "teaching model" in shell.ok("%agent --quiet what can you do?")


def test_json_is_parsed_also_out_of_a_fence_and_what_is_none_is_kept_out_of_the_variable(shell: Shell) -> None:
    shell.ip.user_ns["m"] = Scripted(answers=['Here:\n```json\n{"moons": [1, 2]}\n```\nDone.', "Sorry, no."])
    out = shell.ok("%agent --model m --as moons --format json which?")
    assert shell.ip.user_ns["moons"] == {"moons": [1, 2]}
    assert json.loads(out[: out.rindex("}") + 1]) == {"moons": [1, 2]}
    ran = shell.run("%agent --model m --as moons --format json which?")
    assert ran.err.strip() == "UsageError: the answer is not JSON: ask again for JSON only"
    assert "Sorry, no." in ran.out and shell.ip.user_ns["moons"] == {"moons": [1, 2]}
    assert shell.session.text == "Sorry, no."


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


def test_code_goes_to_the_next_cell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[str] = []
    shell.ip._deepnb.scene.next_cell = cells.append
    shell.ip.user_ns["m"] = Scripted(answers=["Try\n\n```python\nx = 1\nprint(x)\n```\n", "No code."])
    out = shell.ok("%agent --model m --format code how?")
    assert cells == ["x = 1\nprint(x)"] and "the code is in the next cell" in out
    assert "has no code block" in shell.run("%agent --model m --format code how?").err


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


class Thing:
    size = 3
    _secret = "s"
    asked = 0

    @property
    def bad(self):
        raise SystemExit

    @property
    def counted(self):
        Thing.asked += 1
        return Thing.asked


class Hostile:
    def __repr__(self):
        raise RuntimeError


TABLE = pd.DataFrame({"name": ["Mercury", "Earth"], "gravity": [3.7, 9.8]})
KNOWN = {
    "x": 7, "name": "Ada", "a": 1, "b": 2, "row": {"a": 1, "two words": 2, 1: "one", "deep": [{"z": (4, 5)}]},
    "thing": Thing(), "hostile": Hostile(), "planets": TABLE, "größe": 5, "braced": "{b}", "_": "last", "__name__": "__main__",
}  # fmt: skip


@every_row(("text", "becomes", "filled"), rows("placeholders")["filled"])
def test_a_placeholder_becomes_the_value(text, becomes, filled):
    assert fill(text, KNOWN) == FilledPrompt(becomes, tuple(filled), ())


@every_row("text", rows("placeholders")["as typed"])
def test_code_mathematics_and_other_braces_stay_as_typed(text):
    assert fill(text, KNOWN) == FilledPrompt(text)


@every_row(("before", "after"), [
    ("```\n{x}\n```\n", ""), ("~~~\n```\n~~~\n", ""), ("> ```\n> {x}\n", ""), ("``` {x} ``` ", ""),
    ("`{x}` ", " `{x}`"), ("$a$ ", " $b$"), ("$$a$$ ", " \\(b\\)"), ("\\begin{a}{x}\\end{a} ", " \\begin{a}"),
])  # fmt: skip
def test_after_code_and_mathematics_it_goes_on(before, after):
    assert fill(before + "{x}" + after, KNOWN).text == before + "7" + after


@every_row(("text", "notes"), rows("placeholders")["left with a note"])
def test_what_cannot_be_filled_in_stays_and_says_why(text, notes):
    assert fill(text, KNOWN) == FilledPrompt(text, (), tuple(notes))


def test_a_table_is_a_schema_and_a_sample_and_a_long_value_says_how_much_was_cut():
    schema = describe("planets", TABLE)
    assert fill("{planets}", KNOWN).text == schema
    assert fill("Look at {planets} and say.", KNOWN).text == f"Look at \n{schema}\n and say."
    assert fill("Look:\n{planets}\nSay.", KNOWN).text == f"Look:\n{schema}\nSay."
    assert "gravity | float64 | 2 | min 3.7, mean 6.75, max 9.8" in fill("{planets.gravity}", KNOWN).text
    assert fill("{planets.gravity[1]}", KNOWN).text == "9.8"
    text = fill("{long}", {"long": list(range(5000))}).text
    assert text.startswith("[0, 1, 2,") and len(text) < 2050
    assert text.endswith(f"... ({len(repr(list(range(5000)))) - 2000:,} more characters)")
    assert fill("{long}", {"long": "y" * 5000}).text == "y" * 5000


def test_an_interrupt_is_not_swallowed():
    class Slow:
        @property
        def value(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill("{slow.value}", {"slow": Slow()})


TEXT = st.text(st.sampled_from("{}[]().$`~\\ \nabx'\"_0>-"), max_size=60)


@given(st.text().map(lambda text: text.replace("{", "")))
def test_a_text_without_braces_is_left_as_it_is(text):
    assert fill(text, KNOWN) == FilledPrompt(text)


@given(st.text() | TEXT)
def test_with_nothing_known_every_text_is_left_as_it_is(text):
    assert fill(text, {}).text == text


@given(TEXT, st.integers(1, 5))
def test_a_code_span_is_left_as_it_is(inside, ticks):
    inside = " ".join(inside.replace("`", "{x}").split()) or "{a}"
    span = "`" * ticks + f" {inside} " + "`" * ticks
    assert span in fill(f"see {span} for {{x}}", KNOWN).text


@given(TEXT, st.sampled_from(["```", "~~~~", "````"]), st.sampled_from(["", "  ", "> "]))
def test_a_fence_is_left_as_it_is(inside, fence, lead):
    inside = inside.replace("`", "{x}").replace("~", "{a}").replace("\n", "\n" + lead)
    block = f"{lead}{fence}\n{lead}{inside}\n{lead}{fence}\n"
    assert fill(f"{block}\n{{x}}", KNOWN).text == f"{block}\n7"


@given(TEXT)
def test_spans_are_in_order_and_without_overlaps(text):
    spans = code_and_math(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@every_row(
    "piece",
    ["{", "{x[", "{x.", "{a['", "`", "`{x}``", "$", "$$ $", "\\(", "\\begin{a}", "> ", "- ", "```\n", "{x ", "\\a{", "{x}"],
)  # fmt: skip
def test_the_work_grows_with_the_text(piece):
    """Calls are counted, not seconds: twice the text is about twice the work."""

    def lines_run(text):
        count = 0

        def trace(frame, event, arg):
            nonlocal count
            count += 1
            return trace

        fill(text, KNOWN)  # what is looked up once
        gc.disable()  # what other tests left is not to be cleared away, and counted, meanwhile
        sys.settrace(trace)
        try:
            fill(text, KNOWN)
        finally:
            sys.settrace(None)
            gc.enable()
        return count

    assert lines_run(piece * 100) <= 2.5 * lines_run(piece * 50) + 100


# -- `{fig}` in a cell's prompt: what is sent as an image, what stays text, and what is not read


PNG = png(4, 3)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    there = tmp_path / "project"
    there.mkdir()
    monkeypatch.chdir(there)
    return there


def filled(value: Any, name: str = "fig") -> Any:
    return fill(f"see {{{name}}}", {"fig": value})


@every_row(("value", "name", "marker"), [
    (PNG, "fig", "[image: fig, 4x3 png]"), (bytearray(jpeg(8, 9)), "fig", "[image: fig, 8x9 jpeg]"),
    (Image(data=PNG), "fig", "[image: fig, 4x3 png]"), ([PNG], "fig[0]", "[image: fig[0], 4x3 png]"),
    ({"a": PNG}, "fig[a]", "[image: fig[a], 4x3 png]"),
])  # fmt: skip
def test_a_value_that_is_an_image_goes_with_the_prompt(value, name, marker):
    made = filled(value, name)
    assert (made.text, [one.marker for one in made.images], made.filled) == (f"see {marker}", [marker], (name,))


def test_named_twice_it_is_sent_once_and_in_code_not_at_all():
    made = fill("{fig} and {fig}, `{other}`", {"fig": PNG, "other": PNG})
    assert made.text == "[image: fig, 4x3 png] and [image: fig, 4x3 png], `{other}`" and len(made.images) == 1


def test_a_path_in_the_working_directory_is_read_and_one_outside_is_not(project: Path):
    for file in (project / "in.png", project.parent / "out.png"):
        file.write_bytes(PNG)
    (project / "link.png").symlink_to("../out.png")
    assert filled(Path("in.png")).images[0].data == PNG
    for path in (Path("../out.png"), project.parent / "out.png", Path("link.png")):
        made = filled(path)
        assert made.images == () and made.text == "see {fig}"
        assert made.notes == (
            "{fig} is left as typed: fig is outside the working directory, and was not read:"
            " put IPython.display.Image(filename=...) of it into a variable to send it",
        )
    assert filled(Image(filename=str(project.parent / "out.png"))).images[0].data == PNG


class Bytes(bytes):
    def startswith(self, *args: Any) -> bool:
        raise AssertionError


class Shown(Image):
    def _repr_png_(self) -> Any:
        raise AssertionError


@pytest.mark.parametrize("value", ["in.png", b"text", Bytes(PNG), Path("none.png"), Path("in.txt"), Shown(data=PNG)])
def test_what_is_no_image_stays_text(project: Path, value):
    for name in ("in.png", "in.txt"):
        (project / name).write_bytes(PNG)
    made = filled(value)
    assert made.images == () and made.notes == () and made.text != "see {fig}"


def test_a_large_one_is_a_line():
    made = filled(PNG + bytes(LARGEST))
    assert made.images == () and made.notes == (
        "{fig} is left as typed: fig has 5.0 MB: make it smaller: images of up to 5 MB are sent",
    )


FIGURE = """
import matplotlib
matplotlib.use("agg")
from matplotlib.figure import Figure
fig = Figure(figsize=(2, 1), dpi=100)
axes = fig.subplots()
axes.plot([1, 3, 2])
axes.set_title("Sales")
"""


def test_a_figure_or_its_axes_are_drawn_and_described():
    pytest.importorskip("matplotlib")
    values: dict[str, Any] = {}
    exec(FIGURE, values)
    for name in ("fig", "axes"):
        made = fill(f"{{{name}}}", values)
        (image,) = made.images
        assert made.text == f"[image: {name}, 200x100 png]" and image.data.startswith(b"\x89PNG")
        assert "Sales" in image.description and "1 line" in image.description

    def fail(self: Any, *args: Any, **kwargs: Any) -> None:
        raise AssertionError

    own = type("Own", (values["Figure"],), {"savefig": fail})
    assert fill("{fig}", {"fig": own()}).images == ()


def test_a_picture_of_pillow_is_saved_as_png():
    pillow = pytest.importorskip("PIL.Image")
    for mode in ("RGB", "CMYK", "F"):
        assert filled(pillow.new(mode, (5, 6))).text == "see [image: fig, 5x6 png]"
