"""What is used in a page, in Chromium: marimo's and Jupyter AI's chats beside the notebook."""

import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.bench.drivers import model as m
from tests.support.browsers import FLAGS, chromium
from tests.support.chat_server import free_port

_NOWHERE = "http://127.0.0.1:9"
QUIET, LONGEST = 2.0, 45.0  # seconds without a new text after which an answer has ended, and at most


@dataclass(frozen=True, kw_only=True)
class InPage(m.Way):
    """A step is a prompt, the selector of what is clicked behind `CLICK`, or one of those of a kernel."""

    command: Sequence[str]
    notebook: tuple[str, str, str]  # its file, what is in it, and its page
    box: str
    stop: str
    asks: str
    cells: str
    env: Mapping[str, str] = field(default_factory=dict)
    npm: str = ""
    agent: str = "body"  # what is there as soon as there is somebody to answer

    def setup(self) -> int:
        return super().setup() + 1

    def start(self, python: Path, home: Path, env: Mapping[str, str], sent: Callable[[], int]) -> "Page":
        return Page(self, python, home, env, sent)


CLICK = "click: "


class Page:
    def __init__(self, one: InPage, python: Path, home: Path, env: Mapping[str, str], sent: Callable[[], int]) -> None:
        self.one, self.home, self.received, self.port, self.sent = one, home, 0, free_port(), sent
        path = os.pathsep.join([str(python.parent), str(python.parents[1] / "node_modules/.bin"), os.environ["PATH"]])
        more = {name: value.replace("HOME", str(home)) for name, value in one.env.items()}
        self.env = {"PATH": path, **env, **more, "http_proxy": _NOWHERE, "https_proxy": _NOWHERE}
        self.env["no_proxy"] = "127.0.0.1,localhost"
        for name, text in (*one.files.items(), one.notebook[:2]):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text.replace("MODEL", env["OPENAI_BASE_URL"]))
        self.command = [str(python.parent / one.command[0]), *one.command[1:]]
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        self.page = self.browser.new_page(viewport={"width": 1400, "height": 1000})
        self.page.set_default_timeout(20_000)
        network = self.page.context.new_cdp_session(self.page)
        network.send("Network.enable")
        said: set[str] = set()  # no scripts, styles and pictures of the page itself
        network.on(
            "Network.requestWillBeSent",
            lambda event: (
                said.add(event["requestId"]) if event.get("type") in ("Fetch", "XHR", "EventSource") else None
            ),
        )
        network.on("Network.dataReceived", lambda event: self.add(event["dataLength"] * (event["requestId"] in said)))
        network.on("Network.webSocketFrameReceived", lambda event: self.add(len(event["response"]["payloadData"])))
        self.begin()

    def add(self, size: int) -> None:
        self.received += size

    def begin(self) -> None:
        with open(self.home / "log", "a") as log:
            command = [part.replace("PORT", str(self.port)) for part in self.command]
            self.process = subprocess.Popen(command, cwd=self.home, env=self.env, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{self.port}"
        for _ in range(600):
            with suppress(OSError):
                urllib.request.urlopen(url).close()
                break
            time.sleep(0.1)
        self.page.goto(url + self.one.notebook[2])
        self.page.locator(self.one.first[0]).first.wait_for()
        self.page.wait_for_timeout(1000)
        for selector in () if self.page.locator(self.one.box).first.is_visible() else self.one.first:
            self.click(selector)
        self.page.locator(self.one.agent).first.wait_for()

    def click(self, selector: str) -> None:
        self.page.locator(selector).first.click()
        self.page.wait_for_timeout(500)
        if self.page.locator("[inert]").count():  # marimo takes a click of no hand for the start of a drag
            self.page.keyboard.press("Escape")

    def say(self, prompt: str) -> None:
        box = self.page.locator(self.one.box).first
        box.click()
        self.page.keyboard.type(prompt)
        for _ in range(3):
            self.page.keyboard.press("Enter")
            self.page.wait_for_timeout(300)
            if prompt[-8:] not in (box.input_value() if box.evaluate("e => 'value' in e") else box.inner_text()):
                break

    def text(self) -> str:
        cells = "".join(f"\n[next cell] {cell}" for cell in self.page.locator(self.one.cells).all_inner_texts())
        return str(self.page.inner_text("body")) + cells

    def do(self, step: str) -> str:
        if step == m.RESTART:
            self.end()
            self.begin()
        elif step.startswith(CLICK):
            self.click(step.removeprefix(CLICK))
        else:
            before = self.sent()
            self.say(step.removeprefix(m.STOPPED))
        if step.startswith(m.STOPPED):
            while self.sent() == before:
                self.page.wait_for_timeout(50)
            self.page.wait_for_timeout(m.PATIENCE * 1000)
            self.click(self.one.stop)
        begin = since = time.monotonic()
        seen, changes = "", 0 if step.startswith(CLICK) or step == m.RESTART else -2  # its own words, and an answer
        while time.monotonic() < (since + QUIET if changes >= 0 else begin + LONGEST):
            self.page.wait_for_timeout(100)
            busy = self.there(self.one.stop) and not self.there(self.one.asks)
            if (now := self.text()) != seen or busy:
                changes += now != seen
                seen, since = now, time.monotonic()
            if time.monotonic() > begin + LONGEST or (step == m.HELLO and re.search(r"^\s*Fine\.", now, re.M)):
                break
        return seen

    def there(self, selector: str) -> bool:
        return bool(self.page.locator(selector).count())

    def pids(self) -> list[int]:
        return [self.process.pid]

    def end(self) -> None:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()

    def close(self) -> None:
        self.browser.close()
        self.playwright.stop()
        self.end()


_CONFIG = f"""[ai]
mode = "agent"
[ai.models]
chat_model = "openai/{m.NAME}"
[ai.open_ai]
api_key = "none"
base_url = "MODEL"
"""
_BOOK = f"""import marimo
app = marimo.App()
@app.cell
def _():
    {m.FRAMED}
"""
_KEEP = f"{CLICK}button:visible:has-text('Keep cell')"
MARIMO = InPage(
    packages=("marimo[recommended]", "openai", "pandas", "ipykernel"),
    command=("marimo", "edit", "nb.py", "--headless", "--no-token", "--port", "PORT", "--skip-update-check"),
    files={".config/marimo/marimo.toml": _CONFIG},
    notebook=("nb.py", _BOOK, "/"),
    first=("[data-key=ai]",),
    box=".cm-content[aria-placeholder^='Ask'], .cm-content[aria-placeholder^='Type']",
    stop="button:has(svg.lucide-circle-stop)",
    asks="no approval in marimo",
    cells=".marimo-cell .cm-content",
    own={
        "remember": [m.REMEMBER, m.RESTART, f"{CLICK}button:has(svg.lucide-plus):visible", m.ABOUT],
        "revert": [m.REMEMBER, f"{CLICK}button:has(svg.lucide-plus):visible", m.ABOUT],
        "edit": [m.EDIT, _KEEP],
        "frame": [f"{CLICK}[data-testid=run-button]:visible >> nth=-1", m.FRAME],
    },
)
_OPENCODE = {
    "permission": {"edit": "ask", "bash": "ask"}, "model": f"loopback/{m.NAME}",
    "provider": {"loopback": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "MODEL", "apiKey": "none"},
                              "models": {m.NAME: {"limit": {"context": 1_000_000, "output": 32_000}}}}},
}  # fmt: skip
_CELL: dict[str, Any] = {
    "cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": m.FRAMED,
}  # fmt: skip
_NOTEBOOK = {"cells": [_CELL], "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}}}
_OPEN, _NEW = "[data-id='JupyterlabChat:sidepanel']", "[aria-label='New chat']:visible"
_ALLOW = f"{CLICK}button:visible:has-text('Allow')"
JUPYTER = InPage(
    packages=("jupyter-ai>=3", "pandas"),
    npm="opencode-ai@1",
    agent="button:visible:has-text('OpenCode')",
    command=(
        *("jupyter-lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=PORT", "--IdentityProvider.token="),
        *("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
    ),
    env={
        "OPENCODE_CONFIG": "HOME/opencode.json",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    },
    files={"opencode.json": json.dumps(_OPENCODE, indent=1)},
    notebook=("nb.ipynb", json.dumps({**_NOTEBOOK, "nbformat": 4, "nbformat_minor": 5}), "/lab/tree/nb.ipynb"),
    first=(_OPEN, _NEW),
    box="textarea[placeholder^='Type a chat']:visible",
    stop=".jp-jai-stopButton:visible",
    asks=_ALLOW.removeprefix(CLICK),
    cells=".jp-Notebook .cm-content",
    own={
        "remember": [m.REMEMBER, _ALLOW, m.RESTART, m.ABOUT],
        "approve": [m.WRITE, _ALLOW],
        "revert": [m.REMEMBER, _ALLOW, CLICK + _NEW, m.ABOUT],
    },
)
