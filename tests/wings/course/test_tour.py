"""The ways in: the tour and the lab, from the wheel as a user installs it."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from deepnb.__main__ import main
from deepnb.wings.course.lab import FIRST, START, lab_options, notebooks, open_copy
from deepnb.wings.course.tour import END
from tests import ROOT
from tests.support.browsers import until_up
from tests.support.chat_server import free_port
from tests.support.environments import built
from tests.support.notebooks import read
from tests.support.tables import every_row


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    place = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built(place, "wheel")) as archive:
        archive.extractall(place / "site")
    return place / "site"


def installed(unpacked: Path, cwd: Path, *arguments: str, code: Sequence[str] = ("-m", "deepnb")) -> subprocess.CompletedProcess[str]:  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(unpacked)}
    command = [sys.executable, *code, *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_the_wheel_holds_notebooks_and_data_and_no_more(unpacked: Path) -> None:
    names = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    assert {f"deepnb/notebooks/{START}", f"deepnb/notebooks/{FIRST}", "deepnb/notebooks/data/planets.csv"} <= names
    assert "deepnb/notebooks/REFERENCE.md" in names, "what %agent help finds"
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"deepnb"}
    unwanted = {".ipynb_checkpoints", "__pycache__", "tests"}
    assert not [n for n in names if unwanted & set(n.split("/"))]
    sources = {str(p.relative_to(ROOT)) for p in (ROOT / "deepnb").rglob("*.py")}
    assert sources <= names


@pytest.mark.slow
def test_the_tour_plays_the_first_notebook_from_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    where = installed(unpacked, tmp_path, code=("-c", "import deepnb; print(deepnb.__file__)"))
    assert where.stdout.startswith(str(unpacked)), "another copy was imported"
    ran = installed(unpacked, tmp_path, "tour", "--fast")
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr
    told, cells = ran.stdout, [str(cell.source) for cell in read(notebooks() / FIRST).cells]
    end, at = next(n for n, source in enumerate(cells) if source.startswith(END)), 0
    for source in cells[:end]:
        at = told.index(f"\n{source}\n", at)
    assert END not in told
    for sight in (
        "turn 1 · main · offline (no LLM)", "turn 1 · thread-2",
        "+- The user prefers metric units with one decimal place",
        "compacts at 85 % of the window (5,270 of 6,200 tokens)", "⇣ context compacted (at the trigger): ",
        "offloaded history · 1 section", '"The user prefers metric units with one decimal place" (/AGENTS.md)',
        "Jupiter has the highest gravity_m_s2",
    ):  # fmt: skip
        assert sight in told, sight
    assert list(tmp_path.iterdir()) == []


@every_row(("browser", "root"), [(True, False), (False, False), (False, True)])
def test_the_labs_command_line(browser: bool, root: bool) -> None:
    options = lab_options(Path("x") / START, port=9123, browser=browser, root=root)
    assert {"--ip=127.0.0.1", "--port=9123"} <= set(options)
    assert ("--no-browser" in options, "--allow-root" in options) == (not browser, root)
    assert not [word for word in options if "token" in word or "password" in word], "Jupyter's own token stays"


def test_the_first_notebook_is_opened_as_a_copy_that_is_never_overwritten(tmp_path: Path) -> None:
    copy = open_copy(tmp_path)
    assert copy == tmp_path / "deepnb-notebooks" / START
    assert copy.read_bytes() == (notebooks() / START).read_bytes()
    assert (copy.parent / "data" / "planets.csv").is_file()
    copy.write_text("mine")
    assert open_copy(tmp_path).read_text() == "mine"
    assert open_copy(ROOT) == ROOT / "notebooks" / START, "in a clone its own"


def test_lab_without_jupyterlab_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    assert main(["lab"]) == 1
    assert capsys.readouterr() == ("", 'deepnb: JupyterLab is not installed: pip install "deepnb[lab]"\n')


@pytest.mark.slow
def test_lab_opens_the_notebook_asks_about_nothing_and_ends_with_its_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deepnb", "lab", "--no-browser", f"--port={free_port()}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    lab = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        words = (word.decode() for line in lab.stdout or () for word in line.split())
        address = next(word for word in words if word.startswith("http://127.0.0.1:"))
        assert f"/lab/tree/{START}?token=" in address, "the printed address leads to the notebook, too"
        page = until_up(address, lab)
    finally:
        lab.terminate()
        said, _ = lab.communicate(timeout=60)
    assert b":announcements" in page.partition(b'"disabledExtensions": [')[2].partition(b"]")[0], "no news, no updates"
    assert lab.returncode == 0, said
    with pytest.raises(AssertionError, match="does not start"):
        until_up(address, lab)


def test_the_command_is_interrupted_in_one_word_and_says_how_it_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deepnb.wings.course.tour.run_tour", interrupted)
    assert main(["tour"]) == 130 and capsys.readouterr().err == "\ninterrupted\n"
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2 and "lab | tour" in capsys.readouterr().err
