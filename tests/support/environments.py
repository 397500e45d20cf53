"""Fresh environments: what deepnb is built into, and what it is installed into, on each Python of this machine."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = tuple(found[1] for line in PROJECT["classifiers"] if (found := re.search(r"Python :: (3\.\d+)$", line)))
_NO_REGISTRY = ("No matching distribution", "Failed to fetch", "error sending request")


@cache
def interpreter(version: str) -> Path | None:
    """A Python of this version on this machine that can make environments: this one, of the PATH, of pyenv or of uv."""
    return next((python for python in _candidates(version) if _is_whole(python, version)), None)


def environment(place: Path, needed: Sequence[str], python: Path | None = None, cwd: Path | None = None) -> Path:
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))  # it installs in seconds
    made = [str(python or sys.executable), "-m", "venv", *(["--without-pip"] if uv else []), str(place)]
    subprocess.run(made, check=True, capture_output=True)
    pip = [uv, "pip", "install", "--python", str(programs / "python")] if uv else [str(programs / "pip"), "install"]
    got = subprocess.run([*pip, "--quiet", *needed], cwd=cwd, capture_output=True, text=True, timeout=900)
    if any(words in got.stderr for words in _NO_REGISTRY):
        pytest.skip("there is no registry to install packages from")
    assert got.returncode == 0, got.stderr
    return programs


def built(place: Path, target: str, source: Path = ROOT) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(place)]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=120)
    (made,) = place.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def _candidates(version: str) -> Iterator[Path]:
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        yield Path(sys.executable)
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    yield from sorted((Path.home() / ".local/share/uv/python").glob(f"cpython-{version}.*/bin/python{version}"))


def _is_whole(python: Path, version: str) -> bool:
    code = "import bz2, ctypes, ensurepip, sqlite3, ssl, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        got = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
    except OSError:
        return False
    return got.stdout.strip() == version
