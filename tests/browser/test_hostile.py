"""Texts that try to run something, in a real Chromium: live, and reopened, untrusted and trusted."""

from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import nbformat
import pytest

from deepnb.views.turn_segments import Answer
from deepnb.widgets.actions import TAB_STYLE
from tests import IMPORT_TESTS
from tests.data import hostile
from tests.support.browsers import TOKEN, Workspace, marks, script, sign
from tests.support.hostile_views import Maker, brief_turn, makers

pytestmark = marks("jupyterlab")

EACH = 45
"""Texts on one page."""
SOME = 1
"""Views that a text is reopened in, another for each, besides the answer and a turn."""

# Until what is under way has been done and drawn.
DRAWN = """
() => new Promise(done => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 50)), 0)))
"""


class Watched:
    """A page, and all that should not happen on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.abroad: list[str] = []
        self.opened: list[str] = []
        page.set_default_timeout(120_000)
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("popup", lambda other: self.opened.append(other.url))

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        host = urlsplit(request.url).hostname
        if host not in (None, "127.0.0.1", "localhost"):
            self.abroad.append(request.url[:120])

    def touch(self, root: str) -> int:
        """Do to all below `root` what a reader may; gives how many elements that were."""
        seen = self.page.evaluate(script("touch").replace("%r", repr(root)))
        self.page.evaluate(DRAWN)
        return int(seen)

    def hits(self) -> bool:
        return bool(self.page.evaluate("window.__hit")) or bool(self.dialogs)

    def wrong(self, root: str) -> list[str]:
        """Touch all below `root`; gives what should not have happened, and what should not be there."""
        said = [] if self.touch(root) > 500 else ["there is too little to see"]
        said += ["it ran"] if self.hits() else []
        said += [f"asked {url}" for url in self.abroad] + [f"opened {url}" for url in self.opened]
        return said + [f"odd: {one}" for one in self.page.evaluate(script("odd").replace("%r", repr(root)))]


@cache
def drawn(text: str, some: int | None = None) -> str:
    """Every view with `text` in all its fields, as one piece of HTML; or the answer, a turn and `some` more."""
    shown = [make for _, make in makers(text)]
    if some is not None:
        begin = crc32(text.encode(errors="replace")) % len(shown)
        shown = [partial(brief_turn, Maker(text)), *(shown * 2)[begin : begin + some]]
    return Answer(1, [text]).html() + "".join(dict.fromkeys(make().html() for make in shown))


def notebook(texts: list[str], name: str = "") -> Any:
    """A notebook with what was shown of the texts, five in a cell; an id that no sanitizer leaves says its name."""
    cells = []
    for at in range(0, len(texts), 5):
        shown = f"<p id='{name}'></p>" * (not at) + "".join(drawn(text, SOME) for text in texts[at : at + 5])
        data = {"text/html": shown, "text/plain": "shown"}
        output = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("%agent go on", outputs=[output], execution_count=1))
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return made


@pytest.mark.parametrize(
    "some",
    [pytest.param(4, marks=pytest.mark.slow, id="some"), pytest.param(None, marks=pytest.mark.nightly, id="all")],
)
def test_nothing_runs_where_all_is_trusted(context: Any, some: int | None) -> None:
    """As in a live output: the markup stands in the page as it is, no sanitizer of the front end before it.

    Each text is in some views, which differ from text to text; by night each is in every view.
    """
    failed = []
    for at in range(0, len(hostile.SHORT), EACH):
        watched = Watched(context.new_page())
        shown = "".join(drawn(text, some) for text in hostile.SHORT[at : at + EACH])
        page = f"<!doctype html><meta charset=utf-8><main>{shown}</main>"
        watched.page.set_content(page, wait_until="load")
        failed += [f"page {at}: {wrong}" for wrong in watched.wrong("main")]
        watched.page.close()
    assert failed == []


LIVE = """
from tests.data import hostile
from tests.support.scripted import Scripted, call
def hostile_tool(text: str) -> str:
    "<img src=x onerror=window.__hit=1>"
    return "\\n".join(hostile.SHORT)
words = [call("ls", id=text[:40], path=text) for text in hostile.SHORT[:20]]
bad = Scripted(answers=[*words, "\\n\\n".join(hostile.KINDS["markdown"] + hostile.KINDS["link"]), "\\n".join(hostile.SHORT)])
%load_ext deepnb
%config DeepNB.max_steps = 200
"""
SHOWN = (
    "%agent --model bad <script>window.__hit=1</script>", "%agent --model bad go on",
    "for text in hostile.SHORT[::4]:\n    get_ipython().run_line_magic('memory', 'add ' + ' '.join(clean(text).split())[:300])",
    "%memory", "%memory panel", "%agent panel", "%agent xray", "%agent turns", "%agent history", "%memory show",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["untrusted", pytest.param("trusted", marks=pytest.mark.nightly)])
def test_nothing_runs_in_a_reopened_notebook(workspace: Workspace, name: str) -> None:
    """In JupyterLab, which typesets formulas, too; untrusted HTML goes through its own sanitizer before."""
    place = workspace.place / f"{name}.ipynb"
    nbformat.write(notebook(hostile.SHORT, name), place)
    if name == "trusted":
        sign(workspace.server, place)
    page = workspace.context.new_page()
    watched = Watched(page)
    page.goto(f"{workspace.server.address}/lab/tree/{workspace.folder}/{name}.ipynb?token={TOKEN}&reset")
    cells = -(-len(hostile.SHORT) // 5)
    page.wait_for_function(f"document.querySelectorAll('.jp-OutputArea-output').length >= {cells}")
    page.wait_for_selector("mjx-container", state="attached")
    assert page.locator(f"p[id={name}]").count() == (name == "trusted")
    assert watched.wrong(".jp-RenderedHTMLCommon > div") == []
    assert page.locator(".jp-RenderedHTMLCommon > div").count() >= 3 * len(hostile.SHORT)
    page.close()


@pytest.mark.slow
def test_nothing_runs_in_a_live_notebook(workspace: Workspace) -> None:
    """A model, tools and memory that are hostile, in a kernel that runs: outputs, panels and their widgets."""
    setup = IMPORT_TESTS + LIVE + "\nfrom deepnb.views.text import clean"
    workspace.write("live.ipynb", (setup, *SHOWN))
    lab = workspace.open("live.ipynb")
    watched = Watched(lab.page)
    lab.run_all()
    lab.page.get_by_role("combobox", name="Turn").first.wait_for()
    for tab in lab.page.locator(".jupyter-widgets .lm-TabBar-tab").all():
        tab.click()
    assert lab.page.evaluate("document.querySelectorAll('.widget-html-content, .jp-RenderedHTMLCommon').length") > 10
    ours = "(found, style) => found.map(one => one.outerHTML === style && (one.remove(), true))"
    assert set(lab.page.eval_on_selector_all(".widget-html-content > style", ours, TAB_STYLE)) == {True}
    assert watched.wrong(".widget-html-content, .jp-RenderedHTMLCommon > div") == []
    lab.page.close()
