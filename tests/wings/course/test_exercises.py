"""The exercises: each check fails before a solution and passes after it, and gives nothing away; grading; and the teacher's page."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import deepnb
from deepnb import Session
from deepnb.magics.pictures import picture
from deepnb.views.values import html_text
from deepnb.wings.course.exercises import EXERCISES
from deepnb.wings.course.grading import CheckView
from deepnb.wings.course.story import StoryStep, StoryView, story_of
from tests import ROOT
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


PAGE = (HERE / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?:python)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START, *MISTAKES = re.split(r"^### ", PAGE.split("\n## Mistakes to provoke\n")[1].split("\n## ")[0], flags=re.MULTILINE)


def cells(block: str) -> list[str]:
    lines = block.rstrip("\n").split("\n")
    alone = all(re.match(r"%\w", line) for line in lines)
    return lines if alone else [block]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda text: text.partition("\n")[0])
def test_a_mistake_shows_what_the_page_says(shell: Shell, mistake: str) -> None:
    (start,) = FENCE.findall(START)
    shell.ok(start)
    shown, at, claims = "", 0, 0
    for found in re.finditer(f"{FENCE.pattern}|^Shown: (.+?)(?:\\.\\s|: |$)", mistake, re.MULTILINE | re.DOTALL):
        if found[1]:
            shown += "".join(shell.ok(cell) for cell in cells(found[1]))
            continue
        for claim in re.findall(r"`([^`]+)`", found[2]):
            assert claim in shown[at:], claim
            claims += 1
        at = len(shown)
    assert claims > 1
    shell.session.close()


def test_the_page_is_short_has_every_notebook_in_order_and_its_links_lead_somewhere() -> None:
    hour = PAGE.split("\n## One hour\n")[1].split("\n## ")[0]
    assert re.findall(r"\]\((\d\d_\w+\.ipynb)\)", hour) == [path.name for path in ALL]
    minutes = [int(n) for n in re.findall(r"^\| (\d+) ", hour, re.MULTILINE)]
    assert minutes == sorted(minutes) and minutes[0] == 0 and minutes[-1] < 60
    heads = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", PAGE, re.M)}
    targets = re.findall(r"\]\(([^)\s]+)\)", PAGE)
    assert len(targets) > 10
    for target in targets:
        path, _, anchor = target.partition("#")
        assert target.startswith("https://") or not path or (HERE / path).exists(), target
        assert not anchor or anchor in heads, target
    from tests.wings.course.solutions import SOLUTIONS

    assert len(PAGE.splitlines()) < 200 and (ROOT / "tests" / "bench").is_dir()
    long = [cell for solution in SOLUTIONS.values() for cell in solution if len(cell) > 40]
    assert not [cell for cell in long if cell in PAGE]


KEY = "Who keeps the spare key?"


def test_it_remembers_fills_up_is_compacted_and_gets_the_line_back() -> None:
    penguins = pd.read_csv(HERE / "data" / "penguins.csv")
    session = Session(max_input_tokens=4_320, namespace={"penguins": penguins})
    for prompt in (
        "Remember that weights are in grams",
        "The field hut on Dream island was painted green in spring, its door has been repaired since, and Ines keeps the spare key.",
        "What is the average body mass by species and sex?", "What is the average flipper length on each island?", KEY,
    ):  # fmt: skip
        session.run(prompt)
    session.bring_back(1, [5])
    session.run(KEY)
    story = story_of(session)
    assert repr(story) == "<StoryView of main: turns=6>"
    words = [[word for word, _ in step.marks] for step in story.steps]
    assert words == [["remembers"], [], [], ["compacts"], [], ["brings back"]]
    assert story.trigger is not None and story.steps[3].tokens > story.trigger, "the request that was too full"
    assert all(step.tokens <= story.trigger for step in story.steps if step.turn != 4)
    assert len(story.compactions) == 1
    assert "Ines" not in story.steps[4].answer and "Ines keeps the spare key" in story.steps[5].answer
    (_, what) = story.steps[5].marks[0]
    assert re.fullmatch(r"message 5 of section 1 \(\d+ tokens\), out of the offloaded history", what)
    for text in (story.text(), html_text(story.html())):
        for sight in (
            "weights are in grams",
            "messages → summary, saved verbatim in /conversation_history/main.md",
            "Ines keeps the spare key",
        ):
            assert sight in " ".join(text.split()), sight
    assert picture(story) is story, "short enough for the value of a cell"
    assert max(map(len, story.text().split("\n"))) <= 100


def test_a_long_story_shows_its_last_turns_and_an_empty_one_none() -> None:
    session = Session()
    assert story_of(session).steps == () and "0 turns" in story_of(session).text()
    for _ in range(10):
        session.run("hello")
    assert [step.turn for step in story_of(session).steps] == list(range(3, 11))
    steps = [StoryStep(n, "word " * 90, "word " * 90, 10, (("remembers", "word " * 90),)) for n in range(1, 9)]
    assert "turn 1 " not in picture(StoryView("main", tuple(steps))).text()


def test_it_is_asked_for_again_and_again(shell: Shell) -> None:
    shell.ok("import deepnb")
    for n in range(3):
        shell.ok("%agent hello")
        assert len(shell.run("deepnb.course.story()").value.steps) == n + 1
