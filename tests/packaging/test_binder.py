"""`binder/` alone makes an environment in which all notebooks run, as repo2docker takes it; no host but a registry is asked."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

from deepnb import __version__
from tests import ROOT
from tests.support.environments import VERSIONS, environment, interpreter
from tests.support.memory import memory_of
from tests.support.notebooks import ALL, execute, read, texts

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


def test_binder_asks_for_a_python_that_the_project_names() -> None:
    """Without it repo2docker takes one that is too old for deepnb."""
    assert RUNTIME.startswith("python-") and VERSION in VERSIONS
    assert os.access(ROOT / "binder" / "postBuild", os.X_OK)


def test_what_the_build_imports_is_there() -> None:
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
        [*_no_network(), "./binder/postBuild"],
        cwd=place / "clone",
        env={**os.environ, **env, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "TIKTOKEN_CACHE_DIR": str(place / "encodings")},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return Image(place / "clone", programs, env, ran.stdout)


def _no_network() -> list[str]:
    """A command before another that has no network, not even loopback."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("this machine makes no process without a network")
    return ["unshare", "-n"]


@pytest.mark.nightly
def test_the_build_goes_on_without_the_host_of_the_encoding(image: Image) -> None:
    assert re.fullmatch(NOT_FETCHED, image.built)
    assert list((image.clone.parent / "fonts").glob("fontlist-*.json")), "the list of fonts was made"
    code = "import deepnb, deepagents; print(deepnb.__version__, deepnb.__file__, deepagents.__cached__)"
    shown = subprocess.check_output([image.programs / "python", "-I", "-c", code], text=True).split()
    assert shown[0] == __version__ and not Path(shown[1]).is_relative_to(ROOT)
    assert Path(shown[2]).is_file(), "the engine was compiled"


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
