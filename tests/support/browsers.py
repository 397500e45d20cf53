"""JupyterLab on a copy of the notebooks, in a real Chromium; nothing but loopback."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.support.chat_server import free_port

TOKEN = "deepnb-tests"
SIZE = (1280, 1000)
LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"

# JupyterLab as a user would have set it: no news, and every cell in the page (else those out of sight are not).
SETTINGS: dict[str, dict[str, Any]] = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
FLAGS += ["--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>;127.0.0.1;localhost"]
# With `expose_app_in_browser` a page of JupyterLab has its application in `jupyterapp`.
OPEN = "path => jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'}).then(() => null)"
TURN = "theme => document.body.dataset.jpThemeName === theme || jupyterapp.commands.execute('apputils:change-theme', {theme})"
# What is open goes without a question, and so does a dialog that asks which kernel to start.
EMPTY = """() => {
  for (const widget of [...jupyterapp.shell.widgets('main')]) widget.dispose()
  for (const dialog of document.querySelectorAll('.jp-Dialog')) dialog.querySelector('.jp-Dialog-footer button').click()
}"""
IDLE = """
([name, token]) => fetch(`/api/sessions?token=${token}`).then(answer => answer.json()).then(all =>
  all.some(one => one.path === name && one.kernel && one.kernel.execution_state === 'idle'))
