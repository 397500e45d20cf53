"""The dashboard and every panel in JupyterLab and Notebook 7: touched, followed, and looked at by axe-core."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.dashboards import DASHBOARD, FRONTS, TABS, Page
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


def sees(area: Any, words: str) -> None:
    """Wait until the words can be read there: what is in another tab or folded is not."""
    until = time.monotonic() + 20
    while words not in area.inner_text():
        assert time.monotonic() < until, f"{words!r} is not in {area.inner_text()!r}"
        area.page.wait_for_timeout(100)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Any]]:
    place = tmp_path_factory.mktemp("panels")
    for front in FRONTS:
        written(place / "notebooks" / f"{front[:3]}.ipynb", CELLS)
    with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium(1400, 1200) as context:
        yield address, place, context
        print(f"screenshots in {place}")


@pytest.fixture(scope="module", params=FRONTS)
def seen(request: pytest.FixtureRequest, server: tuple[str, Path, Any]) -> Iterator[Page]:
    address, place, context = server
    notebook = Notebook(context, address, f"{request.param[:3]}.ipynb", request.param)
    notebook.run_all()
    notebook.page.set_default_timeout(15_000)
    yield Page(notebook, place)
    notebook.save()
    notebook.page.close()


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


def test_names_of_tabs_are_whole_on_a_narrow_page(seen: Page) -> None:
    whole = (
        "tabs => tabs.map(tab => [tab.innerText, tab.scrollWidth <= tab.clientWidth, tab.getBoundingClientRect().y])"
    )
    seen.page.set_viewport_size({"width": 600, "height": 900})
    try:
        seen.page.wait_for_timeout(500)
        seen.dashboard.scroll_into_view_if_needed()
        found = seen.dashboard.locator(".widget-tab").first.locator("> .widget-tab-bar .lm-TabBar-tab")
        names = found.locator(".lm-TabBar-tabLabel").evaluate_all(whole)
        assert {name for name, _, _ in names} >= set(TABS) and all(fits for _, fits, _ in names), names
        seen.dashboard.screenshot(path=seen.shots / f"{seen.notebook.front[:3]}-600.png")
        if seen.notebook.front.startswith("lab"):  # where a side bar leaves the notebook half of the page
            assert len({y for _, _, y in names}) > 1, "they go on in the next line"
    finally:
        seen.page.set_viewport_size({"width": 1400, "height": 1200})


def test_axe_finds_nothing_serious_in_any_panel(seen: Page) -> None:
    assert seen.violations_of_all() == []


def test_axe_sees_a_field_without_a_name(seen: Page) -> None:
    plant = "at => at.insertAdjacentHTML('beforeend', '<div id=planted><input type=text><img src=data:,></div>')"
    seen.dashboard.locator(".jp-OutputArea-output").first.evaluate(plant)
    try:
        assert any("planted" in one or "<input" in one for one in seen.violations())
    finally:
        seen.page.evaluate("document.getElementById('planted').remove()")


def test_a_turn_below_changes_the_panel_that_is_seen_above(seen: Page) -> None:
    area = seen.turn_to("Memory")
    assert "likes green tea" not in area.inner_text()
    seen.notebook.run("%%agent\nRemember that I like green tea")
    sees(area, "green tea")
    area = seen.turn_to("Budget")
    sees(area, "tokens")


def test_threads_are_forked_rewound_and_undone_by_button(seen: Page) -> None:
    area = seen.turn_to("Threads")
    threads = area.locator(".lm-Widget.widget-tab-contents").first
    switch = threads.get_by_role("button", name="Switch")
    count = switch.count()
    threads.get_by_role("button", name="Fork", exact=True).click()
    switch.nth(count).wait_for()
    assert switch.count() == count + 1
    threads.get_by_role("button", name="Undo").click()
    switch.nth(count).wait_for(state="detached")
    assert switch.count() == count
    turns = threads.get_by_role("listbox", name="Turn")
    turns.select_option(index=0)
    first = str(turns.locator("option").first.inner_text()).partition(" · ")[2]
    sees(threads.locator(".widget-html").last, first[:20])
    button = threads.get_by_role("button", name="Rewind to here")
    button.focus()
    seen.page.keyboard.press("Enter")
    sees(threads, "↶")


def test_a_request_is_chosen_by_keyboard(seen: Page) -> None:
    area = seen.turn_to("Prompt")
    choice = area.get_by_role("combobox", name="call")
    choice.select_option(index=0)
    sees(area, "request of turn 1, call 1")


def test_the_gauge_goes_past_the_trigger(seen: Page) -> None:
    """In a window that what cannot be compacted fills to nine tenths: the gauge above shows it after a turn below."""
    notebook, area = seen.notebook, seen.turn_to("Budget")
    try:
        notebook.run("%agent new full\n%agent thanks")
        sees(area, "thread full")
        size = int(re.search(r"([\d,]+) of [\d,]+ tokens", area.inner_text()).group(1).replace(",", ""))
        notebook.run(f"%config DeepNB.window = {int(size / 0.9)}\n%agent thanks")
        sees(area, "past the trigger: the next call compacts the context first")
        share = int(re.search(r"tokens · (\d+) %", area.inner_text()).group(1))
        assert 85 < share <= 100
        area.screenshot(path=seen.shots / f"{notebook.front[:3]}-past.png")
    finally:
        notebook.run(f"%config DeepNB.window = {tight_window()}\n%agent switch main")
    sees(area, f"of {tight_window():,} tokens")


def test_in_the_dark_axe_finds_nothing_either(seen: Page) -> None:
    seen.notebook.theme(DARK)
    try:
        assert seen.page.evaluate("document.body.dataset.jpThemeLight") == "false"
        assert seen.violations_of_all() == []
    finally:
        seen.notebook.theme(LIGHT)


def test_in_a_narrow_window_nothing_is_cut(seen: Page) -> None:
    """Without JupyterLab's own side bar, which leaves nothing at that width."""
    if seen.notebook.front == "lab/tree":
        seen.notebook.command("View > Appearance > Show Left Sidebar")
    seen.page.set_viewport_size({"width": 560, "height": 1000})
    try:
        for tab in TABS:
            area = seen.turn_to(tab)
            area.screenshot(path=seen.shots / f"{seen.notebook.front[:3]}-{tab}-narrow.png")
            wide = area.evaluate("at => at.scrollWidth - at.clientWidth")
            assert wide <= 1, f"{tab} is {wide} pixels wider than the page"
    finally:
        seen.page.set_viewport_size({"width": 1400, "height": 1200})
