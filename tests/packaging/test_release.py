"""The wheel and the sdist, as users install them, and `binder/` alone, as repo2docker takes it; no host but a registry is asked."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deepnb import __version__
from tests import ROOT
from tests.support.environments import VERSIONS, built, environment, interpreter
from tests.support.memory import memory_of
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
    python = environment(place / "env", [f"deepnb[lab] @ {archive.as_uri()}"], found) / "python"
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


def without_network() -> list[str]:
    """What runs a command without a network, not even loopback; skips where there is no such thing."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("this machine makes no process without a network")
    return ["unshare", "-n"]


@pytest.mark.nightly
def test_the_wheel_alone_gives_the_tour_without_a_network(archives: dict[str, Path], tmp_path: Path) -> None:
    python = environment(tmp_path / "env", [str(archives["wheel"])]) / "python"
    command = [*without_network(), str(python), "-I", "-m", "deepnb", "tour", "--fast"]
    ran = subprocess.run(command, cwd=tmp_path, env={"HOME": str(tmp_path)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert '"The user prefers metric units with one decimal place" (/AGENTS.md)' in ran.stdout


def test_readme_names_what_all_brings_under_a_licence_that_is_not_permissive() -> None:
    """Of all that is needed, and installed here, by what `all` needs."""
    waiting, licences = [Requirement("deepnb[all]")], dict[str, str]()
    for one in waiting:
        with suppress(PackageNotFoundError):  # one of another system or Python
            found = distribution(one.name)
            licences[one.name] = _licence(found)
            for needed in map(Requirement, found.requires or ()):
                environments = [{"extra": name} for name in ("", *one.extras)]
                applies = not needed.marker or any(map(needed.marker.evaluate, environments))
                if applies and needed not in waiting:
                    waiting.append(needed)
    assert len(licences) > 150
    reciprocal = r"GPL|\bMPL|EPL|CDDL"  # not IMPLIED
    known = rf"Apache|BSD|ISC|MIT|PSF|Python|{reciprocal}"
    assert [name for name, said in licences.items() if not re.search(known, said)] == []
    asking = sorted(name for name, said in licences.items() if re.search(reciprocal, said))
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Extras\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"`([a-z-]{4,})`", section.rpartition("|\n")[2])) == asking


def _licence(of: Distribution) -> str:
    """As its metadata names it, else the first words of its text."""
    classified = [one for one in of.metadata.get_all("Classifier") or () if one.startswith("License ::")]
    named = [of.metadata["License-Expression"], *classified]
    texts = [file.read_text(encoding="utf-8")[:200] for file in of.files or () if file.parent.name == "licenses"]
    return " ".join(filter(None, named)) or of.metadata["License"] or " ".join(texts)


RUNTIME = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8")
VERSION = RUNTIME.strip().removeprefix("python-")
NOT_FETCHED = r"tiktoken's encoding was not fetched \(HTTPSConnectionPool\(.+\): deepnb estimates tokens until it is\n"
MOST = 400
"""MiB that a kernel has at its peak."""


@dataclass(frozen=True)
class Image:
    """What a build makes: the clone, the programs, the variables, and what `postBuild` printed."""

    clone: Path
    programs: Path
    env: dict[str, str]
    built: str


def test_binder_asks_for_a_python_that_the_project_names_and_what_it_imports_is_there() -> None:
    """Without it repo2docker takes one that is too old for deepnb."""
    assert RUNTIME.startswith("python-") and VERSION in VERSIONS
    assert os.access(ROOT / "binder" / "postBuild", os.X_OK)
    imports = re.findall(r"^from (deepnb\S+) import (.+)$", (ROOT / "binder" / "postBuild").read_text("utf-8"), re.M)
    assert imports
    for module, names in imports:
        assert [name for name in names.split(", ") if not hasattr(import_module(module), name)] == []


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """A clone with the files as they are, and an environment made of `binder/` alone, at whose end no host is reached."""
    if (python := interpreter(VERSION)) is None:
        pytest.skip(f"there is no Python {VERSION} on this machine")
    if not (ROOT / ".git").exists():
        pytest.skip("Binder builds from a clone, and this is none")
    place = tmp_path_factory.mktemp("image")
    files = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT)
    (place / "clone").mkdir()
    copy = ["xargs", "-0", "cp", "--parents", "-t", str(place / "clone")]
    subprocess.run(copy, input=files, cwd=ROOT, check=True)
    programs = environment(place / "env", ["-r", "binder/requirements.txt"], python, place / "clone")
    env = {"HOME": str(place), "MPLCONFIGDIR": str(place / "fonts"), "PYTHONPATH": ""}
    ran = subprocess.run(
        [*without_network(), "./binder/postBuild"],
        cwd=place / "clone",
        env={**os.environ, **env, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "TIKTOKEN_CACHE_DIR": str(place / "encodings")},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return Image(place / "clone", programs, env, ran.stdout)


@pytest.mark.nightly
def test_the_build_goes_on_without_the_host_of_the_encoding(image: Image) -> None:
    assert re.fullmatch(NOT_FETCHED, image.built)
    assert list((image.clone.parent / "fonts").glob("fontlist-*.json")), "the list of fonts was made"
    code = "import deepnb, deepagents; print(deepnb.__version__, deepnb.__file__, deepagents.__cached__)"
    shown = subprocess.check_output([image.programs / "python", "-I", "-c", code], text=True).split()
    assert shown[0] == __version__ and not Path(shown[1]).is_relative_to(ROOT)
    assert Path(shown[2]).is_file(), "the engine was compiled"
    assert ":announcements" in (image.programs.parent / "etc/jupyter/labconfig/page_config.json").read_text()


@pytest.mark.nightly
@pytest.mark.kernel
def test_every_notebook_passes_in_the_image(image: Image) -> None:
    failed = []
    for name in (path.name for path in ALL):
        path, peaks = image.clone / "notebooks" / name, list[float]()

        def watch(pid: int, peaks: list[float] = peaks) -> None:
            peaks.append(memory_of(pid).peak)

        ran = execute(path, image.env, image.programs / "python", watch)
        print(f"{name}: peak {max(peaks):.0f} MiB")
        if list(texts(ran)) != list(texts(read(path))) or max(peaks) >= MOST:
            failed.append((name, max(peaks)))
    assert not failed
