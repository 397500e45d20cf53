"""The dashboard and every panel in JupyterLab and Notebook 7: touched, followed, and looked at by axe-core.

What both front ends show alike is asked of JupyterLab alone.
"""

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, Workspace, marks, reads
from tests.support.dashboards import DASHBOARD, FRONTS, NOTEBOOK_BY_NIGHT, TABS, Page, edge, forced_colours, violations

pytestmark = [*marks("jupyterlab", "axe_playwright_python"), pytest.mark.slow]

WINDOW = int((Session(TeachingModel(), namespace={}).run("what can you do?").budget.total + 400) / 0.85)
"""Tokens of a window whose trigger at 85 % a thread compacts within a few short prompts, however many tools there are."""
CELLS = (
    "%load_ext deepnb", f"%config DeepNB.window = {WINDOW}", "%agent Remember that I prefer tabs",
    "%skills add explore-dataframe", DASHBOARD, "%agent graph", "%agent what can you do?", "%agent fork idea",
    "%agent note that the pump is called Berta", "%agent thanks", "%agent what can you do?", "%agent compact",
    "%agent threads", "calls = %agent budget", "%agent budget --items", "%agent panel budget", "%memory",
    "%memory panel", "%memory diff 0", "%memory search pump", "%skills", "%skills panel", "%agent history",
    "%agent xray", "%agent panel", "%agent", "%agent turns", "%agent tools", "%memory edit",
)  # fmt: skip


# How an element's edges are drawn: an outline that is none has a colour and a width, too, and draws nothing.
EDGES = """
n => {
  const s = getComputedStyle(n)
  return [s.outlineStyle === 'none' ? 'none' : s.outline, s.borderColor]
}
"""
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"


LAB_ALONE = pytest.mark.parametrize("seen", FRONTS[:1], indirect=True)


@pytest.fixture(scope="module", params=NOTEBOOK_BY_NIGHT)
def seen(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Page]:
    front = str(request.param)
    notebook = workspace.run(f"{front[:3]}.ipynb", CELLS, front, size=(1400, 1200))
    yield Page(notebook, workspace.place)
    notebook.close()


def test_every_tab_shows_its_panel(seen: Page) -> None:
    sights = {
        "Memory": "The user prefers tabs",
        "Budget": f"compacts at 85 % of the window ({ceil(WINDOW * 0.85):,} of {WINDOW:,} tokens)",
        "History": "saved verbatim in", "Skills": "explore-dataframe", "Prompt": "request of turn",
        "Threads": "forked from main@",
    }  # fmt: skip
    for tab in TABS:
        area = seen.turn_to(tab)
        reads(area, sights[tab])
        area.screenshot(path=seen.shots / f"{seen.notebook.front[:3]}-{tab}.png")
    assert "Traceback" not in seen.notebook.text and "Error displaying widget" not in seen.notebook.text
    if seen.notebook.front.startswith("lab"):  # Notebook 7 has an error of its own, with an empty notebook, too
        assert seen.notebook.errors == []


def test_on_a_narrow_page_names_of_tabs_are_whole_and_nothing_is_cut(seen: Page) -> None:
    whole = (
        "tabs => tabs.map(tab => [tab.innerText, tab.scrollWidth <= tab.clientWidth, tab.getBoundingClientRect().y])"
    )
    seen.page.set_viewport_size({"width": 600, "height": 900})
    try:
        seen.page.evaluate(DRAWN)
        seen.dashboard.scroll_into_view_if_needed()
        found = seen.dashboard.locator(".widget-tab").first.locator("> .widget-tab-bar .lm-TabBar-tab")
        names = found.locator(".lm-TabBar-tabLabel").evaluate_all(whole)
        assert {name for name, _, _ in names} >= set(TABS) and all(fits for _, fits, _ in names), names
        if seen.notebook.front.startswith("lab"):  # where a side bar leaves the notebook half of the page
            assert len({y for _, _, y in names}) > 1, "they go on in the next line"
            seen.notebook.command("View > Appearance > Show Left Sidebar")  # else it leaves nothing at that width
        seen.page.set_viewport_size({"width": 560, "height": 1000})
        wide = {}
        for tab in TABS:
            area = seen.turn_to(tab)
            area.screenshot(path=seen.shots / f"{seen.notebook.front[:3]}-{tab}-narrow.png")
            wide[tab] = area.evaluate("at => at.scrollWidth - at.clientWidth")
        assert {tab: pixels for tab, pixels in wide.items() if pixels > 1} == {}, "wider than the page"
    finally:
        seen.page.set_viewport_size({"width": 1400, "height": 1200})
        if seen.notebook.front.startswith("lab"):
            seen.notebook.command("View > Appearance > Show Left Sidebar")


