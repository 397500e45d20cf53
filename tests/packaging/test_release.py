"""The wheel and the sdist, as users install them, on each Python that the project names and this machine has."""

from __future__ import annotations

import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.environments import VERSIONS, built, environment, interpreter
from tests.support.notebooks import ALL, FIRST, execute, read, texts

ALONE = {"PYTHONPATH": ""}
"""With no other copy of deepnb than the installed one."""
CODE = "import deepnb, sys; print('%d.%d' % sys.version_info[:2], deepnb.__version__, deepnb.__file__)"


@dataclass(frozen=True)
class Installed:
    """deepnb in an environment of its own: the interpreter, and the notebooks that came with it."""

    python: Path
    notebooks: Path


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {target: built(tmp_path_factory.mktemp(target), target) for target in ("wheel", "sdist")}


def installed(archive: Path, version: str, place: Path) -> Installed:
    """A new environment with the archive in it; skips where there is no such Python."""
    place.mkdir()
    if (found := interpreter(version)) is None:
        pytest.skip(f"there is no Python {version} on this machine")
    python = environment(place / "env", [f"deepnb[lab,sqlite] @ {archive.as_uri()}"], found) / "python"
    run = subprocess.run([python, "-I", "-c", CODE], cwd=place, capture_output=True, text=True, check=True)
    ran, made, file = run.stdout.split()
    assert ran == version and made in archive.name and Path(file).is_relative_to(place)
    return Installed(python, Path(file).parent / "notebooks")


@pytest.mark.nightly
@pytest.mark.kernel
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_and_the_sdist_run_from_another_directory(
    version: str, archives: dict[str, Path], tmp_path: Path
) -> None:
    """Of the wheel every notebook on the oldest and the newest Python shows what is in its file, each time it is run."""
    wheel = installed(archives["wheel"], version, tmp_path / "wheel")
    sdist = installed(archives["sdist"], version, tmp_path / "sdist")
    names = [path.name for path in ALL] if version in (VERSIONS[0], VERSIONS[-1]) else [FIRST]
    runs = [(wheel, name) for name in names] + [(sdist, FIRST)]
    failed = []
    for one, name in runs:
        path = one.notebooks / name
        if list(texts(execute(path, ALONE, one.python))) != list(texts(read(path))):
            failed.append((str(one.python), name))
    assert not failed


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(archives: dict[str, Path], tmp_path: Path) -> None:
    subprocess.run(["tar", "-xzf", archives["sdist"], "-C", tmp_path], check=True)
    (source,) = tmp_path.iterdir()
    again = built(tmp_path / "wheel", "wheel", source)
    contents = [{n: z.read(n) for n in z.namelist()} for z in map(zipfile.ZipFile, (archives["wheel"], again))]
    assert contents[0] == contents[1] and len(contents[0]) > 300
