"""A notebook as an app: Voila in a real Chromium, with turns, the dashboard, a card, and a cell's mistake."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.browsers import marks, open_chromium, written

pytestmark = [*marks("voila"), pytest.mark.slow]

WINDOW = "%load_ext deepnb\n%config DeepNB.window = 8000"
CELLS = (
    WINDOW,
    "%agent dashboard",
    "%%agent\nRemember that I prefer tabs over spaces",
    "%agent budget",
    "%agent mount /work disk:work",
    "%agent write a file /work/one.md with: hello one",
)
TABS = ("Memory", "Budget", "History", "Skills", "Prompt", "Threads", "Approvals")
THEIRS = re.compile(r"fontawesome|font-awesome|require|mathjax", re.IGNORECASE)
"""What Voila's own template asks other hosts for."""


@contextmanager
def voila(notebook: Path, home: Path, log: Path) -> Iterator[str]:
    """Voila on one notebook; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "HOME": str(home), "IPYTHONDIR": str(home / "ipython")}
    env |= {f"JUPYTER_{kind.upper()}_DIR": str(home / kind) for kind in ("config", "data", "runtime")}
    command = [sys.executable, "-m", "voila", str(notebook), f"--port={port}", "--no-browser", "--Voila.ip=127.0.0.1"]
    with log.open("wb") as out:
        server = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + 60
        while not _answers(port):
            assert server.poll() is None and time.monotonic() < until, f"Voila does not start: {log.read_text()}"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(30)


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex(("127.0.0.1", port)) == 0


class App:
    """The page of a notebook."""

    def __init__(self, context: Any, address: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(120_000)
        self.abroad: list[str] = []
        self.page.on("request", self._asked)
        self.page.goto(address, wait_until="commit")

    def _asked(self, request: Any) -> None:
        to = urlsplit(request.url)
        if to.scheme in ("http", "https", "ws", "wss") and to.hostname != "127.0.0.1":
            self.abroad.append(request.url)

    def tab(self, name: str) -> Any:
        """The first tab of a name: that of the dashboard."""
        return self.page.get_by_role("tab", name=name, exact=True).first

    @property
    def text(self) -> str:
        return str(self.page.inner_text("body"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("voila")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_chromium(1200, 1600) as context:
        yield context


@pytest.fixture(scope="module")
def app(place: Path, browser: Any) -> Iterator[App]:
    notebook = written(place / "app" / "app.ipynb", CELLS)
    with voila(notebook, place / "home", place / "voila.log") as address:
        app = App(browser, address)
        app.page.get_by_role("button", name="Approve", exact=True).wait_for()
        yield app
        app.page.screenshot(path=place / "app.png", full_page=True)
        print(f"screenshot and log in {place}")


def test_the_outputs_of_a_turn_are_there(app: App) -> None:
    text = app.text
    assert "I will remember that" in text and "offline (no LLM)" in text
    assert (
        "write_file" in text
        and "context · " in text
        and "compacts at 85 % of the window (6,800 of 8,000 tokens)" in text
    )
    fold = app.page.locator("details", has_text="write_file(").first
    fold.locator("summary").first.click()
    assert "The user prefers tabs over spaces" in fold.inner_text()


@pytest.mark.parametrize("name", TABS)
def test_the_tabs_of_the_dashboard_work(app: App, name: str) -> None:
    app.tab(name).click()
    said = {
        "Memory": "The user prefers tabs over spaces",
        "Budget": "compacts at 85 % of the window (6,800 of 8,000 tokens)",
        "History": "nothing",
        "Skills": "skill",
        "Prompt": "agent_memory",
        "Threads": "main",
        "Approvals": "asks before calls that can't be undone",
    }
    app.page.locator(".widget-tab .jupyter-widgets:visible", has_text=said[name]).first.wait_for()
    assert app.tab(name).get_attribute("aria-selected") == "true"


def test_a_card_is_approved_by_button_and_the_run_streams_below_it(app: App, place: Path) -> None:
    app.tab("Threads").click()
    assert "needs your approval" in app.text and not (place / "app" / "work" / "one.md").exists()
    app.page.get_by_role("button", name="Approve", exact=True).click()
    app.page.get_by_text("I wrote 1 line to /work/one.md.").first.wait_for()
    assert (place / "app" / "work" / "one.md").read_text().strip() == "hello one"
    text = app.text
    assert text.rindex("approved") < text.rindex("I wrote 1 line"), "below the card"
    assert app.page.get_by_role("button", name="Approve", exact=True).count() == 0


def test_nothing_of_ours_is_asked_of_another_host(app: App) -> None:
    assert [address for address in app.abroad if not THEIRS.search(address)] == []


def test_a_mistake_is_seen(place: Path, browser: Any) -> None:
    mistake, said = "%%agent --model nosuchmodel\nhello", "no model 'nosuchmodel'"
    notebook = written(place / "bad" / "bad.ipynb", (WINDOW, "%agent hello", mistake, "print('not' + ' reached')"))
    with voila(notebook, place / "home", place / "bad.log") as address:
        app = App(browser, address)
        app.page.get_by_text(said).first.wait_for()
        assert "not reached" not in app.text