def test_axe_finds_nothing_serious_in_any_panel_light_or_dark(seen: Page) -> None:
    assert seen.violations_of_all() == []
    seen.notebook.theme(DARK)
    try:
        assert seen.page.evaluate("document.body.dataset.jpThemeLight") == "false"
        assert seen.violations_of_all() == []
    finally:
        seen.notebook.theme(LIGHT)


@LAB_ALONE
def test_in_forced_colours_buttons_and_fields_are_seen(seen: Page) -> None:
    forced_colours(seen.page, True)
    try:
        panel = seen.notebook.cell("%memory panel")
        buttons = panel.locator(".jp-OutputArea-output button.jupyter-button").all()
        assert len(buttons) >= 2
        assert all(edge(button, "Top") for button in buttons)
        assert edge(panel.get_by_role("combobox", name="turn").first, "Top")
    finally:
        forced_colours(seen.page, False)


@LAB_ALONE
def test_what_has_the_keyboard_is_seen(seen: Page) -> None:
    """Each kind of thing in a panel that takes a key is drawn with another edge while it has the focus."""
    kinds = {
        "summary": "Memory", ".lm-TabBar-tab": "Memory", "textarea": "Memory", "button[title^='turn ']": "Budget",
        "button.jupyter-button:enabled": "Threads",
    }  # fmt: skip
    same = []
    for colours in ("light", "forced", "dark"):
        seen.notebook.theme(DARK if colours == "dark" else LIGHT)
        forced_colours(seen.page, colours == "forced")
        for kind, tab in kinds.items():
            seen.turn_to(tab)
            one = seen.dashboard.locator(".jp-OutputArea-output").locator(kind).locator("visible=true").first
            seen.page.evaluate("() => document.activeElement.blur()")
            before = one.evaluate(EDGES)
            seen.page.keyboard.press("Shift")  # what is focused after a key is focused as by the keyboard
            one.focus()
            assert one.evaluate("n => n === document.activeElement")
            same += [(colours, kind)] * (one.evaluate(EDGES) == before)
    seen.notebook.theme(LIGHT)
    assert same == []


@LAB_ALONE
def test_the_turn_that_the_page_has_chosen_is_taken_and_a_bar_leads_to_its_request_by_keyboard(seen: Page) -> None:
    seen.notebook.run("%agent fork apart")  # a fork, so that the thread of the other tests stays as it is
    area = seen.turn_to("Budget")
    area.locator("button[title^='turn 2, call 1: ']").focus()
    seen.page.keyboard.press("Enter")
    reads(area, "request of turn 2, call 1")
    seen.page.wait_for_function("document.activeElement.tagName === 'SELECT'")
    turns = area.get_by_role("combobox", name="turn")
    turns.select_option(index=0)
    reads(area, "request of turn 1, call")
    threads = seen.turn_to("Threads").locator(".lm-Widget.widget-tab-contents").first
    reads(threads, str(turns.locator("option").first.inner_text()).partition(" · ")[2][:20])
    threads.get_by_role("button", name="Rewind to here").focus()
    seen.page.keyboard.press("Enter")
    reads(threads, "↶")
    assert seen.page.evaluate("document.activeElement.innerText") == "Rewind to here"
    seen.notebook.run("%agent switch idea")


PREPARE = f"""{IMPORT_TESTS}import deepnb
from langchain_core.messages import AIMessage
from tests.support.scripted import Scripted
def calls(names):
    return AIMessage("", tool_calls=[
        {{"name": "write_file", "args": {{"file_path": f"/w/{{n}}.txt", "content": n}}, "id": n}} for n in names])
model = Scripted(answers=[calls("ab"), "both are decided", calls("c"), "c is decided", calls("d"), "d is decided", "it is explained"])
%load_ext deepnb
%skills add explore-dataframe
%memory add I like tea
%memory add I like cake
%agent tools ask write_file
%agent use model"""
PANELS = {
    "%agent panel memory": (("Revert", "done: revert 3"),), "%agent panel skills": (("Disable", "Enable"),),
    "%memory edit /new.md": (("Cancel", "is unchanged"),), "%memory edit /other.md": (("Save", "saved /other.md"),),
}  # fmt: skip
CARDS = {
    "%agent write two": (
        ("Reject", "done: reject call 1, write_file"), ("Edit", "Discard"), ("Discard", "Edit"),
        ("Approve", "both are decided"),
    ),
    "%agent write one": (("Edit", "Discard"), ("Approve with edits", "c is decided")),
    "%agent write the last": (("", "d is decided"),), "1 / 0": (("Explain", "it is explained"),),
}  # fmt: skip
FOCUSED = """() => {
  const one = document.activeElement
  return one === document.body ? 'body' : one.closest('.jp-Cell') === one ? 'cell' : one.innerText.trim()
}"""


