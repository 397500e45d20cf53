"""Each notebook runs, shows what it shows in its file, and tells the story the tour tells."""

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from deepnb.magics.options import AgentRun, parse_agent
from tests.support.notebooks import ALL, HERE, execute, masked, read, runs, texts
from tests.support.tables import every_row, wing

SOME_CACHE = os.environ.get("TIKTOKEN_CACHE_DIR", "")


def sources(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def prompts(notebook: Any) -> list[str]:
    found = []
    for source in sources(notebook):
        if source.startswith("%%agent"):
            line, _, body = source.removeprefix("%%agent").partition("\n")
            calls = [parse_agent(line, body)]
        else:
            calls = [parse_agent(m[1]) for m in re.finditer(r"^(?:\w+ = )?%agent\b(.*)$", source, re.MULTILINE)]
        found += [run.prompt for run in calls if isinstance(run, AgentRun)]
    return found


@pytest.mark.slow
@pytest.mark.kernel
@wing("compare")
@wing("course")
@wing("open")
@wing("package")
@wing("server")
@pytest.mark.parametrize("path", [pytest.param(p, id=p.name) for p in ALL])
def test_a_notebook_shows_what_its_file_shows(path: Path, tmp_path: Path) -> None:
    """Without an encoding in the cache, and none is fetched."""
    assert list(texts(execute(path, {"TIKTOKEN_CACHE_DIR": str(tmp_path)}))) == list(texts(read(path)))
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
@pytest.mark.kernel
def test_every_notebook_shows_the_same_with_an_encoding() -> None:
    ran = {path.name: execute(path, {"TIKTOKEN_CACHE_DIR": SOME_CACHE}) for path in ALL}
    assert not [path.name for path in ALL if list(texts(ran[path.name])) != list(texts(read(path)))]


@pytest.mark.nightly
@pytest.mark.kernel
@pytest.mark.parametrize("path", [pytest.param(p, id=p.name) for p in ALL])
def test_a_notebook_run_again_is_the_same_notebook(path: Path) -> None:
    """Twice in one kernel, then once more in a fresh one; only times and counts of executions differ."""
    first, second, third = (
        [(c.source, *t) for c, t in zip(nb.cells, texts(nb), strict=True)] for nb in runs(path, (2, 1))
    )
    assert second == first and third == first


@every_row("path", ALL, ids=lambda path: path.name)
def test_a_notebook_is_valid_small_and_of_no_machine(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert path.stat().st_size < 500_000
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    text = path.read_text()
    for place in (str(Path.home()), str(HERE.parent), "/tmp/", "/home/", "/Users/", "site-packages", os.sep + "venv"):
        assert place not in text, place
    assert "widgets" not in notebook.metadata and all("execution" not in cell.metadata for cell in notebook.cells)
    failed = [(cell, o) for cell in notebook.cells for o in cell.get("outputs", ()) if o.output_type == "error"]
    for cell, output in failed:  # a cell ends so at a card, and Run All stops there
        assert (output.ename, cell.metadata.get("tags")) == ("ApprovalNeeded", ["raises-exception"])


def test_every_file_a_notebook_reads_is_there() -> None:
    for path in ALL:
        for name in re.findall(r"""["'](data/[^"']+)["']""", "\n".join(sources(read(path)))):
            assert (path.parent / name).is_file(), name


def test_masking_keeps_all_but_times_and_of_a_picture_its_kind() -> None:
    assert masked("turn 1 · 2 calls · 253 out · 0.28 s") == "turn 1 · 2 calls · 253 out · <took>"
    assert masked("turn 1 · 2 calls · 254 out · 0.28 s") != masked("turn 1 · 2 calls · 253 out · 0.28 s")
    assert masked("2026-11-22 01:16:01  (19 messages") == "<time> (19 messages"
    assert masked("## 09:00 <!-- flush 2495cbcf8d0f -->") == "## 09:00 <!-- flush <mark> -->"
    assert masked("7     3     390  4569   0.004") == masked("7     3     390  4569  10.004")
    assert masked("0.85 of 6,000 =  5,100 tokens") == "0.85 of 6,000 =  5,100 tokens"

    def shown(**data: str) -> list[tuple[str, str]]:
        output = nbformat.v4.new_output(
            "display_data", data={key.replace("_", "/"): text for key, text in data.items()}
        )
        return list(texts(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(id="a", outputs=[output])])))

    assert shown(image_png="AAAA", text_plain="<Figure>") == shown(image_png="BBBB", text_plain="<Figure>")
    assert shown(image_png="AAAA", text_plain="<Figure>") != shown(text_plain="<Figure>")
    assert shown(image_png="AAAA", text_plain="<Figure>") != shown(image_png="AAAA", text_plain="<Figure of 2>")
