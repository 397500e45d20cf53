"""Editing notebooks from a kernel: the card as text, and the notebook that is open."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tests.support.kernels import Kernel
from tests.support.shells import Shell

EDIT = """
from tests.support.scripted import Scripted, call
from deepnb.workshop.notebooks import version_of
from pathlib import Path
def edit(name):
    file = Path(name).resolve()
    edits = [{"replace": 1, "source": "print('new')"}, {"insert": 2, "source": "## More", "kind": "markdown"}]
    args = {"path": name, "edits": edits, "version": version_of(file, file.read_bytes())}
    return Scripted(answers=[call("edit_notebook", **args), "done"])
"""


def notebooks(directory: Path) -> None:
    for name in ("open", "other"):
        cells = [v4.new_code_cell("print('old')", id=f"id-of-{name}")]
        nbformat.write(v4.new_notebook(cells=cells), directory / f"{name}.ipynb")


def sources(file: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(file, 4).cells]


def test_the_card_as_text_and_what_it_leaves(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    notebooks(tmp_path)
    shell.ok(EDIT + "model = edit('other.ipynb')")
    shell.ok("%agent use model")
    card = shell.ok("%agent go")
    assert "edit_notebook · needs your approval (this can't be undone)" in card
    assert "  other.ipynb · changed\n  cell 1 · code · changed\n" in card
    assert "  -print('old')\n  +print('new')\n  cell 2 · markdown · added\n" in card and "+## More" in card
    assert sources(tmp_path / "other.ipynb") == ["print('old')"]
    assert "done" in shell.ok("%agent approve")
    assert sources(tmp_path / "other.ipynb") == ["print('new')", "## More"]
    assert "ask" in next(line for line in shell.ok("%agent tools").splitlines() if "edit_notebook" in line)


@pytest.mark.slow
@pytest.mark.kernel
def test_in_a_kernel_the_notebook_that_is_open_is_refused_and_another_asks(kernel: Kernel, tmp_path: Path):
    notebooks(tmp_path)
    kernel.ok(f"%cd -q {tmp_path}\n{EDIT}")
    kernel.ok("model = edit('open.ipynb')\n%agent use model")
    kernel.wait(kernel.send("1", cell_id="id-of-open"))
    refused = kernel.ok("%agent go")
    assert "open.ipynb is open here" in refused.text and "needs your approval" not in refused.text
    kernel.ok("model = edit('other.ipynb')\n%agent use model\n%agent new")
    asked = kernel.ok("%agent go")
    (card,) = (d for d in asked.outputs.values() if "needs your approval · " in d.get("text/plain", ""))
    assert "+print('new')" in card["text/plain"] and "cell 2 · markdown · added" in card["text/html"]
    kernel.ok("%agent approve")
    assert sources(tmp_path / "other.ipynb") == ["print('new')", "## More"]
    assert sources(tmp_path / "open.ipynb") == ["print('old')"]