def press(notebook: Notebook, cell: Any, name: str, shows: str) -> None:
    if name == "Save":
        cell.locator("textarea").fill("- a line")
    if name:
        cell.get_by_role("button", name=name).locator("visible=true").first.focus()
        notebook.page.keyboard.press("Space")
    else:
        cell.get_by_role("textbox", name="reason").focus()
        notebook.page.keyboard.type("no")
        notebook.page.keyboard.press("Enter")
    cell.get_by_text(shows).locator("visible=true").first.wait_for(timeout=15_000)
    buttons = {"Edit": "Discard edits", "Discard": "Edit ...", "Disable": "Enable"}
    wanted = shows if shows.startswith("done") else buttons.get(name, "cell")
    notebook.page.wait_for_function(f"wanted => ({FOCUSED})() === wanted", arg=wanted, timeout=15_000)


@pytest.mark.parametrize("front", NOTEBOOK_BY_NIGHT)
def test_after_each_action_something_near_has_the_focus(workspace: Workspace, front: str) -> None:
    notebook = workspace.run(f"{front[:3]}-focus.ipynb", [PREPARE, *PANELS], front)
    for source, actions in {**PANELS, **CARDS}.items():
        cell = notebook.cell(source) if source in PANELS else notebook.run(source)
        for name, shows in actions:
            press(notebook, cell, name, shows)
    notebook.close()


CARD, CHOOSER = "%agent plot weight by depot in crates", "%agent use"
MATRIX = (
    f"%load_ext deepnb\n%config DeepNB.window = {WINDOW}\nimport pandas as pd",
    "crates = pd.DataFrame({'depot': ['Bergen', 'Turku', 'Bergen'], 'weight': [4, 10, 9]})",
    "%skills add explore-dataframe", "%agent --quiet Remember that I prefer tabs", "%agent --quiet what can you do?",
    "%agent fork idea", "%agent --quiet note that the pump is called Berta",
    "%agent --quiet mean weight per depot in crates", "%agent compact", DASHBOARD, CHOOSER, CARD,
)  # fmt: skip
# What is wider than its box, and text of which a part is hidden without a sign that it goes on; a bar's letters are no text.
CUT = """
area => [...(area.scrollWidth > area.clientWidth + 1 ? ['the area scrolls sideways'] : []),
  ...(document.documentElement.scrollWidth > innerWidth + 1 ? ['the page scrolls sideways'] : []),
  ...[...area.querySelectorAll('*')].filter(one => {
    const look = getComputedStyle(one), own = [...one.childNodes].some(n => n.nodeType === 3 && n.data.trim())
    return own && one.offsetParent && !/^\\s*(.)\\1*\\s*$/.test(one.textContent) && look.overflowX === 'hidden' && look.textOverflow !== 'ellipsis' &&
      look.position !== 'absolute' && one.scrollWidth > one.clientWidth + 1
  }).map(one => `cut: ${one.className} ${one.textContent.slice(0, 60)}`)]
"""


def looked_at(area: Any, page: Any, name: str) -> list[str]:
    area.scroll_into_view_if_needed()
    if shots := os.environ.get("DEEPNB_SHOTS"):
        area.screenshot(path=Path(shots) / f"{name}.png")
    area.evaluate("area => area.closest('.jp-Cell').setAttribute('data-looked-at', '')")
    found = [*area.evaluate(CUT), *violations(page, "[data-looked-at]")]
    area.evaluate("area => area.closest('.jp-Cell').removeAttribute('data-looked-at')")
    return [f"{name}: {one}" for one in found]


@pytest.mark.nightly
@pytest.mark.parametrize("front", FRONTS)
def test_nothing_is_cut_nor_found_by_axe_and_a_tab_that_is_chosen_has_the_focus(
    workspace: Workspace, front: str
) -> None:
    notebook = workspace.run(f"{front[:3]}-matrix.ipynb", MATRIX, front, size=(1400, 1200))
    seen, found = Page(notebook, workspace.place), list[str]()
    for theme, width in ((LIGHT, 1400), (LIGHT, 800), (DARK, 800), (DARK, 1400)):
        notebook.theme(theme)
        notebook.page.set_viewport_size({"width": width, "height": 1200})
        seen.dashboard.locator(".jp-InputPrompt").first.click()  # the menu of themes leaves the focus nowhere
        where = f"{front[:3]}-{theme.split()[1]}-{width}"
        for tab in (*TABS, "Approvals"):
            area = seen.turn_to(tab)
            if notebook.page.evaluate("document.activeElement === document.body"):
                found.append(f"{where}-{tab}: nothing has the focus")
            found += looked_at(area, notebook.page, f"{where}-{tab}")
        for name, source in {"Card": CARD, "Chooser": CHOOSER}.items():
            found += looked_at(notebook.cell(source).locator(".jp-OutputArea").first, notebook.page, f"{where}-{name}")
    notebook.close()
    assert not found, "\n".join(found)
