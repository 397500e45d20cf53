"""A session made elsewhere in JupyterLab, in a real Chromium: its pictures light, dark and narrow, and a fork of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.session_files import Claude, calls, says

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

LOAD = "%load_ext deepnb"
NARROW = 760


def night(folder: Path) -> Path:
    """A session of 40 turns with three compactions, a subagent, edits of memory, and texts that try to run."""
    log = Claude("1f0c2a3b-aaaa-bbbb-cccc-1234567890ab", cwd="/home/ada/<b>project</b>")
    given = 2_000
    for n in range(1, 41):
        log.user(f"u{n}", f"Step {n} of the plan <img src=x onerror=\"document.title='ran'\">")
        for k in range(3):
            given += 3_000
            id_, path = f"t{n}.{k}", "/w/CLAUDE.md" if n % 10 == 5 and not k else f"/w/{n}.py"
            call = calls(id_, "Write", file_path=path, content=f"- rule {n}\n- tabs, not spaces\n")
            usage = {"input_tokens": given // 4, "cache_read_input_tokens": given * 3 // 4}
            log.reply(f"a{n}.{k}", f"m{n}.{k}", says("I write it."), call, given=usage)
            log.result(f"r{n}.{k}", id_, "File written\n" * 30)
        log.reply(f"b{n}", f"n{n}", says(f"Done with step **{n}**."), given={"input_tokens": given})
        if n % 12 == 0:
            log.boundary(f"c{n}", log.last, preTokens=given)
            log.summary(f"s{n}", f"Steps 1 to {n} are done.")
            given = 9_000
    log.put("x", "mystery")
    return log.write(folder / "night.jsonl")


def test_an_opened_session(tmp_path: Path) -> None:
    night(tmp_path)
    written(tmp_path / "open.ipynb", [IMPORT_TESTS + LOAD, "%agent open .", "%agent open night.jsonl"])
    with jupyter_lab(tmp_path, tmp_path / "home") as address, open_chromium() as context:
        lab = Notebook(context, address, "open.ipynb")
        lab.run_all()
        listed = lab.cell("%agent open .")
        assert "%agent open night.jsonl" in listed.inner_text() and "Claude Code" in listed.inner_text()
        shown = lab.cell("%agent open night.jsonl")
        text = shown.inner_text()
        assert "40 turns" in text and "3 compactions" in text and "1 × line mystery" in text
        assert shown.locator("[title=compacted]").count() == 3
        assert "Step 40 of the plan" in text and "%agent fork NAME --at N" in text
        pictures(lab, shown, tmp_path, "open")
        pictures(lab, lab.run("%agent turns 5"), tmp_path, "turn")
        pictures(lab, lab.run("%agent budget"), tmp_path, "budget")
        pictures(lab, lab.run("%agent turns"), tmp_path, "turns")
        panel = lab.run("%memory panel")
        panel.get_by_role("button", name="Earlier change").wait_for()
        panel.get_by_role("button", name="Earlier change").click()
        panel.get_by_text("memory in turn 35").first.wait_for()
        pictures(lab, panel, tmp_path, "memory")
        refused = lab.run("%%agent\nhello")
        assert "was opened to be read: %agent fork NAME --at N" in refused.inner_text()
        forked = lab.run("%agent fork mine --at 40")
        assert "thread mine, forked from claude-code-1f0c2a3b@40" in forked.inner_text()
        answer = lab.run("%%agent\nWrite a file /plan.md with: buy milk")
        assert "turn 41 · mine" in answer.inner_text()
        pictures(lab, lab.run("%agent threads"), tmp_path, "threads")
        assert lab.page.title() != "ran" and lab.errors == []
    assert sorted(p.name for p in tmp_path.glob("night*")) == ["night.jsonl"]
    print(f"screenshots in {tmp_path}")


def pictures(lab: Notebook, cell: Any, folder: Path, name: str) -> None:
    """A cell in both themes, and on a narrow page, where nothing of it may be cut off at the side of the page."""
    size = lab.page.viewport_size
    for theme, file in ((DARK, "dark"), (LIGHT, "light")):
        lab.theme(theme)
        cell.scroll_into_view_if_needed()
        cell.screenshot(path=folder / f"{name}-{file}.png")
    lab.page.set_viewport_size({"width": NARROW, "height": size["height"]})
    cell.scroll_into_view_if_needed()
    cell.screenshot(path=folder / f"{name}-narrow.png")
    lab.page.set_viewport_size(size)
