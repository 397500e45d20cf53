"""A notebook with an open dashboard in JupyterLab or Notebook 7: its tabs, and what axe-core finds in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.browsers import Notebook

DASHBOARD = "%agent dashboard"
TABS = ("Memory", "Budget", "History", "Skills", "Prompt", "Threads")
FRONTS = ("lab/tree", "notebooks")


class Page:
    """One front end with the notebook run in it."""

    def __init__(self, notebook: Notebook, shots: Path) -> None:
        self.notebook, self.page, self.shots = notebook, notebook.page, shots
        self.dashboard = notebook.cell(DASHBOARD)

    def turn_to(self, tab: str) -> Any:
        """Click a tab of the dashboard; gives what is seen then."""
        self.dashboard.locator(".lm-TabBar-tabLabel", has_text=tab).first.click()
        self.dashboard.locator(".lm-TabBar-tab.lm-mod-current", has_text=tab).first.wait_for()
        self.page.wait_for_timeout(300)
        return self.dashboard.locator(".jp-OutputArea").first

    def violations(self, where: str = "") -> list[str]:
        """What axe-core finds serious or critical in the outputs (below `where`): rule, what is wrong, where."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page, context={"include": [[f"{where} .jp-OutputArea"]]}).response["violations"]
        return [
            f"{one['id']}: {one['help']}: {node['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def violations_of_all(self) -> list[str]:
        """The same in the whole notebook, and in each tab of the dashboard."""
        found = self.violations()
        self.dashboard.evaluate("cell => cell.setAttribute('data-dashboard', '')")
        for tab in TABS:
            self.turn_to(tab).screenshot(path=self.shots / f"{self.notebook.front[:3]}-{tab}-axe.png")
            found += self.violations("[data-dashboard]")
        return found