"""


def script(name: str) -> str:
    return (ROOT / "tests" / "browser" / "scripts" / f"{name}.js").read_text(encoding="utf-8")


CONTRAST = script("contrast")


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def marks(*needed: str) -> list[Any]:
    for module in ("playwright", *needed):
        pytest.importorskip(module)
    reason = "no chromium, chromium-browser or google-chrome here"
    return [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason=reason)]


@contextmanager
def jupyter_lab(directory: Path, home: Path, theme: str = LIGHT) -> Iterator[str]:
    for name, values in {**SETTINGS, "apputils-extension/themes": {"theme": theme}}.items():
        setting(home, name, values)
    page = home / "config" / "labconfig" / "page_config.json"  # no look at each start whether Lab is to be built anew
    page.parent.mkdir(parents=True)
    page.write_text('{"buildCheck": false, "buildAvailable": false}')
    port = free_port()
    places = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
    env = {**os.environ, "HOME": str(home), "IPYTHONDIR": str(home / "ipython")}
    env |= {f"JUPYTER_{name}": str(home / place) for name, place in places.items()}
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--ip=127.0.0.1", "--no-browser", "--allow-root"]
    command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={directory}", "--ServerApp.port_retries=0"]
    command += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    command += ["--LabApp.expose_app_in_browser=True"]
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        until_up(f"{address}/api/status?token={TOKEN}", server)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def asked(address: str, method: str = "GET") -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(f"{address}?token={TOKEN}", method=method)
    with opener.open(request, timeout=60) as answer:
        return json.loads(answer.read() or "null")


def setting(home: Path, name: str, values: dict[str, Any]) -> None:
    place = home / "config" / "lab" / "user-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(values))


def until_up(address: str, server: subprocess.Popen[bytes]) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + 180
    while True:
        try:
            with opener.open(address, timeout=5) as answer:
                return bytes(answer.read())
        except OSError:
            assert server.poll() is None and time.monotonic() < until, "JupyterLab does not start"
            time.sleep(0.2)


@contextmanager
def started_chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_chromium(width: float = 1280, height: float = 1000, scale: float = 1) -> Iterator[Any]:
    with started_chromium() as browser:
        yield browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)


def reads(area: Any, words: str | re.Pattern[str]) -> None:
    """Wait until this can be read there: what is in another tab or folded is not."""
    from playwright.sync_api import expect

    expect(area).to_contain_text(words, use_inner_text=True, timeout=60_000)


def written(place: Path, sources: Sequence[str]) -> Path:
    import nbformat

    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    place.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, place)
    return place


class Notebook:
    """A notebook open in JupyterLab, or with `front="notebooks"` in Notebook 7."""

    def __init__(
        self, context: Any, address: str, name: str, front: str = "lab/tree", idle: list[Any] | None = None
    ) -> None:
        self.name, self.front, self.errors = name, front, list[str]()
        self._idle = idle if idle is not None and front.startswith("lab") else None
        self.kept = bool(self._idle)
        self.page = self._idle.pop() if self._idle else context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", self._note_error)
        if self.kept:
            self.page.bring_to_front()
            self.page.evaluate(EMPTY)
            self.page.evaluate(OPEN, name)
        else:
            self.page.goto(f"{address}/{front}/{name}?token={TOKEN}&reset")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell")

    def _note_error(self, error: Any) -> None:
        self.errors.append(str(error))

    def close(self) -> None:
        if self._idle is None:
            self.page.close()
            return
        self.page.remove_listener("pageerror", self._note_error)
        self.page.evaluate(EMPTY)
        self._idle.append(self.page)

    def command(self, name: str) -> None:
        menu, *inner, item = name.split(" > ")
        self.page.click(f".lm-MenuBar-itemLabel:text-is('{menu}')")
        for one in inner:
            self.page.hover(f".lm-Menu-itemLabel:text-is('{one}')")
        self.page.click(f".lm-Menu-itemLabel:text-is('{item}')")

    def ready(self) -> None:
        self.page.wait_for_function(IDLE, arg=[self.name, TOKEN])
        if self.front.startswith("lab"):
            self.page.wait_for_selector("#jp-main-statusbar :text-matches('Python 3.* \\\\| Idle')")
        else:  # its indicator says idle before there is a kernel, too
            self.page.wait_for_selector(".jp-KernelName:has-text('Python 3')")
            self.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")

    def counts(self) -> list[str]:
        script = "cells => cells.map(cell => cell.querySelector('.jp-InputPrompt').innerText)"
        return list(self.page.eval_on_selector_all(".jp-CodeCell", script))

    def run_all(self) -> None:
        self.ready()
        before = self.counts()
        until = time.monotonic() + 60
        while self.counts() == before:
            assert time.monotonic() < until, "Run All is not heard"
            self.command("Run > Run All Cells")
            heard = time.monotonic() + 3
            while self.counts() == before and time.monotonic() < heard:
                self.page.wait_for_timeout(50)
        self.finished()

    def finished(self, which: slice = slice(None)) -> None:
        until, still = time.monotonic() + 120, 0
        while "*" in "".join(counts := self.counts()) or not all(re.search(r"\d", one) for one in counts[which]):
            still = 0 if "*" in "".join(counts) else still + 1
            assert still < 50, f"a cell stopped the others: {self.told()}"
            assert time.monotonic() < until, f"cells hang: {self.told()}"
            self.page.wait_for_timeout(100)

    def told(self) -> str:
        said = self.page.locator("[data-mime-type$='stderr'], [data-mime-type$='error'], .jp-Dialog").all_inner_texts()
        return f"{self.counts()} {said} {self.errors}"

    def cell(self, source: str) -> Any:
        inputs = self.page.locator(".jp-InputArea-editor", has_text=source)
        return self.page.locator(".jp-CodeCell").filter(has=inputs).last

    def add(self) -> Any:
        """Add a cell below the last one, to type in."""
        cells = self.page.locator(".jp-CodeCell")
        at = cells.count()
        cells.last.locator(".cm-content").click()
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("b")
        cell = cells.nth(at)
        cell.wait_for()
        self.page.keyboard.press("Enter")
        cell.locator(".cm-focused").wait_for()
        return cell

    def ask(self, source: str) -> Any:
        cell = self.add()
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")
        cell.locator(".jp-InputPrompt", has_text=re.compile(r"\*|\d")).wait_for()
        return cell

    def run(self, source: str) -> Any:
        at = self.page.locator(".jp-CodeCell").count()
        cell = self.ask(source)
        self.finished(slice(at, at + 1))
        return cell

    def theme(self, name: str) -> None:
        if self.page.get_attribute("body", "data-jp-theme-name") == name:
            return
        with self.page.expect_response(lambda one: one.request.method == "PUT" and "apputils-extension" in one.url):
            self.command(f"Settings > Theme > {name}")
        self.page.wait_for_selector(f"body[data-jp-theme-name='{name}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def save(self) -> None:
        self.page.keyboard.press("Escape")
        with self.page.expect_response(self._written):
            self.page.keyboard.press("Control+s")

    def _written(self, answer: Any) -> bool:
        path = str(answer.url).partition("?")[0]
        return str(answer.request.method) == "PUT" and path.endswith(f"/api/contents/{self.name}")

    @property
    def text(self) -> str:
        return str(self.page.inner_text(".jp-Notebook"))


@dataclass(frozen=True)
class Server:
    address: str
    root: Path
    home: Path
    idle: list[Any] = field(default_factory=list)


def sign(server: Server, place: Path) -> None:
    import nbformat
    from nbformat.sign import NotebookNotary

    (server.home / "data").mkdir(exist_ok=True)
    notary = NotebookNotary(data_dir=str(server.home / "data"))
    try:
        notary.sign(nbformat.read(place, as_version=4))
    finally:
        notary.store.close()


class Workspace:
    def __init__(self, server: Server, context: Any, folder: str) -> None:
        self.server, self.context, self.folder = server, context, folder
        self.place = server.root / folder
        self.place.mkdir()

    def write(self, name: str, sources: Sequence[str]) -> Path:
        return written(self.place / name, sources)

    def open(self, name: str, front: str = "lab/tree", theme: str = LIGHT, size: tuple[int, int] = SIZE) -> Notebook:
        setting(self.server.home, "apputils-extension/themes", {"theme": theme})
        notebook = Notebook(self.context, self.server.address, f"{self.folder}/{name}", front, self.server.idle)
        notebook.page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        if notebook.kept:
            notebook.page.evaluate(TURN, theme)
        notebook.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
        return notebook

    def run(self, name: str, sources: Sequence[str], front: str = "lab/tree", **how: Any) -> Notebook:
        self.write(name, sources)
        notebook = self.open(name, front, **how)
        notebook.run_all()
        return notebook

    def foreign(self, notebook: Notebook) -> str:
        """Save a notebook, and copy it with one cell more, so that nobody has signed it; return the name of the copy."""
        import nbformat

        notebook.save()
        place = self.server.root / notebook.name
        saved = nbformat.read(place, as_version=4)
        saved.cells.append(nbformat.v4.new_markdown_cell("from elsewhere"))
        copy = place.with_stem(f"{place.stem}_foreign")
        nbformat.write(saved, copy)
        return str(copy.relative_to(self.place))

    def reopen(self, notebook: Notebook, theme: str = LIGHT) -> Notebook:
        there = self.open(self.foreign(notebook), notebook.front, theme)
        there.page.get_by_role("paragraph").filter(has_text="from elsewhere").wait_for()
        there.page.wait_for_selector("[data-icon$=not-trusted], :text-is('Not Trusted')", state="attached")
        return there

    def end_kernels(self) -> None:
        for session in asked(f"{self.server.address}/api/sessions"):
            if session["path"].startswith(f"{self.folder}/"):
                asked(f"{self.server.address}/api/sessions/{session['id']}", "DELETE")
