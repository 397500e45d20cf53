"""The exercises: each check fails before a solution and passes after it, and gives nothing away; and grading."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import deepnb
from deepnb.wings.course.exercises import EXERCISES
from deepnb.wings.course.grading import CheckView
from tests.session.test_memory import SKILL
from tests.support.kernels import Kernel
from tests.support.notebooks import ALL, BESIDE, HERE, copied, read
from tests.support.shells import Shell
from tests.support.tables import wing
from tests.wings.course.solutions import BEFORE, SOLUTIONS

SCORES = {
    "00": (1, 2, 3),
    "01": (0, 0, 1, 2, 3),
    "02": (0, 0, 1, 2, 3),
    "03": (0, 2, 3),
    "04": (0, 0, 0, 0, 0, 0, 1, 1, 3),
    "05": (0, 0, 1, 2, 3, 3, 4),
    "06": (0, 0, 0, 2, 2, 3),
    "07": (1, 2, 3),
    "08": (0, 0, 2, 3, 4),
}  # how many parts are done before the solution, then after each of its cells


@pytest.fixture
def begun(shell: Shell, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    with copied(HERE / "00_start_here.ipynb") as folder, monkeypatch.context() as patch:
        patch.chdir(folder)
        shell.ok("import deepnb\nsession = deepnb.current()")
        for cell in BEFORE.get(request.param, ()):
            shell.ok(cell)
        yield shell
        shell.ok("deepnb.current().close()")


def done(number: str) -> list[bool]:
    return [part.done for part in deepnb.course.check(number).parts]


@pytest.mark.parametrize(("begun", "number"), [(n, n) for n in EXERCISES], indirect=["begun"])
def test_each_part_is_missing_until_it_is_there(begun: Shell, number: str) -> None:
    scores, texts = [sum(done(number))], [deepnb.course.check(number).text()]
    for cell in SOLUTIONS[number]:
        begun.ok(cell)
        scores.append(sum(done(number)))
        texts.append(deepnb.course.check(number).text())
    assert tuple(scores) == SCORES[number]
    last = deepnb.course.check(number)
    assert last.done and "missing" not in last.text()
    for text in texts:
        assert not re.findall(r"%agent|%memory|%%|%config|`", text), text
        for cell in SOLUTIONS[number]:
            assert cell not in text


def test_there_is_one_for_each_notebook_and_its_last_cell_checks_it() -> None:
    assert [path.name[:2] for path in ALL] == list(EXERCISES) == list(SOLUTIONS)
    for path in ALL:
        *_, task, check = read(path).cells
        assert task.source.startswith("## Exercise\n")
        assert check.source.endswith(f'deepnb.course.check("{path.name[:2]}")')
        (output,) = check.outputs
        assert "missing" in output.data["text/plain"], "what is saved is the exercise before it is solved"
        typed = "\n".join(cell.source for cell in read(path).cells)
        assert len([cell for cell in SOLUTIONS[path.name[:2]] if cell not in typed]) > 1, "not solved above the check"


@pytest.mark.parametrize("begun", ["01"], indirect=True)
def test_naming_it_yourself_does_not_count(begun: Shell) -> None:
    again = ("%agent Remember that my favourite planet is Saturn", "%agent what can you do?")
    for cell in (*SOLUTIONS["01"][:-1], *again, "%agent Is Saturn my favourite planet?"):
        begun.ok(cell)
    assert "Saturn" in begun.session.text and done("01") == [True, True, False]


@pytest.mark.parametrize("begun", ["02"], indirect=True)
def test_writing_the_line_again_is_no_revert(begun: Shell) -> None:
    for cell in (*SOLUTIONS["02"][:-1], "%%memory /AGENTS.md\n- the report is due on Fridays\n"):
        begun.ok(cell)
    assert done("02") == [True, True, False]


@pytest.mark.parametrize("begun", ["03"], indirect=True)
def test_a_pinned_skill_was_not_read(begun: Shell) -> None:
    begun.ok(SOLUTIONS["03"][0])
    for cell in ("%skills pin count-moons", "%agent hello"):
        begun.ok(cell)
    assert done("03") == [True, True, False]
    begun.run("%%skills other\n---\nname: Other One\ndescription: no\n---\n")
    begun.ok("%skills remove count-moons")
    assert deepnb.course.check("03").parts[0].missing == "yours can't be used: %skills validate says why"


@pytest.mark.parametrize("begun", ["06"], indirect=True)
def test_other_figures_do_not_count(begun: Shell) -> None:
    begun.ok("by_island = penguins.groupby('island')['bill_depth_mm'].mean()")
    assert deepnb.course.check("06").parts[1].missing == "its figures are others"
    begun.ok("by_island = 'Dream'")
    assert not done("06")[1]
    begun.ok("by_island = penguins.groupby('island')[['bill_length_mm']].mean()")
    assert done("06")[1]


@pytest.mark.parametrize("begun", ["07"], indirect=True)
def test_a_fork_from_another_turn_does_not_count(begun: Shell) -> None:
    begun.ok("%agent fork second")
    assert deepnb.course.check("07").parts[1].missing == "a fork of evening begins at another turn"


@pytest.mark.parametrize("begun", ["08"], indirect=True)
def test_memory_that_is_read_once_is_not_in_the_next_prompt(begun: Shell) -> None:
    graph = SOLUTIONS["08"][0].replace("middleware=[MemoryMiddleware(), SkillsMiddleware()]", "memory=['/AGENTS.md']")
    for cell in (graph, *SOLUTIONS["08"][1:]):
        begun.ok(cell)
    assert done("08") == [True, False, True, False]
    assert deepnb.course.check("08").parts[1].missing == "it lacks skills"


@pytest.mark.parametrize("begun", ["02"], indirect=True)
def test_a_check_as_text_picture_and_json(begun: Shell) -> None:
    begun.ok(SOLUTIONS["02"][0])
    begun.ok(SOLUTIONS["02"][1])
    ran = begun.run('deepnb.course.check("02")')
    check = ran.value
    assert isinstance(check, CheckView) and repr(check) == "<CheckView 02: 1 of 3 parts done>"
    assert check.text().splitlines()[:2] == [
        "exercise 02 · revert a mistake · 1 of 3 parts done   (thread exercise)",
        "  done     in the thread exercise the agent has written a line to memory",
    ]
    for part in check.parts:
        assert part.what in check.html() and part.missing in check.html()
    said = json.loads(check.json())
    assert (said["exercise"], said["done"], len(said["parts"])) == ("02", False, 3)
    what, missing = "then you have changed that line", "nobody but the agent has touched it"
    assert said["parts"][1] == {"what": what, "missing": missing, "done": False}
    assert deepnb.course.check(2) == check


def test_a_check_changes_nothing(shell: Shell) -> None:
    shell.ok("%agent Remember that I prefer tabs")
    before = dict(shell.session.files), len(shell.session.threads), len(shell.session.turns)
    for number in EXERCISES:
        deepnb.course.check(number)
    assert (dict(shell.session.files), len(shell.session.threads), len(shell.session.turns)) == before


def test_mistakes_are_one_line(bare_shell: Shell, tmp_path: Path) -> None:
    with pytest.raises(deepnb.NotFoundError, match="no exercise '12'"):
        deepnb.course.check("12")
    with pytest.raises(deepnb.NotInstalledError, match="deepnb is not loaded"):
        deepnb.course.check("02")
    with pytest.raises(deepnb.NotFoundError, match="no notebooks of the course"):
        deepnb.course.grade(tmp_path)


@wing("open")
@pytest.mark.parametrize("begun", ["01"], indirect=True)
def test_an_opened_session_is_not_what_is_checked(begun: Shell) -> None:
    for cell in SOLUTIONS["01"]:
        begun.ok(cell)
    begun.ok("%agent open data/last_night.jsonl")
    assert deepnb.course.check("01").done
    story = begun.run("deepnb.course.story()").value
    assert len(story.steps) == 5 and story.window is None and "%" not in story.text()
    begun.ok("%agent switch main")


def handed_in(directory: Path, path: Path, *, solved: bool) -> None:
    directory.mkdir(exist_ok=True)
    for name in BESIDE:
        if not (directory / name).exists():
            shutil.copytree(HERE / name, directory / name)
    notebook = read(path)
    if solved:
        cells = [nbformat.v4.new_code_cell(cell) for cell in SOLUTIONS[path.name[:2]]]
        notebook.cells[-1:-1] = cells
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbformat.write(notebook, directory / path.name)


@pytest.mark.kernel
@pytest.mark.nightly
def test_every_notebook_with_its_solution_and_none_without(tmp_path: Path) -> None:
    for path in ALL:
        handed_in(tmp_path / "ana", path, solved=True)
    handed_in(tmp_path / "ben", ALL[1], solved=False)
    rows = deepnb.course.grade(tmp_path)
    assert [row["file"] for row in rows] == [*(f"ana/{path.name}" for path in ALL), f"ben/{ALL[1].name}"]
    assert [row["done"] for row in rows] == [*[True] * len(ALL), False], rows


@pytest.mark.slow
@pytest.mark.kernel
def test_a_broken_notebook_is_a_row_of_its_own(tmp_path: Path) -> None:
    def write(name: str, *cells: str) -> None:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        nbformat.write(notebook, tmp_path / name)

    write("01_loaded.ipynb", "%load_ext deepnb", "1 / 0", "%agent new exercise")
    write("02_not_loaded.ipynb", "print('no')")
    write("notes.ipynb", "1 / 0")
    ran = subprocess.run(
        [sys.executable, "-m", "deepnb.course", str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    one, two = json.loads(ran.stdout)
    assert (one["file"], one["exercise"], one["done"], len(one["parts"])) == ("01_loaded.ipynb", "01", False, 3)
    assert "deepnb is not loaded in this shell" in two["error"] and not two["done"]


def test_the_command_says_how_it_is_used(tmp_path: Path) -> None:
    for arguments, code, said in (([], 2, "usage: "), ([str(tmp_path)], 1, "deepnb: no notebooks of the course")):
        ran = subprocess.run([sys.executable, "-m", "deepnb.course", *arguments], capture_output=True, text=True)
        assert ran.returncode == code and ran.stderr.startswith(said) and not ran.stdout


MAGICS = (
    *("%memory add one", "%memory daily two", "%memory revert 1", "%%memory /USER.md\n- me\n"),
    *("%memory load page.md --to /TOOLS.md", "%memory rm /TOOLS.md", f"%%skills tables\n{SKILL}",
      "%memory revert {last}"),
    *("%skills new fresh", "%skills remove fresh", "session.files['/SOUL.md'] = 'calm'", "%memory add three"),
    *("%agent rewind 0 --memory", "%agent undo", "%memory forget --yes three"),
)  # fmt: skip


CLICK = """
from ipywidgets.widgets.widget import _instances
newest = "revert " + session.memory.log_entries()[-1].id
[one for one in _instances.values() if one.trait_values().get("tooltip") == newest][0].click()
"""  # the newest entry of the journal, reverted by its button


@pytest.mark.slow
@pytest.mark.kernel
def test_so_it_is_in_a_kernel_with_a_panel_and_the_dashboard_open(kernel: Kernel):
    """Each magic in turn, then the button: what is entered is the user's, a revert keeps its note, and says what it did."""
    kernel.ok(
        "import deepnb, deepnb.course, pathlib\nsession = deepnb.current()\nz = pathlib.Path('page.md').write_text('loaded')"
    )
    kernel.ok("%agent hello")
    kernel.ok("%agent dashboard")
    kernel.ok("%memory panel")
    external = "print('external' in set(session.memory.log()['origin']))"
    for line in MAGICS:
        typed = line
        if "{last}" in line:
            typed = line.format(last=kernel.ok("print(session.memory.log_entries()[-1].id)").text.strip())
        said = "".join(one["data"]["text/plain"] for one in kernel.ok(typed).of("display_data"))
        assert kernel.ok(external).text.strip() == "False", line
        assert "revert" not in line or "no changes" not in said, (line, said)
    for cell in SOLUTIONS["02"]:
        kernel.ok(cell)
    done = kernel.ok("print([part.done for part in deepnb.course.check('02').parts])").text
    assert done.strip() == "[True, True, True]"
    kernel.ok("%memory add four")
    kernel.ok(CLICK)
    last = "e = session.memory.log_entries()[-1]; print(e.origin, e.note)"
    assert kernel.ok(last).text.strip().startswith("user revert of ")
