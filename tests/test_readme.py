"""README does what it says: its commands, its ten tasks typed into real kernels, its tables."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import ROOT
from tests.bench.others import ROWS, TOOLS
from tests.support.kernels import Pool, Ran
from tests.support.notebooks import HERE

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^<!-- (\w+) -->\n```\w*\n(.*?)```$", README, re.DOTALL | re.MULTILINE))
"""The mark above a block of code -> the block."""
EXPECTED = {
    "ask about your data": r"planets is a DataFrame of 8 rows and 10 columns",
    "have it remember, and see what changed": r"\+- The user prefers metric units",
    "see what fills the context": r"compacts at 85 %[\s\S]*inspect_variable",
    "compact, and read what left the prompt": r"1 section · 2 messages[\s\S]*What can you do\?",
    "go back to before a turn, memory too": r"nothing remembered yet",
    "give it a function of yours": r"sales +ask +Units sold in a region\.",
    "let it write to your disk, once you approve": r"I wrote 1 line to /work/report\.md",
    "teach it a skill": r"explore-dataframe +\d+ tokens",
    "compare two policies side by side": r"memory_refresh=thread  done[\s\S]*memory is empty[\s\S]*memory_refresh=delta  done[\s\S]*metric units",
    "export a thread, and open it, as you would a session of Claude Code, Codex or OpenCode": r"opened · deepnb · 1 turn",
}
"""Task -> what its last cell shows."""


def table(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, its head left out."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def tasks() -> dict[str, list[str]]:
    """Task -> its cells."""
    return {name: re.findall(r"`([^`]+)`", cells) for name, cells in table("Ten tasks")}


def test_it_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) < 150
    assert README.count("![A silent film") == 1 == len(re.findall(r"^!\[", README, re.MULTILINE))


def test_the_comparison_has_all_that_was_measured() -> None:
    measured = table("Others, and what each does better")
    assert [name for name, *_ in measured] == list(ROWS)
    assert all(len(cells) == 1 + len(TOOLS) and "not measured" not in cells for cells in measured)


def test_every_block_of_code_is_run_by_a_test() -> None:
    """`start` and `load` here, `tests` by .ci/run and .ci/install."""
    assert set(BLOCKS) == {"start", "load", "tests"}
    assert len(re.findall(r"^```\w", README, re.MULTILINE)) == len(BLOCKS)
    found = subprocess.run(
        ["bash", "-c", re.search(r"^command=\$\((awk .*)\)$", (ROOT / ".ci/install").read_text(), re.MULTILINE)[1]],  # type: ignore[index]
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == BLOCKS["tests"] and "pytest" in found.stdout


def test_there_are_ten_tasks_of_at_most_four_cells() -> None:
    assert list(tasks()) == list(EXPECTED) and len(EXPECTED) == 10
    assert all(1 <= len(cells) <= 4 for cells in tasks().values())


@pytest.mark.slow
@pytest.mark.kernel
def test_every_task_in_a_real_kernel(kernels: Pool, tmp_path: Path) -> None:
    copied = shutil.copytree(HERE, tmp_path / "notebooks")
    failed = []
    for name, cells in tasks().items():
        fresh = kernels.clean()
        fresh.ok(f"%cd -q {copied}")
        assert fresh.ok(BLOCKS["load"]).text == ""
        ran = [fresh.ok(cell) for cell in cells]
        if not re.search(EXPECTED[name], shown(ran[-1])):
            failed.append((name, shown(ran[-1])))
    assert not failed


def shown(ran: Ran) -> str:
    """All text of a cell, that of its value too."""
    values = [content["data"].get("text/plain", "") for content in ran.of("execute_result")]
    return "\n".join([ran.text, *values])


@pytest.mark.slow
def test_the_two_commands_to_start(tmp_path: Path) -> None:
    """As typed, in a copy; pip looks up no dependency and links no source, and JupyterLab only says what it would open."""
    clone = tmp_path / "clone"
    left_out = shutil.ignore_patterns("tests", ".git", ".venv", "*.png")
    shutil.copytree(ROOT, clone, ignore=left_out)
    tools = tmp_path / "tools"
    tools.mkdir()
    sites = "\n".join(path for path in sys.path if "site-packages" in path)
    script = f"""#!/bin/sh
test "$1 $2 $3" = "-m venv --upgrade-deps" || exit 3
{sys.executable} -m venv --system-site-packages --without-pip "$4" || exit 4
cat > "$4/bin/pip" <<'END'
#!/bin/sh
test "$1 $2" = "install -e" || exit 6
shift 2
exec "$(dirname "$0")/python" -m pip install "$@" --dry-run --no-deps --no-build-isolation --no-index
END
chmod +x "$4/bin/pip" && cd "$4"/lib/python*/site-packages && mkdir jupyterlab && touch jupyterlab/__init__.py || exit 5
said='print("jupyterlab", *argv)'
echo "class LabApp: initialize_server = lambda argv, **_: ($said, LabApp)[1]; start = print" > jupyterlab/labapp.py
echo "{sites}" > tests.pth
"""
    (tools / "python3").write_text(script)
    (tools / "python3").chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": ""}
    command = ["bash", "-c", f"set -euo pipefail\n{BLOCKS['start']}"]
    ran = subprocess.run(command, cwd=clone, env=env, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "Would install deepnb-" in ran.stdout
    opened = re.search(r"jupyterlab (\S+\.ipynb) --ip=127\.0\.0\.1", ran.stdout)
    assert opened and Path(opened[1]).parent == clone / "notebooks"


def test_all_extras_are_in_one_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [name for row in table("Extras") for name in re.findall(r"`([\w-]+)`", row[0])]
    assert sorted(named) == sorted(project["optional-dependencies"])
    installed = {name for names in re.findall(r'"\.\[([a-z,]+)\]"', README) for name in names.split(",")}
    assert installed == {"lab", "test"}
