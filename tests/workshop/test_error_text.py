"""A traceback as a text: the right line and variables, within a budget, without credentials, whatever objects do."""

from types import MappingProxyType
from typing import Any

from deepnb.workshop.error_text import BUDGET, error_text
from tests.support.error_cases import KINDS, ErrorCase, cell_file, cell_label, fails, failure
from tests.support.hostile import Loud, loud
from tests.support.tables import every_row


def text(*cells: str, **names: object) -> str:
    return error_text(fails(*cells, **names), cell_label)


@every_row("case", KINDS, ids=lambda case: case.name)
def test_the_failing_line_and_the_variable_are_in_the_text(case: ErrorCase, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    shown = error_text(failure(case)[0], cell_label)
    marked = [line.partition("| ")[2].strip() for line in shown.splitlines() if line.startswith("    > ")]
    assert case.line in marked[-1] and case.variable in shown and len(shown) < 2_500


def test_a_frame_has_its_lines_and_variables_and_what_is_long_is_cut() -> None:
    shown = text("def mean(values):\n    total = sum(values)\n    return total / len(values)", "mean([])")
    assert shown.splitlines() == [
        "Traceback (most recent call last):", "  Cell In[2], line 1, in <module>", "    >   1 | mean([])",
        "    variables:", "      mean: function, mean(values)", "  Cell In[1], line 3, in mean",
        "        1 | def mean(values):", "        2 |     total = sum(values)",
        "    >   3 |     return total / len(values)", "    failing expression: total / len(values)", "    variables:",
        "      total: int, 0", "      values: list, 0 items", "ZeroDivisionError: division by zero",
    ]  # fmt: skip
    shown = text("import pandas as pd\nt = pd.Series([1], index=['a'])", "t.loc['b']")
    frames = [line for line in shown.splitlines() if line.startswith("  File pandas")]
    assert 1 <= len(frames) <= 4 and "more frames of libraries" in shown
    assert "raise KeyError(key)" not in shown
    assert len(text("raise ValueError('x' * 1_000_000)")) <= BUDGET
    shown = text("def down(n):\n    return down(n + 1)", "down(0)")
    assert len(shown) < 1_000 and "more frames of this code)" in shown and "RecursionError" in shown
    both = text("def a(n):\n    return b(n)\ndef b(n):\n    return a(n)", "a(0)")
    assert len(both) < 2_500


def test_an_error_in_a_file_of_the_project_is_shown_with_its_source(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_steps.py").write_text("def step(size):\n    limit = 3\n    return limit / size\n")
    shown = text("import my_steps", "my_steps.step(0)")
    assert "  File my_steps.py, line 3, in step" in shown
    assert "    >   3 |     return limit / size" in shown and "      size: int, 0" in shown
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "limit / size" not in text("import my_steps", "my_steps.step(0)"), "no file outside of the directory is read"


def test_causes_groups_notes_and_syntax_errors() -> None:
    cell = "try:\n    {}['a']\nexcept KeyError as missing:\n    raise ValueError('no path') from missing"
    shown = text(cell)
    assert "caused by KeyError: 'a' (Cell In[1], line 2: {}['a'])" in shown
    assert "while handling" in text(cell.replace(" from missing", ""))
    assert "KeyError" not in text(cell.replace("from missing", "from None")).splitlines()[-1]
    shown = text("raise ExceptionGroup('two', [ValueError('a'), TypeError('b')])")
    assert "ExceptionGroup: two (2 sub-exceptions)" in shown
    assert "1. ValueError: a" in shown and "2. TypeError: b" in shown
    assert "look at row 3" in text("e = ValueError('bad')\ne.add_note('look at row 3')\nraise e")
    shown = text("x = 1\nfor i in range(3)\n    print(i)")
    assert "  Cell In[1], line 2\n" in shown and "    >   2 | for i in range(3)" in shown
    assert shown.endswith("SyntaxError: expected ':'")
    assert "    >   1 | 1 +" in error_text(fails("compile('1 +', 'nowhere', 'exec')"))


def test_no_code_of_the_objects_on_the_line_runs() -> None:
    thing = Loud()
    error = fails(
        "def use(thing, box):\n    return 1 / 0, thing, box.thing", "use(thing, box)", thing=thing, box=[thing]
    )
    loud.clear()
    shown = error_text(error, cell_label)
    assert loud == [] and "thing: Loud" in shown


@every_row("words", ["raise RuntimeError('no words')", "raise SystemExit", "return 3"])
def test_an_exception_that_can_t_say_what_it_is(words: str) -> None:
    shown = text(f"class Bad(Exception):\n    def __str__(self):\n        {words}\nraise Bad()")
    assert "Bad" in shown and len(shown) < 1_000


def test_a_scope_of_the_users_own_making_is_not_asked() -> None:
    class Scope(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            if name == "boom":
                raise ZeroDivisionError
            return dict.__getitem__(self, name)

        def __contains__(self, name: object) -> bool:
            raise AssertionError("asked")

    try:
        exec(compile("boom", cell_file(1), "exec"), {"__name__": "__main__"}, Scope())
    except ZeroDivisionError as error:
        shown = error_text(error, cell_label)
        assert shown.endswith("\nZeroDivisionError") and "test_error_text.py" in shown


def test_a_credential_is_not_in_the_text() -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
    code = f"api_key = '{key}'\npassword = 'hunter2-hunter2'\nnested = {{'token': '{key}'}}\n"
    shown = text(code + f"raise ValueError('refused {key}', api_key, password, nested)")
    assert key not in shown and "hunter2" not in shown
    made = f"def made():\n    return 'sk-' + 'proj-{key[8:]}'\n\n\n\n\n\nraise ValueError('refused ' + made())"
    assert key[8:] not in text(made).splitlines()[-1], "in the message alone"
    assert key[:20] not in text(code + f"raise ValueError({'x' * 0}'{'y' * 117} {key}', api_key)"), "cut in the middle"


@every_row("budget", [300, 1_000, 3_000, BUDGET])
def test_it_keeps_to_its_budget_and_keeps_the_message(budget: int) -> None:
    steps = "\n".join(f"def f{n}(a, b, c):\n    # {'long ' * 30}\n    return f{n - 1}(a, b, c)" for n in range(1, 9))
    cell = f"def f0(a, b, c):\n    return a / 0 + b + c\n{steps}\nf8('x' * 5000, list(range(1000)), 'z')"
    error = fails(cell.replace("a / 0", "1 / 0"))
    shown = error_text(error, cell_label, budget)
    assert len(shown) <= budget and shown.endswith("ZeroDivisionError: division by zero")


@every_row(
    ("cells", "line"),
    [
        (("names = {'alpha': 1}", "names['alhpa']"), "'alhpa' is near 'alpha', a key of names"),
        (("total = 1", "totl"), "totl is near total, a variable"),
        (("import math", "math.sine(1)"), "sine is near sin, a name of math"),
        (("n = 1", "def f():\n    n += 1\nf()"), "n is a variable of the notebook, too, and this function assigns one of its own"),
        (("open('nowhere/at/all')",), "there is no folder 'nowhere/at'"),
    ],
)  # fmt: skip
def test_a_mistyped_name_is_set_beside_the_nearest(cells: tuple[str, ...], line: str) -> None:
    assert line in text(*cells).splitlines()


def test_what_has_no_near_name_gets_none() -> None:
    assert text("names = {'alpha': 1}", "names['zzz']").endswith("KeyError: 'zzz'")
    assert text("m = mappingproxy({'alpha': 1})\nm['alhpa']", mappingproxy=MappingProxyType).endswith("'alhpa'")
