"""A notebook as an app: Voila in a real Chromium, with turns, the dashboard, a card, and a cell's mistake."""

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

from tests.support.browsers import marks, written

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
TABS = {
    "Memory": "The user prefers tabs over spaces",
    "Budget": "compacts at 85 % of the window (6,800 of 8,000 tokens)",
    "History": "nothing",
    "Skills": "skill",
    "Prompt": "agent_memory",
    "Threads": "main",
    "Approvals": "asks before calls that can't be undone",
}
THEIRS = re.compile(r"fontawesome|font-awesome|require|mathjax", re.IGNORECASE)
"""What Voila's own template asks other hosts for."""


@contextmanager
def voila(notebook: Path, home: Path, log: Path) -> Iterator[str]:
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
        return self.page.get_by_role("tab", name=name, exact=True).first

    @property
    def text(self) -> str:
        return str(self.page.inner_text("body"))


def test_an_app_shows_a_turn_and_its_dashboard_and_runs_an_approved_call(context: Any, tmp_path: Path) -> None:
    notebook = written(tmp_path / "app" / "app.ipynb", CELLS)
    with voila(notebook, tmp_path / "home", tmp_path / "voila.log") as address:
        app = App(context, address)
        approve = app.page.get_by_role("button", name="Approve", exact=True)
        approve.wait_for()
        text = app.text
        assert "I will remember that" in text and "offline (no LLM)" in text and "needs your approval" in text
        fold = app.page.locator("details", has_text="write_file(").first
        fold.locator("summary").first.click()
        assert "The user prefers tabs over spaces" in fold.inner_text()
        for name, said in TABS.items():
            app.tab(name).click()
            app.page.locator(".widget-tab .jupyter-widgets:visible", has_text=said).first.wait_for()
            assert app.tab(name).get_attribute("aria-selected") == "true"
        app.tab("Threads").click()
        work = tmp_path / "app" / "work" / "one.md"
        assert not work.exists()
        approve.click()
        app.page.get_by_text("I wrote 1 line to /work/one.md.").first.wait_for()
        assert work.read_text().strip() == "hello one"
        text = app.text
        assert text.rindex("approved") < text.rindex("I wrote 1 line"), "below the card"
        assert approve.count() == 0
        assert [address for address in app.abroad if not THEIRS.search(address)] == []
        app.page.close()


def test_a_mistake_is_seen(context: Any, tmp_path: Path) -> None:
    mistake, said = "%%agent --model nosuchmodel\nhello", "no model 'nosuchmodel'"
    notebook = written(tmp_path / "bad.ipynb", (WINDOW, "%agent hello", mistake, "print('not' + ' reached')"))
    with voila(notebook, tmp_path / "home", tmp_path / "bad.log") as address:
        app = App(context, address)
        app.page.get_by_text(said).first.wait_for()
        assert "not reached" not in app.text
        app.page.close()
