"""A notebook with an open dashboard in JupyterLab or Notebook 7: its tabs, and what axe-core finds in it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import Notebook

DASHBOARD = "%agent dashboard"
TABS = ("Memory", "Budget", "History", "Skills", "Prompt", "Threads")
FILLED = "cell => [...cell.querySelectorAll('.widget-tab-contents > *')].some(n => n.offsetHeight > 20 && n.innerText.trim())"
FRONTS = ("lab/tree", "notebooks")
NOTEBOOK_BY_NIGHT = (FRONTS[0], pytest.param(FRONTS[1], marks=pytest.mark.nightly))

# Whether an element's border is drawn in a colour that can be told from what is behind it.
SEEN = """
(n, side) => {
  const s = getComputedStyle(n), ground = getComputedStyle(document.body).backgroundColor
  const colour = s[`border${side}Color`], alpha = (colour.match(/rgba\\(.*, ([\\d.]+)\\)/) || [0, 1])[1]
  return parseFloat(s[`border${side}Width`]) > 0 && s[`border${side}Style`] !== 'none' && alpha > 0.9 && colour !== ground
}
"""


def forced_colours(page: Any, on: bool) -> None:
    page.emulate_media(forced_colors="active" if on else "none", color_scheme="dark" if on else "light")


def edge(of: Any, side: str) -> bool:
    return bool(of.evaluate(SEEN, side))


def violations(page: Any, where: str = "") -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, context={"include": [[f"{where} .jp-OutputArea"]]}).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


class Page:
    def __init__(self, notebook: Notebook, shots: Path) -> None:
        self.notebook, self.page, self.shots = notebook, notebook.page, shots
        self.dashboard = notebook.cell(DASHBOARD)

    def turn_to(self, tab: str) -> Any:
        self.dashboard.locator(".lm-TabBar-tabLabel", has_text=tab).first.click()
        self.dashboard.locator(".lm-TabBar-tab.lm-mod-current", has_text=tab).first.wait_for()
        self.page.wait_for_function(FILLED, arg=self.dashboard.element_handle())
        return self.dashboard.locator(".jp-OutputArea").first

    def violations_of_all(self) -> list[str]:
        found = violations(self.page)
        self.dashboard.evaluate("cell => cell.setAttribute('data-dashboard', '')")
        for tab in TABS:
            self.turn_to(tab).screenshot(path=self.shots / f"{self.notebook.front[:3]}-{tab}-axe.png")
            found += violations(self.page, "[data-dashboard]")
        return found
