"""The dashboard and every panel in JupyterLab and Notebook 7: touched, followed, and looked at by axe-core.

What both front ends show alike is asked of JupyterLab alone.
"""

import time
from collections.abc import Iterator
from math import ceil
from typing import Any

import pytest

from tests.support.browsers import DARK, LIGHT, Workspace, marks
from tests.support.dashboards import DASHBOARD, FRONTS, NOTEBOOK_BY_NIGHT, TABS, Page, edge, forced_colours
from tests.support.windows import tight_window

pytestmark = [*marks("jupyterlab", "axe_playwright_python"), pytest.mark.slow]

CELLS = (
    "%load_ext deepnb",
    f"%config DeepNB.window = {tight_window()}",
    "%agent Remember that I prefer tabs",
    "%skills add explore-dataframe",
    DASHBOARD,
    "%agent graph",
    "%agent what can you do?",
    "%agent fork idea",
    "%agent note that the pump is called Berta",
    "%agent thanks",
    "%agent what can you do?",
    "%agent compact",
    "%agent threads",
    "calls = %agent budget",
    "%agent budget --items",
    "%agent panel budget",
    "%memory",
    "%memory panel",
    "%memory diff 0",
    "%memory search pump",
    "%skills",
    "%skills panel",
    "%agent history",
    "%agent xray",
    "%agent panel",
    "%agent",
    "%agent turns",
    "%agent tools",
    "%memory edit",
)


# How an element's edges are drawn: an outline that is none has a colour and a width, too, and draws nothing.
EDGES = """
n => {
  const s = getComputedStyle(n)
  return [s.outlineStyle === 'none' ? 'none' : s.outline, s.borderColor]
}
"""
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"


def sees(area: Any, words: str) -> None:
    """Wait until the words can be read there: what is in another tab or folded is not."""
    until = time.monotonic() + 20
    while words not in area.inner_text():
        assert time.monotonic() < until, f"{words!r} is not in {area.inner_text()!r}"
        area.page.wait_for_timeout(100)


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
        "Budget": f"compacts at 85 % of the window ({ceil(tight_window() * 0.85):,} of {tight_window():,} tokens)",
        "History": "saved verbatim in",
        "Skills": "explore-dataframe",
        "Prompt": "request of turn",
        "Threads": "forked from main@",
    }
    for tab in TABS:
        area = seen.turn_to(tab)
        sees(area, sights[tab])
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
        "summary": "Memory",
        ".lm-TabBar-tab": "Memory",
        "textarea": "Memory",
        "button[title^='turn ']": "Budget",
        "button.jupyter-button:enabled": "Threads",
    }
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
    sees(area, "request of turn 2, call 1")
    seen.page.wait_for_function("document.activeElement.tagName === 'SELECT'")
    turns = area.get_by_role("combobox", name="turn")
    turns.select_option(index=0)
    sees(area, "request of turn 1, call")
    threads = seen.turn_to("Threads").locator(".lm-Widget.widget-tab-contents").first
    sees(threads, str(turns.locator("option").first.inner_text()).partition(" · ")[2][:20])
    threads.get_by_role("button", name="Rewind to here").focus()
    seen.page.keyboard.press("Enter")
    sees(threads, "↶")
    assert seen.page.evaluate("document.activeElement.innerText") == "Rewind to here"
    seen.notebook.run("%agent switch idea")
