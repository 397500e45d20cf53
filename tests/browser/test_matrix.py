"""Every tab of the dashboard, a card and the chooser in JupyterLab and Notebook 7, light and dark, wide and narrow.

`DEEPNB_SHOTS=DIR` keeps the screenshots, for a person to look at.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import DARK, LIGHT, Workspace, marks
from tests.support.dashboards import DASHBOARD, FRONTS, TABS, Page, violations
from tests.support.windows import tight_window

pytestmark = [*marks("jupyterlab", "axe_playwright_python"), pytest.mark.nightly]

CARD, CHOOSER = "%agent plot weight by depot in crates", "%agent use"
CELLS = (
    f"%load_ext deepnb\n%config DeepNB.window = {tight_window()}\nimport pandas as pd",
    "crates = pd.DataFrame({'depot': ['Bergen', 'Turku', 'Bergen'], 'weight': [4, 10, 9]})",
    "%skills add explore-dataframe",
    "%agent --quiet Remember that I prefer tabs",
    "%agent --quiet what can you do?",
    "%agent fork idea",
    "%agent --quiet note that the pump is called Berta",
    "%agent --quiet mean weight per depot in crates",
    "%agent compact",
    DASHBOARD,
    CHOOSER,
    CARD,
)
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


@pytest.mark.parametrize("front", FRONTS)
def test_nothing_is_cut_nor_found_by_axe_and_a_tab_that_is_chosen_has_the_focus(
    workspace: Workspace, front: str
) -> None:
    notebook = workspace.run(f"{front[:3]}-matrix.ipynb", CELLS, front, size=(1400, 1200))
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
